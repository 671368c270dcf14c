"""Correlation of a judge's grades with a reference's: Pearson's r, Spearman's rho, Kendall's tau-b.

Grades from 1 to 5 are mostly ties, so everything is counted from the distinct pairs: the order of the items changes no
bit, ranks and concordances are whole numbers that are rounded once, and a resample costs a few counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truthguard.records import Missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntegerArray = NDArray[np.int64]
    IndexArray = NDArray[np.intp]

# Two points lie on a line whatever they are.
FEWEST = 3
# Who gave the values, for the reader of a reason.
SIDES = ("x", "y")


def pearson(x: Sequence[float], y: Sequence[float], sides: tuple[str, str] = SIDES) -> float | Missing:
    """r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2): how near to a line.

    Range: -1 to 1, clipped only by a rounding. Missing: fewer than three pairs (`too_few`); one side with one value
    throughout (`constant`), named by `sides`. Raises ValueError for lengths that differ, a NaN or an infinity.
    Source: Pearson, Notes on regression and inheritance (1895).

    >>> round(pearson([5, 4, 5, 3, 2, 1], [5, 4, 4, 3, 2, 1]), 8)
    0.97072534
    >>> print(pearson([5, 5, 5, 5, 5], [1, 2, 3, 4, 5], ("the judge", "the reference")))
    constant: the judge gave 5 to all 5 items
    """
    return _correlation(_pearson, x, y, sides)


def spearman(x: Sequence[float], y: Sequence[float], sides: tuple[str, str] = SIDES) -> float | Missing:
    """Pearson's r of the ranks, equal values sharing the mean of theirs (mid-ranks): how near to one order.

    Range, missing values and errors: as `pearson`. Source: Spearman, The proof and measurement of association between
    two things (1904).

    >>> round(spearman([5, 4, 5, 3, 2, 1], [5, 4, 4, 3, 2, 1]), 8)
    0.95588235
    """
    return _correlation(_spearman, x, y, sides)


def kendall(x: Sequence[float], y: Sequence[float], sides: tuple[str, str] = SIDES) -> float | Missing:
    """tau-b = (concordant - discordant) / sqrt((pairs - tied in x)(pairs - tied in y)), over all pairs of items.

    A pair of items is concordant when both sides put them in the same order; one tied on either side is neither. Range,
    missing values and errors: as `pearson`. Takes memory for (distinct x) times (distinct y) counts. Source: Kendall,
    The treatment of ties in ranking problems (1945).

    >>> round(kendall([5, 4, 4, 3, 3, 2, 1, 1, 4, 2], [4, 5, 4, 2, 3, 2, 2, 1, 3, 3]), 8)
    0.72733407
    """
    return _correlation(_kendall, x, y, sides)


def on_resamples(
    correlation: Callable[..., float | Missing], x: Sequence[float], y: Sequence[float]
) -> Callable[[IndexArray], float | None]:
    """The function that takes item indices, with repeats, to one of the three correlations on these items.

    It gives what the correlation itself gives on these items, and None where that is missing.

    >>> import numpy as np
    >>> value = on_resamples(kendall, [1, 2, 3, 3], [1, 3, 2, 2])
    >>> value(np.array([0, 1, 1])), value(np.array([2, 2, 3])), value(np.array([0, 1]))
    (1.0, None, None)
    """
    paired = _pair(x, y)
    statistic = {pearson: _pearson, spearman: _spearman, kendall: _kendall}[correlation]
    return lambda items: statistic(paired.counted(items))


@dataclass(frozen=True, slots=True)
class _Counted:
    """How often each distinct pair was drawn, with the counts of either side alone; `n` items in all."""

    paired: _Paired
    n: int
    x: IntegerArray
    y: IntegerArray
    pairs: IntegerArray


@dataclass(frozen=True, slots=True)
class _Paired:
    """The distinct values of both sides in ascending order, moved and scaled to 0..1, and the items by codes.

    `x_of` and `y_of` are the codes of the values of each distinct pair; `x_code`, `y_code` and `pair_code` of each
    item.
    """

    x: FloatArray
    y: FloatArray
    x_of: IndexArray
    y_of: IndexArray
    x_code: IndexArray
    y_code: IndexArray
    pair_code: IndexArray

    def counted(self, items: IndexArray | slice = slice(None)) -> _Counted:
        import numpy as np

        drawn = self.pair_code[items]
        return _Counted(
            self,
            len(drawn),
            np.bincount(self.x_code[items], minlength=len(self.x)),
            np.bincount(self.y_code[items], minlength=len(self.y)),
            np.bincount(drawn, minlength=len(self.x_of)),
        )


def _correlation(
    statistic: Callable[[_Counted], float | None], x: Sequence[float], y: Sequence[float], sides: tuple[str, str]
) -> float | Missing:
    if len(x) != len(y):
        raise ValueError(f"a correlation needs pairs, got {len(x)} and {len(y)} values")
    for value in (*x, *y):
        if not math.isfinite(value):
            raise ValueError(f"a correlation is taken over finite values only, got {value!r}")
    if len(x) < FEWEST:
        pairs = "1 pair" if len(x) == 1 else f"{len(x)} pairs"
        return Missing("too_few", f"{pairs} of values, and a correlation needs at least {FEWEST}")
    given = [f"{side} gave {values[0]:g}" for side, values in zip(sides, (x, y), strict=True) if len(set(values)) == 1]
    if given:
        return Missing("constant", f"{' and '.join(given)} to all {len(x)} items")
    found = statistic(_pair(x, y).counted())
    assert found is not None, "three pairs that vary on both sides have a correlation"
    return found


def _pair(x: Sequence[float], y: Sequence[float]) -> _Paired:
    import numpy as np

    x_values, x_code = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True)
    y_values, y_code = np.unique(np.asarray(y, dtype=np.float64), return_inverse=True)
    pairs, pair_code = np.unique(x_code * len(y_values) + y_code, return_inverse=True)
    x_of, y_of = np.divmod(pairs, len(y_values))
    return _Paired(_unit(x_values), _unit(y_values), x_of, y_of, x_code, y_code, pair_code)


def _unit(values: FloatArray) -> FloatArray:
    """Ascending values moved and scaled to 0..1: no square of a difference may then overflow, or all vanish."""
    import numpy as np

    _, exponent = np.frexp(np.abs(values).max())
    scaled = np.ldexp(values, -exponent)
    return np.asarray((scaled - scaled[0]) / (scaled[-1] - scaled[0] or 1.0), dtype=np.float64)


def _varies(counted: _Counted) -> bool:
    """Whether a correlation is defined: at least three pairs, and more than one value on either side."""
    return counted.n >= FEWEST and bool((counted.x > 0).sum() > 1 and (counted.y > 0).sum() > 1)


def _pearson(counted: _Counted) -> float | None:
    if not _varies(counted):
        return None
    paired = counted.paired
    x = paired.x - counted.x @ paired.x / counted.n
    y = paired.y - counted.y @ paired.y / counted.n
    spread = math.sqrt(counted.x @ (x * x)) * math.sqrt(counted.y @ (y * y))
    # Of a resample without the largest values, what is left may be too small to have a square.
    return _clipped(float(counted.pairs @ (x[paired.x_of] * y[paired.y_of])) / spread) if spread else None


def _spearman(counted: _Counted) -> float | None:
    if not _varies(counted):
        return None
    x, y = _ranks(counted.x), _ranks(counted.y)
    together = int(counted.pairs @ (x[counted.paired.x_of] * y[counted.paired.y_of]))
    return _clipped(together / math.sqrt(int(counted.x @ (x * x)) * int(counted.y @ (y * y))))


def _ranks(counts: IntegerArray) -> IntegerArray:
    """Twice the mid-rank of each value minus twice the mean rank: whole numbers that sum to 0 over the items."""
    below: IntegerArray = counts.cumsum() - counts
    return 2 * below + counts - int(counts.sum())


def _kendall(counted: _Counted) -> float | None:
    if not _varies(counted):
        return None
    import numpy as np

    table = np.zeros((len(counted.x), len(counted.y)))
    table[counted.paired.x_of, counted.paired.y_of] = counted.pairs
    # Grades have few values: with the side of fewer as rows it takes one pass and one small product of matrices.
    rows = table if len(counted.x) <= len(counted.y) else table.T
    lower = rows.cumsum(axis=1) - rows
    # Of each two rows, the pairs of items of which the one in the second row is higher on the other side, too.
    concordant = int(np.triu(lower @ rows.T, 1).sum())
    pairs, tied_x, tied_y, tied = (
        _tied(counts) for counts in (np.array([counted.n]), counted.x, counted.y, counted.pairs)
    )
    beyond = 2 * concordant - (pairs - tied_x - tied_y + tied)
    return _clipped(beyond / math.sqrt((pairs - tied_x) * (pairs - tied_y)))


def _tied(counts: IntegerArray) -> int:
    """The pairs of items among groups of these sizes."""
    return int((counts * (counts - 1)).sum()) // 2


def _clipped(value: float) -> float:
    """What only a rounding can put outside -1..1."""
    return max(-1.0, min(1.0, value))
