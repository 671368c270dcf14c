"""What the summary says of corrected rates."""

from __future__ import annotations

from dataclasses import replace

from truthguard.metrics.correction import corrected
from truthguard.records import MetricSummary, Row, RowResult
from truthguard.report.trust import corrected_lines

ROW = Row("faq[truthful]", "faq", "truthful", 3)
SUMMARY = MetricSummary("truthful", 200, 0, 0.7, 0.63, 0.76, 0.95)
RESULT = RowResult(ROW, SUMMARY, "pass", corrected=corrected(0.7, 200, 0.9, 500, 0.8, 400, 0.95))


def test_the_corrected_rate_stands_beside_the_observed_one() -> None:
    """With its interval, what it rests on, and what it assumes."""
    assert corrected_lines([RESULT]) == [
        "faq[truthful]: 0.7000 observed, 0.7143 [0.6183, 0.8102] at confidence 0.95 corrected for the judge's errors"
        " (sensitivity 0.9000 of 500, specificity 0.8000 of 400)",
        "  this assumes that sensitivity and specificity carry over to this model's answers",
    ]


def test_what_was_clipped_is_shown() -> None:
    """A rate below what the judge's errors alone would give is 0, and was less."""
    low = replace(RESULT, corrected=corrected(0.1, 200, 0.9, 500, 0.8, 400, 0.95))
    assert "0.0000 [0.0000, 0.0000]" in corrected_lines([low])[0]
    assert "-0.1429 before it was clipped" in corrected_lines([low])[0]


def test_a_judge_no_better_than_chance_is_told() -> None:
    """No number, the reason, and no assumption that nobody makes."""
    useless = replace(RESULT, corrected=corrected(0.7, 200, 0.5, 500, 0.5, 400, 0.95))
    (line,) = corrected_lines([useless, replace(useless, row=replace(ROW, category="A"))])
    assert "not to be corrected for the judge's errors" in line
    assert "no_better_than_chance" in line


def test_slices_are_listed_when_asked_for() -> None:
    """Thirty-eight categories would hide the one number."""
    slices = [replace(RESULT, row=replace(ROW, id=f"faq[truthful-{name}]", category=name)) for name in ("A", "B")]
    assert corrected_lines([RESULT, *slices])[1] == "2 slices are corrected, too (-v lists them)"
    assert len(corrected_lines([RESULT, *slices], verbose=1)) == 4


def test_rows_without_a_correction_say_nothing() -> None:
    """Nor an assumption."""
    assert corrected_lines([replace(RESULT, corrected=None)]) == []
