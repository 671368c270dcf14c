"""The bootstrap: its draws, its percentiles, its test, and when it says nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from truthguard.metrics.resampling import Bootstrap, bootstrap, row_generator
from truthguard.metrics.statistics import Interval, cluster_t

INVALID_CONFIDENCES = [0.0, 1.0, -0.5, 95.0, math.nan]


def mean_of(values: NDArray[np.float64]) -> Callable[[NDArray[np.intp]], float]:
    return lambda items: float(values[items].mean())


class TestBootstrap:
    SCORES = np.linspace(0.0, 1.0, 30) ** 2

    def test_mean_of_many(self) -> None:
        """For a mean of many items the interval is near the t interval."""
        scores = row_generator(7, "scores").random(400)
        result = bootstrap(mean_of(scores), 400, row_generator(0, "row"), resamples=4000)
        interval, plain = result.interval(0.95), cluster_t(scores.tolist(), range(400), 0.95)
        assert interval is not None
        assert plain is not None
        assert result.undefined == 0
        assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high), abs=0.005)

    def test_percentiles(self) -> None:
        """The ends are the tail quantiles of the resampled values."""
        drawn = []

        def statistic(items: NDArray[np.intp]) -> float:
            drawn.append(float(self.SCORES[items].mean()))
            return drawn[-1]

        result = bootstrap(statistic, 30, row_generator(0, "row"), resamples=1001)
        assert (result.estimate, *result.values) == tuple(drawn)
        ranked, interval = sorted(drawn[1:]), result.interval(0.8)
        assert len(ranked) == 1001
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((ranked[100], ranked[900]))

    def test_ten_thousand_resamples(self) -> None:
        """Unless told otherwise the statistic is taken on 10,000 resamples, and once on all items."""
        calls = []

        def statistic(items: NDArray[np.intp]) -> float:
            calls.append(len(items))
            return 0.0

        bootstrap(statistic, 2, row_generator(0, "row"))
        assert calls == [2] * 10_001

    def test_one_resample(self) -> None:
        """A single resample is few, but not none."""
        drawn = bootstrap(lambda items: 0.5, 2, row_generator(0, "row"), 1)
        assert drawn == Bootstrap(0.5, (0.5,), undefined=0, clusters=2)
        assert drawn.interval(0.95) == Interval(0.5, 0.5)

    def test_whole_clusters_are_drawn(self) -> None:
        """Every resample holds as many clusters as there are, each with all of its items."""
        clusters = ["a", "b", "a", "c", "b", "a"]
        members = {"a": [0, 2, 5], "b": [1, 4], "c": [3]}
        seen: list[list[int]] = []

        def statistic(items: NDArray[np.intp]) -> float:
            seen.append(items.tolist())
            return 0.0

        bootstrap(statistic, 6, row_generator(0, "row"), resamples=200, clusters=clusters)
        assert seen[0] == [0, 1, 2, 3, 4, 5]
        for items in seen[1:]:
            drawn = 0
            while items:
                whole = members[clusters[items[0]]]
                assert items[: len(whole)] == whole
                items, drawn = items[len(whole) :], drawn + 1
            assert drawn == 3

    def test_singleton_clusters_are_items(self) -> None:
        """One item a cluster draws the same resamples as no clusters."""
        results = [
            bootstrap(mean_of(self.SCORES), 30, row_generator(0, "row"), resamples=50, clusters=clusters)
            for clusters in (None, list(range(30)))
        ]
        assert results[0] == results[1]

    @pytest.mark.parametrize(("undefined", "has_interval"), [(0, True), (5, True), (6, False), (100, False)])
    @pytest.mark.parametrize("without", [None, math.nan, math.inf])
    def test_resamples_without_a_value(self, undefined: int, has_interval: bool, without: float | None) -> None:
        """Resamples without a value are counted; above 5 % of them there is no interval."""
        calls = iter(range(-1, 100))

        def statistic(items: NDArray[np.intp]) -> float | None:
            return without if 0 <= next(calls) < undefined else 0.5

        result = bootstrap(statistic, 10, row_generator(0, "row"), resamples=100)
        assert result == Bootstrap(0.5, (0.5,) * (100 - undefined), undefined, clusters=10)
        assert result.interval(0.95) == (Interval(0.5, 0.5) if has_interval else None)
        assert result.p(0.7, "less") == (pytest.approx(1 / (101 - undefined)) if has_interval else None)
        assert result.too_little == (
            None if has_interval else f"{undefined} of 100 resamples have no value, more than 5 %"
        )

    def test_no_value_on_all_items(self) -> None:
        """A statistic without a value on all items has no interval around it."""
        result = bootstrap(lambda items: None, 10, row_generator(0, "row"), resamples=20)
        assert result == Bootstrap(None, (), undefined=20, clusters=10)
        assert (result.interval(0.95), result.p(0.0, "less")) == (None, None)

    def test_value_only_on_resamples(self) -> None:
        """Values on the resamples alone make no interval: there is no estimate for it to hold."""
        calls = iter([None, *[0.5] * 20])
        result = bootstrap(lambda items: next(calls), 10, row_generator(0, "row"), resamples=20)
        assert (result.interval(0.95), result.p(0.9, "less")) == (None, None)
        assert result.too_little == "there is no value on all items"

    def test_the_estimate_lies_inside(self) -> None:
        """Where the percentiles leave the estimate out (a statistic biased by repeats), the end is widened to it."""

        def distinct(items: NDArray[np.intp]) -> float:
            return float(len(set(items.tolist())))

        interval = bootstrap(distinct, 50, row_generator(0, "row"), resamples=200).interval(0.9)
        assert interval is not None
        assert interval.high == 50.0
        assert interval.low < 40.0

    @pytest.mark.parametrize(("n", "clusters"), [(1, None), (3, ["a", "a", "a"])])
    def test_nothing_to_draw_from(self, n: int, clusters: list[str] | None) -> None:
        """One item, or one cluster, cannot vary: no interval rather than one of width 0."""
        result = bootstrap(mean_of(self.SCORES), n, row_generator(0, "row"), 20, clusters)
        assert (result.interval(0.95), result.p(0.9, "less"), result.undefined) == (None, None, 0)
        assert result.too_little == "one scored prompt is too few"

    @pytest.mark.parametrize(("n", "resamples"), [(0, 10), (10, 0)])
    def test_empty(self, n: int, resamples: int) -> None:
        """No items or no resamples are an error."""
        with pytest.raises(ValueError, match=f"got {n} and {resamples}"):
            bootstrap(lambda items: 0.5, n, row_generator(0, "row"), resamples)

    def test_labels_for_each_item(self) -> None:
        """A label too many is an error."""
        with pytest.raises(ValueError, match="2 items need 2 cluster labels, got 3"):
            bootstrap(lambda items: 0.5, 2, row_generator(0, "row"), 10, ["a", "b", "c"])

    @pytest.mark.parametrize("confidence", INVALID_CONFIDENCES)
    def test_confidence(self, confidence: float) -> None:
        """A confidence must lie strictly between 0 and 1."""
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            bootstrap(lambda items: 0.5, 2, row_generator(0, "row"), 10).interval(confidence)

    def test_p_counts_what_lies_at_the_bar_or_beyond(self) -> None:
        """One more than the values on the bar or on its other side, of one more than all: never 0."""
        drawn = Bootstrap(0.5, (0.2, 0.4, 0.4, 0.6), undefined=0, clusters=9)
        assert [drawn.p(bar, "less") for bar in (0.1, 0.4, 0.5, 0.61)] == [1.0, 0.8, 0.4, 0.2]
        assert [drawn.p(bar, "greater") for bar in (0.1, 0.4, 0.5, 0.61)] == [0.2, 0.8, 0.8, 1.0]

    @pytest.mark.parametrize("nudge", [-0.5e-9, 0.5e-9])
    def test_a_value_within_the_tolerance_is_at_the_bar(self, nudge: float) -> None:
        """What arithmetic alone can make does not put a value on the proving side."""
        drawn = Bootstrap(0.5, (0.5 + nudge,) * 99, undefined=0, clusters=9)
        assert (drawn.p(0.5, "less"), drawn.p(0.5, "greater")) == (1.0, 1.0)

    @pytest.mark.parametrize("bar", [math.nan, math.inf])
    def test_bar(self, bar: float) -> None:
        """A bar that is not finite is refused: nothing compares with NaN."""
        with pytest.raises(ValueError, match="finite"):
            Bootstrap(0.5, (0.5,), undefined=0, clusters=2).p(bar, "less")


class TestRowGenerator:
    def test_same_in_every_process(self) -> None:
        """The bits depend on seed and row id alone, not on the process: they are these."""
        raw = row_generator(0, "truthfulqa[mc1]").bit_generator.random_raw(2)
        assert raw.tolist() == [3780270771395326173, 16327085229101677529]

    def test_seed_and_row_both_matter(self) -> None:
        """Another seed or another row draws other resamples; what moves between the two is not confused."""
        keys = [(0, "a"), (1, "a"), (0, "b"), (-1, "a"), (11, "2"), (1, "12"), (1, "1:2"), (11, ":2")]
        assert len({row_generator(seed, row).random() for seed, row in keys}) == len(keys)

    def test_same_key_same_interval(self) -> None:
        """The same seed and row id give the same interval again, others another one."""
        scores = np.linspace(0.0, 1.0, 30)

        def interval(seed: int, row: str) -> Interval | None:
            return bootstrap(mean_of(scores), 30, row_generator(seed, row), resamples=200).interval(0.95)

        assert interval(3, "row") == interval(3, "row")
        assert interval(3, "row") != interval(4, "row")
        assert interval(3, "row") != interval(3, "other")
