"""Before and after: metrics side by side, questions that changed sides, questions point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.report.html.sheet import WIDTH, Role, Sheet, colour, dots
from truthguard.report.html.writing import signed
from truthguard.text import visible

_EDGE = 8.0  # room for half a mark


@dataclass(frozen=True, slots=True)
class Step:
    """One metric before and after; `worse` says on which side of the other it lies, whatever the metric's direction."""

    label: str
    before: float
    after: float
    worse: bool


def step_chart(name: str, label: str, steps: Sequence[Step]) -> str:
    """A hollow mark for the baseline, a filled one for now, a line between them."""
    each = 40.0
    sheet = Sheet(name, each * len(steps))
    values = [value for step in steps for value in (step.before, step.after)]
    span = (min(0.0, *values), max(1.0, *values))
    axes = sheet.axes((_EDGE, 0.0, WIDTH - 2 * _EDGE, each * len(steps)), span, (len(steps), 0.0))
    for place, step in enumerate(steps):
        y = place + 0.68
        role: Role = "bad" if step.worse else "good"
        axes.plot(span, [y, y], color=colour("rule"), linewidth=1.0, clip_on=False)
        axes.plot([step.before, step.after], [y, y], color=colour(role), linewidth=3.0, clip_on=False)
        dots(axes, [(step.before, y)], "paper", size=8.0, edge="before", edge_width=2.0)
        dots(axes, [(step.after, y)], role, size=8.0, edge=role, edge_width=2.0)
        word = "" if step.before == step.after else " worse" if step.worse else " better"
        value = signed(step.after - step.before) + word
        sheet.words(axes, (span[0], place + 0.3), visible(step.label, 50 - len(value)))
        sheet.words(axes, (span[1], place + 0.3), value, role if word else "muted", align="right")
    return sheet.svg(label)


def sides_chart(name: str, label: str, counts: Sequence[tuple[str, int, Role]]) -> str:
    """How many questions there are of each kind, as lengths of one line each."""
    each = 26.0
    sheet = Sheet(name, each * len(counts))
    most = max(count for _, count, _ in counts) or 1
    left = 132.0
    axes = sheet.axes((left, 0.0, WIDTH - left - 48.0, each * len(counts)), (0.0, most), (len(counts), 0.0))
    for place, (text, count, role) in enumerate(counts):
        y = place + 0.5
        axes.barh([y], [count], height=0.5, color=colour(role), linewidth=0)
        sheet.words(axes, (0.0, y), text, align="right", offset=(-8.0, 0.0))
        sheet.words(axes, (count, y), f"{count:,}", offset=(6.0, 0.0))
    return sheet.svg(label)


def point_chart(name: str, label: str, pairs: Sequence[tuple[float, float]], span: tuple[float, float]) -> str:
    """Every question once: what it was across, what it is up; on the diagonal nothing changed."""
    size, left, top = 252.0, 40.0, 6.0
    sheet = Sheet(name, size + top + 38.0)
    axes = sheet.axes((left, top, WIDTH - left - 12.0, size), span, span)
    middle = (span[0] + span[1]) / 2
    for at in (span[0], middle, span[1]):
        axes.plot([at, at], span, color=colour("rule"), linewidth=1.0, clip_on=False)
        axes.plot(span, [at, at], color=colour("rule"), linewidth=1.0, clip_on=False)
        text = f"{at:g}".replace("-", "−")
        sheet.words(axes, (at, span[0]), text, "muted", size=10.0, align="center", offset=(0.0, -12.0))
        sheet.words(axes, (span[0], at), text, "muted", size=10.0, align="right", offset=(-6.0, 0.0))
    axes.plot(span, span, color=colour("muted"), linewidth=1.0, linestyle=(0, (3, 3)))
    dots(axes, pairs, "good", size=4.0, edge_width=0.5, alpha=0.75)
    sheet.words(axes, (middle, span[0]), "baseline", "muted", align="center", offset=(0.0, -27.0))
    sheet.words(axes, (span[0], span[1]), "↑ now", "muted", offset=(6.0, -8.0))
    return sheet.svg(label)
