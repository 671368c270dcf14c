"""Requests become rows, and the rows' values replies."""

from __future__ import annotations

import doctest
import math

from hypothesis import given
from hypothesis import strategies as st

from tests.backends.test_tokens import Toy
from truthguard.backends import assembly
from truthguard.backends.assembly import Assembly, log_sum
from truthguard.backends.protocol import ContinuationScore, Masses, NextToken, Reply, Score, Scores
from truthguard.backends.tokens import Encoder

TOY = Toy(["a", "b", "c", "Y", "N"])


def settle_all(asked: Assembly, value: float = -0.5) -> list[Reply]:
    replies = list(asked.settled())
    for number, row in enumerate(asked.rows):
        replies += asked.settle(number, tuple(tuple(value for _ in ids) for ids in row.wanted))
    return replies


def test_equal_continuations_are_one_row() -> None:
    """The same context and continuation, asked for three times in two requests, is computed once."""
    requests = [Score("a", ("bc", "bc")), Score("a", ("bc",))]
    asked = Assembly(Encoder(TOY, None), requests)
    assert len(asked.rows) == 1
    replies = settle_all(asked)
    assert [reply.request for reply in replies] == requests
    assert replies[0].value == Scores((ContinuationScore(-1.0, 2), ContinuationScore(-1.0, 2)))


def test_a_request_is_answered_when_its_last_row_is() -> None:
    """Nothing is told before every continuation is known."""
    asked = Assembly(Encoder(TOY, None), [Score("a", ("b", "c"))])
    assert list(asked.settled()) == []
    assert list(asked.settle(1, ((-2.0,),))) == []
    (reply,) = asked.settle(0, ((-1.0,),))
    assert reply.value == Scores((ContinuationScore(-1.0, 1), ContinuationScore(-2.0, 1)))


def test_what_cannot_be_scored_needs_no_model() -> None:
    """Empty choices, no choices, and forms of several tokens are settled at once, each with its reason."""
    empty, none, formless = Score("a", ("",)), Score("a", ()), NextToken("a", (("Y",), ("NN",)))
    asked = Assembly(Encoder(TOY, None), [empty, none, formless])
    assert asked.rows == []
    replies = {reply.request: reply for reply in settle_all(asked)}
    assert replies.keys() == {empty, none, formless}
    value = replies[empty].value
    assert isinstance(value, Scores)
    assert value.continuations[0].log_likelihood is None
    assert value.continuations[0].missing is not None
    assert replies[none].value == Scores(())
    missing = replies[formless].missing
    assert missing is not None
    assert missing.kind == "no_single_token_form"


def test_masses_add_the_probabilities_of_the_forms() -> None:
    """Two forms of probability 1/4 make a mass of 1/2; one makes 1/4."""
    asked = Assembly(Encoder(TOY, None), [NextToken("a", (("Y", "b"), ("N",)))])
    (reply,) = settle_all(asked, math.log(0.25))
    assert isinstance(reply.value, Masses)
    assert [math.exp(mass) for mass in reply.value.log_masses if mass is not None] == [0.5, 0.25]


@given(st.lists(st.floats(-1e5, 0), min_size=1, max_size=6), st.floats(-1e5, 1e5))
def test_log_sum_shifts_with_its_terms(terms: list[float], shift: float) -> None:
    """Adding a constant to every logarithm adds it to the result; it lies between the largest and ln n above it."""
    total = log_sum(terms)
    assert max(terms) <= total <= max(terms) + math.log(len(terms)) + 1e-9
    assert math.isclose(log_sum([term + shift for term in terms]), total + shift, rel_tol=1e-9, abs_tol=1e-6)


def test_nan_is_never_lost_in_a_sum() -> None:
    """max() would pass over a NaN that is not its first argument."""
    assert math.isnan(log_sum([-1.0, math.nan]))
    assert math.isnan(log_sum([math.nan, -1.0]))
    assert log_sum([-math.inf, -1.0]) == -1.0


def test_the_examples_of_the_module_hold() -> None:
    """The doctests say what the functions do."""
    assert doctest.testmod(assembly).failed == 0
