"""Statistics of a judge over items: who takes part, what is undefined, how sure it is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.judged_items import TIE, UNPARSED, graded, graded_items, labelled, pair
from truthguard.catalogue import METRICS
from truthguard.metrics import judging
from truthguard.metrics.agreement import Confusion, kappa
from truthguard.metrics.consistency import ordinal_alpha
from truthguard.metrics.judging import cluster_of, resamples
from truthguard.metrics.participation import part_of, participants, reason_of
from truthguard.metrics.statistics import wilson
from truthguard.metrics.summary import clusters, summarise
from truthguard.records import ItemScores, MetricSummary, Missing

STATISTICS = [name for name, metric in METRICS.items() if metric.scale == "statistic"]
PEOPLE = "5 4 4 3 2 5 1 3"
JUDGE = "5 4 5 3 2 - 1 -"


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of draws show what ten thousand do."""
    monkeypatch.setattr(judging, "RESAMPLES", 400)


def ends(summary: MetricSummary) -> tuple[float | None, float | None, float | None]:
    return summary.low, summary.estimate, summary.high


class TestCorrelations:
    def test_c14_an_unreadable_grade_is_not_the_lowest(self) -> None:
        """C14: the correlations are those of the six readable pairs, beside a coverage of 6 of 8 with its reason."""
        found = {
            name: summarise(graded_items(JUDGE, PEOPLE), name, 0.95) for name in ("pearson", "spearman", "kendall")
        }
        assert [summary.estimate for summary in found.values()] == pytest.approx(
            [0.97072534, 0.95588235, 0.92857143], abs=5e-9
        )
        for summary in found.values():
            assert (summary.n, summary.n_unscored, summary.n_dropped) == (6, 2, 0)
            assert (summary.unscored, summary.details) == ({"unparsed": 2}, {"unparsed": UNPARSED.detail})
            assert (summary.bound_low, summary.bound_high, summary.chance) == (None, None, 0.0)
        grades = [item.values["grade"] for item in graded_items(JUDGE, PEOPLE)]
        readable = [grade for grade in grades if grade is not None]
        assert sum(readable) / len(readable) == pytest.approx(3.33333333, abs=5e-9)

    @pytest.mark.parametrize(
        ("judge", "people", "kind"),
        [
            ("5 5 5 5 5", "1 2 3 4 5", "constant"),
            ("3 3", "1 2", "too_few"),
            ("1 2", "2 3", "too_few"),
            ("4", "4", "too_few"),
        ],
    )
    @pytest.mark.parametrize("metric", ["pearson", "spearman", "kendall"])
    def test_c16_undefined_is_no_number(self, judge: str, people: str, kind: str, metric: str) -> None:
        """C16: all four are undefined with their reason; the record has null, and strict JSON takes it."""
        summary = summarise(graded_items(judge, people), metric, 0.95)
        assert ends(summary) == (None, None, None)
        assert summary.undefined is not None
        assert summary.undefined.kind == kind
        assert summary.n == len(judge.split())
        assert json.loads(json.dumps(asdict(summary), allow_nan=False))["estimate"] is None

    def test_c18_ties(self) -> None:
        """C18: through the summary the numbers are those of the formula with ties."""
        items = graded_items("5 4 4 3 3 2 1 1 4 2", "4 5 4 2 3 2 2 1 3 3")
        found = [summarise(items, name, 0.95).estimate for name in ("kendall", "pearson", "spearman")]
        assert found == pytest.approx([0.72733407, 0.80595121, 0.83441183], abs=5e-9)

    def test_the_mean_of_the_readable_runs_counts(self) -> None:
        """An item with one readable run of three is scored by it; one with none is not."""
        items = [
            graded("a", [5, None, None], 5),
            graded("b", [2, 3, None], 2),
            graded("c", [1, 1, 1], 1),
            graded("d", [None] * 3, 5),
        ]
        summary = summarise(items, "pearson", 0.95)
        assert (summary.n, summary.n_unscored) == (3, 1)
        assert summary.estimate == pytest.approx(13 / math.sqrt(26 / 3 * 78 * 0.25), abs=0.05)

    def test_people_are_their_own_reference(self) -> None:
        """The metric of people takes the items that people graded; the others have no part in it, or are dropped."""
        items = [graded(f"i{at}", grade, 6 - grade, human=grade) for at, grade in enumerate([1, 2, 3, 4])]
        ungraded = graded("x", 3, 3)
        dropped = replace(ungraded, id="y", reasons={"human": Missing("no_human_grade", "no person graded it")})
        assert summarise([*items, ungraded, dropped], "pearson", 0.95).n == 6
        summary = summarise([*items, ungraded, dropped], "pearson_human", 0.95)
        assert (summary.estimate, summary.n, summary.n_unscored, summary.n_dropped) == (1.0, 4, 0, 1)
        assert summarise(items, "pearson", 0.95).estimate == -1.0
        constant = summarise([graded(str(at), at, at, human=2) for at in range(1, 4)], "kendall_human", 0.95)
        assert constant.undefined == Missing("constant", "people gave 2 to all 3 items")


class TestKappaAndConsistency:
    def test_kappa(self) -> None:
        """Kappa is that of the counts, and its items without a verdict are in none of them."""
        rows = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
        items = [labelled(f"i{at}", verdict, label) for at, (verdict, label) in enumerate(rows)]
        summary = summarise([*items, labelled("x", None, True)], "kappa", 0.95)
        assert (summary.estimate, summary.n, summary.n_unscored, summary.chance) == (0.4, 50, 1, 0.0)
        assert summary.estimate == kappa(Confusion.of((label, verdict) for verdict, label in rows))
        assert summary.low is not None
        assert summary.high is not None
        assert 0.0 < summary.low < 0.4 < summary.high < 0.8

    def test_kappa_of_one_word(self) -> None:
        """Judge and labels that never differ from one word have no kappa."""
        summary = summarise([labelled(str(at), True, True) for at in range(5)], "kappa", 0.95)
        assert summary.undefined is not None
        assert summary.undefined.kind == "constant"
        assert summary.estimate is None

    @pytest.mark.parametrize("value", [0.5, math.nan, 2.0])
    def test_half_a_verdict(self, value: float) -> None:
        """A verdict is 0 or 1 and nothing else."""
        items = [labelled(str(at), True, at > 1) for at in range(4)]
        items[2] = replace(items[2], values={**items[2].values, "verdict": value})
        with pytest.raises(ValueError, match="a verdict and a label are 0 or 1"):
            summarise(items, "kappa", 0.95)

    def test_consistency(self) -> None:
        """Alpha takes all readable runs; with fewer than two an item is unscored, by the first unread one's reason."""
        runs: list[list[float | None]] = [[1, 2, 1], [4, 4, None], [5, 5, 5], [3, None, None], [None, None, None]]
        items = [graded(f"i{at}", each, 3) for at, each in enumerate(runs)]
        summary = summarise(items, "consistency", 0.95)
        assert (summary.n, summary.n_unscored, summary.unscored) == (3, 2, {"unparsed": 2})
        assert summary.estimate == ordinal_alpha([[1, 2, 1], [4, 4], [5, 5, 5]])
        assert summary.chance is None

    def test_one_run_has_nothing_to_be_consistent_with(self) -> None:
        """With one run every item is read and none can be paired: undefined, not unscored and not 1."""
        summary = summarise([graded("a", 3, 3), graded("b", 4, 4)], "consistency", 0.95)
        assert (summary.n, summary.n_unscored, summary.estimate) == (2, 0, None)
        assert summary.undefined == Missing("too_few", "none of 2 items has two readable grades to compare")


class TestParts:
    def test_a_tie_is_dropped_from_one_metric_and_counts_in_the_other(self) -> None:
        """Any number of pairs that people call a tie changes without_ties by nothing and with_ties as counted."""
        decided = [pair(f"d{at}", at < 3) for at in range(4)]
        ties = [pair(f"t{at}", at < 1, tie=True) for at in range(6)]
        plain, more = (summarise(items, "without_ties", 0.95) for items in (decided, [*ties, *decided]))
        assert replace(more, n_dropped=0) == plain
        assert (plain.estimate, plain.n, plain.n_dropped, more.n_dropped) == (0.75, 4, 0, 6)
        assert (more.low, more.high) == (wilson(3, 4, 0.95).low, wilson(3, 4, 0.95).high)
        with_ties = summarise([*ties, *decided], "with_ties", 0.95)
        assert (with_ties.estimate, with_ties.n, with_ties.n_dropped) == (0.4, 10, 0)

    def test_nothing_but_ties(self) -> None:
        """Where every pair is dropped there is neither an estimate nor a bound."""
        summary = summarise([pair("a", True, tie=True)], "without_ties", 0.95)
        assert (summary.n, summary.n_unscored, summary.n_dropped) == (0, 0, 1)
        assert (*ends(summary), summary.bound_low, summary.bound_high) == (None,) * 5

    def test_sensitivity_is_of_the_items_labelled_yes(self) -> None:
        """Sensitivity and specificity share out the items; an unread verdict is unscored in its own, with bounds."""
        items = [labelled("a", True, True), labelled("b", False, True), labelled("c", None, True)]
        items += [labelled("d", False, False)]
        summary = summarise(items, "sensitivity", 0.95)
        assert (summary.estimate, summary.n, summary.n_unscored) == (0.5, 2, 1)
        assert (summary.bound_low, summary.bound_high) == (1 / 3, 2 / 3)
        assert (summary.low, summary.high) == (wilson(1, 2, 0.95).low, wilson(1, 2, 0.95).high)
        assert summarise(items, "specificity", 0.95).n == 1
        assert summarise(items, "accuracy", 0.95).n == 3

    def test_items_of_two_kinds_stand_together(self) -> None:
        """In a set of graded responses and pairs each metric has its own items, and none is an error."""
        graded_part, pairs = graded_items("1 2 4", "1 3 4"), [pair("p", True)]
        assert summarise([*graded_part, *pairs], "pearson", 0.95) == summarise(graded_part, "pearson", 0.95)
        assert summarise([*graded_part, *pairs], "with_ties", 0.95).n == 1
        with pytest.raises(ValueError, match="no items to summarise kappa over"):
            summarise([*graded_part, *pairs], "kappa", 0.95)

    def test_parts(self) -> None:
        """Scored, unscored, dropped, none of its own: each by what stands in values and in reasons."""
        assert part_of(graded("a", 3, 3), "kendall") == "scored"
        assert part_of(graded("a", None, 3), "kendall") == "unscored"
        assert part_of(pair("a", None, tie=True), "without_ties") == "dropped"
        assert part_of(pair("a", None, tie=True), "with_ties") == "unscored"
        assert part_of(pair("a", True), "consistency") == "none"
        assert part_of(graded("a", [None, 4], 3), "consistency") == "unscored"
        assert part_of(graded("a", [None], 3), "consistency") == "unscored"
        assert part_of(graded("a", [3], 3), "consistency") == "scored"

    def test_reasons(self) -> None:
        """The reason is that of the column without a value; where there is none, asking for it is an error."""
        assert reason_of(graded("a", None, 3), "pearson") == UNPARSED
        assert reason_of(graded("a", [4, None, None], 3), "consistency") == UNPARSED
        assert reason_of(pair("a", True, tie=True), "without_ties") == TIE
        bare = replace(graded("a", None, 3), reasons={})
        with pytest.raises(ValueError, match="item a has neither a value of grade nor a reason"):
            summarise([bare], "pearson", 0.95)
        with pytest.raises(ValueError, match="no reason why not"):
            reason_of(graded("a", 3, 3), "pearson")

    def test_only_sets_that_measure_a_judge_are_mixed(self) -> None:
        """A question that was not asked for its metric is still an error."""
        with pytest.raises(ValueError, match="item a was not asked for mc1"):
            participants([graded("a", 3, 3)], "mc1")


class TestInterval:
    ITEMS = graded_items("5 4 4 3 3 2 1 1 4 2", "4 5 4 2 3 2 2 1 3 3")

    @pytest.mark.parametrize("metric", STATISTICS)
    def test_it_holds_the_estimate(self, metric: str) -> None:
        """Every statistic has an interval around its estimate, narrower at less confidence."""
        items = (
            [labelled(str(at), at % 3 > 0, at % 2 > 0) for at in range(30)]
            if metric == "kappa"
            else [graded(str(at), [1 + at % 5, 1 + at % 4], 1 + at % 3, human=1 + at % 2) for at in range(30)]
        )
        (low, estimate, high), (inner_low, _, inner_high) = (
            ends(summarise(items, metric, confidence)) for confidence in (0.95, 0.8)
        )
        assert None not in (low, estimate, high, inner_low, inner_high)
        assert -1 <= low < inner_low <= estimate <= inner_high < high <= 1  # type: ignore[operator]

    def test_the_seed_is_the_rows_name(self) -> None:
        """One name draws the same resamples again, another draws others; the estimate is the same."""
        one, again, other = (summarise(self.ITEMS, "kendall", 0.9, seed_name=name) for name in ("a", "a", "b"))
        assert one == again
        assert ends(one) != ends(other)
        assert one.estimate == other.estimate

    @settings(deadline=None, max_examples=25)
    @given(order=st.permutations(range(10)), places=st.lists(st.integers(0, 10), max_size=5))
    def test_neither_order_nor_unscored_items_shift_it(self, order: Sequence[int], places: list[int]) -> None:
        """Rows in another order, and items without a score anywhere among them, change the coverage alone."""
        rows = [self.ITEMS[place] for place in order]
        for at, place in enumerate(places):
            rows.insert(place, graded(f"gap{at}", None, 1 + at % 5))
        for metric in ("pearson", "spearman", "kendall"):
            plain = summarise(self.ITEMS, metric, 0.95, seed_name="row")
            shifted = summarise(rows, metric, 0.95, seed_name="row")
            assert shifted.n_unscored == len(places)
            assert replace(shifted, n_unscored=0, unscored={}, details={}) == plain

    def test_responses_to_one_prompt_are_drawn_together(self) -> None:
        """With the responses of each prompt alike, the interval is that of the prompts, not of four times as many."""
        rows = [(5, 4), (4, 5), (4, 4), (3, 2), (3, 3), (2, 2), (1, 2), (1, 1), (4, 3), (2, 3)]
        prompts = [graded(f"i{at}", x, y, group=f"g{at}") for at, (x, y) in enumerate(rows)]
        fourfold = [replace(item, id=f"{item.id}-{copy}") for item in prompts for copy in range(4)]
        alone = [replace(item, group=item.id) for item in fourfold]
        by_prompt, by_item = (summarise(items, "kendall", 0.95, seed_name="r") for items in (fourfold, alone))
        assert ends(by_prompt) == pytest.approx(ends(summarise(prompts, "kendall", 0.95, seed_name="r")), abs=1e-12)
        assert by_item.estimate == by_prompt.estimate
        assert by_item.high - by_item.low < 0.7 * (by_prompt.high - by_prompt.low)  # type: ignore[operator]

    def test_clusters(self) -> None:
        """A group is a cluster; without one the question is, whatever space stands around it."""
        items = [graded("a", 1, 1, group="g"), graded("b", 1, 1, group="g"), graded("c", None, 1, group="h")]
        bare = ItemScores("d", "", " prompt \n", {"accuracy": 1.0})
        assert clusters([*items, bare], "accuracy") == ("g", "g", "prompt")
        assert cluster_of(items[2]) == "h"

    def test_one_prompt(self) -> None:
        """All responses to one prompt are one draw: an estimate, and no interval."""
        items = [replace(item, group="g") for item in self.ITEMS]
        summary = summarise(items, "pearson", 0.95)
        assert summary.estimate is not None
        assert (summary.low, summary.high) == (None, None)

    def test_resamples_without_a_value_are_counted(self) -> None:
        """Of a judge that differs once many resamples are constant: they are counted, and then nothing is sure."""
        summary = summarise(graded_items("5 5 5 5 5 1", "1 2 3 4 5 1"), "kendall", 0.95)
        assert summary.estimate is not None
        assert 400 * 0.25 < summary.undefined_resamples < 400 * 0.45
        assert (summary.low, summary.high) == (None, None)

    def test_interval_and_test_come_from_the_same_draws(self) -> None:
        """A bar at the lower end of the two-sided interval has a one-sided p of half of what is outside."""
        summary = summarise(self.ITEMS, "pearson", 0.9, seed_name="row")
        drawn = resamples(self.ITEMS, "pearson", "row")
        assert drawn.estimate == pytest.approx(summary.estimate, abs=1e-15)
        assert summary.low is not None
        assert drawn.p(summary.low, "greater") == pytest.approx(0.05, abs=0.01)
        p = drawn.p(0.0, "greater")
        assert p == (1 + sum(value <= 1e-9 for value in drawn.values)) / 401


def test_both_sides_of_a_comparison_are_drawn_alike() -> None:
    """A judge against itself has no drop on any resample; the order of the items moves nothing."""
    items = graded_items("1 2 3 4 5 3", "1 3 3 5 4 2")
    assert set(judging.paired_resamples(items, items[::-1], "pearson", "row").values) == {0.0}
    other = graded_items("2 2 3 3 5 1", "1 3 3 5 4 2")
    drawn = judging.paired_resamples(items, other, "pearson", "row")
    assert drawn == judging.paired_resamples(items[::-1], other, "pearson", "row")
    assert drawn.estimate == pytest.approx(
        judging.value_of(items, "pearson") - judging.value_of(other, "pearson")  # type: ignore[operator]
    )


def test_a_comparison_of_other_items_is_refused() -> None:
    """Both sides must have scored the same items: whoever calls leaves the others out."""
    items, other = graded_items("1 2 3 4", "1 3 3 5"), graded_items("1 2 3 -", "1 3 3 5")
    with pytest.raises(ValueError, match="the same scored items on both sides"):
        judging.paired_resamples(items, other, "pearson", "row")
