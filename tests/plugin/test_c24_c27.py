"""C24 and C27: a judge behind a server is asked once for all workers, and from inside any event loop."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.backends.scripted_server import Answer, Asked, ScriptedServer, chat_reply, serving
from tests.plugin.projects import run

VERDICTS = chat_reply("So it is.\n\nVerdict: yes"), chat_reply("It is not so.\n\nVerdict: no")


def verdict(asked: Asked) -> Answer:
    """Yes, and no to one response in four: decided by the prompt, so that it is the same in whatever order."""
    return VERDICTS[any(f"Say {number}." in asked.body["messages"][-1]["content"] for number in range(3, 100, 4))]


def responses(project: pytest.Pytester, name: str, numbers: range) -> str:
    """A file of given responses; the table of a benchmark of that name."""
    lines = [
        json.dumps({"id": f"r{number}", "category": f"C{number % 4}", "prompt": f"Say {number}.", "response": "Said."})
        for number in numbers
    ]
    (project.path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f'[{name}]\nkind = "correctness"\npath = "{name}.jsonl"\n'


def judged_by(server: ScriptedServer, extra: str = "") -> str:
    return f'[judge]\nmodel = "{server.url}#m"\nsamples = 1\n{extra}'


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_c24_each_judgement_is_asked_once_for_all_workers(project: pytest.Pytester) -> None:
    """C24: 8 questions, one judge sample each: 8 requests for -n 0 and for a cold -n 4, ten times; 0 for a warm one."""
    rows = '[said.correctness]\nmin = 0.7\nby = "category"\nitem_min = 0\n'
    with serving(verdict) as server:
        text = judged_by(server) + responses(project, "said", range(8)) + rows
        (project.path / "thresholds.toml").write_text(text, encoding="utf-8")

        def asked(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
            before = len(server.posts)
            # Hypothesis's plugin is half of what a process takes to start, and 48 of them do.
            fixed = ("-p", "no:hypothesispytest", "--truthguard-json", "out.json")
            result = run(project, *fixed, *arguments, model=None, in_process=False)
            result.assert_outcomes(passed=12, failed=1)
            for word in ("OperationalError", "locked", "warning:"):
                result.stdout.no_fnmatch_line(f"*{word}*")
            record = json.loads((project.path / "out.json").read_text(encoding="utf-8"))
            return len(server.posts) - before, sorted(record["rows"], key=lambda row: str(row["id"]))

        alone = asked("-n", "0", "--truthguard-cache", "alone")
        cold = [asked("-n", "4", "--truthguard-cache", f"cold{repeat}") for repeat in range(10)]
        warm = asked("-n", "4", "--truthguard-cache", "cold9")
    assert (alone[0], [n for n, _ in cold], warm[0]) == (8, [8] * 10, 0)
    assert all(rows == alone[1] for _, rows in [*cold, warm])
    # A damaged file would have been set aside under another name.
    assert {len(list((project.path / f"cold{repeat}").glob("answers.sqlite3*"))) for repeat in range(10)} == {2}


# What an async test does under pytest-asyncio: it is a coroutine in a loop that runs, and others follow in new loops.
BOTH_FORMS = """
import asyncio
import warnings


def policy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of asking, from Python 3.14 on
        return asyncio.get_event_loop_policy()


BEFORE = policy()


def scored(truthguard, benchmark):
    score = truthguard.score(benchmark, "correctness")
    return float(score), score.summary.n, score.summary.n_unscored


def test_in_a_loop(truthguard):
    async def main():
        meanwhile = asyncio.create_task(asyncio.sleep(0, "done"))
        found = scored(truthguard, "inside")
        assert await meanwhile == "done"
        return found

    assert asyncio.run(main()) == {expected}


def test_plainly(truthguard):
    assert scored(truthguard, "outside") == {expected}


def test_in_a_later_loop(truthguard):
    async def main():
        await asyncio.sleep(0)
        return scored(truthguard, "later")

    assert asyncio.run(main()) == {expected}
    assert policy() is BEFORE
    assert asyncio.run.__module__ == "asyncio.runners"
"""
FORMS = ("inside", "outside", "later")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_c27_a_judge_is_asked_from_inside_a_running_loop(project: pytest.Pytester, workers: str) -> None:
    """C27: async and plain tests in one file, each with 20 calls of 50 ms of which one never answers: one score.

    The hanging call is one invalid sample after its time, each warning is an error, the policy stays as it was.
    """
    hanging = {20 * form + 7 for form in range(len(FORMS))}

    def slowly(asked: Asked) -> Answer:
        prompt = asked.body["messages"][-1]["content"]
        hangs = any(f"Say {number}." in prompt for number in hanging)
        return Answer(verdict(asked).body, delay=3600.0 if hangs else 0.05)

    # Of 20 responses 5 are judged wrong, and one of these (number 7, 27 and 47) never is.
    project.makepyfile(test_forms=BOTH_FORMS.replace("{expected}", "(15 / 19, 19, 1)"))
    with serving(slowly) as server:
        text = judged_by(server, "timeout_seconds = 1\nconcurrency = 16\n")
        for form, name in enumerate(FORMS):
            text += responses(project, name, range(20 * form, 20 * form + 20)) + f"[{name}.correctness]\nmin = 0\n"
        (project.path / "thresholds.toml").write_text(text, encoding="utf-8")
        arguments = ("test_forms.py", "-W", "error", "-n", workers, "--truthguard-cache", "off")
        result = project.runpytest_subprocess(*arguments)
        result.assert_outcomes(passed=3)
        result.stdout.no_fnmatch_line("*never awaited*")
        prompts = Counter(asked.body["messages"][-1]["content"] for asked in server.posts)
    # Each is asked once; a sample that failed once more, as every judge's.
    assert sorted(prompts.values()) == [1] * 57 + [2] * 3
