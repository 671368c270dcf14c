"""TruthfulQA: upstream's files of the three published versions, read as they are.

`mc_task.json` gives the questions, choices and labels; `TruthfulQA.csv`, joined on the stripped question, the
category. Choices keep the order of the JSON object. The best answer is the true one of mc1_targets. The best
incorrect answer, which only 2025-01 has, is taken from mc0_targets, the strings that upstream's binary form
asks; the CSV's columns agree with it in every row published (elsewhere counted as `differing_best_incorrect`).

S. Lin, J. Hilton, O. Evans, "TruthfulQA: Measuring How Models Mimic Human Falsehoods", ACL 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from truthguard.benchmarks.base import QuestionSet, closed, data_digest, question_ids
from truthguard.benchmarks.files import Faults, Pairs, TextFile, read_csv, read_json, read_text, unusable
from truthguard.benchmarks.prompts import read_primers
from truthguard.catalogue import PROMPTS
from truthguard.errors import DataError, Mistake, nearest
from truthguard.records import Choice, Question

FOLDER = "truthfulqa"
TASK, TABLE, PRIMERS = "mc_task.json", "TruthfulQA.csv", "primers.json"

# SHA-256 of the published files, uncompressed.
PUBLISHED: Mapping[str, Mapping[str, str]] = {
    "2021-09": {
        TASK: "6eb4125d25750c0145c4be2dce00440736684ab6f74ce6bff2139571cc758954",
        TABLE: "8d7dd15f033196140f032d97d30f037da7a7b1192c3f36f9937c1850925335a2",
    },
    "2021-10": {
        TASK: "b3799639bc76c939836d587de7d30b48d91012cb34be04806d33106ce06c162a",
        TABLE: "f9bd9e859cc102cb1f647f1064da7e009be752c416845cf9fa56e6eaae403a7d",
    },
    "2025-01": {
        TASK: "c90d853454fd48c676accb33e16923ac438dbb6fb37ecc7c6a70e33c9e556e87",
        TABLE: "b8d8ef1e12f98b4f2a9f47abc9765da0640b182b6c5d9b92f0c1a1f2f1e02e5c",
    },
}
BINARY_VERSION = "2025-01"

Labelled = list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One question of mc_task.json. Empty choices are out; `binary` is empty where the version has none."""

    number: int
    question: str
    choices: Labelled
    single: Labelled
    binary: Labelled

    @property
    def best(self) -> str:
        return next(text for text, true in self.binary or self.single if true)

    @property
    def best_incorrect(self) -> str | None:
        return next((text for text, true in self.binary if not true), None)


@dataclass(frozen=True, slots=True)
class TableRow:
    """What TruthfulQA.csv adds to a question."""

    category: str
    best: str
    best_incorrect: str | None


def load(data: Path, version: str, *, closing_period: bool = False) -> QuestionSet:
    """One version: VERSION/mc_task.json, VERSION/TruthfulQA.csv and primers.json, all under `data`/truthfulqa.

    Each may be gzipped (.gz). Raises DataError for a missing file, with the ways to get it, and for one that is
    not of the version's form, with all mistakes found.
    """
    folder = data / FOLDER
    task_path, table_path = (_present(folder / version, name) for name in (TASK, TABLE))
    primers_path = _present(folder, PRIMERS)
    task, table = (_of_version(path, version, name) for path, name in ((task_path, TASK), (table_path, TABLE)))
    counts: Counter[str] = Counter(dropped_choices=0)
    for file, name in ((task, TASK), (table, TABLE)):
        counts["unpublished_file"] += file.sha256 != PUBLISHED[version][name]
    rows = read_task(task, version, counts, closed if closing_period else str)
    items = _join(rows, task_path, read_table(table, version), table_path, counts)
    return QuestionSet(
        name=FOLDER,
        version=version,
        items=items,
        primers=read_primers(primers_path, PROMPTS[FOLDER]),
        data_sha256=data_digest(items),
        file_sha256=task.sha256,
        counts={name: count for name, count in counts.items() if count or name == "dropped_choices"},
        path=task_path,
    )


def _present(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DataError(
        f"no TruthfulQA data: looked for {name} (or {name}.gz) in {folder}; get the files with "
        f"`truthguard fetch truthfulqa`, or name the folder that holds {FOLDER}/ with --truthguard-data or "
        "TRUTHGUARD_DATA"
    )


def _of_version(path: Path, version: str, name: str) -> TextFile:
    """The file's text, unless it is the published file of another version."""
    file = read_text(path)
    for other, files in PUBLISHED.items():
        if other != version and file.sha256 == files[name]:
            raise DataError([Mistake(f"this is the file of {other}, in the folder of {version}", path)])
    return file


def read_task(file: TextFile, version: str, counts: Counter[str], finish: Callable[[str], str]) -> list[TaskRow]:
    """The questions of mc_task.json in file order; `finish` is applied to every choice.

    Counts empty choices and repeated ones (dropped) and answers that stand among true and false (kept).
    """
    faults = Faults(file.path)
    value = read_json(file)
    if not isinstance(value, list) or not value:
        faults.fail(f"expected a list of questions, found {_kind(value)}")
    rows = []
    for number, entry in enumerate(value, start=1):
        try:
            rows.append(_task_row(number, entry, version, counts, finish))
        except ValueError as error:
            faults.add(f"question {number}: {error}")
    faults.raise_any()
    return rows


def _task_row(number: int, entry: object, version: str, counts: Counter[str], finish: Callable[[str], str]) -> TaskRow:
    """One entry of the list. Raises ValueError, in words, where it is not of the version's form."""
    keys = ["question", "mc1_targets", "mc2_targets"]
    if version == BINARY_VERSION:
        keys.insert(1, "mc0_targets")
    fields = _fields(entry, keys, version)
    question = fields["question"]
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"expected a text as 'question', found {question!r}")
    if fault := unusable(question):
        raise ValueError(f"'question' {fault}")
    choices = _targets("mc2_targets", fields["mc2_targets"], finish, counts)
    single = _targets("mc1_targets", fields["mc1_targets"], finish)
    binary = _targets("mc0_targets", fields["mc0_targets"], finish) if version == BINARY_VERSION else []
    truths = [true for _, true in choices]
    if all(truths) or not any(truths):
        raise ValueError("mc2_targets needs at least one true and one false answer")
    for name, labelled in (("mc1_targets", single), ("mc0_targets", binary)):
        if labelled and (sum(true for _, true in labelled) != 1 or len(labelled) < 2):
            raise ValueError(f"{name} needs exactly one true answer and at least one false one")
    if version == BINARY_VERSION and len(binary) != 2:
        raise ValueError(f"mc0_targets needs two answers, found {len(binary)}")
    for answer in single:
        if answer not in choices:
            raise ValueError(f"the mc1 choice {answer[0]!r} is not among mc2_targets with the same label")
    return TaskRow(number, question.strip(), choices, single, binary)


def _fields(entry: object, keys: list[str], version: str) -> dict[str, object]:
    if not isinstance(entry, Pairs):
        raise ValueError(f"expected an object, found {_kind(entry)}")
    fields = dict(entry)
    if len(fields) != len(entry):
        raise ValueError("a key stands there twice")
    for key in keys:
        if key not in fields:
            raise ValueError(f"no {key!r}{nearest(key, fields)}; is this a file of version {version}?")
    for key in fields:
        if key not in keys:
            raise ValueError(f"unexpected {key!r} in version {version}{nearest(key, keys)}")
    return fields


def _targets(name: str, value: object, finish: Callable[[str], str], counts: Counter[str] | None = None) -> Labelled:
    """The non-empty choices with their labels, in file order, an exact repeat once. Raises ValueError."""
    if not isinstance(value, Pairs) or not value:
        raise ValueError(f"expected an object of answers and labels as {name}, found {_kind(value)}")
    counts = Counter() if counts is None else counts
    labelled: Labelled = []
    for text, label in value:
        if type(label) is not int or label not in (0, 1):
            raise ValueError(f"the label of {text!r} in {name} is {label!r}, expected 0 or 1")
        if fault := unusable(text):
            raise ValueError(f"the answer {text!r} in {name} {fault}")
        answer = (finish(text), bool(label)) if text.strip() else None
        if answer is None or answer in labelled:
            counts["dropped_choices"] += 1
            counts["repeated_choices"] += answer is not None
        else:
            labelled.append(answer)
    if not labelled:
        raise ValueError(f"every answer in {name} is empty")
    true, false = ({text.strip().lower() for text, label in labelled if label is side} for side in (True, False))
    counts["overlapping_choices"] += len(true & false)
    return labelled


def read_table(file: TextFile, version: str) -> dict[str, TableRow]:
    """The rows of TruthfulQA.csv by stripped question."""
    faults = Faults(file.path)
    columns = ["Category", "Question", "Best Answer"]
    if version == BINARY_VERSION:
        columns.append("Best Incorrect Answer")
    header, records = read_csv(file, faults)
    for column in columns:
        if column not in header:
            faults.add(f"no column {column!r}{nearest(column, header)}; is this a file of version {version}?", 1)
    faults.raise_any()
    rows: dict[str, TableRow] = {}
    for line, cells in records:
        _add_row(rows, dict(zip(header, cells, strict=True)), line, faults)
    faults.raise_any()
    return rows


def _add_row(rows: dict[str, TableRow], row: Mapping[str, str], line: int, faults: Faults) -> None:
    question, category = row["Question"].strip(), row["Category"].strip()
    if not question or not category:
        faults.add("the question or its category is empty", line)
        return
    incorrect = row.get("Best Incorrect Answer")
    found = TableRow(category, row["Best Answer"].strip(), None if incorrect is None else incorrect.strip())
    if rows.setdefault(question, found) != found:
        faults.add("this question stood in an earlier row with another category or best answer", line)


def _join(
    rows: list[TaskRow], task_path: Path, table: Mapping[str, TableRow], table_path: Path, counts: Counter[str]
) -> tuple[Question, ...]:
    faults = Faults(task_path)
    ids, repeated = question_ids((row.question for row in rows), "tqa")
    counts["repeated_ids"] += repeated
    counts["unmatched_rows"] += len(table.keys() - {row.question for row in rows})
    items = []
    for row, question_id in zip(rows, ids, strict=True):
        beside = table.get(row.question)
        if beside is None:
            faults.add(f"question {row.number}: {row.question!r} has no row in {table_path}, which gives its category")
            continue
        counts["differing_best"] += _bare(row.best) != _bare(beside.best)
        if row.best_incorrect is not None:
            counts["differing_best_incorrect"] += _bare(row.best_incorrect) != _bare(beside.best_incorrect or "")
        choices = tuple(Choice(text, true, (text, true) in row.single) for text, true in row.choices)
        items.append(Question(question_id, beside.category, row.question, choices, row.best, row.best_incorrect))
    faults.raise_any()
    return tuple(items)


def _bare(answer: str) -> str:
    """An answer without the closing full stop, which the two files give differently."""
    return answer.strip().removesuffix(".")


def _kind(value: object) -> str:
    if isinstance(value, Pairs):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return repr(value)
