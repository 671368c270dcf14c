"""The gate: what a score must meet, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from truthguard.records.measured import Drop, MetricSummary, Missing

Verdict = Literal["pass", "fail", "error", "not_gated", "waived"]
BlockOn = Literal["estimate", "proof", "doubt"]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a score must meet: inclusive ends, on unrounded values."""

    min: float | None = None
    max: float | None = None
    block_on: BlockOn = "estimate"

    def __bool__(self) -> bool:
        return self.min is not None or self.max is not None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the thresholds file, or one slice of it: what becomes one pytest item.

    `metric` is the variant's name (mc1_per_token), `judge` how the judge of a judged metric is printed behind it;
    `category` and `item` narrow the row to a slice.
    `alpha` is the level of its one-sided test, already divided where several rows may block by proof. `max_drop` is
    the most by which the metric may be lower than in a baseline, and `drop_block_on` says what blocks there.
    """

    id: str
    benchmark: str
    metric: str
    line: int
    bar: Bar = Bar()
    category: str | None = None
    item: str | None = None
    confidence: float = 0.95
    alpha: float = 0.05
    max_unscored: float = 0.0
    min_items: int = 1
    waive_until: date | None = None
    waive_reason: str | None = None
    judge: str | None = None
    max_drop: float | None = None
    drop_block_on: BlockOn = "proof"


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A judged share corrected for the judge's own errors, as measured on labelled answers.

    `estimate` and the interval are clipped to 0..1, `unclipped` is the estimate before; all are None, with the reason
    in `undefined`, for a judge no better than chance. It assumes that `sensitivity` and `specificity`, measured on
    `n_positive` and `n_negative` answers, carry over to the answers of the row.
    """

    sensitivity: float
    specificity: float
    n_positive: int
    n_negative: int
    confidence: float
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    unclipped: float | None = None
    undefined: Missing | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    """The outcome of a row: what was measured, the bar, the verdict and its reason in words.

    `drops` has one entry for each baseline that the row was compared with.
    """

    row: Row
    summary: MetricSummary | None
    verdict: Verdict
    reason: str = ""
    corrected: CorrectedRate | None = None
    drops: tuple[Drop, ...] = ()
