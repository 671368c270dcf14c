"""A gate that asks servers: what it says it sent is what they got, and never more than was allowed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.scripted_server import Answer, Asked, ScriptedServer, chat_reply, serving
from tests.plugin.projects import QUESTIONS, run
from tests.plugin.test_judged_rows import record_of, responses

VERDICT = "It is so.\n\nVerdict: yes"


def answer(asked: Asked) -> Answer:
    """The model m answers rightly, the judge j says yes, in as many choices as were asked for."""
    text = VERDICT if asked.body["model"] == "j" else "It is right."
    return chat_reply(*[text] * asked.body.get("n", 1))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(answer) as serving_now:
        yield serving_now


def write_gate(folder: Path, text: str, name: str = "thresholds") -> None:
    """A thresholds file over four questions of its own."""
    lines = [json.dumps(each | {"question": f"{name}: {each['question']}"}) for each in QUESTIONS]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = f'[faq]\nkind = "questions"\npath = "{name}.jsonl"\n'
    (folder / f"{name}.toml").write_text(text.partition("[faq.")[0] + table + "[faq." + text.partition("[faq.")[2])


def of(server: ScriptedServer) -> Counter[str]:
    """How many requests each model got."""
    return Counter(post.body["model"] for post in server.posts)


def test_requests_are_what_the_server_got(project: pytest.Pytester, server: ScriptedServer) -> None:
    """Five samples of each of three responses come in three requests: in the dry run, the summary and the record.

    The second run asks nothing, and says of the same three that they were answered before.
    """
    responses(project, f'[judge]\nmodel = "{server.url}#j"\n[said.correctness]\nmin = 0.5\n')
    arguments = ("--truthguard-cache", "kept", "--truthguard-json", "out.json")
    dry = run(project, "--truthguard-dry-run", model=None)
    dry.stdout.fnmatch_lines([f"dry run: {server.url}#j: 3 requests, about *"])
    assert server.posts == []
    for before in (0, 3):
        result = run(project, *arguments, model=None)
        result.assert_outcomes(passed=1)
        # The scripted server counts 10 and 5 tokens for a reply, however many choices it has.
        result.stdout.fnmatch_lines([f"*3 requests ({before} answered before), 30 prompt and 15 answer tokens; *"])
        counts = record_of(project)["runs"][0]["judge"]["counts"]
        assert (counts["requests"], counts["cached"], counts["prompt_tokens"]) == (3, before, 30)
        assert len(record_of(project)["runs"][0]["items"][0]["samples"]) == 5
        assert [post.body["n"] for post in server.posts] == [5] * 3


def test_the_judge_has_a_budget_of_its_own(project: pytest.Pytester, server: ScriptedServer) -> None:
    """Four answers of the model's and two of four verdicts: each stops at its own max_requests, the rest is kept."""
    text = f'[model]\nname = "{server.url}#m"\nmax_requests = 4\n[judge]\nmodel = "{server.url}#j"\nmax_requests = 2\n'
    write_gate(project.path, text + "[faq.correctness]\nmin = 0.5\n")
    result = run(project, "--truthguard-json", "out.json", model=None)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*stopped before everything was asked: max_requests: max_requests = 2 requests *"])
    assert of(server) == {"m": 4, "j": 2}
    (measured,) = record_of(project)["runs"]
    assert (measured["counts"]["requests"], measured["judge"]["counts"]["requests"]) == (4, 2)


def test_two_files_of_one_session_spend_one_budget(project: pytest.Pytester, server: ScriptedServer) -> None:
    """One process, the same model in both files: its second run goes on with what the first one left."""
    text = f'[model]\nname = "{server.url}#m"\nmax_requests = 5\n[faq.truthful]\nmin = 0.5\n'
    for name in ("one", "two"):
        write_gate(project.path, text, name)
    run(project, "one.toml", "two.toml", model=None).assert_outcomes(passed=1, errors=1)
    assert len(server.posts) == 5
    # The next session has its own.
    run(project, "two.toml", model=None).assert_outcomes(passed=1)
    assert len(server.posts) == 9


@pytest.mark.slow
@pytest.mark.parametrize("busy", [0, 2])
def test_workers_spend_one_budget(project: pytest.Pytester, busy: int) -> None:
    """Two processes that measure at once, eight answers wanted: the server gets five requests, failed ones among them.

    What was answered is kept, and a session with a larger budget asks only for the rest.
    """
    meeting = threading.Barrier(2)

    def script(asked: Asked) -> Answer:
        prompt = asked.body["messages"][0]["content"]
        if asked.number < 2:
            # Each worker's first request goes alone: nobody goes on before both are here.
            meeting.wait(60)
            firsts.add("one: " in prompt)
        return Answer("busy", 503) if asked.number < busy else answer(asked)

    def session(most: int) -> tuple[pytest.RunResult, dict[str, Any]]:
        text = f'[model]\nname = "{server.url}#m"\nmax_requests = {most}\n[faq.truthful]\nmin = 0.5\n'
        for name in ("one", "two"):
            write_gate(project.path, text, name)
        arguments = ("-n", "2", "--dist", "loadfile", "--truthguard-cache", "kept", "--truthguard-json", "out.json")
        result = run(project, "one.toml", "two.toml", *arguments, model=None, in_process=False)
        return result, record_of(project)

    firsts: set[bool] = set()
    with serving(script) as server:
        result, record = session(5)
        assert firsts == {True, False}, "one process measured both"
        assert len(server.posts) == 5
        assert "max_requests = 5 requests were sent" in result.stdout.str()
        assert not all(each["complete"] for each in record["runs"])
        counts = [each["counts"] for each in record["runs"]]
        assert sum(each["requests"] + each["retries"] for each in counts) == 5
        result, record = session(50)
        result.assert_outcomes(passed=2)
        assert len(server.posts) == 5 + 8 - (5 - busy)
        assert sum(each["counts"]["cached"] for each in record["runs"]) == 5 - busy
