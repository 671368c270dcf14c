"""A record's values as what they were made of."""

from __future__ import annotations

from dataclasses import replace

from tests.comparison.compared import before_and_now, c19
from tests.report.pages import CREATED, record
from tests.thresholds.made import row_of
from truthguard.comparison import compare_all
from truthguard.records import Bar, MetricSummary, Missing
from truthguard.store.record import make_record
from truthguard.store.restoring import bar_of, drop_bar_of, result_of, run_of, scores_of
from truthguard.thresholds.gate import judge


def test_a_record_gives_back_its_runs_and_rows() -> None:
    """What the summary needs is all there."""
    made = record(n=12).record
    run = run_of(made.runs[0])
    assert run.items == tuple(map(scores_of, made.runs[0].items))
    result = result_of(made.rows[0], run)
    assert isinstance(result.summary, MetricSummary)
    assert (result.row.judge, result.row.category) == (None, None)
    assert result_of(made.rows[3], run).row.judge == "rubric, openai:some-judge"
    assert result_of(made.rows[6], run).row.category == "Kitchen lore"
    own = replace(made.rows[0], slice="own-0003")
    assert result_of(own, run).row.item == "own-0003"


def test_a_comparison_comes_back() -> None:
    """The drops with the bar that they were held against."""
    baseline, run = before_and_now(*c19())
    row = row_of(max_drop=0.0, drop_block_on="doubt")
    drops = compare_all(row, run, [baseline])
    result = judge(row, run, today=CREATED.date(), drops=drops)
    restored = result_of(make_record([result], [run], CREATED).rows[0], run)
    assert restored.drops == drops
    assert (restored.row.max_drop, restored.row.drop_block_on) == (0.0, "doubt")


def test_a_bar_of_another_hand_is_read_as_far_as_it_goes() -> None:
    """What is no number and no way of blocking is none of its ends."""
    assert bar_of({"min": 0.2, "max": "much", "block_on": "proof", "newer": 1}) == Bar(min=0.2, block_on="proof")
    assert bar_of({"min": True, "block_on": ["proof"]}) == Bar()
    assert drop_bar_of({"max_drop": 1, "drop_block_on": "never"}) == (1.0, "proof")
    assert drop_bar_of({"max_drop": float("nan")}) == (None, "proof")


def test_what_tells_of_a_dead_backend_and_a_stop_comes_back() -> None:
    """A record that was held to be an error in its session is one again."""
    _, run = before_and_now(*c19())
    dead = replace(run, items=tuple(replace(item, degenerate=("log_likelihood",)) for item in run.items))
    (recorded,) = make_record([], [dead], CREATED).runs
    assert "dead or constant backend" in judge(row_of(), run_of(recorded), today=CREATED.date()).reason
    stopped = replace(run, complete=False, stopped=Missing("max_requests", "12 of 12 sent"))
    (recorded,) = make_record([], [stopped], CREATED).runs
    assert "stopped before everything was asked" in judge(row_of(), run_of(recorded), today=CREATED.date()).reason
