"""A session that is killed goes on where it was: only what was under way is asked once more."""

from __future__ import annotations

import json
import signal
from collections import Counter
from functools import partial
from typing import Any

import pytest

from tests.plugin.projects import gate
from tests.plugin.projects import run as run_anywhere

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

# Every request leaves itself; the process that is about to ask the one of that number ends there and then.
DEADLY = """
import os
import signal
from pathlib import Path

import model

TRACE = Path(__file__).with_name("asked.log")


def trace(request):
    with TRACE.open("a") as file:
        file.write(repr(request) + "\\n")
    if str(len(TRACE.read_text().splitlines())) == os.environ.get("KILLED_AT"):
        os.kill(os.getpid(), signal.SIGKILL)


def answer(request):
    trace(request)
    return model.answer(request)


def judge(request):
    trace(request)
    return model.judge(request)
"""
ROWS = "".join(f"[faq.{name}]\nmin = 0.5\n" for name in ("mc1", "truthful", "correctness"))
# 4 questions: 4 log-likelihoods, 4 answers, 4 verdicts on truth, 4 x 5 on correctness.
ASKED = 4 + 4 + 4 + 20
TIMES = {"created", "seconds", "seconds_load", "oldest_answer", "cached"}

run = partial(run_anywhere, model="scripted:deadly:answer", in_process=False)


def timeless(value: Any) -> Any:
    """A record without its times, and without how many answers were there before."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def cached(record: dict[str, Any]) -> int:
    """How many of the answers of a record's run were there before, the judge's included."""
    (measured,) = record["runs"]
    return int(measured["counts"]["cached"] + measured["judge"]["counts"]["cached"])


@pytest.mark.parametrize("killed_at", [6, 21])
def test_a_killed_session_is_resumed(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, killed_at: int) -> None:
    """kill -9 while the model answers or while the judge does: the rerun asks the rest, with an undisturbed record."""
    gate(project, ROWS)
    (project.path / "deadly.py").write_text(DEADLY, encoding="utf-8")
    trace = project.path / "asked.log"

    def measured(cache: str) -> tuple[dict[str, Any], list[str]]:
        arguments = ("--truthguard-judge", "scripted:deadly:judge", "--truthguard-json", "out.json")
        result = run(project, *arguments, "--truthguard-cache", cache)
        asked = trace.read_text(encoding="utf-8").splitlines()
        trace.unlink()
        if result.ret == -signal.SIGKILL:
            return {}, asked
        result.assert_outcomes(passed=3)
        return json.loads((project.path / "out.json").read_text(encoding="utf-8")), asked

    whole, each_once = measured("whole")
    assert len(set(each_once)) == len(each_once) == ASKED
    (project.path / "out.json").unlink()
    with monkeypatch.context() as context:
        context.setenv("KILLED_AT", str(killed_at))
        nothing, before = measured("kept")
    assert (nothing, len(before)) == ({}, killed_at)
    assert not (project.path / "out.json").exists()
    resumed, after = measured("kept")
    # The one that was under way when the end came is the only one that is asked twice.
    assert Counter(before) + Counter(after) == Counter(each_once) + Counter([before[-1]])
    assert timeless(resumed) == timeless(whole)
    assert (cached(whole), cached(resumed)) == (0, killed_at - 1)
