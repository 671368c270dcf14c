"""The rows of what a record has, told without the data files: those of a thresholds file, or one for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truthguard.catalogue import METRICS_OF, NORMALIZATIONS, metric_of, variant
from truthguard.metrics.participation import MIXED, part_of
from truthguard.records import BenchmarkKind, BenchmarkSettings, ItemScores, Row
from truthguard.thresholds.rows import expand
from truthguard.thresholds.spec import BenchmarkTable, Gate


@dataclass(frozen=True, slots=True)
class _Category:
    """Stands for a category that the file names: its row is there although the record may have none of its items."""

    category: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class _Questions:
    items: Sequence[ItemScores | _Category]


def rows_of_file(gate: Gate, items: Mapping[str, Sequence[ItemScores]]) -> tuple[Row, ...]:
    """The rows of a thresholds file as pytest has them, `items` by benchmark being those that were asked.

    Categories are those of the items, in their order, and those that the file names. A benchmark that `items` lacks has
    the rows that its tables name.
    """
    selected = {table.settings.name: items.get(table.settings.name, ()) for table in gate.benchmarks}
    questions = {
        table.settings.name: _Questions((*selected[table.settings.name], *_named(table))) for table in gate.benchmarks
    }
    return expand(gate, questions, selected, _available, _fits)


def rows_without_bars(benchmark: str, kind: BenchmarkKind, items: Sequence[ItemScores]) -> tuple[Row, ...]:
    """A row without a bar for each metric of which the items have something to say, in the catalogue's order."""
    variants = dict.fromkeys(variant(metric, way) for metric in METRICS_OF[kind] for way in NORMALIZATIONS)
    return tuple(
        Row(f"{benchmark}[{name}]", benchmark, name, line=0, max_unscored=metric_of(name).max_unscored)
        for name in variants
        if any(part_of(item, name) != "none" for item in items)
    )


def _named(table: BenchmarkTable) -> list[_Category]:
    return [_Category(name) for name in dict.fromkeys(name for row in table.rows for name in row.categories)]


def _available(metric: str, questions: _Questions, settings: BenchmarkSettings) -> None:
    """What a record lacks is an error of the row that needs it, not a mistake in the file."""


def _fits(item: ItemScores | _Category, metric: str) -> bool:
    """Of a set that measures a judge only some items are a metric's."""
    if isinstance(item, _Category) or metric_of(metric).elicitation not in MIXED:
        return True
    return part_of(item, metric) != "none"
