"""Means, intervals and one-sided tests of a score: Wilson's for shares, t over clusters for other means.

scipy is imported where it is used: a gate on shares alone does not need it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

Alternative = Literal["less", "greater"]

# Limits are held with this tolerance on unrounded values: a mean this near to the bar is on it.
TOLERANCE = 1e-9
# A standard error this small beside the values is the rounding of their sums, not a spread.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval; it always contains its estimate."""

    low: float
    high: float


def mean(values: Sequence[float]) -> float:
    """Sum over n, the sum correctly rounded (math.fsum): the same for any order and any batch.

    Raises ValueError for no values and for a NaN or an infinity among them.

    >>> mean([0.9, 0.5, 0.7, 0.8, 0.65, 0.7, 0.6, 0.75, 0.72, 0.68])
    0.7
    """
    if not values:
        raise ValueError("the mean of no values is undefined")
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"a mean is taken over finite values only, got {value!r}")
    return math.fsum(values) / len(values)


def wilson(successes: int, n: int, confidence: float) -> Interval:
    """Wilson's score interval of a share: all b with |share - b| <= z sqrt(b (1 - b) / n).

    Low is exactly 0 at 0 of n, high exactly 1 at n of n. Raises ValueError unless 0 <= successes <= n, n > 0
    and 0 < confidence < 1. Source: Wilson (JASA 1927).

    >>> interval = wilson(5, 10, 0.95)
    >>> round(interval.low, 6), round(interval.high, 6), wilson(0, 10, 0.95).low, wilson(10, 10, 0.95).high
    (0.236593, 0.763407, 0.0, 1.0)
    """
    _check_share(successes, n)
    z = -NormalDist().inv_cdf(tail_of(confidence))
    share = successes / n
    low, high = _wilson_low(successes, n, z), 1.0 - _wilson_low(n - successes, n, z)
    # The ends hold the share exactly; the last bit of a rounding must not put it outside.
    return Interval(min(low, share), max(high, share))


def wilson_p(successes: int, n: int, bar: float, alternative: Alternative) -> float:
    """One-sided p of the score test of a share against a bar: z = (share - bar) / sqrt(bar (1 - bar) / n).

    `alternative` is what a small p shows: that the true share is "less" or "greater" than the bar. Against the
    ends of Wilson's interval p is half of 1 - confidence. A bar of 0 or 1 leaves no spread: p is 0 where the
    share is on the alternative's side of it, 1 on the other, 0.5 on the bar. Raises ValueError as `wilson`,
    and for a bar outside 0 to 1.

    >>> round(wilson_p(8, 10, 0.5, "greater"), 6), wilson_p(10, 10, 1.0, "less"), wilson_p(9, 10, 1.0, "less")
    (0.02889, 0.5, 0.0)
    """
    _check_share(successes, n)
    if not 0.0 <= bar <= 1.0:
        raise ValueError(f"the bar of a share must lie between 0 and 1, got {bar!r}")
    difference = successes / n - bar
    spread = math.sqrt(bar * (1.0 - bar) / n)
    if spread == 0.0:
        return _p_at_an_end(difference, alternative)
    z = difference / spread
    # erfc keeps its relative precision in the far tail, where 1 - erf is 0.
    return 0.5 * math.erfc((-z if alternative == "less" else z) / math.sqrt(2.0))


def cluster_t(values: Sequence[float], clusters: Sequence[Hashable], confidence: float) -> Interval | None:
    """mean +- t standard errors, with the variance of cluster sums and G - 1 degrees of freedom.

    With r_g the sum of x - mean over cluster g: variance of the mean = G / (G - 1) * sum of r_g^2 / n^2 (the
    mean as a ratio of cluster sums to cluster sizes, linearised). With one item in each cluster it is the
    plain t interval. Not clipped to the metric's range: near its ends it may reach beyond. None with fewer
    than two clusters; [mean, mean] when the values do not vary between clusters. Raises ValueError as `mean`,
    for lengths that differ and for a confidence outside 0 to 1. Source: Cochran, Sampling Techniques (1977);
    for evaluations Miller, Adding Error Bars to Evals (2024).

    >>> interval = cluster_t([0.2, 0.4, 0.9], ["a", "b", "c"], 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.3957, 1.3957)
    """
    tail = tail_of(confidence)
    spread = _cluster_spread(values, clusters)
    if spread is None:
        return None
    from scipy.special import stdtrit

    half = -float(stdtrit(spread.degrees, tail)) * spread.standard_error
    return Interval(spread.mean - half, spread.mean + half)


def cluster_t_p(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    bar: float,
    alternative: Alternative,
    support: Interval,
) -> float | None:
    """One-sided p of the t test of a mean against a bar, with the variance of `cluster_t`.

    `alternative` is what a small p shows: that the true mean is "less" or "greater" than the bar. `support` is
    the range of a value. Where the clusters do not differ t has no spread to go by, and two equal values would
    prove anything: there p is Markov's bound over the G clusters, ((high - bar) / (high - mean))^G for "less"
    and ((bar - low) / (mean - low))^G for "greater", 1 on the other side of the bar. None with fewer than two
    clusters. Raises ValueError as `cluster_t`.

    >>> round(cluster_t_p([0.2, 0.4, 0.9], ["a", "b", "c"], 0.9, "less", Interval(0, 1)), 4)
    0.0973
    >>> round(cluster_t_p([0.0] * 20, range(20), 0.3, "less", Interval(0, 1)), 4)
    0.0008
    >>> round(cluster_t_p([0.2, 0.2], ["a", "b"], 0.3, "less", Interval(0, 1)), 4)
    0.7656
    """
    if not math.isfinite(bar):
        raise ValueError(f"a bar is a finite number, got {bar!r}")
    spread = _cluster_spread(values, clusters)
    if spread is None:
        return None
    if spread.standard_error == 0.0:
        return _markov_p(spread.mean, spread.degrees + 1, bar, alternative, support)
    from scipy.special import stdtr

    t = (spread.mean - bar) / spread.standard_error
    return float(stdtr(spread.degrees, t if alternative == "less" else -t))


def _markov_p(mean: float, clusters: int, bar: float, alternative: Alternative, support: Interval) -> float:
    """The chance that every cluster lies as far from the bar as `mean`, at most, if the true mean were the bar."""
    if alternative == "less":
        room, distance = support.high - bar, support.high - mean
    else:
        room, distance = bar - support.low, mean - support.low
    # Within a rounding of the bar, or on its other side, nothing speaks for the alternative.
    return 1.0 if distance <= room + TOLERANCE else float((max(0.0, room) / distance) ** clusters)


@dataclass(frozen=True, slots=True)
class _Spread:
    mean: float
    standard_error: float
    degrees: int


def _cluster_spread(values: Sequence[float], clusters: Sequence[Hashable]) -> _Spread | None:
    """The mean with the standard error of cluster sums; None with fewer than two clusters."""
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values need as many cluster labels, got {len(clusters)}")
    centre = mean(values)
    residuals: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster].append(value - centre)
    g = len(residuals)
    if g < 2:
        return None
    squares = math.fsum(math.fsum(cluster) ** 2 for cluster in residuals.values())
    error = math.sqrt(g / (g - 1) * squares) / len(values)
    return _Spread(centre, error if error > _ROUNDING * max(map(abs, values)) else 0.0, g - 1)


def tail_of(confidence: float) -> float:
    """The probability outside each end of a two-sided interval."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    return (1.0 - confidence) / 2.0


def _check_share(successes: int, n: int) -> None:
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"a share needs 0 <= successes <= n and n > 0, got {successes} of {n}")


def _wilson_low(successes: int, n: int, z: float) -> float:
    """The smaller root of (1 + z^2/n) b^2 - (2 share + z^2/n) b + share^2, without cancellation."""
    if successes == 0:
        return 0.0
    share = successes / n
    half = z * z / (2.0 * n)
    return share * share / (share + half + z * math.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2))


def _p_at_an_end(difference: float, alternative: Alternative) -> float:
    """Against a bar of 0 or 1 one item on the other side decides: the limit of the test as the spread goes to 0."""
    if abs(difference) <= TOLERANCE:
        return 0.5
    return 0.0 if (difference < 0) == (alternative == "less") else 1.0
