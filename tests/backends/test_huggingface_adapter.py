"""A LoRA adapter merged into a model's weights scores as the model that was merged by hand."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import TEMPLATE, MakeModel, SaveTokenizer
from tests.backends.test_huggingface_families import answers, requests, worst
from truthguard.backends.huggingface import HuggingFaceBackend
from truthguard.backends.huggingface_weights import Weights, load
from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Generate, Text
from truthguard.errors import ModelError
from truthguard.records import ModelSettings

Tune = Callable[..., Path]


def base_model(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    causal: Any = AutoModelForCausalLM
    return causal.from_pretrained(folder)


@pytest.fixture
def tune(tmp_path: Path) -> Tune:
    """Saves a random LoRA of a model that is none to start with: no matrix of it is zero."""

    def save(base: Path, *, tokens: int | None = None, save_embeddings: bool | str = "auto", **options: Any) -> Path:
        import torch
        from peft import LoraConfig, get_peft_model

        folder = tmp_path / "tuned"
        torch.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = base_model(base)
            if tokens is not None:
                model.resize_token_embeddings(tokens)
            wanted: dict[str, Any] = {"r": 4, "task_type": "CAUSAL_LM", "target_modules": ["q_proj", "v_proj"]}
            adapted = get_peft_model(model, LoraConfig(**wanted | options))
            for parameter in adapted.parameters():
                if parameter.requires_grad:
                    parameter.data.normal_(0.0, 0.2)
            adapted.save_pretrained(str(folder), save_embedding_layers=save_embeddings)
        return folder

    return save


def merged_by_hand(base: Path, adapter: Path, into: Path, tokens: int | None = None) -> Path:
    """The checkpoint that peft makes of the two, with the base's tokenizer."""
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = base_model(base)
        if tokens is not None:
            model.resize_token_embeddings(tokens)
        PeftModel.from_pretrained(model, str(adapter)).merge_and_unload().save_pretrained(into)
    for file in base.glob("*token*"):
        shutil.copy(file, into)
    return into


def opened(base: Path, adapter: Path | None = None) -> HuggingFaceBackend:
    named = None if adapter is None else str(adapter)
    found = open_backend(ModelSettings(str(base), device="cpu", batch_tokens=64, adapter=named))
    assert isinstance(found, HuggingFaceBackend)
    return found


def loaded(base: Path, adapter: Path) -> Weights:
    return load(base, name="m", device="cpu", dtype="float32", adapter=adapter)


def test_it_scores_as_the_model_merged_by_hand(make_model: MakeModel, tune: Tune, tmp_path: Path) -> None:
    """Packed, equal to the merged checkpoint, other than the base; identity and cached answers are its own."""
    base = make_model("llama")
    adapter = tune(base)
    model = opened(base, adapter)
    found, facts = answers(model, requests())
    assert facts.scorer == "packed", facts.reason
    expected, _ = answers(opened(merged_by_hand(base, adapter, tmp_path / "merged")), requests())
    assert worst(found, expected) < 1e-4
    without, _ = answers(opened(base), requests())
    assert worst(found, without) > 0.1
    assert model.identity() != opened(base).identity()


def test_it_writes_too(make_model: MakeModel, tune: Tune, tmp_path: Path) -> None:
    """A text of the adapted model is that of the merged one."""
    base = make_model("llama")
    adapter = tune(base)
    asked = Generate("Q: Who wrote the letter?\nA:", 12)
    texts = []
    for backend in (opened(base, adapter), opened(merged_by_hand(base, adapter, tmp_path / "merged")), opened(base)):
        (reply,) = backend.answer([asked])
        assert isinstance(reply.value, Text)
        texts.append(reply.value.text)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True},
        {"use_rslora": True},
        {"modules_to_save": ["lm_head"]},
        {"modules_to_save": ["embed_tokens"]},
        {"trainable_token_indices": [3, 4]},
        {"target_modules": ["q_proj", "embed_tokens"]},
        {"target_modules": ["q_proj", "lm_head"]},
        {"target_modules": "all-linear"},
    ],
    ids=str,
)
@pytest.mark.parametrize("tied", [False, True])
def test_merged_is_what_was_tuned(
    options: dict[str, Any], tied: bool, make_model: MakeModel, tune: Tune, tmp_path: Path
) -> None:
    """Every form of LoRA gives the logits of the adapter on its base, also on embeddings that are the output's too."""
    import torch
    from peft import PeftModel

    base = Path(shutil.copytree(make_model("llama"), tmp_path / "base"))
    model = base_model(base)
    if tied:
        model.config.tie_word_embeddings = True
        model.tie_weights()
        model.save_pretrained(base)
    adapter = tune(base, **options)
    ids = torch.arange(2, 30)[None]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = PeftModel.from_pretrained(base_model(base), str(adapter))(ids).logits
        unadapted = base_model(base)(ids).logits
        found = loaded(base, adapter).model(ids).logits
    assert torch.allclose(found, expected, atol=1e-4)
    assert not torch.allclose(found, unadapted, atol=1e-2)


@pytest.mark.parametrize("options", [{}, {"modules_to_save": ["embed_tokens", "lm_head"]}], ids=str)
def test_added_tokens_come_with_the_adapters_tokenizer(
    options: dict[str, Any], make_model: MakeModel, tune: Tune, save_tokenizer: SaveTokenizer, tmp_path: Path
) -> None:
    """Tokens added in tuning are known, the embeddings grow by them, and the chat template is the tuned model's."""
    base = make_model("llama")
    before = loaded(base, tune(base))
    size = before.model.config.vocab_size
    adapter = tune(base, tokens=size + 1, **options)
    tokenizer = save_tokenizer(adapter, chat_template=f"{TEMPLATE}!", additional_special_tokens=["<|turn|>"])
    assert len(tokenizer) == size + 1
    weights = loaded(base, adapter)
    assert weights.model.config.vocab_size == size + 1
    assert weights.tokenizer.encode("<|turn|>", add_special_tokens=False) == [size]
    assert len(before.tokenizer.encode("<|turn|>", add_special_tokens=False)) > 1
    hand = base_model(merged_by_hand(base, adapter, tmp_path / "merged", tokens=size + 1))
    import torch

    ids = torch.tensor([[5, 6, size, 7]])
    with torch.no_grad():
        assert torch.allclose(weights.model(ids).logits, hand(ids).logits, atol=1e-4)


def test_a_tokenizer_with_tokens_that_have_no_embeddings_is_refused(
    make_model: MakeModel, tune: Tune, save_tokenizer: SaveTokenizer
) -> None:
    """An id beyond the embeddings would fail in the middle of a run."""
    base = make_model("llama")
    adapter = tune(base)
    save_tokenizer(adapter, additional_special_tokens=["<|turn|>"])
    with pytest.raises(ModelError, match=r"its tokenizer has \d+ tokens and the model \d+, and it brings no embed"):
        loaded(base, adapter)


def test_half_of_the_embeddings_is_refused(make_model: MakeModel, tune: Tune) -> None:
    """New tokens whose output weights would be random numbers."""
    base = make_model("llama")
    size = base_model(base).config.vocab_size
    adapter = tune(base, tokens=size + 1, save_embeddings=False, modules_to_save=["embed_tokens"])
    with pytest.raises(ModelError, match="its output layer is another one, which the adapter does not bring"):
        loaded(base, adapter)


def test_an_adapter_of_another_architecture_says_what_does_not_fit(make_model: MakeModel, tune: Tune) -> None:
    """Names that are not there; the error says which base it was made for."""
    adapter = tune(make_model("llama"))
    with pytest.raises(ModelError, match=r"Target modules .* not found in the base model") as error:
        loaded(make_model("gpt2"), adapter)
    assert f"it was made for {str(make_model('llama'))!r}" in str(error.value)


def test_an_adapter_of_a_model_of_other_width_says_what_does_not_fit(
    make_model: MakeModel, tune: Tune, tmp_path: Path
) -> None:
    """The first tensor whose shape differs stands there, not each of hundreds."""
    wide = Path(shutil.copytree(make_model("llama"), tmp_path / "wide"))
    model = base_model(wide)
    model.config.hidden_size *= 2
    type(model)(model.config).save_pretrained(wide)
    adapter = tune(make_model("llama"), target_modules="all-linear")
    with pytest.raises(ModelError, match=r"size mismatch for base_model.model.model.layers.0") as error:
        loaded(wide, adapter)
    assert len(str(error.value)) < 1500


@pytest.mark.parametrize(("tuned", "base", "message"), [(3, 2, "no place for"), (2, 3, "lacks")])
def test_a_model_of_other_depth_is_refused(
    tuned: int, base: int, message: str, make_model: MakeModel, tune: Tune, tmp_path: Path
) -> None:
    """peft itself would leave the layers that lack, or are too many, as they are."""
    folders = []
    for layers in (tuned, base):
        folder = Path(shutil.copytree(make_model("llama"), tmp_path / f"{layers}-layers"))
        model = base_model(folder)
        model.config.num_hidden_layers = layers
        type(model)(model.config).save_pretrained(folder)
        folders.append(folder)
    with pytest.raises(ModelError, match=rf"{message} model\.layers\.2\.self_attn.* and \d more"):
        loaded(folders[1], tune(folders[0]))


def test_a_broken_adapter_is_not_merged(make_model: MakeModel, tune: Tune) -> None:
    """Not a number in it, or a file that is no safetensors at all."""
    import torch
    from safetensors.torch import load_file, save_file

    base = make_model("llama")
    adapter = tune(base)
    file = adapter / "adapter_model.safetensors"
    tensors = load_file(file)
    tensors[next(iter(tensors))][0, 0] = torch.nan
    save_file(tensors, file)
    with pytest.raises(ModelError, match="NaNs detected"):
        loaded(base, adapter)
    file.write_bytes(b"none")
    with pytest.raises(ModelError, match="does not fit this model"):
        loaded(base, adapter)
