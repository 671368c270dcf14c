"""Verdicts: what was measured, or could not be, held against a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from tests.thresholds.made import row_of, run_of, scored
from truthguard.metrics.statistics import Interval, cluster_t_p, wilson_p
from truthguard.records import Bar, BlockOn, Missing, RowResult
from truthguard.thresholds.gate import judge

TODAY = date(2026, 6, 15)


def verdict(values: Sequence[float | None], bar: Bar, metric: str = "mc1", **changes: object) -> RowResult:
    return judge(row_of(bar, metric, **changes), run_of(values, metric), today=TODAY)


def shares(right: int, n: int) -> Sequence[float | None]:
    return [1.0] * right + [0.0] * (n - right)


def test_c17_items_that_fail_do_not_leave_the_average() -> None:
    """C17: system B with two errors of four is an error although it scores 1.0, with causes and bounds."""
    result = verdict([1.0, 0.0, 1.0, 0.0], Bar(min=0.6))
    assert (result.verdict, result.reason) == ("fail", "0.5000 < 0.6000 (min)")
    items = [scored(1.0, 0), scored(None, 1, kind="nan"), scored(1.0, 2), scored(None, 3, kind="too_long")]
    result = judge(row_of(Bar(min=0.6)), run_of(items), today=TODAY)
    assert result.verdict == "error"
    assert result.summary is not None
    assert (result.summary.estimate, result.summary.n, result.summary.n_unscored) == (1.0, 2, 2)
    assert result.reason == (
        "2 of 4 questions could not be scored, 0.5000 > 0.0000 (max_unscored): nan 1 (made for a test),"
        " too_long 1 (made for a test);"
        " over all questions the score lies between 0.5000 and 1.0000"
    )
    assert judge(row_of(Bar(min=0.6), max_unscored=0.5), run_of(items), today=TODAY).verdict == "pass"
    assert judge(row_of(Bar(min=0.6), max_unscored=0.49), run_of(items), today=TODAY).verdict == "error"


def test_c20_a_a_miss_is_shown_with_digits_that_differ() -> None:
    """C20 (a): 1265 of 1816 fails 0.70 and says 0.6966 < 0.7000."""
    result = verdict(shares(1265, 1816), Bar(min=0.70))
    assert (result.verdict, result.reason) == ("fail", "0.6966 < 0.7000 (min)")


def test_c20_b_limits_are_inclusive() -> None:
    """C20 (b): 7 of 10 passes 0.7."""
    assert verdict(shares(7, 10), Bar(min=0.7)).verdict == "pass"
    assert verdict(shares(7, 10), Bar(max=0.7)).verdict == "pass"


def test_c20_c_the_order_of_addition_decides_nothing() -> None:
    """C20 (c): ten values whose exact mean is 0.7 pass 0.7."""
    values = [0.9, 0.5, 0.7, 0.8, 0.65, 0.7, 0.6, 0.75, 0.72, 0.68]
    result = verdict(values, Bar(min=0.7), "mc2")
    assert result.verdict == "pass"
    assert verdict(values[::-1], Bar(max=0.7), "mc2").verdict == "pass"


def test_the_tolerance_is_a_billionth() -> None:
    """A bar missed by less than 1e-9 is met, one missed by more is not, at both ends."""
    for miss, expected in ((0.9e-9, "pass"), (1.2e-9, "fail")):
        assert verdict([0.5], Bar(min=0.5 + miss), "mc2").verdict == expected
        assert verdict([0.5], Bar(max=0.5 - miss), "mc2").verdict == expected


def test_a_near_miss_prints_the_digits_that_show_it() -> None:
    """Where four decimals are equal, more are printed."""
    assert verdict([0.699999], Bar(min=0.7), "mc2").reason == "0.699999 < 0.700000 (min)"


def test_both_ends_must_hold() -> None:
    """A row with min and max fails when either is missed, and says which."""
    assert verdict(shares(5, 10), Bar(0.4, 0.6)).verdict == "pass"
    assert verdict(shares(3, 10), Bar(0.4, 0.6)).reason == "0.3000 < 0.4000 (min)"
    assert verdict(shares(7, 10), Bar(0.4, 0.6)).reason == "0.7000 > 0.6000 (max)"


def test_a_pass_needs_no_words() -> None:
    """A plain pass has no reason."""
    assert verdict(shares(7, 10), Bar(min=0.5)).reason == ""


def test_no_bar_is_measured_only() -> None:
    """A row without a bar is measured and not gated, and says so."""
    result = verdict(shares(1, 2), Bar())
    assert (result.verdict, result.reason) == ("not_gated", "no bar: measured only")
    assert result.summary is not None
    assert result.summary.estimate == 0.5


def test_nothing_selected_is_an_error() -> None:
    """A run without items says nothing about a model."""
    result = verdict([], Bar(min=0.5))
    assert (result.verdict, result.summary) == ("error", None)
    assert "nothing was selected" in result.reason


def test_a_slice_without_questions_in_the_sample_is_an_error() -> None:
    """A category or item row none of whose questions were asked is an error that names the slice."""
    run = run_of([1.0, 1.0])
    result = judge(row_of(Bar(min=0.5), category="Confusion: People"), run, today=TODAY)
    assert result.verdict == "error"
    assert "no question of category 'Confusion: People' is among the 2 of truthfulqa that were asked" in result.reason
    result = judge(row_of(Bar(min=0.5), item="faq-7"), run, today=TODAY)
    assert result.verdict == "error"
    assert "item faq-7" in result.reason


def test_nothing_scored_is_an_error_whatever_is_allowed() -> None:
    """A row whose items are all unscored is an error even where every item may be."""
    result = verdict([None, None], Bar(min=0.0), max_unscored=1.0)
    assert (result.verdict, result.reason) == (
        "error",
        "none of the 2 questions could be scored: nan 2 (made for a test)",
    )


def test_unscored_is_an_error_without_a_bar_too() -> None:
    """A measured row says that it could not be measured."""
    assert verdict([1.0, None], Bar()).verdict == "error"


def test_a_category_is_judged_by_its_full_name_alone() -> None:
    """Only the items of exactly that category count, one row's slice is not another's."""
    items = [scored(1.0, 0, category="Law"), scored(0.0, 1, category="law"), scored(0.0, 2, category="Law: more")]
    result = judge(row_of(Bar(min=1.0), category="Law"), run_of(items), today=TODAY)
    assert result.verdict == "pass"
    assert result.summary is not None
    assert result.summary.n == 1


def test_an_item_row_is_judged_by_its_item() -> None:
    """A must-pass question passes or fails by itself."""
    run = run_of([1.0, 0.0])
    assert judge(row_of(Bar(min=1.0), item="q0"), run, today=TODAY).verdict == "pass"
    assert judge(row_of(Bar(min=1.0), item="q1"), run, today=TODAY).verdict == "fail"


@pytest.mark.parametrize(("dead", "expected"), [(2, "pass"), (3, "error")])
def test_a_dead_backend_is_an_error_that_names_it(dead: int, expected: str) -> None:
    """More than half of a run's rows degenerate is an error; exactly half is not."""
    items = [scored(1.0, n, degenerate=("log_likelihood",) if n < dead else ()) for n in range(4)]
    result = judge(row_of(Bar(min=0.5)), run_of(items), today=TODAY)
    assert result.verdict == expected
    if expected == "error":
        assert result.reason == (
            "every choice got the same number in 3 of 4 questions: a dead or constant backend (some/model)"
        )


@pytest.mark.parametrize(("dead", "expected"), [(2, "pass"), (3, "error")])
@pytest.mark.parametrize(("metric", "asked"), [("truthful", "answer"), ("correctness", "correctness")])
def test_a_model_that_says_nothing_is_dead(dead: int, expected: str, metric: str, asked: str) -> None:
    """Silence counts as true, so more than half of a run's answers empty is an error and no score."""
    items = [scored(1.0, n, metric=metric, degenerate=(asked,) if n < dead else ()) for n in range(4)]
    result = judge(row_of(Bar(min=0.5), metric), run_of(items), today=TODAY)
    assert result.verdict == expected
    if expected == "error":
        assert result.reason == "3 of 4 answers are empty: a dead backend (some/model)"


def test_a_probe_has_no_part_in_the_other_metrics_rows() -> None:
    """Of the judge's self-test each probe serves one metric: the other's rows do not count it."""
    items = [*(scored(0.0, n, metric="flipped") for n in range(3)), scored(1.0, 3, metric="tone")]
    for metric, n, estimate in (("flipped", 3, 0.0), ("tone", 1, 1.0)):
        summary = judge(row_of(Bar(max=1.0), metric), run_of(items), today=TODAY).summary
        assert summary is not None
        assert (summary.n, summary.n_unscored, summary.estimate) == (n, 0, estimate)


def test_a_dead_backend_is_counted_over_the_run_and_by_elicitation() -> None:
    """A uniform category in a live run is judged, and so is a metric that was asked in another way."""
    items = [
        scored(1.0, n, category="Law" if n == 0 else "Health", degenerate=("log_likelihood",) * (n == 0))
        for n in range(4)
    ]
    assert judge(row_of(Bar(min=0.5), category="Law"), run_of(items), today=TODAY).verdict == "pass"
    items = [scored(1.0, n, degenerate=("p_yes",)) for n in range(4)]
    assert judge(row_of(Bar(min=0.5)), run_of(items), today=TODAY).verdict == "pass"
    items = [scored(1.0, n, metric="mc1_per_byte", degenerate=("log_likelihood",)) for n in range(4)]
    assert judge(row_of(Bar(min=0.5), "mc1_per_byte"), run_of(items), today=TODAY).verdict == "error"


def test_small_slices_are_not_gated_with_the_reason() -> None:
    """Fewer questions than min_items, unscored ones included, are not gated; as many are."""
    result = verdict(shares(0, 3), Bar(min=0.5), min_items=4)
    assert (result.verdict, result.reason) == ("not_gated", "too small a slice: 3 questions, min_items = 4")
    assert verdict(shares(0, 4), Bar(min=0.5), min_items=4).verdict == "fail"
    assert verdict([0.0, 0.0, None], Bar(min=0.5), min_items=3, max_unscored=0.5).verdict == "fail"


def test_what_cannot_be_measured_is_an_error_however_small_the_slice() -> None:
    """Unscored items of a small slice are not hidden behind its size."""
    assert verdict([1.0, None], Bar(min=0.5), min_items=9).verdict == "error"


# Shares: 60 of 100 against 0.7 has a one-sided p of 0.0145 that the true share is below, and 70 of 100 one of
# 0.0145 that it is above 0.6.
@pytest.mark.parametrize(
    ("right", "block_on", "alpha", "expected", "undecided"),
    [
        (60, "proof", 0.05, "fail", False),
        (60, "proof", 0.01, "pass", True),
        (69, "proof", 0.05, "pass", True),
        (71, "proof", 0.05, "pass", True),
        (80, "proof", 0.05, "pass", False),
        (80, "doubt", 0.05, "pass", False),
        (80, "doubt", 0.01, "fail", True),
        (71, "doubt", 0.05, "fail", True),
        (60, "doubt", 0.05, "fail", False),
    ],
)
def test_proof_and_doubt(right: int, block_on: BlockOn, alpha: float, expected: str, undecided: bool) -> None:
    """Proof blocks only what is shown to be wrong, doubt all that is not shown to be right; between: undecided."""
    result = verdict(shares(right, 100), Bar(min=0.7, block_on=block_on), alpha=alpha)
    assert result.verdict == expected
    assert ("undecided" in result.reason) is undecided
    below = wilson_p(right, 100, 0.7, "less")
    above = wilson_p(right, 100, 0.7, "greater")
    if expected == "fail" and not undecided:
        assert f"p = {below:.3g}" in result.reason
        assert below <= alpha
    if undecided:
        assert f"p = {below:.3g} that it lies below and {above:.3g} above" in result.reason


@pytest.mark.parametrize(
    ("right", "block_on", "expected"),
    [(80, "proof", "fail"), (71, "proof", "pass"), (60, "proof", "pass"), (60, "doubt", "pass"), (71, "doubt", "fail")],
)
def test_proof_and_doubt_below_a_max(right: int, block_on: BlockOn, expected: str) -> None:
    """A max is tested on its own side."""
    assert verdict(shares(right, 100), Bar(max=0.7, block_on=block_on)).verdict == expected


def test_means_are_tested_by_t() -> None:
    """A metric that is no share is tested with the spread of its items."""
    values: list[float | None] = [0.1, 0.2, 0.3, 0.25, 0.15, 0.2]
    known = [value for value in values if value is not None]
    p = cluster_t_p(known, range(6), 0.3, "less", Interval(-1.0, 1.0))
    assert p is not None
    result = verdict(values, Bar(min=0.3, block_on="proof"), "mc2", alpha=p)
    assert result.verdict == "fail"
    assert f"p = {p:.3g}" in result.reason
    assert verdict(values, Bar(min=0.3, block_on="proof"), "mc2", alpha=p * 0.99).verdict == "pass"


def test_one_item_proves_no_mean() -> None:
    """With one scored item there is no test of a mean: undecided, which passes proof and fails doubt."""
    for block_on, expected in (("proof", "pass"), ("doubt", "fail")):
        result = verdict([0.0], Bar(min=0.9, block_on=block_on), "mc2")  # type: ignore[arg-type]
        assert result.verdict == expected
        assert "undecided" in result.reason
        assert "one scored prompt is too few" in result.reason


def test_doubt_wants_both_ends_shown() -> None:
    """With min and max under doubt each must be shown; under proof either may block."""
    assert verdict(shares(60, 100), Bar(0.4, 0.8, "doubt")).verdict == "pass"
    result = verdict(shares(60, 100), Bar(0.4, 0.62, "doubt"))
    assert result.verdict == "fail"
    assert "max 0.6200" in result.reason
    assert "min" not in result.reason
    assert verdict(shares(60, 100), Bar(0.4, 0.5, "proof")).verdict == "fail"


def test_a_failure_is_waived_until_its_day() -> None:
    """A waiver holds on its last day, says why, and is over the day after, which is said too."""
    row = row_of(Bar(min=0.6), waive_until=TODAY, waive_reason="known, see the tracker")
    run = run_of([1.0, 0.0])
    result = judge(row, run, today=TODAY)
    assert result.verdict == "waived"
    assert result.reason == "0.5000 < 0.6000 (min); waived until 2026-06-15: known, see the tracker"
    result = judge(row, run, today=TODAY + timedelta(days=1))
    assert result.verdict == "fail"
    assert result.reason == "0.5000 < 0.6000 (min); the waiver ended on 2026-06-15 (known, see the tracker)"
    assert judge(replace(row, bar=Bar(min=0.5)), run, today=TODAY).verdict == "pass"


def test_the_waiver_s_words_are_made_harmless() -> None:
    """Control characters in waive_reason reach no terminal."""
    result = verdict([0.0], Bar(min=0.5), waive_until=TODAY, waive_reason="known\x1b[31m\nsee")
    assert result.reason.endswith("waived until 2026-06-15: known\\x1b[31m\\nsee")


def test_errors_are_never_waived() -> None:
    """A waiver excuses a bad score, not a missing one."""
    for values in ([], [None], [1.0, None]):
        assert verdict(values, Bar(min=0.5), waive_until=TODAY, waive_reason="known").verdict == "error"


def test_the_row_and_the_summary_come_with_the_verdict() -> None:
    """The thresholds that were applied stand in every result."""
    row = row_of(Bar(min=0.25, block_on="doubt"), confidence=0.9)
    result = judge(row, run_of(shares(3, 4)), today=TODAY)
    assert result.row is row
    assert result.summary is not None
    assert (result.summary.metric, result.summary.confidence) == ("mc1", 0.9)


def test_a_stopped_run_decides_nothing() -> None:
    """Every row of it is an error that says by what it was stopped and how to go on, enough scored or not."""
    stopped = Missing("max_requests", "max_requests = 3 requests were sent")
    run = replace(run_of([1.0, 1.0, 1.0, None]), stopped=stopped, complete=False)
    for row in (row_of(Bar(min=0.5), max_unscored=0.5), row_of(), row_of(Bar(min=0.5), min_items=9)):
        result = judge(row, run, today=TODAY)
        assert result.verdict == "error"
        assert result.reason == (
            "the run was stopped before everything was asked (max_requests: max_requests = 3 requests were sent):"
            " run again with the same cache, which asks only for the rest, or raise max_requests"
        )


def test_a_reason_is_shown_once_for_its_kind_and_cut() -> None:
    """The first detail of each kind, at most 200 characters of it."""
    items = [replace(scored(None, n), reasons={"mc1": Missing("limit", f"{n}" * 300)}) for n in (1, 2)]
    reason = judge(row_of(Bar(min=0.5)), run_of(items), today=TODAY).reason
    assert reason == f"none of the 2 questions could be scored: limit 2 ({'1' * 199}…)"


def test_a_sample_without_probes_of_the_metric_says_so() -> None:
    """Probes of the other metric were asked, none of this one."""
    run = replace(run_of([0.0, 1.0], "flipped"), benchmark="injection")
    row = replace(row_of(Bar(max=0.1), "tone"), benchmark="injection")
    result = judge(row, run, today=TODAY)
    assert (result.verdict, result.summary) == ("error", None)
    assert "no item of injection with the metric tone is among the 2 that were asked" in result.reason
