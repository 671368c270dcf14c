"""Items that a judge grades or chooses between, and dialogues about them that a test drives with lists."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tests.judges.talking import Said, replies, said, written
from truthguard.backends.protocol import Context, Generate, Text
from truthguard.benchmarks.base import Dialogue
from truthguard.benchmarks.grading import dialogue
from truthguard.judges.grading_prompts import GradingWording, default_wording
from truthguard.metrics.pairwise import swapped
from truthguard.records import (
    BenchmarkSettings,
    GradedResponse,
    ItemScores,
    JudgeSettings,
    ModelSettings,
    ResponsePair,
    Rubric,
)

RUBRIC = Rubric("Is it right?", ("no", "hardly", "half", "mostly", "yes"))
GRADED = GradedResponse("g", "Water", "ice", "Does ice float?", "It floats.", RUBRIC, (4.0,), reference="Yes, it does.")
PAIR = ResponsePair("p", "Water", "ice", "Does ice float?", ("It floats.", "It sinks."), "a", RUBRIC)
JUDGE = JudgeSettings("rubric", ModelSettings("judge"))
DIRECT = ("pearson", "accuracy", "consistency")
PAIRWISE = ("without_ties", "with_ties", "position_bias")
WORDING = default_wording()


def began(
    item: GradedResponse | ResponsePair,
    *,
    metrics: Collection[str] = (*DIRECT, *PAIRWISE),
    settings: BenchmarkSettings | None = None,
    wording: GradingWording = WORDING,
    judge: JudgeSettings = JUDGE,
) -> Dialogue:
    return dialogue(item, metrics, settings or BenchmarkSettings("faq", prompt="default"), wording, judge)


def hold(talk: Dialogue, *rounds: Sequence[Said]) -> tuple[list[list[Generate]], ItemScores]:
    """The requests of each round, all to the judge, and the scores; it must end exactly after the rounds given."""
    asked: list[list[Generate]] = []
    left = list(rounds)
    try:
        role, requests = next(talk)
        while True:
            assert role == "judge"
            asked.append([written(request) for request in requests])
            assert left, f"a round was not expected: {requests}"
            role, requests = talk.send(replies(requests, left.pop(0)))
    except StopIteration as end:
        assert not left, f"{len(left)} rounds were not asked for"
        scores: ItemScores = end.value
        return asked, scores


def answer(talk: Dialogue, judge: Callable[[Generate], Said]) -> tuple[list[Generate], ItemScores]:
    """All requests in order, and the scores, with a judge that answers each request by itself."""
    asked: list[Generate] = []
    try:
        role, requests = next(talk)
        while True:
            assert role == "judge"
            asked += [written(request) for request in requests]
            role, requests = talk.send(replies(requests, [judge(written(request)) for request in requests]))
    except StopIteration as end:
        scores: ItemScores = end.value
        return asked, scores


def exchanged(item: ResponsePair) -> ResponsePair:
    """The pair with its responses the other way round, and the winner with them."""
    first, second = item.responses
    prompts = item.judge_prompts and (item.judge_prompts[1], item.judge_prompts[0])
    return replace(item, responses=(second, first), winner=swapped(item.winner), judge_prompts=prompts)


def text_of(context: Context) -> str:
    return context if isinstance(context, str) else "\n".join(turn.content for turn in context)


def shown_as_a(request: Generate, item: ResponsePair) -> int:
    """The place of the response that stands first in the prompt."""
    text = text_of(request.context)
    first, second = (text.find(f"\n{response}\n") for response in item.responses)
    return 0 if first < second else 1


def result(verdict: object) -> Text:
    return said(f"So. [RESULT] {verdict}")


UNREAD = said("I cannot say.")
