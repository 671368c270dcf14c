"""Rows beside their baselines as the page shows them: how much lower, how sure that is, what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from truthguard.changes import changes_text, improved, power_text
from truthguard.records import Drop, RowResult, Run
from truthguard.report.html.restored import known, name_of
from truthguard.report.html.writing import block, interval, line, number
from truthguard.report.terminal import slice_name
from truthguard.thresholds.comparing import TOLERANCE
from truthguard.thresholds.drops import side

Standing = Literal["beyond the bar", "improved", "undecided", "within the bar", "no bar"]


@dataclass(frozen=True, slots=True)
class DropView:
    """One row beside one baseline. `kind` is the class of its badge, none without a bar."""

    name: str
    benchmark: str
    slice: str
    baseline: str
    drop: str
    interval: str
    bar: str
    p: str
    items: str
    power: str
    standing: Standing
    kind: Literal["fail", "pass", "not_gated", ""]


_KINDS: Mapping[Standing, Literal["fail", "pass", "not_gated", ""]] = {
    "beyond the bar": "fail",
    "improved": "pass",
    "undecided": "not_gated",
    "within the bar": "pass",
    "no bar": "",
}


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
    row = result.row
    for drop in result.drops:
        standing = _standing(result, drop)
        yield DropView(
            name=name_of(row.metric, run),
            benchmark=line(row.benchmark),
            slice=line(slice_name(result)),
            baseline=line(drop.baseline),
            drop=number(drop.estimate),
            interval=interval(drop.low, drop.high),
            bar="–" if row.max_drop is None else f"{row.max_drop:g}",
            p=_p(drop),
            items=block(changes_text(row.metric, drop)),
            power=block(power_text(row, drop)),
            standing=standing,
            kind=_KINDS[standing],
        )


def _standing(result: RowResult, drop: Drop) -> Standing:
    bar = side(result.row, drop)
    if result.row.max_drop is not None and bar == "above":
        return "beyond the bar"
    if improved(drop):
        return "improved"
    if result.row.max_drop is None:
        return "no bar"
    return "undecided" if bar == "undecided" else "within the bar"


def _p(drop: Drop) -> str:
    if drop.p_greater is None:
        return block(drop.untested or "no test")
    exact = "" if drop.mcnemar is None else f"; McNemar {drop.mcnemar:.3g}"
    return f"{drop.p_greater:.3g}{exact}"
