"""What a reader must know beside the numbers of a run that measures the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truthguard.catalogue import GRADE, REFERENCE
from truthguard.metrics.statistics import mean
from truthguard.records import ItemScores, ReferenceAgreement, Run
from truthguard.text import visible

# More categories than this are rows of their own (by = "category") or nothing: no line holds them.
MOST_CATEGORIES = 10
ACCURACIES = ("without_ties", "with_ties")


def judging_lines(run: Run) -> Iterator[str]:
    """The reference's own agreement beside every correlation, mean grades, accuracies by category."""
    yield from _reference(run)
    yield from _grades(run.items)
    for metric in ACCURACIES:
        yield from _by_category(run.items, metric)


def _reference(run: Run) -> Iterator[str]:
    """How far the reference agrees with itself: no judge can be expected to agree with it better."""
    found = run.reference_agreement
    if found is None:
        return
    yield f"the reference itself: {agreement(found)}"


def agreement(found: ReferenceAgreement) -> str:
    """A reference's agreement with itself, in words."""
    text = f"its {found.runs} runs differ on {found.n_not_unanimous} of {found.n} responses"
    text += f" ({found.n_not_unanimous / found.n:.0%})"
    if found.low is not None and found.high is not None:
        text += f", one run against the mean of the others r = {found.low:.3f} to {found.high:.3f}"
    return text


def _grades(items: Sequence[ItemScores]) -> Iterator[str]:
    """A judge that is strict or lenient agrees in rank all the same: the means tell."""
    pairs = [
        (grade, reference)
        for item in items
        if (grade := item.values.get(GRADE)) is not None and (reference := item.values.get(REFERENCE)) is not None
    ]
    if pairs:
        judge, reference = (mean(column) for column in zip(*pairs, strict=True))
        yield f"mean grade {judge:.4f}, the reference's {reference:.4f} on the {len(pairs)} responses that have both"


def _by_category(items: Sequence[ItemScores], metric: str) -> Iterator[str]:
    """The accuracy of each category and of all pairs (the micro average), as the field's tables have them."""
    scored: dict[str, list[float]] = {}
    for item in items:
        if (value := item.values.get(metric)) is not None:
            scored.setdefault(item.category, []).append(value)
    if 1 < len(scored) <= MOST_CATEGORIES:
        each = ", ".join(f"{visible(name)} {mean(values):.4f} ({len(values)})" for name, values in scored.items())
        pairs = [value for values in scored.values() for value in values]
        yield f"{metric} by category: {each}; all pairs (micro average) {mean(pairs):.4f} ({len(pairs)})"
