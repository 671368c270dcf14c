"""Reading a data file: gzip, UTF-8, JSON and CSV, with every fault named by file and place."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from truthguard.errors import DataError, Mistake

if TYPE_CHECKING:
    import _csv

BYTE_ORDER_MARK = "\ufeff"
SHOWN_MISTAKES = 20


class Faults:
    """Collects what is wrong with one file, so that a person mends it in one round."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[Mistake] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, message: str, line: int | None = None) -> None:
        self._found.append(Mistake(message, self.path, line))

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Stop here: nothing after this fault can be read."""
        self.add(message, line)
        self.raise_any()
        raise AssertionError("unreachable: a fault was added")

    def raise_any(self) -> None:
        """Raise DataError with the first 20 faults and the number of the others; do nothing without any."""
        if not self._found:
            return
        shown = self._found[:SHOWN_MISTAKES]
        rest = len(self._found) - len(shown)
        if rest:
            shown.append(Mistake(f"{rest} more mistakes like these", self.path))
        raise DataError(shown)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text, without byte order mark and with \\n as line end, and the SHA-256 of its uncompressed bytes."""

    path: Path
    text: str = field(repr=False)
    sha256: str


def read_text(path: Path) -> TextFile:
    """The text of a UTF-8 file, gunzipped when its name ends in .gz.

    Raises DataError for a file that cannot be read, is no gzip, no UTF-8 (with line and byte), or holds NUL.
    """
    return decode(path, read_content(path))


def decode(path: Path, data: bytes) -> TextFile:
    """The text that the content of `path` is. Raises DataError as read_text does."""
    faults = Faults(path)
    try:
        text = data.decode("utf-8").removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        faults.fail(f"not UTF-8: {found} ({error.reason}); save the file as UTF-8", line)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        faults.fail("a NUL character: expected plain text, is the file damaged or UTF-16?", line)
    return TextFile(path, text, hashlib.sha256(data).hexdigest())


def read_content(path: Path) -> bytes:
    """The bytes of a file, gunzipped when its name ends in .gz. Raises DataError."""
    faults = Faults(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        faults.fail(f"cannot be read: {error.strerror or error}")
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        faults.fail(f"not a whole gzip file: {error}")


def has_digest(content: bytes, known: Collection[str]) -> bool:
    """Whether the content's SHA-256 or its git blob is among the known digests."""
    return hashlib.sha256(content).hexdigest() in known or git_blob(content) in known


def git_blob(content: bytes) -> str:
    """The name that git gives to the content, as `git hash-object` prints it.

    >>> git_blob(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Pairs(tuple[tuple[str, object], ...]):
    """A JSON object as its pairs in file order: a key that stands there twice is still seen."""

    __slots__ = ()


class BadJSON(ValueError):
    """Text that is not usable JSON; `line` is counted within the text."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def parse_json(text: str) -> object:
    """The JSON value of `text`, its objects as Pairs. Raises BadJSON."""
    try:
        value: object = json.loads(text, object_pairs_hook=Pairs)
    except json.JSONDecodeError as error:
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        cut = "; is it cut short?" if ended else ""
        raise BadJSON(f"not valid JSON: {error.msg} at column {error.colno}{cut}", error.lineno) from None
    except RecursionError:
        raise BadJSON("not usable JSON: nested too deeply") from None
    except ValueError as error:
        raise BadJSON(f"not usable JSON: {error}") from None
    return value


def read_json(file: TextFile) -> object:
    """The one JSON value of a file. Raises DataError."""
    try:
        return parse_json(file.text)
    except BadJSON as error:
        raise DataError([Mistake(str(error), file.path, error.line)]) from None


def read_entries(file: TextFile, faults: Faults) -> Iterator[tuple[str, int | None, object]]:
    """The rows of a JSON array or of JSON Lines, told apart by content, each with its place in words and its line.

    The place is "row 3", the line None in an array, whose values do not keep it. Raises DataError for an array that
    is not JSON; lines that are not go to `faults`, and so does a file without a row.
    """
    if file.text.lstrip().startswith("["):
        value = read_json(file)
        assert isinstance(value, list)
        rows: list[tuple[int | None, object]] = [(None, each) for each in value]
    else:
        rows = list(read_lines(file, faults))
    if not rows and not faults:
        faults.add("no rows: expected a JSON array, or a JSON object on each line")
    for number, (line, each) in enumerate(rows, start=1):
        yield f"row {number}", line, each


def read_lines(file: TextFile, faults: Faults) -> Iterator[tuple[int, object]]:
    """The JSON value of each line that is not blank, with its number; lines that are not JSON go to `faults`."""
    # Split on \n alone: JSON strings may hold U+2028 and the like, which splitlines would take for line ends.
    for number, text in enumerate(file.text.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            yield number, parse_json(text)
        except BadJSON as error:
            faults.add(str(error), number)


def read_csv(file: TextFile, faults: Faults) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header, and the records after it with the line on which each begins; blank lines are left out.

    A record with another number of cells than the header, and text that is not CSV, are put among the faults.
    """
    reader = csv.reader(io.StringIO(file.text, newline=""), strict=True)
    records = _records(reader, faults)
    _, header = next(records, (1, []))

    def rows() -> Iterator[tuple[int, list[str]]]:
        for line, cells in records:
            if len(cells) == len(header):
                yield line, cells
            else:
                hint = "a cell that holds a comma needs quotes"
                faults.add(f"{len(cells)} cells, the header has {len(header)}: {hint}", line)

    return header, rows()


def _records(reader: _csv.Reader, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        faults.add(f"not valid CSV: {error}", reader.line_num)


def unusable(text: str) -> str | None:
    """Why a text cannot be shown to a model: NUL, or half of a surrogate pair from a JSON escape."""
    for character in text:
        if character == "\0":
            return "holds a NUL character"
        if "\ud800" <= character <= "\udfff":
            return f"holds half of a surrogate pair (\\u{ord(character):04x}): not valid text"
    return None
