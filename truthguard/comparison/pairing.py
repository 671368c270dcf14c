"""Which items of a run stand beside which of a baseline, and which stand alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from truthguard.comparison.comparable import scores_of
from truthguard.metrics.participation import part_of
from truthguard.records import BaselineRun, ItemScores, Row, Run


@dataclass(frozen=True, slots=True)
class Pairing:
    """The items of a row's slice, baseline and candidate; those that its metric leaves out have no part in it.

    `both` are scored on both sides; `lost` only in the baseline, which is where the candidate has no value; `gained`
    only in the candidate. What neither scored is nothing. The other two are the ids that one side does not have.
    """

    both: tuple[tuple[ItemScores, ItemScores], ...]
    lost: tuple[tuple[ItemScores, ItemScores], ...]
    gained: tuple[ItemScores, ...]
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]
    union: int


def pair(row: Row, run: Run, baseline: BaselineRun) -> Pairing:
    """Pair the items of the row's slice by id, in the run's order."""
    new = _items(run.items, row)
    old = _items(map(scores_of, baseline.items), row)
    both, lost, gained = [], [], []
    for name, item in new.items():
        if name not in old:
            continue
        sides = (old[name], item)
        before, now = (part_of(side, row.metric) == "scored" for side in sides)
        if before and now:
            both.append(sides)
        elif before:
            lost.append(sides)
        elif now:
            gained.append(item)
    return Pairing(
        both=tuple(both),
        lost=tuple(lost),
        gained=tuple(gained),
        only_baseline=tuple(name for name in old if name not in new),
        only_candidate=tuple(name for name in new if name not in old),
        union=len(old.keys() | new.keys()),
    )


def _items(items: Iterable[ItemScores], row: Row) -> dict[str, ItemScores]:
    return {
        item.id: item
        for item in items
        if (row.category is None or item.category == row.category)
        and part_of(item, row.metric) in ("scored", "unscored")
    }
