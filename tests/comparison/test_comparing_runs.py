"""A run beside a baseline: pairing, the test of each scale, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comparison.compared import baseline_of, before_and_now, c19, mixed_items
from tests.metrics.judged_items import graded, labelled
from tests.thresholds.made import row_of, run_of, scored
from truthguard.comparison import compare, compare_all
from truthguard.metrics.paired import paired_t, paired_t_p
from truthguard.metrics.power import detectable_drop, paired_spread
from truthguard.metrics.statistics import Interval
from truthguard.records import Baseline, Drop, ItemChange, Missing, Row, Run


def drop_of(row: Row, run: Run, baseline: Baseline, *, baselines: int = 1) -> Drop:
    found = compare(row, run, baseline, baselines=baselines)
    assert isinstance(found, Drop), found
    return found


def refusal_of(row: Row, run: Run, baseline: Baseline) -> Missing:
    found = compare(row, run, baseline)
    assert isinstance(found, Missing), found
    return found


def test_c19_pairs_get_a_paired_test() -> None:
    """C19: b = 16 and c = 4 of 200 are a drop of 0.06 in [0.0179, 0.1090], one-sided p = 0.00365, McNemar 0.01182."""
    before, now = c19()
    baseline, run = before_and_now(before, now)
    drop = drop_of(row_of(max_drop=0.0), run, baseline)
    assert (drop.baseline, drop.n, drop.worse, drop.better, drop.lost, drop.gained) == ("base.json", 200, 16, 4, 0, 0)
    assert drop.estimate == 0.06
    assert (round(drop.low or 0, 4), round(drop.high or 0, 4)) == (0.0179, 0.1090)
    assert round(drop.p_greater or 0, 5) == 0.00365
    assert round(drop.p_less or 0, 5) == 0.99635
    assert drop.p_improved == drop.p_less
    assert round(drop.mcnemar or 0, 5) == 0.01182
    differences = [float(old or 0) - float(new or 0) for old, new in zip(before, now, strict=True)]
    spread = paired_spread(differences, range(200))
    assert spread is not None
    assert drop.detectable == detectable_drop(spread, 200, 0.05)
    assert [change.id for change in drop.worst] == [f"q{number}" for number in range(140, 150)]
    assert drop.worst[0] == ItemChange("q140", 1.0, 0.0)


def test_the_p_values_are_against_the_rows_own_bar() -> None:
    """`max_drop` is what the drop is tested against; an improvement is tested against 0 whatever the bar."""
    before, now = c19()
    baseline, run = before_and_now(before, now)
    lenient, strict = (drop_of(row_of(max_drop=bar), run, baseline) for bar in (0.12, 0.0))
    assert (lenient.p_greater or 0) > 0.9
    assert (lenient.p_less or 1) < 0.05
    assert lenient.p_improved == strict.p_improved
    assert drop_of(row_of(), run, baseline).p_greater == strict.p_greater


def test_other_means_get_t_over_clusters_of_prompts() -> None:
    """Items that share a prompt are one cluster, by the candidate's own prompts."""
    before, now = [0.9, 0.8, 0.7, 0.6, 0.5], [0.7, 0.7, 0.7, 0.65, 0.1]
    groups = ["a", "a", "b", "c", "c"]
    run = run_of(mixed_items(now, groups), "mc2_mass")
    drop = drop_of(row_of(metric="mc2_mass", max_drop=0.01), run, baseline_of(run_of(before, "mc2_mass")))
    differences = [old - new for old, new in zip(before, now, strict=True)]
    assert drop.estimate == pytest.approx(0.13)
    interval = paired_t(differences, groups, 0.95)
    assert interval is not None
    assert (drop.low, drop.high) == (interval.low, interval.high)
    assert drop.p_greater == paired_t_p(differences, groups, 0.01, "greater", Interval(0, 1))
    assert drop.mcnemar is None
    assert (drop.worse, drop.better) == (3, 1)
    assert [change.id for change in drop.worst] == ["q4", "q0", "q1"]


def test_one_prompt_is_too_few_for_a_test() -> None:
    """A single cluster has a drop and no test, and says so."""
    baseline, run = before_and_now([0.9], [0.4], "mc2_mass")
    drop = drop_of(row_of(metric="mc2_mass", max_drop=0.0), run, baseline)
    assert (drop.estimate, drop.low, drop.p_greater, drop.detectable) == (0.5, None, None, None)
    assert drop.untested == "one scored prompt is too few for a test"


def test_a_lost_item_counts_with_the_worst_value_and_a_gained_one_not() -> None:
    """C17: an item that only the baseline scored counts as wrong; one that only the candidate scored is left out."""
    baseline, run = before_and_now([1.0, 0.0, None, None, 1.0], [None, None, 1.0, None, 1.0])
    drop = drop_of(row_of(max_drop=0.0, max_unscored=1.0), run, baseline)
    assert (drop.n, drop.lost, drop.gained, drop.worse) == (3, 2, 1, 1)
    assert drop.estimate == pytest.approx(1 / 3)
    assert drop.worst == (ItemChange("q0", 1.0, None),)
    baseline, run = before_and_now([0.2, 0.4], [None, 0.4], "mc2")
    assert drop_of(row_of(metric="mc2", max_drop=0.0), run, baseline).estimate == pytest.approx(0.6)  # (0.2 + 1) / 2


def test_of_what_is_better_the_smaller_a_rise_is_worse() -> None:
    """A judge that is swayed more often got worse; its lost items count as swayed."""
    baseline, run = before_and_now([0.0] * 30, [1.0] * 8 + [None] + [0.0] * 21, "flipped")
    drop = drop_of(row_of(metric="flipped"), run, baseline)
    assert (drop.worse, drop.better) == (9, 0)
    assert drop.estimate == pytest.approx(-0.3)
    assert (drop.p_improved or 0) > 0.99
    assert drop.worst[0] == ItemChange("q0", 0.0, 1.0)


def test_statistics_are_drawn_jointly_and_leave_out_what_one_side_lacks() -> None:
    """A correlation has no worst value: a lost item leaves the pairs and is counted; the draw follows the row's id."""
    references = [1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 4.0, 3.0, 1.0, 5.0, 3.0, 2.0]
    noise = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 1.0, -1.0, 1.0, 0.0, 1.0, 0.0]
    old = [graded(f"g{n}", reference, reference) for n, reference in enumerate(references)]
    new = [graded(f"g{n}", r + e, r) for n, (r, e) in enumerate(zip(references, noise, strict=True))]
    new[0] = graded("g0", None, 1.0)
    row = row_of(metric="pearson", max_drop=0.02)
    drop = drop_of(row, run_of(new), baseline_of(run_of(old)))
    assert (drop.n, drop.lost) == (11, 1)
    assert 0 < drop.estimate < 0.5
    assert drop.low is not None
    assert drop.low <= drop.estimate
    assert 0 < (drop.p_greater or 0) < 1
    assert (drop.worse, drop.better) == (6, 0)
    again = drop_of(row, run_of(new[::-1]), baseline_of(run_of(old)))
    assert replace(again, worst=()) == replace(drop, worst=())


def test_a_statistic_that_is_undefined_on_one_side_is_refused() -> None:
    """A baseline whose judge always gave the same grade has no correlation to fall from."""
    old = [graded(f"g{n}", 3.0, float(n)) for n in range(1, 6)]
    new = [graded(f"g{n}", float(n), float(n)) for n in range(1, 6)]
    found = refusal_of(row_of(metric="pearson", max_drop=0.0), run_of(new), baseline_of(run_of(old)))
    assert found.kind == "undefined"
    assert "in the baseline" in found.detail


def test_kappa_is_compared_by_its_verdicts() -> None:
    """Items on which the judge no longer sides with people got worse."""
    old = [labelled(f"l{n}", n % 2 == 0, n % 2 == 0) for n in range(30)]
    new = [labelled(f"l{n}", (n % 2 == 0) != (n < 6), n % 2 == 0) for n in range(30)]
    drop = drop_of(row_of(metric="kappa", max_drop=0.0), run_of(new), baseline_of(run_of(old)))
    assert drop.estimate == pytest.approx(0.4)
    assert drop.worse == 6


def test_a_category_row_is_compared_over_its_category() -> None:
    """The slice's items alone are paired."""
    categories = ["Law", "Law", "Myths", "Myths"]

    def run(*values: float) -> Run:
        return run_of([scored(value, n, category=categories[n]) for n, value in enumerate(values)])

    drop = drop_of(row_of(max_drop=0.0, category="Myths"), run(1, 1, 0, 1), baseline_of(run(0, 0, 1, 1)))
    assert (drop.n, drop.estimate) == (2, 0.5)


def test_several_baselines_share_the_alpha_under_proof() -> None:
    """Each of two comparisons may block, so proof has half the level for each; estimate and doubt have all of it."""
    baseline, run = before_and_now([1.0] * 20, [1.0] * 20)
    for block_on, alpha in (("proof", 0.025), ("doubt", 0.05), ("estimate", 0.05)):
        row = row_of(max_drop=0.1, drop_block_on=block_on)
        found = compare_all(row, run, [baseline, replace(baseline, name="anchor.json")])
        assert [drop.alpha for drop in found if isinstance(drop, Drop)] == [alpha, alpha]
    one = drop_of(row_of(max_drop=0.1), run, baseline)
    two = drop_of(row_of(max_drop=0.1), run, baseline, baselines=2)
    assert (two.detectable or 0) > (one.detectable or 0)


@pytest.mark.parametrize(("max_unscored", "refused"), [(0.0, True), (0.19, True), (0.2, False)])
def test_items_of_one_side_alone_are_listed_and_too_many_refused(max_unscored: float, refused: bool) -> None:
    """Two of ten items in the union are the share that max_unscored is held against."""
    old = run_of([scored(1.0, n) for n in range(9)])
    new = run_of([scored(1.0, n) for n in range(1, 10)])
    row = row_of(max_drop=0.0, max_unscored=max_unscored)
    if refused:
        found = refusal_of(row, new, baseline_of(old))
        assert found.kind == "unequal_items"
        assert "2 of 10 items of mc1 have no counterpart" in found.detail
        assert "1 only in base.json (q0), 1 only in this run (q9)" in found.detail
        assert "--truthguard-save-baseline" in found.detail
    else:
        drop = drop_of(row, new, baseline_of(old))
        assert (drop.only_baseline, drop.only_candidate, drop.n) == (("q0",), ("q9",), 8)


def test_nothing_in_common_is_no_comparison() -> None:
    """Where the baseline scored nothing that was asked there is no drop of 0."""
    baseline, run = before_and_now([None, None], [1.0, 0.0])
    found = refusal_of(row_of(max_drop=0.0, max_unscored=1.0), run, baseline)
    assert found.kind == "no_pairs"


def test_an_item_that_neither_scored_is_nothing() -> None:
    """It is no pair, it is not lost, and it is in no list."""
    baseline, run = before_and_now([None, 1.0], [None, 1.0])
    drop = drop_of(row_of(max_drop=0.0, max_unscored=0.5), run, baseline)
    assert (drop.n, drop.lost, drop.gained, drop.only_baseline) == (1, 0, 0, ())


@settings(max_examples=60)
@given(
    st.lists(st.none() | st.sampled_from([0.0, 1.0]), min_size=1, max_size=30).filter(lambda v: v.count(None) < len(v))
)
def test_equal_shares_show_no_drop_whatever_the_values(values: list[float | None]) -> None:
    """A model against its own baseline: no drop, no proof of one, no improvement."""
    baseline, run = before_and_now(values, values)
    drop = drop_of(row_of(max_drop=0.0, max_unscored=1.0), run, baseline)
    assert (drop.estimate, drop.worse, drop.better, drop.worst) == (0.0, 0, 0, ())
    assert drop.p_greater == drop.p_improved == 0.5


@settings(max_examples=60)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_equal_means_show_no_drop_whatever_the_values(values: list[float]) -> None:
    """A model against its own baseline, in values of any size."""
    baseline, run = before_and_now(values, values, "mc2")
    drop = drop_of(row_of(metric="mc2", max_drop=0.0), run, baseline)
    assert (drop.estimate, drop.worse, drop.better) == (0.0, 0, 0)
    assert drop.p_greater in (None, 1.0)
