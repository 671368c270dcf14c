"""What of a session is kept as trust in its judge, without a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.thresholds.trusted import ENTRY, RECORD
from truthguard.benchmarks.base import QuestionSet
from truthguard.plan import Plan
from truthguard.plugin.saving import Measured, save
from truthguard.records import (
    BenchmarkSettings,
    Counts,
    Identity,
    ItemScores,
    JudgeRun,
    JudgeSettings,
    Missing,
    ModelSettings,
    Run,
    Selection,
)
from truthguard.store.trust import read_trust, write_trust

JUDGE = JudgeSettings("rubric", ModelSettings("openai:judge"))
ITEMS = tuple(
    ItemScores(
        f"tl-{number}",
        "",
        f"Q{number}",
        {"verdict": 1.0, "label": label, "accuracy": label, ("sensitivity" if label else "specificity"): label},
    )
    for number, label in enumerate([1.0, 1.0, 1.0, 0.0])
)
RUN = Run(
    benchmark="truthful_judge",
    version="2021-10",
    data_sha256="d" * 64,
    file_sha256="f" * 64,
    model=None,
    settings={},
    scorer=None,
    counts=Counts(),
    seconds=1.0,
    seconds_load=0.0,
    oldest_answer=None,
    complete=True,
    items=ITEMS,
    judge=JudgeRun(Identity("openai:judge", "openai", None, device="api", dtype=""), "rubric", {}, "a" * 64),
    kind="truthful_judge",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge_trust.json"


def measured(*runs: Run, judge: JudgeSettings = JUDGE) -> Sequence[Measured]:
    settings = {run.benchmark: BenchmarkSettings(run.benchmark) for run in runs}
    none: dict[str, QuestionSet] = {}
    plan = Plan(Path("thresholds.toml"), {}, None, Selection(sample=4, seed=7), settings, none, {}, (), judge=judge)
    return [Measured(plan, run, ()) for run in runs]


def test_what_was_measured_is_kept_with_whom_and_on_what(path: Path) -> None:
    """The selection, the data and the judge as it was asked."""
    notes, problems = save(path, measured(RUN))
    assert problems == []
    assert notes == [
        f"trust in the judge is saved in {path}: truthful_judge (accuracy, kappa, sensitivity, specificity)"
    ]
    entry = read_trust(path).benchmarks["truthful_judge"]
    assert (entry.n_items, entry.limit, entry.sample, entry.seed, entry.data_sha256) == (4, None, 4, 7, "d" * 64)
    assert (entry.judge.name, entry.judge.kind, entry.judge.prompt_digest) == ("openai:judge", "rubric", "a" * 64)
    assert entry.metrics["accuracy"].estimate == 0.75


def test_a_run_that_was_stopped_is_not_kept(path: Path) -> None:
    """Half a measurement is none: it is told, the old file stays as it was, and the session fails."""
    write_trust(path, RECORD)
    stopped = replace(RUN, complete=False, stopped=Missing("max_requests", "2 of 4 were asked"))
    notes, problems = save(path, measured(stopped))
    assert notes == ["truthful_judge is not saved as trust: the run was stopped before everything was asked"]
    assert len(problems) == 1
    assert "nothing to save" in problems[0]
    assert read_trust(path) == RECORD


def test_the_same_set_measured_twice_is_refused(path: Path) -> None:
    """Two thresholds files with two judges would leave the last one's word for both."""
    _, problems = save(path, measured(RUN, RUN))
    assert len(problems) == 1
    assert "truthful_judge was measured twice" in problems[0]
    assert not path.exists()


def test_runs_about_a_model_are_not_trust(path: Path) -> None:
    """Their numbers are the model's, not the judge's."""
    _, problems = save(path, measured(replace(RUN, kind="questions", benchmark="faq")))
    assert "nothing to save" in problems[0]


def test_what_another_judge_reached_leaves_the_file_and_is_named(path: Path) -> None:
    """A trust file is about one judge; of the same judge other sets stay."""
    other = replace(ENTRY, judge=replace(ENTRY.judge, name="openai:other"))
    write_trust(path, replace(RECORD, benchmarks={"autoj": other, "flask": ENTRY}))
    notes, problems = save(path, measured(RUN))
    assert problems == []
    assert notes[1] == f"{path} no longer has autoj: measured with another judge, and a trust file is about one"
    assert list(read_trust(path).benchmarks) == ["flask", "truthful_judge"]


def test_a_file_of_another_kind_is_not_written_over(path: Path) -> None:
    """It came there while the session ran: told, and left alone."""
    path.write_text("{}", "utf-8")
    _, problems = save(path, measured(RUN))
    assert "not written" in problems[0]
    assert path.read_text("utf-8") == "{}"
