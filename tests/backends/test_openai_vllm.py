"""Log-likelihoods through a real vLLM, against lm-evaluation-harness' own: `.ci/vllm` builds it and runs this."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenAIBackend]:
    settings = ModelSettings(f"{URL}#smol", timeout_seconds=300.0)
    made = OpenAIBackend(settings, api_identity(settings))
    yield made
    made.close()


def test_the_probe_proves_echo(backend: OpenAIBackend) -> None:
    """Log-likelihoods are not refused."""
    assert backend.refuses(Score) is None


def test_each_log_likelihood_is_the_references(backend: OpenAIBackend, real_data: Path) -> None:
    """The first 40 questions of 2021-10, asked as text: each of the 305 within 1e-2."""
    folder = real_data / "truthfulqa"
    questions = json.loads((folder / "2021-10" / "mc_task.json").read_text(encoding="utf-8"))[:QUESTIONS]
    primer = json.loads((folder / "primers.json").read_text(encoding="utf-8"))["primers"]["qa"]
    asked = [
        Score(f"{primer}\n\nQ: {one['question']}\nA:", tuple(f" {choice}" for choice in one["mc2_targets"]))
        for one in questions
    ]
    replies = {reply.request: reply for reply in backend.answer(asked)}
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))["log_likelihoods"][:QUESTIONS]
    for request, reference in zip(asked, expected, strict=True):
        value = replies[request].value
        assert isinstance(value, Scores), replies[request].missing
        assert [one.log_likelihood for one in value.continuations] == pytest.approx(reference, abs=1e-2)
    facts = backend.facts()
    assert facts is not None
    assert facts.scorer == "echo"


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
