"""The paired test of a metric by its scale, ready to be asked about any bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from truthguard.catalogue import Metric, metric_of
from truthguard.comparison.pairing import Pairing
from truthguard.metrics.judging import cluster_of, paired_resamples, value_of
from truthguard.metrics.paired import discordant, mcnemar, paired_t, paired_t_p, tango, tango_p
from truthguard.metrics.power import paired_spread, resampled_spread
from truthguard.metrics.statistics import Alternative, Interval, mean
from truthguard.records import Missing, Row


@dataclass(frozen=True, slots=True)
class Test:
    """A drop with its interval, its one-sided p against any bar, and the spread of its differences.

    Where there is too little for a test, interval, p and spread are None and `untested` says why.
    """

    __test__ = False  # pytest takes the name for one of its own

    estimate: float
    interval: Interval | None
    p: Callable[[float, Alternative], float | None]
    spread: float | None
    untested: str | None = None
    mcnemar: float | None = None


def test_of(row: Row, pairing: Pairing) -> Test | Missing:
    """The test over the row's pairs; Missing where a statistic is undefined on one of the sides."""
    spec = metric_of(row.metric)
    if spec.scale == "statistic":
        return _statistic(row, pairing)
    worst = spec.high if spec.smaller_is_better else spec.low
    pairs = [*pairing.both, *pairing.lost]
    before, now = ([_value(side.values.get(row.metric), worst) for side in sides] for sides in zip(*pairs, strict=True))
    if spec.scale == "share":
        return _share(before, now, row.confidence)
    return _mean(before, now, [cluster_of(new) for _, new in pairs], spec, row.confidence)


def _value(value: float | None, worst: float) -> float:
    return worst if value is None else value


def _share(before: Sequence[float], now: Sequence[float], confidence: float) -> Test:
    n = len(now)
    b, c = discordant(before, now)
    differences = [old - new for old, new in zip(before, now, strict=True)]
    return Test(
        estimate=(b - c) / n,
        interval=tango(b, c, n, confidence),
        p=lambda bar, alternative: tango_p(b, c, n, bar, alternative),
        spread=paired_spread(differences, range(n)),
        mcnemar=mcnemar(b, c),
    )


def _mean(
    before: Sequence[float], now: Sequence[float], clusters: Sequence[str], spec: Metric, confidence: float
) -> Test:
    differences = [old - new for old, new in zip(before, now, strict=True)]
    support = Interval(spec.low, spec.high)
    return Test(
        estimate=mean(differences),
        interval=paired_t(differences, clusters, confidence),
        p=lambda bar, alternative: paired_t_p(differences, clusters, bar, alternative, support),
        spread=paired_spread(differences, clusters),
        untested="one scored prompt is too few for a test" if len(set(clusters)) < 2 else None,
    )


def _statistic(row: Row, pairing: Pairing) -> Test | Missing:
    before, now = ([pair[side] for pair in pairing.both] for side in (0, 1))
    old, new = value_of(before, row.metric), value_of(now, row.metric)
    if isinstance(old, Missing):
        return Missing(old.kind, f"in the baseline {old.detail}")
    if isinstance(new, Missing):
        return Missing(new.kind, f"in this run {new.detail}")
    drawn = paired_resamples(before, now, row.metric, row.id)
    return Test(
        estimate=old - new,
        interval=drawn.interval(row.confidence),
        p=drawn.p,
        spread=resampled_spread(drawn, len(now)),
        untested=drawn.too_little,
    )
