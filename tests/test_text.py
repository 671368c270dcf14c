"""Foreign text made safe to show."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard import text as module
from truthguard.text import visible


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("plain, with spaces", "plain, with spaces"),
        ("", ""),
        ("bad\x00 \x1b[31mred\x0b", "bad\\x00 \\x1b[31mred\\x0b"),
        ("a\tb\r\nc", "a\\tb\\r\\nc"),
        ("\x7f\x80\x9b31m\x85", "\\x7f\\x80\\x9b31m\\x85"),
        ("\u202eevil\u2066\u2069\u200f", "\\u202eevil\\u2066\\u2069\\u200f"),
        ("a\u200bb\u200d\ufeffc\u00ad", "a\\u200bb\\u200d\\ufeffc\\xad"),
        ("\ud800 \udfff", "\\ud800 \\udfff"),
        ("::error file=x::y", "\\x3a:error file=x::y"),
        ("  ::stop-commands::", "  \\x3a:stop-commands::"),
        ("a std::vector", "a std::vector"),
        ("so ##[error]no, ###[b", "so \\x23#[error]no, #\\x23#[b"),
        ("\ufffe\uffff", "\\ufffe\\uffff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\U000e0041", "\\U000e0041"),
        ("no\u00a0break\u3000wide", "no\u00a0break\u3000wide"),
        ("Übel 健康 🙂 \\frac", "Übel 健康 🙂 \\frac"),
    ],
)
def test_what_cannot_be_seen_is_escaped(given_text: str, expected: str) -> None:
    """Controls, bidirectional and zero-width characters, surrogates and separators become escapes; text stays."""
    assert visible(given_text) == expected


def test_a_long_text_is_cut_at_the_width() -> None:
    """The cut text fills the width at most, ends in an ellipsis and never splits an escape."""
    assert visible("x" * 100, 100) == "x" * 100
    assert visible("x" * 101, 100) == "x" * 99 + "…"
    assert visible("ab\x1b\x1b\x1b", 10) == "ab\\x1b…"
    assert visible("\x1b", 3) == "…"
    assert visible("word next", 6) == "word…"


@given(st.text(st.characters(), max_size=40), st.integers(1, 50))
def test_any_text_fits_and_is_harmless(given_text: str, width: int) -> None:
    """Whatever is shown takes one line, fits the width, can be encoded, and holds nothing invisible."""
    shown = visible(given_text, width)
    assert len(shown) <= width
    shown.encode()
    assert all(character.isprintable() or character.isspace() for character in shown)
    assert len(shown.splitlines()) <= 1


@given(st.text(min_size=21, max_size=60))
def test_what_is_cut_away_does_not_matter(given_text: str) -> None:
    """A text that is cut is shown as its beginning is."""
    assert visible(given_text * 1000, 20) == visible(given_text[:21], 20)


def test_examples_of_text_hold() -> None:
    """The docstring's example is right."""
    assert doctest.testmod(module).failed == 0
