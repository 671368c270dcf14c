"""A thresholds file made ready to measure: settings merged, questions loaded and chosen, rows expanded.

Everything that can be found wrong before a model loads is found here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truthguard.benchmarks.base import QuestionSet, select
from truthguard.benchmarks.multiple_choice import unavailable
from truthguard.benchmarks.prompts import refusal
from truthguard.benchmarks.registry import default_data, load
from truthguard.errors import Mistake, UsageError
from truthguard.records import BenchmarkSettings, ModelSettings, Question, Row, Selection
from truthguard.thresholds.reading import examine
from truthguard.thresholds.rows import expand
from truthguard.thresholds.spec import Gate

EVERYTHING = Selection()
MergeModel = Callable[[Mapping[str, Any]], ModelSettings | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one thresholds file asks for.

    `file_model` is its [model] table, `model` what came of it; None as long as nobody named one.
    """

    path: Path
    file_model: Mapping[str, Any]
    model: ModelSettings | None
    selection: Selection
    settings: Mapping[str, BenchmarkSettings]
    questions: Mapping[str, QuestionSet]
    selected: Mapping[str, tuple[Question, ...]]
    rows: tuple[Row, ...]


def make_plan(
    path: Path,
    *,
    merge_model: MergeModel = lambda file: ModelSettings(**file) if "name" in file else None,
    selection: Selection = EVERYTHING,
    data: Path | None = None,
) -> Plan:
    """Read the file at `path` and everything it names but the model.

    `merge_model` is given the file's [model] table and returns the settings as they stand after every other
    source. `data` is the folder of the benchmark files (default: the user's cache).

    Raises UsageError (DataError for data files) with every mistake found.
    """
    gate, mistakes = examine(path)
    folder = default_data() if data is None else data
    questions: dict[str, QuestionSet] = {}
    for table in gate.benchmarks:
        try:
            questions[table.settings.name] = load(table.settings, data=folder, base=path.parent)
        except UsageError as error:
            mistakes += error.mistakes
    gate = replace(gate, benchmarks=tuple(table for table in gate.benchmarks if table.settings.name in questions))
    selected = {name: select(loaded.items, selection) for name, loaded in questions.items()}
    rows: tuple[Row, ...] = ()
    try:
        rows = expand(gate, questions, selected, unavailable)
    except UsageError as error:
        mistakes += error.mistakes
    table_of_model = _beside(gate.model, path.parent)
    model = merge_model(table_of_model)
    if model is not None:
        mistakes += _prompt_mistakes(path, gate, model)
    if mistakes:
        raise UsageError(_sorted(path, mistakes))
    settings = {table.settings.name: table.settings for table in gate.benchmarks}
    return Plan(path, table_of_model, model, selection, settings, questions, selected, rows)


def _sorted(path: Path, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Those of the thresholds file by line, then those of data files as they were found."""
    return sorted(mistakes, key=lambda mistake: (mistake.file != path, (mistake.line or 0) * (mistake.file == path)))


def default_plan(
    path: Path,
    settings: BenchmarkSettings,
    model: ModelSettings | None,
    *,
    selection: Selection = EVERYTHING,
    data: Path | None = None,
) -> Plan:
    """The plan of one benchmark that no file describes; it has no rows."""
    loaded = load(settings, data=default_data() if data is None else data, base=path)
    chosen = select(loaded.items, selection)
    name = settings.name
    return Plan(path, {}, model, selection, {name: settings}, {name: loaded}, {name: chosen}, ())


def _prompt_mistakes(path: Path, gate: Gate, model: ModelSettings) -> Iterator[Mistake]:
    """A prompt that the model's settings cannot express is a mistake at the benchmark's line."""
    for table in gate.benchmarks:
        why = refusal(table.settings.prompt, chat_template=model.chat_template, system_prompt=model.system_prompt)
        if why:
            yield Mistake(f"[{table.settings.name}]: {why}", path, table.line)


def _beside(model: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """A relative path of a model lies beside the file that names it, wherever pytest was started."""
    name = model.get("name")
    if isinstance(name, str) and not Path(name).is_absolute() and os.path.exists(folder / name):
        return {**model, "name": str(folder / name)}
    return model
