"""Baselines: a small file that people review, one item a line, or the record of a run in its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from truthguard import __version__
from truthguard.catalogue import GRADE, GRADE_RUN, HUMAN, LABEL, REFERENCE, VERDICT, metric_of
from truthguard.errors import DataError, Mistake
from truthguard.records import Baseline, BaselineItem, BaselineRun, BenchmarkKind, Identity, JudgeRun, Run
from truthguard.store import record, strict
from truthguard.store.encoding import FormError, decode, encode
from truthguard.text import visible

SCHEMA = 1
_KEYS = f'"schema" and "baseline", or a record with {record.FILE.keys}'
_FILE = strict.Kind("baseline", "--truthguard-save-baseline", SCHEMA, _KEYS)
_COLUMNS = (GRADE, REFERENCE, HUMAN, VERDICT, LABEL)
# The first two values of an item's line, and what stands there for a value that is none of the item's: null stands
# for one that could not be scored.
_ID, _CATEGORY = "id", "category"
_NONE = "-"
# A file of another tool would have one for every item.
_MOST_MISTAKES = 10


@dataclass(frozen=True, slots=True)
class _Judge:
    """Who judged and how; what it took is none of a baseline's business."""

    identity: Identity | None
    kind: Literal["rubric", "logprob", "similarity", "prometheus"]
    settings: Mapping[str, object]
    prompt_digest: str | None
    prompts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as it stands in the file: an item is its id, the number of its category, and a value for each column."""

    benchmark: str
    version: str | None
    kind: BenchmarkKind
    data_sha256: str
    model: Identity | None
    judge: _Judge | None
    settings: Mapping[str, object]
    categories: tuple[str, ...]
    columns: tuple[str, ...]
    items: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class _File:
    schema: int
    truthguard: str
    created: datetime
    baseline: tuple[_Run, ...]


def write_baseline(path: Path, runs: Sequence[Run]) -> None:
    """Write the values of these runs to `path`, whole or not at all: sorted, one item a line, without any text.

    Equal runs make equal bytes but for the line that says when. Raises ValueError for a run that was stopped before
    everything was asked and for two runs of a benchmark, StoreError as truthguard.store.record.write_record does.
    """
    strict.write_text(path, _text(runs, datetime.now(UTC)), _FILE)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline, or a record (--truthguard-json) as one.

    Raises DataError as truthguard.store.record.read_record does; for two runs of one benchmark; and with the line of
    each for an item that occurs twice and a value that its metric cannot have.
    """
    return read_with_record(path)[0]


def read_with_record(path: Path) -> tuple[Baseline, record.Record | None]:
    """A baseline as `read_baseline` reads it, and the record that the file is: None where it is a baseline."""
    data = strict.document(path, _FILE)
    if "baseline" in data:
        file = strict.of_form(path, data, _File, _FILE)
        runs = [_read(run, path, f"baseline[{place}]") for place, run in enumerate(file.baseline)]
        return _checked(path, file.truthguard, file.created, runs), None
    whole = strict.of_form(path, data, record.Record, record.FILE)
    return _checked(path, whole.truthguard, whole.created, [_of_record(run) for run in whole.runs]), whole


def baseline_of(name: str, whole: record.Record) -> Baseline:
    """A record as the baseline that it may stand for."""
    runs = {run.benchmark: _of_record(run) for run in whole.runs}
    return Baseline(name, whole.truthguard, whole.created, runs)


def _checked(path: Path, truthguard: str, created: datetime, runs: Sequence[BaselineRun]) -> Baseline:
    names = [run.benchmark for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError([Mistake(f"two runs of {', '.join(twice)}: expected one of each benchmark", path)])
    if mistakes := list(islice((mistake for run in runs for mistake in _impossible(run, path)), _MOST_MISTAKES)):
        raise DataError(mistakes)
    return Baseline(path.name, truthguard, created, {run.benchmark: run for run in runs})


# Writing


def _text(runs: Sequence[Run], created: datetime) -> str:
    if len({run.benchmark for run in runs}) < len(runs):
        raise ValueError("a baseline has one run of each benchmark")
    head = {"schema": SCHEMA, "truthguard": __version__, "created": encode(created)}
    each = sorted(runs, key=lambda run: run.benchmark)
    body = ",\n".join("{\n" + ",\n".join(_lines(run)) + "\n}" for run in each)
    return (
        "{\n" + "".join(f'"{key}": {_json(value)},\n' for key, value in head.items()) + f'"baseline": [\n{body}\n]\n}}'
    )


def _lines(run: Run) -> Iterator[str]:
    """The keys of a run, one a line, and its items likewise."""
    if not run.complete:
        raise ValueError(f"the run of {run.benchmark} was stopped before everything was asked: it is no baseline")
    items = sorted(run.items, key=lambda item: item.id)
    categories = sorted({item.category for item in items})
    columns = sorted({name for item in items for name in item.values if _kept(name)})
    number = {category: place for place, category in enumerate(categories)}
    about = _Run(
        benchmark=run.benchmark,
        version=run.version,
        kind=run.kind,
        data_sha256=run.data_sha256,
        model=run.model,
        judge=None if run.judge is None else _judge(run.judge),
        settings=run.settings,
        categories=tuple(categories),
        columns=(_ID, _CATEGORY, *columns),
        items=(),
    )
    for key, value in encode(about).items():
        if key != "items":
            yield f'"{key}": {_json(value)}'
    rows = ((item.id, number[item.category], *(_number(item.values, name) for name in columns)) for item in items)
    yield '"items": [\n' + ",\n".join(map(_json, rows)) + "\n]"


def _judge(judge: JudgeRun) -> _Judge:
    return _Judge(judge.identity, judge.kind, judge.settings, judge.prompt_digest, judge.prompts)


def _number(values: Mapping[str, float | None], name: str) -> float | str | None:
    """A value in its shortest form; one that is no number could not be scored."""
    value = values.get(name, _NONE)
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value


def _kept(name: str) -> bool:
    """Whether something is compared by the value: a metric's own, or one of those that a statistic is made of."""
    try:
        return name in _COLUMNS or name.startswith(GRADE_RUN) or bool(metric_of(name))
    except KeyError:
        return False


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# Reading


def _read(run: _Run, path: Path, place: str) -> BaselineRun:
    if run.columns[:2] != (_ID, _CATEGORY) or len(set(run.columns)) < len(run.columns):
        expected = 'expected "id", "category" and names that differ'
        raise DataError([Mistake(f"{place}.columns: {expected}, got {visible(repr(list(run.columns)))}", path)])
    by = run.judge
    return BaselineRun(
        benchmark=run.benchmark,
        version=run.version,
        kind=run.kind,
        data_sha256=run.data_sha256,
        model=run.model,
        judge=None if by is None else JudgeRun(by.identity, by.kind, by.settings, by.prompt_digest, prompts=by.prompts),
        settings=run.settings,
        complete=True,
        items=tuple(_item(run, item, path, f"{place}.items[{number}]") for number, item in enumerate(run.items)),
    )


def _item(run: _Run, item: tuple[object, ...], path: Path, place: str) -> BaselineItem:
    def refuse(message: str) -> DataError:
        name = item[0] if item and isinstance(item[0], str) else None
        return DataError([Mistake(f"{place}: {message}", path, None if name is None else _line_of(path, name))])

    if len(item) != len(run.columns):
        raise refuse(f"expected {len(run.columns)} values, one for each of the columns, got {len(item)}")
    name, category, *values = item
    if not isinstance(name, str):
        raise refuse(f"expected an id first, got {visible(repr(name), 60)}")
    if type(category) is not int or not 0 <= category < len(run.categories):
        last = len(run.categories) - 1
        raise refuse(f"expected the number of a category, 0 to {last}, got {visible(repr(category), 60)}")
    given = {column: value for column, value in zip(run.columns[2:], values, strict=True) if value != _NONE}
    try:
        found = {column: None if value is None else decode(float, value, column) for column, value in given.items()}
    except FormError as error:
        raise refuse(f'{error} (or null, or "{_NONE}")') from None
    return BaselineItem(name, run.categories[category], found)


def _of_record(run: record.RecordedRun) -> BaselineRun:
    return BaselineRun(
        benchmark=run.benchmark,
        version=run.version,
        kind=run.kind,
        data_sha256=run.data_sha256,
        model=run.model,
        judge=run.judge,
        settings=run.settings,
        complete=run.complete,
        items=tuple(
            BaselineItem(item.id, item.category, {name: value for name, value in item.values.items() if _kept(name)})
            for item in run.items
        ),
    )


def _impossible(run: BaselineRun, path: Path) -> Iterator[Mistake]:
    """Items that occur twice and values that no run has."""
    seen: set[str] = set()
    for item in run.items:
        if item.id in seen:
            yield Mistake(f"{run.benchmark}: the item {item.id} occurs twice", path, _line_of(path, item.id))
        seen.add(item.id)
        for name, value in item.values.items():
            if value is not None and (expected := _expected(name, value)):
                problem = f"{run.benchmark}: {item.id} has {name} = {value:g}, expected {expected}"
                yield Mistake(problem, path, _line_of(path, item.id))


def _expected(name: str, value: float) -> str | None:
    """What a value would have to be; None where it may be what it is."""
    if name in _COLUMNS or name.startswith(GRADE_RUN) or not _kept(name):
        return None if math.isfinite(value) else "a finite number"
    metric = metric_of(name)
    if metric.scale == "share":
        return None if value in (0.0, 1.0) else "0 or 1"
    return None if metric.low <= value <= metric.high else f"{metric.low:g} to {metric.high:g}"


def _line_of(path: Path, identity: str) -> int | None:
    """The first line that names an item, for a person who opens the file."""
    named = json.dumps(identity, ensure_ascii=False)
    lines = path.read_text("utf-8-sig").split("\n")
    return next((number for number, line in enumerate(lines, 1) if named in line), None)
