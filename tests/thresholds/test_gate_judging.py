"""Rows that measure a judge: what is undefined or unread is never a pass, and a failure shows where it disagrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from tests.metrics.judged_items import graded, graded_items, labelled, pair
from tests.thresholds.made import row_of, run_of
from truthguard.metrics import judging
from truthguard.metrics.judging import resamples
from truthguard.records import Bar, BenchmarkKind, Identity, ItemScores, JudgeRun, Row, RowResult, Run
from truthguard.thresholds.gate import failure_text
from truthguard.thresholds.gate import judge as hold

TODAY = date(2026, 6, 15)
JUDGE = JudgeRun(Identity("openai:j", "openai", None, "api", ""), "prometheus", {}, None)
PEOPLE = "5 4 4 3 2 5 1 3"
GRADES = "5 4 5 3 2 - 1 -"
TIES = graded_items("5 4 4 3 3 2 1 1 4 2", "4 5 4 2 3 2 2 1 3 3")


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of draws show what ten thousand do."""
    monkeypatch.setattr(judging, "RESAMPLES", 400)


def run(items: Sequence[ItemScores], kind: BenchmarkKind = "direct") -> Run:
    return replace(run_of(items), benchmark="vicuna_bench", model=None, kind=kind, judge=JUDGE)


def row(bar: Bar, metric: str, **changes: object) -> Row:
    return replace(row_of(bar, metric, **{"max_unscored": 0.05, **changes}), benchmark="vicuna_bench", judge="openai:j")


def verdict(items: Sequence[ItemScores], bar: Bar, metric: str, **changes: object) -> RowResult:
    return hold(row(bar, metric, **changes), run(items), today=TODAY)


def test_c14_coverage_is_reported_and_can_be_gated() -> None:
    """C14: 6 of 8 readable is an error at the default, and with max_unscored = 0.25 the bar is held against the six."""
    items = graded_items(GRADES, PEOPLE)
    result = verdict(items, Bar(min=0.95), "pearson")
    assert (result.verdict, result.reason) == (
        "error",
        "2 of 8 items could not be scored, 0.2500 > 0.0500 (max_unscored): unparsed 2 (no grade could be read)",
    )
    result = verdict(items, Bar(min=0.95), "pearson", max_unscored=0.25)
    assert result.verdict == "pass"
    assert result.reason == "2 of 8 items could not be scored: unparsed 2 (no grade could be read)"
    assert result.summary is not None
    assert result.summary.estimate == pytest.approx(0.97072534, abs=5e-9)
    result = verdict(items, Bar(min=0.95), "kendall", max_unscored=0.25)
    assert (result.verdict, result.reason) == ("fail", "0.9286 < 0.9500 (min)")


@pytest.mark.parametrize(
    ("judge", "people", "why"),
    [
        ("5 5 5 5 5", "1 2 3 4 5", "5 scored items: the judge gave 5 to all 5 items"),
        ("3 3", "1 2", "2 scored items: 2 pairs of values, and a correlation needs at least 3"),
        ("1 2", "2 3", "2 scored items: 2 pairs of values, and a correlation needs at least 3"),
        ("4", "4", "1 scored item: 1 pair of values, and a correlation needs at least 3"),
    ],
)
@pytest.mark.parametrize("bar", [Bar(min=0.3), Bar(min=-1.0), Bar(max=1.0), Bar(), Bar(min=0.3, block_on="proof")])
def test_c16_undefined_is_not_a_pass(judge: str, people: str, why: str, bar: Bar) -> None:
    """C16: an undefined correlation meets no bar, however low, and the message says why; there is no number."""
    result = verdict(graded_items(judge, people), bar, "kendall")
    assert (result.verdict, result.reason) == ("error", f"kendall is undefined over {why}")
    assert result.summary is not None
    assert result.summary.estimate is None


def test_c16_an_undefined_row_tells_what_was_not_read() -> None:
    """C16: where the rest could not be read, that is said with it; a waiver does not help."""
    result = verdict(
        graded_items("3 3 - 3", "1 2 3 4"),
        Bar(min=0.3),
        "pearson",
        max_unscored=0.5,
        waive_until=TODAY,
        waive_reason="known",
    )
    assert (result.verdict, result.reason) == (
        "error",
        "pearson is undefined over 3 scored items: the judge gave 3 to all 3 items;"
        " 1 of 4 items could not be scored: unparsed 1 (no grade could be read)",
    )


def test_c18_tau_b_is_what_is_held() -> None:
    """C18: the bar is held against 0.7273, which neither tau-a nor gamma is."""
    assert verdict(TIES, Bar(min=0.7273, max=0.7274), "kendall").verdict == "pass"
    assert verdict(TIES, Bar(min=0.7274), "kendall").reason == "0.7273 < 0.7274 (min)"


def test_nothing_readable() -> None:
    """A judge that gave no grade at all is an error even where every item may be unread."""
    result = verdict(graded_items("- -", "1 2"), Bar(min=0.1), "spearman", max_unscored=1.0)
    assert (result.verdict, result.reason) == (
        "error",
        "none of the 2 items could be scored: unparsed 2 (no grade could be read)",
    )


@pytest.mark.parametrize(("min_items", "expected"), [(1, "error"), (3, "error"), (4, "not_gated")])
def test_a_small_category_has_its_own_undefined_state(min_items: int, expected: str) -> None:
    """A category of three alike is undefined by itself, and not gated where that is too few; the others stand."""
    small = [graded(f"s{at}", 5, at, category="small") for at in range(1, 4)]
    whole = run([*TIES, *small])
    of_small = hold(row(Bar(min=0.5), "kendall", category="small", min_items=min_items), whole, today=TODAY)
    assert of_small.verdict == expected
    assert of_small.reason == (
        "kendall is undefined over 3 scored items: the judge gave 5 to all 3 items"
        if expected == "error"
        else "too small a slice: 3 items, min_items = 4"
    )
    assert hold(row(Bar(min=0.5), "kendall", category="chat"), whole, today=TODAY).verdict == "pass"


def test_nothing_but_ties() -> None:
    """A category of pairs that people call ties has nothing without them: an error, or too small a slice."""
    ties = [pair(f"t{at}", at > 0, tie=True) for at in range(3)]
    result = verdict(ties, Bar(min=0.1), "without_ties")
    assert (result.verdict, result.reason) == (
        "error",
        "none of the 3 items is one of without_ties: people call it a tie",
    )
    result = verdict(ties, Bar(min=0.1), "without_ties", min_items=2)
    assert (result.verdict, result.reason) == ("not_gated", "too small a slice: 0 items, min_items = 2")
    assert verdict(ties, Bar(min=0.6), "with_ties").verdict == "pass"


def test_a_must_pass_item_that_the_metric_leaves_out_is_not_gated() -> None:
    """A pair that people call a tie is none of without_ties': nothing can make it right, so it must not block."""
    items = [pair("t", True, tie=True), pair("p", True), pair("unread", None)]
    result = verdict(items, Bar(min=1.0), "without_ties", item="t")
    assert (result.verdict, result.reason) == (
        "not_gated",
        "none of the 1 items is one of without_ties: people call it a tie",
    )
    assert verdict(items, Bar(min=1.0), "without_ties", item="p").verdict == "pass"
    assert verdict(items, Bar(min=1.0), "without_ties", item="unread").verdict == "error"


def test_items_of_another_kind_have_no_part() -> None:
    """Of graded responses and pairs each row counts its own; a sample without any is an error that says so."""
    items = [*TIES, pair("p", True)]
    assert verdict(items, Bar(min=0.9), "with_ties").verdict == "pass"
    result = verdict(items, Bar(min=0.5), "kendall")
    assert result.summary is not None
    assert (result.verdict, result.summary.n) == ("pass", 10)
    result = verdict(TIES, Bar(min=0.5), "with_ties")
    assert (result.verdict, result.summary) == ("error", None)
    assert result.reason == (
        "no item of vicuna_bench with the metric with_ties is among the 10 that were asked:"
        " enlarge the sample, or deselect this row"
    )
    result = verdict(TIES, Bar(min=0.5), "kendall", category="maths")
    assert result.reason.startswith("no item of category 'maths' is among the 10 of vicuna_bench that were asked")


@pytest.mark.parametrize(
    ("limit", "block_on", "expected"),
    [
        (0.2, "proof", "pass"),
        (0.99, "proof", "fail"),
        (0.2, "doubt", "pass"),
        (0.7, "doubt", "fail"),
        (0.7, "proof", "pass"),
    ],
)
def test_proof_and_doubt_by_the_bootstrap(limit: float, block_on: str, expected: str) -> None:
    """The p of both sides are those of the draws that the row's name seeds, the interval's own."""
    bar = Bar(min=limit, block_on=block_on)  # type: ignore[arg-type]
    result = verdict(TIES, bar, "kendall")
    assert result.verdict == expected
    drawn = resamples(TIES, "kendall", result.row.id)
    below, above = drawn.p(limit, "less"), drawn.p(limit, "greater")
    if limit == 0.7:
        assert f"one-sided p = {below:.3g} that it lies below and {above:.3g} above" in result.reason
    if limit == 0.99:
        assert f"shown by a one-sided test: p = {below:.3g}" in result.reason
    assert result.summary is not None
    interval = drawn.interval(0.95)
    assert interval is not None
    assert (result.summary.low, result.summary.high) == (interval.low, interval.high)


@pytest.mark.parametrize(("block_on", "expected"), [("proof", "pass"), ("doubt", "fail")])
def test_too_many_resamples_without_a_value_are_no_test(block_on: str, expected: str) -> None:
    """A judge that differs once is constant in a third of the resamples: undecided, and the reason says it in words."""
    items = graded_items("5 5 5 5 5 1", "1 2 3 4 5 1")
    result = verdict(items, Bar(min=0.9, block_on=block_on), "kendall")  # type: ignore[arg-type]
    assert result.verdict == expected
    assert result.reason.startswith("undecided: 0.4781 against min 0.9000, and there is no test: ")
    assert result.reason.endswith(" of 400 resamples have no value, more than 5 %")


def test_one_prompt_proves_nothing() -> None:
    """Responses to a single prompt are one draw."""
    items = [replace(item, group="g") for item in TIES]
    result = verdict(items, Bar(min=0.9, block_on="doubt"), "pearson")
    assert result.reason.endswith("and there is no test: one scored prompt is too few")


def test_shares_are_tested_by_wilson_over_what_takes_part() -> None:
    """Ties that are dropped neither prove nor disprove anything."""
    decided = [pair(f"d{at}", at < 9) for at in range(10)]
    ties = [pair(f"t{at}", False, tie=True) for at in range(90)]
    bar = Bar(min=0.8, block_on="doubt")
    plain, more = (verdict(items, bar, "without_ties") for items in (decided, [*decided, *ties]))
    assert (more.verdict, more.reason) == (plain.verdict, plain.reason)
    assert "undecided: 0.9000 against min 0.8000" in more.reason


class TestFailureText:
    def text(self, items: Sequence[ItemScores], bar: Bar, metric: str, kind: BenchmarkKind = "direct") -> str:
        result = hold(row(bar, metric), run(items, kind), today=TODAY)
        assert result.verdict == "fail"
        return failure_text(result, run(items, kind))

    def test_a_correlation(self) -> None:
        """The whole text: items, not questions, no bounds, chance 0, and the items that disagree most, in words."""
        text = self.text(TIES, Bar(min=0.8), "kendall")
        result = verdict(TIES, Bar(min=0.8), "kendall")
        assert result.summary is not None
        assert text == (
            "vicuna_bench: kendall (openai:j) of all items does not meet its bar: 0.7273 < 0.8000 (min)\n"
            "\n"
            "  score     0.7273\n"
            "  min       0.8000, margin -0.0727\n"
            "  items     10 scored of 10\n"
            f"  interval  {result.summary.low:.4f} to {result.summary.high:.4f} at confidence 0.95\n"
            "  chance    0.0000\n"
            "  unscored  none\n"
            "\n"
            "  Furthest apart:\n"
            "    i0  1 apart: the judge gave 5, the reference 4\n"
            "      prompt of i0\n"
            "    i1  1 apart: the judge gave 4, the reference 5\n"
            "      prompt of i1\n"
            "    i3  1 apart: the judge gave 3, the reference 2\n"
            "      prompt of i3\n"
            "    i6  1 apart: the judge gave 1, the reference 2\n"
            "      prompt of i6\n"
            "    i8  1 apart: the judge gave 4, the reference 3\n"
            "      prompt of i8\n"
            "\n"
            "  judge     openai:j (api), grades and choices\n"
            "  More: -v lists every row that passed; --truthguard-json FILE keeps every question with all its numbers."
        )

    def test_too_high_a_correlation(self) -> None:
        """Under a maximum the items that disagree would not help, and are not shown."""
        text = self.text(TIES, Bar(max=0.5), "pearson")
        assert "apart" not in text

    def test_dropped_pairs_and_wrong_choices(self) -> None:
        """What the metric's definition drops is counted apart with its reason; the wrong pairs show the choices."""
        items = [pair("a", False, verdicts=("a", "b")), pair("b", True), pair("t", True, tie=True)]
        text = self.text(items, Bar(min=0.9), "without_ties", "pairwise")
        assert "  items     2 scored of 2\n  dropped   1: people call it a tie\n" in text
        assert (
            "  On the wrong side, in the order of the data:\n"
            "    a  the judge chose the first response as A, then the first response as B\n"
        ) in text

    def test_no_interval(self) -> None:
        """Where there is no interval the text says why."""
        one_prompt = [replace(item, group="g") for item in TIES]
        assert "interval  none: all scored items share one prompt" in self.text(one_prompt, Bar(min=0.9), "pearson")
        unsure = hold(row(Bar(min=0.9), "kendall"), run(TIES), today=TODAY)
        assert unsure.summary is not None
        summary = replace(unsure.summary, low=None, high=None, undefined_resamples=3_349)
        text = failure_text(replace(unsure, summary=summary), run(TIES))
        assert "interval  none: 3,349 of 10,000 resamples have no value, more than 5 %" in text

    def test_kappa(self) -> None:
        """Of kappa the answers on which judge and people differ, and the judge with its kind."""
        items = [labelled(f"i{at}", at % 2 > 0, at % 3 > 0) for at in range(12)]
        kind = JudgeRun(JUDGE.identity, "logprob", {}, None)
        measured = replace(run(items, "truthful_judge"), judge=kind)
        text = failure_text(hold(row(Bar(min=0.9), "kappa"), measured, today=TODAY), measured)
        assert "    i2  the judge said no, people say yes\n      is i2 so?\n" in text
        assert "  judge     logprob, openai:j (api)\n" in text
