"""How far a reference agrees with itself."""

from __future__ import annotations

import pytest
from scipy.stats import pearsonr

from truthguard.benchmarks.reference_agreement import reference_agreement
from truthguard.records import GradedResponse, Rubric


def graded(*scores: float) -> GradedResponse:
    return GradedResponse("g", "c", "g", "Say it.", "It.", Rubric("Right?"), tuple(map(float, scores)))


def test_one_run_against_the_mean_of_the_others() -> None:
    """The lowest and the highest of three correlations, as scipy has them."""
    runs = ([1, 2, 4, 5, 5], [1, 3, 4, 4, 5], [2, 2, 2, 5, 4])
    found = reference_agreement([graded(*scores) for scores in zip(*runs, strict=True)])
    assert found is not None
    assert (found.n, found.n_not_unanimous, found.runs) == (5, 5, 3)
    expected = []
    for index, run in enumerate(runs):
        first, second = runs[:index] + runs[index + 1 :]
        expected.append(float(pearsonr(run, [(x + y) / 2 for x, y in zip(first, second, strict=True)])[0]))
    assert [found.low, found.high] == pytest.approx([min(expected), max(expected)])


def test_responses_with_one_grade_say_nothing() -> None:
    """Without several grades there is no agreement, and none of zero either."""
    assert reference_agreement([]) is None
    assert reference_agreement([graded(3), graded(4)]) is None


def test_a_run_counts_where_it_stands_beside_another() -> None:
    """Single grades are left out; a third run that few responses have is held against their means."""
    items = [graded(1, 1), graded(3, 3), graded(5, 5), graded(1, 1, 1), graded(2, 2, 2), graded(5, 5, 5), graded(2)]
    found = reference_agreement(items)
    assert found is not None
    assert (found.n, found.n_not_unanimous, found.runs) == (6, 0, 3)
    assert [found.low, found.high] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    "items", [[graded(3, 3)] * 5, [graded(1, 2), graded(2, 1)], [graded(4, 1), graded(4, 2), graded(4, 3)]]
)
def test_a_run_without_a_correlation_leaves_no_range(items: list[GradedResponse]) -> None:
    """Constant grades or too few: what differs is still counted."""
    found = reference_agreement(items)
    assert found is not None
    assert (found.low, found.high) == (None, None)
    assert found.n_not_unanimous == sum(len(set(item.scores)) > 1 for item in items)
