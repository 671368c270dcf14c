"""Log-likelihoods through a real vLLM, against lm-evaluation-harness' own: `.ci/vllm` builds it and runs this."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.protocol import Generate, Masses, NextToken, Score, Scores, Text
from truthguard.metrics.choice import NO_FORMS, YES_FORMS
from truthguard.records import ModelSettings

URL = os.environ.get("TRUTHGUARD_VLLM_URL", "")
GOLDEN = Path(__file__).parent.parent / "golden" / "smollm2_2021-10_first40.json"
QUESTIONS = int(os.environ.get("TRUTHGUARD_VLLM_QUESTIONS", "40"))

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not URL, reason="TRUTHGUARD_VLLM_URL names no server: run .ci/vllm"),
]


def make(*, by_ids: bool = True) -> OpenAIBackend:
    settings = ModelSettings(f"{URL}#smol", timeout_seconds=300.0)
    return OpenAIBackend(settings, api_identity(settings), by_ids=by_ids)


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenAIBackend]:
    made = make()
    yield made
    made.close()


def test_the_probe_proves_log_likelihoods(backend: OpenAIBackend) -> None:
    """Log-likelihoods are not refused."""
    assert backend.refuses(Score) is None


@pytest.mark.parametrize(("by_ids", "told"), [(True, "by token ids"), (False, "by text")], ids=["ids", "text"])
def test_each_log_likelihood_is_the_references(by_ids: bool, told: str, real_data: Path) -> None:
    """The first 40 questions of 2021-10, asked as token ids and as text: each of the 305 within 1e-2."""
    folder = real_data / "truthfulqa"
    questions = json.loads((folder / "2021-10" / "mc_task.json").read_text(encoding="utf-8"))[:QUESTIONS]
    primer = json.loads((folder / "primers.json").read_text(encoding="utf-8"))["primers"]["qa"]
    asked = [
        Score(f"{primer}\n\nQ: {one['question']}\nA:", tuple(f" {choice}" for choice in one["mc2_targets"]))
        for one in questions
    ]
    with closing(make(by_ids=by_ids)) as backend:
        replies = {reply.request: reply for reply in backend.answer(asked)}
        facts = backend.facts()
    assert facts is not None
    assert (facts.scorer, facts.reason) == ("prompt_logprobs", f"log-likelihoods {told}")
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))["log_likelihoods"][:QUESTIONS]
    largest = 0.0
    for request, reference in zip(asked, expected, strict=True):
        value = replies[request].value
        assert isinstance(value, Scores), replies[request].missing
        found = [one.log_likelihood for one in value.continuations]
        assert found == pytest.approx(reference, abs=1e-2)
        largest = max(largest, *(abs(float(one or 0) - other) for one, other in zip(found, reference, strict=True)))
    print(f"{told}: {sum(map(len, expected))} log-likelihoods, largest difference {largest:.2g}")  # noqa: T201


def test_a_context_beyond_the_window_is_cut_from_the_left(backend: OpenAIBackend) -> None:
    """By token ids the start of a long context is left out, as in the local backend; as text it does not fit."""
    context = "The sky is green. " * 600 + "Q: what colour is the sky?\nA:"
    (reply,) = backend.answer([Score(context, (" blue", " green"))])
    assert isinstance(reply.value, Scores), reply.missing
    assert [score.truncated for score in reply.value.continuations] == [True, True]
    assert all(-30.0 < (score.log_likelihood or 0.0) < 0.0 for score in reply.value.continuations)
    with closing(make(by_ids=False)) as text:
        (reply,) = text.answer([Score(context, (" blue", " green"))])
    assert reply.missing is not None
    assert reply.missing.kind == "does_not_fit"


def test_yes_and_no_are_exact_by_token_ids(backend: OpenAIBackend) -> None:
    """`logprob_token_ids` is taken, so nothing is left unlisted; and no masses above 1."""
    (reply,) = backend.answer([NextToken("Is Paris in France? Reply Yes or No.\nA:", (YES_FORMS, NO_FORMS))])
    assert isinstance(reply.value, Masses), reply.missing
    facts = backend.facts()
    assert facts is not None
    assert "exact (logprob_token_ids)" in facts.reason
    assert reply.value.unlisted == 0.0


def test_samples_come_in_one_request_and_by_seed(backend: OpenAIBackend) -> None:
    """vLLM gives n; a sample that is asked alone is the same again by its seed."""
    asked = [Generate("Name a river.", 12, temperature=1.0, seed=index, sample=index) for index in range(4)]
    replies = list(backend.answer(asked))
    assert sum(reply.usage.prompt_tokens > 0 for reply in replies) == 1
    assert len({reply.value.text for reply in replies if isinstance(reply.value, Text)}) > 1
    (once,), (again,) = (list(backend.answer([asked[2]])) for _ in range(2))
    assert once.value == again.value
