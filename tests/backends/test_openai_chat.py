"""Written answers: what is sent, and how replies of every shape are read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.openai_clients import asking, greedy, kinds, samples, texts
from tests.backends.scripted_server import Answer, Asked, chat_reply, refusal, serving
from truthguard.backends.openai_chat import read_text, sample_groups
from truthguard.backends.protocol import Generate, Text, Turn
from truthguard.records import Missing

STOP = Generate("q", max_tokens=20, stop=("\n\n", "Q:"))


def choice(content: object, reason: object = "stop", **message: object) -> dict[str, Any]:
    return {"message": {"content": content} | message, "finish_reason": reason}


@pytest.mark.parametrize(
    ("given", "text", "reason"),
    [
        (choice("Verdict: yes"), "Verdict: yes", "stop"),
        (choice("", "length"), "", "length"),
        (choice("The claim is tr", "length"), "The claim is tr", "length"),
        (choice(None, "content_filter"), "", "content_filter"),
        (choice(None, "length", reasoning_content="hm"), "", "length"),
        (choice(None), "", "no_content"),
        (choice(None, None), "", "no_content"),
        (choice(""), "", "stop"),
        (choice(None, refusal="I cannot"), "I cannot", "refusal"),
        (choice("partly", refusal="I cannot"), "partly", "refusal"),
        (choice("fine", refusal=None), "fine", "stop"),
        (choice("fine", "eos_token"), "fine", "stop"),
        (choice("fine", "max_tokens"), "fine", "length"),
        (choice("fine", "abort"), "fine", "abort"),
        (choice("fine", None), "fine", "stop"),
        (choice([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), "in parts", "stop"),
        (choice("Paris.\n\nQ: more", "length"), "Paris.", "stop"),
        (choice("Paris. Q:"), "Paris. ", "stop"),
        ({"finish_reason": "stop"}, "", "no_content"),
        ({"message": None, "finish_reason": "content_filter"}, "", "content_filter"),
    ],
)
def test_c13_a_reply_of_any_shape_is_read(given: dict[str, Any], text: str, reason: str) -> None:
    """C13: content that is null, a filter, a refusal and a cut reply keep their reasons; none is an exception."""
    assert read_text(given, STOP) == Text(text, reason)


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, {"choices": ["text"]}])
def test_a_reply_without_choices_is_missing(body: dict[str, Any]) -> None:
    """Whatever stands there instead."""
    with serving(lambda _: Answer(body)) as server, asking(server) as backend:
        assert kinds(list(backend.answer([greedy()]))) == ["bad_reply"]
    assert isinstance(read_text("text", STOP), Missing)


def test_what_is_sampled_is_said_explicitly() -> None:
    """Servers have defaults of their own: temperature, top_p, seed and the budget stand in every request."""
    asked = Generate("q", max_tokens=7, stop=("Q:",), temperature=0.3, top_p=0.9, seed=5)
    turns = Generate((Turn("system", "be brief"), Turn("user", "q")), max_tokens=7)
    with serving(lambda _: chat_reply("a")) as server, asking(server) as backend:
        replies = list(backend.answer([asked, turns]))
    # Both are under way at once, and either may arrive first.
    first, second = sorted((post.body for post in server.posts), key=lambda body: len(body["messages"]))
    assert first == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "max_tokens": 7,
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 5,
        "stop": ["Q:"],
        "stream": False,
    }
    assert second["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "q"}]
    assert (second["temperature"], second["seed"], "stop" in second) == (0.0, 0, False)
    assert [(reply.usage.prompt_tokens, reply.usage.completion_tokens) for reply in replies] == [(10, 5), (10, 5)]


def test_a_retry_of_a_sample_draws_other_numbers() -> None:
    """Sample and seed stay, the attempt moves the seed that is sent, and not onto a neighbour's."""
    asked = [
        Generate("q", 5, temperature=1.0, seed=seed, sample=seed, attempt=attempt)
        for seed in range(3)
        for attempt in range(3)
    ]
    with serving(lambda _: refusal("no n", param="n") if _.body.get("n") else chat_reply("a")) as server:
        with asking(server) as backend:
            assert len(list(backend.answer(asked))) == 9
        seeds = {post.body["seed"] for post in server.posts if "n" not in post.body}
    assert len(seeds) == 9


def test_samples_of_one_prompt_go_together() -> None:
    """Equal but for sample and seed; greedy requests, other budgets and other attempts stay apart."""
    one, two = samples(3), samples(2, "other")
    again = Generate("judge this", max_tokens=20, temperature=0.7, seed=100, sample=0, attempt=1)
    assert sample_groups([*one, greedy(), greedy(), *two, again]) == [
        tuple(one),
        (greedy(),),
        (greedy(),),
        tuple(two),
        (again,),
    ]


def test_a_server_that_gives_n_is_asked_once() -> None:
    """Five samples, one request; the tokens are counted once."""
    with serving(lambda asked: chat_reply(*"abcde")) as server, asking(server) as backend:
        replies = list(backend.answer(samples(5)))
        assert [post.body["n"] for post in server.posts] == [5]
    assert texts(replies) == ["a", "b", "c", "d", "e"]
    assert sum(reply.usage.completion_tokens for reply in replies) == 5


def test_c11_a_server_that_ignores_n_is_asked_n_times() -> None:
    """C11: one choice for n = 5: five calls in all, each sample its own seed; later prompts are asked singly."""
    with serving(lambda asked: chat_reply(f"seed {asked.body['seed']}")) as server, asking(server) as backend:
        assert texts(list(backend.answer(samples(5)))) == [f"seed {100 + index}" for index in range(5)]
        assert len(server.posts) == 5
        assert len(list(backend.answer(samples(5, "another")))) == 5
        assert [post.body.get("n") for post in server.posts] == [5] + [None] * 9
        facts = backend.facts()
    assert facts is not None
    assert "n ignored: each sample is asked for singly" in facts.reason


@pytest.mark.parametrize(
    "refused",
    [
        refusal("n must be 1", param="n"),
        refusal("'n' is not supported"),
        refusal("Only one completion choice is allowed: n > 1"),
        refusal("Field 'n': Value must be between 1 <= value <= 1, but got 5"),  # llama.cpp's with one slot
        Answer({"detail": [{"loc": ["body", "n"], "msg": "must be 1", "input": 5}]}, 422),
        Answer({"detail": "unsupported parameter: n"}, 400),
    ],
)
def test_c11_a_server_that_refuses_n_is_asked_so_once(refused: Answer) -> None:
    """C11: status 400 for n > 1: five calls with n = 1, and the refused call is not repeated for other items."""
    with serving(lambda asked: refused if "n" in asked.body else chat_reply("a")) as server:
        with asking(server) as backend:
            replies = list(backend.answer([*samples(5), *samples(5, "another"), *samples(5, "third")]))
            facts = backend.facts()
        assert sum("n" in post.body for post in server.posts) == 1
        assert len(server.posts) == 16
    assert len(texts(replies)) == 15
    assert facts is not None
    assert "n refused" in facts.reason


def test_c11_surplus_choices_are_dropped() -> None:
    """C11: 7 choices for n = 5: only the first five are used."""
    with serving(lambda asked: chat_reply(*"abcdefg")) as server, asking(server) as backend:
        assert texts(list(backend.answer(samples(5)))) == ["a", "b", "c", "d", "e"]
        assert len(server.posts) == 1


def test_fewer_choices_than_asked_are_made_up_singly() -> None:
    """Three of five: the other two are asked by their own seeds."""
    script = lambda asked: chat_reply(*"abc") if "n" in asked.body else chat_reply(str(asked.body["seed"]))  # noqa: E731
    with serving(script) as server, asking(server) as backend:
        assert texts(list(backend.answer(samples(5)))) == ["a", "b", "c", "103", "104"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("seed", "seed refused: samples are drawn without one"),
        ("temperature", "temperature refused: the server's own is used"),
        ("top_p", "top_p refused"),
        ("stop", "stop refused: texts are cut here"),
        ("max_tokens", "max_tokens refused: max_completion_tokens is sent"),
        ("stream", "stream refused"),
    ],
)
def test_a_refused_parameter_is_learnt_once_and_told(name: str, told: str) -> None:
    """Sent once however many items there are side by side, left out or replaced from then on, and in the facts."""
    code = "unsupported_parameter"
    refused = refusal(f"Unsupported parameter: '{name}' is not supported with this model.", param=name, code=code)
    asked = [Generate(f"q{number}", max_tokens=9, stop=("Q:",), seed=number) for number in range(12)]
    with serving(lambda asked: refused if name in asked.body else chat_reply("a Q: b")) as server:
        with asking(server) as backend:
            replies = list(backend.answer(asked))
            facts = backend.facts()
        sent = [post.body for post in server.posts]
    assert sum(name in body for body in sent) == 1
    assert len(sent) == 13
    assert set(texts(replies)) == {"a "}
    assert sum(reply.usage.retries for reply in replies) == 1
    assert facts is not None
    assert told in facts.reason
    if name == "max_tokens":
        assert all(body["max_completion_tokens"] == 9 for body in sent[1:])


def test_several_refused_parameters_are_learnt_one_after_the_other() -> None:
    """A reasoning model refuses max_tokens, then temperature, then top_p."""

    def script(asked: Asked) -> Answer:
        for name in ("max_tokens", "temperature", "top_p"):
            if name in asked.body:
                return refusal(f"Unsupported: {name}", param=name)
        return chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        replies = list(backend.answer([greedy(number) for number in range(5)]))
        assert len(server.posts) == 8
    assert len(texts(replies)) == 5


def test_a_refusal_of_what_cannot_be_left_out_is_that_requests_reason() -> None:
    """An unknown complaint is not learnt from: it stands in the reply's reason, and the next request is asked."""

    def script(asked: Asked) -> Answer:
        if "question 0" in str(asked.body["messages"]):
            return refusal("messages must not be rude", param="messages")
        return chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([greedy(0)])
        assert texts(list(backend.answer([greedy(1)]))) == ["a"]
    assert reply.missing is not None
    assert reply.missing.kind == "bad_request"
    assert "messages must not be rude" in reply.missing.detail


@pytest.mark.parametrize(
    "answer",
    [
        refusal("This model's maximum context length is 2048 tokens, max_tokens too large", param="max_tokens"),
        refusal("request (9000 tokens) exceeds the available context size", type="exceed_context_size_error"),
        refusal("too much", code="context_length_exceeded"),
    ],
)
def test_a_prompt_that_is_too_long_teaches_nothing(answer: Answer) -> None:
    """It is that prompt's reason, and max_tokens is still sent afterwards."""
    long = Generate("long", max_tokens=20)
    with serving(lambda asked: answer if "long" in str(asked.body) else chat_reply("a")) as server:
        with asking(server) as backend:
            assert kinds(list(backend.answer([long]))) == ["does_not_fit"]
            assert texts(list(backend.answer([greedy()]))) == ["a"]
        assert [post.body["max_tokens"] for post in server.posts] == [20, 20]


def test_a_filtered_prompt_has_that_reason() -> None:
    """Some servers answer a filtered prompt with an error: its kind is the filter's, and it is not repeated."""
    with serving(lambda _: refusal("filtered", code="content_filter")) as server, asking(server) as backend:
        assert kinds(list(backend.answer([greedy()]))) == ["content_filter"]
        assert len(server.posts) == 1


def test_equal_samples_are_told() -> None:
    """A server that samples greedily whatever the temperature (transformers serve) is named in the facts."""
    words = "the same long words again, as often as they are asked for"
    with serving(lambda _: chat_reply(words)) as server, asking(server) as backend:
        list(backend.answer(samples(3)))
        facts = backend.facts()
    assert facts is not None
    assert "may ignore temperature or seed" in facts.reason


def test_the_model_that_replies_is_told() -> None:
    """A name that stands for a dated version: the facts say which one answered."""
    body = {"model": "m-2026-11-01", "choices": [choice("a")]}
    with serving(lambda _: Answer(body)) as server, asking(server) as backend:
        list(backend.answer([greedy()]))
        facts = backend.facts()
    assert facts is not None
    assert "replies come from the model 'm-2026-11-01'" in facts.reason


def test_a_longer_reply_than_asked_is_told() -> None:
    """A server that ignores max_tokens costs more than was agreed."""
    with serving(lambda _: chat_reply("a")) as server, asking(server) as backend:
        list(backend.answer([Generate("q", max_tokens=4)]))
        facts = backend.facts()
    assert facts is not None
    assert "max_tokens ignored" in facts.reason
