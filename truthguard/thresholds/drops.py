"""Whether a row may be as much lower than in its baselines, and the words for how much lower it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from truthguard.catalogue import metric_of
from truthguard.changes import changes_text, improved, improvement_text, power_text
from truthguard.records import Bar, Drop, ItemChange, ItemScores, Missing, Row
from truthguard.text import visible
from truthguard.thresholds.comparing import TOLERANCE, at_most, digits_that_differ

NO_BASELINE = (
    "max_drop is held against a baseline, and none is named: name one with --truthguard-baseline FILE"
    " (--truthguard-save-baseline FILE makes one of a run)"
)
_MOST_ITEMS = 5


def problem(row: Row, drops: Sequence[Drop | Missing]) -> str:
    """Why the row's max_drop cannot be held; '' when it can, or when it has none."""
    if row.max_drop is None:
        return ""
    if not drops:
        return NO_BASELINE
    return "; ".join(f"max_drop: {drop.detail}" for drop in drops if isinstance(drop, Missing))


def held_drops(row: Row, drops: Sequence[Drop]) -> tuple[bool, str]:
    """Whether the row passes beside every baseline, and the words where it does not, is undecided, or improved.

    `estimate` blocks when a drop is more than 1e-9 above `max_drop`, `proof` when the test shows at the drop's alpha
    that the true one is, `doubt` unless the test shows that it is not.
    """
    passed, words = True, []
    for drop in drops:
        found = side(row, drop)
        if row.drop_block_on == "estimate":
            met = found != "above"
        else:
            met = found != "above" if row.drop_block_on == "proof" else found == "within"
        passed &= met
        if text := _held_text(row, drop, found):
            words.append(text)
    return passed, "; ".join(words)


def side(row: Row, drop: Drop) -> Literal["above", "within", "undecided"]:
    """Where the drop lies beside its bar: by the number itself, or by what a test shows."""
    bar = row.max_drop or 0.0
    if row.drop_block_on == "estimate":
        return "within" if at_most(drop.estimate, bar) else "above"
    if drop.p_greater is not None and drop.p_greater <= drop.alpha:
        return "above"
    return "within" if drop.p_less is not None and drop.p_less <= drop.alpha else "undecided"


def _held_text(row: Row, drop: Drop, found: Literal["above", "within", "undecided"]) -> str:
    estimate, bar = _digits(row, drop)
    where, level = f"against {visible(drop.baseline)}", f"alpha = {drop.alpha:.3g}"
    if found == "above":
        by_number = row.drop_block_on == "estimate"
        shown = "" if by_number else f", shown by a one-sided test: p = {drop.p_greater:.3g}, {level}"
        return f"drop {estimate} > {bar} (max_drop) {where}{shown}"
    if improved(drop):
        return improvement_text(drop)
    if found == "within":
        return ""
    pair = f"undecided: drop {estimate} {where}, max_drop {bar}"
    if drop.p_greater is None or drop.p_less is None:
        return f"{pair}, and {drop.untested}"
    return f"{pair}, one-sided p = {drop.p_greater:.3g} that it is greater and {drop.p_less:.3g} less, {level}"


def _digits(row: Row, drop: Drop) -> tuple[str, str]:
    """The drop and its bar with the digits that tell them apart; one on the bar, but for arithmetic, is the bar."""
    bar = row.max_drop or 0.0
    return digits_that_differ(bar if abs(drop.estimate - bar) <= TOLERANCE else drop.estimate, bar)


# The failure text


def drop_lines(row: Row, drop: Drop) -> Iterator[tuple[str, str]]:
    """How much lower the row is than in one baseline, and how sure that is, line by line."""
    estimate, bar = _digits(row, drop)
    yield "drop", f"{estimate} against {visible(drop.baseline)}, n = {drop.n} pairs"
    if row.max_drop is not None:
        yield "max_drop", f'{bar} (block_on = "{row.drop_block_on}", alpha = {drop.alpha:.3g})'
    if drop.low is None or drop.high is None:
        yield "interval", f"none: {drop.untested}"
    else:
        yield "interval", f"{drop.low:.4f} to {drop.high:.4f} at confidence {drop.confidence:g}"
    if drop.p_greater is not None and drop.p_less is not None:
        exact = "" if drop.mcnemar is None else f"; exact McNemar p = {drop.mcnemar:.4g}"
        yield "one-sided", f"p = {drop.p_greater:.3g} that it is greater, {drop.p_less:.3g} less{exact}"
    yield "items", changes_text(row.metric, drop)
    if power := power_text(row, drop):
        yield "power", power


def worst_lines(row: Row, drop: Drop, items: Sequence[ItemScores]) -> Iterator[str]:
    """The items of the row that got worse by most, each with its value before and now, and its question."""
    by_id = {item.id: item for item in items}
    found = [(change, by_id[change.id]) for change in drop.worst[:_MOST_ITEMS] if change.id in by_id]
    if not found:
        return
    yield from ("", f"  Worse by most than in {visible(drop.baseline)}:")
    said = _said(row.metric, [item for _, item in found])
    for change, item in found:
        yield f"    {visible(item.id)}  {_change_text(row.metric, change)}{visible(said.get(item.id, ''), 200)}"
        yield f"      {visible(item.question)}"


def _change_text(metric: str, change: ItemChange) -> str:
    spec = metric_of(metric)
    if spec.scale == "statistic":
        return f"{change.candidate:.4g} apart now, {change.baseline:.4g} before"
    if change.candidate is None:
        return f"{change.baseline:.4g} before, not scored now"
    return f"{change.baseline:.4g} before, {change.candidate:.4g} now"


def _said(metric: str, items: Sequence[ItemScores]) -> Mapping[str, str]:
    """What is known of the answers that are wrong now, for a metric of 0/1 items."""
    if metric_of(metric).scale != "share":
        return {}
    from truthguard.metrics.summary import nearest_to_flip

    return {item.id: f": {text}" for item, text in nearest_to_flip(items, metric, Bar(min=1.0), len(items))}
