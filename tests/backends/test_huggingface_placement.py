"""Where weights go, decided from what they take and what the GPUs have free, and how a spread model answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.families import MakeModel
from tests.backends.test_huggingface_families import answers, backend, requests, worst
from truthguard.backends import huggingface, huggingface_placement, huggingface_weights
from truthguard.backends.huggingface_placement import HEADROOM, Placement, decide, place, weight_bytes
from truthguard.backends.huggingface_plain import forward_parameters
from truthguard.backends.huggingface_weights import Weights, input_device, load
from truthguard.errors import ModelError

GIB = 2**30


def test_the_first_gpu_is_taken_while_it_has_room() -> None:
    """To the last byte beside the headroom; there is nothing to say of it then."""
    free = {0: 20 * GIB, 1: 80 * GIB}
    assert decide(20 * GIB - HEADROOM, free, name="m") == Placement("cuda:0")
    assert decide(20 * GIB - HEADROOM + 1, free, name="m").device == "cuda:1"


def test_another_gpu_that_has_room_alone_is_better_than_two() -> None:
    """The reason says what was free where."""
    placement = decide(30 * GIB, {0: 20 * GIB, 1: 80 * GIB, 2: 80 * GIB}, name="m")
    assert (placement.device, placement.room) == ("cuda:1", {})
    assert placement.note == (
        "weights of 30.0 GiB went to cuda:1, the first GPU with room (20.0, 80.0 and 80.0 GiB free)"
    )


def test_what_no_gpu_can_hold_is_spread_over_those_with_room() -> None:
    """A GPU that others have filled takes no part."""
    placement = decide(100 * GIB, {0: 1 * GIB, 1: 80 * GIB, 2: 60 * GIB}, name="m")
    assert placement.device == "cuda:1"
    assert placement.room == {1: 80 * GIB - HEADROOM, 2: 60 * GIB - HEADROOM}
    assert placement.note == ("weights of 100.0 GiB are spread over cuda:1 and cuda:2 (1.0, 80.0 and 60.0 GiB free)")


def test_too_little_memory_on_all_of_them_is_an_error_with_the_numbers() -> None:
    """Before anything is loaded, with what may help."""
    with pytest.raises(ModelError, match=r"m: the weights take 200\.0 GiB, and cuda:0 and cuda:1 have too little room"):
        decide(200 * GIB, {0: 80 * GIB, 1: 80 * GIB}, name="m")


@given(
    needed=st.integers(0, 400 * GIB),
    free=st.dictionaries(st.integers(0, 15), st.integers(0, 200 * GIB), min_size=2, max_size=8),
)
def test_weights_always_have_room(needed: int, free: dict[int, int]) -> None:
    """Wherever they go, they and the headroom fit; a GPU alone is preferred; an error means that nothing fits."""
    alone = [number for number in free if free[number] - HEADROOM >= max(needed, 1)]
    try:
        placement = decide(needed, free, name="m")
    except ModelError:
        assert sum(max(0, amount - HEADROOM) for amount in free.values()) < needed
        return
    if placement.room:
        assert not alone
        assert all(0 < taken == free[number] - HEADROOM for number, taken in placement.room.items())
        assert sum(placement.room.values()) >= needed
    elif needed:
        assert placement.device == f"cuda:{min(alone)}"


def with_gpus(monkeypatch: pytest.MonkeyPatch, free: Mapping[int, int]) -> None:
    import torch

    monkeypatch.setattr(huggingface_placement, "choose_device", lambda requested: "cuda:0")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: (free[number], 80 * GIB))


def test_only_auto_on_several_gpus_decides_anything(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a device gets that one; where there is one GPU, or none, nothing is read."""
    folder = make_model("llama")
    assert place("auto", folder, "float32", name="m") == Placement("cpu")
    with_gpus(monkeypatch, {0: 1 * GIB, 1: 80 * GIB})
    assert place("cuda:0", folder, "float32", name="m") == Placement("cuda:0")
    assert place("auto", folder, "float32", name="m").device == "cuda:1"
    with_gpus(monkeypatch, {0: 1 * GIB})
    assert place("auto", Path("nowhere"), "float32", name="m") == Placement("cuda:0")


def test_weights_are_counted_at_their_dtype(make_model: MakeModel, small_model: str) -> None:
    """Of a folder and of a .gguf file, whose own numbers are smaller."""
    from truthguard.backends.sources import find_source
    from truthguard.records import ModelSettings

    folder = make_model("llama")
    parameters = load(folder, name="m", device="cpu", dtype="float32").model.num_parameters()
    assert weight_bytes(folder, 4) == 2 * weight_bytes(folder, 2) == 4 * parameters
    gguf = find_source(ModelSettings(small_model)).path
    assert gguf is not None
    assert weight_bytes(gguf, 4) == 4 * 134_515_008


def test_spread_weights_are_loaded_by_accelerate(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the room of each GPU, and never moved as a whole afterwards."""
    import transformers

    asked: dict[str, Any] = {}
    causal: Any = transformers.AutoModelForCausalLM
    given = causal.from_pretrained

    def from_pretrained(folder: Path, **options: Any) -> Any:
        asked.update(options)
        options.pop("device_map")
        options.pop("max_memory")
        model = given(folder, **options)
        model.to = None
        return model

    monkeypatch.setattr(causal, "from_pretrained", from_pretrained)
    load(make_model("llama"), name="m", device="cuda:0", dtype="float32", room={0: 5, 1: 7})
    assert (asked["device_map"], asked["max_memory"]) == ("auto", {0: 5, 1: 7})


def test_a_model_in_parts_answers_as_in_one(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """accelerate's hooks around every part change no number and hide nothing; the facts say that it is spread."""
    from accelerate import dispatch_model

    folder = make_model("llama")
    parts = ("model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm", "model.rotary_emb", "lm_head")

    def spread(path: Path, **options: Any) -> Weights:
        weights = load(path, **options)
        dispatch_model(weights.model, dict.fromkeys(parts, "cpu"), force_hooks=True)
        assert hasattr(weights.model.lm_head, "_hf_hook")
        assert "logits_to_keep" in forward_parameters(weights.model)
        return weights

    expected, _ = answers(backend(folder), requests())
    monkeypatch.setattr(huggingface, "load", spread)
    monkeypatch.setattr(huggingface, "place", lambda *_, **__: Placement("cpu", note="weights are spread"))
    found, facts = answers(backend(folder), requests())
    assert worst(found, expected) == 0
    assert facts.scorer == "packed"
    assert facts.reason.endswith("; weights are spread")


def test_tokens_go_where_the_embeddings_are() -> None:
    """Not where the first of the weights happens to be, which may be another part's."""
    embeddings = SimpleNamespace(weight=SimpleNamespace(device="cuda:1"))
    assert input_device(SimpleNamespace(device="cuda:0", get_input_embeddings=lambda: embeddings)) == "cuda:1"


@pytest.mark.parametrize(("family", "attention"), [("llama", "sdpa"), ("gpt2", "sdpa"), ("gemma2", "eager")])
def test_attention_that_takes_a_mask_is_chosen(
    family: str, attention: str, make_model: MakeModel, tmp_path: Path
) -> None:
    """Whatever the checkpoint's config asks for; the plainest where the architecture has no other."""
    folder = Path(shutil.copytree(make_model(family), tmp_path / family))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"attn_implementation": "flash_attention_2"}))
    assert load(folder, name="m", device="cpu", dtype="float32").model.config._attn_implementation == attention


def test_a_value_error_of_another_kind_is_told(make_model: MakeModel, tmp_path: Path) -> None:
    """Only the refusal of the attention is answered with another try."""
    folder = Path(shutil.copytree(make_model("llama"), tmp_path / "llama"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "no-such-type"}))
    with pytest.raises(ModelError, match="no-such-type"):
        huggingface_weights.load(folder, name="m", device="cpu", dtype="float32")
