"""What must hold for every correlation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from truthguard.metrics.correlation import kendall, pearson, spearman
from truthguard.records import Missing

Correlation = Callable[[Sequence[float], Sequence[float]], float | Missing]
CORRELATIONS: list[Correlation] = [pearson, spearman, kendall]
RANKS: list[Correlation] = [spearman, kendall]

grades = st.integers(1, 5)
# Mostly ties, with constant sides and fewer than three pairs among them.
pairs = st.lists(st.tuples(grades, grades), max_size=40)
defined = pairs.filter(lambda rows: len(rows) > 2 and all(len(set(side)) > 1 for side in zip(*rows, strict=True)))
each = pytest.mark.parametrize("correlation", CORRELATIONS)


def sides(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [x for x, _ in rows], [y for _, y in rows]


def number(value: float | Missing) -> float:
    assert not isinstance(value, Missing)
    return value


@given(defined)
def test_scipy(rows: list[tuple[int, int]]) -> None:
    """On grades full of ties all three are scipy's, kendalltau in its variant b, to 1e-12."""
    x, y = sides(rows)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y, variant="b")[0], abs=1e-12)


@each
@given(rows=pairs)
def test_defined_or_missing(correlation: Correlation, rows: list[tuple[int, int]]) -> None:
    """There is a value from -1 to 1 exactly where both sides vary and there are three pairs; else a reason."""
    x, y = sides(rows)
    value = correlation(x, y)
    if isinstance(value, Missing):
        assert value.kind == ("too_few" if len(rows) < 3 else "constant")
        assert len(rows) < 3 or min(len(set(x)), len(set(y))) == 1
    else:
        assert -1.0 <= value <= 1.0


@each
@given(rows=pairs, data=st.data())
def test_no_order_of_rows(correlation: Correlation, rows: list[tuple[int, int]], data: st.DataObject) -> None:
    """The rows in another order give the same value to the last bit."""
    assert correlation(*sides(data.draw(st.permutations(rows)))) == correlation(*sides(rows))


@each
@given(rows=defined)
def test_symmetry(correlation: Correlation, rows: list[tuple[int, int]]) -> None:
    """The sides may trade places."""
    x, y = sides(rows)
    assert number(correlation(x, y)) == pytest.approx(number(correlation(y, x)), abs=1e-14)


@each
@given(rows=defined)
def test_reversal(correlation: Correlation, rows: list[tuple[int, int]]) -> None:
    """A scale turned round flips the sign, on either side; turned round on both it changes nothing."""
    x, y = sides(rows)
    turned_x, turned_y = [6 - grade for grade in x], [6 - grade for grade in y]
    plain = pytest.approx(number(correlation(x, y)), abs=1e-14)
    assert -number(correlation(turned_x, y)) == plain
    assert -number(correlation(x, turned_y)) == plain
    assert number(correlation(turned_x, turned_y)) == plain


@each
@given(rows=defined, factor=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_positive_affine_maps(
    correlation: Correlation, rows: list[tuple[int, int]], factor: float, shift: float
) -> None:
    """Another unit and another zero, on either side, change nothing."""
    x, y = sides(rows)
    plain = pytest.approx(number(correlation(x, y)), abs=1e-9)
    assert number(correlation([factor * value + shift for value in x], y)) == plain
    assert number(correlation(x, [factor * value + shift for value in y])) == plain


@pytest.mark.parametrize("correlation", RANKS)
@given(rows=defined, steps=st.lists(st.floats(1e-6, 1e6), min_size=5, max_size=5))
def test_strictly_monotone_maps(correlation: Correlation, rows: list[tuple[int, int]], steps: list[float]) -> None:
    """What keeps the order, however it stretches the scale, changes no bit of a rank correlation."""
    x, y = sides(rows)
    scale = [sum(steps[:grade]) for grade in range(6)]
    assume(len(set(scale)) == 6)
    plain = correlation(x, y)
    assert correlation([scale[grade] for grade in x], y) == plain
    assert correlation(x, [scale[grade] for grade in y]) == plain


@each
@given(rows=defined, copies=st.integers(2, 5))
def test_more_of_the_same(correlation: Correlation, rows: list[tuple[int, int]], copies: int) -> None:
    """Pearson and Spearman do not know how often each pair stands there, nor does tau-b."""
    assert number(correlation(*sides(rows * copies))) == pytest.approx(number(correlation(*sides(rows))), abs=1e-12)
