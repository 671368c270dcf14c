"""Log-likelihoods through a server: only where a probe proves them, and split as the local backend does.

The scripted servers are what servers.md of this project's notes has measured on real ones: exact (vLLM), ignored
(llama.cpp), refused (transformers serve), shifted by one token (llama-cpp-python).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.backends.openai_clients import asking, kinds
from tests.backends.scripted_server import Answer, Asked, refusal, serving
from tests.backends.scripted_words import complete, completion, legacy, log_likelihood, tokenize
from truthguard.backends.protocol import NextToken, Score, Scores, Turn
from truthguard.errors import UsageError


def shifted(tokens: list[str], values: list[float | None]) -> tuple[list[str], list[float | None]]:
    return tokens, [*values[1:], None]


SCORE = Score("Q: what\nA:", (" this one", " that"))


def expected(context: str, continuation: str) -> float:
    return log_likelihood(tokenize(context), tokenize(continuation))


@pytest.mark.parametrize(
    ("script", "way"),
    [
        (complete, "echo"),
        (lambda asked: complete(asked, echo=None, prompt_logprobs=True), "prompt_logprobs"),
        (lambda asked: complete(asked, echo=shifted, prompt_logprobs=True), "prompt_logprobs"),
        (lambda asked: complete(asked, echo=refusal("no echo", param="echo"), prompt_logprobs=True), "prompt_logprobs"),
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
    assert "log-likelihoods by text: token ids are not to be had (POST" in facts.reason


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (lambda asked: complete(asked, echo=None), "echo ignored, prompt_logprobs ignored"),
        (lambda asked: complete(asked, echo=shifted), r"echo wrong by [0-9.]+ nats.*prompt_logprobs ignored"),
        (lambda asked: complete(asked, echo=refusal("no echo", param="echo")), r"echo refused \(POST .*no echo"),
        (lambda asked: complete(asked, echo=refusal("own fault", status=500)), r"echo refused \(POST .*own fault"),
        (
            lambda asked: complete(asked, echo=lambda tokens, values: (tokens[1:], values[1:])),
            "numbers for 1[0-9] tokens",
        ),
        (lambda asked: complete(asked, echo=lambda t, v: (t, [None] * len(v))), "echo wrong by inf nats"),
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
        assert "mc1, mc2_mass and mc3 need it; written answers (truthful, correctness) still work" in reason
        assert reason.endswith("mc2 and mc_binary where the server gives top_logprobs")
        sent = len(server.posts)
        assert sent <= 10
        assert backend.refuses(Score) == reason
        assert kinds(list(backend.answer([SCORE]))) == ["no_log_likelihoods"]
        assert len(server.posts) == sent


def test_other_requests_are_not_refused_and_send_no_probe() -> None:
    """Asking whether next-token probabilities are to be had costs nothing."""
    with serving(complete) as server, asking(server) as backend:
        assert backend.refuses(NextToken) is None
        assert server.asked == []


def test_a_probe_without_an_answer_decides_nothing() -> None:
    """A busy server is asked again later."""
    busy = [True]
    with (
        serving(lambda asked: Answer("busy", 503) if busy[0] else complete(asked)) as server,
        asking(server) as backend,
    ):
        assert "the probe for log-likelihoods got no reply" in str(backend.refuses(Score))
        busy[0] = False
        assert backend.refuses(Score) is None


def test_a_chat_template_is_refused_up_front() -> None:
    """The completions endpoint knows none; nothing is sent."""
    with serving(complete) as server, asking(server, chat_template=True) as backend:
        assert "set chat_template = false" in str(backend.refuses(Score))
        assert server.asked == []
    with serving(complete) as server, asking(server) as backend:
        assert kinds(list(backend.answer([Score((Turn("user", "q"),), ("a",))]))) == ["no_template"]


def test_spaces_at_the_end_of_a_context_move_to_the_continuation() -> None:
    """As in the local backend: `A: ` and `yes` is `A:` and ` yes`."""
    with serving(complete) as server, asking(server) as backend:
        one, other = backend.answer([Score("Q: what\nA: ", ("this",)), Score("Q: what\nA:", (" this",))])
    assert isinstance(one.value, Scores)
    assert one.value == other.value


def test_a_context_whose_tokens_change_is_counted_as_merged() -> None:
    """The joint tokens minus the number of the context's own; a continuation that leaves none is missing."""

    def split(text: str) -> list[str]:
        # " ab" is one token, though " a" is one by itself; "c" melts into " a" without adding one.
        return re.findall(r" ab| ac| a| ?[^ ]+", text)

    script = lambda asked: complete(asked, split=split)  # noqa: E731
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
        return refusal("maximum context length", param="prompt") if "long" in asked.body["prompt"] else complete(asked)

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
        return Answer("busy", 503) if "lost" in asked.body["prompt"] else complete(asked)

    with serving(script) as server, asking(server) as backend:
        assert kinds(list(backend.answer([Score("Q:", (" lost", " found"))]))) == ["server_error"]


def test_an_empty_context_has_nothing_to_follow() -> None:
    """The first token has no log-probability, which is said and not counted as 0."""
    with serving(complete) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("", ("one two",))])
    assert isinstance(reply.value, Scores)
    (score,) = reply.value.continuations
    assert score.missing is not None
    assert "no log-probability for 1 of 2 tokens" in score.missing.detail


def test_the_error_class_of_a_lacking_key_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe, too, needs a key where an answer does."""
    monkeypatch.delenv("TEAM_KEY", raising=False)
    with (
        serving(complete) as server,
        asking(server, api_key_env="TEAM_KEY", allowed_hosts=("127.0.0.1",)) as backend,
        pytest.raises(UsageError, match="TEAM_KEY"),
    ):
        backend.refuses(Score)
