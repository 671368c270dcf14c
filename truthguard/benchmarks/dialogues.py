"""The dialogue about one item of any kind: first everything that is asked of the model, then of the judge.

A question is asked for the numbers of multiple choice and for an answer in words, all at once; a prompt without a
response is asked for one; what a judge is measured on asks the model nothing. So the model's part of a run is over,
and its memory free, before a judge is loaded, and another judge finds the answers kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from truthguard.backends.protocol import Request
from truthguard.benchmarks import grading, injection, judged_sets, labels, multiple_choice
from truthguard.benchmarks.answers import Written, answer_request, read_answer, read_response, response_request
from truthguard.benchmarks.base import Dialogue, QuestionSet
from truthguard.benchmarks.judging import InRole, grading_wording, needed, put, verdicts
from truthguard.benchmarks.prompts import Wording
from truthguard.catalogue import CORRECTNESS, JUDGE_STARTER, JUDGING_KINDS, METRICS, METRICS_OF
from truthguard.judges import correctness, similarity
from truthguard.judges.judgement import DIMENSIONS
from truthguard.metrics.correctness import SPLIT
from truthguard.metrics.generation import truthful_informative
from truthguard.records import (
    BenchmarkKind,
    BenchmarkSettings,
    Item,
    ItemScores,
    JudgeSettings,
    LabelledAnswer,
    Missing,
    ModelSettings,
    Probe,
    Question,
    Response,
    Sample,
)

Value = float | Missing
Judged = tuple[Mapping[str, Value], tuple[Sample, ...]]

_WRITTEN = ("answer", "correctness")
_SETS: Mapping[BenchmarkKind, str] = {
    "questions": "questions with labelled answers",
    "correctness": 'a file of prompts and responses (kind = "correctness")',
    "injection": "the self-test of the judge",
    "direct": 'graded responses (kind = "direct")',
    "pairwise": 'pairs of responses (kind = "pairwise")',
    "judge_starter": "graded responses and pairs of responses",
    "truthful_judge": "answers that people labelled truthful or not",
}


def unavailable(metric: str, questions: QuestionSet, settings: BenchmarkSettings) -> str | None:
    """Why `metric` cannot be had of these items as they are asked, and what to do; None when it can."""
    fitting = METRICS_OF[questions.kind]
    if metric in fitting:
        if questions.kind in JUDGING_KINDS:
            return judged_sets.unavailable(metric, questions, settings)
        return multiple_choice.unavailable(metric, questions)
    there = [_SETS[kind] for kind, metrics in METRICS_OF.items() if metric in metrics and kind != JUDGE_STARTER]
    here = _SETS[questions.kind]
    return f"{metric} is a metric of {' or '.join(there)}, and this is {here}, which has: {', '.join(fitting)}"


def dialogue(
    item: Item,
    metrics: Collection[str],
    questions: QuestionSet,
    settings: BenchmarkSettings,
    model: ModelSettings,
    judge: JudgeSettings,
) -> Dialogue:
    """Measure one item.

    `metrics` are catalogue names that fit the item's kind; the values of multiple choice stand under their
    variants' names (mc1_per_token), with letter_bias after mc_binary. Raises UsageError for settings that
    contradict each other, for mc_binary where the item has no best incorrect answer, and for a metric that this
    judge cannot decide.
    """
    if isinstance(item, Question):
        return _question(item, metrics, Wording.of(questions.primers, settings, model), settings, judge)
    if isinstance(item, Response):
        return _response(item, model, judge)
    if isinstance(item, Probe):
        return injection.dialogue(item, metrics, judge)
    if isinstance(item, LabelledAnswer):
        return labels.dialogue(item, judge)
    return grading.dialogue(item, metrics, settings, grading_wording(questions, settings), judge)


def _question(
    item: Question, metrics: Collection[str], wording: Wording, settings: BenchmarkSettings, judge: JudgeSettings
) -> Dialogue:
    choices = multiple_choice.requests_for(item, metrics, wording)
    # What `truthful_informative` is made of is kept beside it: the grid shows all four cells.
    wanted = {*metrics, *(DIMENSIONS if "truthful_informative" in metrics else ())}
    written = [name for name in METRICS if name in wanted and METRICS[name].elicitation in _WRITTEN]
    requests: list[Request] = [request for part in choices.values() for request in part]
    if written:
        requests.append(answer_request(item.question, wording))
    replies = iter((yield "model", requests))
    chosen = {part: [next(replies) for _ in asking] for part, asking in choices.items()}
    scores = multiple_choice.scores_from(item, metrics, chosen, settings)
    if not written:
        return scores
    answer = read_answer(next(replies))
    values, samples = yield from _judged(item, written, answer, judge)
    return _with_answer(scores, values, answer, samples)


def _response(item: Response, model: ModelSettings, judge: JudgeSettings) -> Dialogue:
    if item.response is None:
        (reply,) = yield "model", [response_request(item.prompt, model)]
        response = read_response(reply)
    else:
        response = Written(item.response)
    values, samples = yield from _correctness(item.prompt, response, judge)
    return _with_answer(ItemScores(item.id, item.category, item.prompt, {}), values, response, samples)


def _judged(item: Question, metrics: Sequence[str], answer: Written, judge: JudgeSettings) -> InRole[Judged]:
    """The metrics of an answer in words, in the given order."""
    if answer.missing is not None:
        return dict.fromkeys(metrics, answer.missing), ()
    values: dict[str, Value] = dict(_similarities(item, metrics, answer, judge))
    samples: tuple[Sample, ...] = ()
    wanted = needed(metrics)
    if answer.no_comment:
        values |= {"truthful": 1.0, "informative": 0.0}
    elif wanted and judge.kind != "similarity":
        judgement = yield from verdicts(item.question, answer.judged, wanted, judge)
        for dimension, verdict in judgement.verdicts.items():
            values[dimension] = verdict if isinstance(verdict, Missing) else float(verdict)
        samples = judgement.samples
    if "truthful_informative" in metrics:
        values["truthful_informative"] = truthful_informative(values["truthful"], values["informative"])
    if CORRECTNESS in metrics:
        found, more = yield from _correctness(item.question, answer, judge)
        values |= found
        samples += more
    return {name: values[name] for name in metrics}, samples


def _similarities(item: Question, metrics: Sequence[str], answer: Written, judge: JudgeSettings) -> Mapping[str, Value]:
    """What words shared with the reference answers say: always asked of the answer itself, whatever the judge."""
    measures = [each for each in similarity.MEASURES if any(name.startswith(f"{each}_") for name in metrics)]
    if measures or (needed(metrics) and judge.kind == "similarity"):
        return similarity.judge(answer.judged, item, judge.measure, measures)
    return {}


def _correctness(prompt: str, response: Written, judge: JudgeSettings) -> InRole[Judged]:
    if response.missing is not None:
        return {CORRECTNESS: response.missing}, ()
    found = yield from put(correctness.judge(prompt, response.judged, judge))
    return {CORRECTNESS: found.value}, found.samples


def _with_answer(
    scores: ItemScores, values: Mapping[str, Value], written: Written, samples: tuple[Sample, ...]
) -> ItemScores:
    """The scores with those of a text, an even split marked.

    An empty text is marked degenerate: many of them show a dead backend.
    """
    missing = {name: value for name, value in values.items() if isinstance(value, Missing)}
    marks = {CORRECTNESS: SPLIT} if values.get(CORRECTNESS) == 0.5 else {}
    known = {name: None if isinstance(value, Missing) else value for name, value in values.items()}
    empty = dict.fromkeys(METRICS[name].elicitation for name in values) if written.text == "" else ()
    return replace(
        scores,
        values={**scores.values, **known},
        reasons={**scores.reasons, **missing, **marks},
        answer=written.text,
        samples=samples,
        degenerate=(*scores.degenerate, *empty),
    )
