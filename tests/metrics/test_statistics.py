"""Means, intervals and tests on literal numbers, against scipy where it has them."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from truthguard.metrics.statistics import (
    Alternative,
    Interval,
    cluster_t,
    cluster_t_p,
    mean,
    wilson,
    wilson_p,
)

INVALID_CONFIDENCES = [0.0, 1.0, -0.5, 95.0, math.nan]


UNIT = Interval(0.0, 1.0)


class TestMean:
    def test_right_answers(self) -> None:
        """C20 a: 1265 of 1816 right is 0.69658590, unrounded and below 0.70."""
        share = mean([1.0] * 1265 + [0.0] * 551)
        assert share == pytest.approx(0.69658590, abs=1e-8)
        assert share < 0.70
        assert share == 1265 / 1816

    def test_exact_sum(self) -> None:
        """C20 c: the mean of the ten values is exactly 0.7, where adding left to right falls below it."""
        values = [0.9, 0.5, 0.7, 0.8, 0.65, 0.7, 0.6, 0.75, 0.72, 0.68]
        assert mean(values) == 0.7

    def test_nothing(self) -> None:
        """The mean of nothing is an error, not 0."""
        with pytest.raises(ValueError, match="no values"):
            mean([])

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_only_finite_values(self, value: float) -> None:
        """A NaN or an infinity among the values is an error that shows it."""
        with pytest.raises(ValueError, match=str(value)):
            mean([0.5, value, 0.5])


class TestWilson:
    @pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
    @pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 40), (1, 40), (15, 40), (40, 40), (300, 817)])
    def test_agrees_with_scipy(self, successes: int, n: int, confidence: float) -> None:
        """The interval is scipy's Wilson interval without continuity correction."""
        expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
        interval = wilson(successes, n, confidence)
        assert interval.low == pytest.approx(expected.low, abs=1e-12)
        assert interval.high == pytest.approx(expected.high, abs=1e-12)

    @pytest.mark.parametrize("successes", [-1, 11])
    def test_not_a_share(self, successes: int) -> None:
        """More successes than items, or fewer than none, are refused."""
        with pytest.raises(ValueError, match=f"got {successes} of 10"):
            wilson(successes, 10, 0.95)
        with pytest.raises(ValueError, match=f"got {successes} of 10"):
            wilson_p(successes, 10, 0.5, "less")

    def test_no_items(self) -> None:
        """A share of no items has no interval."""
        with pytest.raises(ValueError, match="got 0 of 0"):
            wilson(0, 0, 0.95)

    @pytest.mark.parametrize("confidence", INVALID_CONFIDENCES)
    def test_confidence(self, confidence: float) -> None:
        """A confidence must lie strictly between 0 and 1."""
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            wilson(5, 10, confidence)

    @pytest.mark.parametrize("confidence", [1e-300, 1e-17, 1 - 2**-53])
    def test_extreme_confidence(self, confidence: float) -> None:
        """The narrowest and the widest interval that floats can ask for still hold the share."""
        for successes in (0, 3, 10):
            interval = wilson(successes, 10, confidence)
            assert 0.0 <= interval.low <= successes / 10 <= interval.high <= 1.0


class TestWilsonP:
    def test_known_value(self) -> None:
        """60 of 100 against 0.5: z = 2, one-sided p = 0.0227501."""
        assert wilson_p(60, 100, 0.5, "greater") == pytest.approx(0.022750131948, rel=1e-9)
        assert wilson_p(60, 100, 0.5, "less") == pytest.approx(1 - 0.022750131948, rel=1e-9)

    def test_on_the_bar(self) -> None:
        """A share exactly on the bar shows nothing: one half on both sides."""
        assert wilson_p(1, 2, 0.5, "less") == wilson_p(1, 2, 0.5, "greater") == 0.5

    def test_far_tail_keeps_its_digits(self) -> None:
        """A p far below the spacing of floats at 1 is not 0."""
        assert wilson_p(1000, 1000, 0.5, "greater") == pytest.approx(float(stats.norm.sf(math.sqrt(1000))), rel=1e-9)

    @pytest.mark.parametrize(
        ("successes", "bar", "less", "greater"),
        [(0, 0.0, 0.5, 0.5), (1, 0.0, 1.0, 0.0), (10, 1.0, 0.5, 0.5), (9, 1.0, 0.0, 1.0)],
    )
    def test_bars_without_spread(self, successes: int, bar: float, less: float, greater: float) -> None:
        """Against a bar of 0 or 1 one item on the other side settles it; none settles nothing."""
        assert wilson_p(successes, 10, bar, "less") == less
        assert wilson_p(successes, 10, bar, "greater") == greater

    @pytest.mark.parametrize("bar", [-0.01, 1.01, math.nan])
    def test_bar_of_a_share(self, bar: float) -> None:
        """A bar that no share can have is refused."""
        with pytest.raises(ValueError, match="bar of a share"):
            wilson_p(5, 10, bar, "less")


class TestClusterT:
    VALUES = (0.2, 0.4, 0.9, 0.4, 0.7)

    def test_singletons_are_the_plain_t(self) -> None:
        """One item a cluster: interval and p of scipy's one-sample t test."""
        for alternative in ("less", "greater"):
            expected = stats.ttest_1samp(self.VALUES, 0.6, alternative=alternative)
            assert cluster_t_p(self.VALUES, range(5), 0.6, alternative, UNIT) == pytest.approx(
                expected.pvalue, rel=1e-12
            )
        plain = stats.ttest_1samp(self.VALUES, 0.6).confidence_interval(0.9)
        interval = cluster_t(self.VALUES, range(5), 0.9)
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high), rel=1e-12)

    def test_by_hand(self) -> None:
        """Clusters {0, 1}, {1, 1}, {0}: mean 0.6, residual sums -0.2, 0.8, -0.6, variance 3/2 * 1.04 / 25."""
        values, clusters = [0.0, 1.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b", "c"]
        interval = cluster_t(values, clusters, 0.95)
        assert interval is not None
        half = float(stats.t.ppf(0.975, 2)) * math.sqrt(1.5 * 1.04 / 25)
        assert (interval.low, interval.high) == pytest.approx((0.6 - half, 0.6 + half), rel=1e-12)

    def test_clusters_need_not_be_neighbours(self) -> None:
        """Labels say what belongs together, wherever it stands."""
        together = cluster_t([0.1, 0.2, 0.8, 0.6], ["a", "a", "b", "b"], 0.95)
        assert cluster_t([0.1, 0.8, 0.2, 0.6], ["a", "b", "a", "b"], 0.95) == together

    def test_one_cluster(self) -> None:
        """One cluster has no spread to learn from: no interval and no test."""
        assert cluster_t([0.2, 0.4], ["a", "a"], 0.95) is None
        assert cluster_t_p([0.2, 0.4], ["a", "a"], 0.3, "less", UNIT) is None

    def test_two_clusters(self) -> None:
        """Two clusters are enough, with one degree of freedom."""
        interval = cluster_t([0.2, 0.4], ["a", "b"], 0.5)
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((0.2, 0.4))

    def test_not_clipped(self) -> None:
        """Near the end of the range the interval reaches beyond it: it is not clipped."""
        interval = cluster_t([1.0, 1.0, 0.9], range(3), 0.95)
        assert interval is not None
        assert interval.high > 1.0

    @pytest.mark.parametrize(
        ("values", "clusters"),
        [
            ([0.3, 0.3, 0.3], ["a", "b", "c"]),
            ([0.1, 0.5, 0.1, 0.5], ["a", "a", "b", "b"]),
            ([0.1, 0.2, 0.6, 0.2, 0.6, 0.1], ["a", "a", "a", "b", "b", "b"]),
        ],
    )
    def test_no_spread_between_clusters(self, values: list[float], clusters: list[str]) -> None:
        """Clusters that agree leave no spread: the interval is the mean, p is 0, 1 or one half by side."""
        centre = mean(values)
        assert cluster_t(values, clusters, 0.95) == Interval(centre, centre)

    @pytest.mark.parametrize(
        ("value", "bar", "alternative", "expected"),
        [
            (0.0, 0.3, "less", 0.7**4),
            (0.2, 0.3, "less", (0.7 / 0.8) ** 4),
            (1.0, 0.9, "greater", 0.9**4),
            (0.5, 0.3, "greater", (0.3 / 0.5) ** 4),
            (0.3, 0.2, "less", 1.0),
            (0.3, 0.4, "greater", 1.0),
            (0.3, 0.3, "less", 1.0),
            (0.0, 1.0, "less", 0.0),
        ],
    )
    def test_p_without_spread(self, value: float, bar: float, alternative: Alternative, expected: float) -> None:
        """Equal clusters prove no more than Markov's bound over them, and nothing for the side they lie on."""
        p = cluster_t_p([value] * 8, list("aabbccdd"), bar, alternative, UNIT)
        assert p == pytest.approx(expected, rel=1e-12)

    def test_two_equal_values_prove_nothing(self) -> None:
        """What t would call p = 0 is an accident of two values."""
        p = cluster_t_p([0.1714, 0.1714], "ab", 0.3, "less", UNIT)
        assert p is not None
        assert p > 0.5

    def test_the_rounding_of_a_bar_decides_nothing(self) -> None:
        """Without spread a bar within 1e-9 of the mean is on it."""
        assert cluster_t_p([0.3, 0.3], "ab", 0.3 + 0.9e-9, "less", UNIT) == 1.0
        p = cluster_t_p([0.3, 0.3], "ab", 0.3 + 1.1e-9, "less", UNIT)
        assert p is not None
        assert 0.99 < p < 1.0

    def test_all_zero(self) -> None:
        """Values that are all 0 have no spread either."""
        assert cluster_t([0.0, 0.0], "ab", 0.95) == Interval(0.0, 0.0)

    def test_a_small_spread_is_a_spread(self) -> None:
        """Values that differ by 1e-9 are not taken for equal."""
        interval = cluster_t([0.5, 0.5 + 1e-9], "ab", 0.95)
        assert interval is not None
        assert interval.low < interval.high

    def test_labels_for_each_value(self) -> None:
        """A label too few is an error, not a value dropped."""
        with pytest.raises(ValueError, match="3 values need as many cluster labels, got 2"):
            cluster_t([0.1, 0.2, 0.3], ["a", "b"], 0.95)
        with pytest.raises(ValueError, match="3 values need as many cluster labels, got 2"):
            cluster_t_p([0.1, 0.2, 0.3], ["a", "b"], 0.5, "less", UNIT)

    def test_no_values(self) -> None:
        """No values have no interval: an error."""
        with pytest.raises(ValueError, match="no values"):
            cluster_t([], [], 0.95)

    @pytest.mark.parametrize("confidence", INVALID_CONFIDENCES)
    def test_confidence(self, confidence: float) -> None:
        """A confidence must lie strictly between 0 and 1, also where there is no spread."""
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            cluster_t([0.3, 0.3], "ab", confidence)

    @pytest.mark.parametrize("bar", [math.nan, math.inf])
    def test_bar(self, bar: float) -> None:
        """A bar that is not finite is refused: nothing compares with NaN."""
        with pytest.raises(ValueError, match="finite"):
            cluster_t_p([0.1, 0.2], "ab", bar, "less", UNIT)

    @pytest.mark.parametrize(("alternative", "small"), [("less", True), ("greater", False)])
    def test_the_side(self, alternative: Alternative, small: bool) -> None:
        """A mean far below the bar has a small p for "less" and a large one for "greater"."""
        p = cluster_t_p([0.1, 0.11, 0.12], range(3), 0.9, alternative, UNIT)
        assert p is not None
        assert (p < 0.01) is small
        assert (p > 0.99) is not small
