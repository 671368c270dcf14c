"""Many prompts in one call: each once, none that another holds, and no number that is another prompt's."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.openai_clients import asking, kinds
from tests.backends.scripted_server import Answer, Asked, Script, ScriptedServer, refusal, serving
from tests.backends.scripted_words import VOCABULARY, complete, log_likelihood, tokenize, with_tokenizer
from truthguard.backends import openai_prompts
from truthguard.backends.openai_prompts import calls, covering
from truthguard.backends.protocol import Reply, Score, Scores

SCORE = Score("Q: what\nA:", (" this one", " that", " this", " that"))

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple), max_size=12)


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(openai_prompts)
    assert results.attempted > 0
    assert results.failed == 0


@given(prompts)
def test_what_is_sent_covers_each_prompt_and_nothing_twice(asked: list[tuple[int, ...]]) -> None:
    """Each prompt begins the one sent for it, and no prompt that is sent begins another."""
    sent = covering(asked)
    assert sent.keys() == set(asked)
    assert all(longer[: len(ids)] == ids for ids, longer in sent.items())
    distinct = set(sent.values())
    assert not [(a, b) for a in distinct for b in distinct if a != b and b[: len(a)] == a]


@given(prompts, st.integers(1, 4), st.integers(1, 12))
def test_calls_keep_to_both_bounds(asked: list[tuple[int, ...]], most_prompts: int, most_tokens: int) -> None:
    """All prompts in their order; only a prompt that is too long by itself goes beyond the tokens, alone."""
    found = calls(asked, most_prompts, most_tokens)
    assert [ids for call in found for ids in call] == asked
    assert all(0 < len(call) <= most_prompts for call in found)
    assert all(len(call) == 1 or sum(map(len, call)) <= most_tokens for call in found)


def is_many(asked: Asked) -> bool:
    prompt = asked.body.get("prompt")
    return isinstance(prompt, list) and isinstance(prompt[0], list)


def scoring(server: ScriptedServer) -> list[Any]:
    """The prompts of each call by token ids but the probe's: a list for several, the words for one."""

    def words(ids: list[int]) -> str:
        return "".join(VOCABULARY.words[token] for token in ids)

    bodies = [post.body["prompt"] for post in server.posts if post.path == "/v1/completions"]
    ids = [body for body in bodies if isinstance(body, list)]
    sent = [[words(each) for each in body] if isinstance(body[0], list) else words(body) for body in ids]
    return [each for each in sent if "w0" not in str(each)]


def assert_right(reply: Reply, asked: Score = SCORE) -> None:
    assert isinstance(reply.value, Scores), reply.missing
    for continuation, score in zip(asked.continuations, reply.value.continuations, strict=True):
        expected = log_likelihood(tokenize(str(asked.context)), tokenize(continuation))
        assert score.log_likelihood == pytest.approx(expected)
        assert score.tokens == len(tokenize(continuation))


def reversed_choices(asked: Asked) -> Answer:
    answer = with_tokenizer(asked)
    if not is_many(asked):
        return answer
    body: Any = answer.body
    return replace(answer, body=body | {"choices": body["choices"][::-1]})


@pytest.mark.parametrize("owner", ["vllm", "another"])
@pytest.mark.parametrize("script", [with_tokenizer, reversed_choices], ids=["in order", "out of order"])
def test_a_question_is_one_call(script: Script, owner: str) -> None:
    """What is equal, and what begins another choice, is not sent; choices are told by their index."""
    with serving(script, {"data": [{"id": "m", "owned_by": owner}]}) as server, asking(server) as backend:
        assert backend.refuses(Score) is None
        (reply,) = backend.answer([SCORE])
        assert scoring(server) == [["Q: what\nA: that", "Q: what\nA: this one"]]
        facts = backend.facts()
    assert_right(reply)
    assert facts is not None
    assert facts.reason == "log-likelihoods by token ids"


def test_vllms_own_way_is_tried_first() -> None:
    """It brings one number a token and no text; where it is ignored, echo serves."""

    def script(asked: Asked) -> Answer:
        if asked.path == "/tokenize":
            return with_tokenizer(asked)
        return complete(asked, prompt_logprobs=True)

    with serving(script, {"data": [{"id": "m", "owned_by": "vllm"}]}) as server, asking(server) as backend:
        (reply,) = backend.answer([SCORE])
        facts = backend.facts()
        assert not [post for post in server.posts if "echo" in post.body]
    assert_right(reply)
    assert facts is not None
    assert facts.scorer == "prompt_logprobs"


def changed(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Script:
    """A server that spoils its replies to several prompts."""

    def script(asked: Asked) -> Answer:
        answer = with_tokenizer(asked)
        body: Any = answer.body
        return Answer(body | {"choices": change(body["choices"])}) if is_many(asked) else answer

    return script


def padded(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Numbers of the shorter prompt that depend on the longer one beside it."""
    first = dict(choices[0]["logprobs"])
    first["token_logprobs"] = [None if value is None else value - 1.0 for value in first["token_logprobs"]]
    return [choices[0] | {"logprobs": first}, *choices[1:]]


UNFIT: dict[str, tuple[Script, str]] = {
    "refused": (lambda asked: refusal("one prompt only") if is_many(asked) else with_tokenizer(asked), "one prompt"),
    "refused by name": (
        lambda asked: refusal("logprobs not supported", param="logprobs") if is_many(asked) else with_tokenizer(asked),
        "logprobs not supported",
    ),
    "failing": (lambda asked: Answer("oh", 500) if is_many(asked) else with_tokenizer(asked), "status 500"),
    "first only": (changed(lambda choices: choices[:1]), "did not bring"),
    "one too many": (changed(lambda choices: [*choices, choices[0]]), "did not bring"),
    "no index": (changed(lambda choices: [each | {"index": 0} for each in choices]), "did not bring"),
    "true as index": (changed(lambda choices: [choices[0], choices[1] | {"index": True}]), "did not bring"),
    "swapped": (
        changed(lambda choices: [choices[0] | {"index": 1}, choices[1] | {"index": 0}]),
        "did not bring",
    ),
    "padded": (changed(padded), "wrong by 1 nats"),
    "null": (changed(lambda choices: [each | {"logprobs": None} for each in choices]), "did not bring"),
}


@pytest.mark.parametrize(("script", "told"), UNFIT.values(), ids=UNFIT)
def test_a_server_that_cannot_tell_prompts_apart_gets_one_a_call(script: Script, told: str) -> None:
    """The probe finds it out; the numbers are right, and the facts say why."""
    with serving(script) as server, asking(server) as backend:
        assert backend.refuses(Score) is None
        (reply,) = backend.answer([SCORE])
        assert sorted(scoring(server)[-2:]) == ["Q: what\nA: that", "Q: what\nA: this one"]
        facts = backend.facts()
    assert_right(reply)
    assert facts is not None
    assert facts.reason.startswith("log-likelihoods by token ids, one prompt a call: several ")
    assert told in facts.reason


@pytest.mark.parametrize(
    "spoilt",
    [
        changed(lambda choices: choices[:1]),
        lambda asked: refusal("too many prompts"),
        lambda asked: Answer("x" * 9, 413),
        lambda asked: Answer("late", delay=1.5),
    ],
    ids=["one missing", "refused", "too large", "late"],
)
def test_a_call_that_fails_later_is_made_one_by_one(spoilt: Script) -> None:
    """No number is lost, and several are not tried again; what was sent is in the usage."""
    broken: list[bool] = []

    def script(asked: Asked) -> Answer:
        return spoilt(asked) if broken and is_many(asked) else with_tokenizer(asked)

    with serving(script) as server, asking(server, timeout_seconds=1.0) as backend:
        assert backend.refuses(Score) is None
        list(backend.answer([SCORE]))
        broken.append(True)
        before = len(server.posts)
        (reply,) = backend.answer([SCORE])
        # Context and three texts at the tokenizer, the call, and each of its two prompts.
        assert reply.usage.requests == len(server.posts) - before == 4 + 1 + 2
        (again,) = backend.answer([SCORE])
        assert again.usage.requests == 4 + 2
        facts = backend.facts()
    assert_right(reply)
    assert reply.value == again.value
    assert facts is not None
    assert "one prompt a call: several failed" in facts.reason


def test_a_prompt_that_does_not_fit_is_missing_alone() -> None:
    """Its neighbours of the call are scored, its own beginning too; several go on in one call."""

    def script(asked: Asked) -> Answer:
        return with_tokenizer(asked, window=None if asked.path == "/tokenize" else 30)

    score = Score("Q:", (" yes", " no" * 40, " no"))
    with serving(script) as server, asking(server) as backend:
        for _ in range(2):
            (reply,) = backend.answer([score])
            assert isinstance(reply.value, Scores), reply.missing
            yes, long, no = reply.value.continuations
            assert long.missing is not None
            assert long.missing.kind == "does_not_fit"
            assert (yes.missing, no.missing) == (None, None)
            assert no.log_likelihood == pytest.approx(log_likelihood(["Q:"], [" no"]))
        assert isinstance(scoring(server)[-4], list)


@pytest.mark.parametrize(("status", "kind"), [(503, "server_error"), (429, "rate_limited")])
def test_a_busy_server_is_not_asked_more(status: int, kind: str) -> None:
    """A call that a busy server did not answer is missing as one, and several are sent the next time."""
    busy: list[bool] = []

    def script(asked: Asked) -> Answer:
        return Answer("busy", status) if busy and is_many(asked) else with_tokenizer(asked)

    with serving(script) as server, asking(server) as backend:
        assert backend.refuses(Score) is None
        busy.append(True)
        assert kinds(list(backend.answer([SCORE]))) == [kind]
        busy.clear()
        (reply,) = backend.answer([SCORE])
        assert isinstance(scoring(server)[-1], list)
    assert_right(reply)


def test_a_call_is_one_request_of_the_budget() -> None:
    """The probe takes five and the tokenizer's own; behind the last one nothing is sent."""
    with serving(with_tokenizer) as server, asking(server) as backend:
        list(backend.answer([SCORE]))
        enough = len(server.posts)
    with serving(with_tokenizer) as server, asking(server, max_requests=enough - 1) as backend:
        assert kinds(list(backend.answer([SCORE]))) == ["max_requests"]
        assert len(server.posts) == enough - 1


def test_long_questions_are_cut_into_calls() -> None:
    """No call has more than 4,096 tokens."""
    long = " word" * 1500
    score = Score("Q:", tuple(f" {name}{long}" for name in "abcde"))
    script: Script = lambda asked: with_tokenizer(asked, window=8192)  # noqa: E731
    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([score])
        sent = [post.body["prompt"] for post in server.posts if is_many(post)][1:]
        assert sorted(len(call) for call in sent) == [2, 2]
    assert_right(reply, score)
