"""A TOML file as data with lines, or what keeps it from being read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thresholds.made import mistakes_of
from truthguard.errors import UsageError
from truthguard.thresholds.document import MAX_BYTES, load
from truthguard.thresholds.reading import read


def test_c22_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """C22: a TOML file with a byte order mark loads as the same file without it."""
    path = tmp_path / "thresholds.toml"
    path.write_bytes(b"\xef\xbb\xbf[mc1]\nmin = 0.3\n")
    data, lines = load(path)
    assert data == {"mc1": {"min": 0.3}}
    assert lines["mc1", "min"] == 2
    path.write_bytes(b"\xef\xbb\xbf[truthfulqa.mc1]\nmin = 0.3\n")
    assert read(path).benchmarks[0].rows[0].limits.min == 0.3


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    """CRLF changes neither a value nor a line."""
    path = tmp_path / "thresholds.toml"
    path.write_bytes(b'[a]\r\nx = """p\r\nq"""\r\ny = 1\r\n')
    data, lines = load(path)
    assert data == {"a": {"x": "p\nq", "y": 1}}
    assert lines["a", "y"] == 4


def test_an_empty_file_is_a_file_without_tables(tmp_path: Path) -> None:
    """A file with no content, or a mark only, is valid."""
    path = tmp_path / "thresholds.toml"
    for content in (b"", b"\xef\xbb\xbf", b"# nothing yet\n"):
        path.write_bytes(content)
        assert load(path)[0] == {}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file and a folder are usage errors with the system's reason."""
    for path, reason in ((tmp_path / "no.toml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(UsageError, match=reason) as caught:
            load(path)
        assert caught.value.mistakes[0].file == path


def test_a_file_beyond_the_size_limit_is_refused(tmp_path: Path) -> None:
    """One byte more than a megabyte is refused, a megabyte is read."""
    path = tmp_path / "thresholds.toml"
    path.write_bytes(b"#" * MAX_BYTES)
    assert load(path)[0] == {}
    ((line, message),) = mistakes_of(tmp_path, b"#" * (MAX_BYTES + 1))
    assert line is None
    assert "larger than 1,000,000 bytes" in message


def test_bytes_that_are_not_utf_8_have_a_line(tmp_path: Path) -> None:
    """A file in another encoding is refused at the line of the first such byte."""
    ((line, message),) = mistakes_of(tmp_path, "[truthfulqa]\n# caf\xe9\n".encode("latin-1"))
    assert line == 2
    assert "not UTF-8 (byte 0xe9)" in message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[truthfulqa]\nversion = \n", 2, "Invalid value"),
        ("[truthfulqa\n", 1, "Expected ']'"),
        ("x = 1\ny = [1,\n2\n\n", 3, "Unclosed array"),
        ("a = 1\na = 2\n", 2, "Cannot overwrite"),
        ("\n\x00\n", 2, "Invalid statement"),
        ("x = 1\ny = " + "9" * 5000 + "\n", 2, "4300 digits"),
        ("\ny = 0x" + "f" * 400 + "\n", 2, "at most 64 bits"),
        ("\ny = [1, [9223372036854775808]]\n", 2, "at most 64 bits"),
        ("x = " + "[" * 100_000 + "\n", 1, "brackets nest more than 16 deep"),
        (".".join(["a"] * 200_000) + " = 1\n", 1, "dotted keys nest more than 16 deep"),
    ],
)
def test_what_is_not_toml_is_one_mistake_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    """Syntax errors, integers beyond TOML's 64 bits and absurd nesting are shown with file and line."""
    ((found, message),) = mistakes_of(tmp_path, text)
    assert found == line
    assert words in message
    assert len(message) < 400


def test_the_largest_integers_of_toml_are_read(tmp_path: Path) -> None:
    """Both ends of 64 bits are values like any other."""
    path = tmp_path / "thresholds.toml"
    path.write_text("x = [9223372036854775807, -9223372036854775808]\n")
    assert load(path)[0] == {"x": [2**63 - 1, -(2**63)]}


def test_c21_a_repeated_table_is_shown_with_file_and_line(tmp_path: Path) -> None:
    """C21: the same table given twice is a TOML error at the line of the second."""
    text = "[truthfulqa.mc1]\nmin = 0.3\n\n[truthfulqa.mc1]\nmin = 0.2\n"
    ((line, message),) = mistakes_of(tmp_path, text)
    assert line == 4
    assert "not valid TOML: Cannot declare ('truthfulqa', 'mc1') twice" in message
