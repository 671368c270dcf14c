"""`truthguard power`: what a comparison with a baseline could show, before a candidate has cost anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truthguard.catalogue import metric_of
from truthguard.commands.gate import held_file
from truthguard.comparison.comparable import scores_of
from truthguard.errors import GateError, Mistake, UsageError
from truthguard.metrics.participation import part_of
from truthguard.metrics.power import (
    changed_spread,
    detectable_drop,
    exchanged_spread,
    exchanged_statistic_spread,
    items_needed,
)
from truthguard.records import ItemScores, Missing, Row
from truthguard.report.words import counted
from truthguard.store.baseline import read_baseline
from truthguard.text import visible
from truthguard.thresholds.comparing import at_most
from truthguard.thresholds.failure import slice_text

# How many of the items a candidate is assumed to change, as many for the better as for the worse.
CHANGED = (0.05, 0.10, 0.20)
WIDTH = 120
_HEADINGS = ("row", "n", "max_drop", "alpha", *(f"{share * 100:g} %" for share in CHANGED), "decided", "items needed")
_LEFT = frozenset(["row", "decided"])
_LEAST_NAME = 12


@dataclass(frozen=True, slots=True)
class Power:
    """What a row could show with 80 % power, for each share of CHANGED: a drop (None = none at all), items needed."""

    row: Row
    n: int
    bar: float
    smallest: tuple[float | None, ...]
    needed: tuple[int | None, ...]

    @property
    def decided(self) -> str:
        """Up to which share of changed items the bar can be decided."""
        fit = [needed is not None and needed <= self.n for needed in self.needed]
        if all(fit):
            return "yes"
        shares = [share for share, fits in zip(CHANGED, fit, strict=True) if fits]
        return f"up to {shares[-1] * 100:g} %" if shares else "no"


def power(thresholds: Path, baseline: Path) -> Iterator[str]:
    """A table with a line for each max_drop row of the file, and what it says in words, line by line.

    Raises UsageError before anything is printed for files that are not what they should be and a file without such a
    row; GateError at the end for rows that this baseline cannot serve.
    """
    base = read_baseline(baseline)
    # Which items share a prompt a baseline does not say: each is taken for one of its own.
    items = {
        name: tuple(replace(scores_of(item), group=item.id) for item in run.items) for name, run in base.runs.items()
    }
    file = held_file(thresholds, items)
    rows = [row for row in file.rows if row.max_drop is not None]
    if not rows:
        raise UsageError([Mistake("no row has max_drop: nothing is held against a baseline", thresholds)])
    found: list[Power] = []
    obstacles: list[str] = []
    for row in rows:
        of_benchmark = items.get(row.benchmark, ())
        scored = [item for item in of_benchmark if _stands_in(item, row)]
        obstacle = file.obstacle(row, base.name, base.runs, of_benchmark)
        each = Missing("obstacle", obstacle) if obstacle else power_of(row, scored)
        if isinstance(each, Missing):
            obstacles.append(f"{visible(row.id)}: {each.detail}")
        else:
            found.append(each)
    if found:
        yield from _table(found)
    yield from obstacles
    if obstacles:
        raise GateError(f"{base.name} does not serve {counted(len(obstacles), 'row')} of {thresholds}")


def power_of(row: Row, scored: Sequence[ItemScores]) -> Power | Missing:
    """What a row could show whose baseline has scored these items of its slice; Missing where there is no test.

    The bar can be decided where the drop beyond it that would be shown is no greater than the bar itself: then a model
    that lost nothing is shown to be within it, and one that lost twice as much to be beyond it, each 80 times of 100.
    A bar of 0 leaves no drop that is too small to matter: no number of items decides it.
    """
    metric, bar, n = metric_of(row.metric), row.max_drop or 0.0, len(scored)
    if not n:
        return Missing("no_items", f"the baseline has scored no item of {slice_text(row)}")
    found = [_spread(row, scored, share) for share in CHANGED]
    spreads = [each for each in found if each is not None]
    if len(spreads) < len(found):
        return Missing("no_test", f"{counted(n, 'scored item')} of {slice_text(row)} are too few for a test")
    drops = [bar + detectable_drop(each, n, row.alpha) for each in spreads]
    widest = metric.high - metric.low
    return Power(
        row,
        n,
        bar,
        smallest=tuple(drop if at_most(drop, widest) else None for drop in drops),
        needed=tuple(items_needed(each, bar, row.alpha) if bar > 0 else None for each in spreads),
    )


def _stands_in(item: ItemScores, row: Row) -> bool:
    in_slice = row.category is None or item.category == row.category
    return in_slice and part_of(item, row.metric) == "scored"


def _spread(row: Row, scored: Sequence[ItemScores], share: float) -> float | None:
    """The spread of the differences if this share of the items changes."""
    scale = metric_of(row.metric).scale
    if scale == "share":
        return changed_spread(share)
    if scale == "mean":
        return exchanged_spread(share, [item.values[row.metric] or 0.0 for item in scored])
    return exchanged_statistic_spread(scored, row.metric, share, row.id)


def _table(found: Sequence[Power]) -> Iterator[str]:
    cells = [_cells(each) for each in found]
    widths = {name: max(len(name), *(len(row[name]) for row in cells)) for name in _HEADINGS}
    excess = sum(widths.values()) + 2 * (len(_HEADINGS) - 1) - WIDTH
    widths["row"] = max(_LEAST_NAME, widths["row"] - max(0, excess))
    yield "The smallest drop that would be shown with 80 % power if 5, 10 or 20 % of the items change:"
    for row in (dict(zip(_HEADINGS, _HEADINGS, strict=True)), *cells):
        yield "  ".join(_align(name, row[name], widths[name]) for name in _HEADINGS).rstrip()
    yield (
        "decided: a model that lost nothing would be shown to be within max_drop, and one that lost twice as much"
        " beyond it"
    )
    if any(each.bar == 0.0 for each in found):
        yield "max_drop = 0 is decided by no number of items: only a drop as large as those above would be shown"


def _cells(each: Power) -> dict[str, str]:
    smallest = ("none" if drop is None else f"{drop:.4f}" for drop in each.smallest)
    needed = " / ".join("-" if items is None else f"{items:,}" for items in each.needed)
    texts = (visible(each.row.id, 200), f"{each.n:,}", f"{each.bar:g}", f"{each.row.alpha:.3g}", *smallest)
    return dict(zip(_HEADINGS, (*texts, each.decided, "-" if each.bar == 0.0 else needed), strict=True))


def _align(name: str, text: str, width: int) -> str:
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.ljust(width) if name in _LEFT else text.rjust(width)
