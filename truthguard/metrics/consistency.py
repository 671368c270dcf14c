"""How far a judge that grades one response several times agrees with itself: Krippendorff's ordinal alpha."""

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
    IndexArray = NDArray[np.intp]


def ordinal_alpha(items: Sequence[Sequence[float]]) -> float | Missing:
    """1 - observed / expected disagreement of the values within items, with ordinal distances.

    An item's m values make m (m - 1) ordered pairs, each of weight 1 / (m - 1); an item with fewer than two is in no
    pair and counts nowhere. With o(c, k) the weight of the pairs of values c and k, n(c) the number of values c and
    n the number of all values: alpha = 1 - (n - 1) sum o(c, k) d(c, k)^2 / sum n(c) n(k) d(c, k)^2, where d(c, k) is
    the distance of the mid-ranks, n(c)/2 + n(k)/2 + all n between them. Range: -1 to 1; 1 where the values of each item
    agree, about 0 where they are drawn by chance. Missing: no item with two values (`too_few`), one value throughout
    (`constant`). Raises ValueError for a NaN or an infinity. Source: Krippendorff, Content Analysis (2004); Hayes and
    Krippendorff, Answering the call for a standard reliability measure for coding data (2007).

    >>> ordinal_alpha([[1, 1], [2, 2], [3, 3]]), round(ordinal_alpha([[1, 2, 2], [4, 4], [5, 4, 5], [3]]), 4)
    (1.0, 0.8093)
    >>> print(ordinal_alpha([[5, 5, 5], [5, 5]]))
    constant: the judge gave 5 to all 2 items in every run
    """
    for value in (value for item in items for value in item):
        if not math.isfinite(value):
            raise ValueError(f"alpha is taken over finite values only, got {value!r}")
    pairable = [item for item in items if len(item) > 1]
    if not pairable:
        return Missing("too_few", f"none of {len(items)} items has two readable grades to compare")
    seen = {value for item in pairable for value in item}
    if len(seen) == 1:
        return Missing("constant", f"the judge gave {seen.pop():g} to all {len(pairable)} items in every run")
    import numpy as np

    alpha = on_resamples(items)(np.arange(len(items)))
    assert alpha is not None, "values that differ have an alpha"
    return alpha


def on_resamples(items: Sequence[Sequence[float]]) -> Callable[[IndexArray], float | None]:
    """The function that takes the places of items, with repeats, to their alpha, None where it is missing.

    >>> import numpy as np
    >>> value = on_resamples([[1, 1], [2, 2], [3]])
    >>> value(np.array([0, 1, 1])), value(np.array([0, 0])), value(np.array([2, 2]))
    (1.0, None, None)
    """
    counted = _counted(items)
    return lambda drawn: _alpha(counted, drawn)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Of each item, how often it has each value (values ascending) and the weights of its pairs of values, flat."""

    values: FloatArray
    pairs: FloatArray


def _counted(items: Sequence[Sequence[float]]) -> _Counted:
    import numpy as np

    codes = {value: code for code, value in enumerate(sorted({value for item in items for value in item}))}
    values = np.zeros((len(items), len(codes)))
    for row, item in zip(values, items, strict=True):
        if len(item) > 1:
            np.add.at(row, [codes[value] for value in item], 1.0)
    together = values[:, :, None] * values[:, None, :]
    diagonal = np.arange(len(codes))
    together[:, diagonal, diagonal] -= values
    together /= np.maximum(values.sum(axis=1) - 1.0, 1.0)[:, None, None]
    return _Counted(values, together.reshape(len(items), -1))


def _alpha(counted: _Counted, drawn: IndexArray) -> float | None:
    import numpy as np

    times = np.bincount(drawn, minlength=len(counted.values)).astype(np.float64)
    n = times @ counted.values
    ranks = n.cumsum() - n / 2.0
    distances = (ranks[:, None] - ranks[None, :]) ** 2
    expected = float(n @ distances @ n)
    if (n > 0).sum() < 2:
        return None
    return 1.0 - (float(n.sum()) - 1.0) * float(times @ counted.pairs @ distances.ravel()) / expected
