"""What a dry run counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.backends.openai_clients import asking, greedy, samples
from tests.backends.scripted_server import Answer, Asked, chat_reply, serving
from tests.backends.scripted_words import with_tokenizer
from tests.benchmarks.grading_items import GRADED, PAIR, WORDING, began
from truthguard.backends.counting import CountingBackend
from truthguard.backends.protocol import (
    NO_USAGE,
    Generate,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Text,
    Turn,
    Usage,
)
from truthguard.judges.verdicts import read_grade, read_verdict
from truthguard.records import BenchmarkSettings
from truthguard.runner.rounds import hold


@pytest.mark.parametrize(
    ("request_", "usage"),
    [
        (Score("12345678", ("1234", "12345", "")), Usage(2, 1 + 2 + 1)),
        (NextToken("12345", (("A",), ("B",))), Usage(2, 1)),
        (Generate("", 50), Usage(1, 50)),
        # Two turns with a line end between them; each of the four letters has two bytes.
        (Generate((Turn("system", "éééé"), Turn("user", "1234567")), 512), Usage(4, 512)),
        (Generate("\ud800", 1), Usage(1, 1)),
    ],
)
def test_a_token_is_four_bytes(request_: Request, usage: Usage) -> None:
    """Rounded up and never free; a text is counted with its whole budget."""
    (reply,) = CountingBackend("m").answer([request_])
    assert (reply.request, reply.usage, reply.missing) == (request_, usage, None)


def test_equal_requests_are_counted_once() -> None:
    """As the cache asks them; the others are answered all the same."""
    replies = list(CountingBackend("m").answer([Generate("q", 9), Generate("r", 9), Generate("q", 9)]))
    assert [reply.usage for reply in replies] == [Usage(1, 9), Usage(1, 9), NO_USAGE]


def test_samples_over_http_are_one_request() -> None:
    """Their prompt is sent once; a local model has a request for each, and so has a greedy one."""
    judged = samples(3, "12345678") + samples(2, "1234") + [Generate("1234", 20)]
    usages = [reply.usage for reply in CountingBackend("openai:m").answer(judged)]
    other = Usage(0, 20, requests=0)
    assert usages == [Usage(2, 20), other, other, Usage(1, 20), other, Usage(1, 20)]
    assert {reply.usage.requests for reply in CountingBackend("./m").answer(judged)} == {1}


def test_the_estimate_is_what_a_server_gets() -> None:
    """A server that can do what it is asked for: as many requests as counted, but for those of the probe."""

    def script(asked: Asked) -> Answer:
        if asked.path == "/v1/chat/completions":
            return chat_reply(*"abcde"[: asked.body.get("n", 1)])
        return with_tokenizer(asked)

    def requests_of(replies: Sequence[Reply]) -> int:
        return sum(reply.usage.requests for reply in replies)

    asked: list[Request] = [Score(f"Q: {number}\nA:", (" this one", " that", " it")) for number in range(3)]
    asked += [*samples(5, "judge this"), *samples(4, "judge that"), greedy()]
    with serving(script) as server, asking(server) as backend:
        list(backend.answer([Score("Q: first\nA:", (" this",))]))
        before = len(server.posts)
        list(backend.answer(asked))
        sent = len(server.posts) - before
    assert requests_of(list(CountingBackend(f"{server.url}#m").answer(asked))) == sent


def test_replies_fit_their_requests_and_can_be_read() -> None:
    """No dialogue has a reason to ask again: continuations fit, masses differ, verdicts and grades are some."""
    score, masses, text = (
        reply.value
        for reply in CountingBackend("m").answer(
            [Score("q", ("a", "b")), NextToken("q", (("A",), ("B",))), Generate("judge", 9)]
        )
    )
    assert isinstance(score, Scores)
    assert len(score.continuations) == 2
    assert masses.log_masses[0] > masses.log_masses[1]  # type: ignore[union-attr,operator]
    assert isinstance(text, Text)
    assert read_verdict(text.text, text.finish_reason).kind == "yes"
    assert read_grade(text.text, text.finish_reason).kind == "grade"


@pytest.mark.parametrize(
    ("item", "settings", "wording", "requests"),
    [
        (GRADED, {}, WORDING, 3),
        (PAIR, {}, WORDING, 2),
        (PAIR, {"order": "single"}, replace(WORDING, offers_tie=False), 1),
        # Two grades a run: nobody knows which run will decide the pair.
        (PAIR, {"grades": True}, WORDING, 6),
        (replace(PAIR, winner="tie"), {"grades": True}, WORDING, 2),
    ],
)
def test_each_run_of_a_judge_is_counted_once(item: Any, settings: Any, wording: Any, requests: int) -> None:
    """Grades and choices alike, though no text can be both."""
    benchmark = BenchmarkSettings("faq", prompt="default", **settings)
    held = hold([began(item, settings=benchmark, wording=wording)], None, judge=CountingBackend("judge"))
    assert held.judge.tally.counts().requests == requests
    assert held.judge.tally.counts().completion_tokens == 512 * requests


def test_nothing_is_learnt_or_refused() -> None:
    """There is no model behind it."""
    backend = CountingBackend("m")
    assert (backend.identity().name, backend.facts(), backend.refuses(Score)) == ("m", None, None)
    backend.close()
