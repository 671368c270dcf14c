"""Packed passes of requests that are not all alike: several prefixes, long questions, many of them, sizes on trial."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.families import MakeModel
from tests.backends.test_huggingface_families import answers, backend, one_by_one, worst
from truthguard.backends import assembly, packing, pass_size
from truthguard.backends.protocol import NextToken, Request, Score

PRIMER = "Q: What is the capital of France?\nA: Paris.\n\nQ: How many legs has a cat?\nA: Four.\n\n"
OTHER = PRIMER + "Say whether the answer is true.\n\n"


def mixed() -> list[Request]:
    """Two kinds of prompts behind one primer, and a question that is longer than all else."""
    asked: list[Request] = []
    for i in range(6):
        question = f"Q: What about number {i}?\nA:"
        asked.append(Score(PRIMER + question, (" Yes.", " No, not at all.", f" It is {i}.", " No.")))
        asked.append(NextToken(OTHER + question + " Yes. True?", ((" Yes", " yes"), (" No", " no"))))
        asked.append(NextToken(OTHER + question + " No, not at all. True?", ((" Yes", " yes"), (" No", " no"))))
    long = "Q: " + "and then, behind that, " * 12 + "what?\nA:"
    asked.append(Score(PRIMER + long, tuple(f" The {i} of them went, and then {i}." for i in range(9))))
    return asked


@pytest.fixture(autouse=True)
def every_prefix_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_WORTH", 1)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2", "gpt_neox"])
@pytest.mark.parametrize("batch_tokens", [7, 40])
def test_prefixes_within_prefixes_change_no_value(family: str, batch_tokens: int, make_model: MakeModel) -> None:
    """A primer, a prompt's kind behind it and a long question behind it: as each row by itself."""
    folder = make_model(family)
    found, facts = answers(backend(folder, "packed", batch_tokens=batch_tokens), mixed())
    assert facts.scorer == "packed"
    assert worst(found, one_by_one(folder, mixed())) < 1e-4


def test_what_many_passes_share_is_computed_once(make_model: MakeModel) -> None:
    """The tokens computed are those of the trees, of each prefix once, and of the rows that are checked."""
    folder = make_model("llama")
    plain, packed = (backend(folder, scorer, batch_tokens=64) for scorer in ("plain", "packed"))
    for model in (plain, packed):
        list(model.answer(mixed()))
    assert plain.work is not None
    assert packed.work is not None
    assert packed.work.tokens < plain.work.tokens / 2.5
    packed.close()
    assert packed.work is None


def test_slices_change_no_value(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests whose rows would not all be in memory are answered part by part, each once."""
    folder = make_model("llama")
    expected, _ = answers(backend(folder, batch_tokens=64), mixed())
    monkeypatch.setattr(assembly, "_SLICE", 5)
    parts = [list(part) for part in assembly.slices(mixed())]
    assert len(parts) > 5
    assert [request for part in parts for request in part] == mixed()
    found, _ = answers(backend(folder, batch_tokens=64), mixed())
    assert worst(found, expected) < 1e-4


def test_sizes_on_trial_change_no_value(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without batch_tokens the first passes are of several sizes, made of the rows that are to be scored."""
    monkeypatch.setattr(pass_size, "_TRIALS", {"cpu": (96, 48, 24)})
    monkeypatch.setattr(pass_size, "_USUAL", {"cpu": 48})
    folder = make_model("llama")
    model = backend(folder, "packed", batch_tokens=None)
    sizes = []
    run = pass_size.PassSize.tried

    def noted(self: Any, size: int, tokens: int, seconds: float) -> None:
        sizes.append(size)
        assert tokens <= size
        run(self, size, tokens, seconds)

    monkeypatch.setattr(pass_size.PassSize, "tried", noted)
    found, _ = answers(model, mixed())
    assert set(sizes) == {96, 48, 24}
    assert worst(found, one_by_one(folder, mixed())) < 1e-4
