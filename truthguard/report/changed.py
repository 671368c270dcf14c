"""The items that score differently from a baseline, those that moved furthest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from truthguard.catalogue import metric_of
from truthguard.records import Baseline, BaselineItem, RowResult, Run

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Changed:
    """An item's value in a baseline and after it; None = no longer scored."""

    benchmark: str
    metric: str
    id: str
    question: str
    before: float
    after: float | None

    @property
    def distance(self) -> float:
        """How far it moved; what is no longer scored has moved furthest of all."""
        return inf if self.after is None else abs(self.after - self.before)


def changed_items(results: Sequence[RowResult], runs: Sequence[Run], baseline: Baseline) -> tuple[Changed, ...]:
    """Each item once, in the metric in which it moved furthest; of equal ones those that got worse first.

    Looked at are the metrics of rows that were compared with the baseline. What is no mean has no value of an item.
    """
    found: dict[tuple[str, str], Changed] = {}
    for run in runs:
        before = baseline.runs.get(run.benchmark)
        if before is None:
            continue
        old = {item.id: item for item in before.items}
        for metric in _compared(results, run.benchmark, baseline.name):
            for item in _changes(run, old, metric):
                place = (run.benchmark, item.id)
                if place not in found or item.distance > found[place].distance:
                    found[place] = item
    return tuple(sorted(found.values(), key=lambda item: (-item.distance, _rose(item))))


def _compared(results: Sequence[RowResult], benchmark: str, baseline: str) -> Iterator[str]:
    """The metrics whose rows have a drop against the baseline, each once."""
    yield from dict.fromkeys(
        result.row.metric
        for result in results
        if result.row.benchmark == benchmark and any(drop.baseline == baseline for drop in result.drops)
    )


def _changes(run: Run, old: Mapping[str, BaselineItem], metric: str) -> Iterator[Changed]:
    for item in run.items:
        before = old[item.id].values.get(metric) if item.id in old else None
        if before is None or metric not in item.values:
            continue
        changed = Changed(run.benchmark, metric, item.id, item.question, before, item.values[metric])
        if changed.distance > TOLERANCE:
            yield changed


def _rose(item: Changed) -> bool:
    """Whether the item got better, where one must go before the other."""
    better = item.after is not None and item.after > item.before
    return better != metric_of(item.metric).smaller_is_better
