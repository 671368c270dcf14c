"""What must hold for every comparison of two runs."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truthguard.metrics.paired import discordant, mcnemar, paired_t, paired_t_p, tango, tango_p
from truthguard.metrics.statistics import Alternative, Interval

confidences = st.floats(0.01, 0.9999)
bars = st.floats(-1.0, 1.0)
bits = st.sampled_from([0.0, 1.0])
sides = st.sampled_from(["less", "greater"])
differences = st.lists(st.tuples(st.floats(-1.0, 1.0), st.integers(0, 4)), min_size=2, max_size=30)

UNIT = Interval(0.0, 1.0)
OTHER: dict[Alternative, Alternative] = {"less": "greater", "greater": "less"}
Counts = tuple[int, int, int]


@st.composite
def counts(draw: st.DrawFn) -> Counts:
    """b, c and n, often at an end of their ranges."""
    n = draw(st.integers(1, 2000))
    b = draw(st.integers(0, n) | st.sampled_from([0, n]))
    return b, draw(st.integers(0, n - b) | st.sampled_from([0, n - b])), n


@given(counts(), confidences)
def test_the_interval_contains_its_estimate(pairs: Counts, confidence: float) -> None:
    """Low and high lie within -1 to 1 on either side of the drop, and reach an end only where all pairs are there."""
    b, c, n = pairs
    interval = tango(b, c, n, confidence)
    assert -1.0 <= interval.low <= (b - c) / n <= interval.high <= 1.0
    assert (interval.high == 1.0) is (b == n)
    assert (interval.low == -1.0) is (c == n)


@given(counts(), confidences, bars, sides)
def test_swapping_the_runs_mirrors(pairs: Counts, confidence: float, bar: float, side: Alternative) -> None:
    """Baseline and candidate swapped give the same numbers on the other side of 0, to the last bit."""
    b, c, n = pairs
    interval, mirrored = tango(b, c, n, confidence), tango(c, b, n, confidence)
    assert (mirrored.low, mirrored.high) == (-interval.high, -interval.low)
    assert tango_p(c, b, n, -bar, OTHER[side]) == tango_p(b, c, n, bar, side)
    assert mcnemar(c, b) == mcnemar(b, c)


@given(counts(), confidences)
def test_p_inverts_the_interval(pairs: Counts, confidence: float) -> None:
    """A bar at an end of the interval has half of 1 - confidence as its p."""
    b, c, n = pairs
    interval, tail = tango(b, c, n, confidence), pytest.approx((1.0 - confidence) / 2.0, rel=1e-6)
    if b < n:
        assert tango_p(b, c, n, interval.high, "less") == tail
    if c < n:
        assert tango_p(b, c, n, interval.low, "greater") == tail


@given(counts(), bars, bars)
def test_p_rises_with_the_bar(pairs: Counts, one: float, other: float) -> None:
    """The higher the bar, the less shows that the drop is above it; the two sides add up to 1."""
    b, c, n = pairs
    lower, higher = sorted((one, other))
    assert tango_p(b, c, n, lower, "greater") <= tango_p(b, c, n, higher, "greater") + 1e-9
    both = tango_p(b, c, n, lower, "greater") + tango_p(b, c, n, lower, "less")
    assert both == pytest.approx(1.0, abs=1e-12)


@given(counts(), bars, confidences)
def test_one_more_lost_is_worse(pairs: Counts, bar: float, confidence: float) -> None:
    """One more item that only the baseline has right raises the interval and lowers p."""
    b, c, n = pairs
    assume(b + c < n)
    fewer, more = tango(b, c, n, confidence), tango(b + 1, c, n, confidence)
    assert fewer.low <= more.low + 1e-12
    assert fewer.high <= more.high + 1e-12
    assert tango_p(b + 1, c, n, bar, "greater") <= tango_p(b, c, n, bar, "greater") + 1e-12


@given(counts(), st.integers(1, 500))
def test_equal_pairs_change_no_verdict(pairs: Counts, more: int) -> None:
    """Items that both runs have right or wrong alike draw both ends towards 0, and change no p against it."""
    b, c, n = pairs
    assert tango_p(b, c, n + more, 0.0, "greater") == pytest.approx(tango_p(b, c, n, 0.0, "greater"), rel=1e-9)
    before, after = tango(b, c, n, 0.95), tango(b, c, n + more, 0.95)
    assert (before.low > 0.0) is (after.low > 0.0)
    assert abs(after.low) <= abs(before.low) + 1e-12
    assert abs(after.high) <= abs(before.high) + 1e-12


@given(st.integers(1, 2000), st.lists(bits, min_size=1, max_size=40), st.floats(0.0, 1.0))
def test_a_run_against_itself_is_no_drop(n: int, values: list[float], bar: float) -> None:
    """Two equal runs never show a drop: not one pair differs, and p is never below 0.5."""
    assert discordant(values, values) == (0, 0)
    assert tango_p(0, 0, n, bar, "greater") >= 0.5
    assert mcnemar(0, 0) == 1.0
    if len(values) > 1:
        p = paired_t_p([0.0] * len(values), range(len(values)), bar, "greater", UNIT)
        assert p is not None
        assert p >= 0.5


@given(st.lists(st.tuples(bits, bits), min_size=1, max_size=60), st.data())
def test_items_have_no_order(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    """The counts are the same in any order of the items, add up with the sums, and swap with the sides."""
    shuffled = data.draw(st.permutations(pairs))
    found = discordant([old for old, _ in pairs], [new for _, new in pairs])
    assert discordant([old for old, _ in shuffled], [new for _, new in shuffled]) == found
    assert discordant([new for _, new in pairs], [old for old, _ in pairs]) == found[::-1]
    assert found[0] - found[1] == sum(old - new for old, new in pairs)


@given(differences, confidences, st.data())
def test_differences_have_no_order(rows: list[tuple[float, int]], confidence: float, data: st.DataObject) -> None:
    """The t interval and its p are the same in any order of the items."""
    shuffled = data.draw(st.permutations(rows))
    found = [
        (
            paired_t([value for value, _ in order], [cluster for _, cluster in order], confidence),
            paired_t_p([value for value, _ in order], [cluster for _, cluster in order], 0.0, "greater", UNIT),
        )
        for order in (rows, shuffled)
    ]
    assert found[0] == found[1]


@given(differences, confidences)
def test_swapping_the_runs_mirrors_t(rows: list[tuple[float, int]], confidence: float) -> None:
    """The differences with their signs turned give the mirrored interval and the p of the other side."""
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    turned = [-value for value in values]
    interval, mirrored = paired_t(values, clusters, confidence), paired_t(turned, clusters, confidence)
    p, other = (
        paired_t_p(values, clusters, 0.1, "greater", UNIT),
        paired_t_p(turned, clusters, -0.1, "less", UNIT),
    )
    assert (interval is None) is (mirrored is None) is (p is None) is (other is None)
    if interval is not None and mirrored is not None:
        assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low), rel=1e-12, abs=1e-12)
        assert other == pytest.approx(p, rel=1e-9, abs=1e-12)
