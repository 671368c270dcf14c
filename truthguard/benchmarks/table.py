"""Rows of a user's own file, CSV or JSON Lines, with every mistake named by its line.

CSV: a header line with the fields' names (any case, spaces for underscores), commas. JSON Lines: one object a line.
UTF-8, with or without byte order mark, any line ends; a name that ends in .gz is unzipped. A field that is absent,
null or an empty CSV cell is not given; a text that is given must not be empty.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from truthguard.benchmarks.base import question_ids
from truthguard.benchmarks.files import Faults, Pairs, TextFile, read_csv, read_lines, unusable
from truthguard.errors import DataError, Mistake, nearest

UNCATEGORISED = "uncategorised"

_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of file is called, the fields that it may have, and those that a CSV header must name."""

    name: str
    fields: tuple[str, ...]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the file gives it: values by field name, those absent or (in CSV) empty left out."""

    line: int
    values: Mapping[str, object]

    def text(self, name: str, faults: Faults, *, required: bool = False) -> str | None:
        """A field that holds one text, stripped; None where it is absent or at fault."""
        value = self.values.get(name)
        if value is None:
            if required:
                faults.add(f"no {name!r}", self.line)
        elif not isinstance(value, str):
            faults.add(f"expected a text as {name!r}, found {shown(value)}", self.line)
        elif fault := unusable(value):
            faults.add(f"{name!r} {fault}", self.line)
        elif not value.strip():
            faults.add(f"{name!r} is empty: give a text" + ("" if required else ", or leave the field out"), self.line)
        else:
            return value.strip()
        return None

    def texts(self, name: str, faults: Faults) -> tuple[list[str], int]:
        """The texts of a list field, stripped: a list as it stands, one text split on ";".

        Also how many empty pieces (after a trailing ";") were dropped. No text, where the field is absent or at fault.
        """
        value = self.values.get(name)
        return (self._listed(name, value, faults), 0) if isinstance(value, list) else self._split(name, faults)

    def _split(self, name: str, faults: Faults) -> tuple[list[str], int]:
        text = self.text(name, faults, required=True)
        if text is None:
            return [], 0
        pieces = text.split(";")
        texts = [piece.strip() for piece in pieces if piece.strip()]
        if not texts:
            faults.add(f"{name!r} holds no answer, only {text!r}", self.line)
        return texts, len(pieces) - len(texts)

    def _listed(self, name: str, value: list[object], faults: Faults) -> list[str]:
        """The texts of a list; an answer that is empty on its own is a mistake, since somebody meant it."""
        if not value:
            faults.add(f"no answer in {name!r}: at least one is needed", self.line)
        texts = []
        for each in value:
            if not isinstance(each, str):
                faults.add(f"expected texts in {name!r}, found {shown(each)}", self.line)
            elif not each.strip():
                faults.add(f"an empty answer in {name!r}", self.line)
            elif fault := unusable(each):
                faults.add(f"{each!r} in {name!r} {fault}", self.line)
            else:
                texts.append(each.strip())
        return texts


def read_rows(file: TextFile, form: Form, faults: Faults) -> list[Row]:
    """The rows of a file, whose name says whether it is CSV or JSON Lines.

    Raises DataError for another name, and for a header that is not the form's; other mistakes, a file without a
    row among them, go to `faults`.
    """
    suffix = file.path.with_suffix("").suffix if file.path.suffix.lower() == ".gz" else file.path.suffix
    readers: dict[str, Callable[[TextFile, Form, Faults], Iterator[Row]]] = {".csv": _csv_rows, ".jsonl": _json_rows}
    if suffix.lower() not in readers:
        expected = f"{form.name} are read from .csv and .jsonl (or .csv.gz, .jsonl.gz)"
        raise DataError([Mistake(expected, file.path)])
    rows = list(readers[suffix.lower()](file, form, faults))
    if not rows and not faults:
        faults.add(f"no {form.name.split()[-1]}")
    return rows


def row_ids(rows: Sequence[Row], content: Callable[[Row], str], prefix: str, faults: Faults) -> tuple[list[str], int]:
    """The id of each row: its `id` field, which all rows have or none, else `prefix` and a hash of its content.

    Also how many hashes were repeated. Ids of another form and repeated ones go to `faults`.
    """
    if not any("id" in row.values for row in rows):
        return question_ids((content(row) for row in rows), prefix)
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
    return ids, 0


def shown(value: object) -> str:
    """A value of JSON as a message shows it."""
    return "an object" if isinstance(value, Pairs) else repr(value)


def _csv_rows(file: TextFile, form: Form, faults: Faults) -> Iterator[Row]:
    header, records = read_csv(file, faults)
    names = [cell.strip().lower().replace(" ", "_") for cell in header]
    _check_header(names, form, faults)
    for line, cells in records:
        yield Row(line, {name: cell for name, cell in zip(names, cells, strict=True) if cell.strip()})


def _check_header(header: list[str], form: Form, faults: Faults) -> None:
    """Stop at a header that is not the form's: every row would repeat the mistake."""
    if len(header) == 1 and re.search("[;\t]", header[0]):
        faults.fail("the columns are not separated by commas", 1)
    for name, times in Counter(header).items():
        if name not in form.fields:
            faults.add(f"unknown column {name!r}{nearest(name, form.fields)}", 1)
        elif times > 1:
            faults.add(f"column {name!r} stands there twice", 1)
    for name in form.required:
        if name not in header:
            faults.add(f"no column {name!r}", 1)
    faults.raise_any()


def _json_rows(file: TextFile, form: Form, faults: Faults) -> Iterator[Row]:
    for number, value in read_lines(file, faults):
        if not isinstance(value, Pairs):
            faults.add("expected a JSON object on each line", number)
        elif mistakes := _key_mistakes(value, form):
            for mistake in mistakes:
                faults.add(mistake, number)
        else:
            yield Row(number, {key: each for key, each in value if each is not None})


def _key_mistakes(pairs: Pairs, form: Form) -> list[str]:
    keys = Counter(key for key, _ in pairs)
    mistakes = [f"unknown field {key!r}{nearest(key, form.fields)}" for key in keys if key not in form.fields]
    return mistakes + [f"field {key!r} stands there twice" for key, times in keys.items() if times > 1]
