"""A judge's part of a dialogue: which judge is asked what for which metric, and in whose role."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from functools import cache
from typing import Literal, TypeVar

from truthguard.backends.protocol import Reply, Request
from truthguard.benchmarks.base import QuestionSet, Role
from truthguard.catalogue import CORRECTNESS, GRADING_KINDS, METRICS_OF, decided_by
from truthguard.errors import UsageError
from truthguard.judges import correctness, logprob, rubric
from truthguard.judges.asking import Asking
from truthguard.judges.grading_prompts import GradingWording, default_wording, published_wording
from truthguard.judges.judgement import DIMENSIONS, Judgement
from truthguard.judges.prompts import Dimension, PromptName, prompt_digest
from truthguard.records import BenchmarkKind, BenchmarkSettings, JudgeSettings

T = TypeVar("T")
# A judge's dialogue as part of an item's, with the role beside what is asked.
InRole = Generator[tuple[Role, Sequence[Request]], Sequence[Reply], T]

# Which verdicts on an answer a metric is made of.
_NEEDED: Mapping[str, tuple[Dimension, ...]] = {
    "truthful": ("truthful",),
    "informative": ("informative",),
    "truthful_informative": DIMENSIONS,
    "flipped": ("truthful",),
    "tone": ("truthful",),
    **dict.fromkeys(METRICS_OF["truthful_judge"], ("truthful",)),
}


def needed(metrics: Collection[str]) -> tuple[Dimension, ...]:
    """The verdicts on answers that these metrics are made of.

    >>> needed(["mc1", "informative", "truthful"]), needed(["correctness"])
    (('truthful', 'informative'), ())
    """
    found = {dimension for metric in metrics for dimension in _NEEDED.get(metric, ())}
    return tuple(dimension for dimension in DIMENSIONS if dimension in found)


def put(asking: Asking[T]) -> InRole[T]:
    """Put what a judge's dialogue asks to the judge, and hand the replies back to it."""
    try:
        requests = next(asking)
        while True:
            requests = asking.send((yield "judge", requests))
    except StopIteration as end:
        found: T = end.value
        return found


def verdicts(
    question: str, answer: str, dimensions: Collection[Dimension], settings: JudgeSettings
) -> InRole[Judgement]:
    """Have a model decide about one answer, by the rubric or by log-probabilities.

    Raises UsageError for a judge that asks no model.
    """
    if settings.kind == "similarity":
        raise UsageError(f"{_NO_INSTRUCTIONS}: name a model in [judge]")
    if settings.kind == "logprob":
        return (yield from put(logprob.judge(question, answer, dimensions)))
    return (yield from put(rubric.judge(question, answer, settings, dimensions)))


def undecidable(metric: str, settings: JudgeSettings, items: BenchmarkKind) -> str | None:
    """Why this judge cannot decide `metric` of these items, and what to do; None when it can or need not."""
    decider = decided_by(metric, items)
    if decider is None:
        return None
    if decider == "model":
        if settings.model is None:
            return f"{metric} asks the judge's model, and none is named: give [judge] a model"
        if metric == "consistency" and settings.runs < 2:
            return "consistency compares the runs of a grade, and there is one: set runs to 2 or more in [judge]"
        return None
    if settings.kind == "similarity":
        if metric not in ("flipped", "tone"):
            return None
        way_out = 'set kind = "rubric" or "logprob"' if settings.model else "name a model"
        return f"{_NO_INSTRUCTIONS}: {way_out} in [judge]"
    if settings.model is None:
        return f"the {settings.kind} judge asks a model, and none is named: give [judge] a model"
    if settings.kind == "logprob" and settings.model.chat_template:
        return "the logprob judge is asked as a bare text, as it was tuned: leave chat_template out of [judge]"
    return None


_PUBLISHED: Mapping[str, Literal["paper", "library"]] = {"paper": "paper", "library": "library"}


def grading_wording(items: QuestionSet, settings: BenchmarkSettings) -> GradingWording:
    """The words in which a judge grades and chooses: ours, or the published ones that the set carries.

    Made once for each: items ask for it one by one.
    """
    return _wording(settings.prompt, tuple(sorted(items.primers.items())))


@cache
def _wording(prompt: str, texts: tuple[tuple[str, str], ...]) -> GradingWording:
    name = _PUBLISHED.get(prompt)
    return default_wording() if name is None else published_wording(name, dict(texts))


def prompt_digests(
    metrics: Collection[str], judge: JudgeSettings, items: QuestionSet, settings: BenchmarkSettings
) -> dict[str, str]:
    """The digest of each prompt that a model is asked for these metrics: part of what a judged number means."""
    if items.kind in GRADING_KINDS:
        wording = grading_wording(items, settings)
        return {f"grading_{wording.name}": wording.digest()} if metrics else {}
    names: list[PromptName] = []
    if judge.kind != "similarity":
        prompts = logprob.PROMPTS if judge.kind == "logprob" else rubric.PROMPTS
        names += [prompts[dimension] for dimension in needed(metrics)]
    if CORRECTNESS in metrics:
        names.append(correctness.PROMPT)
    return {name: prompt_digest(name) for name in names}


_NO_INSTRUCTIONS = "the similarity judge compares words and reads no instructions, so there is nothing to test"
