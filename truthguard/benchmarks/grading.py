"""What a judge that grades or chooses makes of one item, held against what the reference or people make of it.

Only the judge is asked. A pair is put to it in an order that its texts decide, never its file: with the two
responses of every pair exchanged, and the winners with them, it is asked the same and every number is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from truthguard.backends.protocol import Context
from truthguard.benchmarks.base import Dialogue
from truthguard.benchmarks.judging import InRole, put
from truthguard.catalogue import GRADE, GRADE_RUN, HUMAN, METRICS, REFERENCE, serves
from truthguard.judges import prometheus
from truthguard.judges.asking import model_of, unread
from truthguard.judges.grading_prompts import GradingWording, choose_context, grade_context
from truthguard.metrics.pairwise import (
    CHOICES,
    MOST_RUNS,
    Choice,
    Grades,
    choice_from_grades,
    is_decided,
    of_both_orders,
    pair_scores,
    position_bias,
    swapped,
)
from truthguard.records import (
    BenchmarkSettings,
    GradedResponse,
    ItemScores,
    JudgeSettings,
    Missing,
    ResponsePair,
    Sample,
)

# Which response of a pair a sample is about: the graded one, or the one that was shown as A. Their places are 0 and 1.
NAMES = ("first", "second")

_TIE = Missing("tie", "people call it a tie")
_UNGRADED = Missing("no_human_grade", "no person graded it")


@dataclass(frozen=True, slots=True)
class _Found:
    """The values of an item, each a number or why it is missing, and why a metric's definition leaves it out."""

    values: Mapping[str, float | Missing] = field(default_factory=dict)
    dropped: Mapping[str, Missing] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    def of(self, item: GradedResponse | ResponsePair, answer: str | None) -> ItemScores:
        missing = {name: value for name, value in self.values.items() if isinstance(value, Missing)}
        return ItemScores(
            id=item.id,
            category=item.category,
            question=item.instruction,
            values={name: None if isinstance(value, Missing) else value for name, value in self.values.items()},
            reasons={**missing, **self.dropped},
            answer=answer,
            samples=self.samples,
            group=item.group,
        )


def dialogue(
    item: GradedResponse | ResponsePair,
    metrics: Collection[str],
    settings: BenchmarkSettings,
    wording: GradingWording,
    judge: JudgeSettings,
) -> Dialogue:
    """Have the judge grade a response, or choose between the responses of a pair.

    Nothing is asked where none of `metrics` is of the item: another kind of item's, or without_ties of a pair that
    people call a tie. Otherwise there are the values of all that are; of without_ties alone no other, since the pairs
    that people call a tie lack them. Raises UsageError for a judge without a model, and for a reference that the
    wording has no template for.
    """
    wanted = [metric for metric in metrics if serves(item, metric)]
    if isinstance(item, GradedResponse):
        found = (yield from _graded(item, wanted, settings, wording, judge)) if wanted else _Found()
        return found.of(item, item.response)
    dropped = _dropped(item) if "without_ties" in wanted else {}
    if set(wanted) <= set(dropped):
        return _Found(dropped=dropped).of(item, None)
    by = _by_grades if settings.grades else _by_choice
    found = yield from by(item, settings, wording, judge)
    if set(wanted) == {"without_ties"}:
        found = replace(found, values={"without_ties": found.values["without_ties"]})
    return found.of(item, None)


# A graded response


def _graded(
    item: GradedResponse,
    metrics: Collection[str],
    settings: BenchmarkSettings,
    wording: GradingWording,
    judge: JudgeSettings,
) -> InRole[_Found]:
    shown = item.reference if settings.reference else None
    # The whole prompt of a published set holds the reference answer, so that it is none for a judge that sees none.
    whole = item.judge_prompt if shown == item.reference else None
    context = grade_context(wording, item.instruction, item.response, item.rubric, shown, model_of(judge), whole)
    samples = yield from put(prometheus.grades([(GRADE, context)], range(judge.runs), judge))
    grades = [prometheus.grade_of(sample) for sample in samples]
    readable = [grade for grade in grades if grade is not None]
    unreadable = None if readable else _none_readable(samples)
    values: dict[str, float | Missing] = {
        GRADE: unreadable or sum(readable) / len(readable),
        REFERENCE: sum(item.scores) / len(item.scores),
    }
    dropped: dict[str, Missing] = {}
    if item.human_scores:
        values[HUMAN] = sum(item.human_scores) / len(item.human_scores)
    elif any(HUMAN in METRICS[metric].columns for metric in metrics):
        dropped[HUMAN] = _UNGRADED
    for run, (grade, sample) in enumerate(zip(grades, samples, strict=True), 1):
        values[f"{GRADE_RUN}{run}"] = unread(sample) if grade is None else float(grade)
    expected = one_grade(item)
    if isinstance(expected, Missing):
        dropped["accuracy"] = expected
    else:
        values["accuracy"] = unreadable or float(readable[0] == expected)
    return _Found(values, dropped, samples)


def one_grade(item: GradedResponse) -> int | Missing:
    """The grade of the reference, where it is one integer: what a judge's grade can be equal to."""
    grades = sorted(set(item.scores))
    if len(grades) > 1:
        shown = ", ".join(f"{grade:g}" for grade in item.scores)
        return Missing("several_grades", f"the reference's grades differ: {shown}")
    if grades[0] != int(grades[0]):
        return Missing("no_whole_grade", f"the reference's grade is no whole number: {grades[0]:g}")
    return int(grades[0])


def _none_readable(samples: Sequence[Sample]) -> Missing:
    """Why no run has a grade: by the first one's kind, with what the others came to where that differs."""
    first = unread(samples[0])
    counts = Counter(sample.kind for sample in samples)
    if len(counts) == 1:
        return first
    others = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return Missing(first.kind, f"none of {len(samples)} runs is readable: {others}")


# A pair of responses


def _by_choice(
    item: ResponsePair, settings: BenchmarkSettings, wording: GradingWording, judge: JudgeSettings
) -> InRole[_Found]:
    orders = _orders(item, settings, judge)
    asked = [(NAMES[shown_as_a], _choice_context(item, shown_as_a, wording, judge)) for shown_as_a in orders]
    samples = yield from put(prometheus.choices(asked, judge, allow_tie=wording.offers_tie))
    choices = [_chosen(sample) for sample in samples]
    unreadable = next((choice for choice in choices if isinstance(choice, Missing)), None)
    verdicts = [choice for choice in choices if not isinstance(choice, Missing)]
    choice = unreadable or (verdicts[0] if len(verdicts) == 1 else of_both_orders(verdicts[0], verdicts[1]))
    values = _pair_values(item, choice)
    if settings.order == "both":
        values["position_bias"] = unreadable or position_bias(verdicts[0], verdicts[1])
    return _Found(values, _dropped(item), samples)


def _by_grades(
    item: ResponsePair, settings: BenchmarkSettings, wording: GradingWording, judge: JudgeSettings
) -> InRole[_Found]:
    """Run by run, no further than the pair is decided."""
    places = _canonical(item)
    asked = [(NAMES[place], _grade_context(item, place, wording, judge)) for place in places]
    samples: list[Sample] = []
    runs: list[Grades] = []
    choice: Choice | None = None
    for run in range(min(judge.runs, MOST_RUNS)):
        pair = yield from put(prometheus.grades(asked, [run], judge))
        samples += pair
        grades = dict(zip(places, map(prometheus.grade_of, pair), strict=True))
        runs.append((grades[0], grades[1]))
        choice = choice_from_grades(runs, item.winner)
        if is_decided(choice, item.winner):
            break
    if choice is None:
        unreadable = next(sample for sample in samples if prometheus.grade_of(sample) is None)
        return _Found(_pair_values(item, _named(unreadable, "graded")), _dropped(item), tuple(samples))
    return _Found(_pair_values(item, choice), _dropped(item), tuple(samples))


def _pair_values(item: ResponsePair, choice: Choice | Missing) -> dict[str, float | Missing]:
    if isinstance(choice, Missing):
        return dict.fromkeys(pair_scores("tie", item.winner), choice)
    return dict(pair_scores(choice, item.winner))


def _dropped(item: ResponsePair) -> dict[str, Missing]:
    return {"without_ties": _TIE} if item.winner == "tie" else {}


def _chosen(sample: Sample) -> Choice | Missing:
    """The choice of a sample in the letters of the responses, not of the places in which they were shown."""
    choice = prometheus.choice_of(sample)
    if choice is None:
        return _named(sample, "shown as A")
    return choice if sample.question == NAMES[0] else swapped(choice)


def _named(sample: Sample, part: str) -> Missing:
    reason = unread(sample)
    return Missing(reason.kind, f"with the {sample.question} response {part}: {reason.detail}")


def _orders(item: ResponsePair, settings: BenchmarkSettings, judge: JudgeSettings) -> tuple[int, ...]:
    """The places of the responses that are shown as A: both in turn, or one drawn by the judge's seed."""
    places = _canonical(item)
    if settings.order == "both":
        return places
    drawn = json.dumps([judge.seed, item.instruction, [item.responses[place] for place in places]])
    return (places[hashlib.sha256(drawn.encode()).digest()[0] % 2],)


def _canonical(item: ResponsePair) -> tuple[int, ...]:
    """The places of the two responses in an order that does not know which stands first in the file."""

    def content(place: int) -> tuple[str, str, bool]:
        prompt = "" if item.judge_prompts is None else item.judge_prompts[place]
        return item.responses[place], prompt, item.winner == CHOICES[place]

    return tuple(sorted(range(2), key=content))


def _choice_context(item: ResponsePair, shown_as_a: int, wording: GradingWording, judge: JudgeSettings) -> Context:
    shown, other = item.responses[shown_as_a], item.responses[1 - shown_as_a]
    return choose_context(wording, item.instruction, shown, other, item.rubric, model_of(judge))


def _grade_context(item: ResponsePair, place: int, wording: GradingWording, judge: JudgeSettings) -> Context:
    whole = None if item.judge_prompts is None else item.judge_prompts[place]
    return grade_context(wording, item.instruction, item.responses[place], item.rubric, None, model_of(judge), whole)
