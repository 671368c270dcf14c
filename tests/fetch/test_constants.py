"""Texts from Python files: constants only, and nothing is run."""

from __future__ import annotations

import pytest

from truthguard.errors import DataError
from truthguard.fetch.constants import Constants
from truthguard.fetch.truthfulqa import read_presets

MAP = "preset_map = {'qa': A, 'help': A, 'null': A, 'chat': A, 'long': A, 'harm': "


def test_primers_are_constants_by_name_or_in_place() -> None:
    """Implicit concatenation and parentheses are constants; what no preset needs is not looked at."""
    source = f"import os\nA = ('x'\n     'y')\nB = os.system('true')\n{MAP}'in place', 'comp': B, **B}}\n"
    assert read_presets(source.encode(), "presets.py") == {
        **dict.fromkeys(("qa", "help", "null", "chat", "long"), "xy"),
        "harm": "in place",
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A = 'x' + 'y'\n" + MAP + "A}", "presets.py:1: expected a string constant, found: 'x' + 'y'"),
        ("\nA = f'{1}'\n" + MAP + "A}", "presets.py:2: expected a string constant"),
        ("A = b'x'\n" + MAP + "A}", "presets.py:1: expected a string constant, found: b'x'"),
        ("A = 'x'\n" + MAP + "open('x').read()}", "presets.py:2: expected a string constant, found: open('x')"),
        ("A = 'x'\n" + MAP + "B}", "presets.py:2: expected a string constant, found: B"),
        ("A = 'x'\nA = 'y'\n" + MAP + "A}", "presets.py:2: A is assigned a second time"),
        ("A = 'x'\npreset_map = {'qa': A}", "presets.py:2: no 'help' in preset_map"),
        ("preset_map = dict()", "presets.py:1: expected a dictionary as preset_map, found: dict()"),
        ("A = 'x'", "presets.py: no preset_map"),
        ("A = (", "presets.py: not a Python file"),
        ("A = '\0'", "presets.py: not a Python file"),
    ],
)
def test_anything_but_constants_is_an_error_that_names_the_line(source: str, expected: str) -> None:
    """Nothing is run to find out what it would be."""
    with pytest.raises(DataError) as caught:
        read_presets(source.encode(), "presets.py")
    assert expected in str(caught.value)


def test_texts_are_read_by_their_names() -> None:
    """What the module does otherwise, and what it assigns to other names, is not looked at."""
    source = "import os\nA = B = 'x'\nC = os.getcwd()\nC = 1\ndef f():\n    A = 'z'\nD = 'y' 'z'\n"
    assert Constants(source.encode(), "prompts.py").texts(["D", "A"]) == {"D": "yz", "A": "x"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("B = 'x'", "prompts.py: no A, a text that is needed"),
        ("A = 'x'.strip()", "prompts.py:1: expected a string constant, found: 'x'.strip()"),
        ("\nA = B", "prompts.py:2: expected a string constant, found: B"),
        ("A = 'x'\nA = 'y'", "prompts.py:2: A is assigned a second time"),
        ("if True:\n    A = 'x'", "prompts.py: no A"),
    ],
)
def test_a_text_that_would_have_to_be_computed_is_an_error(source: str, expected: str) -> None:
    """With the line."""
    with pytest.raises(DataError) as caught:
        Constants(source.encode(), "prompts.py").texts(["A"])
    assert expected in str(caught.value)
