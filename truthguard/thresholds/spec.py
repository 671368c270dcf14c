"""What a thresholds file says, once it is known to be right. Frozen, plain, no pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from truthguard.records import Bar, BenchmarkSettings, BlockOn


@dataclass(frozen=True, slots=True)
class Limits:
    """What a score is held against, and how. `max_unscored` is the metric's own unless the file says otherwise.

    `block_on` None = the default of each bar.
    """

    max_unscored: float
    min: float | None = None
    max: float | None = None
    max_drop: float | None = None
    block_on: BlockOn | None = None
    confidence: float = 0.95
    min_items: int = 1
    waive_until: date | None = None
    waive_reason: str | None = None

    @property
    def bar(self) -> Bar:
        """What the score itself is held against; the number decides unless the file says otherwise."""
        return Bar(self.min, self.max, self.block_on or "estimate")

    @property
    def drop_block_on(self) -> BlockOn:
        """What blocks a drop: chance alone moves some items of every rerun, so a test must show it."""
        return self.block_on or "proof"


@dataclass(frozen=True, slots=True)
class CategorySpec:
    """A category that is named in the file, with all of its limits: its own, else `each`'s, else the row's."""

    line: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class RowSpec:
    """One table of a benchmark and a metric.

    `metric` is the catalogue's name. `each` holds the limits of the category rows, what it leaves out filled from
    the row; with `by_category` every category of the data has such a row, else only those in `categories`.
    `item_min` is the bar that every selected item must meet by itself.
    """

    metric: str
    line: int
    limits: Limits
    each: Limits
    by_category: bool = False
    categories: Mapping[str, CategorySpec] = field(default_factory=dict)
    item_min: float | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkTable:
    """A benchmark with its settings, defaults filled in, and its rows in the file's order."""

    settings: BenchmarkSettings
    line: int
    rows: tuple[RowSpec, ...]


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """[judge]: `settings` are its own keys, `model` those of its model, only the ones that are set.

    The names are the fields' of JudgeSettings and ModelSettings. `line` is where its kind is set, or the table;
    `lines` has that of every key that is set, under the file's own names. `requires` is what the judge must have
    reached ("truthful_judge.accuracy" and the like), `trust` the file that says what it has reached, as the path
    stands there.
    """

    line: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    requires: Mapping[str, float] = field(default_factory=dict)
    trust: str | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """A thresholds file. `model` holds the keys that [model] sets and no others: the rest comes from elsewhere.

    `unread` names those of [model] and [judge] that have mistakes, so that nothing can be concluded from them.
    """

    path: Path
    model: Mapping[str, Any]
    benchmarks: tuple[BenchmarkTable, ...]
    judge: JudgeSpec = field(default_factory=JudgeSpec)
    unread: frozenset[str] = frozenset()
