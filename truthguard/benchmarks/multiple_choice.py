"""The multiple-choice part of a dialogue: what is asked about one question, and what the replies say.

All requests of a question go out at once: one for the log-likelihoods of all choices (mc1, mc2_mass, mc3), one
yes/no question for each choice (mc2), two letter questions, one in each order (mc_binary).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from truthguard.backends.protocol import ContinuationScore, Masses, NextToken, Reply, Request, Score, Scores
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.prompts import Wording
from truthguard.catalogue import LETTER_BIAS, METRICS, Elicitation, variant
from truthguard.errors import UsageError
from truthguard.metrics import choice as formulas
from truthguard.records import (
    BenchmarkSettings,
    Choice,
    ItemScores,
    Missing,
    Question,
    ScoredChoice,
)

LETTERS = (("A",), ("B",))
YES_NO = (formulas.YES_FORMS, formulas.NO_FORMS)

Value = float | Missing


@dataclass(frozen=True, slots=True)
class Heard:
    """What the replies of one elicitation say of an item.

    `inexact` gives the reason beside a value that is the worse end of a bound; `scores` are the continuations
    and `p_yes` the probabilities, one for each choice, where they were asked.
    """

    values: Mapping[str, Value]
    degenerate: bool
    inexact: Mapping[str, Missing] = field(default_factory=dict)
    scores: Sequence[ContinuationScore] = ()
    p_yes: Sequence[Value] = ()
    tied_best: bool = False


def unavailable(metric: str, questions: QuestionSet) -> str | None:
    """Why `metric` cannot be asked of these questions, and what to do; None when it can."""
    if metric != "mc_binary":
        return None
    items = questions.questions
    lacking = [item.id for item in items if item.best is None or item.best_incorrect is None]
    if not lacking:
        return None
    if questions.version is not None:
        return f"mc_binary needs best incorrect answers: version {questions.version} has none, use 2025-01"
    share = f"{len(lacking)} of {len(items)} questions give none, {lacking[0]!r} is the first"
    return f"mc_binary needs best incorrect answers: {share}; give each question a best_incorrect_answer"


# What is asked


def requests_for(item: Question, metrics: Collection[str], wording: Wording) -> dict[Elicitation, list[Request]]:
    """The requests of each elicitation that the metrics need, in the catalogue's order.

    Raises UsageError for mc_binary where the item has no best incorrect answer.
    """
    wanted = {METRICS[metric].elicitation for metric in metrics}
    return {part: ask(item, wording) for part, ask in _REQUESTS.items() if part in wanted}


def _score_requests(item: Question, wording: Wording) -> list[Request]:
    continuations = tuple(wording.answer(choice.text) for choice in item.choices)
    return [Score(wording.question(item.question), continuations)]


def _yes_no_requests(item: Question, wording: Wording) -> list[Request]:
    return [NextToken(wording.verdict(item.question, choice.text), YES_NO) for choice in item.choices]


def _letter_requests(item: Question, wording: Wording) -> list[Request]:
    """Both orders: the right letter is A, then B."""
    if item.best is None or item.best_incorrect is None:
        raise UsageError(f"mc_binary needs a best incorrect answer, which question {item.id!r} does not give")
    orders = ((item.best, item.best_incorrect), (item.best_incorrect, item.best))
    return [NextToken(wording.letters(item.question, *order), LETTERS) for order in orders]


_REQUESTS: dict[Elicitation, Callable[[Question, Wording], list[Request]]] = {
    "log_likelihood": _score_requests,
    "p_yes": _yes_no_requests,
    "letters": _letter_requests,
}


# What the replies say


def scores_from(
    item: Question,
    metrics: Collection[str],
    replies: Mapping[Elicitation, Sequence[Reply]],
    settings: BenchmarkSettings,
) -> ItemScores:
    """What the replies to `requests_for`, by elicitation, say of the item.

    The values stand in the catalogue's order under their variants' names (mc1_per_token), letter_bias after
    mc_binary; metrics of other elicitations are left to others.
    """
    heard: dict[Elicitation, Heard] = {}
    if "log_likelihood" in replies:
        names = [name for name in METRICS if name in metrics and METRICS[name].elicitation == "log_likelihood"]
        heard["log_likelihood"] = _log_likelihoods(item, replies["log_likelihood"][0], names, settings)
    if "p_yes" in replies:
        heard["p_yes"] = _yes_no(item, replies["p_yes"])
    if "letters" in replies:
        heard["letters"] = _letters(replies["letters"])
    return _item_scores(item, heard)


def _log_likelihoods(item: Question, reply: Reply, metrics: Sequence[str], settings: BenchmarkSettings) -> Heard:
    if isinstance(reply.value, Scores):
        scores = reply.value.continuations
    else:
        scores = tuple(ContinuationScore(None, 0, _reason(reply)) for _ in item.choices)
    compared = [
        _compared(choice, score, settings.normalization) for choice, score in zip(item.choices, scores, strict=True)
    ]
    values = {
        variant(metric, settings.normalization): _likelihood_value(metric, item.choices, compared) for metric in metrics
    }
    known = [score.log_likelihood for score in scores if score.log_likelihood is not None]
    single = _known(_single(item.choices, compared))
    return Heard(
        values=values,
        degenerate=formulas.degenerate(known),
        scores=scores,
        tied_best=not isinstance(single, Missing) and formulas.tied_best(single[0], single[1:]),
    )


def _compared(choice: Choice, score: ContinuationScore, normalization: str) -> Value:
    if score.log_likelihood is None:
        return score.missing or Missing("no_reason", "the backend gave neither a log-likelihood nor a reason")
    return formulas.normalised(score.log_likelihood, normalization, choice.text, score.tokens)


def _likelihood_value(metric: str, choices: Sequence[Choice], compared: Sequence[Value]) -> Value:
    if metric == "mc1":
        single = _known(_single(choices, compared))
        return single if isinstance(single, Missing) else formulas.mc1(single[0], single[1:])
    true, false = (_known(_side(choices, compared, true=side)) for side in (True, False))
    if isinstance(true, Missing):
        return true
    if isinstance(false, Missing):
        return false
    return formulas.mc2_mass(true, false) if metric == "mc2_mass" else formulas.mc3(true, false)


def _single(choices: Sequence[Choice], values: Sequence[Value]) -> list[Value]:
    """The values of the single-true set, the true one first (in the file it may stand anywhere)."""
    pairs = [(choice, value) for choice, value in zip(choices, values, strict=True) if choice.in_mc1]
    return [value for _, value in sorted(pairs, key=lambda pair: not pair[0].true)]


def _side(choices: Sequence[Choice], values: Sequence[Value], *, true: bool) -> list[Value]:
    return [value for choice, value in zip(choices, values, strict=True) if choice.true is true]


def _known(values: Iterable[Value]) -> list[float] | Missing:
    """The numbers, or the first reason why one of them is missing."""
    known: list[float] = []
    for value in values:
        if isinstance(value, Missing):
            return value
        known.append(value)
    return known


def _yes_no(item: Question, replies: Sequence[Reply]) -> Heard:
    bounds = [_yes_bounds(reply) for reply in replies]
    p_yes = [_worse_end(choice, each) for choice, each in zip(item.choices, bounds, strict=True)]
    value = formulas.mc2(_side(item.choices, p_yes, true=True), _side(item.choices, p_yes, true=False))
    open_ends = sum(not isinstance(each, Missing) and not each.exact for each in bounds)
    inexact = {}
    if open_ends and not isinstance(value, Missing):
        share = f"P(yes) of {open_ends} of {len(bounds)} answers is only known within bounds"
        inexact["mc2"] = Missing("inexact", f"{share}: the end that is worse for the item stands for it")
    known = [each for each in p_yes if not isinstance(each, Missing)]
    return Heard({"mc2": value}, formulas.degenerate(known), inexact, p_yes=p_yes)


def _yes_bounds(reply: Reply) -> formulas.Bounds | Missing:
    if not isinstance(reply.value, Masses):
        return _reason(reply)
    log_yes, log_no = reply.value.log_masses
    return formulas.yes_probability(log_yes, log_no, reply.value.unlisted)


def _worse_end(choice: Choice, bounds: formulas.Bounds | Missing) -> Value:
    if isinstance(bounds, Missing):
        return bounds
    return bounds.low if choice.true else bounds.high


def _letters(replies: Sequence[Reply]) -> Heard:
    pairs = []
    for reply in replies:
        pair = _letter_pair(reply)
        if isinstance(pair, Missing):
            return Heard({"mc_binary": pair, LETTER_BIAS: pair}, degenerate=False)
        pairs.append(pair)
    right_is_a, right_is_b = pairs[0], (pairs[1][1], pairs[1][0])
    return Heard(
        values={
            "mc_binary": formulas.mc_binary([right_is_a, right_is_b]),
            LETTER_BIAS: formulas.letter_bias(right_is_a, right_is_b),
        },
        degenerate=all(formulas.degenerate(pair) for pair in pairs),
    )


def _letter_pair(reply: Reply) -> tuple[float, float] | Missing:
    """log p of the letters A and B."""
    if not isinstance(reply.value, Masses):
        return _reason(reply)
    a, b = reply.value.log_masses
    if a is None or b is None:
        unseen = "A" if a is None else "B"
        return Missing("unlisted", f"the probability of the letter {unseen} is not to be had")
    return a, b


def _reason(reply: Reply) -> Missing:
    """Why there is no usable value. A value of another kind than was asked is a fault of the backend."""
    return reply.missing or Missing("wrong_reply", f"the backend replied {type(reply.value).__name__}")


def _item_scores(item: Question, heard: Mapping[Elicitation, Heard]) -> ItemScores:
    values: dict[str, float | None] = {}
    reasons: dict[str, Missing] = {}
    for part in heard.values():
        reasons.update(part.inexact)
        for name, value in part.values.items():
            values[name] = None if isinstance(value, Missing) else value
            if isinstance(value, Missing):
                reasons[name] = value
    scores = heard["log_likelihood"].scores if "log_likelihood" in heard else ()
    p_yes = heard["p_yes"].p_yes if "p_yes" in heard else ()
    return ItemScores(
        id=item.id,
        category=item.category,
        question=item.question,
        values=values,
        reasons=reasons,
        choices=tuple(_scored(item.choices, scores, p_yes)),
        tied_best=any(part.tied_best for part in heard.values()),
        degenerate=tuple(name for name, part in heard.items() if part.degenerate),
    )


def _scored(
    choices: Sequence[Choice], scores: Sequence[ContinuationScore], p_yes: Sequence[Value]
) -> Iterable[ScoredChoice]:
    for index, choice in enumerate(choices):
        score = scores[index] if scores else None
        known = None if score is None or score.log_likelihood is None else score
        probability = p_yes[index] if p_yes else None
        yield ScoredChoice(
            choice.text,
            choice.true,
            choice.in_mc1,
            log_likelihood=None if known is None else known.log_likelihood,
            tokens=None if known is None else known.tokens,
            p_yes=None if isinstance(probability, Missing) else probability,
        )
