"""What servers and gateways do beside their documentation, and what must not come of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.backends.openai_clients import asking, greedy, kinds, samples, texts
from tests.backends.scripted_server import Answer, Asked, chat_reply, refusal, serving
from truthguard.backends.openai_chat import read_text
from truthguard.backends.openai_failures import Failure, from_reply
from truthguard.backends.openai_features import CHAT, Features
from truthguard.backends.openai_retry import Patience, retry_after
from truthguard.backends.protocol import Generate, NextToken, Text, Turn
from truthguard.records import Missing

KEY = "sk-team-0123456789abcdefghij"
BODY = {"model": "m", "messages": [], "max_tokens": 5, "temperature": 0.0, "seed": 1, "stop": ["Q:"], "n": 5}


@pytest.mark.parametrize("place", range(375, 402, 3))
@pytest.mark.parametrize("kind", ["error", "page", "name", "error in place of a reply"])
def test_a_key_across_the_cut_of_a_long_text_is_taken_out(
    monkeypatch: pytest.MonkeyPatch, kind: str, place: int
) -> None:
    """Wherever words are shortened, the key is scrubbed first: no piece of it is left at the end."""
    monkeypatch.setenv("TEAM_KEY", KEY)
    long = "x" * place + KEY + "y" * 300
    answers = {
        "error": refusal(long),
        "page": Answer(f"<html>{long}"),
        "name": Answer({"model": long, "choices": [{"message": {"content": "a"}}]}),
        "error in place of a reply": Answer({"error": {"message": long}}),
    }

    def script(asked: Asked) -> Answer:
        return chat_reply("a") if "question 0" in str(asked.body) else answers[kind]

    with (
        serving(script) as server,
        asking(server, api_key_env="TEAM_KEY", allowed_hosts=("127.0.0.1",)) as backend,
    ):
        replies = [*backend.answer([greedy(0)]), *backend.answer([greedy(1)])]
        shown = f"{replies} {backend.facts()}"
    assert "x" * 300 in shown
    assert KEY[:5] not in shown


@pytest.mark.parametrize(
    "header",
    ["999999999999999999999999999999 Nov 12:00:00 0", "Mon, 30 Nov 99999999999999999999 12:00:00 GMT", "9" * 400],
)
def test_a_wait_of_too_many_digits_is_left_to_our_own_backoff(header: str) -> None:
    """Such a Retry-After is malformed as any other."""
    assert retry_after(header, datetime(2026, 11, 30, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("The model produced invalid content. Please reduce the temperature.", None),
        ("Unsupported characters in the text. Try another seed", None),
        ("temperature 0 made the model stop early", None),
        ("max_tokens and seed are fine, the text is not", None),
        ("Invalid value: m is not supported in this region", "model"),
        ("The model `m` is not supported", None),
        ("Unknown role", "messages[0].role"),
        ("messages: not allowed", None),
    ],
)
def test_a_complaint_about_one_request_teaches_nothing(message: str, param: str | None) -> None:
    """No parameter is given up for the run because a server mentions it; the model and the prompt never are."""
    features = Features("http://h/v1")
    assert not features.learn(CHAT, BODY, Failure("status", message, 400, param))
    assert features.fit(CHAT, BODY) == BODY


@pytest.mark.parametrize(
    ("message", "param", "name"),
    [
        ("must be 0", "temperature", "temperature"),
        ("The model `m` does not support 'temperature' with reasoning", None, "temperature"),
        ("Unrecognized request argument supplied: seed", None, "seed"),
        ("Unknown parameter: 'seed'.", None, "seed"),
        ("Invalid parameter: stop", None, "stop"),
        ("seed: Extra inputs are not permitted", None, "seed"),
        ("Bad request. seed isn't supported; leave it out", None, "seed"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead", None, "max_tokens"),
        ("'n' > 1 is not allowed", None, "n"),
    ],
)
def test_a_refused_parameter_is_recognised_by_field_or_words(message: str, param: str | None, name: str) -> None:
    """By the error's `param`, or by a sentence that calls it refused."""
    features = Features("http://h/v1")
    assert features.learn(CHAT, BODY, Failure("status", message, 400, param))
    assert [each for each in BODY if features.refuses(CHAT, each)] == [name]


def test_a_parameter_is_sent_again_after_one_complaint_about_content() -> None:
    """The complaint is that request's reason alone."""
    complaint = refusal("The model produced invalid content. Please reduce the temperature.")

    def script(asked: Asked) -> Answer:
        return complaint if "question 0" in str(asked.body) else chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        assert kinds(list(backend.answer([greedy(0)]))) == ["bad_request"]
        assert texts(list(backend.answer([greedy(1)]))) == ["a"]
        assert ["temperature" in post.body for post in server.posts] == [True, True]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        *((word, "length") for word in ("LENGTH", "MAX_TOKENS", "model_length", "max_output_tokens", "token_limit")),
        *((word, "content_filter") for word in ("SAFETY", "Content_Filter", "content-filter", "ContentFilter")),
        *((word, "stop") for word in ("STOP", "EOS", "end_turn")),
        *((word, word) for word in ("tool_calls", "function_call", "Abort")),
    ],
)
def test_other_servers_words_for_the_end_are_understood(given: str, reason: str) -> None:
    """In any case; a word that means none of ours stays as it is."""
    choice = {"message": {"content": "some text"}, "finish_reason": given}
    assert read_text(choice, Generate("q", 9)) == Text("some text", reason)


def test_a_filtered_text_stays_one_where_it_has_a_stop_string() -> None:
    """Cut there, it is still a text that the filter ended."""
    choice = {"message": {"content": "some Q: more"}, "finish_reason": "SAFETY"}
    assert read_text(choice, Generate("q", 9, stop=("Q:",))) == Text("some ", "content_filter")


@pytest.mark.parametrize("error", [{"message": "upstream is down", "code": 502}, {"message": "overloaded"}, "busy"])
def test_an_error_in_place_of_a_reply_is_tried_again(error: object) -> None:
    """Status 200, an error and no choices: as a 5xx; no sign that n is ignored."""

    def script(asked: Asked) -> Answer:
        return Answer({"error": error}) if asked.number < 2 else chat_reply(*"abcde")

    with serving(script) as server, asking(server) as backend:
        replies = list(backend.answer(samples(5)))
        facts = backend.facts()
        assert [post.body.get("n") for post in server.posts] == [5, 5, 5]
    assert texts(replies) == list("abcde")
    assert sum(reply.usage.retries for reply in replies) == 2
    assert facts is not None
    assert "n ignored" not in facts.reason


@pytest.mark.parametrize(
    ("error", "kind", "attempts"),
    [
        ({"message": "overloaded"}, "server_error", 6),
        ({"message": "slow down", "code": 429}, "rate_limited", 6),
        ({"message": "no", "code": 400}, "bad_request", 1),
        ({"message": "maximum context length is 9"}, "does_not_fit", 1),
        ({"message": "no", "code": "content_filter"}, "content_filter", 1),
    ],
)
def test_an_error_in_place_of_a_reply_has_a_kind(error: dict[str, Any], kind: str, attempts: int) -> None:
    """A status that it gives as its code is what the server behind the gateway said."""
    failure = from_reply({"error": error, "choices": []})
    assert failure is not None
    assert (failure.missing("w", 1).kind, failure.attempts(Patience())) == (kind, attempts)


@pytest.mark.parametrize("reply", [{"choices": [1], "error": {"message": "m"}}, {"error": None}, {"error": {}}, {}])
def test_a_reply_is_no_error(reply: dict[str, Any]) -> None:
    """Choices, and a field that is empty."""
    assert from_reply(reply) is None


def test_the_list_of_models_is_not_counted() -> None:
    """max_requests = 1 is one answer."""
    with serving(lambda _: chat_reply("a")) as server, asking(server, max_requests=1) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["a"]
        assert [asked.method for asked in server.asked] == ["GET", "POST"]


@pytest.mark.parametrize(("most", "kind", "sent"), [(None, "server_error", 6), (4, "max_requests", 4)])
def test_a_missing_reply_tells_how_often_it_was_sent(most: int | None, kind: str, sent: int) -> None:
    """Attempts are counted whether or not a reply came of them; samples asked together share one request's."""
    with serving(lambda _: Answer("busy", 503)) as server, asking(server, max_requests=most) as backend:
        replies = list(backend.answer(samples(3)))
        assert len(server.posts) == sent
    assert kinds(replies) == [kind] * 3
    assert sorted(reply.usage.retries for reply in replies) == [0, 0, sent - 1]


def test_a_request_that_was_never_sent_has_no_retries() -> None:
    """Next-token requests count theirs as well."""
    asked = [NextToken((Turn("user", str(number)),), (("Yes",), ("No",))) for number in range(2)]
    with (
        serving(lambda _: Answer("busy", 503)) as server,
        asking(server, max_requests=3, concurrency=1) as backend,
    ):
        replies = list(backend.answer(asked))
    assert [reply.usage.retries for reply in replies] == [2, 0]


def test_a_backend_that_is_opened_again_goes_on() -> None:
    """What was spent and what was learnt outlive the connection."""

    def script(asked: Asked) -> Answer:
        return refusal("no seed", param="seed") if "seed" in asked.body else chat_reply("a")

    with serving(script) as server, asking(server, max_requests=3) as backend:
        assert texts(list(backend.answer([greedy(0)]))) == ["a"]
        backend.close()
        assert texts(list(backend.answer([greedy(1)]))) == ["a"]
        backend.close()
        (reply,) = backend.answer([greedy(2)])
        assert isinstance(reply.missing, Missing)
        assert reply.missing.kind == "max_requests"
        assert ["seed" in post.body for post in server.posts] == [True, False, False]
        assert len(server.asked) - len(server.posts) == 1
