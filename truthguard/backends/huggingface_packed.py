"""Packed scoring: what all prompts begin with is computed once, the rest as branches of one sequence behind it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truthguard.backends.assembly import Values
from truthguard.backends.huggingface_plain import (
    forward_parameters,
    most_logits,
    quiet_inference,
    values_of,
    vocabulary,
)
from truthguard.backends.huggingface_stretches import in_stretches, stretches
from truthguard.backends.huggingface_weights import input_device
from truthguard.backends.packing import Pass, Row, plan, shared_tokens
from truthguard.backends.work import Work

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

# How many prefixes, one within the other, keep their keys and values.
_KEPT = 3


class PackedScorer:
    """Token trees behind a cached prefix, with a 4D mask and explicit positions.

    The model's own forward projects onto the vocabulary, only where a token is read, so soft caps and logit scales
    are the model's own.
    """

    name = "packed"

    def __init__(self, model: Any, work: Work) -> None:
        self._model = model
        # transformers renamed the argument within its fifth version.
        self._cache_name = "cache" if "cache" in forward_parameters(model) else "past_key_values"
        self._most_reads = max(1, most_logits(model) // vocabulary(model))
        self._kept: list[tuple[tuple[int, ...], Any]] = []  # prefixes with their caches, each within the next
        self._work = work

    @staticmethod
    def lacks(model: Any) -> str | None:
        """What the model's forward lacks for packed scoring; None when it lacks nothing that can be seen."""
        parameters = forward_parameters(model)
        if "position_ids" not in parameters:
            return "the model takes no positions (ALiBi, state-space or recurrent)"
        if not parameters & {"cache", "past_key_values"}:
            return "the model takes no key-value cache"
        if "logits_to_keep" not in parameters:
            return "the model cannot leave out the logits that are not read"
        return None

    def plan(self, rows: Sequence[Row], groups: Sequence[int], most_tokens: int) -> list[Pass]:
        """Passes of at most `most_tokens` tokens, each behind the prefix that its rows share with those of others."""
        return plan(rows, groups, most_tokens=most_tokens, most_reads=self._most_reads)

    def prepare(self, tree: Pass, most_tokens: int) -> None:
        """Compute the prefix of a pass, at most `most_tokens` at a time, where it is not there from the one before."""
        prefix = tree.prefix
        while self._kept and shared_tokens(self._kept[-1][0], prefix) < len(self._kept[-1][0]):
            self._kept.pop()
        known, cache = self._kept[-1] if self._kept else ((), None)
        if len(known) == len(prefix):
            return
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config) if cache is None else copy.deepcopy(cache)
        with quiet_inference():
            for start in range(len(known), len(prefix), most_tokens):
                self._fill(cache, prefix[start : start + most_tokens], start)
        self._kept = [*self._kept, (prefix, cache)][-_KEPT:]

    def forget(self) -> None:
        """Free the prefixes' keys and values."""
        self._kept.clear()

    def _fill(self, cache: Any, tokens: Sequence[int], start: int) -> None:
        import torch

        ids = torch.tensor([tokens], device=input_device(self._model))
        positions = torch.arange(start, start + len(tokens), device=ids.device)[None]
        options = {self._cache_name: cache, "position_ids": positions}
        self._model(input_ids=ids, use_cache=True, logits_to_keep=1, **options)
        self._work.add(tokens=len(tokens), places=1)

    def run(self, rows: Sequence[Row], tree: Pass) -> list[tuple[int, Values]]:
        """The values of each row of the pass, whose prefix was prepared."""
        import torch

        device, sees = input_device(self._model), tree.mask()
        nodes = sorted({node for reads in tree.reads for node in reads})
        with quiet_inference(), in_stretches(self._model, stretches(sees)):
            logits = self._model(
                input_ids=torch.from_numpy(tree.tokens)[None].to(device),
                attention_mask=self._mask(sees),
                position_ids=(torch.from_numpy(tree.positions)[None] + len(tree.prefix)).to(device),
                logits_to_keep=nodes,  # a list: the hidden states may end on another device than they began
                **self._cached(tree.prefix),
            ).logits[0]
            place = {node: i for i, node in enumerate(nodes)}
            reads = [
                (rows[number], [place[node] for node in path])
                for number, path in zip(tree.rows, tree.reads, strict=True)
            ]
            values = values_of(logits, reads)
        self._work.add(tokens=len(tree.tokens), places=len(nodes))
        return list(zip(tree.rows, values, strict=True))

    def _mask(self, sees: NDArray[np.bool_]) -> torch.Tensor:
        """What each node sees, as the numbers that are added to its attention: `[1, 1, nodes, keys]`."""
        import torch

        hidden = torch.from_numpy(~sees).to(input_device(self._model))
        mask = torch.zeros(hidden.shape, dtype=self._model.dtype, device=hidden.device)
        return mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)[None, None]

    def _cached(self, prefix: tuple[int, ...]) -> dict[str, Any]:
        """The prefix's keys and values, a copy for each pass: a pass adds its own behind them."""
        if not prefix:
            return {"use_cache": False}
        return {"use_cache": True, self._cache_name: copy.deepcopy(self._kept[-1][1])}
