"""A TOML file as data with line numbers, or the one mistake that keeps it from being read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from truthguard.errors import Mistake, UsageError
from truthguard.thresholds.lines import KeyPath, Lines, TooDeep, locate, statements

MAX_BYTES = 1_000_000
_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(r"\(at line (\d+), column \d+\)$")


def load(path: Path) -> tuple[dict[str, Any], Lines]:
    """The tables of the file, and where each stands.

    UTF-8 with or without a byte order mark, lines ending in LF or CRLF. Raises UsageError when the file cannot
    be read, is larger than 1 MB, is not UTF-8 or not TOML, nests absurdly deep, or holds an integer of more
    than TOML's 64 bits.
    """
    text = _text(path)
    try:
        for _ in statements(text):
            pass
        data = tomllib.loads(text)
    except TooDeep as error:
        _refuse(path, f"{error}: no thresholds file needs that", error.line)
    except tomllib.TOMLDecodeError as error:
        _refuse(path, f"not valid TOML: {_cut(str(error))}", _line_of(str(error), text))
    except ValueError as error:
        # int() refuses to read more than some thousands of digits, without a place.
        _refuse(path, f"not valid TOML: {_cut(str(error))}", _unreadable(text))
    lines = locate(text)
    too_large = [
        Mistake("an integer of TOML has at most 64 bits; this one has more", path, lines[at])
        for at, value in _leaves(data, ())
        if isinstance(value, int) and not -(2**63) <= value < 2**63
    ]
    if too_large:
        raise UsageError(too_large)
    return data, lines


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        _refuse(path, f"cannot be read: {reason}")
    if len(raw) > MAX_BYTES:
        _refuse(path, f"larger than {MAX_BYTES:,} bytes: this is no thresholds file")
    raw = raw.removeprefix(_MARK)
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _refuse(path, f"not UTF-8 (byte 0x{raw[error.start]:02x}): save the file as UTF-8", line)


def _line_of(message: str, text: str) -> int:
    """The line that tomllib names, else the last one: what is missing at the end is missing there."""
    place = _LINE.search(message)
    return int(place[1]) if place else text.rstrip("\n").count("\n") + 1


def _unreadable(text: str) -> int:
    """The line of the first statement that tomllib cannot read by itself."""
    for line, statement in statements(text):
        try:
            tomllib.loads(statement)
        except ValueError:
            return line
    return 1


def _leaves(value: Any, at: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Every value that is neither table nor array, with the path of its key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, at)
    else:
        yield at, value


def _cut(message: str, width: int = 300) -> str:
    return message if len(message) <= width else f"{message[: width // 2]} ... {message[-width // 2 :]}"


def _refuse(path: Path, message: str, line: int | None = None) -> NoReturn:
    raise UsageError([Mistake(message, path, line)]) from None
