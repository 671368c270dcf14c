"""How the keys and values of a thresholds file are shown to the person who wrote them, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from truthguard.errors import nearest
from truthguard.thresholds.lines import KeyPath

_BARE = re.compile(r"[A-Za-z0-9_-]{1,60}")

_EXPECTED = {
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "string_type": "expected text in quotes",
    "string_pattern_mismatch": "must not be blank",
    "date_type": "expected a date such as 2026-12-31, without quotes",
    "model_type": "expected a table",
    "dict_type": "expected a table",
}


def quoted(name: str) -> str:
    """A name as Python would write it, so that no control character reaches the terminal; cut at 60."""
    return repr(name if len(name) <= 60 else name[:60] + "...")


def key(name: str) -> str:
    """A key as it is written: bare where TOML allows it."""
    return name if _BARE.fullmatch(name) else quoted(name)


def header(table: KeyPath) -> str:
    """The table as its header is written.

    >>> header(("truthfulqa", "mc1", "categories", "Confusion: People"))
    "[truthfulqa.mc1.categories.'Confusion: People']"
    """
    return f"[{'.'.join(map(key, table))}]"


def place(path: KeyPath) -> str:
    """A key behind the header of its table.

    >>> place(("truthfulqa", "mc1", "min")), place(("min",))
    ('[truthfulqa.mc1] min', 'min')
    """
    return f"{header(path[:-1])} {key(path[-1])}" if len(path) > 1 else key(path[-1])


def shown(value: object) -> str:
    """A value as it would stand in the file; tables and arrays by their name only.

    >>> shown(True), shown("0.7"), shown(float("nan")), shown([1])
    ('true', "'0.7'", 'nan', 'an array')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    return str(value)


def problem(error: Mapping[str, Any]) -> str:
    """What is wrong with a value, from one of pydantic's errors."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        valid = re.findall(r"'([^']*)'", context["expected"])
        if isinstance(error["input"], str):
            return "unknown value" + nearest(error["input"][:60], valid)
        return f"expected {' or '.join(map(repr, valid))}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:g}"
    if kind == "greater_than":
        return f"must be greater than {context['gt']:g}"
    if kind == "less_than":
        return f"must be less than {context['lt']:.15g}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']:g}"
    return _EXPECTED.get(kind, str(error["msg"]))
