"""A LoRA adapter's folder, checked before anything loads, and its part in the model's identity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truthguard.backends.adapter import base_of, find_adapter
from truthguard.backends.loading import identify, missing_extra
from truthguard.backends.sources import find_source
from truthguard.errors import UsageError
from truthguard.records import ModelSettings


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """What a checkpoint looks like from outside."""
    made = tmp_path / "base"
    made.mkdir()
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        (made / name).write_text("{}")
    return made


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """What an adapter looks like from outside."""
    made = tmp_path / "tuned"
    made.mkdir()
    write_config(made)
    (made / "adapter_model.safetensors").write_text("weights")
    (made / "README.md").write_text("hello")
    return made


def write_config(folder: Path, **changes: object) -> None:
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "org/base"} | changes
    (folder / "adapter_config.json").write_text(json.dumps(config))


def test_a_model_without_one_has_none(base: Path) -> None:
    """Nothing is looked for where nothing is named."""
    assert find_adapter(ModelSettings(str(base))) is None
    assert find_source(ModelSettings(str(base))).adapter is None


def test_it_is_part_of_the_identity(base: Path, adapter: Path) -> None:
    """One changed byte of the weights or the configuration is another model; a README is not."""
    settings = ModelSettings(str(base), adapter=str(adapter))
    plain, first = identify(ModelSettings(str(base))), identify(settings)
    assert first.name == f"{base} + {adapter}"
    assert "peft" in first.libraries
    assert "peft" not in plain.libraries
    (adapter / "README.md").write_text("changed")
    assert identify(settings) == first
    (adapter / "adapter_model.safetensors").write_text("weightz")
    second = identify(settings)
    write_config(adapter, lora_alpha=32)
    third = identify(settings)
    (base / "tokenizer.json").write_text("{ }")
    assert len({plain.digest, first.digest, second.digest, third.digest, identify(settings).digest}) == 5


def test_the_same_adapter_elsewhere_is_the_same_weights(base: Path, adapter: Path) -> None:
    """As with a checkpoint: the digest knows contents, not paths."""
    before = identify(ModelSettings(str(base), adapter=str(adapter)))
    moved = adapter.rename(adapter.with_name("moved"))
    after = identify(ModelSettings(str(base), adapter=str(moved)))
    assert (before.digest, before.name == after.name) == (after.digest, False)


@pytest.mark.parametrize(
    ("removed", "added", "message"),
    [
        (["adapter_config.json"], [], "has no adapter_config.json; expected a folder that peft saved"),
        (["adapter_config.json"], ["config.json"], "it holds a whole model: name it as the model"),
        (["adapter_model.safetensors"], [], r"has no adapter_model.safetensors$"),
        (
            ["adapter_model.safetensors"],
            ["adapter_model.bin"],
            "only adapter_model.bin: pickled weights can run code and are refused; save it as safetensors",
        ),
    ],
)
def test_a_folder_that_is_no_adapter_says_what_it_lacks(
    removed: list[str], added: list[str], message: str, base: Path, adapter: Path
) -> None:
    """A pickled adapter is refused in the words for pickled weights; a merged model is no adapter."""
    for name in removed:
        (adapter / name).unlink()
    for name in added:
        (adapter / name).write_text("{}")
    with pytest.raises(UsageError, match=message):
        find_source(ModelSettings(str(base), adapter=str(adapter)))


def test_a_name_that_is_not_there_gets_the_nearest(base: Path, adapter: Path) -> None:
    """Of the folders beside it; a file is no folder."""
    with pytest.raises(UsageError, match=r"there is no .*tunde; did you mean 'tuned'\?"):
        find_source(ModelSettings(str(base), adapter=str(adapter.with_name("tunde"))))
    with pytest.raises(UsageError, match="is no folder; name the one with"):
        find_source(ModelSettings(str(base), adapter=str(adapter / "README.md")))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "PREFIX_TUNING"}, "peft_type is 'PREFIX_TUNING', and only LORA can be read"),
        ({"peft_type": None}, "peft_type is None"),
        ({"task_type": "SEQ_CLS"}, "task_type is 'SEQ_CLS': expected CAUSAL_LM"),
        ({"alora_invocation_tokens": [1, 2]}, "alora_invocation_tokens is set: an activated LoRA works behind"),
        ({"megatron_config": {"a": 1}}, "megatron_config is set"),
    ],
)
def test_what_cannot_be_merged_is_refused(changes: dict[str, object], message: str, base: Path, adapter: Path) -> None:
    """Other methods than LoRA, other tasks than writing, and LoRAs that are no sum of weights."""
    write_config(adapter, **changes)
    with pytest.raises(UsageError, match=message):
        find_source(ModelSettings(str(base), adapter=str(adapter)))


@pytest.mark.parametrize("text", ["", "[]", "{", '"LORA"', "\ufffe"])
def test_a_damaged_configuration_names_its_file(text: str, base: Path, adapter: Path) -> None:
    """Whatever stands in it, and no other error."""
    (adapter / "adapter_config.json").write_text(text, encoding="utf-16" if text == "\ufffe" else "utf-8")
    with pytest.raises(UsageError, match=r"adapter_config\.json"):
        find_source(ModelSettings(str(base), adapter=str(adapter)))
    assert base_of(adapter) == ""


def test_models_without_weights_here_take_none(adapter: Path) -> None:
    """A server loads its own adapters, and code has no weights."""
    with pytest.raises(UsageError, match="is for models on this machine; a server loads its own"):
        identify(ModelSettings("openai:some", adapter=str(adapter)))
    with pytest.raises(UsageError, match="scripted:a:b' has no weights"):
        find_source(ModelSettings("scripted:a:b", adapter=str(adapter)), allow_scripted=True)


def test_an_adapter_is_not_the_model(base: Path, adapter: Path) -> None:
    """transformers would load the base that it names from wherever; it must be named here."""
    with pytest.raises(UsageError, match=r"name its base 'org/base' as the model and this folder as adapter"):
        find_source(ModelSettings(str(adapter)))
    write_config(base)
    with pytest.raises(UsageError, match="keep it in a folder of its own"):
        find_source(ModelSettings(str(base)))
    (base / "tiny.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match="keep it in a folder of its own"):
        find_source(ModelSettings(str(base / "tiny.gguf")))


def test_peft_is_asked_for_where_it_lacks(base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only by a model with an adapter."""
    monkeypatch.setattr("truthguard.backends.loading.find_spec", lambda name: None if name == "peft" else name)
    assert missing_extra(ModelSettings(str(base))) is None
    message = missing_extra(ModelSettings(str(base), adapter=str(adapter)))
    assert message is not None
    assert 'needs peft: run `pip install "truthguard[local]"`' in message
