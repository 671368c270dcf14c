"""Drops between two runs on the same items: known values, limits, refusals."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from truthguard.metrics.paired import (
    discordant,
    mcnemar,
    paired_bootstrap,
    paired_t,
    paired_t_p,
    tango,
    tango_p,
)
from truthguard.metrics.resampling import row_generator
from truthguard.metrics.statistics import Interval, cluster_t

UNIT = Interval(0.0, 1.0)
Z = NormalDist().inv_cdf(0.975)


class TestWorkedExample:
    """C19: 200 questions, 140 right in both, 16 only in the baseline, 4 only in the candidate."""

    BASELINE = [1.0] * 156 + [0.0] * 44
    CANDIDATE = [1.0] * 140 + [0.0] * 16 + [1.0] * 4 + [0.0] * 40

    def test_counts(self) -> None:
        """C19: the drop is 0.06, from 16 pairs against 4."""
        assert discordant(self.BASELINE, self.CANDIDATE) == (16, 4)
        assert np.mean(self.BASELINE) - np.mean(self.CANDIDATE) == pytest.approx(0.06)

    def test_interval_and_p(self) -> None:
        """C19: Tango's interval is [0.0179, 0.1090] and its one-sided p 0.00365."""
        interval = tango(16, 4, 200, 0.95)
        assert (interval.low, interval.high) == pytest.approx((0.0179, 0.1090), abs=5e-5)
        assert tango_p(16, 4, 200, 0.0, "greater") == pytest.approx(0.00365, abs=5e-6)

    def test_exact_p(self) -> None:
        """C19: the exact McNemar p is 0.01181793, and nothing is the unpaired test's 0.16483938."""
        assert mcnemar(16, 4) == pytest.approx(0.01181793, abs=5e-9)
        for p in (mcnemar(16, 4), tango_p(16, 4, 200, 0.0, "greater"), 2 * tango_p(16, 4, 200, 0.0, "greater")):
            assert p < 0.05

    def test_mirror_image(self) -> None:
        """C19: with the runs swapped it is an improvement of the same size, and no drop is shown."""
        interval, mirrored = tango(16, 4, 200, 0.95), tango(4, 16, 200, 0.95)
        assert (mirrored.low, mirrored.high) == (-interval.high, -interval.low)
        assert tango_p(4, 16, 200, 0.0, "greater") == pytest.approx(1 - 0.00365, abs=5e-6)
        assert tango_p(4, 16, 200, 0.0, "less") == tango_p(16, 4, 200, 0.0, "greater")


class TestTango:
    def test_published_interval(self) -> None:
        """The interval of the airway data (1 pair against 7 of 21) is the one in print, -0.517 to -0.026."""
        interval = tango(1, 7, 21, 0.95)
        assert (round(interval.low, 3), round(interval.high, 3)) == (-0.517, -0.026)

    @pytest.mark.parametrize(("b", "c", "n"), [(16, 4, 200), (1, 7, 21), (5, 0, 12), (0, 3, 3), (4, 4, 9), (2, 1, 817)])
    @pytest.mark.parametrize("drop", [-0.6, -0.1, 0.0, 0.02, 0.3, 0.9])
    def test_constrained_likelihood(self, b: int, c: int, n: int, drop: float) -> None:
        """T has the spread at the likeliest share of c under the bar, found here by maximising the likelihood."""

        def loss(q: float) -> float:
            cells = [(b, q + drop), (c, q), (n - b - c, 1 - 2 * q - drop)]
            return -sum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)

        bounds = (max(0.0, -drop), (1 - drop) / 2)
        q = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        t = (b - c - n * drop) / math.sqrt(n * (2 * q + drop * (1 - drop)))
        assert tango_p(b, c, n, drop, "greater") == pytest.approx(NormalDist().cdf(-t), rel=1e-3, abs=1e-9)

    @pytest.mark.parametrize("n", [1, 2, 40, 817])
    def test_nothing_changed(self, n: int) -> None:
        """Without a discordant pair the ends are +-z^2 / (n + z^2), and a drop above 0 has p = 0.5."""
        interval, end = tango(0, 0, n, 0.95), Z**2 / (n + Z**2)
        assert (interval.low, interval.high) == pytest.approx((-end, end), abs=1e-12)
        assert tango_p(0, 0, n, 0.0, "greater") == 0.5
        assert tango_p(0, 0, n, 0.0, "less") == 0.5

    @pytest.mark.parametrize("n", [1, 2, 40, 817])
    def test_everything_lost(self, n: int) -> None:
        """At b = n the high end is exactly 1 and the low end (n - z^2) / (n + z^2), below 0 where n is small."""
        interval = tango(n, 0, n, 0.95)
        assert interval.high == 1.0
        assert interval.low == pytest.approx((n - Z**2) / (n + Z**2), abs=1e-12)
        assert tango(0, n, n, 0.95) == Interval(-1.0, -interval.low)

    def test_every_item_changed(self) -> None:
        """With b + c = n the interval lies strictly within -1 to 1 around the estimate."""
        interval = tango(30, 20, 50, 0.95)
        assert -1.0 < interval.low < 0.2 < interval.high < 1.0

    @pytest.mark.parametrize(
        ("b", "c", "drop", "greater"),
        [
            (10, 0, 1.0, 0.5),
            (0, 10, -1.0, 0.5),
            (9, 0, 1.0, 1.0),
            (9, 1, 1.0, 1.0),
            (0, 9, -1.0, 0.0),
            (0, 0, 1.0, 1.0),
            (0, 0, -1.0, 0.0),
        ],
    )
    def test_bars_at_the_ends(self, b: int, c: int, drop: float, greater: float) -> None:
        """A bar of 1 or -1 leaves no spread: 0.5 on it, else the side decides."""
        assert tango_p(b, c, 10, drop, "greater") == greater
        assert tango_p(b, c, 10, drop, "less") == 1.0 - greater

    def test_on_the_bar(self) -> None:
        """A drop that equals the bar but for its rounding has p = 0.5."""
        assert tango_p(3, 0, 30, 0.1, "greater") == pytest.approx(0.5, abs=1e-9)
        assert tango_p(6, 3, 10, 0.1 + 0.2, "greater") == pytest.approx(0.5, abs=1e-9)

    def test_far_tail(self) -> None:
        """A p far below the rounding of 1 is not 0."""
        assert 0.0 < tango_p(400, 0, 817, 0.0, "greater") < 1e-80

    @pytest.mark.parametrize(("b", "c", "n"), [(-1, 0, 5), (0, -1, 5), (3, 3, 5), (0, 0, 0)])
    def test_impossible_counts(self, b: int, c: int, n: int) -> None:
        """Counts that no pairs can have are refused with the counts."""
        for call in (lambda: tango(b, c, n, 0.95), lambda: tango_p(b, c, n, 0.0, "less")):
            with pytest.raises(ValueError, match=rf"b \+ c <= n.*b = {b}, c = {c}, n = {n}"):
                call()

    @pytest.mark.parametrize("drop", [1.01, -1.01, math.nan, math.inf])
    def test_impossible_bars(self, drop: float) -> None:
        """A bar beyond any difference of shares is refused."""
        with pytest.raises(ValueError, match="between -1 and 1"):
            tango_p(1, 0, 5, drop, "greater")

    @pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
    def test_impossible_confidence(self, confidence: float) -> None:
        """A confidence that is no probability is refused."""
        with pytest.raises(ValueError, match="confidence"):
            tango(1, 0, 5, confidence)

    def test_coverage(self) -> None:
        """Of all outcomes of 15 pairs, weighed by their chance, 95 % intervals hold the true drop about as often."""
        n, shares = 15, np.linspace(0.05, 0.45, 9)
        tables = [(b, c, tango(b, c, n, 0.95)) for b in range(n + 1) for c in range(n + 1 - b)]
        covered = []
        for lost, won in product(shares, shares):
            drop, kept = lost - won, 1 - lost - won
            covered.append(
                sum(
                    math.comb(n, b) * math.comb(n - b, c) * lost**b * won**c * kept ** (n - b - c)
                    for b, c, interval in tables
                    if interval.low - 1e-12 <= drop <= interval.high + 1e-12
                )
            )
        assert min(covered) > 0.92
        assert 0.94 < float(np.mean(covered)) < 0.97


class TestDiscordant:
    @pytest.mark.parametrize("sides", [([], []), ([1.0], [1.0, 0.0])])
    def test_unequal_sides(self, sides: tuple[list[float], list[float]]) -> None:
        """Pairs need both sides of every item."""
        with pytest.raises(ValueError, match="as many items on both sides"):
            discordant(*sides)

    @pytest.mark.parametrize("value", [0.5, math.nan, 2.0])
    def test_other_values(self, value: float) -> None:
        """A value other than 0 or 1 is refused on either side."""
        with pytest.raises(ValueError, match="0 and 1"):
            discordant([1.0, value], [1.0, 0.0])
        with pytest.raises(ValueError, match="0 and 1"):
            discordant([1.0, 0.0], [1.0, value])


class TestMcnemar:
    @pytest.mark.parametrize(("b", "c"), [(b, c) for b in range(6) for c in range(6)])
    def test_by_enumeration(self, b: int, c: int) -> None:
        """p is the share of all signs of the discordant pairs that are at least as lopsided."""
        wins = [sum(signs) for signs in product((0, 1), repeat=b + c)]
        tail = sum(min(b, c) >= win for win in wins) / len(wins)
        assert mcnemar(b, c) == pytest.approx(min(1.0, 2 * tail), rel=1e-12)

    def test_no_discordant_pair(self) -> None:
        """Two equal runs have p = 1."""
        assert mcnemar(0, 0) == 1.0

    def test_many(self) -> None:
        """The tail of many pairs stays exact."""
        exact = 2 * sum(math.comb(2000, k) for k in range(901)) / 2**2000
        assert mcnemar(900, 1100) == pytest.approx(exact, rel=1e-9)

    def test_negative(self) -> None:
        """A negative count is refused."""
        with pytest.raises(ValueError, match="counted from 0"):
            mcnemar(-1, 2)


class TestPairedT:
    def test_is_the_t_of_differences(self) -> None:
        """The interval is that of the differences over clusters."""
        differences, clusters = [0.2, 0.0, 0.1, -0.1, 0.05], ["a", "a", "b", "c", "d"]
        assert paired_t(differences, clusters, 0.9) == cluster_t(differences, clusters, 0.9)

    def test_equal_runs(self) -> None:
        """A run against itself has the interval [0, 0] and p = 1 for a drop above 0."""
        assert paired_t([0.0] * 9, range(9), 0.95) == Interval(0.0, 0.0)
        assert paired_t_p([0.0] * 9, range(9), 0.0, "greater", UNIT) == 1.0

    def test_few_that_lost_the_same(self) -> None:
        """Differences without a spread go by the range of a difference, so that two of them prove nothing."""
        assert paired_t_p([0.1, 0.1], "ab", 0.0, "greater", UNIT) == pytest.approx((1 / 1.1) ** 2)
        assert paired_t_p([0.1, 0.1], "ab", 0.0, "greater", Interval(-1.0, 1.0)) == pytest.approx((2 / 2.1) ** 2)

    def test_one_cluster(self) -> None:
        """Items of one prompt say nothing about others."""
        assert paired_t([0.1, 0.2], "aa", 0.95) is None
        assert paired_t_p([0.1, 0.2], "aa", 0.0, "greater", UNIT) is None

    def test_too_wide(self) -> None:
        """A difference that the metric's range does not allow is refused."""
        with pytest.raises(ValueError, match=r"values of 0 to 1 cannot differ by -1\.5"):
            paired_t_p([0.1, -1.5], "ab", 0.0, "greater", UNIT)
        assert paired_t_p([0.1, -1.5], "ab", 0.0, "greater", Interval(-1.0, 1.0)) is not None


class TestPairedBootstrap:
    GENERATOR = row_generator(3, "values")
    OLD = GENERATOR.random(60)
    NEW = OLD - 0.1 + 0.02 * GENERATOR.standard_normal(60)

    @staticmethod
    def median(values: NDArray[np.float64], items: NDArray[np.intp]) -> float | None:
        return float(np.median(values[items]))

    def test_both_sides_on_the_same_items(self) -> None:
        """A drop of 0.1 in every item is found although the items differ far more among themselves."""
        drawn = paired_bootstrap(
            lambda items: self.median(self.OLD, items),
            lambda items: self.median(self.NEW, items),
            60,
            row_generator(0, "row"),
            range(60),
            resamples=500,
        )
        interval = drawn.interval(0.95)
        assert interval is not None
        assert 0.05 < interval.low <= interval.high < 0.15
        assert drawn.p(0.0, "greater") == pytest.approx(1 / 501)

    def test_equal_runs(self) -> None:
        """A run against itself has a drop of 0 on every resample, and p = 1 for more."""
        side = lambda items: self.median(self.OLD, items)  # noqa: E731
        drawn = paired_bootstrap(side, side, 60, row_generator(0, "row"), range(60), resamples=50)
        assert (drawn.estimate, set(drawn.values)) == (0.0, {0.0})
        assert drawn.p(0.0, "greater") == 1.0

    def test_whole_clusters(self) -> None:
        """Items of a cluster are drawn together, on both sides."""
        seen: list[list[int]] = []

        def side(items: NDArray[np.intp]) -> float:
            seen.append(items.tolist())
            return 0.0

        paired_bootstrap(side, side, 4, row_generator(0, "row"), "aabb", resamples=20)
        assert seen[0::2] == seen[1::2]
        assert all(items[0::2] == [i - 1 for i in items[1::2]] for items in seen)

    @pytest.mark.parametrize("silent", ["baseline", "candidate"])
    def test_undefined_on_either_side(self, silent: str) -> None:
        """Resamples without a value on one side are counted; above 5 % there is neither interval nor p."""

        def sometimes(items: NDArray[np.intp]) -> float | None:
            return None if 0 not in items else 0.5

        def always(items: NDArray[np.intp]) -> float:
            return 0.2

        baseline, candidate = (sometimes, always) if silent == "baseline" else (always, sometimes)
        drawn = paired_bootstrap(baseline, candidate, 6, row_generator(0, "row"), range(6), resamples=400)
        assert 0.2 < drawn.undefined / 400 < 0.5
        assert len(drawn.values) + drawn.undefined == 400
        assert drawn.too_little is not None
        assert drawn.interval(0.95) is None
        assert drawn.p(0.0, "greater") is None

    def test_seeded(self) -> None:
        """The same generator draws the same."""
        draws = [
            paired_bootstrap(
                lambda items: self.median(self.OLD, items),
                lambda items: self.median(self.NEW, items),
                60,
                row_generator(0, row),
                range(60),
                resamples=20,
            ).values
            for row in ("row", "row", "other")
        ]
        assert draws[0] == draws[1] != draws[2]
