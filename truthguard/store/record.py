"""The public record of a session: one strict-JSON file, written whole and read back with care.

The classes here are the file's form; `schema` is raised whenever one of them changes. A record of an older schema
is read too: what it lacks is None or empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from truthguard import __version__
from truthguard.metrics.doubts import Doubt, below_half
from truthguard.records import (
    BenchmarkKind,
    CorrectedRate,
    Counts,
    Drop,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    Missing,
    ReferenceAgreement,
    RowResult,
    Run,
    Sample,
    ScoredChoice,
    Verdict,
)
from truthguard.store import strict
from truthguard.store.encoding import encode

SCHEMA = 3
FILE = strict.Kind("record", "--truthguard-json", SCHEMA, '"schema", "rows" and "runs"')


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A row's outcome. `slice` is None, the category's full name or the item's id; `n` the scored items.

    `corrected` is a share of truthful answers corrected for the judge's own errors, where these are known. `bar` has
    what the file sets of min, max and max_drop, and what blocks at either; `drops` is one for each baseline.
    """

    id: str
    benchmark: str
    metric: str
    slice: str | None
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int | None
    n_unscored: int | None
    n_dropped: int | None
    bar: Mapping[str, object]
    verdict: Verdict
    reason: str
    corrected: CorrectedRate | None = None
    drops: tuple[Drop, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """One item. A NaN log-likelihood is None in `choices`, and `reasons` says so under its field's name.

    A reason without a value is of a metric that leaves the item out by its definition; items with equal `group` share
    a prompt. `degenerate` names what of it tells of a dead backend (records.ItemScores).
    """

    id: str
    category: str
    question: str
    values: Mapping[str, float | None]
    reasons: Mapping[str, Missing]
    answer: str | None
    choices: tuple[ScoredChoice, ...]
    samples: tuple[Sample, ...]
    group: str | None = None
    degenerate: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedDoubt:
    """A response that the judge finds mostly not factual, with the words that a person needs to examine it."""

    id: str
    question: str
    answer: str | None
    correctness: float
    explanations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One benchmark on one model; `seconds` is scoring alone, without `seconds_load`.

    `judge` is the judge's identity, kind, settings, prompts' digest, counts and seconds (records.JudgeRun), None
    where no metric is judged; `kind` says what the items are. `below_half` lists the responses with correctness below
    0.5, lowest first; `reference_agreement` is how far a reference of graded responses agrees with itself.
    """

    benchmark: str
    version: str | None
    data_sha256: str
    file_sha256: str
    model: Identity | None
    judge: JudgeRun | None
    settings: Mapping[str, object]
    scorer: Facts | None
    counts: Counts
    seconds: float
    seconds_load: float
    oldest_answer: datetime | None
    complete: bool
    items: tuple[RecordedItem, ...]
    below_half: tuple[RecordedDoubt, ...] = ()
    kind: BenchmarkKind = "questions"
    reference_agreement: ReferenceAgreement | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The whole file: `truthguard` is the version that wrote it."""

    schema: int
    truthguard: str
    created: datetime
    rows: tuple[RecordedRow, ...]
    runs: tuple[RecordedRun, ...]


def make_record(rows: Sequence[RowResult], runs: Sequence[Run], created: datetime) -> Record:
    """The record of these outcomes and of the runs behind them."""
    return Record(SCHEMA, __version__, created, tuple(map(_row, rows)), tuple(map(_run, runs)))


def row_record(result: RowResult) -> dict[str, Any]:
    """A row's outcome as it stands in the file."""
    encoded: dict[str, Any] = encode(_row(result))
    return encoded


def write_record(path: Path, rows: Sequence[RowResult], runs: Sequence[Run]) -> None:
    """Write the record of a session to `path`, whole or not at all.

    UTF-8 without a byte order mark; -inf is the string "-inf"; lone surrogates become U+FFFD. Raises StoreError
    when the folder does not exist or the file cannot be written.
    """
    save_record(path, make_record(rows, runs, datetime.now(UTC)))


def save_record(path: Path, record: Record) -> None:
    """Write a record as `write_record` does."""
    strict.write(path, record, FILE)


def read_record(path: Path) -> Record:
    """Read a record, with or without a byte order mark.

    Raises DataError naming the file and what was expected: no such file, not UTF-8, not JSON, cut off, a NaN
    literal, a `schema` of another version, keys missing or unknown, values of the wrong type.
    """
    return strict.read(path, Record, FILE)


def _row(result: RowResult) -> RecordedRow:
    row, summary = result.row, result.summary
    bar: dict[str, object] = {
        end: value for end, value in (("min", row.bar.min), ("max", row.bar.max)) if value is not None
    }
    if bar:
        bar["block_on"] = row.bar.block_on
    if row.max_drop is not None:
        bar |= {"max_drop": row.max_drop, "drop_block_on": row.drop_block_on}
    return RecordedRow(
        id=row.id,
        benchmark=row.benchmark,
        metric=row.metric,
        slice=row.category if row.item is None else row.item,
        estimate=summary.estimate if summary else None,
        low=summary.low if summary else None,
        high=summary.high if summary else None,
        confidence=summary.confidence if summary else row.confidence,
        n=summary.n if summary else None,
        n_unscored=summary.n_unscored if summary else None,
        n_dropped=summary.n_dropped if summary else None,
        bar=bar,
        verdict=result.verdict,
        reason=result.reason,
        corrected=result.corrected,
        drops=result.drops,
    )


def _run(run: Run) -> RecordedRun:
    return RecordedRun(
        benchmark=run.benchmark,
        version=run.version,
        data_sha256=run.data_sha256,
        file_sha256=run.file_sha256,
        model=run.model,
        judge=run.judge,
        settings=run.settings,
        scorer=run.scorer,
        counts=run.counts,
        seconds=run.seconds,
        seconds_load=run.seconds_load,
        oldest_answer=run.oldest_answer,
        complete=run.complete,
        items=tuple(map(_item, run.items)),
        below_half=tuple(map(_doubt, below_half(run.items))),
        kind=run.kind,
        reference_agreement=run.reference_agreement,
    )


def _doubt(doubt: Doubt) -> RecordedDoubt:
    item = doubt.item
    return RecordedDoubt(item.id, item.question, item.answer, doubt.correctness, doubt.explanations)


def _item(item: ItemScores) -> RecordedItem:
    values, reasons = dict(item.values), dict(item.reasons)
    for name, value in values.items():
        if _is_nan(value):
            values[name] = None
            reasons.setdefault(name, Missing("nan", "the value is not a number"))
    for name in ("log_likelihood", "p_yes"):
        places = [place for place, each in enumerate(item.choices, 1) if _is_nan(getattr(each, name))]
        if places:
            listed = ", ".join(map(str, places))
            reasons[name] = Missing("nan", f"not a number for choice {listed} of {len(item.choices)}")
    return RecordedItem(
        id=item.id,
        category=item.category,
        question=item.question,
        values=values,
        reasons=reasons,
        answer=item.answer,
        choices=tuple(map(_choice, item.choices)),
        samples=item.samples,
        group=item.group,
        degenerate=item.degenerate,
    )


def _choice(choice: ScoredChoice) -> ScoredChoice:
    return replace(choice, log_likelihood=_number(choice.log_likelihood), p_yes=_number(choice.p_yes))


def _number(value: float | None) -> float | None:
    return None if _is_nan(value) else value


def _is_nan(value: float | None) -> bool:
    return value is not None and math.isnan(value)
