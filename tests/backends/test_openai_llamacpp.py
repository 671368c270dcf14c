"""The backend against a real server: llama.cpp's own, in this process, with the small model in float32."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.backends.llamacpp import KEY, llamacpp, llamacpp_process, write_float32
from tests.backends.openai_clients import greedy, kinds, texts
from truthguard.backends.loading import open_backend
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.protocol import Generate, Masses, NextToken, Reply, Score, Turn
from truthguard.backends.sources import find_source, weights_path
from truthguard.errors import ModelError
from truthguard.metrics.choice import NO_FORMS, YES_FORMS, Bounds, yes_probability
from truthguard.records import ModelSettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

YES_NO = (YES_FORMS, NO_FORMS)
QUESTIONS = [
    f"Q: {question}\nProposed answer: {answer}\nIs the proposed answer true? Reply Yes or No.\nA:"
    for question, answer in [
        ("What is the capital of France?", "Paris"),
        ("What is the capital of France?", "Lyon"),
        ("How many legs has a spider?", "Eight"),
        ("How many legs has a spider?", "Three"),
    ]
]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMACPP_KEY", KEY)


@pytest.fixture(scope="module")
def float32(small_model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The weights as float32, for as long as they are needed: half a gigabyte."""
    if find_spec("xllamacpp") is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("llama.cpp's server is not installed: pip install xllamacpp")
    source, _ = weights_path(find_source(ModelSettings(small_model)))
    target = tmp_path_factory.mktemp("float32") / "smol.gguf"
    write_float32(source, target)
    yield target
    target.unlink()


@pytest.fixture(scope="module")
def url(float32: Path) -> Iterator[str]:
    with llamacpp(float32) as address:
        yield address


@pytest.fixture
def backend(url: str) -> Iterator[OpenAIBackend]:
    made = make(url)
    yield made
    made.close()


def make(url: str, **options: Any) -> OpenAIBackend:
    settings = ModelSettings(f"{url}#smol", api_key_env="LLAMACPP_KEY", **options)
    return OpenAIBackend(settings, api_identity(settings), allowed_hosts=("127.0.0.1",))


def test_it_writes_the_same_alone_and_among_others(backend: OpenAIBackend) -> None:
    """A greedy answer does not depend on the 16 that are asked with it."""
    capital = Generate("What is the capital of France?", max_tokens=12)
    (alone,) = texts(list(backend.answer([capital])))
    assert "Paris" in alone
    crowd = [Generate(f"Tell me of the number {number}.", max_tokens=12) for number in range(15)]
    replies = list(backend.answer([capital, *crowd]))
    assert len(texts(replies)) == 16
    assert texts([reply for reply in replies if reply.request == capital]) == [alone]
    assert all(reply.usage.prompt_tokens > 0 and 0 < reply.usage.completion_tokens <= 12 for reply in replies)


def test_samples_have_seeds_and_more_than_the_server_gives_at_once_are_asked_singly(backend: OpenAIBackend) -> None:
    """It refuses n above its number of slots (4): learnt, and each of the six drawn by its own seed."""
    asked = [
        Generate("Tell me of a river.", max_tokens=12, temperature=1.0, seed=7 + index, sample=index)
        for index in range(6)
    ]
    once = texts(list(backend.answer(asked)))
    assert len(set(once)) > 1
    facts = backend.facts()
    assert facts is not None
    assert "n refused" in facts.reason
    assert texts(list(backend.answer(asked[2:4]))) == once[2:4]


def test_few_samples_come_in_one_request(backend: OpenAIBackend) -> None:
    """Three of four slots: different texts, one request."""
    asked = [
        Generate("Tell me of a river.", max_tokens=12, temperature=1.0, seed=index, sample=index) for index in range(3)
    ]
    replies = list(backend.answer(asked))
    assert len(set(texts(replies))) > 1
    assert sum(reply.usage.prompt_tokens > 0 for reply in replies) == 1


def test_stop_strings_and_the_token_limit_end_a_text(backend: OpenAIBackend) -> None:
    """Each with its own reason."""
    count = "Count: one, two, three, four, five. Repeat that."
    short, stopped = backend.answer([Generate(count, max_tokens=3), Generate(count, max_tokens=40, stop=(",",))])
    by_limit = {reply.request: reply.value for reply in (short, stopped)}
    assert by_limit[Generate(count, max_tokens=3)].finish_reason == "length"  # type: ignore[union-attr]
    cut = by_limit[Generate(count, max_tokens=40, stop=(",",))]
    assert cut.finish_reason == "stop"  # type: ignore[union-attr]
    assert "," not in cut.text  # type: ignore[union-attr]


def p_yes(reply: Reply) -> float:
    assert isinstance(reply.value, Masses), reply.missing
    yes, no = reply.value.log_masses
    found = yes_probability(yes, no, reply.value.unlisted)
    assert isinstance(found, Bounds)
    assert found.exact
    return found.low


def test_p_yes_is_the_local_models(backend: OpenAIBackend, small_model: str) -> None:
    """Text prompts, through the server's list of 1000 tokens and by the local backend: the same within 0.01."""
    asked = [NextToken(question, YES_NO) for question in QUESTIONS]
    through = {reply.request: p_yes(reply) for reply in backend.answer(asked)}
    local = open_backend(ModelSettings(small_model, dtype="float32"))
    try:
        here = {reply.request: p_yes(reply) for reply in local.answer(asked)}
    finally:
        local.close()
    assert through == {request: pytest.approx(number, abs=1e-2) for request, number in here.items()}
    assert len(set(through.values())) == len(asked)


def test_turns_have_probabilities_too(backend: OpenAIBackend) -> None:
    """In chat, with the model's own template: another prompt, another number."""
    (chat,) = backend.answer([NextToken((Turn("user", QUESTIONS[0]),), YES_NO)])
    (text,) = backend.answer([NextToken(QUESTIONS[0], YES_NO)])
    assert 0.0 < p_yes(chat) < 1.0
    assert p_yes(chat) != p_yes(text)


def test_log_likelihoods_are_refused_for_echo_is_ignored(backend: OpenAIBackend) -> None:
    """llama.cpp takes echo and prompt_logprobs without a word and does neither."""
    reason = backend.refuses(Score)
    assert reason is not None
    assert "/v1/completions: log-likelihoods are not to be had: echo ignored, prompt_logprobs ignored" in reason


def test_a_prompt_that_is_too_long_is_missing(backend: OpenAIBackend) -> None:
    """By its kind; the short one beside it is answered."""
    replies = list(backend.answer([Generate("word " * 3000, max_tokens=5), Generate("Hello", max_tokens=5)]))
    assert kinds(replies) == ["does_not_fit"]


def test_a_wrong_key_is_an_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the server's words, without the key."""
    monkeypatch.setenv("LLAMACPP_KEY", "sk-wrong-key-0001")
    made = make(url)
    with pytest.raises(ModelError, match="refuses the key") as caught:
        list(made.answer([greedy()]))
    made.close()
    assert "sk-wrong" not in str(caught.value)


def test_a_server_that_dies_and_comes_back_is_waited_for(float32: Path) -> None:
    """In the middle of a run: what was under way is sent again, and every request has its reply."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [Generate(f"Tell me of the number {number}.", max_tokens=16) for number in range(12)]
    made = make(f"http://127.0.0.1:{port}/v1", concurrency=4)
    # The first requests come before the server listens: that, too, is waited for.
    with llamacpp_process(float32, port) as process:
        replies = made.answer(asked)
        found = [next(replies), next(replies)]
        process.kill()
    with llamacpp_process(float32, port):
        found += replies
    made.close()
    assert len(texts(found)) == 12
    assert sum(reply.usage.retries for reply in found) > 0
