"""Runs rows of tokens through a loaded model: packed where that is checked, plain where it is not, in any memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from truthguard.backends import selfcheck
from truthguard.backends.assembly import Values
from truthguard.backends.huggingface_packed import PackedScorer
from truthguard.backends.huggingface_plain import PlainScorer
from truthguard.backends.huggingface_weights import free_memory, input_device
from truthguard.backends.packing import Pass, Row
from truthguard.backends.pass_size import PassSize
from truthguard.backends.work import Work
from truthguard.errors import ModelError
from truthguard.records import Facts


class _NotPacked(Exception):
    """Packed scoring cannot be trusted with this model; the message says why."""


class Engine:
    """Chooses the scoring path for one model and keeps what was learnt in choosing it.

    The check holds packed values against plain ones, scored alone and unpadded. It is made on the first rows, and
    again when later rows are longer, or stand farther from their prefix, than any that were checked. `most_tokens` is
    the size of a pass; None: the one that turns out to be the fastest on this device.
    """

    def __init__(
        self, model: Any, *, name: str, dtype: str, scorer: Literal["auto", "packed", "plain"], most_tokens: int | None
    ) -> None:
        self._name, self._dtype, self._forced = name, dtype, scorer == "packed"
        self._size = PassSize(most_tokens, input_device(model).type)
        self.work = Work()  # on either path, the checks among it
        self._plain = PlainScorer(model, self.work)
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
                self._packed = PackedScorer(model, self.work)

    def facts(self, seconds_load: float) -> Facts:
        """Which path is used and why. The check's plain scoring counts as loading."""
        reason = "; ".join([self._reason, *self._notes])
        return Facts("packed" if self._packed else "plain", reason, self._difference, seconds_load + self._seconds)

    @property
    def most_tokens(self) -> int:
        """The size of a pass by now."""
        return self._size.tokens

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
        """Values of some of the rows, at least of one."""
        if self._packed is not None:
            yield from self._run_packed(self._packed, rows, groups)
            return
        import torch

        for batch in self._plain.plan(rows, groups, self._size.tokens):
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
        passes = packed.plan(rows, groups, self._size.tokens)
        trial = self._size.next_trial(len(passes))
        if trial is not None:
            passes = packed.plan(rows, groups, trial)
        probes = self._probes_of(rows, passes)
        found: list[tuple[int, Values]] = []
        for number, chosen in probes.items():
            values = self._run_one(packed, rows, passes[number], trial)
            self._check(rows, dict(values), chosen)
            found += values
        if probes:
            self._passed(rows, passes)
        yield from found
        others = [number for number in range(len(passes)) if number not in probes]
        if trial is not None:
            # One pass of this size is enough, made of rows that have to be scored anyway; the rest is planned anew.
            others = [] if probes else [max(others, key=lambda number: len(passes[number].tokens))]
        for number in others:
            yield from self._run_one(packed, rows, passes[number], trial)
        if trial is not None:
            self._size.end_trial(trial)

    def _run_one(
        self, packed: PackedScorer, rows: Sequence[Row], tree: Pass, trial: int | None
    ) -> list[tuple[int, Values]]:
        import torch

        try:
            packed.prepare(tree, self._size.tokens)
            started = time.perf_counter()
            values = packed.run(rows, tree)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # an architecture without such a mask may refuse it in any way
            raise _NotPacked(f"the model refuses a packed pass ({type(error).__name__}: {error})") from error
        if trial is not None:
            self._size.tried(trial, len(tree.tokens), time.perf_counter() - started)
        return values

    def _probes_of(self, rows: Sequence[Row], passes: Sequence[Pass]) -> dict[int, tuple[int, ...]]:
        """The passes to check and which of their rows; none where no row goes farther than what was checked."""
        longest, farthest = _reach(rows, passes)
        # What a few more tokens would show, the probes have shown: of one plan and the next, the detours differ a bit.
        if longest <= self._checked_length and farthest <= 1.125 * self._checked_detour:
            return {}
        return selfcheck.probes(rows, passes)

    def _passed(self, rows: Sequence[Row], passes: Sequence[Pass]) -> None:
        longest, farthest = _reach(rows, passes)
        self._checked_length = max(longest, self._checked_length)
        self._checked_detour = max(farthest, self._checked_detour)
        self._reason = f"packed and plain scoring agree on {self._probes} probes of up to {self._checked_length} tokens"

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
        if self._size.tokens == 1:
            raise ModelError(
                f"{self._name}: the device has too little memory even for one continuation at a time; try dtype = "
                '"bfloat16", device = "cpu" or a smaller model'
            ) from error
        self._size.cut()
        if self._packed is not None:
            self._packed.forget()
        free_memory()
        self._notes = [f"passes were cut to {self._size.tokens} tokens, as the device ran out of memory"]


def _reach(rows: Sequence[Row], passes: Sequence[Pass]) -> tuple[int, int]:
    """The length of the longest row, and the largest detour of any."""
    return max(len(row.tokens) for row in rows), max(selfcheck.largest_detour(tree) for tree in passes)
