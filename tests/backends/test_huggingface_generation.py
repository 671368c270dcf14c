"""Texts of local models: beside others as alone, by every family's own rules, with seeds, stops and limits."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import FAMILIES, MakeModel
from tests.backends.test_huggingface_families import PRIMER, backend
from truthguard.backends import huggingface_cache
from truthguard.backends.generation import Draft, TextRow
from truthguard.backends.huggingface_sampling import Sampler, extend
from truthguard.backends.protocol import Generate, NextToken, Reply, Request, Score, Text, Turn
from truthguard.backends.tokens import Prompt
from truthguard.errors import ModelError
from truthguard.records import Facts, ModelSettings

QUESTIONS = ["What is true?", "Who?", "What happens if you eat the letter of France?", "Is Paris the capital?"]
TOGETHER = "gpt2 opt gpt_neox gptj llama qwen2 qwen3 phi olmo2 cohere granite falcon mixtral gemma2 gemma3 mistral"
TOGETHER += " bloom falcon-alibi mpt"
# Windows and states that count padding.
APART = "gemma3-short-window mistral-short-window gpt_neo mamba"


def greedy(max_tokens: int = 12, **options: Any) -> list[Generate]:
    prompts = [f"{PRIMER}Q: {question}\nA:" for question in QUESTIONS] + ["Q: Who wrote the letter?\nA:"]
    return [Generate(prompt, max_tokens, **options) for prompt in prompts]


def sampled(n: int, max_tokens: int = 10, **options: Any) -> list[Generate]:
    """Samples of each prompt."""
    options = {"temperature": 1.0} | options
    one = [replace(request, **options) for request in greedy(max_tokens)]
    return [replace(request, seed=3 + i, sample=i) for request in one for i in range(n)]


def replies(model: Any, asked: Sequence[Request]) -> tuple[dict[Request, Reply], Facts]:
    found: dict[Request, Reply] = {}
    for reply in model.answer(asked):
        assert reply.request not in found
        found[reply.request] = reply
    assert found.keys() == set(asked)
    return found, model.facts()


def texts(model: Any, asked: Sequence[Request]) -> dict[Request, Text]:
    values = {request: reply.value for request, reply in replies(model, asked)[0].items()}
    assert all(isinstance(value, Text) for value in values.values())
    return values  # type: ignore[return-value]


def one_by_one(folder: Path, asked: Sequence[Generate]) -> dict[Request, Text]:
    """The same by the shortest code that can do it."""
    found: dict[Request, Text] = {}
    for request in asked:
        tokens = continuation(folder, request)
        found[request] = Text(decoded(folder, tokens).rstrip("�"), "stop" if tokens[-1] == 1 else "length")
    return found


def continuation(folder: Path, request: Generate) -> list[int]:
    """The likeliest token, and again, with the whole sequence put in anew for each."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder)
    model = loaded.eval()
    ids: list[int] = tokenizer.encode(request.context)
    start = len(ids)
    while len(ids) < start + request.max_tokens and (len(ids) == start or ids[-1] != 1):
        with torch.no_grad():
            ids = [*ids, int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())]
    return ids[start:]


def decoded(folder: Path, tokens: Sequence[int]) -> str:
    from transformers import AutoTokenizer

    return str(AutoTokenizer.from_pretrained(folder).decode(list(tokens), skip_special_tokens=True))


def encoded(folder: Path, text: str) -> list[int]:
    from transformers import AutoTokenizer

    ids: list[int] = AutoTokenizer.from_pretrained(folder).encode(text)
    return ids


@pytest.fixture
def copy_of(make_model: MakeModel, tmp_path: Path) -> Any:
    def copy(family: str) -> Path:
        return Path(shutil.copytree(make_model(family), tmp_path / family))

    return copy


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_writes_beside_others_what_it_writes_alone(family: str, make_model: MakeModel) -> None:
    """Greedy texts are the same token for token in any batch, with or without a shared opening, in seats of others."""
    folder, asked = make_model(family), greedy()
    expected = one_by_one(folder, asked)
    for scorer, batch_tokens in (("auto", 1024), ("auto", 2), ("plain", 64)):
        found, facts = replies(backend(folder, scorer, batch_tokens), asked)
        assert {request: reply.value for request, reply in found.items()} == expected
        if batch_tokens > 2:
            assert facts.scorer == ("batched" if family in TOGETHER.split() else "one by one"), facts.reason
            assert family in (TOGETHER + " " + APART).split()


def test_a_sample_depends_on_its_seed_and_attempt_alone(make_model: MakeModel) -> None:
    """The same seed gives the same text in any batch, order and company; other seeds and attempts give others."""
    folder, asked = make_model("llama"), sampled(4)
    expected = texts(backend(folder, batch_tokens=1024), asked)
    assert len({value.text for value in expected.values()}) == len(asked)
    shuffled = random.Random(1).sample(asked, len(asked))
    for model, some in ((backend(folder, batch_tokens=3), shuffled), (backend(folder, "plain", 1024), shuffled[:7])):
        found = texts(model, some)
        assert found == {request: expected[request] for request in some}
    again = [replace(request, attempt=1) for request in asked]
    assert not set(texts(backend(folder), again).values()) & set(expected.values())


def test_a_sample_goes_on_alike_when_others_leave_its_batch(make_model: MakeModel) -> None:
    """Samples of several lengths and temperatures are each what they are alone."""
    asked = [replace(request, max_tokens=1 + 2 * i, temperature=0.4 * (i % 4)) for i, request in enumerate(sampled(2))]
    model = backend(make_model("llama"), batch_tokens=1024)
    together = texts(model, asked)
    for request in asked:
        assert texts(model, [request]) == {request: together[request]}


def test_five_samples_are_the_first_of_eight(make_model: MakeModel) -> None:
    """More samples add to those that there are."""
    five, eight = sampled(5), sampled(8)
    found = texts(backend(make_model("gpt2"), batch_tokens=256), eight)
    assert texts(backend(make_model("gpt2"), batch_tokens=256), five) == {request: found[request] for request in five}


@pytest.mark.parametrize("family", ["mamba", "mistral-short-window"])
def test_a_sample_is_the_same_one_by_one(family: str, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """An architecture that is written one by one draws the same numbers, whichever way it began."""
    asked = sampled(2)
    expected = texts(backend(make_model(family), batch_tokens=1024), asked)
    monkeypatch.setattr("truthguard.backends.huggingface_generation.lacks", lambda model: "it is so chosen")
    found, facts = replies(backend(make_model(family)), asked)
    assert {request: reply.value for request, reply in found.items()} == expected
    assert (facts.scorer, facts.reason) == ("one by one", "texts are written one by one: it is so chosen")


@pytest.mark.parametrize("family", ["llama", "mamba"])
def test_stop_strings_cut_what_was_written(family: str, make_model: MakeModel) -> None:
    """For every stretch of a text as stop string, across the borders of its tokens, the text ends before it."""
    model, whole = backend(make_model(family)), greedy(16)[0]
    text = texts(model, [whole])[whole].text
    assert len(text) > 12
    stretches = dict.fromkeys(text[i : i + 5] for i in range(len(text) - 5))
    asked = [replace(whole, stop=("never", stretch)) for stretch in stretches if "�" not in stretch]
    assert len(asked) >= 5
    found = texts(model, asked)
    assert found == {request: Text(text[: text.find(request.stop[1])], "stop") for request in asked}


@pytest.mark.parametrize("family", ["llama", "mamba"])
def test_each_end_token_of_the_models_settings_ends_a_text(family: str, copy_of: Any) -> None:
    """Chat models name several; all else that stands there, such as a repetition penalty, changes nothing."""
    folder = copy_of(family)
    tokens = [continuation(folder, request) for request in greedy()]
    ends = [399, tokens[0][3]]
    settings = {"eos_token_id": ends, "repetition_penalty": 5.0, "do_sample": True, "min_length": 40}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    found, _ = replies(backend(folder), greedy())
    assert found[greedy()[0]].usage.completion_tokens <= 4
    for request, written in zip(greedy(), tokens, strict=True):
        place = next((i for i, token in enumerate(written) if token in (1, *ends)), None)
        text = decoded(folder, written[:place]).rstrip("�")
        assert found[request].value == Text(text, "length" if place is None else "stop")
        assert found[request].usage.completion_tokens == (len(written) if place is None else place + 1)


def test_finished_texts_leave_the_batch(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nobody waits for a finished text's row, the pass goes on without it, and the others as if nothing were."""
    folder, widths = make_model("llama"), []
    asked = [replace(request, max_tokens=2 + 3 * i) for i, request in enumerate(greedy())]
    expected = one_by_one(folder, asked)
    fill = huggingface_cache.Cached.fill

    def counting(self: Any, ids: Any, *rest: Any) -> Any:
        if ids.shape[1] == 1:
            widths.append(len(ids))
        return fill(self, ids, *rest)

    monkeypatch.setattr(huggingface_cache.Cached, "fill", counting)
    model = backend(folder, batch_tokens=1024)
    assert texts(model, asked) == expected
    assert widths == [5] * 2 + [4] * 3 + [3] * 3 + [2] * 3 + [1] * 3
    # What was checked is not held back: texts come as they end, the shortest first.
    assert [reply.request for reply in model.answer(asked)] == asked


def test_who_waits_takes_the_row_of_a_finished_text(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two rows none idles while a prompt waits, and each text is what it is alone, in whatever row it grows."""
    folder, widths = make_model("llama"), []
    asked = [replace(request, max_tokens=2 + 3 * i) for i, request in enumerate(greedy())]
    expected = one_by_one(folder, asked)
    fill = huggingface_cache.Cached.fill

    def counting(self: Any, ids: Any, rows: Any, *rest: Any) -> Any:
        if isinstance(rows, range):  # a step: prompts are put in by a list of rows
            widths.append(len(ids))
        return fill(self, ids, rows, *rest)

    monkeypatch.setattr(huggingface_cache.Cached, "fill", counting)
    assert texts(backend(folder, batch_tokens=2), asked) == expected
    assert widths == sorted(widths, reverse=True)
    assert sum(widths) == sum(len(continuation(folder, request)) for request in asked)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2"])
def test_openings_are_copied_where_they_cannot_be_held_once(
    family: str, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention that fails over an opening for all, or is wrong there, is no reason to write one by one."""
    folder, asked = make_model(family), greedy()
    expected = one_by_one(folder, asked)

    def failing(*_: Any) -> Any:
        raise ValueError("no such attention")

    for over_both in (failing, lambda query, *_: query * 0):
        monkeypatch.setattr("truthguard.backends.huggingface_attention._over_both", over_both)
        found, facts = replies(backend(folder, batch_tokens=1024), asked)
        assert {request: reply.value for request, reply in found.items()} == expected
        assert facts.scorer == "batched"


def test_the_attention_of_scoring_is_left_as_it_was(make_model: MakeModel) -> None:
    """Texts are written with an attention of their own; what is scored before and after them is the same."""
    score = Score(f"{PRIMER}Q: Who?\nA:", (" Paris", " No"))
    model = backend(make_model("llama"), batch_tokens=1024)
    values = [replies(model, asked)[0][asked[0]].value for asked in ([score], greedy(), [score])]
    assert values[0] == values[2]


def test_a_prompt_is_put_in_once_for_all_its_samples(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what prompts begin with once for all prompts, if a pass of the model is not to see each row whole."""
    passes: list[tuple[int, int]] = []
    fill = huggingface_cache.Cached.fill

    def counting(self: Any, ids: Any, *rest: Any) -> Any:
        passes.append(tuple(ids.shape))
        return fill(self, ids, *rest)

    monkeypatch.setattr(huggingface_cache.Cached, "fill", counting)
    asked = [request for request in sampled(3, max_tokens=1) if len(str(request.context)) > 40]
    lengths = [len(encoded(make_model("llama"), str(request.context))) for request in asked]
    shared = len(encoded(make_model("llama"), PRIMER))
    texts(backend(make_model("llama"), batch_tokens=1024), asked)
    (opening, rest, step) = passes
    assert opening[0] == 1
    assert opening[1] >= shared
    assert rest == (4, max(lengths) - 1 - opening[1])
    assert step == (12, 1)
    passes.clear()
    texts(backend(make_model("llama"), "plain", batch_tokens=1024), asked)
    # The first token tells how much memory a token takes.
    assert passes == [(1, 1), (4, max(lengths) - 1), (12, 1)]


def test_each_of_two_rubrics_is_put_in_once(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts with more in common than all have are written behind it, and are continued as they are alone."""
    folder, openings = make_model("llama"), []
    rubrics = [f"{who} decides. {PRIMER * 3}" for who in ("A judge", "Paris")]
    asked = [Generate(f"{rubric}Q: {question}\nA:", 3) for question in QUESTIONS for rubric in rubrics]
    expected = one_by_one(folder, asked)
    behind = huggingface_cache.Openings.behind

    def counting(self: Any, tokens: tuple[int, ...]) -> Any:
        openings.append(decoded(folder, tokens))
        return behind(self, tokens)

    monkeypatch.setattr(huggingface_cache.Openings, "behind", counting)
    assert texts(backend(folder, batch_tokens=1024), asked) == expected
    assert len(openings) == 2
    assert all(opening.startswith(rubric) for opening, rubric in zip(openings, rubrics, strict=True))


def test_prompts_of_one_token_are_continued(make_model: MakeModel) -> None:
    """Nothing stands before their first step; an empty context follows the beginning-of-text token."""
    folder, empty = make_model("llama"), Generate("", 5)
    asked = [Generate("A", 5), Generate("Q: Who wrote the letter?", 5)]
    expected = one_by_one(folder, asked) | {empty: one_by_one(folder, [Generate("<s>", 5)])[Generate("<s>", 5)]}
    for some in ([empty, *asked], [empty], [empty, asked[0]]):
        found = texts(backend(folder, batch_tokens=1024), some)
        assert found == {request: expected[request] for request in some}


def test_long_prompts_are_cut_and_long_texts_do_not_fit(copy_of: Any) -> None:
    """A window of 32: a prompt keeps what the text leaves of it, which is told; a text of 33 tokens is missing."""
    folder = copy_of("gpt2")
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"n_positions": 1024', '"n_positions": 32'))
    _shrink(folder)
    long, short = Generate(PRIMER * 3, 10), Generate("Q: Who?\nA:", 10)
    hopeless = Generate("Q: Who?\nA:", 33)
    found, facts = replies(backend(folder), [long, short, hopeless])
    assert isinstance(found[long].value, Text)
    assert found[long].usage.prompt_tokens == 23
    assert found[long].usage.completion_tokens == 10
    assert isinstance(found[short].value, Text)
    assert "1 prompts were cut from the left to fit the window" in facts.reason
    missing = found[hopeless].missing
    assert missing is not None
    assert missing.kind == "does_not_fit"
    assert "window of 32; lower max_tokens" in missing.detail


def _shrink(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    name = next(name for name in weights if name.endswith("wpe.weight"))
    weights[name] = weights[name][:32].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_turns_are_answered_in_the_models_own_template(make_model: MakeModel) -> None:
    """A conversation is continued as the text that the template makes of it."""
    turns = Generate((Turn("user", "What is true?"),), 8)
    text = Generate("<s><user>What is true?\n<assistant>", 8)
    found = texts(backend(make_model("llama")), [turns, text])
    assert found[turns] == found[text]


def test_scores_and_texts_are_answered_in_one_call(make_model: MakeModel) -> None:
    """The facts tell of both."""
    asked: list[Request] = [*greedy(4), Score("Q: Who?\nA:", (" Paris", " No")), NextToken("A:", ((" Yes",), (" No",)))]
    found, facts = replies(backend(make_model("llama")), asked)
    assert all(reply.missing is None for reply in found.values())
    assert facts.scorer == "packed"
    assert "packed and plain scoring agree" in facts.reason
    assert "texts are written together: plain scoring agrees on 2 of up to" in facts.reason
    assert facts.largest_difference is not None
    assert facts.largest_difference < 1e-3


def test_out_of_memory_halves_the_batch(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is too small for the batch gets smaller ones; no request is lost or answered twice."""
    import torch

    folder, fill = make_model("llama"), huggingface_cache.Cached.fill

    def small_device(self: Any, ids: Any, *rest: Any) -> Any:
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return fill(self, ids, *rest)

    monkeypatch.setattr(huggingface_cache.Cached, "fill", small_device)
    found, facts = replies(backend(folder, batch_tokens=1024), greedy())
    assert {request: reply.value for request, reply in found.items()} == one_by_one(folder, greedy())
    assert "at most 2 at once, as the device ran out of memory" in facts.reason


@pytest.mark.parametrize("lack", [None, "it is so chosen"])
def test_no_memory_at_all_is_an_error(lack: str | None, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halving ends with a way out."""
    import torch
    from transformers import LlamaForCausalLM

    def no_device(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(huggingface_cache.Cached, "fill", no_device)
    monkeypatch.setattr(LlamaForCausalLM, "generate", no_device)
    monkeypatch.setattr("truthguard.backends.huggingface_generation.lacks", lambda model: lack)
    with pytest.raises(ModelError, match='even for one text at a time; try dtype = "bfloat16"'):
        list(backend(make_model("llama")).answer(greedy()))


def test_a_failing_model_is_named(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model's own code raises, also when asked for one text alone, becomes an error of the model."""
    from transformers import LlamaForCausalLM

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(huggingface_cache.Cached, "fill", broken)
    monkeypatch.setattr(LlamaForCausalLM, "generate", broken)
    with pytest.raises(ModelError, match=r"failed to write behind a prompt of \d+ tokens: RuntimeError: mat1"):
        list(backend(make_model("llama")).answer(greedy()))


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7}])
def test_c04_a_model_of_nan_writes_nothing(options: dict[str, Any], copy_of: Any) -> None:
    """C04: a numerically broken model has no likeliest token: the text is missing, not the vocabulary's first word."""
    from safetensors.torch import load_file, save_file

    folder = copy_of("llama")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] *= math.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for reply in replies(backend(folder), greedy(**options))[0].values():
        assert reply.missing is not None
        assert reply.missing.kind == "nan"


def test_a_row_that_breaks_in_its_batch_is_written_alone(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN beside others is no answer of the model: alone it has one."""
    folder, fill = make_model("llama"), huggingface_cache.Cached.fill

    def breaking(self: Any, ids: Any, *rest: Any) -> Any:
        logits = fill(self, ids, *rest).clone()
        logits[1:2] = math.nan
        return logits

    monkeypatch.setattr(huggingface_cache.Cached, "fill", breaking)
    found, facts = replies(backend(folder, batch_tokens=1024), greedy())
    assert facts.scorer == "batched"
    assert {request: reply.value for request, reply in found.items()} == one_by_one(folder, greedy())


def test_a_broken_text_does_not_break_the_next_in_its_row(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that are not numbers would reach the row's next text even from behind its mask."""
    import torch
    from transformers import LlamaForCausalLM

    folder, fill, generate = make_model("llama"), huggingface_cache.Cached.fill, LlamaForCausalLM.generate
    broken: list[bool] = []
    alone: list[bool] = []

    def breaking(self: Any, ids: Any, rows: Any, *rest: Any) -> Any:
        logits = fill(self, ids, rows, *rest).clone()
        if isinstance(rows, range) and not broken:
            broken.append(True)
            with torch.inference_mode():
                logits[0] = math.nan
                for layer in self._cache.layers:
                    layer.keys[0] = layer.values[0] = math.nan
        return logits

    def counting(*args: Any, **options: Any) -> Any:
        alone.append(True)
        return generate(*args, **options)

    monkeypatch.setattr(huggingface_cache.Cached, "fill", breaking)
    expected = one_by_one(folder, greedy())
    monkeypatch.setattr(LlamaForCausalLM, "generate", counting)
    found, facts = replies(backend(folder, batch_tokens=2), greedy())
    assert facts.scorer == "batched"
    assert {request: reply.value for request, reply in found.items()} == expected
    assert len(alone) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_written_together_within_its_bound(dtype: str, make_model: MakeModel) -> None:
    """Rounding to half precision is no reason to write one by one."""
    _, facts = replies(backend(make_model("llama"), batch_tokens=1024, dtype=dtype), greedy())
    assert facts.scorer == "batched"


def test_a_short_first_text_does_not_vouch_for_a_long_one(make_model: MakeModel) -> None:
    """Texts that end farther on than any that was checked are checked again: the window of 16 shows only then."""
    folder, short = make_model("mistral-short-window"), [Generate("Q:", 3), Generate("A:", 3)]
    model = backend(folder, batch_tokens=1024)
    _, facts = replies(model, short)
    assert facts.scorer == "batched"
    found, facts = replies(model, greedy())
    assert facts.scorer == "one by one"
    assert "differ by" in facts.reason
    assert {request: reply.value for request, reply in found.items()} == one_by_one(folder, greedy())


def test_texts_without_padding_do_not_vouch_for_padded_ones(make_model: MakeModel) -> None:
    """One text alone may go far beyond a window of 16 that counts no padding; shorter ones beside it may not."""
    folder, longest = make_model("mistral-short-window"), max(greedy(), key=lambda request: len(request.context))
    model = backend(folder, batch_tokens=1024)
    _, facts = replies(model, [replace(longest, max_tokens=30)])
    assert facts.scorer == "batched"
    found, facts = replies(model, greedy())
    assert facts.scorer == "one by one"
    assert {request: reply.value for request, reply in found.items()} == one_by_one(folder, greedy())


def _drawn(probabilities: Sequence[float], n: int = 4000, **options: Any) -> list[float]:
    """How often each token is drawn from a distribution."""
    import torch

    request = Generate("", 1, **({"temperature": 1.0} | options))
    drafts = [Draft(TextRow(replace(request, seed=i), Prompt((0,))), str, frozenset()) for i in range(n)]
    logits = torch.tensor(probabilities).log().expand(n, -1)
    extend(drafts, [Sampler(draft.row) for draft in drafts], logits)
    assert all(
        draft.log_probabilities[0] == pytest.approx(math.log(probabilities[draft.tokens[0]])) for draft in drafts
    )
    return [sum(draft.tokens == [token] for draft in drafts) / n for token in range(len(probabilities))]


def test_tokens_are_drawn_by_their_probabilities() -> None:
    """Within 4 standard errors at temperature 1; a token without probability never, whatever the temperature."""
    assert _drawn([0.1, 0.0, 0.6, 0.3]) == pytest.approx([0.1, 0.0, 0.6, 0.3], abs=0.032)
    squares = [value / 0.46 for value in (0.01, 0.0, 0.36, 0.09)]
    assert _drawn([0.1, 0.0, 0.6, 0.3], temperature=0.5) == pytest.approx(squares, abs=0.032)
    assert _drawn([0.1, 0.0, 0.6, 0.3], temperature=1e-30) == [0, 0, 1, 0]
    assert _drawn([0.1, 0.0, 0.6, 0.3], temperature=1e30)[1] == 0


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.9999, [0.1, 0.0, 0.6, 0.3]), (0.89, [0, 0, 2 / 3, 1 / 3]), (0.59, [0, 0, 1, 0]), (0.0, [0, 0, 1, 0])],
)
def test_top_p_leaves_the_fewest_tokens_that_come_to_it(top_p: float, kept: list[float]) -> None:
    """The others are never drawn; the likeliest always may be."""
    found = _drawn([0.1, 0.0, 0.6, 0.3], top_p=top_p)
    assert found == pytest.approx(kept, abs=0.032)
    assert [value == 0 for value in found] == [value == 0 for value in kept]
    assert _drawn([0.25, 0.5, 0.25], top_p=0.5) == [0, 1, 0]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_real_model_answers_beside_others_what_it_answers_alone(small_model: str) -> None:
    """Six questions behind a primer, greedy, stopping at a blank line; and samples of one of them."""
    from truthguard.backends.loading import open_backend

    questions = ["What is the capital of France?", "Can pigs fly?", "Who wrote Hamlet?", "What is 2 + 2?"]
    questions += ["What happens if you eat watermelon seeds?", "Do vampires, as many stories tell, live in Romania?"]
    prompts = [f"{PRIMER}Q: {question}\nA:" for question in questions]
    asked = [Generate(prompt, 24, stop=("\n\n", "\nQ:")) for prompt in prompts]
    drawn = [replace(asked[4], temperature=1.0, seed=i, sample=i) for i in range(3)]
    model = open_backend(ModelSettings(small_model, device="cpu", dtype="float32"))
    together, facts = replies(model, [*asked, *drawn])
    assert facts.scorer == "batched"
    assert len({str(together[request].value) for request in drawn}) > 1
    alone: dict[Request, Text] = {}
    for request in [*asked, *drawn]:
        alone |= texts(model, [request])
    assert alone == {request: reply.value for request, reply in together.items()}
    assert "Paris" in alone[asked[0]].text
    assert not any("\nQ:" in value.text or "\n\n" in value.text for value in alone.values())
