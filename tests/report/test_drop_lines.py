"""The summary's lines about baselines."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.report.test_terminal import result, texts
from truthguard.records import Bar, Compared, Drop, RowResult
from truthguard.report.drops import drop_lines
from truthguard.report.terminal import summary_lines

DROP = Drop(
    baseline="last.json",
    n=200,
    estimate=0.06,
    low=0.0179,
    high=0.1090,
    confidence=0.95,
    p_greater=0.00365,
    p_less=0.99635,
    p_improved=0.99635,
    worse=16,
    better=4,
    mcnemar=0.01182,
    detectable=0.0547,
)
SAVED = datetime(2026, 3, 4, tzinfo=UTC)
SAME = Compared("truthfulqa", "last.json", SAVED, ())
OTHER = Compared("truthfulqa", "last.json", SAVED, ("the model's dtype changed from 'float32' to 'bfloat16'",))


def compared(
    *drops: Drop, max_drop: float | None = 0.02, category: str | None = None, bar: Bar | None = None
) -> RowResult:
    made = result(bar=bar or Bar(), category=category)
    return replace(made, row=replace(made.row, max_drop=max_drop), drops=drops or (DROP,))


def test_a_row_has_one_line_for_each_baseline() -> None:
    """Drop, interval, p with its bar and level, McNemar, items both ways, and what could have been shown."""
    lines = drop_lines([compared(DROP, replace(DROP, baseline="anchor.json", alpha=0.025))], [OTHER])
    tested = "n = 200; one-sided p = 0.00365 that it is above 0.02 (alpha = "
    rest = "; exact McNemar p = 0.0118; 16 worse, 4 better; could show a drop of 0.0747 with 80 % power"
    assert lines == [
        f"truthfulqa[mc1]: drop 0.0600 [0.0179, 0.1090] against last.json, {tested}0.05){rest}",
        f"truthfulqa[mc1]: drop 0.0600 [0.0179, 0.1090] against anchor.json, {tested}0.025){rest}",
        "truthfulqa beside last.json of 2026-03-04:",
        "  the model's dtype changed from 'float32' to 'bfloat16'",
    ]


def test_an_improvement_is_said_as_one() -> None:
    """In front of the numbers, where a test shows it at the row's level; not where it may be chance."""
    better = replace(
        DROP, estimate=-0.06, low=-0.109, high=-0.0179, p_greater=0.99635, p_less=0.00365, p_improved=0.00365
    )
    (line, *_) = drop_lines([compared(better)])
    assert line.startswith(
        "truthfulqa[mc1]: improved by 0.0600 against last.json, one-sided p = 0.00365; drop -0.0600 [-0.1090, -0.0179]"
    )
    assert "improved" not in drop_lines([compared(replace(better, p_improved=0.06))])[0]


def test_what_is_missing_is_said() -> None:
    """No test, lost and gained items, items of one side alone, and too few pairs for any power."""
    odd = replace(
        DROP,
        n=1,
        low=None,
        high=None,
        p_greater=None,
        mcnemar=None,
        detectable=2.0,
        untested="one scored prompt is too few for a test",
        lost=1,
        gained=2,
        only_baseline=("a", "b\x1b"),
        only_candidate=("c",),
    )
    assert drop_lines([compared(odd)])[0] == (
        "truthfulqa[mc1]: drop 0.0600 against last.json, n = 1; no test: one scored prompt is too few for a test;"
        " 16 worse, 4 better; 1 no longer scored, counted with the worst value; 2 scored only now, left out;"
        " 2 only in the baseline: a, b\\x1b; 1 only in this run: c;"
        " could show no drop at all with 80 % power: 1 pair is too few"
    )


def test_equal_runs_are_called_so() -> None:
    """No difference is said, so that nobody looks for one."""
    assert drop_lines([compared()], [SAME])[-1] == "  asked in the same way of the same model"


def test_passing_slices_and_rows_without_max_drop_are_counted() -> None:
    """-v lists them; a failed slice is listed anyway; -q leaves what is no line of a row."""
    failed = replace(compared(category="Law"), verdict="fail")
    rows = [compared(), compared(category="Art"), compared(max_drop=None), failed, result()]
    lines = drop_lines(rows, [SAME])
    assert [line.partition(":")[0] for line in lines[:2]] == ["truthfulqa[mc1]", "truthfulqa[mc1-Law]"]
    assert lines[2] == "2 rows more compared with a baseline (-v lists them)"
    assert len(drop_lines(rows, [SAME], verbose=1)) == 4 + 2
    assert len(drop_lines(rows, [SAME], verbose=-1)) == 2
    assert drop_lines([result()], [SAME]) == []


def test_the_table_shows_the_bar_of_the_drop() -> None:
    """Beside the score's own; its default, proof, is not repeated."""
    doubtful = compared(bar=Bar(min=0.22))
    doubtful = replace(doubtful, row=replace(doubtful.row, drop_block_on="doubt"))
    text = texts(summary_lines([compared(), doubtful], [], compared=[SAME], width=300))
    assert "  max_drop 0.02  " in text
    assert "  min 0.22, max_drop 0.02 (doubt)  " in text
    assert "truthfulqa beside last.json of 2026-03-04:" in text
