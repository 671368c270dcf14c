"""Whether a score meets its bar: by the number itself, or by a one-sided test against each end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from truthguard.catalogue import metric_of
from truthguard.records import ItemScores, Row
from truthguard.thresholds.comparing import at_least, at_most, digits_that_differ

if TYPE_CHECKING:
    from truthguard.metrics.statistics import Alternative


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
class _Test:
    """The one-sided test of a row's score: its p against a limit, None where there is too little, and then why."""

    p: Callable[[float, Alternative], float | None]
    too_little: str = "one scored prompt is too few for a test"


@dataclass(frozen=True, slots=True)
class _Tested:
    """An end with the one-sided p that the true score lies on its wrong or its right side; None: no test."""

    end: _End
    wrong: float | None
    right: float | None
    alpha: float
    too_little: str

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
            return f"{pair}, and {self.too_little}"
        below, above = (self.wrong, self.right) if self.end.name == "min" else (self.right, self.wrong)
        return f"{pair}, one-sided p = {below:.3g} that it lies below and {above:.3g} above, {level}"


def held(row: Row, estimate: float, items: Sequence[ItemScores]) -> tuple[bool, str]:
    """Whether the row passes, and why not; a pass has words only where it is undecided.

    `estimate` blocks when the number misses an end by more than 1e-9, `proof` when the test shows at
    `row.alpha` that the true score does, `doubt` unless it shows for each end that the true score meets it.
    Shares of 0/1 items: Wilson's score test; other means: t with items that share a prompt as one cluster; what is no
    mean: the resamples of its interval.
    """
    ends = [] if row.bar.min is None else [_End("min", row.bar.min, estimate)]
    ends += [] if row.bar.max is None else [_End("max", row.bar.max, estimate)]
    if row.bar.block_on == "estimate":
        missed = [end.missed() for end in ends if not end.met]
        return not missed, "; ".join(missed)
    test = _test(row, items)
    tested = [_tested(row, end, test) for end in ends]
    sides = [each.side for each in tested]
    passed = "wrong" not in sides if row.bar.block_on == "proof" else set(sides) == {"right"}
    return passed, "; ".join(str(each) for each in tested if each.side != "right")


def _tested(row: Row, end: _End, test: _Test) -> _Tested:
    below, above = test.p(end.limit, "less"), test.p(end.limit, "greater")
    wrong, right = (below, above) if end.name == "min" else (above, below)
    return _Tested(end, wrong, right, row.alpha, test.too_little)


def _test(row: Row, items: Sequence[ItemScores]) -> _Test:
    from truthguard.metrics import judging
    from truthguard.metrics.statistics import Interval, cluster_t_p, wilson_p
    from truthguard.metrics.summary import clusters

    metric = metric_of(row.metric)
    if metric.scale == "statistic":
        drawn = judging.resamples(items, row.metric, row.id)
        return _Test(drawn.p, f"there is no test: {drawn.too_little}")
    values = [value for item in items if (value := item.values.get(row.metric)) is not None]
    if metric.scale == "share":
        right = sum(value == 1.0 for value in values)
        return _Test(lambda limit, alternative: wilson_p(right, len(values), limit, alternative))
    support, groups = Interval(metric.low, metric.high), clusters(items, row.metric)
    return _Test(lambda limit, alternative: cluster_t_p(values, groups, limit, alternative, support))
