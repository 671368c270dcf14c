"""What the sets hold on which a judge is measured: sizes, categories, ties, and how far their reference agrees."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from truthguard.benchmarks import judge_starter, prometheus
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.prometheus_sets import FOLDER, SETS
from truthguard.benchmarks.reference_agreement import reference_agreement
from truthguard.catalogue import JUDGE_STARTER
from truthguard.errors import DataError, Mistake
from truthguard.records import GradedResponse, ResponsePair
from truthguard.report.judging import agreement
from truthguard.report.words import DATA_WORDS

NAMES = (JUDGE_STARTER, *SETS)
WIDTH = 110


def describe(names: Sequence[str], data: Path) -> Iterator[str]:
    """What the sets of these names hold, and of those that are not below `data` how to get them.

    Raises DataError, behind the last set, with the mistakes of all files that could not be read.
    """
    mistakes: list[Mistake] = []
    for name in names:
        try:
            yield from _of_set(name, data)
        except DataError as error:
            yield f"{name}: cannot be read"
            mistakes += error.mistakes
    if mistakes:
        raise DataError(mistakes)


def _of_set(name: str, data: Path) -> Iterator[str]:
    if name == JUDGE_STARTER:
        yield from _held(judge_starter.load(), "our own grades")
        return
    try:
        prometheus.find(data, SETS[name])
    except DataError:
        yield f"{name}: no {SETS[name].file}.json (or .json.gz) in {data / FOLDER}"
        yield f"  get it with `truthguard fetch prometheus`, or name the folder that holds {FOLDER}/ with --data"
    else:
        yield from _held(prometheus.load(name, data), SETS[name].reference)
    if not SETS[name].tried:
        yield from _indented("its loader follows the fields that upstream's code reads: not tried on the real file")


def _held(items: QuestionSet, reference: str) -> Iterator[str]:
    responses = [item for item in items.items if isinstance(item, GradedResponse)]
    pairs = [item for item in items.items if isinstance(item, ResponsePair)]
    yield f"{items.name}: {'; '.join(filter(None, (_sized(responses, 'responses'), _sized(pairs, 'pairs'))))}"
    yield from _indented(f"reference: {reference}")
    sizes = Counter(item.category for item in items.items)
    if len(sizes) > 1:
        yield from _indented(f"categories: {', '.join(f'{name} {size}' for name, size in sorted(sizes.items()))}")
    if pairs:
        ties = sum(item.winner == "tie" for item in pairs)
        yield from _indented(f"ties: {ties:,}; n of without_ties: {len(pairs) - ties:,}")
    found = reference_agreement(responses)
    if found is not None:
        yield from _indented(f"agreement of the reference with itself: {agreement(found)}")
    counted = [f"{number:,} {DATA_WORDS.get(key, key)}" for key, number in items.counts.items() if number]
    if counted:
        yield from _indented("; ".join(counted))


def _sized(items: Sequence[GradedResponse | ResponsePair], noun: str) -> str:
    return f"{len(items):,} {noun}, {len({item.group for item in items}):,} prompts" if items else ""


def _indented(text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
