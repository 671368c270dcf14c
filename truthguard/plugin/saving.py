"""What a session has found out about a judge, saved for the gates that require it (`--truthguard-save-trust`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from truthguard.catalogue import JUDGING_KINDS, METRICS, METRICS_OF
from truthguard.errors import TruthguardError
from truthguard.metrics.participation import participants
from truthguard.plan import Plan
from truthguard.plugin.trusting import asked_as, trusted_judge
from truthguard.records import BenchmarkKind, Row, RowResult, Run, TrustedMetric, TrustEntry
from truthguard.store.trust import make_trust, read_trust, write_trust
from truthguard.text import visible
from truthguard.thresholds.gate import judge as hold_to_bar
from truthguard.thresholds.trust import merged

# The kinds of items that measure a judge, its self-test among them.
MEASURING: frozenset[BenchmarkKind] = JUDGING_KINDS | {"injection"}


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of the session with the plan that asked for it and the results of its rows."""

    plan: Plan
    run: Run
    results: Sequence[RowResult]


def save(path: Path, measured: Iterable[Measured]) -> tuple[list[str], list[str]]:
    """Save what these runs say of their judge; lines to note, and problems that must fail the session.

    Left out, each with a line: a run that was stopped, and a metric that the gate would call an error (too much of it
    unscored, undefined). An older file keeps what `thresholds.trust.merged` lets it keep. Without anything to save it
    stays as it is.
    """
    notes: list[str] = []
    entries: dict[str, TrustEntry] = {}
    problems: list[str] = []
    now = datetime.now(UTC)
    for each in measured:
        if each.run.kind not in MEASURING:
            continue
        if each.run.benchmark in entries:
            problems.append(_problem(path, f"{each.run.benchmark} was measured twice: save one thresholds file a time"))
            return notes, problems
        entry = _entry(each, now, notes)
        if entry is not None:
            entries[each.run.benchmark] = entry
    if not entries:
        nothing = (
            "nothing to save: no benchmark that measures a judge (truthful_judge, judge_starter, ...) has a number"
        )
        return notes, [_problem(path, nothing)]
    try:
        notes += _write(path, entries, now)
    except (TruthguardError, OSError) as error:
        problems.append(_problem(path, f"not written: {error}"))
    return notes, problems


def _problem(path: Path, what: str) -> str:
    return f"--truthguard-save-trust {path}: {what}"


def _write(path: Path, entries: Mapping[str, TrustEntry], now: datetime) -> list[str]:
    record, left_out = make_trust(entries, now), tuple[str, ...]()
    if os.path.exists(path):
        record, left_out = merged(read_trust(path), record)
    write_trust(path, record)
    saved = ", ".join(f"{visible(name)} ({', '.join(entry.metrics)})" for name, entry in entries.items())
    lines = [f"trust in the judge is saved in {path}: {saved}"]
    if left_out:
        names = ", ".join(map(visible, left_out))
        lines.append(f"{path} no longer has {names}: measured with another judge, and a trust file is about one")
    return lines


def _entry(measured: Measured, now: datetime, notes: list[str]) -> TrustEntry | None:
    """What one run says; None, with a note, where it says nothing."""
    run, plan = measured.run, measured.plan
    if run.judge is None:
        return None
    if not run.complete:
        notes.append(f"{run.benchmark} is not saved as trust: the run was stopped before everything was asked")
        return None
    metrics = {}
    for result in _results(measured):
        metric, summary = result.row.metric, result.summary
        if result.verdict == "error" or summary is None or summary.estimate is None:
            notes.append(f"{run.benchmark}.{metric} is not saved as trust: {visible(result.reason, 400)}")
            continue
        metrics[metric] = TrustedMetric(
            summary.estimate,
            summary.low,
            summary.high,
            summary.confidence,
            summary.n,
            summary.n_unscored,
            summary.n_dropped,
        )
    if not metrics:
        return None
    return TrustEntry(
        measured=now,
        version=run.version,
        data_sha256=run.data_sha256,
        asked=asked_as(plan.settings[run.benchmark], run.kind),
        n_items=len(run.items),
        limit=plan.selection.limit,
        sample=plan.selection.sample,
        seed=plan.selection.seed,
        judge=trusted_judge(run.judge.identity, plan.judge, run.kind, run.judge.prompt_digest),
        metrics=metrics,
    )


def _results(measured: Measured) -> Iterable[RowResult]:
    """The outcome of each metric that was measured over all items, as a row has it or would have it without a bar."""
    run = measured.run
    rows = {
        result.row.metric: result
        for result in measured.results
        if result.row.category is None and result.row.item is None
    }
    for metric in METRICS_OF[run.kind]:
        if metric in rows:
            yield rows[metric]
        elif participants(run.items, metric):
            row = Row(
                f"{run.benchmark}[{metric}]", run.benchmark, metric, line=0, max_unscored=METRICS[metric].max_unscored
            )
            yield hold_to_bar(row, run, today=date.today())
