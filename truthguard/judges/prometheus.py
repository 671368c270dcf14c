"""A model grades a response from 1 to 5, or chooses between two, after writing feedback (the Prometheus 2 protocol).

Kim et al., Prometheus 2 (EMNLP 2024). A grade is drawn several times, independently; a choice once in each order.
What is not readable is asked for again, three attempts in all, and then left unread: it is never the lowest grade.
The words are those of truthguard.judges.grading_prompts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truthguard.backends.protocol import Context, Generate
from truthguard.catalogue import temperature
from truthguard.judges.asking import Asking, Reading, samples
from truthguard.judges.verdicts import read_choice, read_grade
from truthguard.metrics.pairwise import CHOICES, Choice
from truthguard.records import JudgeSettings, Sample

ATTEMPTS = 3


def grades(
    asked: Sequence[tuple[str, Context]], runs: Iterable[int], settings: JudgeSettings
) -> Asking[tuple[Sample, ...]]:
    """Have each context's response graded in each of the runs, all at once.

    One sample for each, run by run and in the order of `asked`, which gives each context with the name of the
    question that it puts. Run i has the index i and the seed `settings.seed + i`, at temperature 1 unless the
    settings have their own.
    """
    requests = [(question, _request(context, run, settings)) for run in runs for question, context in asked]
    return (yield from samples(requests, _graded, ATTEMPTS))


def choices(
    asked: Sequence[tuple[str, Context]], settings: JudgeSettings, *, allow_tie: bool
) -> Asking[tuple[Sample, ...]]:
    """Have the judge choose between the two responses of each context, once, all at once.

    The verdicts are the letters by which the context calls its responses, or tie. With `allow_tie` false, for
    words that offer A and B only, a reply of tie is unparsed. Seed and temperature are those of a first run.
    """

    def chosen(text: str, finish_reason: str) -> Reading:
        found = read_choice(text, finish_reason, allow_tie)
        return found.kind, found.kind if found.kind in CHOICES else None, found.explanation

    return (yield from samples([(name, _request(context, 0, settings)) for name, context in asked], chosen, ATTEMPTS))


def grade_of(sample: Sample) -> int | None:
    """The grade that a sample gives, 1 to 5; None where it is unread."""
    return int(sample.verdict) if sample.kind == "grade" and sample.verdict is not None else None


def choice_of(sample: Sample) -> Choice | None:
    """The choice of a sample, in the letters by which the responses were shown; None where it is unread."""
    return next((choice for choice in CHOICES if choice == sample.verdict), None)


def _request(context: Context, run: int, settings: JudgeSettings) -> Generate:
    return Generate(
        context,
        settings.max_tokens,
        temperature=temperature(settings, "direct"),
        seed=settings.seed + run,
        sample=run,
    )


def _graded(text: str, finish_reason: str) -> Reading:
    found = read_grade(text, finish_reason)
    return found.kind, None if found.grade is None else str(found.grade), found.explanation
