"""A judged share corrected for what is known of the judge's own errors.

A judge that misses true answers and lets false ones pass shifts the share that it reports. With its sensitivity and
specificity known from labelled answers the shift can be undone, at the price of a wider interval.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from truthguard.metrics.statistics import TOLERANCE
from truthguard.records import CorrectedRate, Missing


def corrected(
    q: float,
    n: int,
    sensitivity: float,
    n_positive: int,
    specificity: float,
    n_negative: int,
    confidence: float,
) -> CorrectedRate:
    """(q + p - 1) / J with J = s + p - 1, for the observed share q of n items, sensitivity s and specificity p.

    With t the corrected share before it is clipped,

        SE^2 = (q (1 - q) / n + t^2 s (1 - s) / n_positive + (1 - t)^2 p (1 - p) / n_negative) / J^2

    and the interval is t +- z SE at `confidence`; estimate and interval are clipped to 0..1, `unclipped` is t. It
    assumes that s and p, measured on other answers, carry over to these. Undefined: J <= 0, a judge that says yes to
    false answers as often as to true ones. Errors: ValueError for a share outside 0 to 1, a count below 1, a
    confidence outside 0 to 1. Source: Rogan and Gladen, Estimating prevalence from the results of a screening test
    (1978).

    >>> rate = corrected(0.7, 200, 0.9, 500, 0.8, 500, 0.95)
    >>> round(rate.estimate, 4), round(rate.low, 4), round(rate.high, 4)
    (0.7143, 0.6186, 0.81)
    >>> rate = corrected(0.1, 200, 0.9, 500, 0.8, 500, 0.95)
    >>> rate.estimate, round(rate.unclipped, 4)
    (0.0, -0.1429)
    >>> corrected(0.7, 200, 0.6, 500, 0.4, 500, 0.95).undefined.kind
    'no_better_than_chance'
    """
    _check({"observed share": q, "sensitivity": sensitivity, "specificity": specificity}, (n, n_positive, n_negative))
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    youden = sensitivity + specificity - 1.0
    # The smallest real value is 1 / (n_positive n_negative): below the tolerance it is the rounding of a 0.
    if youden <= TOLERANCE:
        why = (
            f"sensitivity {sensitivity:.4f} and specificity {specificity:.4f} add up to no more than 1:"
            " the judge says yes to false answers at least as often as to true ones"
        )
        undefined = Missing("no_better_than_chance", why)
        return CorrectedRate(sensitivity, specificity, n_positive, n_negative, confidence, undefined=undefined)
    t = (q + specificity - 1.0) / youden
    variance = (
        q * (1.0 - q) / n
        + t * t * sensitivity * (1.0 - sensitivity) / n_positive
        + (1.0 - t) * (1.0 - t) * specificity * (1.0 - specificity) / n_negative
    )
    half = -NormalDist().inv_cdf((1.0 - confidence) / 2.0) * math.sqrt(variance) / youden
    return CorrectedRate(
        sensitivity,
        specificity,
        n_positive,
        n_negative,
        confidence,
        estimate=_clipped(t),
        low=_clipped(t - half),
        high=_clipped(t + half),
        unclipped=t,
    )


def _clipped(share: float) -> float:
    return min(1.0, max(0.0, share))


def _check(shares: dict[str, float], counts: tuple[int, ...]) -> None:
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"a {name} lies between 0 and 1, got {share!r}")
    if min(counts) < 1:
        raise ValueError(f"a share is of at least one item, got {counts}")
