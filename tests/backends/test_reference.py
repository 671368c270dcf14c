"""The real model on real questions: every log-likelihood against lm-evaluation-harness' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from truthguard.backends.assembly import Assembly
from truthguard.backends.huggingface_engine import Engine
from truthguard.backends.huggingface_weights import Weights, load
from truthguard.backends.protocol import Request, Score, Scores
from truthguard.backends.sources import find_source, weights_path
from truthguard.backends.tokens import Encoder
from truthguard.records import ModelSettings

GOLDEN = Path(__file__).parent.parent / "golden" / "smollm2_2021-10_first40.json"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def weights(small_model: str) -> Weights:
    path, _ = weights_path(find_source(ModelSettings(small_model)))
    return load(path, name=small_model, device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def asked(real_data: Path) -> list[Score]:
    folder = real_data / "truthfulqa"
    questions = json.loads((folder / "2021-10" / "mc_task.json").read_text(encoding="utf-8"))[:40]
    primer = json.loads((folder / "primers.json").read_text(encoding="utf-8"))["primers"]["qa"]
    return [
        Score(f"{primer}\n\nQ: {one['question']}\nA:", tuple(f" {choice}" for choice in one["mc2_targets"]))
        for one in questions
    ]


@pytest.mark.parametrize(("scorer", "batch_tokens"), [("auto", 512), ("packed", 64), ("packed", 2048), ("plain", 1024)])
def test_each_log_likelihood_is_the_references(
    scorer: Literal["auto", "packed", "plain"], batch_tokens: int, weights: Weights, asked: list[Score]
) -> None:
    """All 305 within 1e-3, packed and plain, at any batch size."""
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))["log_likelihoods"]
    assembly = Assembly(Encoder(weights.tokenizer, weights.window), asked)
    engine = Engine(weights.model, name="small", dtype="float32", scorer=scorer, most_tokens=batch_tokens)
    found: dict[Request, object] = {}
    for number, values in engine.values(assembly.rows, assembly.groups):
        found |= {reply.request: reply.value for reply in assembly.settle(number, values)}
    assert engine.facts(0.0).scorer == ("plain" if scorer == "plain" else "packed")
    count = 0
    for request, reference in zip(asked, expected, strict=True):
        value = found[request]
        assert isinstance(value, Scores)
        for one, likelihood in zip(value.continuations, reference, strict=True):
            assert one.log_likelihood == pytest.approx(likelihood, abs=1e-3)
            count += 1
    assert count == 305
