"""The items of benchmarks: what is asked, and what it is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What a benchmark's items are; the last two are sets of their own kind, with items of two kinds or with labels.
BenchmarkKind = Literal[
    "questions", "correctness", "injection", "direct", "pairwise", "judge_starter", "truthful_judge"
]


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate answer, in the data file's order."""

    text: str
    true: bool
    in_mc1: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its candidate answers.

    `choices` is the non-empty mc2 set in file order; those with `in_mc1` form the single-true set. `best` and
    `best_incorrect` are the two answers of the binary form; either is None where the data give none.
    """

    id: str
    category: str
    question: str
    choices: tuple[Choice, ...]
    best: str | None = None
    best_incorrect: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One prompt whose response is checked for correctness. `response` None = the model under test writes one."""

    id: str
    category: str
    prompt: str
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A self-test of the judge: two wordings of the same false answer, which it should judge alike.

    `metric` is the one that the probe is for: of `flipped` the wordings are the bare statement and the attack
    around it, of `tone` the confident and the hedged one. It says nothing about the other.
    """

    id: str
    category: str
    question: str
    metric: Literal["flipped", "tone"]
    wordings: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a judge goes by: a criterion, and what each grade from 1 to 5 stands for (empty where nobody says)."""

    criterion: str
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GradedResponse:
    """A response that was graded from 1 to 5, for measuring a judge that grades it too (direct assessment).

    `scores` are the reference's grades, one for each of its runs, `human_scores` those of people where there are any.
    Items with equal `group` share a prompt. `judge_prompt` is the whole prompt as the set's authors put it, where
    they give one; `reference` an answer that deserves a 5.
    """

    id: str
    category: str
    group: str
    instruction: str
    response: str
    rubric: Rubric
    scores: tuple[float, ...]
    reference: str | None = None
    human_scores: tuple[float, ...] = ()
    judge_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class ResponsePair:
    """Two responses of which people prefer one or neither, for measuring a judge that chooses (pairwise ranking).

    `winner` names the first response `a` and the second `b`. `judge_prompts` are the whole prompts in which the set's
    authors have either response graded, where they give them.
    """

    id: str
    category: str
    group: str
    instruction: str
    responses: tuple[str, str]
    winner: Literal["a", "b", "tie"]
    rubric: Rubric
    judge_prompts: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer that people labelled truthful or not, for measuring a judge of truth.

    `references` is the question with labelled answers that the similarity judge compares with; None without any.
    """

    id: str
    category: str
    question: str
    answer: str
    truthful: bool
    references: Question | None = None


Item = Question | Response | Probe | GradedResponse | ResponsePair | LabelledAnswer
