"""What a comparison could show: the smallest drop that it would find, and how many items a smaller one would take.

Everything follows from the spread s of the paired differences, the standard deviation of baseline minus candidate over
items (for what is no mean: of what one item adds). It is measured once there is a candidate, and assumed before.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import replace
from statistics import NormalDist, pstdev, stdev

from truthguard.catalogue import metric_of
from truthguard.metrics.judging import paired_resamples
from truthguard.metrics.participation import run_columns
from truthguard.metrics.resampling import Bootstrap
from truthguard.metrics.statistics import cluster_t
from truthguard.records import ItemScores

# How sure a comparison should be to find the drop that it states.
POWER = 0.8


def detectable_drop(spread: float, n: int, alpha: float, power: float = POWER) -> float:
    """The smallest true drop beyond the bar that n items would show: (z(1 - alpha) + z(power)) s / sqrt(n).

    `power` is how surely, `alpha` the row's own, divided by the number of proof rows. s is never below 1 / sqrt(n), the
    spread of n pairs of 0/1 items of which a single one changed: few changes seen do not show that none will come, and
    without the floor two equal runs would claim to show a drop of 0. A result wider than the metric's range says that
    no drop could be shown. Source: the normal approximation, as in Miller, Adding Error Bars to Evals (2024). Raises
    ValueError for a spread below 0 or not finite, for n < 1, and unless 0 < alpha < power < 1.

    >>> round(detectable_drop(changed_spread(0.1), 817, 0.05), 4), round(detectable_drop(0.0, 817, 0.05), 4)
    (0.0275, 0.003)
    """
    if n < 1:
        raise ValueError(f"a comparison needs items, got {n}")
    return _quantiles(alpha, power) * max(_checked(spread), 1.0 / math.sqrt(n)) / math.sqrt(n)


def items_needed(spread: float, drop: float, alpha: float, power: float = POWER) -> int:
    """The fewest items of which `detectable_drop` is at most `drop`: its inverse, with the same floor of s.

    max((z s / drop)^2, z / drop) rounded up, z = z(1 - alpha) + z(power). Raises ValueError for a drop that is not
    above 0 and finite, and as `detectable_drop`.

    >>> items_needed(changed_spread(0.1), 0.02, 0.05), items_needed(0.0, 0.02, 0.05)
    (1546, 125)
    """
    if not 0.0 < drop < math.inf:
        raise ValueError(f"a drop to be shown lies above 0, got {drop!r}")
    z = _quantiles(alpha, power)
    # A count that is whole but for its last bits must not become one more.
    return max(math.ceil(items * (1.0 - 1e-12)) for items in ((z * _checked(spread) / drop) ** 2, z / drop))


def paired_spread(differences: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """s of a mean: sqrt(n) standard errors of the mean difference, with the variance of cluster sums.

    With one item a cluster that is the standard deviation of the differences. None with fewer than two clusters.
    Raises ValueError as `cluster_t`.

    >>> round(paired_spread([0.2, 0.0, 0.1, -0.1], "abcd"), 4), round(paired_spread([0.2, 0.0, 0.1, -0.1], "aabb"), 4)
    (0.1291, 0.1)
    """
    interval = cluster_t(differences, clusters, 0.95)
    if interval is None:
        return None
    from scipy.special import stdtrit

    half_widths = -float(stdtrit(len(set(clusters)) - 1, 0.025))
    return math.sqrt(len(differences)) * (interval.high - interval.low) / 2.0 / half_widths


def resampled_spread(drawn: Bootstrap, n: int) -> float | None:
    """s of what is no mean: sqrt(n) standard deviations of the drop on resamples of the n items; None without a test.

    >>> round(resampled_spread(Bootstrap(0.1, (0.1, 0.2, 0.0), undefined=0, clusters=3), 100), 4)
    1.0
    """
    return None if drawn.too_little else math.sqrt(n) * stdev(drawn.values)


def changed_spread(share: float) -> float:
    """s of 0/1 items before there is a candidate, if this share of them changes, as many up as down: sqrt(share).

    Raises ValueError for a share outside 0 to 1.

    >>> round(changed_spread(0.05), 4), round(changed_spread(0.2), 4)
    (0.2236, 0.4472)
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share of changed items lies between 0 and 1, got {share!r}")
    return math.sqrt(share)


def exchanged_spread(share: float, baseline: Sequence[float]) -> float:
    """s of another mean before there is a candidate, if this share of its items changes without a net drop.

    A changed item is taken to move to the value of another, drawn from the baseline's own: two such values differ by
    sqrt(2) standard deviations of them, so s = sqrt(2 share) times the standard deviation of the baseline's values.
    Raises ValueError as `changed_spread` and for no values.

    >>> round(exchanged_spread(0.1, [0.2, 0.4, 0.6, 0.8]), 4)
    0.1
    """
    if not baseline:
        raise ValueError("the spread of no values is undefined")
    return math.sqrt(2.0) * changed_spread(share) * pstdev(baseline)


def exchanged_statistic_spread(items: Sequence[ItemScores], metric: str, share: float, seed_name: str) -> float | None:
    """s of what is no mean before there is a candidate, if this share of its scored items changes.

    The judge's value of each changed item is taken to become that of another changed one (of several runs that of the
    first), so that its values stay as they are over all items; which items change is drawn by `seed_name`. None without
    a test. Raises ValueError as `changed_spread` and `paired_resamples`.

    >>> graded = [ItemScores(f"{n}", "", f"{n}", {"grade": n % 5, "reference": n % 4}) for n in range(40)]
    >>> exchanged_statistic_spread(graded, "pearson", 0.0, "row")
    0.0
    """
    changed_spread(share)  # checks it
    column = metric_of(metric).columns[0]
    places = random.Random(seed_name).sample(range(len(items)), round(share * len(items)))
    candidate = list(items)
    for place, other in zip(places, [*places[1:], *places[:1]], strict=True):
        name = column if column in items[place].values else run_columns(items[place])[0]
        values = {**items[place].values, name: items[other].values.get(name)}
        candidate[place] = replace(items[place], values=values)
    return resampled_spread(paired_resamples(items, candidate, metric, seed_name), len(items))


def _quantiles(alpha: float, power: float) -> float:
    """How many standard errors a drop must lie above the bar."""
    if not 0.0 < alpha < power < 1.0:
        raise ValueError(f"alpha and power need 0 < alpha < power < 1, got {alpha!r} and {power!r}")
    return NormalDist().inv_cdf(power) - NormalDist().inv_cdf(alpha)


def _checked(spread: float) -> float:
    if not 0.0 <= spread < math.inf:
        raise ValueError(f"a spread is a finite number of at least 0, got {spread!r}")
    return spread
