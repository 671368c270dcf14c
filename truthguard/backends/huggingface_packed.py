"""Packed scoring: what all prompts begin with is computed once, the rest as branches of one sequence behind it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truthguard.backends.assembly import Values
from truthguard.backends.huggingface_plain import (
    MOST_LOGITS,
    forward_parameters,
    quiet_inference,
    values_of,
    vocabulary,
)
from truthguard.backends.packing import Pass, Row, plan, shared_prefix


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """A tree of tokens and the prefix that it stands behind."""

    prefix: tuple[int, ...]
    tree: Pass

    @property
    def rows(self) -> tuple[int, ...]:
        return self.tree.rows


class PackedScorer:
    """Token trees behind a cached prefix, with a 4D mask and explicit positions.

    The model's own forward projects onto the vocabulary, only where a token is read, so soft caps and logit scales
    are the model's own.
    """

    name = "packed"

    def __init__(self, model: Any) -> None:
        self._model = model
        # transformers renamed the argument within its fifth version.
        self._cache_name = "cache" if "cache" in forward_parameters(model) else "past_key_values"
        self._most_reads = max(1, MOST_LOGITS // vocabulary(model))
        self._prefix: tuple[tuple[int, ...], Any] = ((), None)

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

    def plan(self, rows: Sequence[Row], groups: Sequence[int], most_tokens: int) -> list[PackedBatch]:
        """Passes of at most `most_tokens` tokens behind the prefix that all rows share."""
        length = shared_prefix(rows)
        passes = plan(rows, groups, prefix=length, most_tokens=most_tokens, most_reads=self._most_reads)
        return [PackedBatch(rows[0].tokens[:length], tree) for tree in passes]

    def run(self, rows: Sequence[Row], batch: PackedBatch) -> list[tuple[int, Values]]:
        """The values of each row of the batch."""
        import torch

        tree, device = batch.tree, self._model.device
        sees = torch.from_numpy(tree.mask(len(batch.prefix))).to(device)
        mask = torch.zeros(sees.shape, dtype=self._model.dtype, device=device)
        mask.masked_fill_(~sees, torch.finfo(mask.dtype).min)
        nodes = sorted({node for reads in tree.reads for node in reads})
        with quiet_inference():
            logits = self._model(
                input_ids=torch.from_numpy(tree.tokens)[None].to(device),
                attention_mask=mask[None, None],
                position_ids=(torch.from_numpy(tree.positions)[None] + len(batch.prefix)).to(device),
                logits_to_keep=torch.tensor(nodes, device=device),
                **self._cached(batch.prefix),
            ).logits[0]
            place = {node: i for i, node in enumerate(nodes)}
            reads = [
                (rows[number], [place[node] for node in path])
                for number, path in zip(tree.rows, tree.reads, strict=True)
            ]
            return list(zip(tree.rows, values_of(logits, reads), strict=True))

    def _cached(self, prefix: tuple[int, ...]) -> dict[str, Any]:
        """The prefix's keys and values, a copy for each pass: a pass adds its own behind them."""
        import torch
        from transformers import DynamicCache

        if not prefix:
            return {"use_cache": False}
        if self._prefix[0] != prefix:
            cache = DynamicCache(config=self._model.config)
            ids = torch.tensor([prefix], device=self._model.device)
            self._model(input_ids=ids, use_cache=True, logits_to_keep=1, **{self._cache_name: cache})
            self._prefix = (prefix, cache)
        return {"use_cache": True, self._cache_name: copy.deepcopy(self._prefix[1])}
