"""What must hold for every interval and test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from truthguard.metrics.resampling import bootstrap, row_generator
from truthguard.metrics.statistics import Interval, cluster_t, cluster_t_p, mean, wilson, wilson_p

confidences = st.floats(0.01, 0.9999)
unit = st.floats(-1.0, 1.0)
shares = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
clustered = st.lists(st.tuples(unit, st.integers(0, 4)), min_size=2, max_size=30)

UNIT = Interval(0.0, 1.0)


@given(shares, confidences)
def test_wilson_contains_its_estimate(share: tuple[int, int], confidence: float) -> None:
    """Low and high lie within 0 to 1, on either side of the share."""
    successes, n = share
    interval = wilson(successes, n, confidence)
    assert 0.0 <= interval.low <= successes / n <= interval.high <= 1.0
    assert (interval.low == 0.0) is (successes == 0)
    assert (interval.high == 1.0) is (successes == n)


@given(st.integers(1, 100_000), confidences)
def test_wilson_end_points(n: int, confidence: float) -> None:
    """Low is exactly 0 at 0 of n and high exactly 1 at n of n; the two are mirror images."""
    none, all_of = wilson(0, n, confidence), wilson(n, n, confidence)
    assert none.low == 0.0
    assert all_of.high == 1.0
    assert none.high == pytest.approx(1.0 - all_of.low, abs=1e-12)
    assert 0.0 < none.high < 1.0


@given(shares, confidences)
def test_wilson_p_inverts_the_interval(share: tuple[int, int], confidence: float) -> None:
    """A bar at an end of the interval has p = alpha / 2; one beyond it less, one within more."""
    successes, n = share
    interval, half_alpha = wilson(successes, n, confidence), (1.0 - confidence) / 2.0
    if successes > 0:
        assert wilson_p(successes, n, interval.low, "greater") == pytest.approx(half_alpha, rel=1e-6)
        assert wilson_p(successes, n, interval.low * 0.99, "greater") < half_alpha
    if successes < n:
        assert wilson_p(successes, n, interval.high, "less") == pytest.approx(half_alpha, rel=1e-6)
        assert wilson_p(successes, n, 1 - (1 - interval.high) * 0.99, "less") < half_alpha


@given(shares, st.floats(0.0, 1.0))
def test_wilson_p_has_two_sides(share: tuple[int, int], bar: float) -> None:
    """The two one-sided p add up to 1, and the share's own side has the smaller one."""
    successes, n = share
    less, greater = (wilson_p(successes, n, bar, side) for side in ("less", "greater"))
    assert less + greater == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= less <= 1.0
    if successes / n < bar - 1e-9:
        assert less < 0.5
    if successes / n > bar + 1e-9:
        assert greater < 0.5


@given(clustered, confidences)
def test_cluster_t_contains_its_estimate(rows: list[tuple[float, int]], confidence: float) -> None:
    """The mean lies within the interval, wherever there is one."""
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    interval = cluster_t(values, clusters, confidence)
    assert (interval is None) is (len(set(clusters)) == 1)
    if interval is not None:
        assert interval.low <= mean(values) <= interval.high


@given(st.lists(unit, min_size=2, max_size=30), confidences, unit)
def test_singleton_clusters_equal_scipy(values: list[float], confidence: float, bar: float) -> None:
    """With one item a cluster, interval and p are those of scipy's one-sample t test."""
    assume(np.std(values) > 1e-6)
    test = stats.ttest_1samp(values, bar, alternative="less")
    expected = stats.ttest_1samp(values, bar).confidence_interval(confidence)
    interval = cluster_t(values, range(len(values)), confidence)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=1e-8, abs=1e-9)
    assert cluster_t_p(values, range(len(values)), bar, "less", UNIT) == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)


@given(clustered, st.integers(2, 4), confidences)
def test_duplicates_within_a_cluster_do_not_narrow(
    rows: list[tuple[float, int]], copies: int, confidence: float
) -> None:
    """Asking the same thing again in its own cluster adds no evidence: the interval stays as it is."""
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    once, again = (cluster_t(values * k, clusters * k, confidence) for k in (1, copies))
    assert (once is None) is (again is None)
    if once is not None and again is not None:
        assert (again.low, again.high) == pytest.approx((once.low, once.high), rel=1e-9, abs=1e-9)


@given(clustered, confidences)
def test_cluster_t_p_inverts_the_interval(rows: list[tuple[float, int]], confidence: float) -> None:
    """A bar at an end of the interval has p = alpha / 2."""
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    interval = cluster_t(values, clusters, confidence)
    assume(interval is not None and interval.high - interval.low > 1e-6)
    assert interval is not None
    half_alpha = pytest.approx((1.0 - confidence) / 2.0, rel=1e-5)
    assert cluster_t_p(values, clusters, interval.low, "greater", UNIT) == half_alpha
    assert cluster_t_p(values, clusters, interval.high, "less", UNIT) == half_alpha


@given(clustered, confidences, st.booleans())
def test_bootstrap_contains_its_estimate(rows: list[tuple[float, int]], confidence: float, by_cluster: bool) -> None:
    """The statistic of all items lies within the interval, also for a skewed statistic."""
    values, clusters = np.array([value for value, _ in rows]), [cluster for _, cluster in rows]
    interval = bootstrap(
        lambda items: float(values[items].max()),
        len(values),
        row_generator(0, "row"),
        resamples=30,
        clusters=clusters if by_cluster else None,
    ).interval(confidence)
    assert (interval is None) is (by_cluster and len(set(clusters)) == 1)
    if interval is not None:
        assert interval.low <= values.max() <= interval.high


@given(st.lists(unit, min_size=1, max_size=50), st.data())
def test_the_mean_has_no_order(values: list[float], data: st.DataObject) -> None:
    """The mean is the same to the last bit in any order."""
    assert mean(data.draw(st.permutations(values))) == mean(values)
