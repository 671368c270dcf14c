"""What changed between two runs on the same items: the drop, baseline minus candidate, with its interval and its tests.

The two runs answer the same questions, so only the items that differ carry evidence: Tango's score test for pairs of
0/1 items, t over clusters of the differences for other means, and the bootstrap of both sides jointly for what is no
mean. A drop is positive where the candidate is worse. scipy is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from truthguard.metrics.resampling import RESAMPLES, Bootstrap, bootstrap
from truthguard.metrics.statistics import TOLERANCE, Alternative, Interval, cluster_t, cluster_t_p, tail_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistic = Callable[[NDArray[np.intp]], float | None]


def discordant(baseline: Sequence[float], candidate: Sequence[float]) -> tuple[int, int]:
    """The counts (b, c) of 0/1 items that differ: b right in the baseline alone, c right in the candidate alone.

    Item i of both is the same question. Raises ValueError for lengths that differ, no items, or another value.

    >>> discordant([1, 1, 1, 0, 0], [1, 0, 0, 1, 0])
    (2, 1)
    """
    if not baseline or len(baseline) != len(candidate):
        raise ValueError(f"pairs need as many items on both sides, got {len(baseline)} and {len(candidate)}")
    for value in (*baseline, *candidate):
        if value not in (0.0, 1.0):
            raise ValueError(f"a pair of 0/1 items is made of 0 and 1, got {value!r}")
    pairs = list(zip(baseline, candidate, strict=True))
    return sum(old > new for old, new in pairs), sum(old < new for old, new in pairs)


def tango(b: int, c: int, n: int, confidence: float) -> Interval:
    """Tango's score interval of the drop (b - c) / n of n pairs: all d with |T(d)| <= z.

    b pairs are right in the baseline alone, c in the candidate alone. T(d) = (b - c - n d) / sqrt(n (2q + d(1 - d)))
    with q the likeliest share of c if the true drop is d: A = 2n, B = -b - c + (2n - b + c)d, C = -c d(1 - d),
    q = (sqrt(B^2 - 4AC) - B) / 2A. Both ends are bisected to the last bit and lie within -1 to 1 around the estimate;
    the high end is exactly 1 at b = n, the low end exactly -1 at c = n. Without any discordant pair the interval is
    +-z^2 / (n + z^2): that nothing changed among n items does not show that nothing changes. Swapping the two runs
    mirrors it. Raises ValueError unless b, c >= 0, b + c <= n, n > 0 and 0 < confidence < 1. Source: Tango (Statistics
    in Medicine 1998).

    >>> interval = tango(16, 4, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0179, 0.109)
    """
    _check_pairs(b, c, n)
    z = -NormalDist().inv_cdf(tail_of(confidence))
    return Interval(-_tango_high(c, b, n, z), _tango_high(b, c, n, z))


def tango_p(b: int, c: int, n: int, drop: float, alternative: Alternative) -> float:
    """One-sided p of Tango's score test of the drop of n pairs against a bar: T(drop) as a standard normal.

    `alternative` is what a small p shows: that the true drop is "less" or "greater" than the bar. Against the ends of
    the interval of `tango` p is half of 1 - confidence; against a drop of 0, T is McNemar's (b - c) / sqrt(b + c).
    Where T has no spread p is its limit: 0.5 on the bar (no discordant pair against 0; b = n against 1; c = n against
    -1), and beside a bar of 1 or -1 that any other pair rules out, 0 on the alternative's side of it and 1 on the
    other. Raises ValueError as `tango`, and for a bar outside -1 to 1.

    >>> round(tango_p(16, 4, 200, 0.0, "greater"), 5), round(tango_p(4, 16, 200, 0.0, "greater"), 5)
    (0.00365, 0.99635)
    >>> tango_p(0, 0, 200, 0.0, "greater"), round(tango_p(0, 0, 200, 0.02, "less"), 4)
    (0.5, 0.0217)
    """
    _check_pairs(b, c, n)
    if not -1.0 <= drop <= 1.0:
        raise ValueError(f"the drop of a share must lie between -1 and 1, got {drop!r}")
    t = _tango_t(b, c, n, drop)
    # erfc keeps its relative precision in the far tail, where 1 - erf is 0.
    return 0.5 * math.erfc((-t if alternative == "less" else t) / math.sqrt(2.0))


def mcnemar(b: int, c: int) -> float:
    """McNemar's exact two-sided p that b and c differ: min(1, 2 P(X <= min(b, c))), X ~ Bin(b + c, 1/2).

    1 when b + c = 0. Raises ValueError for a negative count. Source: McNemar (Psychometrika 1947).

    >>> round(mcnemar(16, 4), 8), mcnemar(3, 3), mcnemar(0, 0)
    (0.01181793, 1.0, 1.0)
    """
    if b < 0 or c < 0:
        raise ValueError(f"discordant pairs are counted from 0, got {b} and {c}")
    if b == c:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(b, c), b + c, 0.5)))


def paired_t(differences: Sequence[float], clusters: Sequence[Hashable], confidence: float) -> Interval | None:
    """The t interval of the mean drop over clusters: `cluster_t` of baseline minus candidate, item by item.

    None with fewer than two clusters; [drop, drop] when the differences do not vary between clusters. Raises
    ValueError as `cluster_t`.

    >>> interval = paired_t([0.2, 0.0, 0.1, -0.1], ["a", "b", "c", "d"], 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.1554, 0.2554)
    """
    return cluster_t(differences, clusters, confidence)


def paired_t_p(
    differences: Sequence[float],
    clusters: Sequence[Hashable],
    drop: float,
    alternative: Alternative,
    values: Interval,
) -> float | None:
    """One-sided p of the t test of the mean drop against a bar, over clusters: `cluster_t_p` of the differences.

    `alternative` is what a small p shows: that the true drop is "less" or "greater" than the bar. `values` is the
    range of the metric: a difference lies within plus and minus its width, which bounds p where the clusters do not
    differ: two equal runs show no drop (p = 1), and a few items that all lost the same show little. None with fewer
    than two clusters. Raises ValueError as `cluster_t_p`, and for a difference wider than the range.

    >>> round(paired_t_p([0.2, 0.0, 0.1, -0.1], "abcd", 0.0, "greater", Interval(0, 1)), 4)
    0.2475
    >>> paired_t_p([0.0] * 4, "abcd", 0.0, "greater", Interval(0, 1))
    1.0
    """
    width = values.high - values.low
    for difference in differences:
        if abs(difference) > width + TOLERANCE:
            raise ValueError(f"values of {values.low:g} to {values.high:g} cannot differ by {difference!r}")
    return cluster_t_p(differences, clusters, drop, alternative, Interval(-width, width))


def paired_bootstrap(
    baseline: Statistic,
    candidate: Statistic,
    n: int,
    generator: np.random.Generator,
    clusters: Sequence[Hashable],
    resamples: int = RESAMPLES,
) -> Bootstrap:
    """The drop of a statistic on resamples of the n items, both sides on the same ones each time.

    Each side takes an integer array of item indices, the same index for the same item, and gives its value on those
    items, None where it has none. `clusters` has one label an item; whole clusters are drawn. A resample on which
    either side has no value is counted as undefined; above 5 %, or with fewer than two clusters, there is neither an
    interval nor a p (`Bootstrap.too_little` says so). Raises ValueError as `bootstrap`.

    >>> import numpy as np
    >>> from truthguard.metrics.resampling import row_generator
    >>> old, new = np.array([0.2, 0.4, 0.9, 0.7]), np.array([0.1, 0.4, 0.7, 0.6])
    >>> drawn = paired_bootstrap(
    ...     lambda items: float(old[items].max()),
    ...     lambda items: float(new[items].max()),
    ...     4, row_generator(0, "row"), "abcd", resamples=200,
    ... )
    >>> round(drawn.estimate, 4), drawn.undefined, drawn.p(0.3, "less") < 0.01
    (0.2, 0, True)
    """

    def drop(items: NDArray[np.intp]) -> float | None:
        old, new = baseline(items), candidate(items)
        return None if old is None or new is None else old - new

    return bootstrap(drop, n, generator, resamples, clusters)


def _check_pairs(b: int, c: int, n: int) -> None:
    if n < 1 or b < 0 or c < 0 or b + c > n:
        raise ValueError(f"pairs need b, c >= 0 and b + c <= n and n > 0, got b = {b}, c = {c}, n = {n}")


def _tango_t(b: int, c: int, n: int, d: float) -> float:
    """T(d), which falls from d = -1 to d = 1; its limit where the spread is 0."""
    if d < 0.0:
        # The mirror image: below, nothing cancels, and swapping the two runs changes no bit but the sign.
        return -_tango_t(c, b, n, -d)
    linear = (2 * n - b + c) * d - b - c
    product = c * d * (1.0 - d)
    root = math.sqrt(linear * linear + 8.0 * n * product)
    # Both are the same root of 2n q^2 + linear q - product = 0; each form is exact on its side.
    q = (root - linear) / (4.0 * n) if linear <= 0.0 else 2.0 * product / (root + linear)
    distance = b - c - n * d
    variance = n * (2.0 * q + d * (1.0 - d))
    if variance > 0.0:
        return distance / math.sqrt(variance)
    return 0.0 if abs(distance) <= TOLERANCE * n else -math.inf


def _tango_high(b: int, c: int, n: int, z: float) -> float:
    """The d at or above the estimate where T(d) reaches -z, by bisection down to neighbouring numbers."""
    within, beyond = (b - c) / n, 1.0
    while within < (middle := (within + beyond) / 2.0) < beyond:
        if _tango_t(b, c, n, middle) >= -z:
            within = middle
        else:
            beyond = middle
    return within
