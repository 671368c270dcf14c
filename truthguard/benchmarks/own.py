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

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from truthguard.benchmarks.base import QuestionSet, closed, data_digest, question_ids
from truthguard.benchmarks.files import (
    BadJSON,
    Faults,
    Pairs,
    TextFile,
    parse_json,
    read_csv,
    read_text,
    unusable,
)
from truthguard.benchmarks.prompts import read_primers
from truthguard.errors import DataError, Mistake, nearest
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
REQUIRED = ("question", "correct_answers", "incorrect_answers")
UNCATEGORISED = "uncategorised"

STARTER = "starter"
_PACKAGED = Path(__file__).parent / "data"

_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Row:
    """One question as the file gives it: values by field name, those absent or (in CSV) empty left out."""

    line: int
    values: Mapping[str, object]


def load(path: Path, name: str, *, closing_period: bool = False) -> QuestionSet:
    """The questions of one file, asked behind the starter set's primers.

    Raises DataError with all mistakes of the file, each with its line.
    """
    file = read_text(path)
    faults = Faults(path)
    counts: Counter[str] = Counter(dropped_choices=0)
    rows = list(_reader(path)(file, faults))
    if not rows and not faults:
        faults.add("no questions")
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


def _reader(path: Path) -> Callable[[TextFile, Faults], Iterator[Row]]:
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    readers = {".csv": _csv_rows, ".jsonl": _json_rows}
    if suffix.lower() not in readers:
        raise DataError([Mistake("own questions are read from .csv and .jsonl (or .csv.gz, .jsonl.gz)", path)])
    return readers[suffix.lower()]


def _csv_rows(file: TextFile, faults: Faults) -> Iterator[Row]:
    header, records = read_csv(file, faults)
    names = [cell.strip().lower().replace(" ", "_") for cell in header]
    _check_header(names, faults)
    for line, cells in records:
        yield Row(line, {name: cell for name, cell in zip(names, cells, strict=True) if cell.strip()})


def _check_header(header: list[str], faults: Faults) -> None:
    """Stop at a header that is not ours: every row would repeat the mistake."""
    if len(header) == 1 and re.search("[;\t]", header[0]):
        faults.fail("the columns are not separated by commas", 1)
    for name, times in Counter(header).items():
        if name not in FIELDS:
            faults.add(f"unknown column {name!r}{nearest(name, FIELDS)}", 1)
        elif times > 1:
            faults.add(f"column {name!r} stands there twice", 1)
    for name in REQUIRED:
        if name not in header:
            faults.add(f"no column {name!r}", 1)
    faults.raise_any()


def _json_rows(file: TextFile, faults: Faults) -> Iterator[Row]:
    # Split on \n alone: JSON strings may hold U+2028 and the like, which splitlines would take for line ends.
    for number, text in enumerate(file.text.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            value = parse_json(text)
        except BadJSON as error:
            faults.add(str(error), number)
            continue
        if not isinstance(value, Pairs):
            faults.add("expected a JSON object on each line", number)
        elif mistakes := _key_mistakes(value):
            for mistake in mistakes:
                faults.add(mistake, number)
        else:
            yield Row(number, {key: each for key, each in value if each is not None})


def _key_mistakes(pairs: Pairs) -> list[str]:
    keys = Counter(key for key, _ in pairs)
    mistakes = [f"unknown field {key!r}{nearest(key, FIELDS)}" for key in keys if key not in FIELDS]
    return mistakes + [f"field {key!r} stands there twice" for key, times in keys.items() if times > 1]


def _items(rows: list[Row], faults: Faults, counts: Counter[str], finish: Callable[[str], str]) -> tuple[Question, ...]:
    ids = _ids(rows, faults, counts)
    items = []
    for row, item_id in zip(rows, ids, strict=True):
        if item := _Reading(row, faults, counts, finish).item(item_id):
            items.append(item)
    return tuple(items)


def _ids(rows: list[Row], faults: Faults, counts: Counter[str]) -> list[str]:
    if not any("id" in row.values for row in rows):
        ids, counts["repeated_ids"] = question_ids((str(row.values.get("question", "")) for row in rows), "q")
        return ids
    ids, lines = [], dict[str, int]()
    for row in rows:
        value = row.values.get("id")
        text = value.strip() if isinstance(value, str) else ""
        if not _ID.fullmatch(text):
            found = "no id" if value is None else f"id {value!r}"
            faults.add(f"{found}: expected a text of ASCII letters, digits, - and _", row.line)
        elif text in lines:
            faults.add(f"id {text!r} stands in line {lines[text]} already", row.line)
        lines.setdefault(text, row.line)
        ids.append(text)
    return ids


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
        """A field that holds one text, stripped; None where it is absent or at fault."""
        value = self.row.values.get(name)
        if value is None:
            if required:
                self._fault(f"no {name!r}")
        elif not isinstance(value, str):
            self._fault(f"expected a text as {name!r}, found {_shown(value)}")
        elif fault := unusable(value):
            self._fault(f"{name!r} {fault}")
        elif not value.strip():
            self._fault(f"{name!r} is empty: give a text, or leave the field out")
        else:
            return value.strip()
        return None

    def _answer(self, name: str) -> str | None:
        text = self._text(name)
        return None if text is None else self.finish(text)

    def _answers(self, name: str) -> list[str]:
        """The answers of a list field, repeats dropped and counted; empty where it is at fault."""
        value = self.row.values.get(name)
        texts = self._listed(name, value) if isinstance(value, list) else self._split(name)
        answers = [self.finish(text.strip()) for text in texts]
        distinct = list(dict.fromkeys(answers))
        self.counts["dropped_choices"] += len(answers) - len(distinct)
        self.counts["repeated_choices"] += len(answers) - len(distinct)
        return distinct

    def _split(self, name: str) -> list[str]:
        """The pieces of one text, empty ones (a trailing ";") dropped and counted."""
        text = self._text(name, required=True)
        if text is None:
            return []
        pieces = text.split(";")
        texts = [piece for piece in pieces if piece.strip()]
        if not texts:
            self._fault(f"{name!r} holds no answer, only {text!r}")
        self.counts["dropped_choices"] += len(pieces) - len(texts)
        return texts

    def _listed(self, name: str, value: list[object]) -> list[str]:
        """The texts of a list; an answer that is empty on its own is a mistake, since somebody meant it."""
        if not value:
            self._fault(f"no answer in {name!r}: at least one is needed")
        texts = []
        for each in value:
            if not isinstance(each, str):
                self._fault(f"expected texts in {name!r}, found {_shown(each)}")
            elif not each.strip():
                self._fault(f"an empty answer in {name!r}")
            elif fault := unusable(each):
                self._fault(f"{each!r} in {name!r} {fault}")
            else:
                texts.append(each)
        return texts


def _shown(value: object) -> str:
    return "an object" if isinstance(value, Pairs) else repr(value)
