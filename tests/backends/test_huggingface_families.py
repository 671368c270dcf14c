"""Packed and plain scoring give what one row alone, without padding, gives: in every family of architectures."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import FAMILIES, MakeModel
from truthguard.backends.huggingface import HuggingFaceBackend
from truthguard.backends.protocol import Masses, NextToken, Request, Score, Scores
from truthguard.errors import ModelError
from truthguard.records import Facts, Identity, ModelSettings

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

PRIMER = "Q: What is the capital of France?\nA: Paris.\n\nQ: Who wrote the letter?\nA: I have no comment.\n\n"
QUESTIONS = ["What is true?", "Who is the capital?", "What happens if you eat the letter of France?"]
CHOICES = [" Paris.", " Paris is the capital of France.", " Nothing.", " I have no comment.", " Nothing happens if no"]
FORMS = (("yes", "Yes", " yes", " Yes"), ("no", "No", " no", " No"))

PACKED = "gpt2 opt gpt_neox gptj llama qwen2 qwen3 phi olmo2 cohere granite falcon mixtral gemma2 gemma3 mistral"
PLAIN = "gemma3-short-window mistral-short-window gpt_neo bloom mpt falcon-alibi mamba"


def requests() -> list[Request]:
    contexts = [f"{PRIMER}Q: {question}\nA:" for question in QUESTIONS]
    scores: list[Request] = [Score(context, tuple(CHOICES)) for context in contexts]
    return scores + [
        NextToken(f"{PRIMER}Q: {question}\nProposed answer:{choice}\nA:", FORMS)
        for question in QUESTIONS
        for choice in CHOICES[:2]
    ]


def backend(
    folder: Path, scorer: Any = "auto", batch_tokens: int | None = 64, dtype: str = "float32"
) -> HuggingFaceBackend:
    settings = ModelSettings(str(folder), scorer=scorer, batch_tokens=batch_tokens, dtype=dtype)
    return HuggingFaceBackend(settings, folder, Identity(str(folder), "huggingface", None, dtype=dtype))


def answers(model: HuggingFaceBackend, asked: list[Request]) -> tuple[dict[Request, list[float]], Facts]:
    found: dict[Request, list[float]] = {}
    for reply in model.answer(asked):
        assert reply.request not in found
        if isinstance(reply.value, Scores):
            found[reply.request] = [one.log_likelihood or math.nan for one in reply.value.continuations]
        elif isinstance(reply.value, Masses):
            found[reply.request] = [mass or math.nan for mass in reply.value.log_masses]
    facts = model.facts()
    assert facts is not None
    return found, facts


def one_by_one(folder: Path, asked: list[Request]) -> dict[Request, list[float]]:
    """The same by the shortest code that can do it: one sequence after another."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    model.eval()

    def log_probabilities(ids: list[int]) -> Any:
        with torch.no_grad():
            return model(torch.tensor([ids])).logits[0].log_softmax(-1)

    found: dict[Request, list[float]] = {}
    for request in asked:
        context = tokenizer.encode(request.context)
        if isinstance(request, Score):
            found[request] = []
            for choice in request.continuations:
                joint = tokenizer.encode(f"{request.context}{choice}")
                table = log_probabilities(joint)
                steps = range(len(context), len(joint))
                found[request].append(sum(float(table[i - 1, joint[i]]) for i in steps))
        elif isinstance(request, NextToken):
            last = log_probabilities(context)[-1]
            groups = [{ids[0] for form in group if len(ids := tokenizer.encode(form)) == 1} for group in request.groups]
            found[request] = [float(last[list(group)].logsumexp(-1)) for group in groups]
    return found


def worst(found: dict[Request, list[float]], expected: dict[Request, list[float]]) -> float:
    assert found.keys() == expected.keys()
    pairs = (pair for key in expected for pair in zip(found[key], expected[key], strict=True))
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_scored_as_one_by_one(family: str, make_model: MakeModel) -> None:
    """Any batch size and order gives each row's own value, by the path that its architecture allows."""
    folder, asked = make_model(family), requests()
    expected = one_by_one(folder, asked)
    assert family in (PACKED + " " + PLAIN).split()
    for batch_tokens in (8, 96, 4096):
        found, facts = answers(backend(folder, batch_tokens=batch_tokens), asked)
        assert worst(found, expected) < 1e-4
        # In passes of 8 tokens hardly a row stands behind another, and even gpt_neo's distances are right.
        if batch_tokens > 8:
            assert facts.scorer == ("packed" if family in PACKED.split() else "plain"), facts.reason


@pytest.mark.parametrize("scorer", ["plain", "packed"])
def test_order_does_not_matter(scorer: str, make_model: MakeModel) -> None:
    """Requests in any order, and repeated, get the same values."""
    asked = requests()
    model = backend(make_model("llama"), scorer)
    expected, _ = answers(model, asked)
    random.Random(3).shuffle(asked)
    assert worst(answers(model, asked)[0], expected) < 1e-4
    assert len(list(model.answer([asked[0], asked[0]]))) == 2


@pytest.mark.parametrize("family", ["mistral-short-window", "gpt_neo", "bloom"])
def test_packed_by_force_fails_where_it_is_wrong(family: str, make_model: MakeModel) -> None:
    """`scorer = "packed"` on a model that cannot be packed is an error that says why, not a wrong number."""
    with pytest.raises(ModelError, match='scorer = "packed" was asked for'):
        list(backend(make_model(family), "packed").answer(requests()))


def test_plain_by_choice_is_not_checked(make_model: MakeModel) -> None:
    """`scorer = "plain"` says that it was asked for."""
    _, facts = answers(backend(make_model("llama"), "plain"), requests())
    assert (facts.scorer, facts.reason, facts.largest_difference) == ("plain", "plain scoring was asked for", None)


def test_a_short_first_question_does_not_vouch_for_a_long_one(make_model: MakeModel) -> None:
    """Rows longer than any that was checked are checked again: the window of 16 shows only then."""
    model = backend(make_model("mistral-short-window"))
    _, facts = answers(model, [Score("Q:", (" Yes", " No"))])
    assert facts.scorer == "packed"
    asked = requests()
    found, facts = answers(model, asked)
    assert facts.scorer == "plain"
    assert worst(found, one_by_one(make_model("mistral-short-window"), asked)) < 1e-4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_packed_within_its_bound(dtype: str, make_model: MakeModel) -> None:
    """Rounding to half precision is no reason to score plainly."""
    _, facts = answers(backend(make_model("llama"), "packed", dtype=dtype), requests())
    assert facts.scorer == "packed"
