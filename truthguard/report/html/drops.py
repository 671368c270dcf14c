"""Rows beside their baselines as the page shows them: how much lower, how sure that is, what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from truthguard.changes import changes_text, improved, power_text
from truthguard.records import Drop, RowResult, Run
from truthguard.report.html.restored import known, name_of
from truthguard.report.html.writing import block, interval, line, signed
from truthguard.report.terminal import slice_name
from truthguard.text import visible
from truthguard.thresholds.comparing import TOLERANCE
from truthguard.thresholds.drops import side

Standing = Literal["beyond the bar", "improved", "undecided", "within the bar", "not compared", "no bar"]
Kind = Literal["fail", "error", "waived", "pass", "open"]


@dataclass(frozen=True, slots=True)
class DropView:
    """One row beside one baseline, or why it stands beside none. `kind` is the class of its badge.

    `minor` ones are slices of which there is nothing to say but that they stayed within their bar.
    """

    name: str
    benchmark: str
    slice: str
    drop: str
    interval: str
    bar: str
    p: str
    items: str
    note: str
    standing: Standing
    kind: Kind
    minor: bool


def drop_views(rows: Sequence[tuple[RowResult, Run | None]]) -> tuple[DropView, ...]:
    """Every comparison with a baseline, in the order of the rows; `rows` have the run that each is about."""
    return tuple(view for result, run in rows if known(result.row.metric) for view in _of_row(result, run))


def missed_drop(result: RowResult) -> Drop | None:
    """The furthest of a row's drops beyond its bar; None where none is."""
    bar = result.row.max_drop
    if bar is None:
        return None
    beyond = [drop for drop in result.drops if side(result.row, drop) == "above" or drop.estimate > bar + TOLERANCE]
    return max(beyond, key=lambda drop: drop.estimate, default=None)


def _of_row(result: RowResult, run: Run | None) -> Iterator[DropView]:
    for drop in result.drops:
        standing = _standing(result, drop)
        kind = _kind(result, standing)
        yield DropView(
            **_row(result, run),
            drop=signed(drop.estimate),
            interval=interval(drop.low, drop.high),
            p=_p(result, drop),
            items=block(changes_text(result.row.metric, drop)),
            note=block("; ".join(filter(None, _notes(result, drop)))),
            standing=standing,
            kind=kind,
            minor=slice_name(result) != "all" and kind in ("pass", "open") and standing != "improved",
        )
    # What is refused stands in no drop: the row is an error that says why.
    if result.row.max_drop is not None and result.verdict == "error":
        blank = signed(None)
        yield DropView(
            **_row(result, run),
            drop=blank,
            interval=blank,
            p=blank,
            items=blank,
            note=block(result.reason),
            standing="not compared",
            kind="error",
            minor=False,
        )


class _Row(TypedDict):
    name: str
    benchmark: str
    slice: str
    bar: str


def _row(result: RowResult, run: Run | None) -> _Row:
    row = result.row
    bar = "none" if row.max_drop is None else f"{row.max_drop:g}"
    if row.max_drop is not None and row.drop_block_on != "proof":
        bar += f" ({row.drop_block_on})"
    return _Row(name=name_of(row.metric, run), benchmark=line(row.benchmark), slice=line(slice_name(result)), bar=bar)


def _notes(result: RowResult, drop: Drop) -> Iterator[str]:
    """What a test could have shown, and McNemar's own word beside it."""
    yield f"beside {visible(drop.baseline)}, n = {drop.n:,}"
    if drop.mcnemar is not None:
        yield f"exact McNemar p = {drop.mcnemar:.3g}"
    yield power_text(result.row, drop)


def _standing(result: RowResult, drop: Drop) -> Standing:
    bar = side(result.row, drop)
    if result.row.max_drop is not None and bar == "above":
        return "beyond the bar"
    if improved(drop):
        return "improved"
    if result.row.max_drop is None:
        return "no bar"
    return "undecided" if bar == "undecided" else "within the bar"


def _kind(result: RowResult, standing: Standing) -> Kind:
    blocks = standing == "beyond the bar" or (standing == "undecided" and result.row.drop_block_on == "doubt")
    if blocks:
        return "waived" if result.verdict == "waived" else "fail"
    return "pass" if standing in ("improved", "within the bar") else "open"


def _p(result: RowResult, drop: Drop) -> str:
    """What the test says of the question that the row asks: is it better, where that is shown, else is it worse."""
    if improved(drop):
        return f"{drop.p_improved:.3g} that it improved"
    if drop.p_greater is None:
        return block(drop.untested or "no test")
    return f"{drop.p_greater:.3g} that it is above {result.row.max_drop or 0.0:g}"
