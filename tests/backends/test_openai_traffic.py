"""What was sent is counted once, with the reply that it was sent for; and never more than was allowed."""

from __future__ import annotations

import asyncio
import doctest
import threading
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.openai_clients import asking, greedy, kinds, samples, texts
from tests.backends.scripted_server import Answer, Asked, ScriptedServer, chat_reply, refusal, serving
from tests.backends.scripted_words import complete, with_tokenizer
from truthguard.backends import openai_traffic
from truthguard.backends.openai_traffic import Ledger
from truthguard.backends.protocol import NO_USAGE, NextToken, Reply, Request, Score, Usage
from truthguard.errors import StoreError
from truthguard.store.budget import RequestBudget

YES_OR_NO = NextToken("Is it?", (("Yes",), ("No",)))
LISTED = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": "No", "logprob": -3.0}]}]}


def total(replies: Sequence[Reply]) -> Usage:
    """What all replies took together."""
    return sum((reply.usage for reply in replies), NO_USAGE)


def sent(replies: Sequence[Reply]) -> int:
    """How many HTTP requests the replies say were sent."""
    return total(replies).requests + total(replies).retries


def choices(asked: Asked) -> Answer:
    """As many choices as were asked for."""
    return chat_reply(*"abcdefgh"[: asked.body.get("n", 1)])


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(openai_traffic)
    assert results.attempted > 0
    assert results.failed == 0


# Usage


def test_samples_that_come_together_took_one_request() -> None:
    """Five choices of one reply: the first sample has its request and its tokens, one prompt among them."""
    with serving(choices) as server, asking(server) as backend:
        replies = list(backend.answer(samples(5)))
        assert len(server.posts) == 1
    assert [reply.usage for reply in replies] == [Usage(10, 5), *[NO_USAGE] * 4]


@pytest.mark.parametrize(
    ("script", "posts"),
    [
        # Two choices for three: the third is asked for singly.
        (lambda asked: chat_reply("a", "b") if "n" in asked.body else chat_reply("c"), 1 + 1),
        # None at all: what the first request took stands with the next reply that comes.
        (lambda asked: chat_reply() if "n" in asked.body else chat_reply("c"), 1 + 3),
        (lambda asked: refusal("n is not supported", param="n") if "n" in asked.body else chat_reply("c"), 1 + 1 + 2),
    ],
    ids=["short", "empty", "refused"],
)
def test_samples_that_a_server_does_not_bring_together(script: Callable[[Asked], Answer], posts: int) -> None:
    """Each request that had to be sent is in the sum, whichever reply it stands with."""
    with serving(script) as server, asking(server) as backend:
        replies = list(backend.answer(samples(3)))
        assert len(server.posts) == sent(replies) == posts
    assert len(texts(replies)) == 3
    # Each reply of the server says 10 and 5; a refusal says nothing.
    answered = posts - sum(reply.usage.retries for reply in replies)
    assert astuple(total(replies))[:2] == (10 * answered, 5 * answered)


def test_a_request_that_was_not_sent_is_none() -> None:
    """Behind the end of the budget there is a reason for each reply and no request."""
    with serving(choices) as server, asking(server, max_requests=2, concurrency=1) as backend:
        replies = list(backend.answer([greedy(number) for number in range(4)]))
        assert len(server.posts) == 2
    assert [reply.usage.requests for reply in replies] == [1, 1, 0, 0]


def test_the_way_from_completions_to_chat_is_counted() -> None:
    """The first text prompt was asked at /completions, twice, before chat gave what it lacked."""

    def script(asked: Asked) -> Answer:
        if asked.path == "/v1/completions":
            if asked.number == 0:
                return Answer("busy", 503)
            return Answer({"choices": [{"text": "Yes", "logprobs": None}], "usage": {"prompt_tokens": 3}})
        return chat_reply("Yes", logprobs=LISTED)

    with serving(script) as server, asking(server) as backend:
        first, second = (next(iter(backend.answer([YES_OR_NO]))) for _ in range(2))
        assert [post.path for post in server.posts] == ["/v1/completions"] * 2 + ["/v1/chat/completions"] * 2
    assert first.usage == Usage(3 + 10, 5, retries=1, requests=2)
    assert second.usage == Usage(10, 5)


@pytest.mark.parametrize("script", [complete, with_tokenizer])
def test_the_probe_stands_with_the_first_log_likelihoods(script: Callable[[Asked], Answer]) -> None:
    """What was sent before anything was asked is no reply's own, and is not lost."""
    asked: list[Request] = [Score(f"Q: {number}\nA:", (" this one", " that")) for number in range(3)]
    with serving(script) as server, asking(server, concurrency=1) as backend:
        assert backend.refuses(Score) is None
        probe = len(server.posts)
        replies = list(backend.answer(asked))
        assert sent(replies) == len(server.posts)
    first, *others = (reply.usage.requests for reply in replies)
    assert first > probe > 0
    assert others == [(len(server.posts) - first) // 2] * 2


BEHAVIOURS: dict[str, Callable[[Asked], Answer]] = {
    "answers": choices,
    "is busy": lambda _: Answer("busy", 503),
    "fails": lambda _: refusal("own fault", status=500),
    "brings one": lambda _: chat_reply("a"),
    "brings none": lambda _: chat_reply(),
    "refuses seed": lambda asked: refusal("no seed", param="seed") if "seed" in asked.body else choices(asked),
    "refuses n": lambda asked: refusal("one only", param="n") if "n" in asked.body else choices(asked),
    "refuses": lambda _: refusal("wrong"),
    "breaks off": lambda _: Answer({"choices": []}, cut=5),
}


@settings(max_examples=25, deadline=None)
@given(
    behaviours=st.lists(st.sampled_from(sorted(BEHAVIOURS)), min_size=1, max_size=8),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_the_usages_add_up_to_what_the_server_got(behaviours: list[str], sizes: list[int]) -> None:
    """Whatever a server does, in whatever order: requests and retries of all replies are its HTTP requests."""
    asked = [request for number, size in enumerate(sizes) for request in samples(size, f"judge {number}")]

    def script(one: Asked) -> Answer:
        return BEHAVIOURS[behaviours[one.number % len(behaviours)]](one)

    with serving(script) as server, asking(server, concurrency=2) as backend:
        replies = list(backend.answer(asked))
        assert sorted(map(repr, (reply.request for reply in replies))) == sorted(map(repr, asked))
        assert sent(replies) == len(server.posts)


def test_what_outlives_its_errand_is_not_lost() -> None:
    """A request that is still under way when the reply was given up stands with the next one."""
    ledger = Ledger()

    async def late() -> None:
        await asyncio.sleep(0)
        ledger.sent(again=False)

    async def give_up() -> Usage:
        with ledger.errand() as taken:
            task = asyncio.create_task(late())
            usage = taken()
        await task
        return usage

    assert asyncio.run(give_up()) == NO_USAGE
    with ledger.errand() as taken:
        assert taken() == Usage(requests=1)
        assert taken() == NO_USAGE


# What may be sent


def ask_side_by_side(server: ScriptedServer, budgets: Sequence[RequestBudget]) -> list[Reply]:
    """One backend for each budget, all at once."""
    found: list[Reply] = []

    def ask(number: int) -> None:
        with asking(server, budget=budgets[number]) as backend:
            found.extend(backend.answer([greedy(10 * number + index) for index in range(6)]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(budgets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("failing", [0, 3])
def test_a_shared_budget_is_never_passed(tmp_path: Path, failing: int) -> None:
    """Two backends send what one may, each attempt counted; what was not sent says why."""

    def script(asked: Asked) -> Answer:
        return Answer("busy", 503) if asked.number < failing else chat_reply("a")

    with serving(script) as server:
        replies = ask_side_by_side(server, [RequestBudget(tmp_path / "requests", 7) for _ in range(2)])
        assert len(server.posts) == sent(replies) == 7
    assert kinds(replies) == ["max_requests"] * (12 - (7 - failing))
    assert "max_requests = 7 requests were sent" in str(next(reply.missing for reply in replies if reply.missing))


def test_a_budget_that_cannot_be_counted_sends_nothing(tmp_path: Path) -> None:
    """The error passes through the backend as it is: it is no fault of the server's."""
    (tmp_path / "file").touch()
    with (
        serving(choices) as server,
        asking(server, budget=RequestBudget(tmp_path / "file" / "requests", 7)) as backend,
        pytest.raises(StoreError, match="requests cannot be counted here"),
    ):
        list(backend.answer([greedy()]))
    assert server.posts == []
