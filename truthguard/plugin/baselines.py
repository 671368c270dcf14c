"""Baselines in a session: read before anything loads, compared with each run, and saved after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from truthguard.errors import Mistake, TruthguardError, UsageError
from truthguard.plugin.saving import Measured
from truthguard.records import Baseline, Row, RowResult
from truthguard.store.baseline import read_baseline, write_baseline
from truthguard.text import visible
from truthguard.thresholds.gate import judge as hold_to_bar

MOST_BASELINES = 2
_SAVE = "--truthguard-save-baseline"


def read_baselines(paths: Sequence[Path]) -> tuple[Baseline, ...]:
    """The baselines of these files, called by their file names, or by more of their paths where these are the same.

    Raises UsageError with every mistake in them.
    """
    if len(paths) > MOST_BASELINES:
        named = ", ".join(map(str, paths))
        raise UsageError(
            f"--truthguard-baseline: at most {MOST_BASELINES} files (the last release and an anchor): {named}"
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(f"--truthguard-baseline {paths[0]}: named twice; name another file, or name it once")
    found: list[Baseline] = []
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            found.append(read_baseline(path))
        except UsageError as error:
            mistakes += error.mistakes
    if mistakes:
        raise UsageError(mistakes)
    if len({baseline.name for baseline in found}) < len(found):
        found = [replace(baseline, name=str(path)) for baseline, path in zip(found, paths, strict=True)]
    return tuple(found)


def save(path: Path, measured: Sequence[Measured], unmeasured: Iterable[RowResult]) -> tuple[list[str], list[str]]:
    """Save these runs as a baseline, all or nothing; lines to note, and problems that must fail the session.

    Nothing is written over an older file when a run was stopped, when a whole row could not be measured (`unmeasured`
    are those without a run), or when a benchmark was measured twice. That a row lacks a baseline, or differs from one,
    is no reason: a first baseline must come from somewhere. Nor is a score that misses its bar.
    """
    problems = [f"the run of {each.run.benchmark} was stopped" for each in measured if not each.run.complete]
    names = [each.run.benchmark for each in measured]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [f"{name} was measured twice: save one thresholds file at a time" for name in twice]
    problems += [_error(result) for result in unmeasured if _is_whole(result.row)]
    for each in measured:
        rows = [replace(result.row, max_drop=None) for result in each.results if _is_error(result)]
        without = [hold_to_bar(row, each.run, today=date.today()) for row in rows]
        problems += [_error(result) for result in without if result.verdict == "error"]
    if not measured and not problems:
        problems.append("nothing was measured")
    if problems:
        return [], [f"{_SAVE} {path}: not written: {problem}" for problem in problems]
    try:
        write_baseline(path, [each.run for each in measured])
    except (TruthguardError, OSError) as error:
        return [], [f"{_SAVE} {path}: not written: {error}"]
    return [f"the baseline is saved in {path}: {', '.join(map(_saved, measured))}"], []


def _saved(measured: Measured) -> str:
    """What of a benchmark is in the baseline: with rows deselected it is less than the file has."""
    metrics = dict.fromkeys(result.row.metric for result in measured.results)
    return f"{visible(measured.run.benchmark)} ({len(measured.run.items)} items; {', '.join(metrics)})"


def _is_whole(row: Row) -> bool:
    return row.category is None and row.item is None


def _is_error(result: RowResult) -> bool:
    return result.verdict == "error" and _is_whole(result.row)


def _error(result: RowResult) -> str:
    return f"{visible(result.row.id)} could not be measured: {visible(result.reason, 400)}"
