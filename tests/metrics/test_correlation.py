"""The three correlations on numbers that a person can follow, and where they have none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from truthguard.metrics.correlation import kendall, on_resamples, pearson, spearman
from truthguard.records import Missing

Correlation = Callable[[Sequence[float], Sequence[float], tuple[str, str]], float | Missing]
CORRELATIONS: list[Correlation] = [pearson, spearman, kendall]
SIDES = ("the judge", "the reference")


def test_c14_the_readable_pairs() -> None:
    """C14: on the six readable pairs the three correlations are these; the lowest grade in the gaps gives others."""
    people, judge = [5, 4, 4, 3, 2, 1], [5, 4, 5, 3, 2, 1]
    found = [correlation(judge, people, SIDES) for correlation in CORRELATIONS]
    assert found == pytest.approx([0.97072534, 0.95588235, 0.92857143], abs=5e-9)
    people, filled = [5, 4, 4, 3, 2, 5, 1, 3], [5, 4, 5, 3, 2, 1, 1, 1]
    found = [correlation(filled, people, SIDES) for correlation in CORRELATIONS]
    assert found == pytest.approx([0.50660833, 0.45003516, 0.44907312], abs=5e-9)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize(
    ("judge", "reference", "kind", "detail"),
    [
        ([5, 5, 5, 5, 5], [1, 2, 3, 4, 5], "constant", "the judge gave 5 to all 5 items"),
        ([3, 3], [1, 2], "too_few", "2 pairs of values, and a correlation needs at least 3"),
        ([1, 2], [2, 3], "too_few", "2 pairs of values, and a correlation needs at least 3"),
        ([4], [4], "too_few", "1 pair of values, and a correlation needs at least 3"),
        ([], [], "too_few", "0 pairs of values, and a correlation needs at least 3"),
        ([1, 2, 3], [2, 2, 2], "constant", "the reference gave 2 to all 3 items"),
        ([1.5] * 3, [2] * 3, "constant", "the judge gave 1.5 and the reference gave 2 to all 3 items"),
    ],
)
def test_c16_a_constant_or_two_points_have_no_correlation(
    correlation: Correlation, judge: list[float], reference: list[float], kind: str, detail: str
) -> None:
    """C16: a judge that always gives the same, and fewer than three pairs, are undefined with the reason; no number."""
    assert correlation(judge, reference, SIDES) == Missing(kind, detail)


def test_c18_kendall_with_ties() -> None:
    """C18: tau-b is 28 / sqrt(39 * 38), neither without ties in the divisor nor without the tied pairs."""
    judge, people = [5, 4, 4, 3, 3, 2, 1, 1, 4, 2], [4, 5, 4, 2, 3, 2, 2, 1, 3, 3]
    assert kendall(judge, people) == 28 / math.sqrt(39 * 38)
    assert kendall(judge, people) == pytest.approx(0.72733407, abs=5e-9)
    assert pearson(judge, people) == pytest.approx(0.80595121, abs=5e-9)
    assert spearman(judge, people) == pytest.approx(0.83441183, abs=5e-9)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_perfect(correlation: Correlation) -> None:
    """The same grades are 1, reversed ones -1; never beyond by a rounding."""
    grades = [1.1, 2.3, 2.3, 4.7, 5.9, 0.1]
    assert correlation(grades, grades, SIDES) == pytest.approx(1.0, abs=1e-15)
    assert correlation(grades, [-grade for grade in grades], SIDES) == pytest.approx(-1.0, abs=1e-15)
    assert abs(correlation(grades, grades, SIDES)) <= 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_values_of_any_size(correlation: Correlation) -> None:
    """Values whose squares overflow, vanish or differ by their last bit correlate as small whole numbers do."""
    plain = correlation([1, 2, 3, 3], [1, 3, 2, 4], SIDES)
    last_bits = [1e9, math.nextafter(1e9, 2e9), math.nextafter(math.nextafter(1e9, 2e9), 2e9)]
    for x in ([1e300, 2e300, 3e300, 3e300], [1e-300, 2e-300, 3e-300, 3e-300], [*last_bits, last_bits[-1]]):
        assert correlation(x, [1, 3, 2, 4], SIDES) == pytest.approx(plain, abs=1e-15)
    assert correlation([-1.7e308, 1.7e308, 0.0], [1, 2, 3], SIDES) == pytest.approx(
        correlation([-1, 1, 0], [1, 2, 3], SIDES), abs=1e-15
    )


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_hostile_values(correlation: Correlation) -> None:
    """A NaN, an infinity and sides of two lengths are errors."""
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="finite values only"):
            correlation([1, 2, value], [1, 2, 3], SIDES)
        with pytest.raises(ValueError, match="finite values only"):
            correlation([1, 2, 3], [value, 2, 3], SIDES)
    with pytest.raises(ValueError, match="needs pairs, got 3 and 2 values"):
        correlation([1, 2, 3], [1, 2], SIDES)


def test_distinct_values() -> None:
    """A thousand values without a tie agree with scipy, too."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=1000)
    y = x + generator.normal(size=1000)
    expected = [stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0], stats.kendalltau(x, y)[0]]
    found = [correlation(x.tolist(), y.tolist(), SIDES) for correlation in CORRELATIONS]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_on_resamples(correlation: Correlation) -> None:
    """On drawn items, repeats included, the value is that of the items themselves, None where that is missing."""
    x, y = [1.0, 2.0, 2.0, 5.0, 4.0, 4.0], [2.0, 2.0, 3.0, 5.0, 1.0, 1.0]
    value = on_resamples(correlation, x, y)
    generator, missing = np.random.default_rng(1), 0
    for _ in range(300):
        items = generator.integers(6, size=generator.integers(1, 7))
        expected = correlation([x[item] for item in items], [y[item] for item in items], SIDES)
        found = value(items)
        missing += found is None
        assert found == (None if isinstance(expected, Missing) else pytest.approx(expected, abs=1e-14))
    assert 0 < missing < 300


def test_what_is_left_of_a_resample_may_be_too_small() -> None:
    """Where the large values were not drawn and the rest has no square, there is no value and no division by 0."""
    value = on_resamples(pearson, [1e-300, 2e-300, 3e-300, 1.0], [1, 2, 3, 4])
    assert value(np.array([0, 1, 2])) is None
    assert value(np.array([0, 1, 2, 3])) is not None
