"""Where each key and table of a TOML text stands: tomllib tells what was read, not where.

The text is cut into statements (a table header, or a key with its value, which may span lines), and tomllib
itself reads the keys of each. One pass of a regular expression in which every token consumes what it looked at,
so the time grows with the size of the text whatever the text is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str, ...]

# Deeper than any thresholds file needs: tomllib recurses into brackets, and its time grows with the square of
# the number of parts of a dotted key.
MAX_DEPTH = 16

# Strings first, so that nothing inside them counts; one that is never closed ends with its line or the text.
_TOKEN = re.compile(
    r"""
      (?P<string> \"{3} (?: [^"\\] | \\. | \"{1,2}(?!") )*+ (?: \"{3,5} | \\?\Z )
                | '{3} (?: [^'] | '{1,2}(?!') )*+ (?: '{3,5} | \Z )
                | " (?: [^"\\\n] | \\[^\n] )*+ [\\"]?
                | ' [^'\n]*+ '? )
    | (?P<comment> \#[^\n]*+ )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<newline> \n )
    | (?P<dot> \. )
    | (?P<separator> [=,] )
    """,
    re.VERBOSE | re.DOTALL,
)

# The common statement, whose key needs no parser; an inline table does, because its keys have lines too.
_PLAIN = re.compile(r"[ \t]*+([A-Za-z0-9_-]++)[ \t]*+=[ \t]*+(?!\{)")


class TooDeep(ValueError):
    """Brackets or dotted keys nested deeper than MAX_DEPTH, which no thresholds file needs."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"{what} nest more than {MAX_DEPTH} deep")
        self.line = line


@dataclass(frozen=True, slots=True)
class Lines:
    """The line (from 1) on which each table and key is written.

    A table that is only implied, as `[a]` by `[a.b]`, has the line of what first implies it.
    """

    written: Mapping[KeyPath, int]
    implied: Mapping[KeyPath, int]

    def __getitem__(self, path: KeyPath) -> int:
        """The line of the path, else of the nearest table around it."""
        while path:
            line = self.written.get(path) or self.implied.get(path)
            if line:
                return line
            path = path[:-1]
        return 1


def statements(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each statement, in order; blank lines and comments belong to none or to one.

    Lines end in `\\n`. Any text can be cut, valid or not. Raises TooDeep.
    """
    line, start, start_line, depth, dots = 1, 0, 1, 0, 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "newline":
            line, dots = line + 1, 0
            if depth <= 0:
                yield start_line, text[start : token.start()]
                start, start_line, depth = token.end(), line, 0
        elif kind == "dot":
            dots += 1
            if dots > MAX_DEPTH:
                raise TooDeep("dotted keys", line)
        elif kind == "string":
            line += text.count("\n", token.start(), token.end())
        elif kind != "comment":
            dots = 0
            depth += {"open": 1, "close": -1}.get(kind or "", 0)
            if depth > MAX_DEPTH:
                raise TooDeep("brackets", line)
    yield start_line, text[start:]


def locate(text: str) -> Lines:
    """The lines of every table and key of a valid TOML text, those inside inline tables included."""
    written: dict[KeyPath, int] = {}
    implied: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, statement in statements(text):
        plain = _PLAIN.match(statement)
        if plain:
            written.setdefault((*table, plain[1]), line)
            continue
        read = tomllib.loads(statement)
        if statement.lstrip(" \t").startswith("["):
            table = _header(read)
            written.setdefault(table, line)
            for length in range(1, len(table)):
                implied.setdefault(table[:length], line)
        else:
            for path, leaf in _paths(read):
                (written if leaf else implied).setdefault((*table, *path), line)
    return Lines(written, implied)


def _header(read: Any) -> KeyPath:
    """The path that a table header alone names, `[[a.b]]` as well as `[a.b]`."""
    path: list[str] = []
    while read:
        if isinstance(read, list):
            read = read[0]
        else:
            ((part, read),) = read.items()
            path.append(part)
    return tuple(path)


def _paths(read: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, bool]]:
    """Each path of one `key = value`, with whether something other than a table stands there."""
    for key, value in read.items():
        path = (*above, key)
        yield path, not isinstance(value, dict)
        if isinstance(value, dict):
            yield from _paths(value, path)
