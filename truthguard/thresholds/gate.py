"""A row held against what was measured. Whatever could not be measured is an error, never a pass or a fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from truthguard.catalogue import metric_of
from truthguard.metrics.participation import MIXED, reason_of
from truthguard.records import Drop, ItemScores, MetricSummary, Missing, Row, RowResult, Run
from truthguard.text import visible
from truthguard.thresholds.bars import held
from truthguard.thresholds.comparing import at_most, digits_that_differ
from truthguard.thresholds.drops import held_drops, problem
from truthguard.thresholds.failure import failure_text, items_of, named_items, slice_text, unscored_text

__all__ = ["failure_text", "judge"]


def judge(row: Row, run: Run, *, today: date, drops: Sequence[Drop | Missing] = ()) -> RowResult:
    """The verdict on a row. `drops` has its comparison with each baseline, or why there is none.

    In this order: error when none of its questions are in the sample, when the run was stopped, when more than half of
    the run's questions got the same number for every choice, or an empty answer, when nothing could be scored, when
    more than `max_unscored` of its questions could not; not_gated when it has fewer than `min_items` questions, or is
    one item's that the metric leaves out; error when they are all none of the metric's, or what is no mean is undefined
    over them; error when `max_drop` has no baseline, or one that it cannot be compared with; not_gated without a bar
    and without max_drop; then pass or fail as `row.bar.block_on` says of the score, and `row.drop_block_on` of the
    drops, every one of which must hold. Each baseline is a test of its own that may block: under proof a drop is tested
    at the row's alpha divided by the number of baselines (comparison.compare_all), which stands in it. A failure is
    waived up to and including `waive_until`, an error never. `today` is the date where the gate is held. Raises
    ValueError when the run was not asked for the metric.
    """
    items = items_of(row, run)
    if not items:
        return RowResult(row, None, "error", _absent(row, run))
    from truthguard.metrics.summary import summarise

    summary = summarise(items, row.metric, row.confidence, seed_name=row.id)
    selected = summary.n + summary.n_unscored
    if reason := _stopped(run) or _dead(row, run) or _unscored(row, summary):
        return RowResult(row, summary, "error", reason)
    # A slice without a single item is too small only for a row that asks for more than one.
    if selected < row.min_items and (selected or row.min_items > 1):
        few = f"{selected} {named_items(row.metric, selected)}, min_items = {row.min_items}"
        return RowResult(row, summary, "not_gated", f"too small a slice: {few}")
    if row.item is not None and summary.n_dropped:
        return RowResult(row, summary, "not_gated", _none_of_the_metric(summary, items))
    if summary.estimate is None:
        return RowResult(row, summary, "error", _undefined(summary, items))
    compared = tuple(drop for drop in drops if isinstance(drop, Drop))
    if reason := problem(row, drops):
        return RowResult(row, summary, "error", reason, drops=compared)
    if not row.bar and row.max_drop is None:
        return RowResult(row, summary, "not_gated", "no bar: measured only", drops=compared)
    passed, reason = _held(row, summary.estimate, items, compared)
    if passed and summary.n_unscored:
        few = _of_selected(summary)
        reason = f"{reason}; {few}" if reason else few
    return _waived(RowResult(row, summary, "pass" if passed else "fail", reason, drops=compared), today)


def _held(row: Row, estimate: float, items: Sequence[ItemScores], drops: Sequence[Drop]) -> tuple[bool, str]:
    """Whether the score meets its bar and the drops theirs, with the words of both."""
    sides = [held(row, estimate, items)] if row.bar else []
    sides += [held_drops(row, drops)] if row.max_drop is not None else []
    return all(passed for passed, _ in sides), "; ".join(words for _, words in sides if words)


def _absent(row: Row, run: Run) -> str:
    if row.item is None and row.category is None:
        if metric_of(row.metric).elicitation in MIXED:
            # Each item serves some metrics, so that a small sample may hold none of the others'.
            asked = f"the {len(run.items)} that were asked" if run.items else "those that were selected"
            return (
                f"no item of {row.benchmark} with the metric {row.metric} is among {asked}:"
                " enlarge the sample, or deselect this row"
            )
        return f"nothing was selected: no question of {row.benchmark} was asked"
    return (
        f"no {named_items(row.metric, 1)} of {slice_text(row)} is among the {len(run.items)} of {row.benchmark}"
        " that were asked: enlarge the sample, or deselect this row"
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
    if not summary.n_unscored:
        return ""
    if not summary.n:
        return f"none of the {total} {named_items(row.metric)} could be scored: {unscored_text(summary)}"
    share = summary.n_unscored / total
    if at_most(share, row.max_unscored):
        return ""
    found, limit = digits_that_differ(share, row.max_unscored)
    return _of_selected(summary, f", {found} > {limit} (max_unscored)")


def _of_selected(summary: MetricSummary, compared: str = "") -> str:
    """How many could not be scored, and why."""
    of = f"{summary.n_unscored} of {summary.n + summary.n_unscored} {named_items(summary.metric)}"
    return f"{of} could not be scored{compared}: {unscored_text(summary)}"


def _undefined(summary: MetricSummary, items: Sequence[ItemScores]) -> str:
    """The error of a row whose items, all read, have no score: it is neither 0 nor a pass."""
    if summary.undefined is None:
        return _none_of_the_metric(summary, items)
    scored = f"{summary.n} scored {named_items(summary.metric, summary.n)}"
    undefined = f"{summary.metric} is undefined over {scored}: {visible(summary.undefined.detail, 200)}"
    return f"{undefined}; {_of_selected(summary)}" if summary.n_unscored else undefined


def _none_of_the_metric(summary: MetricSummary, items: Sequence[ItemScores]) -> str:
    """Why the metric's definition leaves out all of these items."""
    why = visible(reason_of(items[0], summary.metric).detail, 200)
    return f"none of the {summary.n_dropped} {named_items(summary.metric)} is one of {summary.metric}: {why}"


def _waived(result: RowResult, today: date) -> RowResult:
    """A failure within its waiver, or a word on a waiver that has ended."""
    row = result.row
    if result.verdict != "fail" or row.waive_until is None:
        return result
    why = visible(row.waive_reason or "", 200)
    if today > row.waive_until:
        return replace(result, reason=f"{result.reason}; the waiver ended on {row.waive_until} ({why})")
    return replace(result, verdict="waived", reason=f"{result.reason}; waived until {row.waive_until}: {why}")
