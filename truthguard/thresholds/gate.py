"""A row held against what was measured. Whatever could not be measured is an error, never a pass or a fail."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from truthguard.catalogue import metric_of
from truthguard.records import MetricSummary, Row, RowResult, Run
from truthguard.text import visible
from truthguard.thresholds.bars import held
from truthguard.thresholds.comparing import at_most, digits_that_differ
from truthguard.thresholds.failure import failure_text, items_of, slice_text, unscored_text

__all__ = ["failure_text", "judge"]


def judge(row: Row, run: Run, *, today: date) -> RowResult:
    """The verdict on a row.

    In this order: error when none of its questions are in the sample, when the run was stopped, when more than half of
    the run's questions got the same number for every choice, or an empty answer, when nothing could be scored, when
    more than `max_unscored` of its questions could not; not_gated when it has fewer than `min_items` questions or
    no bar; then pass or fail as `row.bar.block_on` says. A failure is waived up to and including `waive_until`, an
    error never.
    `today` is the date where the gate is held. Raises ValueError when the run was not asked for the metric.
    """
    items = items_of(row, run)
    if not items:
        return RowResult(row, None, "error", _absent(row, run))
    from truthguard.metrics.summary import summarise

    summary = summarise(items, row.metric, row.confidence)
    reason = _stopped(run) or _dead(row, run) or _unscored(row, summary)
    if reason or summary.estimate is None:
        return RowResult(row, summary, "error", reason)
    if len(items) < row.min_items:
        few = f"{len(items)} {'question' if len(items) == 1 else 'questions'}, min_items = {row.min_items}"
        return RowResult(row, summary, "not_gated", f"too small a slice: {few}")
    if not row.bar:
        return RowResult(row, summary, "not_gated", "no bar: measured only")
    passed, reason = held(row, summary.estimate, items)
    if passed and summary.n_unscored:
        few = f"{summary.n_unscored} of {len(items)} questions could not be scored: {unscored_text(summary)}"
        reason = f"{reason}; {few}" if reason else few
    return _waived(RowResult(row, summary, "pass" if passed else "fail", reason), today)


def _absent(row: Row, run: Run) -> str:
    if row.item is None and row.category is None:
        if metric_of(row.metric).elicitation == "injection":
            # Each probe serves one metric, so that a small sample may hold none of the other's.
            asked = f"the {len(run.items)} that were asked" if run.items else "those that were selected"
            return (
                f"no item of {row.benchmark} with the metric {row.metric} is among {asked}:"
                " enlarge the sample, or deselect this row"
            )
        return f"nothing was selected: no question of {row.benchmark} was asked"
    return (
        f"no question of {slice_text(row)} is among the {len(run.items)} of {row.benchmark} that were asked:"
        " enlarge the sample, or deselect this row"
    )


def _stopped(run: Run) -> str:
    """The error of a run that did not ask everything, whatever it brought; '' for a whole one."""
    if run.stopped is None:
        return ""
    return (
        f"the run was stopped before everything was asked ({visible(str(run.stopped), 400)}):"
        " run again with the same cache, which asks only for the rest"
        + (", or raise max_requests" if run.stopped.kind == "max_requests" else "")
    )


def _dead(row: Row, run: Run) -> str:
    """The error of a backend that answers the same whatever it is asked, or nothing; '' for a live one.

    Counted over the whole run: a small category may be uniform by chance, a model is not.
    """
    elicitation = metric_of(row.metric).elicitation
    dead = sum(elicitation in item.degenerate for item in run.items)
    if 2 * dead <= len(run.items):
        return ""
    name = "no model" if run.model is None else visible(run.model.name)
    if elicitation in ("answer", "correctness"):
        return f"{dead} of {len(run.items)} answers are empty: a dead backend ({name})"
    return (
        f"every choice got the same number in {dead} of {len(run.items)} questions: a dead or constant backend ({name})"
    )


def _unscored(row: Row, summary: MetricSummary) -> str:
    """The error of a row too much of which could not be scored; '' when it could."""
    total = summary.n + summary.n_unscored
    if summary.estimate is None:
        return f"none of the {total} questions could be scored: {unscored_text(summary)}"
    share = summary.n_unscored / total
    if at_most(share, row.max_unscored):
        return ""
    found, limit = digits_that_differ(share, row.max_unscored)
    return (
        f"{summary.n_unscored} of {total} questions could not be scored, {found} > {limit} (max_unscored):"
        f" {unscored_text(summary)}"
    )


def _waived(result: RowResult, today: date) -> RowResult:
    """A failure within its waiver, or a word on a waiver that has ended."""
    row = result.row
    if result.verdict != "fail" or row.waive_until is None:
        return result
    why = visible(row.waive_reason or "", 200)
    if today > row.waive_until:
        return replace(result, reason=f"{result.reason}; the waiver ended on {row.waive_until} ({why})")
    return replace(result, verdict="waived", reason=f"{result.reason}; waived until {row.waive_until}: {why}")
