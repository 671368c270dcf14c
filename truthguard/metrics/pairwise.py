"""Pairs of responses: from a judge's verdicts or grades to its choice, and from its choice to right or wrong.

A choice is `a` for the first response, `b` for the second, or `tie`. Everything here treats the two responses alike:
with both exchanged, and the winner with them, every result is the same but for its letter. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Choice = Literal["a", "b", "tie"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
# The grades that one run gives to the first and to the second response; None where one is unread.
Grades = tuple[int | None, int | None]

# Of how many runs of grades one may decide a pair.
MOST_RUNS = 3
_SWAPPED: dict[Choice, Choice] = {"a": "b", "b": "a", "tie": "tie"}


def swapped(choice: Choice) -> Choice:
    """The same choice where the two responses have exchanged their letters.

    >>> swapped("a"), swapped("tie")
    ('b', 'tie')
    """
    return _SWAPPED[choice]


def of_both_orders(one: Choice, other: Choice) -> Choice:
    """What the verdicts in the two orders come to, both in the letters of the responses, not of the places.

    The response that both name; a tie in one of them, or two different responses, is a tie. Source: this project's
    contract.

    >>> of_both_orders("b", "b"), of_both_orders("a", "b"), of_both_orders("a", "tie"), of_both_orders("tie", "tie")
    ('b', 'tie', 'tie', 'tie')
    """
    return one if one == other else "tie"


def position_bias(one: Choice, other: Choice) -> float:
    """1 if the verdicts in the two orders differ, else 0; both in the letters of the responses.

    Range: 0 or 1. Ties: a tie in one order only differs. Source: this project's contract.

    >>> position_bias("a", "a"), position_bias("a", "b"), position_bias("tie", "b")
    (0.0, 1.0, 1.0)
    """
    return float(one != other)


def pair_scores(choice: Choice, winner: Choice) -> dict[str, float]:
    """`with_ties` of one pair, and `without_ties` unless people call it a tie: 1 if the choice is theirs, else 0.

    A tie where people prefer one is wrong. Range: 0 or 1. Source: Kim et al., Prometheus 2 (EMNLP 2024), whose
    ranking accuracies with and without ties these are.

    >>> pair_scores("a", "a"), pair_scores("tie", "b"), pair_scores("tie", "tie")
    ({'without_ties': 1.0, 'with_ties': 1.0}, {'without_ties': 0.0, 'with_ties': 0.0}, {'with_ties': 1.0})
    """
    right = float(choice == winner)
    return {"with_ties": right} if winner == "tie" else {"without_ties": right, "with_ties": right}


def choice_from_grades(runs: Iterable[Grades], winner: Choice) -> Choice | None:
    """The choice that absolute grades amount to, run by run; None where no run is readable on both sides.

    A pair of which people prefer one is decided by the first run in which the grades differ, for the higher one; if
    there is none, the choice is a tie, and so wrong. Of a pair that people call a tie the first readable run decides
    alone. A run with an unread grade is skipped. Source: the evaluation of Kim et al., Prometheus 2 (EMNLP 2024).

    >>> choice_from_grades([(3, 3), (4, 4), (5, 4)], "a"), choice_from_grades([(None, 3), (2, 5)], "a")
    ('a', 'b')
    >>> choice_from_grades([(4, 4), (4, 4), (2, 2)], "a"), choice_from_grades([(2, 2), (3, 4)], "tie")
    ('tie', 'tie')
    >>> choice_from_grades([(None, 3), (2, None)], "b") is None
    True
    """
    found: Choice | None = None
    for first, second in runs:
        if first is None or second is None:
            continue
        found = "a" if first > second else "b" if second > first else "tie"
        if is_decided(found, winner):
            break
    return found


def is_decided(choice: Choice | None, winner: Choice) -> bool:
    """Whether no further run of grades can change a `choice_from_grades`.

    >>> is_decided("a", "b"), is_decided("tie", "b"), is_decided("tie", "tie"), is_decided(None, "tie")
    (True, False, True, False)
    """
    return choice is not None and (choice != "tie" or winner == "tie")
