"""From the values of items to the row's numbers, and the items that a failure text shows."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.metrics.correctness import SPLIT
from truthguard.metrics.statistics import cluster_t, wilson
from truthguard.metrics.summary import nearest_to_flip, summarise
from truthguard.records import Bar, ItemScores, Missing, ScoredChoice

ERROR = Missing("error", "the server did not answer")
NAN = Missing("nan", "1 of 4 log-likelihoods is NaN")


def choice(true: bool, in_mc1: bool = True, log_likelihood: float | None = -1.0, tokens: int = 1) -> ScoredChoice:
    return ScoredChoice("four", true, in_mc1, log_likelihood, tokens)


CHOICES = (choice(True), choice(False), choice(False), choice(False))


def item(
    name: str,
    value: float | None,
    metric: str = "mc1",
    reason: Missing | None = None,
    choices: tuple[ScoredChoice, ...] = CHOICES,
) -> ItemScores:
    if value is None and reason is None:
        reason = ERROR
    reasons: Mapping[str, Missing] = {} if reason is None else {metric: reason}
    return ItemScores(name, "Health", f"question {name}?", {metric: value}, reasons, choices)


def items_of(values: Sequence[float | None], metric: str = "mc1") -> list[ItemScores]:
    return [item(f"q{at}", value, metric) for at, value in enumerate(values)]


class TestSummarise:
    def test_complete(self) -> None:
        """C17, system A: 0.5 on 4 of 4, the bounds are the estimate itself."""
        summary = summarise(items_of([1.0, 0.0, 1.0, 0.0]), "mc1", 0.95)
        assert (summary.estimate, summary.n, summary.n_unscored) == (0.5, 4, 0)
        assert (summary.bound_low, summary.bound_high) == (0.5, 0.5)
        assert summary.unscored == {}

    def test_failed_items_stay_in_sight(self) -> None:
        """C17, system B: 1.0 on 2 of 4, bounds 0.5 to 1 over all items, errors counted by cause."""
        summary = summarise(items_of([1.0, None, 1.0, None]), "mc1", 0.95)
        assert (summary.estimate, summary.n, summary.n_unscored) == (1.0, 2, 2)
        assert summary.n / (summary.n + summary.n_unscored) == 0.5
        assert (summary.bound_low, summary.bound_high) == (0.5, 1.0)
        assert summary.unscored == {"error": 2}

    def test_nan_is_the_named_cause(self) -> None:
        """C04: two of four questions missing by NaN leave 0.5 over the valid ones, with the cause counted."""
        rows = [item("q1", None, reason=NAN), item("q2", 1.0), item("q3", 0.0), item("q4", None, reason=NAN)]
        summary = summarise(rows, "mc1", 0.95)
        assert (summary.estimate, summary.n) == (0.5, 2)
        assert summary.unscored == {"nan": 2}

    def test_digits_are_kept(self) -> None:
        """C20 a: 1265 of 1816 stays 0.69658590, unrounded."""
        summary = summarise(items_of([1.0] * 1265 + [0.0] * 551), "mc1", 0.95)
        assert summary.estimate == 1265 / 1816 == pytest.approx(0.69658590, abs=1e-8)

    def test_exact_mean(self) -> None:
        """C20 c: the mean of the ten values is exactly 0.7."""
        values = [0.9, 0.5, 0.7, 0.8, 0.65, 0.7, 0.6, 0.75, 0.72, 0.68]
        assert summarise(items_of(values, "mc2"), "mc2", 0.95).estimate == 0.7

    def test_shares_have_wilson(self) -> None:
        """mc1 is a share of 0/1 items: Wilson's interval at the asked confidence, under its variant's name."""
        values = [1.0, 0.0, 0.0, 1.0, 1.0]
        for metric in ("mc1", "mc1_per_byte"):
            summary = summarise(items_of(values, metric), metric, 0.9)
            expected = wilson(3, 5, 0.9)
            assert (summary.low, summary.high) == (expected.low, expected.high)
            assert (summary.metric, summary.confidence) == (metric, 0.9)

    @pytest.mark.parametrize("metric", ["mc2", "mc2_mass", "mc3", "mc_binary", "mc2_mass_per_token"])
    def test_means_have_t(self, metric: str) -> None:
        """Other metrics have the t interval with each question its own cluster, also on values of 0 and 1."""
        values = [0.0, 1.0, 1.0, 0.5]
        expected = cluster_t(values, range(4), 0.9)
        summary = summarise(items_of(values, metric), metric, 0.9)
        assert expected is not None
        assert (summary.low, summary.high) == (expected.low, expected.high)

    def test_items_that_share_a_prompt_are_one_cluster(self) -> None:
        """Asking one question six times is one question's worth of evidence, whatever the ids."""
        once = [item("a", 0.2, "mc3"), item("b", 0.8, "mc3")]
        thrice = [replace(each, id=f"{each.id}{i}") for i in range(3) for each in once]
        alone, repeated = (summarise(rows, "mc3", 0.95) for rows in (once, thrice))
        assert repeated.n == 6
        assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))
        assert summarise([item("same", 0.2, "mc3"), item("same", 0.8, "mc3")], "mc3", 0.95).low is None

    def test_one_scored_item(self) -> None:
        """One item has a mean; a share has an interval too, a t interval needs two."""
        assert summarise(items_of([1.0]), "mc1", 0.95).low is not None
        summary = summarise(items_of([0.4, None], "mc3"), "mc3", 0.95)
        assert (summary.estimate, summary.low, summary.high) == (0.4, None, None)

    def test_nothing_scored(self) -> None:
        """Without a scored item there is no estimate; the bounds are the metric's whole range."""
        summary = summarise(items_of([None, None], "mc2"), "mc2", 0.95)
        assert (summary.estimate, summary.low, summary.high) == (None, None, None)
        assert (summary.bound_low, summary.bound_high) == (-1.0, 1.0)
        assert (summary.n, summary.n_unscored) == (0, 2)

    def test_bounds_take_the_metrics_range(self) -> None:
        """mc2 reaches down to -1: an unscored item may be worth that little."""
        summary = summarise(items_of([0.5, None], "mc2"), "mc2", 0.95)
        assert (summary.bound_low, summary.bound_high) == (-0.25, 0.75)

    def test_kinds_are_counted_apart(self) -> None:
        """Each kind of reason has its own count."""
        rows = [item("a", None, reason=NAN), item("b", None), item("c", None, reason=NAN), item("d", 1.0)]
        assert summarise(rows, "mc1", 0.95).unscored == {"nan": 2, "error": 1}

    def test_the_first_detail_of_each_kind_is_kept(self) -> None:
        """In the items' order, of unscored items alone."""
        reasons = [Missing("limit", "first"), ERROR, Missing("limit", "second")]
        rows = [item(str(place), None, reason=reason) for place, reason in enumerate(reasons)]
        rows.append(item("scored", 1.0, reason=Missing("limit", "a mark")))
        assert summarise(rows[::-1], "mc1", 0.95).details == {"limit": "second", "error": ERROR.detail}

    def test_a_split_item_is_exact(self) -> None:
        """As many yes as no is the value itself, not the end of a bound."""
        rows = [item("a", 0.5, "correctness", SPLIT), item("b", 1.0, "correctness")]
        assert (summarise(rows, "correctness", 0.95).n, summarise(rows, "correctness", 0.95).inexact) == (2, 0)

    def test_inexact(self) -> None:
        """A value with a reason beside it is scored and counted as inexact; a missing one is not inexact."""
        bound = Missing("unlisted", "P(yes) between 0.98 and 1")
        rows = [item("a", 0.98, "mc2", bound), item("b", 0.5, "mc2")]
        rows += [item("c", None, "mc2", bound), item("d", None, "mc2", bound)]
        summary = summarise(rows, "mc2", 0.95)
        assert (summary.n, summary.inexact, summary.unscored) == (2, 1, {"unlisted": 2})

    def test_reasons_of_other_metrics_do_not_count(self) -> None:
        """A reason that belongs to another metric leaves this one exact."""
        row = ItemScores("a", "Health", "?", {"mc1": 1.0, "mc2": None}, {"mc2": ERROR}, CHOICES)
        summary = summarise([row], "mc1", 0.95)
        assert (summary.inexact, summary.unscored) == (0, {})

    @pytest.mark.parametrize(
        ("metric", "level"),
        [
            ("mc1", (1 / 2 + 1 / 3) / 2),
            ("mc1_per_token", (1 / 2 + 1 / 3) / 2),
            ("mc2_mass", (2 / 4 + 1 / 3) / 2),
            ("mc3", (1 / 3 + 1 / 3) / 2),
            ("mc2", 0.0),
            ("mc_binary", 0.5),
        ],
    )
    def test_chance(self, metric: str, level: float) -> None:
        """Chance is the mean over the selected items, unscored ones too: mc1's k counts its own choices only."""
        two_true = (choice(True), choice(True, in_mc1=False), choice(False), choice(False, in_mc1=False))
        one_true = (choice(True), choice(False), choice(False))
        rows = [item("a", 1.0, metric, choices=two_true), item("b", None, metric, choices=one_true)]
        assert summarise(rows, metric, 0.95).chance == pytest.approx(level, abs=1e-15)

    def test_chance_of_items_that_have_one(self) -> None:
        """A question without false answers has no level of chance and does not lower the others'."""
        rows = [item("a", 1.0, "mc3"), item("b", None, "mc3", choices=(choice(True),))]
        assert summarise(rows, "mc3", 0.95).chance == 0.25
        assert summarise(rows[1:], "mc3", 0.95).chance is None

    def test_no_items(self) -> None:
        """Nothing selected is an error that names the metric."""
        with pytest.raises(ValueError, match="no items to summarise mc1 over"):
            summarise([], "mc1", 0.95)

    def test_not_asked(self) -> None:
        """An item that was not asked for the metric is an error, not an unscored item."""
        with pytest.raises(ValueError, match="item q0 was not asked for mc3; it has mc1"):
            summarise(items_of([1.0]), "mc3", 0.95)

    def test_missing_without_a_reason(self) -> None:
        """A value that is missing for no reason is an error."""
        with pytest.raises(ValueError, match="neither a value of mc1 nor a reason"):
            summarise([ItemScores("a", "Health", "?", {"mc1": None})], "mc1", 0.95)

    @pytest.mark.parametrize(
        ("metric", "value"),
        [
            ("mc1", 0.5),
            ("mc1", math.nan),
            ("mc3", math.nan),
            ("mc3", math.inf),
            ("mc3", 1.0000001),
            ("mc3", -1e-9),
            ("mc2", -1.0000001),
            ("mc2_mass", 58.33),
        ],
    )
    def test_values_that_the_metric_cannot_have(self, metric: str, value: float) -> None:
        """A NaN, a number on another scale, or half a share never enters a mean."""
        expected = {"mc1": "0 or 1", "mc2": "-1 to 1"}.get(metric, "0 to 1")
        with pytest.raises(ValueError, match=f"item q0 has {metric} = {value!r}, expected {expected}"):
            summarise(items_of([value], metric), metric, 0.95)

    @given(st.lists(st.one_of(st.none(), st.floats(0.0, 1.0)), min_size=1, max_size=20), st.data())
    def test_estimate_within_interval_and_bounds(self, values: list[float | None], data: st.DataObject) -> None:
        """The interval holds the estimate, the bounds hold every completion, and no order matters."""
        summary = summarise(items_of(values, "mc3"), "mc3", 0.95)
        assert summary == summarise(items_of(data.draw(st.permutations(values)), "mc3"), "mc3", 0.95)
        assert summary.n + summary.n_unscored == len(values)
        assert summary.bound_low is not None
        assert summary.bound_high is not None
        unscored_share = summary.n_unscored / len(values)
        assert summary.bound_high - summary.bound_low == pytest.approx(unscored_share, abs=1e-12)
        if summary.estimate is not None and summary.low is not None and summary.high is not None:
            assert summary.low <= summary.estimate <= summary.high

    def test_shares_need_neither_numpy_nor_scipy(self) -> None:
        """Summarising a share imports no numerical library: the verdict on mc1 starts at once."""
        code = (
            "import sys; from truthguard.metrics.summary import summarise; from truthguard.records import ItemScores;"
            "summarise([ItemScores('a', 'c', 'q', {'mc1': 1.0})], 'mc1', 0.95);"
            "sys.exit(bool({'numpy', 'scipy', 'torch'} & set(sys.modules)))"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def against(best: float, *others: float, metric: str = "mc1", name: str = "q", tokens: int = 1) -> ItemScores:
    """An item of a log-likelihood share: its value follows from the numbers."""
    choices = (
        choice(True, log_likelihood=best, tokens=tokens),
        # Not in the single-true set: neither of the two may move a margin.
        choice(True, in_mc1=False, log_likelihood=-0.001),
        choice(False, in_mc1=False, log_likelihood=-0.001),
        *(choice(False, log_likelihood=other) for other in others),
    )
    value = float(all(best / tokens > other for other in others))
    return item(name, value, metric, choices=choices)


class TestNearestToFlip:
    def test_mc1_below_its_minimum(self) -> None:
        """The wrong items with the smallest margin come first; right ones are not named."""
        rows = [
            against(-5.0, -1.0, -9.0, name="far"),
            against(-1.0, -1.001, name="right"),
            against(-2.0, -1.75, -3.0, name="near"),
            against(-2.0, -2.0, name="tie"),
        ]
        nearest = nearest_to_flip(rows, "mc1", Bar(min=0.9))
        assert [found.id for found, _ in nearest] == ["tie", "near", "far"]
        assert [text for _, text in nearest] == [
            "best answer level with another",
            "best answer 0.25 nats behind the strongest other",
            "best answer 4 nats behind the strongest other",
        ]

    def test_mc1_above_its_maximum(self) -> None:
        """Under a maximum it is the right items that would have to flip."""
        rows = [against(-1.0, -3.0, name="far"), against(-1.0, -1.5, name="near"), against(-2.0, -1.0, name="wrong")]
        nearest = nearest_to_flip(rows, "mc1", Bar(max=0.2))
        assert [found.id for found, _ in nearest] == ["near", "far"]
        assert nearest[0][1] == "best answer 0.5 nats ahead of the strongest other"

    def test_mc1_per_token(self) -> None:
        """A normalised variant is measured in its own unit."""
        rows = [against(-8.0, -1.0, metric="mc1_per_token", tokens=4)]
        ((_, text),) = nearest_to_flip(rows, "mc1_per_token", Bar(min=0.5))
        assert text == "best answer 1 nats per token behind the strongest other"

    def test_mc1_per_byte(self) -> None:
        """Per byte: each choice here has four."""
        rows = [against(-8.0, -2.0, metric="mc1_per_byte")]
        ((_, text),) = nearest_to_flip(rows, "mc1_per_byte", Bar(min=0.5))
        assert text == "best answer 1.5 nats per byte behind the strongest other"

    def test_impossible_answers_come_late(self) -> None:
        """A best answer of probability 0 is infinitely far away."""
        rows = [against(-math.inf, -1.0, name="never"), against(-9.0, -1.0, name="far")]
        assert [found.id for found, _ in nearest_to_flip(rows, "mc1", Bar(min=1.0))] == ["far", "never"]

    @pytest.mark.parametrize("choices", [(), (choice(True, log_likelihood=None), choice(False))])
    def test_log_likelihoods_not_kept(self, choices: tuple[ScoredChoice, ...]) -> None:
        """An item whose log-likelihoods are not kept is named last, not dropped."""
        rows = [item("bare", 0.0, choices=choices), against(-9.0, -1.0, name="known")]
        nearest = nearest_to_flip(rows, "mc1", Bar(min=1.0))
        assert [found.id for found, _ in nearest] == ["known", "bare"]
        assert nearest[1][1] == "log-likelihoods not kept"

    @pytest.mark.parametrize("metric", ["mc2", "mc2_mass", "mc3", "mc_binary"])
    def test_means_below_their_minimum(self, metric: str) -> None:
        """Of a mean the items below the bar count, the highest of them first."""
        rows = items_of([0.0, 0.5, 0.25, 0.6, 1.0, None], metric)
        nearest = nearest_to_flip(rows, metric, Bar(min=0.6))
        assert [found.id for found, _ in nearest] == ["q1", "q2", "q0"]
        assert nearest[0][1] == "0.5000, 0.1 below the bar"

    def test_means_above_their_maximum(self) -> None:
        """Under a maximum the items above the bar count, the lowest of them first."""
        rows = items_of([0.9, 0.2, 0.5, 0.3], "mc3")
        nearest = nearest_to_flip(rows, "mc3", Bar(max=0.3))
        assert [found.id for found, _ in nearest] == ["q2", "q0"]
        assert nearest[0][1] == "0.5000, 0.2 above the bar"

    def test_on_the_bar_is_not_wrong(self) -> None:
        """An item within 1e-9 of the bar meets it, on either side; one a little further does not."""
        rows = items_of([0.5 - 2e-9, 0.5 - 0.5e-9, 0.0], "mc3")
        assert [found.id for found, _ in nearest_to_flip(rows, "mc3", Bar(min=0.5))] == ["q0", "q2"]
        rows = items_of([0.5 + 2e-9, 0.5 + 0.5e-9, 1.0], "mc3")
        assert [found.id for found, _ in nearest_to_flip(rows, "mc3", Bar(max=0.5))] == ["q0", "q2"]

    @pytest.mark.parametrize(("value", "bar"), [(0.0, Bar(min=1e-9)), (1e-9, Bar(max=0.0))])
    def test_exactly_the_tolerance_away(self, value: float, bar: Bar) -> None:
        """An item exactly 1e-9 from the bar still meets it."""
        assert nearest_to_flip(items_of([value], "mc3"), "mc3", bar) == ()

    def test_a_distance_too_small_for_the_digits_still_shows(self) -> None:
        """C20: a value that rounds to the bar shows how far it is from it."""
        ((_, text),) = nearest_to_flip(items_of([0.69999999], "mc3"), "mc3", Bar(min=0.7))
        assert text == "0.7000, 1e-08 below the bar"

    @pytest.mark.parametrize(("values", "first"), [([0.1, 0.2, 0.9], "q1"), ([0.9, 0.8, 0.3], "q1")])
    def test_two_ends(self, values: list[float], first: str) -> None:
        """With both ends the one that the mean misses decides."""
        bar = Bar(min=0.45, max=0.55)
        assert nearest_to_flip(items_of(values, "mc3"), "mc3", bar)[0][0].id == first

    def test_within_both_ends(self) -> None:
        """A mean between the ends is shown against the nearer one."""
        rows = items_of([0.1, 0.5, 0.9], "mc3")
        assert [found.id for found, _ in nearest_to_flip(rows, "mc3", Bar(min=0.42, max=0.6))] == ["q0"]
        assert [found.id for found, _ in nearest_to_flip(rows, "mc3", Bar(min=0.4, max=0.58))] == ["q2"]

    def test_count(self) -> None:
        """Five are shown unless another number is asked for; equal ones keep the items' order."""
        rows = items_of([0.2] * 7, "mc3")
        assert [found.id for found, _ in nearest_to_flip(rows, "mc3", Bar(min=0.5))] == ["q0", "q1", "q2", "q3", "q4"]
        assert len(nearest_to_flip(rows, "mc3", Bar(min=0.5), count=2)) == 2

    def test_no_bar(self) -> None:
        """Without a bar nothing can flip: an error, not an empty list."""
        with pytest.raises(ValueError, match="neither min nor max"):
            nearest_to_flip(items_of([0.0]), "mc1", Bar())

    def test_nothing_scored(self) -> None:
        """Without a scored item there is nothing to show."""
        assert nearest_to_flip(items_of([None]), "mc1", Bar(min=0.5)) == ()
