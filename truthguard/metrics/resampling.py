"""The bootstrap: an interval and a one-sided test of a statistic that is no mean, from resamples of the items."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from truthguard.metrics.statistics import TOLERANCE, Alternative, Interval, tail_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IndexArray = NDArray[np.intp]

RESAMPLES = 10_000
# More resamples without a value than this share, and the others no longer speak for the statistic.
_MAX_UNDEFINED = 0.05


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The values of a statistic on resamples of the items: one draw, from which come the interval and the test.

    `estimate` is the value on all items, None where it has none; `undefined` counts the resamples without a value,
    `clusters` what there was to draw from.
    """

    estimate: float | None
    values: tuple[float, ...]
    undefined: int
    clusters: int

    @property
    def too_little(self) -> str | None:
        """Why there is neither an interval nor a test, in words; None where there are both.

        >>> Bootstrap(0.5, (0.4,) * 9, undefined=1, clusters=3).too_little
        '1 of 10 resamples has no value, more than 5 %'
        """
        if self.estimate is None:
            return "there is no value on all items"
        if self.clusters < 2:
            return "one scored prompt is too few"
        return too_many_undefined(self.undefined, len(self.values) + self.undefined)

    def interval(self, confidence: float) -> Interval | None:
        """The percentiles of the values, widened to the estimate where they leave it out; None for too little.

        Raises ValueError for a confidence outside 0 to 1. Source: Efron and Tibshirani, An Introduction to the
        Bootstrap (1993).
        """
        import numpy as np

        tail = tail_of(confidence)
        if self.estimate is None or self.too_little:
            return None
        low, high = np.quantile(self.values, [tail, 1.0 - tail])
        return Interval(min(float(low), self.estimate), max(float(high), self.estimate))

    def p(self, bar: float, alternative: Alternative) -> float | None:
        """One-sided p against a bar: (1 + values at the bar or on its other side) / (1 + values); None for too little.

        `alternative` is what a small p shows: that the true value is "less" or "greater" than the bar. Never 0,
        however far the bar. Raises ValueError for a bar that is not finite. Source: Davison and Hinkley, Bootstrap
        Methods and their Application (1997).

        >>> drawn = Bootstrap(0.5, (0.4, 0.5, 0.6), undefined=0, clusters=3)
        >>> drawn.p(0.6, "less"), drawn.p(0.3, "greater")
        (0.5, 0.25)
        """
        if not math.isfinite(bar):
            raise ValueError(f"a bar is a finite number, got {bar!r}")
        if self.too_little:
            return None
        if alternative == "less":
            against = sum(value >= bar - TOLERANCE for value in self.values)
        else:
            against = sum(value <= bar + TOLERANCE for value in self.values)
        return (1 + against) / (1 + len(self.values))


def bootstrap(
    statistic: Callable[[IndexArray], float | None],
    n: int,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    clusters: Sequence[Hashable] | None = None,
) -> Bootstrap:
    """A statistic of n items on resamples of them, each drawn with replacement.

    `statistic` takes an integer array of item indices and gives the value on those items, None where it has
    none (a NaN or an infinity counts as none). With `clusters` (one label an item) whole clusters are drawn. There is
    neither an interval nor a test when the statistic has no value on more than 5 % of the resamples or on all items,
    nor with fewer than two items (clusters) to draw. Raises ValueError for no items, no resamples, or labels that are
    not one an item.

    >>> import numpy as np
    >>> scores = np.array([0.2, 0.4, 0.9])
    >>> drawn = bootstrap(lambda items: float(scores[items].max()), 3, row_generator(0, "row"), resamples=200)
    >>> drawn.interval(0.9), drawn.undefined
    (Interval(low=0.4, high=0.9), 0)
    """
    import numpy as np

    if n < 1 or resamples < 1:
        raise ValueError(f"a bootstrap needs items and resamples, got {n} and {resamples}")
    labels: Sequence[Hashable] = range(n) if clusters is None else clusters
    if len(labels) != n:
        raise ValueError(f"{n} items need {n} cluster labels, got {len(labels)}")
    estimate = _defined(statistic(np.arange(n)))
    drawn = (_defined(statistic(items)) for items in _resampled(labels, generator, resamples))
    values = tuple(value for value in drawn if value is not None)
    return Bootstrap(estimate, values, resamples - len(values), len(set(labels)))


def too_many_undefined(undefined: int, resamples: int = RESAMPLES) -> str | None:
    """The words for too many resamples without a value; None for few enough.

    >>> too_many_undefined(501), too_many_undefined(500)
    ('501 of 10,000 resamples have no value, more than 5 %', None)
    """
    if undefined <= _MAX_UNDEFINED * resamples:
        return None
    have = "has" if undefined == 1 else "have"
    return f"{undefined:,} of {resamples:,} resamples {have} no value, more than {100 * _MAX_UNDEFINED:g} %"


def row_generator(seed: int, row_id: str) -> np.random.Generator:
    """A generator that depends on the seed and the row's id alone: the same in every process and every order.

    >>> row_generator(0, "truthfulqa[mc1]").random() == row_generator(0, "truthfulqa[mc1]").random()
    True
    """
    from numpy.random import PCG64, Generator

    # Python's own hash() is salted per process, and default_rng may one day mean another bit generator.
    digest = sha256(f"{seed}:{row_id}".encode()).digest()
    return Generator(PCG64(int.from_bytes(digest, "big")))


def _resampled(labels: Sequence[Hashable], generator: np.random.Generator, resamples: int) -> Iterator[IndexArray]:
    """The item indices of each resample: as many clusters as there are, drawn with replacement, each whole."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    cluster_of = np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    by_cluster = np.argsort(cluster_of, kind="stable")
    sizes = np.bincount(cluster_of)
    starts = np.cumsum(sizes) - sizes
    for _ in range(resamples):
        drawn = generator.integers(len(sizes), size=len(sizes))
        taken = sizes[drawn]
        # A place in the resample, less where its cluster begins there, plus where it begins in by_cluster.
        shift = np.repeat(starts[drawn] - (np.cumsum(taken) - taken), taken)
        yield by_cluster[shift + np.arange(len(shift))]


def _defined(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
