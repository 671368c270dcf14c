"""What a record names that this version may not know, as the page prints it."""

from __future__ import annotations

from collections.abc import Mapping

from truthguard.catalogue import Metric, metric_of, printed_name
from truthguard.records import Run
from truthguard.store.restoring import bar_of, drop_bar_of, judge_of
from truthguard.text import visible


def known(metric: str) -> Metric | None:
    """The metric behind a name; None for one that a newer version, or another hand, put into the file."""
    try:
        return metric_of(metric)
    except KeyError:
        return None


def other_keys(recorded: Mapping[str, object]) -> list[str]:
    """What the bars of a row say beyond what this version knows, as text."""
    bar, (max_drop, drop_block_on) = bar_of(recorded), drop_bar_of(recorded)
    read: dict[str, object] = {"min": bar.min, "max": bar.max, "block_on": bar.block_on}
    read |= {"max_drop": max_drop, "drop_block_on": drop_block_on}
    return [visible(f"{name} {value}", 80) for name, value in recorded.items() if read.get(name) != value]


def name_of(metric: str, run: Run | None) -> str:
    """The metric with its judge, as it is printed."""
    judge = judge_of(metric, run)
    return printed_name(visible(metric), None if judge is None else visible(judge, 60))
