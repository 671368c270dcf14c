"""Runs rows of tokens through a loaded model: packed where that is checked, plain where it is not, in any memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from truthguard.backends import selfcheck
from truthguard.backends.assembly import Values
from truthguard.backends.huggingface_packed import PackedBatch, PackedScorer
from truthguard.backends.huggingface_plain import PlainScorer
from truthguard.backends.huggingface_weights import free_memory
from truthguard.backends.packing import Row
from truthguard.errors import ModelError
from truthguard.records import Facts


class _NotPacked(Exception):
    """Packed scoring cannot be trusted with this model; the message says why."""


class Engine:
    """Chooses the scoring path for one model and keeps what was learnt in choosing it.

    The check holds packed values against plain ones, scored alone and unpadded. It is made on the first rows, and
    again when later rows are longer, or stand farther from their prefix, than any that were checked.
    """

    def __init__(
        self, model: Any, *, name: str, dtype: str, scorer: Literal["auto", "packed", "plain"], most_tokens: int
    ) -> None:
        self._name, self._dtype, self._forced = name, dtype, scorer == "packed"
        self._most_tokens = most_tokens
        self._plain = PlainScorer(model)
        self._packed: PackedScorer | None = None
        self._reason = "plain scoring was asked for" if scorer == "plain" else "nothing was scored"
        self._notes: list[str] = []
        self._checked_length = self._checked_detour = self._probes = 0
        self._difference: float | None = None
        self._seconds = 0.0
        if scorer != "plain":
            if lack := PackedScorer.lacks(model):
                self._give_up(lack)
            else:
                self._packed = PackedScorer(model)

    def facts(self, seconds_load: float) -> Facts:
        """Which path is used and why. The check's plain scoring counts as loading."""
        reason = "; ".join([self._reason, *self._notes])
        return Facts("packed" if self._packed else "plain", reason, self._difference, seconds_load + self._seconds)

    def values(self, rows: Sequence[Row], groups: Sequence[int]) -> Iterator[tuple[int, Values]]:
        """Each row's number and values, in order of completion."""
        import torch

        waiting = list(range(len(rows)))
        while waiting:
            part = [rows[number] for number in waiting]
            done = set()
            try:
                for index, values in self._run(part, [groups[number] for number in waiting]):
                    done.add(index)
                    yield waiting[index], values
            except torch.OutOfMemoryError as error:
                self._make_smaller(error)
            except _NotPacked as error:
                self._give_up(str(error))
            waiting = [number for index, number in enumerate(waiting) if index not in done]

    def _run(self, rows: Sequence[Row], groups: Sequence[int]) -> Iterator[tuple[int, Values]]:
        if self._packed is not None:
            yield from self._run_packed(self._packed, rows, groups)
            return
        import torch

        for batch in self._plain.plan(rows, groups, self._most_tokens):
            try:
                found = self._plain.run(rows, batch)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # a model's forward may fail in any way
                raise ModelError(
                    f"{self._name}: the model failed on an input of {len(rows[batch.rows[0]].tokens)} tokens: "
                    f"{type(error).__name__}: {error}"
                ) from error
            yield from found

    def _run_packed(
        self, packed: PackedScorer, rows: Sequence[Row], groups: Sequence[int]
    ) -> Iterator[tuple[int, Values]]:
        batches = packed.plan(rows, groups, self._most_tokens)
        longest = max(len(row.tokens) for row in rows)
        farthest = max(selfcheck.largest_detour(batch.tree) for batch in batches)
        checked: set[int] = set()
        if longest > self._checked_length or farthest > self._checked_detour:
            found: list[tuple[int, Values]] = []
            for number, probes in selfcheck.probes(rows, [batch.tree for batch in batches]).items():
                values = self._run_one(packed, rows, batches[number])
                self._check(rows, dict(values), probes)
                checked.add(number)
                found += values
            self._checked_length = max(longest, self._checked_length)
            self._checked_detour = max(farthest, self._checked_detour)
            self._reason = (
                f"packed and plain scoring agree on {self._probes} probes of up to {self._checked_length} tokens"
            )
            yield from found
        for number, batch in enumerate(batches):
            if number not in checked:
                yield from self._run_one(packed, rows, batch)

    @staticmethod
    def _run_one(packed: PackedScorer, rows: Sequence[Row], batch: PackedBatch) -> list[tuple[int, Values]]:
        import torch

        try:
            return packed.run(rows, batch)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # an architecture without such a mask may refuse it in any way
            raise _NotPacked(f"the model refuses a packed pass ({type(error).__name__}: {error})") from error

    def _check(self, rows: Sequence[Row], packed: dict[int, Values], probes: Sequence[int]) -> None:
        started = time.perf_counter()
        for number in probes:
            ((_, plain),) = self._plain.run(rows, self._plain.alone(number))
            apart = selfcheck.difference(packed[number], plain)
            self._difference = max(apart, self._difference or 0.0)
            self._probes += 1
            if apart > (bound := selfcheck.bound(self._dtype, rows[number])):
                raise _NotPacked(
                    f"packed and plain scoring differ by {apart:.2g} on a probe of {len(rows[number].tokens)} tokens "
                    f"(at most {bound:.2g} in {self._dtype})"
                )
        self._seconds += time.perf_counter() - started

    def _give_up(self, reason: str) -> None:
        if self._forced:
            raise ModelError(
                f'{self._name}: scorer = "packed" was asked for, but {reason}; use scorer = "auto" or "plain"'
            )
        self._packed = None
        self._reason = reason

    def _make_smaller(self, error: Exception) -> None:
        if self._most_tokens == 1:
            raise ModelError(
                f"{self._name}: the device has too little memory even for one continuation at a time; try dtype = "
                '"bfloat16", device = "cpu" or a smaller model'
            ) from error
        self._most_tokens //= 2
        free_memory()
        self._notes = [f"passes were cut to {self._most_tokens} tokens, as the device ran out of memory"]
