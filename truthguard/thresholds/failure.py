"""What a person is told of a row that failed: the score, the bar, how far, how sure, and where to look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truthguard.catalogue import asks_judge, judged_by, metric_of, printed_name
from truthguard.metrics.participation import MIXED, part_of, participants, reason_of
from truthguard.records import ItemScores, MetricSummary, Row, RowResult, Run
from truthguard.text import named, visible
from truthguard.thresholds.bars import held
from truthguard.thresholds.comparing import digits_that_differ
from truthguard.thresholds.drops import drop_lines, worst_lines

MORE = "More: -v lists every row that passed; --truthguard-json FILE keeps every question with all its numbers."


def items_of(row: Row, run: Run) -> tuple[ItemScores, ...]:
    """The run's items in the row's slice: a category by its full name, or one item.

    Of a set with items of several kinds those of another kind have no part in the row. Raises ValueError when the run
    was not asked for the metric.
    """
    sliced = [
        item
        for item in run.items
        if (row.category is None or item.category == row.category) and (row.item is None or item.id == row.item)
    ]
    return tuple(participants(sliced, row.metric))


def named_items(metric: str, n: int = 2) -> str:
    """What n items of the metric are called: questions to a model, or items on which a judge is measured.

    >>> named_items("mc1", 1), named_items("kappa")
    ('question', 'items')
    """
    return ("item" if metric_of(metric).elicitation in MIXED else "question") + "s" * (n != 1)


def slice_text(row: Row) -> str:
    """What part of the benchmark the row is about, by its full name."""
    if row.item is not None:
        return f"item {visible(row.item)}"
    return f"all {named_items(row.metric)}" if row.category is None else f"category '{visible(row.category)}'"


def unscored_text(summary: MetricSummary) -> str:
    """What could not be scored, by kind with the first detail of each, and what the score could be with it."""
    kinds = ", ".join(
        f"{visible(kind)} {count}" + (f" ({visible(detail, 200)})" if (detail := summary.details.get(kind)) else "")
        for kind, count in sorted(summary.unscored.items())
    )
    if summary.bound_low is None or summary.bound_high is None or summary.estimate is None:
        return kinds
    bounds = f"between {summary.bound_low:.4f} and {summary.bound_high:.4f}"
    return f"{kinds}; over all {named_items(summary.metric)} the score lies {bounds}"


def failure_text(result: RowResult, run: Run, *, more: str = MORE) -> str:
    """The text that pytest shows for a failed row, without a traceback. `run` is the one it was judged on.

    `more` says where there is more to see.
    """
    row, summary = result.row, result.summary
    items = items_of(row, run)
    name = printed_name(row.metric, row.judge and visible(row.judge))
    lines = [
        f"{row.benchmark}: {name} of {slice_text(row)} does not meet its bar: {result.reason}",
        "",
    ]
    if summary is not None:
        lines += [f"  {name:<10}{text}" for name, text in _measured(row, summary, items)]
        if row.max_drop is None or _missed(row, summary, items):
            lines += _nearest(row, summary, items)
    for drop in result.drops:
        lines += ["", *(f"  {name:<10}{text}" for name, text in drop_lines(row, drop))]
        lines += worst_lines(row, drop, items)
    lines += ["", *_asked(row, run), f"  {more}"]
    return "\n".join(lines)


def _missed(row: Row, summary: MetricSummary, items: Sequence[ItemScores]) -> bool:
    """Whether it is the score that misses its bar: where a drop alone does, the questions near it tell nothing."""
    return bool(row.bar) and summary.estimate is not None and not held(row, summary.estimate, items)[0]


def _asked(row: Row, run: Run) -> Iterator[str]:
    """Whom the numbers are of, and who judged."""
    if run.model is not None:
        yield f"  model     {named(run.model.name, run.model.dtype, run.model.device)}"
    if run.judge is None or not (way := judged_by([row.metric], run.judge.kind, run.kind)):
        return
    judge = run.judge.identity if asks_judge([row.metric], run.judge.kind, run.kind) else None
    model = [] if judge is None else [named(judge.name, judge.dtype, judge.device)]
    # Of a judge of a kind the kind comes first; what a model alone decides stands behind it.
    yield f"  judge     {', '.join([way, *model] if way == run.judge.kind else [*model, way])}"


def _measured(row: Row, summary: MetricSummary, items: Sequence[ItemScores]) -> Iterator[tuple[str, str]]:
    """What was measured, line by line."""
    if summary.estimate is None:
        return
    block_on = row.bar.block_on
    how = "" if block_on == "estimate" else f' (block_on = "{block_on}", alpha = {row.alpha:.3g})'
    yield "score", digits_that_differ(summary.estimate, _nearest_end(row, summary.estimate))[0]
    for name, limit, sign in (("min", row.bar.min, 1), ("max", row.bar.max, -1)):
        if limit is not None:
            bar = digits_that_differ(summary.estimate, limit)[1]
            yield name, f"{bar}, margin {_signed(sign * (summary.estimate - limit))}{how}"
    yield named_items(row.metric), f"{summary.n} scored of {summary.n + summary.n_unscored}"
    if summary.n_dropped:
        why = next(reason_of(item, row.metric).detail for item in items if part_of(item, row.metric) == "dropped")
        yield "dropped", f"{summary.n_dropped}: {visible(why, 200)}"
    if summary.low is None or summary.high is None:
        yield "interval", f"none: {_no_interval(summary)}"
    else:
        yield "interval", f"{summary.low:.4f} to {summary.high:.4f} at confidence {summary.confidence:g}"
    if summary.chance is not None:
        yield "chance", f"{summary.chance:.4f}"
    yield "unscored", unscored_text(summary) if summary.n_unscored else "none"
    if summary.inexact:
        yield "inexact", f"{summary.inexact}, each with the end of its bounds that is worse for it"
    tied = sum(item.tied_best for item in items)
    if tied and metric_of(row.metric).name == "mc1":
        yield "tied best", f"{tied}: the best answer ties with another, which counts as wrong"


def _no_interval(summary: MetricSummary) -> str:
    from truthguard.metrics.resampling import too_many_undefined

    if metric_of(summary.metric).scale != "statistic":
        return f"one scored {named_items(summary.metric, 1)} is too few"
    return too_many_undefined(summary.undefined_resamples) or "all scored items share one prompt"


def _signed(margin: float) -> str:
    """A margin by its sign, with the digits that tell it from none."""
    return f"{'-' if margin < 0 else '+'}{digits_that_differ(abs(margin), 0.0)[0]}"


def _nearest_end(row: Row, estimate: float) -> float:
    """The end of the bar that is missed by most, or met by least; the estimate itself without a bar."""
    low, high = row.bar.min, row.bar.max
    if low is None or high is None:
        return next((end for end in (low, high) if end is not None), estimate)
    return low if low - estimate >= estimate - high else high


def _nearest(row: Row, summary: MetricSummary, items: Sequence[ItemScores]) -> list[str]:
    """The questions that would have to change for the score to move towards its bar, those that would least first."""
    if not row.bar or summary.estimate is None:
        return []
    spec = metric_of(row.metric)
    if spec.scale == "statistic":
        if _nearest_end(row, summary.estimate) != row.bar.min:
            return []
        from truthguard.metrics.disagreement import furthest_apart

        head, found = "Furthest apart:", furthest_apart(items, row.metric)
    else:
        from truthguard.metrics.summary import nearest_to_flip

        verdicts = spec.scale == "share" and spec.elicitation != "log_likelihood"
        head = "On the wrong side, in the order of the data:" if verdicts else "Nearest to flipping:"
        found = nearest_to_flip(items, row.metric, row.bar)
    lines = ["", f"  {head}"] if found else []
    for item, distance in found:
        lines += [f"    {visible(item.id)}  {visible(distance, 200)}", f"      {visible(item.question)}"]
    return lines
