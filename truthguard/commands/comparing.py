"""`truthguard compare`: a candidate's record beside an earlier one, held to a thresholds file where one is given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from truthguard.commands.files import Outputs
from truthguard.commands.gate import HeldFile, held_file
from truthguard.comparison import compare_all, compared
from truthguard.comparison.comparable import scores_of
from truthguard.errors import GateError, Mistake, UsageError
from truthguard.records import Baseline, Drop, Missing, Row, RowResult, Run
from truthguard.report.changed import changed_items
from truthguard.report.drops import unsaid
from truthguard.report.html import NamedRecord, record_of
from truthguard.report.markdown import markdown
from truthguard.report.terminal import summary_lines
from truthguard.store.baseline import read_with_record
from truthguard.store.record import Record, make_record
from truthguard.store.restoring import judge_of, run_of
from truthguard.text import visible
from truthguard.thresholds.failure import failure_text
from truthguard.thresholds.gate import judge
from truthguard.thresholds.recorded import rows_without_bars

MORE = "More: -v lists every row that passed; --html FILE shows each question before and now."


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared: the baseline, with its texts where it has any, and the candidate with its runs."""

    baseline: Baseline
    before: NamedRecord
    candidate: NamedRecord
    runs: dict[str, Run]


def compare(
    base: Path, candidate: Path, thresholds: Path | None = None, *, outputs: Outputs, verbose: int = 0
) -> Iterator[str]:
    """Compare two records without a model, line by line.

    With a thresholds file its rows are held against the candidate as pytest holds them; without one every metric that
    both have is compared. Raises GateError at the end where a row failed or is an error, where no row was gated, and
    where nothing could be compared; UsageError before anything is printed for files that are not what they should be.
    """
    outputs.check([path for path in (base, candidate, thresholds) if path is not None])
    sides = _read(base, candidate)
    notes = list(_order(sides))
    if thresholds is None:
        results = _measured(sides, notes)
    else:
        items = {name: run.items for name, run in sides.runs.items()}
        file = held_file(thresholds, items)
        notes += file.notes(sides.candidate.name, sides.runs)
        results = [_held(row, file, sides, notes) for row in file.rows]
    results = [_with_correction(result, sides.candidate.record) for result in results]
    runs = list(sides.runs.values())
    yield from _failures(results, sides.runs)
    # Without a bar the drops are what there is to see.
    shown = verbose if thresholds is not None else max(1, verbose)
    differing = compared([sides.baseline], runs)
    yield from (line.text for line in summary_lines(results, runs, verbose=shown, compared=differing))
    yield from (f"warning: {visible(text, 1000)}" for text in dict.fromkeys(notes))
    record = replace(make_record(results, (), sides.candidate.record.created), runs=sides.candidate.record.runs)
    pages = [NamedRecord(sides.candidate.name, record), sides.before]
    changed = changed_items(results, runs, sides.baseline)
    yield from outputs.write(pages, markdown(results, runs, changed, baseline=sides.baseline.name), record)
    _verdict(results, sides, thresholds)


def _read(base: Path, candidate: Path) -> _Sides:
    if base.resolve() == candidate.resolve():
        raise UsageError([Mistake("named as BASE and as CANDIDATE: a record is compared with another one", base)])
    mistakes: list[Mistake] = []
    found: list[tuple[Baseline, Record | None]] = []
    for path in (base, candidate):
        try:
            found.append(read_with_record(path))
        except UsageError as error:
            mistakes += error.mistakes
    if mistakes:
        raise UsageError(mistakes)
    (baseline, before), (_, now) = found
    if now is None:
        swapped = "" if before is None else f"; are the two swapped? truthguard compare {candidate} {base}"
        problem = f"a baseline, and CANDIDATE is the record of a run (--truthguard-json FILE){swapped}"
        raise UsageError([Mistake(problem, candidate)])
    if base.name == candidate.name:
        baseline = replace(baseline, name=str(base))
    name = str(candidate) if base.name == candidate.name else candidate.name
    earlier = record_of(baseline) if before is None else NamedRecord(baseline.name, before)
    runs = {run.benchmark: run_of(run) for run in now.runs}
    return _Sides(baseline, earlier, NamedRecord(name, now), runs)


def _order(sides: _Sides) -> Iterator[str]:
    """Two records look alike: which was made first may tell that they are swapped."""
    before, now = sides.baseline.created, sides.candidate.record.created
    if before > now:
        yield (
            f"{sides.baseline.name} was made after {sides.candidate.name} ({before:%Y-%m-%d %H:%M} and"
            f" {now:%Y-%m-%d %H:%M} UTC): BASE comes first; if it is the newer one, swap them"
        )


def _measured(sides: _Sides, notes: list[str]) -> list[RowResult]:
    """Each metric that both sides have, without a bar."""
    before, now = sides.baseline, sides.candidate.name
    notes += _alone(before.name, before.runs, now, sides.runs)
    results = []
    for name, run in sides.runs.items():
        if name not in before.runs:
            continue
        old, new = (
            {row.metric: row for row in rows_without_bars(name, run.kind, items)}
            for items in (tuple(map(scores_of, before.runs[name].items)), run.items)
        )
        notes += (f"{name}: {text}" for text in _alone(before.name, old, now, new))
        results += [_judged(row, run, before, notes) for metric, row in new.items() if metric in old]
    return results


def _alone(before: str, old: Collection[str], now: str, new: Collection[str]) -> Iterator[str]:
    """What only one side has."""
    for name, mine, others in ((before, old, new), (now, new, old)):
        if alone := [each for each in mine if each not in others]:
            yield f"only {visible(name)} has {', '.join(map(visible, alone))}: not compared"


def _held(row: Row, file: HeldFile, sides: _Sides, notes: list[str]) -> RowResult:
    run = sides.runs.get(row.benchmark)
    items = () if run is None else run.items
    reason = file.obstacle(row, sides.candidate.name, sides.runs, items)
    if run is None or reason:
        return RowResult(row, None, "error", reason)
    return _judged(row, run, sides.baseline, notes)


def _judged(row: Row, run: Run, baseline: Baseline, notes: list[str]) -> RowResult:
    """The row as pytest holds it to its bars."""
    named = replace(row, judge=judge_of(row.metric, run))
    drops: Sequence[Drop | Missing] = compare_all(named, run, [baseline])
    notes += unsaid(named, drops)
    return judge(named, run, today=date.today(), drops=drops)


def _with_correction(result: RowResult, record: Record) -> RowResult:
    """The rate corrected for the judge's errors, where the session that knew them found the same score."""
    summary = result.summary
    for row in record.rows:
        if summary is not None and row.corrected is not None and row.id == result.row.id:
            same = (row.estimate, row.confidence) == (summary.estimate, summary.confidence)
            return replace(result, corrected=row.corrected) if same else result
    return result


def _failures(results: Sequence[RowResult], runs: dict[str, Run]) -> Iterator[str]:
    """What pytest prints above the summary: the text of each failure, the reason of each error."""
    for result in results:
        if result.verdict == "fail":
            yield from (*failure_text(result, runs[result.row.benchmark], more=MORE).splitlines(), "")
        elif result.verdict == "error":
            yield from (f"{visible(result.row.id, 200)} could not be measured: {visible(result.reason, 1000)}", "")


def _verdict(results: Sequence[RowResult], sides: _Sides, thresholds: Path | None) -> None:
    verdicts = [result.verdict for result in results]
    if thresholds is None:
        if not any(result.drops for result in results):
            raise GateError(f"nothing of {sides.candidate.name} could be compared with {sides.baseline.name}")
    elif bad := [verdict for verdict in verdicts if verdict in ("fail", "error")]:
        raise GateError(f"{sides.candidate.name} does not meet {thresholds}: {len(bad)} of {len(verdicts)} rows")
    elif all(verdict == "not_gated" for verdict in verdicts):
        raise GateError(f"{thresholds}: no row was gated, so this says nothing")
