"""`truthguard report`: what finished records say, once more: the summary, and pages of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from truthguard.commands.files import Outputs
from truthguard.records import RowResult, Run
from truthguard.report.changed import changed_items
from truthguard.report.html import NamedRecord, read_named
from truthguard.report.markdown import markdown
from truthguard.report.terminal import summary_lines
from truthguard.store.baseline import baseline_of
from truthguard.store.restoring import result_of, run_of
from truthguard.text import visible


def report(paths: Sequence[Path], *, outputs: Outputs, verbose: int = 0) -> Iterator[str]:
    """Report on the newest of these records, line by line; the one before it is what a page shows it beside.

    They are ordered by when they were made, whatever their order here; of two of one moment the first named is the
    newer. Raises UsageError before anything is printed for files that are neither records nor baselines.
    """
    outputs.check(paths)
    records = sorted(read_named(paths), key=lambda each: each.record.created, reverse=True)
    newest = records[0].record
    runs = [run_of(run) for run in newest.runs]
    of = {run.benchmark: run for run in runs}
    results = [result_of(row, of.get(row.benchmark)) for row in newest.rows]
    if len(records) > 1:
        yield f"{_told(records[0])}, beside {', '.join(map(_told, records[1:]))}"
    yield from (line.text for line in summary_lines(results, runs, verbose=verbose))
    yield from outputs.write(records, _markdown(results, runs, records[1:]))


def _markdown(results: Sequence[RowResult], runs: Sequence[Run], earlier: Sequence[NamedRecord]) -> str:
    """The short page, with the items that changed since the record that the newest was compared with, if it is here."""
    compared_with = {drop.baseline for result in results for drop in result.drops}
    for each in earlier:
        if each.name in compared_with:
            baseline = baseline_of(each.name, each.record)
            return markdown(results, runs, changed_items(results, runs, baseline), baseline=baseline.name)
    return markdown(results, runs)


def _told(named: NamedRecord) -> str:
    return f"{visible(named.name)} of {named.record.created:%Y-%m-%d %H:%M} UTC"
