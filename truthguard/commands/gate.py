"""A thresholds file beside finished runs: its rows, and what keeps one of them from being held."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from truthguard.catalogue import GRADING_KINDS, kind_of, metric_of
from truthguard.changes import changes
from truthguard.errors import Mistake, UsageError
from truthguard.metrics.participation import MIXED, part_of
from truthguard.records import BenchmarkKind, BenchmarkSettings, ItemScores, Row
from truthguard.text import visible
from truthguard.thresholds.reading import read
from truthguard.thresholds.recorded import rows_of_file

# How the items of a set are asked: another primer is what may be compared, another way to put pairs to a judge is not.
_ASKED = ("prompt", "closing_period", "order", "reference", "grades")


class Finished(Protocol):
    """A run of a record or of a baseline."""

    @property
    def benchmark(self) -> str: ...

    @property
    def version(self) -> str | None: ...

    @property
    def kind(self) -> BenchmarkKind: ...

    @property
    def settings(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A thresholds file whose rows are held against finished runs instead of new ones."""

    path: Path
    rows: tuple[Row, ...]
    settings: Mapping[str, BenchmarkSettings]
    requires_trust: bool

    def obstacle(self, row: Row, name: str, runs: Mapping[str, Finished], items: Sequence[ItemScores]) -> str:
        """Why a row cannot be held against the runs of the file `name`; '' when it can. `items` are its benchmark's."""
        run = runs.get(row.benchmark)
        if run is None:
            return f"{name} has no {row.benchmark}, {has(runs)}"
        return "; ".join([*self._other(run, name), *lacking(row, name, items)])

    def notes(self, name: str, runs: Mapping[str, Finished]) -> Iterator[str]:
        """What the file says of how a model is asked and is not so of the runs, in words."""
        if self.requires_trust:
            yield (
                f"{self.path.name} requires trust in its judge: that is held where the judge is asked (pytest"
                f" {self.path}), not here"
            )
        for benchmark, settings in self.settings.items():
            run = runs.get(benchmark)
            if run is not None and run.kind not in GRADING_KINDS:
                yield from self._asked(settings, run, name)

    def _other(self, run: Finished, name: str) -> Iterator[str]:
        """Why the runs are of other items than those of the file, or were put to a judge in another way."""
        settings = self.settings[run.benchmark]
        if kind_of(settings) != run.kind:
            yield f"{run.benchmark} in {name} holds {run.kind}, in {self.path.name} {kind_of(settings)}"
        elif settings.version is not None and settings.version != run.version:
            here = run.version or "no version"
            yield f"{run.benchmark} in {name} is of {here}, {self.path.name} asks for {settings.version}"
        elif run.kind in GRADING_KINDS:
            yield from self._asked(settings, run, name)

    def _asked(self, settings: BenchmarkSettings, run: Finished, name: str) -> Iterator[str]:
        wanted: dict[str, object] = {key: getattr(settings, key) for key in _ASKED}
        for text in changes("the ", wanted, run.settings, [key for key in _ASKED if key in run.settings]):
            yield f"{run.benchmark} in {name} was asked in another way than {self.path.name} says: {text}"


def held_file(path: Path, items: Mapping[str, Sequence[ItemScores]]) -> HeldFile:
    """The file at `path`, and its rows over these items of each benchmark.

    Raises UsageError with every mistake of the file, and where it has no row.
    """
    gate = read(path)
    rows = rows_of_file(gate, items)
    if not rows:
        raise UsageError([Mistake("no row: expected at least one table [BENCHMARK.METRIC], as in [starter.mc1]", path)])
    settings = {table.settings.name: table.settings for table in gate.benchmarks}
    return HeldFile(path, rows, settings, bool(gate.judge.requires))


def lacking(row: Row, name: str, items: Sequence[ItemScores]) -> Iterator[str]:
    """Why the items of a benchmark in the file `name` have no such metric."""
    without = sum(part_of(item, row.metric) == "none" for item in items)
    mixed = metric_of(row.metric).elicitation in MIXED
    if not without or (mixed and without < len(items)):
        return
    if without < len(items):
        yield f"{name} has {row.metric} of {len(items) - without} of {len(items)} items of {row.benchmark} only"
    else:
        there = dict.fromkeys(value for item in items for value in item.values)
        yield f"{name} has no {row.metric} of {row.benchmark}, {has(there)}"


def has(names: Collection[str]) -> str:
    """What is there instead."""
    return f"it has {', '.join(map(visible, names)) or 'nothing'}"
