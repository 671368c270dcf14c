"""Rows beside their baselines as lines for the summary, and what else differs between the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from truthguard.changes import changes_text, improved, improvement_text, power_text
from truthguard.records import Compared, Drop, Missing, Row, RowResult
from truthguard.report.words import counted
from truthguard.text import visible


def drop_lines(results: Sequence[RowResult], compared: Sequence[Compared] = (), *, verbose: int = 0) -> list[str]:
    """One line for each row and baseline, then what differs between the runs, once a benchmark.

    Shown are rows with `max_drop`, slices only where they did not pass; the others with `verbose` above 0.
    """
    rows = [(result, drop) for result in results for drop in result.drops]
    shown = [(result, drop) for result, drop in rows if verbose > 0 or _matters(result)]
    hidden = len({id(result) for result, _ in rows}) - len({id(result) for result, _ in shown})
    lines = [f"{visible(result.row.id, 200)}: {drop_text(result, drop)}" for result, drop in shown]
    if hidden and verbose == 0:
        lines.append(f"{counted(hidden, 'row')} more compared with a baseline (-v lists them)")
    if not rows or verbose < 0:
        return lines
    for each in compared:
        lines.append(f"{visible(each.benchmark)} beside {visible(each.baseline)} of {each.created:%Y-%m-%d}:")
        lines += [f"  {text}" for text in each.differences or ("asked in the same way of the same model",)]
    return lines


def drop_text(result: RowResult, drop: Drop) -> str:
    """How much lower a row is than in a baseline, how sure that is, and what could have been shown."""
    row = result.row
    interval = "" if drop.low is None or drop.high is None else f" [{drop.low:.4f}, {drop.high:.4f}]"
    parts = [f"drop {drop.estimate:.4f}{interval} against {visible(drop.baseline)}, n = {drop.n}"]
    if drop.p_greater is None:
        parts.append(f"no test: {drop.untested}")
    else:
        beyond = row.max_drop or 0.0
        parts.append(f"one-sided p = {drop.p_greater:.3g} that it is above {beyond:g} (alpha = {drop.alpha:.3g})")
    if drop.mcnemar is not None:
        parts.append(f"exact McNemar p = {drop.mcnemar:.3g}")
    parts.append(changes_text(row.metric, drop))
    parts.append(power_text(row, drop))
    text = "; ".join(filter(None, parts))
    return f"{improvement_text(drop)}; {text}" if improved(drop) else text


def unsaid(row: Row, drops: Iterable[Drop | Missing]) -> Iterator[str]:
    """Why a row without max_drop is not compared: what is so of the whole benchmark, and of the whole row."""
    if row.max_drop is None:
        for drop in drops:
            if isinstance(drop, Missing) and (row.category is None or drop.kind in ("no_benchmark", "not_comparable")):
                yield f"{row.benchmark}: {drop.detail}"


def _matters(result: RowResult) -> bool:
    whole = result.row.category is None
    return result.row.max_drop is not None and (whole or result.verdict != "pass")
