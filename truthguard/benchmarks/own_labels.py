"""A team's own labelled answers, on which a judge of truth is measured. This is the documented form:

| field | | |
| --- | --- | --- |
| id | optional, all or none | ASCII letters, digits, - and _; else `tl-` and a hash of question and answer |
| category | optional | `uncategorised` where it is absent or empty |
| question | | |
| answer | | what a model or a person said |
| label | | yes, true or 1 where the answer says nothing false; no, false or 0 where it does |
| correct_answers | optional | with incorrect_answers: what the similarity judge compares with |
| incorrect_answers | optional | |
| source | optional | for people, not read |

CSV or JSON Lines as in truthguard.benchmarks.table; lists as in truthguard.benchmarks.own. Reference answers belong to
the question: one of its rows may give them for all, and rows that give others are a mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.benchmarks.base import content_hash
from truthguard.benchmarks.files import Faults, TextFile
from truthguard.benchmarks.public_labels import Labelled, bare
from truthguard.benchmarks.table import UNCATEGORISED, Form, Row, read_rows, row_ids, shown
from truthguard.records import Choice, Question

FORM = Form(
    "labelled answers",
    ("id", "category", "question", "answer", "label", "correct_answers", "incorrect_answers", "source"),
    required=("question", "answer", "label"),
)
_LABELS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """One row of the file. `id` None = the file gives no ids."""

    id: str | None
    category: str
    row: Labelled
    references: Question | None


def read(file: TextFile) -> list[OwnLabel]:
    """Every row in file order. Raises DataError with all mistakes of the file, each with its line."""
    faults = Faults(file.path)
    rows = read_rows(file, FORM, faults)
    ids: Sequence[str | None] = [None] * len(rows)
    if any("id" in row.values for row in rows):
        ids, _ = row_ids(rows, lambda row: "", "tl", faults)
    references = _references(rows, faults)
    found = [_own_label(row, item_id, references, faults) for row, item_id in zip(rows, ids, strict=True)]
    faults.raise_any()
    return [each for each in found if each is not None]


def _own_label(row: Row, item_id: str | None, references: dict[str, Question], faults: Faults) -> OwnLabel | None:
    category = row.text("category", faults) or UNCATEGORISED
    question, answer = (row.text(name, faults, required=True) for name in ("question", "answer"))
    label = _label(row, faults)
    if question is None or answer is None or label is None:
        return None
    known = references.get(question)
    leaked = known is not None and bare(answer) in {bare(choice.text) for choice in known.choices}
    return OwnLabel(item_id, category, Labelled(question, answer, label, leaked), known)


def _label(row: Row, faults: Faults) -> bool | None:
    value = row.values.get("label")
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if value is None:
        faults.add("no 'label'", row.line)
    elif text not in _LABELS:
        faults.add(f"expected yes or no (true or false, 1 or 0) as 'label', found {shown(value)}", row.line)
    return _LABELS.get(text)


def _references(rows: Sequence[Row], faults: Faults) -> dict[str, Question]:
    """The reference answers by question."""
    found: dict[str, tuple[Question, int]] = {}
    for row in rows:
        question = row.values.get("question")
        if not isinstance(question, str) or not {"correct_answers", "incorrect_answers"} & row.values.keys():
            continue
        given = _question(row, question.strip(), faults)
        before, line = found.setdefault(given.question, (given, row.line))
        if before.choices != given.choices:
            faults.add(f"line {line} gives this question other reference answers", row.line)
    return {text: question for text, (question, _) in found.items()}


def _question(row: Row, question: str, faults: Faults) -> Question:
    correct, incorrect = (
        list(dict.fromkeys(row.texts(name, faults)[0])) for name in ("correct_answers", "incorrect_answers")
    )
    true = {answer.casefold() for answer in correct}
    for answer in incorrect:
        if answer.casefold() in true:
            faults.add(f"{answer!r} stands among the correct and among the incorrect answers", row.line)
    choices = [Choice(answer, True, True) for answer in correct] + [Choice(answer, False, True) for answer in incorrect]
    return Question(f"q-{content_hash(question)}", UNCATEGORISED, question, tuple(choices))
