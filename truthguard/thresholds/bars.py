"""Whether a score meets its bar: by the number itself, or by a one-sided test against each end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from truthguard.catalogue import metric_of
from truthguard.records import ItemScores, Row
from truthguard.thresholds.comparing import at_least, at_most, digits_that_differ


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a bar and the score."""

    name: Literal["min", "max"]
    limit: float
    estimate: float

    @property
    def met(self) -> bool:
        holds = at_least if self.name == "min" else at_most
        return holds(self.estimate, self.limit)

    def missed(self) -> str:
        estimate, limit = digits_that_differ(self.estimate, self.limit)
        return f"{estimate} {'<' if self.name == 'min' else '>'} {limit} ({self.name})"


@dataclass(frozen=True, slots=True)
class _Tested:
    """An end with the one-sided p that the true score lies on its wrong or its right side; None: no test."""

    end: _End
    wrong: float | None
    right: float | None
    alpha: float

    @property
    def side(self) -> Literal["wrong", "right", "undecided"]:
        if self.wrong is not None and self.wrong <= self.alpha:
            return "wrong"
        return "right" if self.right is not None and self.right <= self.alpha else "undecided"

    def __str__(self) -> str:
        """What the test shows, for a reader."""
        level = f"alpha = {self.alpha:.3g}"
        if self.side == "wrong":
            return f"{self.end.missed()}, shown by a one-sided test: p = {self.wrong:.3g}, {level}"
        estimate, limit = digits_that_differ(self.end.estimate, self.end.limit)
        pair = f"undecided: {estimate} against {self.end.name} {limit}"
        if self.wrong is None or self.right is None:
            return f"{pair}, and one scored prompt is too few for a test"
        below, above = (self.wrong, self.right) if self.end.name == "min" else (self.right, self.wrong)
        return f"{pair}, one-sided p = {below:.3g} that it lies below and {above:.3g} above, {level}"


def held(row: Row, estimate: float, items: Sequence[ItemScores]) -> tuple[bool, str]:
    """Whether the row passes, and why not; a pass has words only where it is undecided.

    `estimate` blocks when the number misses an end by more than 1e-9, `proof` when the test shows at
    `row.alpha` that the true score does, `doubt` unless it shows for each end that the true score meets it.
    Shares of 0/1 items: Wilson's score test; other means: t with items that share a prompt as one cluster.
    """
    ends = [] if row.bar.min is None else [_End("min", row.bar.min, estimate)]
    ends += [] if row.bar.max is None else [_End("max", row.bar.max, estimate)]
    if row.bar.block_on == "estimate":
        missed = [end.missed() for end in ends if not end.met]
        return not missed, "; ".join(missed)
    tested = [_tested(row, end, items) for end in ends]
    sides = [each.side for each in tested]
    passed = "wrong" not in sides if row.bar.block_on == "proof" else set(sides) == {"right"}
    return passed, "; ".join(str(each) for each in tested if each.side != "right")


def _tested(row: Row, end: _End, items: Sequence[ItemScores]) -> _Tested:
    from truthguard.metrics.statistics import Alternative, Interval, cluster_t_p, wilson_p
    from truthguard.metrics.summary import clusters

    values = [value for item in items if (value := item.values[row.metric]) is not None]
    metric = metric_of(row.metric)

    def p(alternative: Alternative) -> float | None:
        if metric.scale == "share":
            return wilson_p(sum(value == 1.0 for value in values), len(values), end.limit, alternative)
        support = Interval(metric.low, metric.high)
        return cluster_t_p(values, clusters(items, row.metric), end.limit, alternative, support)

    below, above = p("less"), p("greater")
    wrong, right = (below, above) if end.name == "min" else (above, below)
    return _Tested(end, wrong, right, row.alpha)
