"""What a judge said against what people or a stronger judge say, counted for the charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from truthguard.catalogue import GRADE, LABEL, REFERENCE, VERDICT
from truthguard.metrics.pairwise import CHOICES, Choice, Grades, choice_from_grades, of_both_orders, swapped
from truthguard.records import ItemScores, Sample
from truthguard.report.html.charts.tables import Confusion

_PLACES = ("first", "second")


def grade_pairs(items: Sequence[ItemScores]) -> list[tuple[float, float]]:
    """(reference, grade) of every response that has both."""
    return [
        (reference, grade)
        for item in items
        if (grade := item.values.get(GRADE)) is not None and (reference := item.values.get(REFERENCE)) is not None
    ]


def label_confusion(items: Sequence[ItemScores]) -> Confusion | None:
    """The judge's yes and no against people's; None without a labelled answer that it read."""
    counts = Counter(
        (label, verdict)
        for item in items
        if (verdict := item.values.get(VERDICT)) is not None and (label := item.values.get(LABEL)) is not None
    )
    if not counts:
        return None
    sides = (1.0, 0.0)
    return Confusion(
        rows=("true", "false"),
        columns=("true", "false"),
        across="the judge says",
        down="people say",
        counts=tuple(tuple(counts[label, verdict] for verdict in sides) for label in sides),
        agree=frozenset([(0, 0), (1, 1)]),
    )


def pair_confusion(items: Sequence[ItemScores]) -> Confusion | None:
    """What the judge chose, by whether people prefer a response; None without a pair that it chose of.

    Which response of a pair is called the first says nothing, so that the columns are told apart by the people's
    choice: the one that they prefer, a tie, the other one.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for item in items:
        right = item.values.get("with_ties")
        if right is None:
            continue
        is_tie = "without_ties" not in item.values and "without_ties" in item.reasons
        if right == 1.0:
            column = 1 if is_tie else 0
        else:
            column = 2 if is_tie or choice_of(item.samples, is_tie=is_tie) != "tie" else 1
        counts[int(is_tie), column] += 1
    if not counts:
        return None
    return Confusion(
        rows=("one of the two", "a tie"),
        columns=("the same", "a tie", "another"),
        across="the judge chooses",
        down="people choose",
        counts=tuple(tuple(counts[row, column] for column in range(3)) for row in range(2)),
        agree=frozenset([(0, 0), (1, 1)]),
    )


def choice_of(samples: Sequence[Sample], *, is_tie: bool) -> Choice | None:
    """What a judge's samples of one pair come to, in the letters of the responses; None where nothing was read.

    `is_tie` says whether people call the pair a tie, which decides how many runs of grades count.
    """
    if any(sample.kind == "grade" for sample in samples):
        # Of a decided pair only whether the grades ever differ matters here, not for whom.
        return choice_from_grades(_grades(samples), "tie" if is_tie else "a")
    chosen: list[Choice] = []
    for sample in samples:
        found = next((choice for choice in CHOICES if choice == sample.verdict), None)
        if found is not None:
            chosen.append(found if sample.question == _PLACES[0] else swapped(found))
    if not chosen:
        return None
    return chosen[0] if len(chosen) == 1 else of_both_orders(chosen[0], chosen[1])


def _grades(samples: Sequence[Sample]) -> list[Grades]:
    runs: dict[int, dict[str, int]] = {}
    for sample in samples:
        given = runs.setdefault(sample.index, {})
        if sample.verdict is not None and sample.verdict.isdecimal():
            given[sample.question] = int(sample.verdict)
    return [(given.get(_PLACES[0]), given.get(_PLACES[1])) for _, given in sorted(runs.items())]
