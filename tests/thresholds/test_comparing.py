"""Tolerance and printed digits."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truthguard.thresholds.comparing import TOLERANCE, at_least, at_most, digits_that_differ

SCORES = st.floats(-1, 1)


def test_c20_d_a_drop_of_exactly_the_limit_is_within_it() -> None:
    """C20 (d): 0.80 - 0.75 is at most 0.05 although the binary fractions say otherwise."""
    assert not 0.80 - 0.75 <= 0.05
    assert at_most(0.80 - 0.75, 0.05)
    assert not at_most(0.80 - 0.75, 0.05 - 2 * TOLERANCE)


@given(SCORES, SCORES)
def test_the_two_sides_mirror_each_other(value: float, limit: float) -> None:
    """A value is at least or at most a limit, and both only within the tolerance."""
    assert at_least(value, limit) or at_most(value, limit)
    assert at_least(value, limit) == at_most(-value, -limit)
    if at_least(value, limit) and at_most(value, limit):
        assert abs(value - limit) <= 2 * TOLERANCE


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1265 / 1816, 0.7, ("0.6966", "0.7000")),
        (0.69999, 0.7, ("0.69999", "0.70000")),
        (0.7, 0.7, ("0.7000", "0.7000")),
        (-0.00001, 0.0, ("-0.00001", "0.00000")),
        (0.6999999999999998, 0.7, ("0.6999999999999998", "0.7000000000000000")),
        (1e-30, 0.0, ("1.0000000000000001e-30", "0")),
    ],
)
def test_digits(a: float, b: float, expected: tuple[str, str]) -> None:
    """Four decimals, and as many more as it takes to see a difference."""
    assert digits_that_differ(a, b) == expected


@given(SCORES, SCORES)
def test_different_numbers_are_printed_differently(a: float, b: float) -> None:
    """What differs is seen to differ, in the right order, with no more digits than it takes."""
    assume(a != b)
    first, second = digits_that_differ(a, b)
    assert float(first) != float(second)
    assert (float(first) < float(second)) == (a < b)
    if len(first.partition(".")[2]) > 4 and "e" not in first + second:
        decimals = len(first.partition(".")[2]) - 1
        assert float(f"{a:.{decimals}f}") == float(f"{b:.{decimals}f}")
