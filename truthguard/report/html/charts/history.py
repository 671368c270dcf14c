"""One metric over several records, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.records import Bar
from truthguard.report.html.sheet import WIDTH, Sheet, colour, dots
from truthguard.report.html.writing import number
from truthguard.text import visible


@dataclass(frozen=True, slots=True)
class Point:
    """What one record says; `place` counts the records from the oldest, 0."""

    place: int
    estimate: float
    low: float | None = None
    high: float | None = None


def history_chart(name: str, label: str, points: Sequence[Point], records: Sequence[str], bar: Bar) -> str:
    """A line through the scores with their intervals, and the threshold of the newest record across."""
    left, top, height = 8.0, 12.0, 100.0
    sheet = Sheet(name, top + height + 28.0)
    values = [end for point in points for end in (point.estimate, point.low, point.high) if end is not None]
    values += [end for end in (bar.min, bar.max) if end is not None]
    room = (max(values) - min(values)) * 0.1 or 0.05
    span = (min(values) - room, max(values) + room)
    last = len(records) - 1
    axes = sheet.axes((left, top, WIDTH - left - 62.0, height), (0, last), span)
    for limit, word in ((bar.min, "min"), (bar.max, "max")):
        if limit is not None:
            axes.plot([0, last], [limit, limit], color=colour("ink"), linewidth=1.25, linestyle=(0, (4, 3)))
            # On the side of the line that the scores leave free.
            side = 8.0 if limit > points[0].estimate else -8.0
            text = f"{word} {limit:g}".replace("-", "−")
            sheet.words(axes, (0, limit), text, "muted", size=10.0, offset=(8.0, side))
    for point in points:
        if point.low is not None and point.high is not None:
            ends = [point.low, point.high]
            axes.plot([point.place] * 2, ends, color=colour("muted"), linewidth=1.25, clip_on=False)
    across, up = [point.place for point in points], [point.estimate for point in points]
    axes.plot(across, up, color=colour("good"), linewidth=1.75, clip_on=False)
    dots(axes, list(zip(across, up, strict=True)), "good", size=6.0)
    newest = points[-1]
    sheet.words(axes, (newest.place, newest.estimate), number(newest.estimate), offset=(10.0, 0.0))
    sheet.words(axes, (0, span[0]), visible(records[0], 22), "muted", size=10.0, offset=(-6.0, -18.0))
    end = visible(records[-1], 22)
    sheet.words(axes, (last, span[0]), end, "muted", size=10.0, align="right", offset=(60.0, -18.0))
    return sheet.svg(label)
