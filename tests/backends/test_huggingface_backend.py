"""The local model's backend: loading, padding, chat templates, memory, broken models."""

from __future__ import annotations

import contextlib
import logging
import math
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import MakeModel, SaveTokenizer
from tests.backends.test_huggingface_families import answers, backend, one_by_one, requests, worst
from truthguard.backends.huggingface_packed import PackedScorer
from truthguard.backends.huggingface_plain import PlainScorer
from truthguard.backends.huggingface_weights import choose_device, window_of
from truthguard.backends.protocol import Masses, NextToken, Request, Score, Scores, Turn
from truthguard.errors import ModelError
from truthguard.records import Identity


@pytest.fixture
def copy_of(make_model: MakeModel, tmp_path: Path) -> Any:
    def copy(family: str) -> Path:
        return Path(shutil.copytree(make_model(family), tmp_path / family))

    return copy


TOKENIZERS: list[dict[str, Any]] = [
    {"pad_token": "<s>"},  # its id is 0
    {"pad_token": "</s>"},  # the end-of-text token
    {"pad_token": None},
    {"eos_token": None, "bos_token": None},
]


@pytest.mark.parametrize("family", ["gpt2", "opt", "mamba"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("options", TOKENIZERS)
def test_c03_padding_changes_no_value(
    family: str, side: str, options: dict[str, Any], copy_of: Any, save_tokenizer: SaveTokenizer
) -> None:
    """C03 (b): 9 and 23 tokens, alone or in one batch, whatever the pad token, its side and the text's own <s>."""
    folder = copy_of(family)
    tokenizer = save_tokenizer(folder, padding_side=side, **options)
    short, long = "Q: Who wrote the<s>", "Q: Who wrote the letter? What is the capital of</s> France?\nA:"
    asked: list[Request] = [Score(short, (" letter is Paris",)), Score(long, (" Paris is the capital of",))]
    lengths = [len(tokenizer.encode(f"{one.context}{one.continuations[0]}")) for one in asked if isinstance(one, Score)]
    assert lengths == [9, 23]
    expected = one_by_one(folder, asked)
    for scorer in ("auto", "plain"):
        for batch_tokens in (1, 64):
            found, _ = answers(backend(folder, scorer, batch_tokens), asked)
            assert worst(found, expected) < 1e-4


def test_facts_appear_when_the_model_is_loaded_and_stay_when_it_is_freed(make_model: MakeModel) -> None:
    """Nothing is loaded before the first request; closed and asked again, the model answers as before."""
    model = backend(make_model("llama"))
    assert model.identity() == Identity(str(make_model("llama")), "huggingface", None)
    assert model.refuses(Score) is None
    assert list(model.answer([])) == []
    assert model.facts() is None
    model.close()
    first, facts = answers(model, requests())
    assert facts.seconds_load > 0
    model.close()
    kept = model.facts()
    assert kept is not None
    assert kept.scorer == "packed"
    again, facts = answers(model, requests())
    assert worst(first, again) < 1e-4
    assert facts.seconds_load > kept.seconds_load


def test_replies_count_tokens(make_model: MakeModel) -> None:
    """Usage is the context's tokens once and all continuations'; a next-token question completes nothing."""
    score = Score("Q: Who?\nA:", (" Paris", " No", ""))
    forms = NextToken("Q: Who?\nA:", (("Yes", " Yes"), ("No", " No")))
    found = {reply.request: reply for reply in backend(make_model("llama")).answer([score, forms])}
    value = found[score].value
    assert isinstance(value, Scores)
    assert value.continuations[2].log_likelihood is None
    assert value.continuations[2].missing is not None
    assert found[score].usage.completion_tokens == sum(one.tokens for one in value.continuations)
    assert found[score].usage.prompt_tokens == found[forms].usage.prompt_tokens > 0
    assert found[forms].usage.completion_tokens == 0
    assert isinstance(found[forms].value, Masses)


def test_a_group_without_a_single_token_form_is_missing(make_model: MakeModel) -> None:
    """The reply says which forms the tokenizer splits."""
    (reply,) = backend(make_model("llama")).answer([NextToken("A:", ((" Yes",), ("unimaginable",)))])
    assert reply.missing is not None
    assert reply.missing.kind == "no_single_token_form"
    assert "unimaginable" in reply.missing.detail


def test_long_prompts_are_cut_and_long_choices_missing(copy_of: Any) -> None:
    """A window of 32 positions: the longer context is cut and flagged, beside one that is whole."""
    folder = copy_of("llama")
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"max_position_embeddings": 2048', '"max_position_embeddings": 32'))
    long = "Q: What is the capital of France?\nA: Paris is the capital of France.\n" * 3
    cut, whole = Score(long, (" Paris", " Nothing" * 40)), Score("Q: Who?\nA:", (" Paris",))
    values = {reply.request: reply.value for reply in backend(folder).answer([cut, whole])}
    one, other = values[cut].continuations  # type: ignore[union-attr]
    assert one.truncated
    assert one.log_likelihood is not None
    assert other.missing is not None
    assert (other.missing.kind, other.log_likelihood) == ("does_not_fit", None)
    (kept,) = values[whole].continuations  # type: ignore[union-attr]
    assert not kept.truncated


def test_turns_are_rendered_by_the_models_own_template(make_model: MakeModel) -> None:
    """A conversation is scored as the text that the template makes of it, with one BOS."""
    folder = make_model("llama")
    turns = (Turn("system", "Who?"), Turn("user", "What is true?"))
    text = "<s><system>Who?\n<user>What is true?\n<assistant>"
    found, _ = answers(backend(folder), [Score(turns, ("Yes",)), Score(text, ("Yes",))])
    assert found[Score(turns, ("Yes",))] == pytest.approx(found[Score(text, ("Yes",))], abs=1e-5)


def test_a_tokenizer_without_a_template_says_so(copy_of: Any, save_tokenizer: SaveTokenizer) -> None:
    """Turns for a base model are an error that names the key."""
    folder = copy_of("llama")
    for file in folder.glob("chat_template*"):
        file.unlink()
    save_tokenizer(folder)
    with pytest.raises(ModelError, match="chat_template = true, but the tokenizer has no chat template"):
        list(backend(folder).answer([Score((Turn("user", "Hi"),), ("Yes",))]))


def test_a_template_that_refuses_the_turns_says_so(copy_of: Any, save_tokenizer: SaveTokenizer) -> None:
    """Many templates refuse a system turn: the roles and the template's own words are shown."""
    folder = copy_of("llama")
    for file in folder.glob("chat_template*"):
        file.unlink()
    save_tokenizer(folder, chat_template="{{ raise_exception('System role not supported') }}")
    with pytest.raises(ModelError, match=r"refuses these turns \(system, user\): System role not supported"):
        list(backend(folder).answer([Score((Turn("system", "Hi"), Turn("user", "Hi")), ("Yes",))]))


@pytest.mark.parametrize(("scorer", "runner"), [("packed", PackedScorer), ("plain", PlainScorer)])
def test_out_of_memory_halves_the_passes(
    scorer: str, runner: Any, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that is too small for the passes gets smaller ones; no request is lost or answered twice."""
    import torch

    folder, asked, run = make_model("llama"), requests(), runner.run

    def small_device(self: Any, rows: Any, batch: Any) -> Any:
        if len(batch.rows) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run(self, rows, batch)

    monkeypatch.setattr(runner, "run", small_device)
    found, facts = answers(backend(folder, scorer, batch_tokens=1024), asked)
    assert worst(found, one_by_one(folder, asked)) < 1e-4
    assert facts.scorer == scorer
    assert "as the device ran out of memory" in facts.reason


def test_no_memory_at_all_is_an_error(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halving ends with a way out."""
    import torch

    def no_device(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(PlainScorer, "run", no_device)
    with pytest.raises(ModelError, match='try dtype = "bfloat16"'):
        list(backend(make_model("llama"), "plain").answer(requests()))


def test_a_failing_model_is_named(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model's own code raises becomes an error that says what was put in."""

    def broken(*_: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(PlainScorer, "run", broken)
    with pytest.raises(ModelError, match=r"failed on an input of \d+ tokens: RuntimeError: mat1"):
        list(backend(make_model("llama"), "plain").answer(requests()))


@pytest.mark.parametrize("scorer", ["packed", "plain"])
def test_c04_a_model_of_nan_answers_nan(scorer: str, copy_of: Any) -> None:
    """C04: a numerically broken model gives NaN on either path, which is for the metrics to refuse."""
    from safetensors.torch import load_file, save_file

    folder = copy_of("llama")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] *= math.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (reply,) = backend(folder, scorer).answer(requests()[:1])
    assert isinstance(reply.value, Scores)
    assert all(one.log_likelihood is not None and math.isnan(one.log_likelihood) for one in reply.value.continuations)


def test_loading_is_silent_and_leaves_the_settings_as_they_were(
    make_model: MakeModel, capfd: pytest.CaptureFixture[str]
) -> None:
    """No bar, no note on the terminal; transformers' own verbosity is what it was."""
    from transformers.utils import logging as library

    log: Any = library
    before = log.get_verbosity()
    folder = make_model("llama")
    capfd.readouterr()
    answers(backend(folder), requests())
    assert capfd.readouterr() == ("", "")
    assert log.get_verbosity() == before != logging.CRITICAL
    assert log.is_progress_bar_enabled()


def test_pickled_weights_are_not_read(copy_of: Any) -> None:
    """A file that would run code when unpickled is left alone, also beside a config that names no other."""
    folder = copy_of("llama")
    (folder / "model.safetensors").unlink()

    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (folder / "sprung",))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelError, match="cannot be loaded"):
        list(backend(folder).answer(requests()))
    assert not (folder / "sprung").exists()


def test_remote_code_is_not_run(copy_of: Any) -> None:
    """A checkpoint that brings its own Python is refused, not executed."""
    folder = copy_of("llama")
    config = (folder / "config.json").read_text()
    auto = '{"auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"},'
    (folder / "config.json").write_text(
        config.replace("{", auto, 1).replace('"model_type": "llama"', '"model_type": "own"')
    )
    (folder / "own.py").write_text(f"open({str(folder / 'sprung')!r}, 'w')")
    with pytest.raises(ModelError, match="cannot be loaded"):
        list(backend(folder).answer(requests()))
    assert not (folder / "sprung").exists()


def test_an_absent_device_is_an_error() -> None:
    """Never a silent fallback to the CPU; the message names what is there."""
    assert choose_device("cpu") == "cpu"
    with pytest.raises(ModelError, match=r"torch finds only .*cpu here"):
        choose_device("cuda:99")


def test_windows_of_architectures() -> None:
    """Learned and rotary positions end; ALiBi and state spaces do not."""
    from transformers import BloomConfig, FalconConfig, GPT2Config, LlamaConfig, MambaConfig

    assert window_of(GPT2Config(n_positions=77)) == 77
    assert window_of(LlamaConfig(max_position_embeddings=99)) == 99
    assert [window_of(config) for config in (BloomConfig(), FalconConfig(alibi=True), MambaConfig())] == [None] * 3


@contextlib.contextmanager
def no_warning_filter_changes() -> Iterator[None]:
    import warnings

    before = list(warnings.filters)
    yield
    assert warnings.filters == before


def test_the_users_warning_filters_survive_a_paused_answer(make_model: MakeModel) -> None:
    """Replies come one at a time: between them the user's own code runs, under the user's own settings."""
    import torch

    with no_warning_filter_changes():
        replies = backend(make_model("llama")).answer(requests())
        next(replies)
        assert not torch.is_inference_mode_enabled()
