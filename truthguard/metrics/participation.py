"""What an item is to a metric: scored, unscored, dropped by the metric's definition, or none of its items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from truthguard.catalogue import GRADE_RUN, Elicitation, metric_of
from truthguard.records import ItemScores, Missing

Part = Literal["scored", "unscored", "dropped", "none"]

# In a set that measures a judge items of several kinds may stand together, each with metrics of its own.
MIXED: frozenset[Elicitation] = frozenset(["judging", "injection"])


def part_of(item: ItemScores, metric: str) -> Part:
    """What the item is to the metric, which is made of its own value, or of the values of its columns.

    `scored` with all of them, `unscored` where one stands there without a number, `dropped` where one does not stand
    there but has a reason why not, `none` where nothing is said of one. Of several runs two readable ones make a score
    of `consistency`.

    >>> values = {"with_ties": 1.0, "accuracy": None}
    >>> item = ItemScores("a", "", "", values, {"without_ties": Missing("tie", "people call it a tie")})
    >>> [part_of(item, metric) for metric in ("with_ties", "accuracy", "without_ties", "pearson")]
    ['scored', 'unscored', 'dropped', 'none']
    """
    if metric_of(metric).columns == (GRADE_RUN,):
        runs = run_columns(item)
        if not runs:
            return "none"
        readable = sum(item.values[run] is not None for run in runs)
        return "scored" if readable >= min(2, len(runs)) else "unscored"
    columns = _columns(item, metric)
    if any(column not in item.values and column not in item.reasons for column in columns):
        return "none"
    if any(column not in item.values for column in columns):
        return "dropped"
    return "unscored" if any(item.values[column] is None for column in columns) else "scored"


def run_columns(item: ItemScores) -> tuple[str, ...]:
    """The names of the item's grades in each run, in the order of the runs."""
    return tuple(name for name in item.values if name.startswith(GRADE_RUN))


def reason_of(item: ItemScores, metric: str) -> Missing:
    """Why an item that is unscored or dropped has no value. Raises ValueError where nobody says it.

    >>> reason_of(ItemScores("a", "", "", {"accuracy": None}, {"accuracy": Missing("length", "cut")}), "accuracy")
    Missing(kind='length', detail='cut')
    """
    for column in _columns(item, metric):
        if item.values.get(column) is None:
            if column not in item.reasons:
                raise ValueError(f"item {item.id} has neither a value of {column} nor a reason why not")
            return item.reasons[column]
    raise ValueError(f"item {item.id} has a value of {metric}, and no reason why not")


def participants(items: Sequence[ItemScores], metric: str) -> list[ItemScores]:
    """The items of the metric, in order. Raises ValueError for one that is none of it but must be."""
    mixed = metric_of(metric).elicitation in MIXED
    taking_part = []
    for item in items:
        if part_of(item, metric) != "none":
            taking_part.append(item)
        elif not mixed:
            raise ValueError(f"item {item.id} was not asked for {metric}; it has {', '.join(sorted(item.values))}")
    return taking_part


def _columns(item: ItemScores, metric: str) -> tuple[str, ...]:
    columns = metric_of(metric).columns
    return run_columns(item) if columns == (GRADE_RUN,) else columns or (metric,)
