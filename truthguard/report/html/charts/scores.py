"""Bars with their intervals, the threshold and the level of chance: one to a metric, or one to a category."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truthguard.records import Bar
from truthguard.report.html.sheet import WIDTH, Role, Sheet, colour, dots
from truthguard.report.html.writing import number
from truthguard.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXIS = 22.0
_EDGE = 14.0
_NO_BAR = Bar()


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar; `word` stands behind the number where the colour alone would say it."""

    label: str
    estimate: float
    low: float | None = None
    high: float | None = None
    bar: Bar = _NO_BAR
    chance: float | None = None
    failed: bool = False
    word: str = ""


def score_chart(name: str, label: str, marks: Sequence[Mark]) -> str:
    """Every mark in two lines: its name and number, and its bar below."""
    each = 40.0
    sheet = Sheet(name, _AXIS + each * len(marks))
    span = _span(marks)
    box = (_EDGE, 0.0, WIDTH - 2 * _EDGE, each * len(marks))
    axes = sheet.axes(box, span, (len(marks), 0.0))
    _scale(sheet, axes, span, len(marks))
    for place, mark in enumerate(marks):
        _draw(axes, mark, place + 0.72, span, height=0.24)
        role: Role = "bad" if mark.failed else "ink"
        value = f"{number(mark.estimate)} {mark.word}".rstrip()
        room = 52 - len(value)
        sheet.words(axes, (span[0], place + 0.26), visible(mark.label, room), offset=(-_EDGE, 0.0))
        sheet.words(axes, (span[1], place + 0.26), value, role, align="right", offset=(_EDGE, 0.0))
    return sheet.svg(label)


def category_chart(name: str, label: str, marks: Sequence[Mark]) -> str:
    """Every mark in one line, its name to the left and its number to the right."""
    each, left, right = 19.0, 158.0, 66.0
    sheet = Sheet(name, _AXIS + each * len(marks))
    span = _span(marks)
    box = (left, 0.0, WIDTH - left - right, each * len(marks))
    axes = sheet.axes(box, span, (len(marks), 0.0))
    _scale(sheet, axes, span, len(marks))
    for place, mark in enumerate(marks):
        _draw(axes, mark, place + 0.5, span, height=0.4)
        role: Role = "bad" if mark.failed else "ink"
        sheet.words(axes, (span[0], place + 0.5), visible(mark.label, 26), size=10.0, align="right", offset=(-8.0, 0.0))
        value = f"{number(mark.estimate, 3)} {mark.word}".rstrip()
        sheet.words(axes, (span[1], place + 0.5), value, role, offset=(8.0, 0.0))
    return sheet.svg(label)


def _span(marks: Sequence[Mark]) -> tuple[float, float]:
    """0 to 1, and as far beyond in quarters as a value or a threshold needs."""
    points = [mark.estimate for mark in marks]
    points += [end for mark in marks for end in (mark.bar.min, mark.bar.max, mark.chance) if end is not None]
    return min(0.0, math.floor(min(points) * 4) / 4), max(1.0, math.ceil(max(points) * 4) / 4)


def _scale(sheet: Sheet, axes: Axes, span: tuple[float, float], rows: int) -> None:
    """Faint lines at round numbers, with the numbers below."""
    steps = (span[1] - span[0]) / 0.25
    step = 0.25 if steps <= 4 else 0.5 if steps <= 8 else math.ceil(steps / 4) / 4
    for place in range(math.ceil(span[0] / step), math.floor(span[1] / step) + 1):
        at = place * step
        axes.plot([at, at], [0, rows], color=colour("rule"), linewidth=1.0, clip_on=False, zorder=0.5)
        text = f"{at:.2f}".rstrip("0").rstrip(".").replace("-", "−")
        sheet.words(axes, (at, rows), text, "muted", size=10.0, align="center", offset=(0.0, -12.0))


def _draw(axes: Axes, mark: Mark, y: float, span: tuple[float, float], height: float) -> None:
    role: Role = "bad" if mark.failed else "good"
    start = max(span[0], min(0.0, span[1]))
    axes.barh([y], [mark.estimate - start], left=start, height=height, color=colour(role), linewidth=0)
    if mark.low is not None and mark.high is not None:
        ends = [min(max(end, span[0]), span[1]) for end in (mark.low, mark.high)]
        axes.plot(ends, [y, y], color=colour("ink"), linewidth=1.25, clip_on=False, solid_capstyle="butt")
    if mark.chance is not None:
        dots(axes, [(mark.chance, y)], "paper", size=5.0, edge="ink", edge_width=1.0)
    for limit, shape, shift in ((mark.bar.min, ">", 2.5), (mark.bar.max, "<", -2.5)):
        if limit is not None:
            reach = height * 0.95
            axes.plot([limit] * 2, [y - reach, y + reach], color=colour("ink"), linewidth=1.75, clip_on=False)
            # The flag points to the side on which a score passes.
            flag = limit + shift / axes.bbox.width * (span[1] - span[0])
            dots(axes, [(flag, y - reach)], "ink", size=5.0, shape=shape)
