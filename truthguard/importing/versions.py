"""Which version of TruthfulQA logged samples are of: the one whose questions and answers are exactly theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from truthguard.benchmarks import truthfulqa
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.files import SHOWN_MISTAKES
from truthguard.errors import DataError, Mistake, UsageError
from truthguard.importing.samples import LoggedSample
from truthguard.records import Question
from truthguard.text import visible

# Those whose questions the harness' tasks can ask as they are; 2025-01 has empty answers, which it would score.
VERSIONS = ("2021-09", "2021-10")

Differing = Sequence[tuple[LoggedSample, str]]


def find_version(samples: Sequence[LoggedSample], data: Path, version: str | None) -> QuestionSet:
    """The questions of `version`, or of the one version that has every sample's question with exactly its answers.

    Raises DataError where none has: how many samples differ from each version, and how those differ that differ
    from the nearest; and where the files of no version are in `data`. UsageError where several versions have them all.
    """
    loaded: dict[str, QuestionSet] = {}
    absent: list[DataError] = []
    for name in VERSIONS if version is None else (version,):
        try:
            loaded[name] = truthfulqa.load(data, name)
        except DataError as error:
            absent.append(error)
    if not loaded:
        raise absent[0]
    differing = {name: list(_differing(samples, questions)) for name, questions in loaded.items()}
    fitting = [name for name, found in differing.items() if not found]
    if not fitting:
        raise DataError([*_mistakes(samples, differing), *(each for error in absent for each in error.mistakes)])
    if len(fitting) > 1:
        number = len({sample.question for sample in samples})
        raise UsageError(
            f"the {number} questions of the samples are the same in {' and '.join(fitting)}:"
            " say of which they are with --version"
        )
    return loaded[fitting[0]]


def _differing(samples: Sequence[LoggedSample], questions: QuestionSet) -> Iterator[tuple[LoggedSample, str]]:
    known = {item.question: item for item in questions.questions}
    for sample in samples:
        item = known.get(sample.question.strip())
        how = "its question is not there" if item is None else _difference(sample, item)
        if how:
            yield sample, f"not as in {questions.version}: {how} ({visible(sample.question.strip(), 80)!r})"


def _difference(sample: LoggedSample, item: Question) -> str:
    """How the labelled answers differ, mc2_targets first; '' where they do not."""
    for name, logged, choices in (
        ("mc2_targets", sample.choices, item.choices),
        ("mc1_targets", sample.single, [choice for choice in item.choices if choice.in_mc1]),
    ):
        published = {choice.text: choice.true for choice in choices}
        if logged == published:
            continue
        parts = [
            f"{len(texts)} answers {what}, the first {visible(texts[0], 60)!r}"
            for what, texts in (
                ("too many", [text for text in logged if text not in published]),
                ("missing", [text for text in published if text not in logged]),
                ("labelled otherwise", [text for text in logged if published.get(text, logged[text]) != logged[text]]),
            )
            if texts
        ]
        return f"{name} has {'; '.join(parts)}"
    return ""


def _mistakes(samples: Sequence[LoggedSample], differing: Mapping[str, Differing]) -> Iterator[Mistake]:
    counts = ", ".join(f"{len(found)} differ from {name}" for name, found in differing.items())
    way_out = "" if len(differing) > 1 else " (without --version it is looked for)"
    expected = f"expected one version with all their questions and answers{way_out}"
    yield Mistake(f"of {len(samples)} samples {counts}: {expected}")
    nearest = min(differing.values(), key=len)
    for sample, how in nearest[:SHOWN_MISTAKES]:
        yield Mistake(how, sample.path, sample.line)
    if len(nearest) > SHOWN_MISTAKES:
        yield Mistake(f"{len(nearest) - SHOWN_MISTAKES} more samples like these")
