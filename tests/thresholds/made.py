"""Thresholds files, questions and runs made for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from truthguard.errors import Mistake, UsageError
from truthguard.records import (
    Bar,
    BenchmarkSettings,
    Choice,
    Counts,
    Facts,
    Identity,
    ItemScores,
    Missing,
    Question,
    Row,
    Run,
    ScoredChoice,
)
from truthguard.thresholds.reading import read
from truthguard.thresholds.rows import expand
from truthguard.thresholds.spec import Gate

NO_BAR = Bar()


def gate_of(folder: Path, text: str) -> Gate:
    """The gate of a thresholds file with this text."""
    path = folder / "thresholds.toml"
    path.write_text(text, encoding="utf-8")
    return read(path)


def mistakes_of(folder: Path, text: str | bytes) -> list[tuple[int | None, str]]:
    """Line and message of each mistake in a thresholds file with this text; each names the file."""
    path = folder / "thresholds.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        read(path)
    assert all(mistake.file == path for mistake in caught.value.mistakes)
    return [(mistake.line, mistake.message) for mistake in caught.value.mistakes]


@dataclass(frozen=True)
class Questions:
    """What rows.py needs of a question set."""

    items: Sequence[Question]


def question(name: str, category: str = "Law") -> Question:
    return Question(name, category, f"Is it {name}?", (Choice("Yes.", True, True), Choice("No.", False, True)))


def available(metric: str, questions: Questions, settings: BenchmarkSettings) -> str | None:
    """Data that can give every metric."""
    return None


def rows_of(gate: Gate, items: Sequence[Question], selected: Sequence[Question] | None = None) -> tuple[Row, ...]:
    """The rows of a gate, every benchmark of which has the same items."""
    names = [table.settings.name for table in gate.benchmarks]
    chosen = items if selected is None else selected
    return expand(gate, dict.fromkeys(names, Questions(items)), dict.fromkeys(names, chosen), available)


def refused(gate: Gate, items: Sequence[Question]) -> tuple[Mistake, ...]:
    """The mistakes that only the data show."""
    with pytest.raises(UsageError) as caught:
        rows_of(gate, items)
    return caught.value.mistakes


def scored(
    value: float | None,
    number: int = 0,
    *,
    metric: str = "mc1",
    category: str = "Law",
    kind: str = "nan",
    margin: float = 1.0,
    tied: bool = False,
    degenerate: tuple[str, ...] = (),
    text: str | None = None,
) -> ItemScores:
    """One item with one metric; `margin` is how far the right answer of mc1 is from the other."""
    sign = 1.0 if value else -1.0
    return ItemScores(
        id=f"q{number}",
        category=category,
        question=text if text is not None else f"Question {number}?",
        values={metric: value},
        reasons={} if value is not None else {metric: Missing(kind, "made for a test")},
        choices=(
            ScoredChoice("Right.", True, True, -5.0 + sign * margin, 2),
            ScoredChoice("Wrong.", False, True, -5.0, 2),
        ),
        tied_best=tied,
        degenerate=degenerate,
    )


def run_of(values: Sequence[float | None] | Sequence[ItemScores], metric: str = "mc1") -> Run:
    """A run over items with these values, or over these items."""
    items = tuple(
        value if isinstance(value, ItemScores) else scored(value, number, metric=metric)
        for number, value in enumerate(values)
    )
    return Run(
        benchmark="truthfulqa",
        version="2021-10",
        data_sha256="d",
        file_sha256="f",
        model=Identity("some/model", "huggingface", "digest"),
        settings={},
        scorer=Facts("plain", ""),
        counts=Counts(),
        seconds=1.0,
        seconds_load=0.5,
        oldest_answer=None,
        complete=True,
        items=items,
    )


def row_of(bar: Bar = NO_BAR, metric: str = "mc1", **changes: object) -> Row:
    return Row("truthfulqa[row]", "truthfulqa", metric, 7, bar, **changes)  # type: ignore[arg-type]


def lines_of(found: Sequence[tuple[int | None, str]]) -> Mapping[int | None, list[str]]:
    """The messages by line."""
    by_line: dict[int | None, list[str]] = {}
    for line, message in found:
        by_line.setdefault(line, []).append(message)
    return by_line
