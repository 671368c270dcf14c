"""A team's own questions, as CSV or JSON Lines. This is the documented form:

| field | | |
| --- | --- | --- |
| id | optional, all or none | ASCII letters, digits, - and _; else `q-` and a hash of the question |
| category | optional | `uncategorised` where it is absent or empty |
| question | | |
| best_answer | optional | the first correct answer where it is absent or empty |
| correct_answers | | at least one |
| incorrect_answers | | at least one |
| best_incorrect_answer | optional | what mc_binary sets against the best answer |
| source | optional | for people, not read |

CSV: a header line with these names (any case, spaces for underscores), commas, a cell with several answers is
split on ";". JSON Lines: one object a line, answers as a list of texts, or as one text that is split on ";".
UTF-8, with or without byte order mark, any line ends; a name that ends in .gz is unzipped. Texts are stripped.
A field that is absent, null or an empty CSV cell is not given; a text that is given must not be empty.
Choices are the correct answers, best one first, then the incorrect ones; a best or best incorrect answer that
its list lacks is put before the list and counted. mc1's choices are the best answer and all incorrect ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from truthguard.benchmarks.base import QuestionSet, closed, data_digest
from truthguard.benchmarks.files import Faults, read_text
from truthguard.benchmarks.prompts import read_primers
from truthguard.benchmarks.table import UNCATEGORISED, Form, Row, read_rows, row_ids
from truthguard.records import Choice, Question

FIELDS = (
    "id",
    "category",
    "question",
    "best_answer",
    "correct_answers",
    "incorrect_answers",
    "best_incorrect_answer",
    "source",
)
FORM = Form("own questions", FIELDS, required=("question", "correct_answers", "incorrect_answers"))

STARTER = "starter"
_PACKAGED = Path(__file__).parent / "data"


def load(path: Path, name: str, *, closing_period: bool = False) -> QuestionSet:
    """The questions of one file, asked behind the starter set's primers.

    Raises DataError with all mistakes of the file, each with its line.
    """
    file = read_text(path)
    faults = Faults(path)
    counts: Counter[str] = Counter(dropped_choices=0)
    rows = read_rows(file, FORM, faults)
    items = _items(rows, faults, counts, closed if closing_period else str)
    faults.raise_any()
    return QuestionSet(
        name=name,
        version=None,
        items=items,
        primers=read_primers(_PACKAGED / "starter_primers.json", ("qa",)),
        data_sha256=data_digest(items),
        file_sha256=file.sha256,
        counts={key: count for key, count in counts.items() if count or key == "dropped_choices"},
        path=path,
    )


def load_starter(*, closing_period: bool = False) -> QuestionSet:
    """The questions that ship with the package."""
    return load(_PACKAGED / "starter.jsonl", STARTER, closing_period=closing_period)


def _items(rows: list[Row], faults: Faults, counts: Counter[str], finish: Callable[[str], str]) -> tuple[Question, ...]:
    ids, counts["repeated_ids"] = row_ids(rows, lambda row: str(row.values.get("question", "")), "q", faults)
    items = []
    for row, item_id in zip(rows, ids, strict=True):
        if item := _Reading(row, faults, counts, finish).item(item_id):
            items.append(item)
    return tuple(items)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One row on its way to a Question: every mistake goes to `faults` with the row's line."""

    row: Row
    faults: Faults
    counts: Counter[str]
    finish: Callable[[str], str]

    def item(self, item_id: str) -> Question | None:
        """The question, its best answer first; None where a part of it is at fault."""
        question = self._text("question", required=True)
        category = self._text("category") or UNCATEGORISED
        correct, incorrect = self._answers("correct_answers"), self._answers("incorrect_answers")
        best, best_incorrect = self._answer("best_answer"), self._answer("best_incorrect_answer")
        if question is None or not correct or not incorrect:
            return None
        best = correct[0] if best is None else best
        self.counts["added_answers"] += best not in correct
        correct = [best, *(answer for answer in correct if answer != best)]
        if best_incorrect is not None and best_incorrect not in incorrect:
            self.counts["added_answers"] += 1
            incorrect = [best_incorrect, *incorrect]
        true = {answer.casefold() for answer in correct}
        for answer in incorrect:
            if answer.casefold() in true:
                self._fault(f"{answer!r} stands among the correct and among the incorrect answers")
        choices = [Choice(answer, True, answer == best) for answer in correct]
        choices += [Choice(answer, False, True) for answer in incorrect]
        return Question(item_id, category, question, tuple(choices), best, best_incorrect)

    def _fault(self, message: str) -> None:
        self.faults.add(message, self.row.line)

    def _text(self, name: str, *, required: bool = False) -> str | None:
        return self.row.text(name, self.faults, required=required)

    def _answer(self, name: str) -> str | None:
        text = self._text(name)
        return None if text is None else self.finish(text)

    def _answers(self, name: str) -> list[str]:
        """The answers of a list field, repeats and empty pieces dropped and counted; empty where it is at fault."""
        texts, empty = self.row.texts(name, self.faults)
        answers = [self.finish(text) for text in texts]
        distinct = list(dict.fromkeys(answers))
        self.counts["dropped_choices"] += empty + len(answers) - len(distinct)
        self.counts["repeated_choices"] += len(answers) - len(distinct)
        return distinct
