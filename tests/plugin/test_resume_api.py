"""A session that asks servers and is killed in full traffic goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.backends.scripted_server import Answer, Asked, chat_reply, serving, wait_until
from tests.plugin.test_resume import cached, timeless

pytestmark = pytest.mark.slow

QUESTIONS, SAMPLES, AT_ONCE, LATENCY = 40, 5, 8, 0.2
# Each question is answered once by the model; the judge is asked once for its samples of correctness.
ASKED = 2 * QUESTIONS
GATE = """
[model]
name = "{url}#m"

[judge]
model = "{url}#j"
samples = {samples}

[faq]
kind = "questions"
path = "faq.jsonl"

[faq.rouge1_acc]
min = 0.5

[faq.correctness]
min = 0.5
"""


def write_project(folder: Path, url: str) -> None:
    questions = [
        {
            "id": f"q{number}",
            "category": "all",
            "question": f"Which of {number} is it?",
            "correct_answers": ["It is right."],
            "incorrect_answers": ["That was left out."],
        }
        for number in range(QUESTIONS)
    ]
    (folder / "faq.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions), encoding="utf-8")
    (folder / "thresholds.toml").write_text(GATE.format(url=url, samples=SAMPLES), encoding="utf-8")


def start(folder: Path, cache: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", "thresholds.toml", "-p", "no:cacheprovider"]
    command += ["--truthguard-cache", cache, "--truthguard-json", "out.json"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    with (folder / "pytest.log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)


def finish(folder: Path, cache: str) -> dict[str, Any]:
    """The record of a session that comes to its end."""
    code = start(folder, cache).wait(300)
    assert code == 0, (folder / "pytest.log").read_text(encoding="utf-8")
    record: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    (folder / "out.json").unlink()
    return record


def kept(path: Path) -> int:
    """How many replies the store has."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


@pytest.mark.parametrize("killed_at", [21, QUESTIONS + 16], ids=["model", "judge"])
def test_a_session_killed_in_full_traffic_is_resumed(tmp_path: Path, killed_at: int) -> None:
    """kill -9 with eight HTTP requests in flight: they alone are asked twice, nothing that was answered is.

    The record is an undisturbed session's, but for times and for what was answered before. The server leaves the
    requests from one on without a reply; the end comes once what it answered before has arrived.
    """
    hanging_from = [ASKED]

    def script(asked: Asked) -> Answer:
        number = asked.number - begun[0]
        if number >= hanging_from[0]:
            return Answer(delay=600)
        verdict = f"For {asked.body['seed']}.\n\nVerdict: yes"
        texts = [verdict] * SAMPLES if asked.body["model"] == "j" else ["It is right."]
        return replace(chat_reply(*texts), delay=LATENCY)

    begun = [0]
    with serving(script) as server:
        write_project(tmp_path, server.url)

        def asked_since() -> list[str]:
            """What arrived since this was called last."""
            posts = server.posts[begun[0] :]
            begun[0] += len(posts)
            return [json.dumps(post.body, sort_keys=True) for post in posts]

        whole = finish(tmp_path, "whole")
        each_once = asked_since()
        assert len(set(each_once)) == len(each_once) == ASKED

        hanging_from[0] = killed_at
        process = start(tmp_path, "kept")
        wait_until(lambda: len(server.posts) - begun[0] == killed_at + AT_ONCE, 120)
        answered = min(killed_at, QUESTIONS) + SAMPLES * max(0, killed_at - QUESTIONS)
        wait_until(lambda: kept(tmp_path / "kept" / "answers.sqlite3") == answered, 30)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
        assert not (tmp_path / "out.json").exists()
        before = asked_since()

        hanging_from[0] = ASKED
        resumed = finish(tmp_path, "kept")
        after = asked_since()
    in_flight = before[killed_at:]
    assert len(in_flight) == AT_ONCE
    assert Counter(before) + Counter(after) == Counter(each_once) + Counter(in_flight)
    assert timeless(resumed) == timeless(whole)
    # In requests, as the server got them: five samples of one are one.
    assert (cached(whole), cached(resumed)) == (0, killed_at)
