"""Runs and baselines made for the tests of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tests.thresholds.made import run_of, scored
from truthguard.records import Baseline, BaselineItem, BaselineRun, ItemScores, Run

SAVED = datetime(2026, 1, 2, tzinfo=UTC)


def baseline_of(*runs: Run, name: str = "base.json") -> Baseline:
    """These runs as a baseline, as it would be read back."""
    return Baseline(name, "0.1.0", SAVED, {run.benchmark: _run(run) for run in runs})


def _run(run: Run) -> BaselineRun:
    items = tuple(BaselineItem(item.id, item.category, item.values) for item in run.items)
    return BaselineRun(
        benchmark=run.benchmark,
        version=run.version,
        kind=run.kind,
        data_sha256=run.data_sha256,
        model=run.model,
        judge=run.judge,
        settings=run.settings,
        complete=run.complete,
        items=items,
    )


def before_and_now(
    before: Sequence[float | None], now: Sequence[float | None], metric: str = "mc1"
) -> tuple[Baseline, Run]:
    """A baseline and a run of the same questions with these values."""
    return baseline_of(run_of(before, metric)), run_of(now, metric)


def c19() -> tuple[list[float | None], list[float | None]]:
    """The values of case C19: 200 questions, 140 right in both, 16 in the baseline alone, 4 in the new one alone."""
    before = [1.0] * 156 + [0.0] * 44
    now = [1.0] * 140 + [0.0] * 16 + [1.0] * 4 + [0.0] * 40
    return list(before), list(now)


def mixed_items(values: Sequence[float | None], groups: Sequence[str] | None = None) -> list[ItemScores]:
    """Items of mc2_mass, each in a cluster of its own unless `groups` says otherwise."""
    items = [scored(value, number, metric="mc2_mass") for number, value in enumerate(values)]
    return items if groups is None else [replace(item, group=group) for item, group in zip(items, groups, strict=True)]
