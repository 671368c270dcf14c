"""Which probes are held against plain scoring, and when two paths agree."""

from __future__ import annotations

import math

import pytest

from truthguard.backends import selfcheck
from truthguard.backends.packing import Row, plan


def test_sums_are_compared_step_by_step() -> None:
    """A continuation's differences add up; a next-token question's ids are compared one by one."""
    assert selfcheck.difference(((-1.0,), (-2.0,)), ((-1.25,), (-2.25,))) == 0.5
    assert selfcheck.difference(((-1.0, -2.0),), ((-1.0, -2.5),)) == 0.5


@pytest.mark.parametrize(
    ("value", "other", "apart"),
    [
        (math.nan, math.nan, 0.0),
        (-math.inf, -math.inf, 0.0),
        (math.nan, -1.0, math.inf),
        (-math.inf, -1.0, math.inf),
    ],
)
def test_a_number_on_one_path_only_is_no_agreement(value: float, other: float, apart: float) -> None:
    """NaN beside a number is a wrong mask; NaN on both is a broken model, whichever way it is asked."""
    assert selfcheck.difference(((value,),), ((other,),)) == apart
    assert selfcheck.difference(((other,),), ((value,),)) == apart


def test_the_bound_grows_with_the_tokens_in_half_precision_only() -> None:
    """1e-3 in float32; rounding to 8 bits may add up over the tokens of a row."""
    short, long = Row((1,), ((1,),)), Row((1,) * 4, ((1,),) * 4)
    assert selfcheck.bound("float32", short) == selfcheck.bound("float32", long) == 1e-3
    assert (
        selfcheck.bound("bfloat16", long) == 2 * selfcheck.bound("bfloat16", short) > selfcheck.bound("float16", long)
    )


def test_probes_are_the_longest_row_and_the_largest_detour() -> None:
    """The longest row shows a window; the row that stands behind most others shows distances that are off."""
    long = Row((9,) * 6, ((0,),))
    branches = [Row((1, 2, i), ((0,),)) for i in range(4)]
    rows = [long, *branches]
    passes = plan(rows, [0, 1, 1, 1, 1], most_tokens=6, most_reads=9)
    chosen = {passes[i].rows: probed for i, probed in selfcheck.probes(rows, passes).items()}
    assert chosen == {(0,): (0,), (1, 2, 3, 4): (1, 4)}
