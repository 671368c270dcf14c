"""How far the reference of graded responses agrees with itself, which no judge can be asked to exceed by much."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from truthguard.metrics.correlation import pearson
from truthguard.records import GradedResponse, Missing, ReferenceAgreement


def reference_agreement(items: Sequence[GradedResponse]) -> ReferenceAgreement | None:
    """Share of responses graded differently, and the range of Pearson's r of one run against the mean of the others.

    A run's r is over the responses that have it beside at least one other run; without one of them there is no range.
    None where no response has several reference grades.
    """
    graded = [item.scores for item in items if len(item.scores) > 1]
    if not graded:
        return None
    runs = max(map(len, graded))
    found = [_one_against_others([scores for scores in graded if len(scores) > run], run) for run in range(runs)]
    values = [each for each in found if not isinstance(each, Missing)]
    defined = len(values) == runs
    return ReferenceAgreement(
        n=len(graded),
        n_not_unanimous=sum(len(set(scores)) > 1 for scores in graded),
        runs=runs,
        low=min(values) if defined else None,
        high=max(values) if defined else None,
    )


def _one_against_others(graded: Sequence[Sequence[float]], run: int) -> float | Missing:
    others = [fsum((*scores[:run], *scores[run + 1 :])) / (len(scores) - 1) for scores in graded]
    return pearson([scores[run] for scores in graded], others)
