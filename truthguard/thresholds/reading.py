"""A thresholds file -> Gate, or one UsageError with every mistake of the file.

Each mistake carries the file, the line and, for a mistyped name, the nearest valid one. What stands inside a
table whose name is wrong is checked as well, so that mending the name does not bring up the next mistake.
Categories can be checked only against the data: rows.py does that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from truthguard.catalogue import (
    BENCHMARKS,
    DEFAULT_VERSION,
    ITEMS_OF,
    METRICS,
    METRICS_OF,
    NORMALIZATIONS,
    OWN_KINDS,
    default_prompt,
)
from truthguard.errors import Mistake, UsageError
from truthguard.records import BenchmarkKind, BenchmarkSettings
from truthguard.thresholds.checking import MAX_HINTS, Checker
from truthguard.thresholds.document import load
from truthguard.thresholds.rowtable import NORMALIZED, row_of
from truthguard.thresholds.schema import Around, BenchmarkKeys, JudgeTable, LimitKeys, ModelTable, RowKeys
from truthguard.thresholds.spec import BenchmarkTable, Gate, JudgeSpec, RowSpec
from truthguard.thresholds.wording import header, problem, quoted, shown

_SLUG = re.compile(r"[A-Za-z0-9_-]+")
_OWN = (
    'a file of your own needs path and kind: "questions", "correctness" for prompts and responses,'
    ' "direct" for graded responses, "pairwise" for pairs of them'
)
_TABLES = ("model", "judge")
# Keys of [judge] that are the judge's own; the others are its model's, under ModelSettings' names.
_JUDGES_OWN = frozenset(["kind", "samples", "runs", "temperature", "max_tokens", "seed", "measure"])
# ... and those that say when its word counts.
_TRUST = frozenset(["requires", "trust"])
# Which keys of a benchmark's table say something about items of a kind; kind, path and version say what they are.
_WORDING = frozenset(["prompt", "normalization", "closing_period", "order", "reference", "grades"])
_WORDING_OF: Mapping[BenchmarkKind, frozenset[str]] = {
    "questions": frozenset(["prompt", "normalization", "closing_period"]),
    "correctness": frozenset(),
    "injection": frozenset(),
    "direct": frozenset(["prompt", "reference"]),
    "pairwise": frozenset(["prompt", "order", "grades"]),
    "judge_starter": frozenset(["prompt", "reference", "order", "grades"]),
    "truthful_judge": frozenset(),
}
_RENAMED = {"cache_max_age": "cache_max_age_hours", "model": "name"}


def read(path: Path) -> Gate:
    """The gate that the TOML file at `path` describes. Loads neither data nor model.

    Raises UsageError with all mistakes of the file in the order of their lines.
    """
    gate, mistakes = examine(path)
    if mistakes:
        raise UsageError(mistakes)
    return gate


def examine(path: Path) -> tuple[Gate, list[Mistake]]:
    """What can be understood of the file, and all that is wrong in it, in the order of the lines.

    Tables and rows that are wrong are left out of the gate: what is right can still be held against the data,
    so that a person is told everything at once. Raises UsageError for a file that is no TOML at all.
    """
    data, lines = load(path)
    checker = Checker(path, lines)
    model: Mapping[str, Any] | None = {}
    judge: JudgeSpec | None = JudgeSpec()
    tables: list[BenchmarkTable | None] = []
    for name, value in data.items():
        if not isinstance(value, dict):
            _stray(checker, name, value)
        elif name == "model":
            model = _model(checker, value)
        elif name == "judge":
            judge = _judge(checker, value)
        else:
            tables.append(_benchmark(checker, name, value))
    found = tuple(table for table in tables if table is not None)
    gate = Gate(path, MappingProxyType(dict(model or {})), found, judge or JudgeSpec(), _unread(model, judge))
    return gate, sorted(checker.mistakes, key=lambda mistake: mistake.line or 0)


def _unread(model: object | None, judge: object | None) -> frozenset[str]:
    return frozenset(name for name, found in zip(_TABLES, (model, judge), strict=True) if found is None)


def check_limits(metric: str, **limits: object) -> None:
    """Hold numbers that a test gives to what the file would refuse; None stands for a key that is not given.

    Raises UsageError with all of them: NaN, a boolean or a text for a number, a bar outside the metric's range.
    """
    given = {name: value for name, value in limits.items() if value is not None}
    try:
        LimitKeys.model_validate(given, context=Around(metric=METRICS[metric]))
    except ValidationError as error:
        wrong = [(str(each["loc"][0]), each) for each in error.errors(include_url=False)]
        mistakes = [Mistake(f"{name} = {shown(each['input'])}: {problem(each)}") for name, each in wrong]
        raise UsageError(mistakes) from None


def _stray(checker: Checker, name: str, value: object) -> None:
    """Something at the top of the file that is no table."""
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        checker.add((name,), f"[{header((name,))}]: a table here is written once, in single brackets")
    elif name == "model":
        checker.add((name,), f'model = {shown(value)}: expected a table: [model] and below it name = "..."')
    elif name == "judge":
        checker.add((name,), f'judge = {shown(value)}: expected a table: [judge] and below it model = "..."')
    else:
        hint = checker.hint(name, [*_TABLES, *BENCHMARKS])
        checker.add((name,), f"{quoted(name)} = {shown(value)} stands outside every table{hint}")
    checker.sweep({name: value}, ())


def _model(checker: Checker, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
    table = checker.table(ModelTable, raw, ("model",))
    return None if table is None else _as_settings(table.model_dump(exclude_unset=True))


def _judge(checker: Checker, raw: Mapping[str, Any]) -> JudgeSpec | None:
    table = checker.table(JudgeTable, raw, ("judge",))
    if table is None:
        return None
    keys = table.model_dump(exclude_unset=True)
    asked = keys.get("kind", "rubric" if "model" in keys else "similarity")
    if "measure" in keys and asked != "similarity":
        why = f"kind is {asked!r}" if "kind" in keys else "with a model the kind is 'rubric'"
        checker.add(
            ("judge", "measure"),
            f"[judge] measure decides for kind = 'similarity' only, and {why}: leave it out, or set the kind",
        )
    models = {key: value for key, value in keys.items() if key not in _JUDGES_OWN | _TRUST}
    return JudgeSpec(
        line=checker.lines["judge", "kind"],
        settings=MappingProxyType({key: value for key, value in keys.items() if key in _JUDGES_OWN}),
        model=MappingProxyType(_as_settings(models)),
        lines=MappingProxyType({key: checker.lines["judge", key] for key in keys}),
        requires=MappingProxyType(keys.get("requires", {})),
        trust=keys.get("trust"),
    )


def _as_settings(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a model under the names of ModelSettings."""
    return {_RENAMED.get(key, key): value for key, value in keys.items()}


def _benchmark(checker: Checker, name: str, raw: Mapping[str, Any]) -> BenchmarkTable | None:
    """One benchmark's table with the rows that are right; None when its name or anything of its own is wrong."""
    before = len(checker.mistakes)
    benchmark: str | None = name
    if "kind" in raw or "path" in raw:
        _check_own(checker, name, raw)
    elif name not in BENCHMARKS:
        guess = _unknown_table(checker, name)
        if guess in _TABLES:
            checker.table(ModelTable if guess == "model" else JudgeTable, raw, (name,))
            return None
        if guess in METRICS:
            checker.table(RowKeys, raw, (name,), Around(metric=METRICS[guess]))
            return None
        benchmark = guess if guess in BENCHMARKS else None
    kind = _kind(benchmark, raw)
    own, tables = _split(checker, name, raw, METRICS_OF[kind or "questions"])
    keys = checker.table(BenchmarkKeys, own, (name,), Around(benchmark, kind=kind))
    _check_kind(checker, name, own, kind)
    usable = len(checker.mistakes) == before
    rows = [row_of(checker, (name, metric), value, kind) for metric, value in tables.items()]
    _check_normalization(checker, name, keys, tables, kind)
    if keys is None or not usable:
        return None
    usual = {"version": DEFAULT_VERSION.get(name), "prompt": default_prompt(kind or "questions")}
    settings = {**usual, **keys.model_dump(exclude_unset=True)}
    found: tuple[RowSpec, ...] = tuple(row for row in rows if row is not None)
    return BenchmarkTable(BenchmarkSettings(name, **settings), checker.lines[name,], found)


def _kind(benchmark: str | None, raw: Mapping[str, Any]) -> BenchmarkKind | None:
    """What kind of items the benchmark has; None where a mistake hides it."""
    if benchmark in BENCHMARKS:
        return BENCHMARKS[benchmark]
    kind = raw.get("kind")
    return next((each for each in METRICS_OF if each in OWN_KINDS and each == kind), None)


def _unknown_table(checker: Checker, name: str) -> str:
    """Say that no table has this name, and guess which one was meant ('' when none is near)."""
    if name in METRICS or name in NORMALIZED:
        checker.add((name,), f"[{name}] is a metric: its table belongs to a benchmark, as in [truthfulqa.mc1]")
        return NORMALIZED.get(name, name)
    valid = [*_TABLES, *BENCHMARKS, *METRICS]
    near = get_close_matches(name[:60].lower(), valid, n=1) if len(checker.mistakes) < MAX_HINTS else []
    hint = checker.hint(name, near or [*_TABLES, *BENCHMARKS])
    checker.add((name,), f"unknown table {header((name,))}{hint} ({_OWN})")
    return near[0] if near else ""


def _check_own(checker: Checker, name: str, raw: Mapping[str, Any]) -> None:
    """A table of a team's own questions; the values of its keys are the schema's concern."""
    if name in BENCHMARKS:
        return
    if not _SLUG.fullmatch(name):
        checker.add(
            (name,),
            f"{quoted(name)} is no name for a file of questions: ASCII letters, digits, - and _ make up row ids",
        )
    lacking = [key for key in ("kind", "path") if key not in raw]
    if lacking:
        checker.add((name,), f"{header((name,))} has no {lacking[0]}: {_OWN}")


def _split(
    checker: Checker, name: str, raw: Mapping[str, Any], metrics: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The benchmark's own keys, and the tables of its rows; what is neither is a mistake.

    `metrics` are those that its items can have.
    """
    own: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for key, value in raw.items():
        if key in BenchmarkKeys.model_fields:
            own[key] = value
        elif isinstance(value, dict) or key in METRICS or key in NORMALIZED:
            tables[key] = value
        elif key in RowKeys.model_fields:
            there = header((name, metrics[0]))
            checker.add(
                (name, key),
                f"{header((name,))} {key} is a key of a row: it belongs under a metric, as in {there}",
            )
            checker.table(RowKeys, {key: value}, (name,))
        else:
            checker.unknown_key(BenchmarkKeys, (name, key), metrics)
            checker.sweep(value, (name, key))
    return own, tables


def _check_normalization(
    checker: Checker, name: str, keys: BenchmarkKeys | None, tables: Mapping[str, Any], kind: BenchmarkKind | None
) -> None:
    """A normalization that no row of the table could show would be ignored."""
    if keys is None or kind not in (None, "questions") or keys.normalization in (None, NORMALIZATIONS[0]):
        return
    normalized = [metric.name for metric in METRICS.values() if metric.elicitation == "log_likelihood"]
    if not any(metric in tables for metric in normalized):
        checker.add(
            (name, "normalization"),
            f"{header((name,))} normalization = {keys.normalization!r} changes none of its rows:"
            f" it is for {', '.join(normalized)}",
        )


def _check_kind(checker: Checker, name: str, own: Mapping[str, Any], kind: BenchmarkKind | None) -> None:
    """Keys that say nothing about items of this kind would be ignored: told whatever else is wrong with the table."""
    if kind is None:
        return
    told = {mistake.line for mistake in checker.mistakes}
    for key in sorted(_WORDING & own.keys()):
        if key not in _WORDING_OF[kind] and checker.lines[name, key] not in told:
            owners = " and ".join(ITEMS_OF[each] for each, known in _WORDING_OF.items() if key in known)
            checker.add(
                (name, key), f"{header((name,))} {key} is for {owners}, and this has {ITEMS_OF[kind]}: leave it out"
            )
    if own.get("grades") is True and "order" in own:
        checker.add(
            (name, "order"),
            f"{header((name,))} order = {shown(own['order'])}: grades = true has each response graded alone:"
            " leave one out",
        )
