"""Attention within a packed pass: a stretch of its tokens meets only the keys that one of them sees.

The tokens of a pass stand in one sequence, and most of them do not see each other: the branches of other questions
are behind the mask. A fused kernel computes what is masked all the same. In stretches of some tokens each, with the
prefix, their ancestors and themselves as keys, it computes little more than what is seen, however long the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truthguard.backends.huggingface_attention import attention, can_share

if TYPE_CHECKING:
    import torch

_NAME = "truthguard_stretches"
# Tokens of a stretch. Fewer see fewer keys in vain, more keep the kernel busier.
_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens `start` to `end` of a pass, and which keys one of them sees."""

    start: int
    end: int
    keys: torch.Tensor


_CURRENT: ContextVar[Sequence[Stretch]] = ContextVar("stretches", default=())


def stretches(sees: NDArray[np.bool_]) -> list[Stretch]:
    """The stretches of a pass, given which keys each token sees: `[tokens, keys]`."""
    import torch

    starts = range(0, len(sees), _TOKENS)
    parts = [(start, sees[start : start + _TOKENS]) for start in starts]
    return [
        Stretch(start, start + len(part), torch.from_numpy(np.flatnonzero(part.any(axis=0)))) for start, part in parts
    ]


@contextmanager
def in_stretches(model: Any, parts: Sequence[Stretch]) -> Iterator[None]:
    """Let the model's attention go through these stretches, where it is one that can be told so."""
    if not can_share(model) or len(parts) < 2:
        yield
        return
    token = _CURRENT.set(parts)
    try:
        with attention(model, _NAME, _attend):
            yield
    finally:
        _CURRENT.reset(token)


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """The library's own attention, one stretch after the other."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    kernel: Any = sdpa_attention_forward
    if attention_mask is None or options.get("position_bias") is not None:
        raise ValueError("a packed pass needs its mask, and takes no biases of positions")
    found = []
    for part in _CURRENT.get():
        mask = attention_mask[:, :, part.start : part.end].index_select(3, part.keys)
        keys, values = key.index_select(2, part.keys), value.index_select(2, part.keys)
        found.append(kernel(module, query[:, :, part.start : part.end], keys, values, mask, **options)[0])
    return torch.cat(found, dim=1), None
