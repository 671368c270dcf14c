"""The files of earlier runs as a page takes them: records, and baselines as records without texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from truthguard.comparison.comparable import scores_of
from truthguard.errors import Mistake, UsageError
from truthguard.records import Baseline, BaselineItem, BaselineRun, Counts, ItemScores, Missing, RowResult, Run
from truthguard.report.html.page import NamedRecord
from truthguard.store.baseline import read_with_record
from truthguard.store.record import make_record
from truthguard.thresholds.gate import judge
from truthguard.thresholds.recorded import rows_without_bars

_UNSCORED = Missing("unscored", "a baseline does not say why")


def read_named(paths: Sequence[Path]) -> tuple[NamedRecord, ...]:
    """The records or baselines of these files, called by their file names, or by more of their paths where needed.

    Raises UsageError for a file that is named twice, and with what is wrong in any of them.
    """
    mistakes: list[Mistake] = []
    found: list[NamedRecord] = []
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            mistakes.append(Mistake("named twice; name it once", path))
            continue
        seen.add(path.resolve())
        try:
            baseline, record = read_with_record(path)
        except UsageError as error:
            mistakes += error.mistakes
        else:
            found.append(record_of(baseline) if record is None else NamedRecord(path.name, record))
    if mistakes:
        raise UsageError(mistakes)
    if len({each.name for each in found}) < len(found):
        return tuple(NamedRecord(str(path), each.record) for each, path in zip(found, paths, strict=True))
    return tuple(found)


def record_of(baseline: Baseline) -> NamedRecord:
    """A baseline as a record: ids and values, and a row without a bar for each metric."""
    runs = [_run(run) for run in baseline.runs.values()]
    return NamedRecord(baseline.name, make_record([row for run in runs for row in _rows(run)], runs, baseline.created))


def _rows(run: Run) -> list[RowResult]:
    rows = rows_without_bars(run.benchmark, run.kind, run.items)
    return [judge(row, run, today=date.today()) for row in rows]


def _run(run: BaselineRun) -> Run:
    return Run(
        benchmark=run.benchmark,
        version=run.version,
        data_sha256=run.data_sha256,
        file_sha256="",
        model=run.model,
        settings=run.settings,
        scorer=None,
        counts=Counts(),
        seconds=0.0,
        seconds_load=0.0,
        oldest_answer=None,
        complete=run.complete,
        items=tuple(map(_item, run.items)),
        judge=run.judge,
        kind=run.kind,
    )


def _item(item: BaselineItem) -> ItemScores:
    unscored = (name for name, value in item.values.items() if value is None)
    return replace(scores_of(item), reasons=dict.fromkeys(unscored, _UNSCORED))
