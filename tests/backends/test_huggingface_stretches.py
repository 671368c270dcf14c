"""Attention in stretches: the same numbers as over all keys, and nothing left behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backends.families import MakeModel
from truthguard.backends import huggingface_stretches
from truthguard.backends.huggingface_plain import quiet_inference
from truthguard.backends.huggingface_stretches import in_stretches, stretches
from truthguard.backends.packing import Row, plan

torch = pytest.importorskip("torch")


def tree() -> Any:
    """A pass of three questions without a prefix."""
    rows = [Row((question, 20 + question, i, i + 1), ((0,), (0,))) for question in range(3) for i in range(40, 46)]
    (found,) = plan(rows, [row.tokens[0] for row in rows], most_tokens=999, most_reads=999)
    return found


def test_a_stretch_has_the_keys_that_its_tokens_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token is in one stretch, and no key that it sees is left out."""
    monkeypatch.setattr(huggingface_stretches, "_TOKENS", 7)
    sees = tree().mask()
    parts = stretches(sees)
    assert [part.start for part in parts] == list(range(0, len(sees), 7))
    assert parts[-1].end == len(sees)
    for part in parts:
        left_out = np.setdiff1d(np.arange(sees.shape[1]), part.keys.numpy())
        assert not sees[part.start : part.end, left_out].any()
    assert sum(len(part.keys) for part in parts) < len(parts) * sees.shape[1] * 0.7


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "phi"])
def test_the_numbers_are_those_of_attention_over_all_keys(
    family: str, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer key heads than query heads, norms of queries and keys, and none of that."""
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(huggingface_stretches, "_TOKENS", 7)
    causal: Any = AutoModelForCausalLM
    model = causal.from_pretrained(make_model(family), attn_implementation="sdpa").eval()
    found = tree()
    sees = found.mask()
    mask = torch.zeros(sees.shape).masked_fill_(torch.from_numpy(~sees), torch.finfo(torch.float32).min)
    asked = {
        "input_ids": torch.from_numpy(found.tokens)[None],
        "position_ids": torch.from_numpy(found.positions)[None],
        "attention_mask": mask[None, None],
        "use_cache": False,
    }
    with quiet_inference():
        expected = model(**asked).logits
        with in_stretches(model, stretches(sees)):
            assert model.config._attn_implementation != "sdpa"
            torch.testing.assert_close(model(**asked).logits, expected, atol=1e-4, rtol=1e-4)
        assert model.config._attn_implementation == "sdpa"
        torch.testing.assert_close(model(**asked).logits, expected)


def test_a_model_is_as_before_when_its_pass_fails(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that runs out of memory leaves the library's own attention."""
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(huggingface_stretches, "_TOKENS", 7)
    causal: Any = AutoModelForCausalLM
    model = causal.from_pretrained(make_model("llama"), attn_implementation="sdpa").eval()
    with pytest.raises(torch.OutOfMemoryError), in_stretches(model, stretches(tree().mask())):
        raise torch.OutOfMemoryError("CUDA out of memory")
    assert model.config._attn_implementation == "sdpa"


def test_other_attention_is_left_alone(make_model: MakeModel) -> None:
    """A model with another implementation, soft caps say, keeps it."""
    from transformers import AutoModelForCausalLM

    causal: Any = AutoModelForCausalLM
    model = causal.from_pretrained(make_model("llama"), attn_implementation="eager").eval()
    with in_stretches(model, stretches(np.ones((200, 200), dtype=np.bool_))):
        assert model.config._attn_implementation == "eager"
