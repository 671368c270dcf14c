"""Files of finished runs for the tests of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.comparison.compared import c19
from tests.thresholds.made import run_of
from truthguard.records import Run
from truthguard.store.baseline import write_baseline
from truthguard.store.record import make_record, save_record

MADE = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEAD = '[truthfulqa]\nversion = "2021-10"\n'
DROP = "[truthfulqa.mc1]\nmax_drop = 0\n"


def record_file(path: Path, runs: Sequence[Run], days: int = 0) -> Path:
    """A record of these runs that was made so many days after MADE."""
    save_record(path, make_record([], runs, MADE + timedelta(days=days)))
    return path


def baseline_file(path: Path, runs: Sequence[Run]) -> Path:
    write_baseline(path, runs)
    return path


def thresholds_file(folder: Path, text: str) -> Path:
    path = folder / "thresholds.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def c19_files(folder: Path, *, mirrored: bool = False) -> tuple[Path, Path]:
    """C19's two records: base.json and the candidate.json that was made a week later."""
    sides = c19()
    before, now = reversed(sides) if mirrored else sides
    base = record_file(folder / "base.json", [run_of(before)])
    return base, record_file(folder / "candidate.json", [run_of(now)], days=7)


def named(run: Run, benchmark: str) -> Run:
    """The run under another name."""
    return replace(run, benchmark=benchmark, version=None)
