"""Where a judge disagrees most, with the reference, with people or with itself, and what it said there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truthguard.catalogue import GRADE, HUMAN, LABEL, REFERENCE, VERDICT, metric_of
from truthguard.metrics.participation import part_of, run_columns
from truthguard.records import ItemScores, Sample

# Who gave the values of the columns, as they are called in print.
SIDES = {GRADE: "the judge", REFERENCE: "the reference", HUMAN: "people", VERDICT: "the judge", LABEL: "people"}


def furthest_apart(items: Sequence[ItemScores], metric: str, count: int = 5) -> tuple[tuple[ItemScores, str], ...]:
    """The scored items that pull a statistic down most, each with what was said of it; none on which all agree.

    Of a correlation the largest |grade - reference|, of consistency the largest distance between two runs, first; of
    kappa, whose verdicts know no distance, in their order. Equal ones keep the order of the items.
    """
    apart = [(distance, item) for item in items if (distance := distance_of(item, metric))]
    apart.sort(key=lambda entry: -entry[0])
    other = HUMAN if HUMAN in metric_of(metric).columns else REFERENCE
    return tuple((item, _apart(distance, said(item, other))) for distance, item in apart[:count])


def distance_of(item: ItemScores, metric: str) -> float | None:
    """How far apart the values lie of which a statistic is made, the greatest minus the least; None unless scored.

    >>> distance_of(ItemScores("a", "", "", {"grade": 4.5, "reference": 2.0}), "pearson")
    2.5
    """
    if part_of(item, metric) != "scored":
        return None
    given = [value for column in metric_of(metric).columns for value in _given(item, column)]
    return max(given) - min(given)


def said(item: ItemScores, other: str = REFERENCE) -> str:
    """What the judge said of an item, and what `other` (a column, the reference's or people's) says.

    >>> said(ItemScores("a", "", "", {"grade": 4.5, "reference": 2.0, "grade_run1": 4.0, "grade_run2": 5.0}))
    'the judge gave 4.5 (4, 5), the reference 2'
    >>> said(ItemScores("a", "", "", {"verdict": 1.0, "label": 0.0}))
    'the judge said yes, people say no'
    """
    if GRADE in item.values:
        return _graded(item, other)
    if VERDICT in item.values:
        return f"the judge said {_yes_no(item, VERDICT)}, people say {_yes_no(item, LABEL)}"
    return f"the judge {_chosen(item.samples)}" if item.samples else "no verdict kept"


def _given(item: ItemScores, column: str) -> Iterable[float]:
    """The numbers of one column, which may be one for each run."""
    names = (column,) if column in item.values else run_columns(item)
    return [value for name in names if (value := item.values[name]) is not None]


def _apart(distance: float, text: str) -> str:
    return text if text.startswith("the judge said") else f"{distance:.4g} apart: {text}"


def _graded(item: ItemScores, other: str) -> str:
    grade, reference = item.values[GRADE], item.values.get(other)
    runs = [item.values[name] for name in run_columns(item)]
    each = f" ({', '.join('unread' if run is None else f'{run:g}' for run in runs)})" if len(runs) > 1 else ""
    given = "no readable grade" if grade is None else f"{grade:.4g}"
    return f"the judge gave {given}{each}" + ("" if reference is None else f", {SIDES[other]} {reference:.4g}")


def _yes_no(item: ItemScores, column: str) -> str:
    value = item.values.get(column)
    return "nothing readable" if value is None else ("yes" if value else "no")


def _chosen(samples: Sequence[Sample]) -> str:
    """The judge's grades of the responses, or its choices, each with the letter under which it was shown."""
    if any(sample.kind == "grade" for sample in samples):
        grades: dict[str, list[str]] = {}
        for sample in samples:
            grades.setdefault(sample.question, []).append(sample.verdict or sample.kind)
        return "gave " + " and ".join(f"the {name} response {', '.join(given)}" for name, given in grades.items())
    return "chose " + ", then ".join(_response(sample) for sample in samples)


def _response(sample: Sample) -> str:
    """A sample's question names the response that was shown as A."""
    if sample.verdict in ("a", "b"):
        other = "second" if sample.question == "first" else "first"
        return f"the {sample.question if sample.verdict == 'a' else other} response as {sample.verdict.upper()}"
    return "a tie" if sample.verdict == "tie" else f"nothing readable ({sample.kind})"
