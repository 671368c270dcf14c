"""A thresholds file made ready to measure: settings merged, questions loaded and chosen, rows expanded.

Everything that can be found wrong before a model loads is found here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truthguard.benchmarks.base import QuestionSet, select
from truthguard.benchmarks.dialogues import unavailable
from truthguard.benchmarks.judging import undecidable
from truthguard.benchmarks.labels import unmeasurable
from truthguard.benchmarks.prompts import refusal
from truthguard.benchmarks.registry import default_data, load
from truthguard.catalogue import kind_of, metric_of, printed_judge
from truthguard.errors import Mistake, UsageError
from truthguard.records import (
    BenchmarkKind,
    BenchmarkSettings,
    Item,
    JudgeSettings,
    ModelSettings,
    Question,
    Response,
    Row,
    Selection,
)
from truthguard.thresholds.reading import examine
from truthguard.thresholds.rows import expand
from truthguard.thresholds.spec import Gate, JudgeSpec
from truthguard.thresholds.unused import overruled, unused

EVERYTHING = Selection()
SIMILARITY = JudgeSettings()
# Beside the thresholds file, unless it names another one.
TRUST_FILE = "judge_trust.json"
MergeModel = Callable[[Mapping[str, Any]], ModelSettings | None]
MergeJudge = Callable[[JudgeSpec, Mapping[str, Any]], JudgeSettings]


def file_model(model: Mapping[str, Any]) -> ModelSettings | None:
    """The model as the file has it; None when it names none."""
    return ModelSettings(**model) if "name" in model else None


def file_judge(judge: JudgeSpec, model: Mapping[str, Any]) -> JudgeSettings:
    """The judge as the file has it, `model` being the [model] beside it: a rubric where it names a model.

    Without a device of its own it runs where that one runs.
    """
    keys = {"device": model["device"], **judge.model} if "device" in model else judge.model
    named = file_model(keys)
    kind = "similarity" if named is None else "rubric"
    return JudgeSettings(**{"kind": kind, **judge.settings, "model": named})


@dataclass(frozen=True, slots=True)
class Plan:
    """What one thresholds file asks for.

    `file_model` and `file_judge` are its [model] and [judge] tables, `model` and `judge` what came of them; the
    model is None as long as nobody named one. `warnings` are for the summary.
    """

    path: Path
    file_model: Mapping[str, Any]
    model: ModelSettings | None
    selection: Selection
    settings: Mapping[str, BenchmarkSettings]
    questions: Mapping[str, QuestionSet]
    selected: Mapping[str, tuple[Item, ...]]
    rows: tuple[Row, ...]
    file_judge: JudgeSpec = field(default_factory=JudgeSpec)
    judge: JudgeSettings = SIMILARITY
    warnings: tuple[str, ...] = ()

    @property
    def requires(self) -> Mapping[str, float]:
        """What the judge must have reached before its word counts, by benchmark and metric."""
        return self.file_judge.requires

    @property
    def trust_path(self) -> Path:
        """The file that says what the judge has reached."""
        return self.path.parent / Path(self.file_judge.trust or TRUST_FILE).expanduser()

    def asks_model(self, benchmark: str) -> bool:
        """Whether anything is asked of the model: not where every response is given or the judge is measured."""
        return any(
            isinstance(item, Question) or (isinstance(item, Response) and item.response is None)
            for item in self.selected[benchmark]
        )


def make_plan(
    path: Path,
    *,
    merge_model: MergeModel = file_model,
    merge_judge: MergeJudge = file_judge,
    selection: Selection = EVERYTHING,
    data: Path | None = None,
) -> Plan:
    """Read the file at `path` and everything it names but the models.

    `merge_model` is given the file's [model] table and returns the settings as they stand after every other
    source; `merge_judge` is given [judge] and [model]. `data` is the folder of the benchmark files (default: the
    user's cache).

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
    spec = replace(gate.judge, model=_beside(gate.judge.model, path.parent))
    model, judge = merge_model(table_of_model), merge_judge(spec, table_of_model)
    mistakes += [*_prompt_mistakes(path, gate, model), *_judge_mistakes(path, gate, judge, all_rows=not mistakes)]
    mistakes += _label_mistakes(path, gate, judge, questions)
    if mistakes:
        raise UsageError(_sorted(path, mistakes))
    settings = {table.settings.name: table.settings for table in gate.benchmarks}
    rows = _with_judges(rows, judge, {name: loaded.kind for name, loaded in questions.items()})
    warnings = _judge_warnings(path, gate, judge)
    return Plan(path, table_of_model, model, selection, settings, questions, selected, rows, spec, judge, warnings)


def _sorted(path: Path, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Those of the thresholds file by line, then those of data files as they were found."""
    return sorted(mistakes, key=lambda mistake: (mistake.file != path, (mistake.line or 0) * (mistake.file == path)))


def default_plan(
    path: Path,
    settings: BenchmarkSettings,
    model: ModelSettings | None,
    *,
    file_judge: JudgeSpec | None = None,
    judge: JudgeSettings = SIMILARITY,
    selection: Selection = EVERYTHING,
    data: Path | None = None,
) -> Plan:
    """The plan of one benchmark that the file at `path` does not describe; it has no rows.

    What the file's [judge] requires, `file_judge`, holds here too.
    """
    loaded = load(settings, data=default_data() if data is None else data, base=path)
    chosen = select(loaded.items, selection)
    name = settings.name
    spec = file_judge or JudgeSpec()
    return Plan(path, {}, model, selection, {name: settings}, {name: loaded}, {name: chosen}, (), spec, judge)


def _with_judges(rows: tuple[Row, ...], judge: JudgeSettings, kinds: Mapping[str, BenchmarkKind]) -> tuple[Row, ...]:
    """Judged rows say who judges: it stands in their printed names."""
    model = None if judge.model is None else judge.model.label

    def name(row: Row) -> str | None:
        return printed_judge(metric_of(row.metric).name, judge.kind, model, kinds[row.benchmark])

    return tuple(replace(row, judge=name(row)) for row in rows)


def _prompt_mistakes(path: Path, gate: Gate, model: ModelSettings | None) -> Iterator[Mistake]:
    """A prompt that the model's settings cannot express is a mistake at the benchmark's line."""
    if model is None or "model" in gate.unread:
        return
    for table in gate.benchmarks:
        if kind_of(table.settings) not in ("questions", "correctness"):
            continue
        why = refusal(table.settings.prompt, chat_template=model.chat_template, system_prompt=model.system_prompt)
        if why:
            yield Mistake(f"[{table.settings.name}]: {why}", path, table.line)


def _label_mistakes(
    path: Path, gate: Gate, judge: JudgeSettings, questions: Mapping[str, QuestionSet]
) -> Iterator[Mistake]:
    """Labels that cannot measure this judge, at their table's line."""
    if "judge" in gate.unread:
        return
    for table in gate.benchmarks:
        if why := unmeasurable(questions[table.settings.name], judge):
            yield Mistake(f"[{table.settings.name}]: {why}", path, table.line)


def _judge_mistakes(path: Path, gate: Gate, judge: JudgeSettings, *, all_rows: bool) -> Iterator[Mistake]:
    """A judge that cannot decide what the rows want, that lacks what its own kind needs, or has keys without effect.

    `all_rows` says whether the gate has every row of the file: none of them was wrong.
    """
    if "judge" in gate.unread:
        return
    elsewhere = "" if judge.model else " (--truthguard-judge SPEC and TRUTHGUARD_JUDGE name one, too)"
    if judge.kind != "similarity" and judge.model is None:
        lacking = f"kind = {judge.kind!r} asks a model, and none is named: give it a model"
        yield Mistake(f"[judge] {lacking}{elsewhere}", path, gate.judge.line)
        return
    if judge.model is not None and judge.model.system_prompt is not None and not judge.model.chat_template:
        why = refusal("qa", chat_template=False, system_prompt=judge.model.system_prompt)
        yield Mistake(f"[judge]: {why}", path, gate.judge.lines["system_prompt"])
    rows = [(table.settings, row) for table in gate.benchmarks for row in table.rows]
    undecided = [
        (settings.name, row, why)
        for settings, row in rows
        if (why := undecidable(row.metric, judge, kind_of(settings)))
    ]
    for name, row, why in undecided:
        yield Mistake(f"[{name}.{row.metric}]: {why}{elsewhere}", path, row.line)
    if undecided:
        return  # what these rows need may be what gives the keys their effect
    asked = [(row.metric, kind_of(settings)) for settings, row in rows]
    for key, why in unused(gate.judge, judge, asked if all_rows else None):
        yield Mistake(f"[judge] {key} has no effect: {why}{elsewhere}", path, gate.judge.lines[key])


def _judge_warnings(path: Path, gate: Gate, judge: JudgeSettings) -> tuple[str, ...]:
    """What the command line or the environment takes the effect from: a file that is right stays valid with them."""
    why = overruled(gate.judge, judge)
    return () if why is None else (str(Mistake(why, path, gate.judge.lines["measure"])),)


def _beside(model: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Relative paths of a model and its adapter lie beside the file that names them, wherever pytest was started."""
    found = dict(model)
    name, adapter = model.get("name"), model.get("adapter")
    if isinstance(name, str) and not Path(name).is_absolute() and os.path.exists(folder / name):
        found["name"] = str(folder / name)
    if adapter is not None:
        found["adapter"] = str(folder / Path(adapter).expanduser())
    return found
