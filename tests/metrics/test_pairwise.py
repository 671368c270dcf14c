"""From verdicts and grades to a choice, and from a choice to right or wrong."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from itertools import product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.metrics import pairwise
from truthguard.metrics.pairwise import (
    CHOICES,
    Choice,
    Grades,
    choice_from_grades,
    is_decided,
    of_both_orders,
    pair_scores,
    position_bias,
    swapped,
)

C15: list[tuple[list[Grades], Choice]] = [
    ([(3, 3), (4, 4), (5, 4)], "a"),
    ([(4, 4), (4, 4), (2, 2)], "a"),
    ([(None, 3), (2, 5)], "a"),
    ([(5, 2)], "a"),
    ([(3, 3)], "tie"),
    ([(4, 3)], "tie"),
    ([(2, 2)], "tie"),
]

choices = st.sampled_from(CHOICES)
grades = st.none() | st.integers(1, 5)
runs = st.lists(st.tuples(grades, grades), max_size=3)
pairs = st.lists(st.tuples(choices, choices), min_size=1, max_size=30)


def accuracies(pairs: Sequence[tuple[Choice, Choice]]) -> dict[str, list[float]]:
    """The scores of each metric over pairs of (choice, winner)."""
    found: dict[str, list[float]] = {"without_ties": [], "with_ties": []}
    for choice, winner in pairs:
        for name, score in pair_scores(choice, winner).items():
            found[name].append(score)
    return found


def exchanged(runs: Sequence[Grades]) -> list[Grades]:
    return [(second, first) for first, second in runs]


def test_examples_hold() -> None:
    """Every public function has an example, and it prints what it says."""
    assert doctest.testmod(pairwise).failed == 0
    examples = {test.name.rpartition(".")[2]: test.examples for test in doctest.DocTestFinder().find(pairwise)}
    public = [name for name, each in vars(pairwise).items() if getattr(each, "__module__", "") == pairwise.__name__]
    assert [name for name in public if not examples[name]] == []


@pytest.mark.parametrize("swap", [False, True])
def test_c15_grades_into_a_choice(swap: bool) -> None:
    """C15: 2 of 4 without ties, 4 of 7 with them, whichever response stands first."""
    found = []
    for grades, winner in C15:
        given_grades, expected = (exchanged(grades), swapped(winner)) if swap else (grades, winner)
        choice = choice_from_grades(given_grades, expected)
        assert choice is not None
        found.append((choice, expected))
    assert [choice == winner for choice, winner in found] == [True, False, False, True, True, False, True]
    scores = accuracies(found)
    assert fmean(scores["without_ties"]) == 0.5
    assert fmean(scores["with_ties"]) == pytest.approx(0.57142857, abs=1e-8)


def test_a_tie_of_the_judge_on_a_decided_pair_is_wrong() -> None:
    """In both numbers; a response chosen on a tie is wrong in the one that has the pair."""
    assert pair_scores("tie", "a") == {"without_ties": 0.0, "with_ties": 0.0}
    assert pair_scores("a", "tie") == {"with_ties": 0.0}


@given(st.lists(st.tuples(choices, st.sampled_from(["a", "b"])), max_size=30), st.lists(choices, max_size=30))
def test_tied_pairs_change_without_ties_by_nothing(decided: list[tuple[Choice, Choice]], tied: list[Choice]) -> None:
    """And with_ties as counted: each is right exactly when the judge calls it a tie."""
    before, after = accuracies(decided), accuracies([*decided, *((choice, "tie") for choice in tied)])
    assert after["without_ties"] == before["without_ties"]
    assert sum(after["with_ties"]) == sum(before["with_ties"]) + tied.count("tie")
    assert len(after["with_ties"]) == len(decided) + len(tied)


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_changes_nothing(pairs: list[tuple[Choice, Choice]], random: object) -> None:
    """Sums of 0 and 1 do not know who came first."""
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    before, after = accuracies(pairs), accuracies(shuffled)
    assert {name: (sum(each), len(each)) for name, each in before.items()} == {
        name: (sum(each), len(each)) for name, each in after.items()
    }


@pytest.mark.parametrize(("one", "other", "winner"), [*product(CHOICES, repeat=3)])
def test_the_two_responses_may_be_exchanged(one: Choice, other: Choice, winner: Choice) -> None:
    """Verdicts, bias and scores of all 27 cases are the same, but for the letter; so they are in either order."""
    assert of_both_orders(swapped(one), swapped(other)) == swapped(of_both_orders(one, other))
    assert of_both_orders(one, other) == of_both_orders(other, one)
    assert position_bias(swapped(one), swapped(other)) == position_bias(other, one)
    assert pair_scores(swapped(one), swapped(winner)) == pair_scores(one, winner)


@given(runs, choices)
def test_grades_may_be_exchanged(runs: list[Grades], winner: Choice) -> None:
    """The choice from grades is the same, but for its letter."""
    choice = choice_from_grades(runs, winner)
    other = choice_from_grades(exchanged(runs), swapped(winner))
    assert other == (None if choice is None else swapped(choice))


@given(runs, choices)
def test_a_decided_pair_stays_decided(runs: list[Grades], winner: Choice) -> None:
    """No further run changes it, and before it was decided every run was asked for with reason."""
    for upto in range(len(runs) + 1):
        choice = choice_from_grades(runs[:upto], winner)
        if is_decided(choice, winner):
            assert choice_from_grades(runs, winner) == choice
            break
    else:
        assert choice_from_grades(runs, winner) in (None, "tie")


@given(runs, choices, grades)
def test_an_unread_grade_is_no_grade(runs: list[Grades], winner: Choice, other: int | None) -> None:
    """A run with one changes nothing, wherever it stands."""
    for place in range(len(runs) + 1):
        more = [*runs[:place], (None, other), *runs[place:]]
        assert choice_from_grades(more, winner) == choice_from_grades(runs, winner)
