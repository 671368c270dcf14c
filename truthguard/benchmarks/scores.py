"""Grades from 1 to 5 as data files give them."""

from __future__ import annotations

import re

from truthguard.benchmarks.table import shown

LOWEST, HIGHEST = 1, 5
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def read_scores(value: object) -> tuple[float, ...]:
    """One grade, or a list of the grades of several runs. Raises ValueError, in words, for anything else.

    >>> read_scores(4), read_scores([4, 5, 4]), read_scores(3.5)
    ((4.0,), (4.0, 5.0, 4.0), (3.5,))
    """
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError("an empty list of grades: at least one is needed")
    return tuple(_score(each, each) for each in values)


def split_scores(text: str) -> tuple[float, ...]:
    """The grades of a text: numbers, several ones with ";" between them. Raises ValueError, in words.

    >>> split_scores("4"), split_scores("4; 4.5;5")
    ((4.0,), (4.0, 4.5, 5.0))
    """
    pieces = text.split(";")
    return tuple(_score(float(piece) if _NUMBER.fullmatch(piece.strip()) else piece, piece) for piece in pieces)


def _score(value: object, written: object) -> float:
    """The grade that a value is; a refusal shows it as `written`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not LOWEST <= value <= HIGHEST:
        raise ValueError(f"expected a grade from {LOWEST} to {HIGHEST}, found {shown(written)}")
    return float(value)
