"""The corrected rate: the contract's formula, its identities, and what its interval covers."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.metrics import correction
from truthguard.metrics.correction import corrected

SHARES = st.floats(0, 1)
COUNTS = st.integers(1, 10**6)
# Real rates are shares of counted items: far enough above chance that a difference is no rounding.
BETTER_THAN_CHANCE = st.tuples(st.floats(0.55, 1), st.floats(0.55, 1))


def test_the_examples_hold() -> None:
    """The doctest of the formula prints what it says."""
    results = doctest.testmod(correction)
    assert results.attempted > 0
    assert results.failed == 0


def test_the_formula_of_the_contract() -> None:
    """q = 0.7 of 200, s = 0.9 of 500, p = 0.8 of 400: t = 0.5/0.7, and the SE of the contract by hand."""
    rate = corrected(0.7, 200, 0.9, 500, 0.8, 400, 0.95)
    t = 0.5 / 0.7
    error = math.sqrt(0.21 / 200 + t**2 * 0.09 / 500 + (1 - t) ** 2 * 0.16 / 400) / 0.7
    assert rate.estimate == rate.unclipped == pytest.approx(t)
    assert rate.low == pytest.approx(t - 1.959963984540054 * error)
    assert rate.high == pytest.approx(t + 1.959963984540054 * error)
    assert (rate.n_positive, rate.n_negative, rate.confidence, rate.undefined) == (500, 400, 0.95, None)


@given(SHARES, COUNTS, COUNTS, COUNTS)
def test_a_perfect_judge_leaves_the_rate(q: float, n: int, n1: int, n0: int) -> None:
    """With no errors there is nothing to correct, and the interval is the normal one of q."""
    rate = corrected(q, n, 1.0, n1, 1.0, n0, 0.95)
    assert rate.estimate == pytest.approx(q)
    half = 1.959963984540054 * math.sqrt(q * (1 - q) / n)
    assert rate.low == pytest.approx(max(0.0, q - half))
    assert rate.high == pytest.approx(min(1.0, q + half))


@given(SHARES, BETTER_THAN_CHANCE, COUNTS)
def test_what_the_judge_would_report_is_corrected_to_the_truth(
    truth: float, rates: tuple[float, float], n: int
) -> None:
    """A share t of true answers is seen as t s + (1 - t)(1 - p), and corrected to t again."""
    s, p = rates
    seen = min(1.0, truth * s + (1 - truth) * (1 - p))
    rate = corrected(seen, n, s, n, p, n, 0.9)
    assert rate.unclipped == pytest.approx(truth, abs=1e-12)


@given(SHARES, SHARES, BETTER_THAN_CHANCE)
def test_the_correction_keeps_the_order(one: float, other: float, rates: tuple[float, float]) -> None:
    """Of two observed rates the higher one is never corrected to the lower one."""
    low, high = sorted((one, other))
    found = [corrected(q, 50, rates[0], 60, rates[1], 70, 0.95) for q in (low, high)]
    assert found[0].unclipped is not None
    assert found[1].unclipped is not None
    assert found[0].unclipped <= found[1].unclipped


@given(SHARES, SHARES, SHARES, COUNTS)
def test_everything_stays_between_0_and_1_or_is_undefined(q: float, s: float, p: float, n: int) -> None:
    """Estimate and interval are clipped, in order; for a judge no better than chance there is none."""
    rate = corrected(q, n, s, n, p, n, 0.95)
    if rate.undefined is not None:
        assert s + p - 1 <= 1e-9
        assert (rate.estimate, rate.low, rate.high, rate.unclipped) == (None, None, None, None)
        assert rate.undefined.kind == "no_better_than_chance"
    else:
        assert rate.low is not None
        assert rate.estimate is not None
        assert rate.high is not None
        assert 0 <= rate.low <= rate.estimate <= rate.high <= 1


@pytest.mark.parametrize("rates", [(0.3, 0.7), (0.1, 0.9), (0.58, 0.42), (0.0, 1.0), (0.2, 0.2)])
def test_a_judge_no_better_than_chance_corrects_nothing(rates: tuple[float, float]) -> None:
    """J <= 0, and a J that is 0 but for its rounding, is undefined and no division."""
    assert corrected(0.5, 10, rates[0], 10, rates[1], 10, 0.95).undefined is not None


@pytest.mark.parametrize(
    "arguments",
    [
        (1.1, 10, 0.9, 10, 0.9, 10, 0.95),
        (math.nan, 10, 0.9, 10, 0.9, 10, 0.95),
        (0.5, 10, -0.1, 10, 0.9, 10, 0.95),
        (0.5, 0, 0.9, 10, 0.9, 10, 0.95),
        (0.5, 10, 0.9, 0, 0.9, 10, 0.95),
        (0.5, 10, 0.9, 10, 0.9, 10, 1.0),
    ],
)
def test_what_is_no_share_is_refused(arguments: tuple[float, int, float, int, float, int, float]) -> None:
    """A share outside 0 to 1, a count of none, a confidence of certainty: ValueError, never a number."""
    with pytest.raises(ValueError, match=r"between 0 and 1|at least one item"):
        corrected(*arguments)


def test_the_interval_covers() -> None:
    """In 4,000 simulated measurements the 90 % interval holds the true share about as often as it says."""
    import numpy as np

    random = np.random.default_rng(7)
    truth, s, p, n, n1, n0, times = 0.6, 0.85, 0.75, 300, 250, 350, 4_000
    seen = truth * s + (1 - truth) * (1 - p)
    draws = zip(
        random.binomial(n, seen, times) / n,
        random.binomial(n1, s, times) / n1,
        random.binomial(n0, p, times) / n0,
        strict=True,
    )
    rates = [corrected(float(q), n, float(a), n1, float(b), n0, 0.9) for q, a, b in draws]
    covered = sum(rate.low <= truth <= rate.high for rate in rates if rate.low is not None and rate.high is not None)
    assert len(rates) == times
    # Three standard errors of a share of 0.9 are 0.014; the normal interval is a little narrow.
    assert 0.88 <= covered / times <= 0.92
