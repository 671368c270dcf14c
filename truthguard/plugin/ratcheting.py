"""Thresholds files updated after a session: each bar raised to what was just measured."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from truthguard.errors import StoreError
from truthguard.plan import Plan
from truthguard.records import RowResult
from truthguard.report.terminal import Line
from truthguard.report.words import counted
from truthguard.store.atomic import write_atomically
from truthguard.text import visible
from truthguard.thresholds.ratchet import Ratcheted, diff, ratchet

_FLAG = "--truthguard-update-thresholds"
_COLOURS = {"+": "green", "-": "red"}


def update(plan: Plan, before: bytes, results: Mapping[str, RowResult]) -> tuple[list[Line], list[str]]:
    """Raise the bars of a file; lines for the summary, and problems that must fail the session.

    `before` are the bytes that the plan was read from, `results` the session's by the row's id.
    """
    limited = [name for name, all_of in plan.questions.items() if len(plan.selected[name]) < len(all_of.items)]
    try:
        found = ratchet(before, plan.rows, results, limited)
        if found.raised:
            _replace(plan.path, before, found.data)
    except (StoreError, OSError) as error:
        return [], [f"{_FLAG}: {plan.path} was not updated: {error}"]
    return _lines(plan.path, before, found), []


def _replace(path: Path, before: bytes, after: bytes) -> None:
    """Write the file unless somebody else has; a link stays one, and the file keeps its permissions."""
    target = path.resolve()
    if target.read_bytes() != before:
        raise StoreError("it has changed since it was read; run again to raise its bars as they are now")
    mode = stat.S_IMODE(target.stat().st_mode)
    write_atomically(target, after)
    target.chmod(mode)


def _lines(path: Path, before: bytes, found: Ratcheted) -> list[Line]:
    bars = counted(len(found.raised), "bar")
    what = f"{bars} raised to the lower end of the interval just measured" if found.raised else "no bar raised"
    lines = [Line(f"{path}: {what}")]
    lines += [_diff_line(text) for text in diff(before, found.data, path.name)]
    if found.unmoved:
        lines.append(Line(f"  {counted(found.unmoved, 'bar')} left: no interval begins higher"))
    return [*lines, *(Line(f"  {text}") for text in found.left)]


def _diff_line(text: str) -> Line:
    return Line(visible(text.expandtabs(4), 200), _COLOURS.get(text[:1]))
