"""Where keys and tables stand in a TOML text."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.thresholds.lines import MAX_DEPTH, KeyPath, TooDeep, locate, statements

TEXT = '''# a comment = 1 [no.table]
top = 1

[a.b]  # [no]
x = 1
y.z = [
  1, # ]
  """
]""", '[',
]
w = { q = { r = 1 }, "s.t" = '#', u.v = "]" }

[[k]]
"a b".'c' = """x
[no]
e = "\\""" """
d = \'\'\'
[no]\'\'\'
last = 2026-12-31 07:32:00
[a]
v = 2
'''


def test_every_key_has_its_line() -> None:
    """Comments, multi-line strings and arrays, inline tables, dotted and quoted keys shift no line."""
    lines = locate(TEXT)
    assert dict(lines.written) == {
        ("top",): 2,
        ("a", "b"): 4,
        ("a", "b", "x"): 5,
        ("a", "b", "y", "z"): 6,
        ("a", "b", "w", "q", "r"): 11,
        ("a", "b", "w", "s.t"): 11,
        ("a", "b", "w", "u", "v"): 11,
        ("k",): 13,
        ("k", "a b", "c"): 14,
        ("k", "d"): 17,
        ("k", "last"): 19,
        ("a",): 20,
        ("a", "v"): 21,
    }
    assert lines["k", "a b"] == 14


def test_a_header_counts_more_than_what_implies_it() -> None:
    """A table that a later header writes out has that header's line, not the line of its first sub-table."""
    lines = locate("[a.b]\nx = 1\n\n[a]\ny = 1\n")
    assert lines["a",] == 4
    assert locate("\n[a.b.c]\n")["a", "b"] == 2


def test_an_unknown_path_has_the_line_of_its_table() -> None:
    """What is missing from a table is shown at the table, and at line 1 where there is none."""
    lines = locate("\n\n[a]\nx = 1\n")
    assert lines["a", "missing", "deeper"] == 3
    assert lines["b",] == 1


def _paths(value: Any, above: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*above, key)
            yield from _paths(inner, (*above, key))


def test_every_path_of_the_data_is_found() -> None:
    """No key that tomllib reads outside arrays is without a line."""
    lines = locate(TEXT)
    paths = set(_paths({key: value for key, value in tomllib.loads(TEXT).items() if key != "k"}))
    assert paths <= {*lines.written, *lines.implied}


KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5)
STRINGS = st.text("ab\\\"'[]{}#=,.\n", max_size=12)


def _basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _multiline(text: str) -> str:
    return '"""\n' + text.replace("\\", "\\\\").replace('"', '\\"') + '"""'


VALUES = st.recursive(
    st.sampled_from(["1", "1.5", "true", "2026-12-31", "'[#'", "'''\n]\n'''"])
    | STRINGS.map(_basic)
    | STRINGS.map(_multiline),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "[\n" + " , # [\n".join(parts) + "\n]"),
    max_leaves=4,
)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=4))
def test_lines_are_those_at_which_the_text_was_written(tables: dict[str, dict[str, str]]) -> None:
    """Whatever keys and values a file has, each key is found at the line on which it was written."""
    text = ""
    expected: dict[KeyPath, int] = {}
    for table, keys in tables.items():
        expected[table,] = text.count("\n") + 1
        text += f"[{_basic(table)}]\n"
        for key, value in keys.items():
            expected[table, key] = text.count("\n") + 1
            text += f"{_basic(key)} = {value}\n"
    tomllib.loads(text)
    assert dict(locate(text).written) == expected


@given(st.text("ab.=[]{}\"'#,\\\n ", max_size=60))
def test_cutting_loses_no_character(text: str) -> None:
    """Any text, valid TOML or not, is cut into statements that put together again give the text."""
    try:
        pieces = list(statements(text))
    except TooDeep:
        return
    assert "\n".join(piece for _, piece in pieces) == text
    assert [line for line, _ in pieces] == sorted(line for line, _ in pieces)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ny = " + "[" * (MAX_DEPTH + 1), 2),
        ("\n\n" + ".".join(["a"] * (MAX_DEPTH + 2)) + " = 1", 3),
        ("[a]\nx = { " + "a." * (MAX_DEPTH + 1), 2),
        ("[\n" * (MAX_DEPTH + 1), MAX_DEPTH + 1),
    ],
)
def test_absurd_depth_is_refused_before_tomllib_sees_it(text: str, line: int) -> None:
    """Brackets and dotted keys nested deeper than any file needs are refused with their line."""
    with pytest.raises(TooDeep) as caught:
        list(statements(text))
    assert caught.value.line == line


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "[\n" * 500_000,
        '"""\\' * 250_000,
        '"' * 1_000_000,
        "'''\n" * 250_000,
        "a." * 500_000,
        "a = [" + "\n" * 900_000 + "]",
        "a = [" + "1," * 450_000 + "]",
        "\n" * 1_000_000,
        "#\n" * 500_000,
        "[" + ".".join("a" * MAX_DEPTH) + "]\n" + "\n".join(f"a{i}=1" for i in range(90_000)),
    ],
    ids=["brackets", "open", "quotes", "triples", "dots", "lines", "array", "blank", "comments", "deep"],
)
def test_a_hostile_megabyte_is_cut_in_linear_time(text: str) -> None:
    """A megabyte made to be slow is cut, or refused, long before the time limit."""
    with contextlib.suppress(TooDeep):
        assert sum(1 for _ in statements(text)) > 0
