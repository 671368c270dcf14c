"""The JSON object in a judge's reply, searched from the strictest reading to the most lenient one.

No recursion of its own and time linear in the text, so that braces without end are an unreadable reply and not a
crash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

# Possessive, and an unclosed string reaches to the end: no quotation mark is looked at twice.
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_BRACE = re.compile(rf"{_STRING}|[{{}}]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)


class Members(list[tuple[str, object]]):
    """The members of a JSON object in order, so that a repeated key is seen."""


def candidates(text: str) -> Iterator[tuple[str, str]]:
    """What may be the JSON of a reply, strictest reading first, each with the text before it.

    The whole reply; its last complete top-level object, which leaves a code fence outside; that object without
    trailing commas. Strings are never touched.

    >>> list(candidates('So: {"a": ",}",}'))[1:]
    [('{"a": ",}",}', 'So: '), ('{"a": ",}"}', 'So: ')]
    """
    yield text, ""
    span = _last_object(text)
    if span:
        found, before = text[slice(*span)], text[: span[0]]
        yield found, before
        yield _TRAILING_COMMA.sub(lambda match: match[1] or "", found), before


def parse(text: str) -> object:
    """The value of a text that is strict JSON, objects as `Members`.

    Raises ValueError for any other text, NaN and Infinity included, and for JSON nested beyond reason.
    """
    try:
        return json.loads(text, object_pairs_hook=Members, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _last_object(text: str) -> tuple[int, int] | None:
    """Where the last complete top-level {...} stands. Quotes count inside of braces only: prose has apostrophes."""
    last, start = None, text.find("{")
    while start >= 0:
        depth = 0
        for brace in _BRACE.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                last = (start, brace.end())
                break
        else:
            return last
        start = text.find("{", last[1])
    return last
