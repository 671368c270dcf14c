"""Verdicts on rows with max_drop: by the number, by proof, under doubt, beside several baselines."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.comparison.compared import baseline_of, before_and_now, c19, mixed_items
from tests.metrics.judged_items import graded
from tests.thresholds.made import row_of, run_of, scored
from truthguard.comparison import compare_all
from truthguard.records import Bar, Baseline, BlockOn, Missing, Row, RowResult, Run
from truthguard.thresholds import drops
from truthguard.thresholds.gate import failure_text, judge

TODAY = date(2026, 6, 15)
Values = Sequence[float | None]


def test_the_doctests() -> None:
    """The examples hold."""
    assert doctest.testmod(drops).failed == 0


def verdict(row: Row, run: Run, *baselines: Baseline) -> RowResult:
    return judge(row, run, today=TODAY, drops=compare_all(row, run, baselines))


def against(before: Values, now: Values, metric: str = "mc1", bar: Bar | None = None, **changes: object) -> RowResult:
    baseline, run = before_and_now(before, now, metric)
    return verdict(row_of(bar or Bar(), metric, **changes), run, baseline)


def test_c19_a_significant_drop_fails_and_its_mirror_image_is_an_improvement() -> None:
    """C19: a drop of 0.06 fails max_drop = 0 with p = 0.00365; the other way round it passes and is named one."""
    before, now = c19()
    result = against(before, now, max_drop=0.0)
    assert (result.verdict, result.reason) == (
        "fail",
        "drop 0.0600 > 0.0000 (max_drop) against base.json, shown by a one-sided test: p = 0.00365, alpha = 0.05",
    )
    result = against(now, before, max_drop=0.0)
    assert (result.verdict, result.reason) == ("pass", "improved by 0.0600 against base.json, one-sided p = 0.00365")
    assert result.drops[0].estimate == -0.06


def test_c20_d_the_allowed_drop_is_allowed() -> None:
    """C20 (d): 0.80 - 0.75 is the allowed 0.05, although floats say it is more."""
    for block_on, expected in (("estimate", "pass"), ("proof", "pass"), ("doubt", "fail")):
        result = against([0.80] * 3, [0.75] * 3, "mc2_mass", max_drop=0.05, drop_block_on=block_on)
        assert result.verdict == expected
    result = against([0.80], [0.7499], "mc2_mass", max_drop=0.05, drop_block_on="estimate")
    assert (result.verdict, result.reason) == ("fail", "drop 0.0501 > 0.0500 (max_drop) against base.json")


@pytest.mark.parametrize(
    ("bar", "block_on", "expected", "words"),
    [
        (0.02, "estimate", "fail", "drop 0.0600 > 0.0200 (max_drop) against base.json"),
        (0.06, "estimate", "pass", ""),
        (0.02, "proof", "fail", "shown by a one-sided test: p = 0.03"),
        (0.05, "proof", "pass", "undecided: drop 0.0600 against base.json, max_drop 0.0500, one-sided p = 0.3"),
        (0.05, "doubt", "fail", "undecided: drop 0.0600 against base.json, max_drop 0.0500, one-sided p = 0.3"),
        (0.10, "doubt", "fail", "that it is greater and 0.0507 less, alpha = 0.05"),
        (0.15, "doubt", "pass", ""),
        (0.15, "proof", "pass", ""),
    ],
)
def test_what_blocks(bar: float, block_on: BlockOn, expected: str, words: str) -> None:
    """The number, a proof that the drop is above the bar, or no proof that it is within; between the two it is said."""
    result = against(*c19(), max_drop=bar, drop_block_on=block_on)
    assert result.verdict == expected
    assert (words in result.reason) if words else result.reason == ""


def test_max_drop_without_a_baseline_is_an_error_that_names_the_option() -> None:
    """Nothing to compare with is neither a pass nor a fail; a min beside it does not hide that."""
    for bar in (Bar(), Bar(min=0.1)):
        result = judge(row_of(bar, max_drop=0.02), run_of([1.0, 0.0]), today=TODAY)
        assert result.verdict == "error"
        assert "--truthguard-baseline FILE" in result.reason
        assert "--truthguard-save-baseline FILE" in result.reason


def test_a_refused_comparison_is_an_error_of_that_row_alone() -> None:
    """The reason is the refusal's; without max_drop the score alone is judged."""
    before, run = baseline_of(replace(run_of([1.0, 0.0]), data_sha256="x")), run_of([1.0, 0.0])
    result = verdict(row_of(max_drop=0.0), run, before)
    assert result.verdict == "error"
    assert result.reason.startswith("max_drop: not comparable with base.json: the data changed from 'x' to 'd'")
    assert verdict(row_of(Bar(min=0.1)), run, before).verdict == "pass"
    both = verdict(row_of(max_drop=0.0), run, before, baseline_of(run, name="anchor.json"))
    assert (both.verdict, [drop.baseline for drop in both.drops]) == ("error", ["anchor.json"])


def test_the_score_and_the_drop_must_both_hold() -> None:
    """The row fails when either does, and all reasons are told."""
    before, now = c19()
    assert against(before, now, bar=Bar(min=0.5), max_drop=0.0).verdict == "fail"
    assert against(now, before, bar=Bar(min=0.9), max_drop=0.0).reason == (
        "0.7800 < 0.9000 (min); improved by 0.0600 against base.json, one-sided p = 0.00365"
    )
    result = against(before, now, bar=Bar(min=0.9), max_drop=0.0)
    assert result.reason.startswith("0.7200 < 0.9000 (min); drop 0.0600 > 0.0000 (max_drop)")
    assert against(now, before, bar=Bar(min=0.5), max_drop=0.0).verdict == "pass"


def test_every_one_of_several_baselines_must_hold() -> None:
    """Ten small drops do not add up unseen: the anchor fails the row, at half the level."""
    before, now = c19()
    run = run_of(now)
    last, anchor = baseline_of(run_of(now), name="last.json"), baseline_of(run_of(before), name="anchor.json")
    result = verdict(row_of(max_drop=0.0), run, last, anchor)
    assert result.verdict == "fail"
    assert "undecided: drop 0.0000 against last.json" in result.reason
    assert "drop 0.0600 > 0.0000 (max_drop) against anchor.json" in result.reason
    assert "alpha = 0.025" in result.reason
    # One p of 0.03 blocks beside one baseline, not beside two.
    assert verdict(row_of(max_drop=0.02), run, anchor).verdict == "fail"
    assert verdict(row_of(max_drop=0.02), run, last, anchor).verdict == "pass"


def test_a_waiver_holds_for_drops() -> None:
    """A failure is an xfail until its day and a failure after it; an error is never waived."""
    for days, expected in ((0, "waived"), (1, "waived"), (-1, "fail")):
        result = against(
            *c19(), max_drop=0.0, waive_until=TODAY + timedelta(days=days), waive_reason="a known regression"
        )
        assert result.verdict == expected
        assert "a known regression" in result.reason
    row = row_of(max_drop=0.0, waive_until=TODAY, waive_reason="known")
    assert judge(row, run_of([1.0]), today=TODAY).verdict == "error"


def test_a_small_slice_is_not_gated_by_its_drop_either() -> None:
    """min_items goes before every bar."""
    result = against([1.0] * 3, [0.0] * 3, max_drop=0.0, drop_block_on="estimate", min_items=4)
    assert result.verdict == "not_gated"


def test_a_row_without_max_drop_keeps_its_drops_and_is_not_held_to_them() -> None:
    """Reports may show what changed; only a bar blocks."""
    before, now = c19()
    result = against(before, now, bar=Bar(min=0.5))
    assert (result.verdict, result.reason) == ("pass", "")
    assert result.drops[0].estimate == 0.06
    result = against(before, now)
    assert (result.verdict, result.reason, len(result.drops)) == ("not_gated", "no bar: measured only", 1)


def test_too_little_for_a_test_is_said() -> None:
    """One prompt proves nothing: passes under proof, fails under doubt."""
    words = "undecided: drop 0.5000 against base.json, max_drop 0.1000, and one scored prompt is too few for a test"
    for block_on, expected in (("proof", "pass"), ("doubt", "fail")):
        result = against([0.9], [0.4], "mc2_mass", max_drop=0.1, drop_block_on=block_on)
        assert (result.verdict, result.reason) == (expected, words)


def test_a_statistic_is_gated_by_its_joint_bootstrap() -> None:
    """A judge that no longer follows the reference fails its max_drop."""
    old = [graded(f"g{n}", float(n % 5 + 1), float(n % 5 + 1)) for n in range(60)]
    new = [graded(f"g{n}", float(n * 7 % 5 + 1), float(n % 5 + 1)) for n in range(60)]
    result = verdict(row_of(metric="pearson", max_drop=0.05), run_of(new), baseline_of(run_of(old)))
    assert result.verdict == "fail"
    assert "(max_drop) against base.json, shown by a one-sided test: p = 0.0001" in result.reason
    text = failure_text(result, run_of(new))
    assert "Worse by most than in base.json:" in text
    assert "apart now, 0 before" in text


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40), st.sampled_from(["proof", "estimate"]))
def test_a_model_never_fails_against_its_own_baseline(values: list[float | None], block_on: BlockOn) -> None:
    """C19's third part: whatever the values, no drop is found where nothing changed, with max_drop = 0."""
    assert against(values, values, max_drop=0.0, drop_block_on=block_on).verdict == "pass"


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.sampled_from(["proof", "estimate"]))
def test_nor_do_its_means(values: list[float], block_on: BlockOn) -> None:
    """The same for values of any size."""
    assert against(values, values, "mc2", max_drop=0.0, drop_block_on=block_on).verdict == "pass"


def test_the_failure_text_tells_the_whole_comparison() -> None:
    """Drop, interval, tests, items both ways, power, and the questions that got worse by most."""
    before, now = c19()
    run = run_of([scored(value, number, margin=1 + number / 100) for number, value in enumerate(now)])
    result = verdict(row_of(Bar(min=0.5), max_drop=0.0), run, baseline_of(run_of(before)))
    text = failure_text(result, run)
    assert "Nearest to flipping" not in text  # the score meets its bar: the questions near it tell nothing
    at = text.index("  drop ")
    assert text[at : text.index("    q141")] == (
        "  drop      0.0600 against base.json, n = 200 pairs\n"
        '  max_drop  0.0000 (block_on = "proof", alpha = 0.05)\n'
        "  interval  0.0179 to 0.1090 at confidence 0.95\n"
        "  one-sided p = 0.00365 that it is greater, 0.996 less; exact McNemar p = 0.01182\n"
        "  items     16 worse, 4 better\n"
        "  power     could show a drop of 0.0547 with 80 % power\n"
        "\n"
        "  Worse by most than in base.json:\n"
        "    q140  1 before, 0 now: best answer 2.4 nats behind the strongest other\n"
        "      Question 140?\n"
    )
    assert "q144" in text
    assert "q145" not in text


def test_the_failure_text_of_means_and_of_lost_items() -> None:
    """What is no longer scored is said beside its question."""
    now: list[float | None] = [0.5, None, 0.9, 0.9]
    result = verdict(
        row_of(metric="mc2_mass", max_drop=0.0, drop_block_on="estimate", max_unscored=0.5),
        run_of(mixed_items(now), "mc2_mass"),
        baseline_of(run_of([0.9, 0.9, 0.9, 0.9], "mc2_mass")),
    )
    text = failure_text(result, run_of(mixed_items(now), "mc2_mass"))
    assert "  items     2 worse, 0 better; 1 no longer scored, counted with the worst value\n" in text
    assert "    q1  0.9 before, not scored now\n      Question 1?\n    q0  0.9 before, 0.5 now\n" in text


def test_a_hostile_name_reaches_no_terminal() -> None:
    """A baseline's file may be called anything."""
    baseline, run = before_and_now(*c19())
    result = verdict(row_of(max_drop=0.0), run, replace(baseline, name="base\x1b[31m.json"))
    assert "\x1b" not in result.reason
    assert "\x1b" not in failure_text(result, run)
    refused = Missing("not_comparable", "why")
    assert judge(row_of(max_drop=0.0), run, today=TODAY, drops=[refused]).reason == "max_drop: why"
