"""Log-likelihoods through a server: only where a probe proves them, and split as the local backend does.

The scripted servers are what servers.md of this project's notes has measured on real ones: exact (vLLM), ignored
(llama.cpp), refused (transformers serve), shifted by one token (llama-cpp-python).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.backends.openai_clients import asking, kinds
from tests.backends.scripted_server import Answer, Asked, refusal, serving
from truthguard.backends.protocol import NextToken, Score, Scores, Turn
from truthguard.errors import UsageError

# The scripted model's words: what it writes is "w0 w1 w2 ...", a token is a word with the space before it.
_WORD = re.compile(r" ?[^ ]+| +")


def tokenize(text: str) -> list[str]:
    return _WORD.findall(text)


def numbers(tokens: Sequence[str]) -> list[float | None]:
    """A log-probability for each token that depends on the token and on the one before it; None for the first."""
    return [
        None if index == 0 else -((sum(map(ord, tokens[index - 1] + token)) % 97) / 10 + 0.1)
        for index, token in enumerate(tokens)
    ]


def legacy(tokens: Sequence[str], values: Sequence[float | None]) -> dict[str, Any]:
    return {"tokens": list(tokens), "token_logprobs": list(values), "top_logprobs": None, "text_offset": []}


def completion(text: str, logprobs: object, prompt: int, written: int, **choice: object) -> Answer:
    body = {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "length"} | choice
    return Answer({"choices": [body], "usage": {"prompt_tokens": prompt, "completion_tokens": written}})


Change = Callable[[list[str], list[float | None]], tuple[list[str], list[float | None]]]


def model(
    asked: Asked,
    *,
    echo: Change | Answer | None = lambda tokens, values: (tokens, values),
    prompt_logprobs: bool = False,
    split: Callable[[str], list[str]] = tokenize,
) -> Answer:
    """A server with a completions endpoint. `echo` None: ignored; an answer: refused; else how its numbers look."""
    assert asked.path == "/v1/completions", asked.path
    given = split(asked.body["prompt"])
    written = [f" w{index}" for index in range(asked.body["max_tokens"])]
    tokens = given + written
    values = numbers(tokens)
    own = legacy(written, values[len(given) :])
    if asked.body.get("echo"):
        if isinstance(echo, Answer):
            return echo
        if echo is not None:
            return completion(asked.body["prompt"], legacy(*echo(tokens, values)), len(given), len(written))
    if "prompt_logprobs" in asked.body and prompt_logprobs:
        told = [
            None if value is None else {str(index): {"logprob": value, "rank": 1, "decoded_token": token}}
            for index, (token, value) in enumerate(zip(given, values, strict=False))
        ]
        return completion("".join(written), None, len(given), len(written), prompt_logprobs=told)
    return completion("".join(written), own if "logprobs" in asked.body else None, len(given), len(written))


def shifted(tokens: list[str], values: list[float | None]) -> tuple[list[str], list[float | None]]:
    return tokens, [*values[1:], None]


SCORE = Score("Q: what\nA:", (" this one", " that"))


def expected(context: str, continuation: str) -> float:
    tokens = tokenize(context + continuation)
    return sum(value for value in numbers(tokens)[len(tokenize(context)) :] if value is not None)


@pytest.mark.parametrize(
    ("script", "way"),
    [
        (model, "echo"),
        (lambda asked: model(asked, echo=None, prompt_logprobs=True), "prompt_logprobs"),
        (lambda asked: model(asked, echo=shifted, prompt_logprobs=True), "prompt_logprobs"),
        (lambda asked: model(asked, echo=refusal("no echo", param="echo"), prompt_logprobs=True), "prompt_logprobs"),
    ],
    ids=["echo", "ignored", "shifted", "refused"],
)
def test_a_server_that_proves_it_scores(script: Callable[[Asked], Answer], way: str) -> None:
    """By echo, else by prompt_logprobs; the sum over the continuation's tokens alone."""
    with serving(script) as server, asking(server) as backend:
        assert backend.refuses(Score) is None
        (reply,) = backend.answer([SCORE])
        facts = backend.facts()
    assert isinstance(reply.value, Scores)
    for continuation, found in zip(SCORE.continuations, reply.value.continuations, strict=True):
        assert found.log_likelihood == pytest.approx(expected(str(SCORE.context), continuation))
        assert (found.tokens, found.merged, found.truncated) == (len(tokenize(continuation)), False, False)
    assert reply.usage.prompt_tokens > 0
    assert facts is not None
    assert facts.scorer == way


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (lambda asked: model(asked, echo=None), "echo ignored, prompt_logprobs ignored"),
        (lambda asked: model(asked, echo=shifted), r"echo wrong by [0-9.]+ nats.*prompt_logprobs ignored"),
        (lambda asked: model(asked, echo=refusal("no echo", param="echo")), r"echo refused \(POST .*no echo"),
        (lambda asked: model(asked, echo=refusal("own fault", status=500)), r"echo refused \(POST .*own fault"),
        (lambda asked: model(asked, echo=lambda tokens, values: (tokens[1:], values[1:])), "numbers for 1[0-9] tokens"),
        (lambda asked: model(asked, echo=lambda t, v: (t, [None] * len(v))), "echo wrong by inf nats"),
        (lambda asked: refusal("Not Found", status=404), "no such endpoint"),
        (lambda asked: refusal("logprobs are off", param="logprobs"), "logprobs refused"),
        (lambda asked: completion(" a b", None, 3, 2), "logprobs ignored"),
        (lambda asked: completion(" a", legacy([" a"], [-1.0]), 3, 1), "too little was written"),
    ],
    ids=["ignored", "shifted", "refused", "failing", "too few", "null", "404", "no logprobs", "none", "short"],
)
def test_a_server_that_proves_nothing_refuses_up_front(script: Callable[[Asked], Answer], told: str) -> None:
    """With the endpoint, what was wrong with which parameter, and what still works; the probe is sent once."""
    with serving(script) as server, asking(server) as backend:
        reason = backend.refuses(Score)
        assert reason is not None
        assert re.search(told, reason), reason
        assert f"POST {server.url}/completions" in reason
        assert "mc1, mc2_mass and mc3 need it; mc2, mc_binary and written answers" in reason
        sent = len(server.posts)
        assert sent <= 10
        assert backend.refuses(Score) == reason
        assert kinds(list(backend.answer([SCORE]))) == ["no_log_likelihoods"]
        assert len(server.posts) == sent


def test_other_requests_are_not_refused_and_send_no_probe() -> None:
    """Asking whether next-token probabilities are to be had costs nothing."""
    with serving(model) as server, asking(server) as backend:
        assert backend.refuses(NextToken) is None
        assert server.asked == []


def test_a_probe_without_an_answer_decides_nothing() -> None:
    """A busy server is asked again later."""
    busy = [True]
    with serving(lambda asked: Answer("busy", 503) if busy[0] else model(asked)) as server, asking(server) as backend:
        assert "the probe for log-likelihoods got no reply" in str(backend.refuses(Score))
        busy[0] = False
        assert backend.refuses(Score) is None


def test_a_chat_template_is_refused_up_front() -> None:
    """The completions endpoint knows none; nothing is sent."""
    with serving(model) as server, asking(server, chat_template=True) as backend:
        assert "set chat_template = false" in str(backend.refuses(Score))
        assert server.asked == []
    with serving(model) as server, asking(server) as backend:
        assert kinds(list(backend.answer([Score((Turn("user", "q"),), ("a",))]))) == ["no_template"]


def test_spaces_at_the_end_of_a_context_move_to_the_continuation() -> None:
    """As in the local backend: `A: ` and `yes` is `A:` and ` yes`."""
    with serving(model) as server, asking(server) as backend:
        one, other = backend.answer([Score("Q: what\nA: ", ("this",)), Score("Q: what\nA:", (" this",))])
    assert isinstance(one.value, Scores)
    assert one.value == other.value


def test_a_context_whose_tokens_change_is_counted_as_merged() -> None:
    """The joint tokens minus the number of the context's own; a continuation that leaves none is missing."""

    def split(text: str) -> list[str]:
        # " ab" is one token, though " a" is one by itself; "c" melts into " a" without adding one.
        return re.findall(r" ab| ac| a| ?[^ ]+", text)

    script = lambda asked: model(asked, split=split)  # noqa: E731
    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("x a", ("b y", " y", "c"))])
    assert isinstance(reply.value, Scores)
    merged, apart, melted = reply.value.continuations
    assert (merged.tokens, merged.merged) == (1, True)
    assert (apart.tokens, apart.merged) == (1, False)
    assert (melted.log_likelihood, melted.merged) == (None, True)
    assert melted.missing is not None
    assert melted.missing.kind == "no_tokens"


def test_a_continuation_that_does_not_fit_is_missing_alone() -> None:
    """The others of its request are scored."""

    def script(asked: Asked) -> Answer:
        return refusal("maximum context length", param="prompt") if "long" in asked.body["prompt"] else model(asked)

    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("Q:", (" long", " short"))])
    assert isinstance(reply.value, Scores)
    long, short = reply.value.continuations
    assert long.missing is not None
    assert long.missing.kind == "does_not_fit"
    assert short.log_likelihood == pytest.approx(expected("Q:", " short"))


def test_a_request_with_a_lost_part_has_no_value() -> None:
    """A gap would be kept as an answer: the whole request is asked again instead."""

    def script(asked: Asked) -> Answer:
        return Answer("busy", 503) if "lost" in asked.body["prompt"] else model(asked)

    with serving(script) as server, asking(server) as backend:
        assert kinds(list(backend.answer([Score("Q:", (" lost", " found"))]))) == ["server_error"]


def test_an_empty_context_has_nothing_to_follow() -> None:
    """The first token has no log-probability, which is said and not counted as 0."""
    with serving(model) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("", ("one two",))])
    assert isinstance(reply.value, Scores)
    (score,) = reply.value.continuations
    assert score.missing is not None
    assert "no log-probability for 1 of 2 tokens" in score.missing.detail


def test_the_error_class_of_a_lacking_key_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe, too, needs a key where an answer does."""
    monkeypatch.delenv("TEAM_KEY", raising=False)
    with (
        serving(model) as server,
        asking(server, api_key_env="TEAM_KEY", allowed_hosts=("127.0.0.1",)) as backend,
        pytest.raises(UsageError, match="TEAM_KEY"),
    ):
        backend.refuses(Score)
