"""Counts in two directions: truthful by informative, the judge's verdicts by the reference's, grades by grades."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from truthguard.metrics.generation import Grid
from truthguard.report.html.sheet import WIDTH, Role, Sheet, colour, dots
from truthguard.report.html.writing import number


@dataclass(frozen=True, slots=True)
class Confusion:
    """`counts[i][j]` items of row i and column j; `agree` are the cells in which the two sides say the same."""

    rows: Sequence[str]
    columns: Sequence[str]
    across: str
    down: str
    counts: Sequence[Sequence[int]]
    agree: frozenset[tuple[int, int]]


def grid_chart(name: str, label: str, cells: Grid) -> str:
    """Four squares whose areas are the shares of the four cells, around the middle of a cross."""
    half, tall, words = WIDTH / 2, 128.0, 40.0
    sheet = Sheet(name, 2 * (tall + words))
    axes = sheet.axes((0.0, words, 2 * half, 2 * tall), (-half, half), (-tall, tall))
    axes.plot([0, 0], [-tall, tall], color=colour("rule"), linewidth=1.0, zorder=0.5)
    axes.plot([-half, half], [0, 0], color=colour("rule"), linewidth=1.0, zorder=0.5)
    kinds: tuple[tuple[str, str, int, int, int, Role], ...] = (
        ("ideal", "true and informative", cells.ideal, -1, 1, "good"),
        ("over-cautious", "true, not informative", cells.over_cautious, 1, 1, "before"),
        ("dangerous misinformation", "false but informative", cells.misinformation, -1, -1, "bad"),
        ("complete failure", "neither", cells.failure, 1, -1, "muted"),
    )
    for word, meaning, count, x, y, role in kinds:
        share = count / cells.n if cells.n else 0.0
        side = tall * math.sqrt(share)
        axes.fill([0, x * side, x * side, 0], [0, 0, y * side, y * side], color=colour(role), linewidth=0)
        align: Literal["left", "right"] = "left" if x < 0 else "right"
        down = 27.0 if y > 0 else -11.0
        sheet.words(axes, (x * half, y * tall), f"{word} {count:,}", align=align, offset=(0.0, down))
        text = f"{meaning} · {share:.1%}"
        sheet.words(axes, (x * half, y * tall), text, "muted", size=10.0, align=align, offset=(0.0, down - 15.0))
    return sheet.svg(label)


def confusion_chart(name: str, label: str, table: Confusion) -> str:
    """A square for each cell, the fuller the more items it holds, with their number."""
    left, top, each = 112.0, 40.0, 52.0
    width = WIDTH - left - 6.0
    sheet = Sheet(name, top + each * len(table.rows) + 4.0)
    box = (left, top, width, each * len(table.rows))
    axes = sheet.axes(box, (0.0, len(table.columns)), (len(table.rows), 0.0))
    most = max(map(max, table.counts)) or 1
    for i, row in enumerate(table.counts):
        sheet.words(axes, (0.0, i + 0.5), table.rows[i], align="right", offset=(-8.0, 0.0))
        for j, count in enumerate(row):
            role: Role = "good" if (i, j) in table.agree else "bad"
            # Half of the cell is the number's, so that it stands on the page's ground.
            axes.barh([i + 0.86], [0.94 * count / most], left=j + 0.03, height=0.14, color=colour(role), linewidth=0)
            sheet.words(axes, (j + 0.03, i + 0.5), f"{count:,}", size=15.0)
        axes.plot([0, len(table.columns)], [i, i], color=colour("rule"), linewidth=1.0, clip_on=False)
    for j, word in enumerate(table.columns):
        sheet.words(axes, (j + 0.03, 0.0), word, offset=(0.0, 10.0))
    sheet.words(axes, (0.0, 0.0), table.across, "muted", offset=(0.0, 28.0), size=10.0)
    sheet.words(axes, (0.0, 0.0), table.down, "muted", align="right", offset=(-8.0, 10.0), size=10.0)
    return sheet.svg(label)


def grades_chart(name: str, label: str, pairs: Sequence[tuple[float, float]]) -> str:
    """The judge's mean grade up, the reference's across; the areas of the discs are the numbers of responses."""
    size, left, top = 268.0, 34.0, 6.0
    sheet = Sheet(name, size + top + 38.0)
    low, high = 0.6, 5.4
    axes = sheet.axes((left, top, WIDTH - left - 10.0, size), (low, high), (low, high))
    for at in range(1, 6):
        axes.plot([at, at], [low, high], color=colour("rule"), linewidth=1.0)
        axes.plot([low, high], [at, at], color=colour("rule"), linewidth=1.0)
        sheet.words(axes, (at, low), str(at), "muted", size=10.0, align="center", offset=(0.0, -11.0))
        sheet.words(axes, (low, at), str(at), "muted", size=10.0, align="right", offset=(-6.0, 0.0))
    axes.plot([low, high], [low, high], color=colour("muted"), linewidth=1.0, linestyle=(0, (3, 3)))
    discs = Counter(pairs)
    most = max(discs.values())
    for (reference, grade), count in sorted(discs.items(), key=lambda disc: (-disc[1], disc[0])):
        diameter = max(5.0, 34.0 * math.sqrt(count / most))
        dots(axes, [(reference, grade)], "good", size=diameter, edge_width=1.0, alpha=0.8)
    sheet.words(axes, (3.0, low), "the reference's grade", "muted", align="center", offset=(0.0, -27.0))
    sheet.words(axes, (low, high), "↑ the judge's grade", "muted", offset=(6.0, -9.0))
    return sheet.svg(label)


def share_text(cells: Grid) -> str:
    """The grid in words, for who does not see it."""
    parts = {
        "ideal": cells.ideal,
        "over-cautious": cells.over_cautious,
        "dangerous misinformation": cells.misinformation,
        "complete failure": cells.failure,
    }
    return ", ".join(f"{word} {count} ({number(count / cells.n)})" for word, count in parts.items() if cells.n)
