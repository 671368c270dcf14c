"""What must hold for every row of numbers, not for the ones that somebody thought of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truthguard.metrics.choice import (
    Bounds,
    letter_bias,
    listed_masses,
    mc1,
    mc2,
    mc2_mass,
    mc3,
    mc_binary,
    tied_best,
    yes_probability,
)
from truthguard.metrics.statistics import mean
from truthguard.records import Missing

Side = list[float]
Metric = Callable[[Side, Side], float | Missing]

GRID = 1024
# On a grid of 1/1024 the sums with a constant on the same grid are exact.
on_grid = st.integers(-60 * GRID, 0).map(lambda ticks: ticks / GRID)
constants = st.integers(-100_000 * GRID, 0).map(lambda ticks: ticks / GRID)
# A narrow grid, so that ties are common.
coarse = st.integers(-4, 0).map(float)
logs = st.one_of(on_grid, coarse, st.floats(-1e5, 0.0), st.just(-math.inf))
probabilities = st.floats(0.0, 1.0)


def some(elements: st.SearchStrategy[float]) -> st.SearchStrategy[Side]:
    return st.lists(elements, min_size=1, max_size=8)


def mc1_of(true: Side, false: Side) -> float | Missing:
    """mc1 with the first true answer as the best one, so that all metrics take the same two sides."""
    return mc1(true[0], false)


def binary_of(true: Side, false: Side) -> float | Missing:
    """mc_binary with the first of each side as the letters of both orders."""
    return mc_binary([(true[0], false[0]), (true[-1], false[-1])])


LOG_METRICS: tuple[Metric, ...] = (mc1_of, mc2_mass, mc3, binary_of)
SHIFTED: tuple[Metric, ...] = (mc1_of, mc2_mass, mc3)


def value(result: float | Missing) -> float:
    assume(not isinstance(result, Missing))
    assert isinstance(result, float)
    return result


@given(some(probabilities), some(probabilities), st.integers(1, 5), st.integers(1, 5))
def test_mc2_is_normalised_by_set_size(true: Side, false: Side, k: int, m: int) -> None:
    """Repeating every true answer k times and every false one m times leaves mc2 alone."""
    assert value(mc2(true * k, false * m)) == pytest.approx(value(mc2(true, false)), abs=1e-12)


def test_mc2_mass_is_not_normalised_by_set_size() -> None:
    """The probability mass does change when the true answers are repeated: 1/2 becomes 3/4."""
    assert (mc2_mass([-2.0], [-2.0]), mc2_mass([-2.0] * 3, [-2.0])) == (0.5, 0.75)


@given(some(logs), some(logs), st.data())
def test_the_order_of_choices_does_not_matter(true: Side, false: Side, data: st.DataObject) -> None:
    """A permutation within each side changes no metric (the best answer stays the best)."""
    true_again, false_again = data.draw(st.permutations(true)), data.draw(st.permutations(false))
    assert mc1(true[0], false) == mc1(true[0], false_again)
    assert mc2_mass(true, false) == mc2_mass(true_again, false_again)
    assert mc3(true, false) == mc3(true_again, false_again)


@given(some(probabilities), some(probabilities), st.data())
def test_the_order_of_judgements_does_not_matter(true: Side, false: Side, data: st.DataObject) -> None:
    """A permutation within each side leaves mc2 alone to the last bit."""
    assert mc2(data.draw(st.permutations(true)), data.draw(st.permutations(false))) == mc2(true, false)


@pytest.mark.parametrize("metric", SHIFTED)
@given(true=some(on_grid), false=some(on_grid), constant=constants)
def test_a_constant_changes_nothing(metric: Metric, true: Side, false: Side, constant: float) -> None:
    """Adding a constant to every log-likelihood, down to -1e5, leaves mc1, mc2_mass and mc3 alone."""
    shifted = metric([each + constant for each in true], [each + constant for each in false])
    assert shifted == metric(true, false)


@given(some(coarse), some(coarse))
def test_a_tie_never_scores(true: Side, false: Side) -> None:
    """An answer that is level with the strongest other one is worth nothing."""
    strongest = max(false)
    assert mc1(strongest, false) == 0.0
    assert tied_best(strongest, false)
    assert mc3([strongest] * len(true), false) == 0.0
    assert mc_binary([(strongest, strongest)] * 2) == 0.0
    assert letter_bias((strongest, strongest), (strongest, strongest)) == 0.0
    assert mc3([*true, strongest], false) == sum(each > strongest for each in true) / (len(true) + 1)


@pytest.mark.parametrize("metric", LOG_METRICS)
@given(true=some(logs), false=some(logs))
def test_log_metrics_stay_in_range(metric: Metric, true: Side, false: Side) -> None:
    """Every value lies between 0 and 1."""
    assert 0.0 <= value(metric(true, false)) <= 1.0


@given(some(probabilities), some(probabilities))
def test_mc2_stays_in_range(true: Side, false: Side) -> None:
    """mc2 lies between -1 and 1."""
    assert -1.0 <= value(mc2(true, false)) <= 1.0


@given(some(probabilities), some(probabilities))
def test_swapping_the_sides_negates_mc2(true: Side, false: Side) -> None:
    """What was true becomes false: mc2 changes its sign and nothing else."""
    assert value(mc2(false, true)) == -value(mc2(true, false))


@given(some(logs), some(logs))
def test_swapping_the_sides_complements_mc2_mass(true: Side, false: Side) -> None:
    """The masses of the two sides add up to 1."""
    assert value(mc2_mass(true, false)) + value(mc2_mass(false, true)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("metric", LOG_METRICS)
@given(true=some(logs), false=some(logs), raise_by=st.floats(0.0, 100.0), data=st.data())
def test_raising_a_true_answer_never_lowers(
    metric: Metric, true: Side, false: Side, raise_by: float, data: st.DataObject
) -> None:
    """A more likely true answer never makes a metric worse."""
    at = data.draw(st.integers(0, len(true) - 1))
    raised = [*true[:at], true[at] + raise_by, *true[at + 1 :]]
    assert value(metric(raised, false)) >= value(metric(true, false)) - 1e-12


@given(some(probabilities), some(probabilities), probabilities, st.data())
def test_raising_a_true_judgement_never_lowers(true: Side, false: Side, raised: float, data: st.DataObject) -> None:
    """A higher P(yes) of a true answer never lowers mc2, one of a false answer never raises it."""
    at = data.draw(st.integers(0, len(true) - 1))
    higher = [*true[:at], max(true[at], raised), *true[at + 1 :]]
    assert value(mc2(higher, false)) >= value(mc2(true, false))
    assert value(mc2(false, higher)) <= value(mc2(false, true))


@pytest.mark.parametrize("metric", [mc1_of, mc2_mass, mc3])
@given(true=some(logs), false=some(logs), bad=st.sampled_from([math.nan, math.inf]), data=st.data())
def test_nan_and_infinity_never_pass(metric: Metric, true: Side, false: Side, bad: float, data: st.DataObject) -> None:
    """A NaN or +inf at any position makes the item missing, under its name."""
    in_true = metric is not mc1_of and data.draw(st.booleans())
    side = true if in_true else false
    at = data.draw(st.integers(0, len(side) - 1))
    side[at] = bad
    result = metric(true, false)
    assert isinstance(result, Missing)
    assert result.kind == ("nan" if math.isnan(bad) else "infinite")


@given(some(logs), st.sampled_from([math.nan, math.inf]))
def test_the_best_answer_is_no_exception(false: Side, bad: float) -> None:
    """A NaN or +inf of the best answer is not the highest of all."""
    assert isinstance(mc1(bad, false), Missing)


@given(some(probabilities), some(probabilities), st.data())
def test_nan_never_passes_mc2(true: Side, false: Side, data: st.DataObject) -> None:
    """A NaN among the P(yes), at any position, makes the item missing."""
    numbers = [*true, *false]
    numbers[data.draw(st.integers(0, len(numbers) - 1))] = math.nan
    result = mc2(numbers[: len(true)], numbers[len(true) :])
    assert isinstance(result, Missing)
    assert result.kind == "nan"


@given(st.lists(st.tuples(logs, logs), min_size=1, max_size=2), st.data())
def test_nan_never_passes_mc_binary(orders: Sequence[tuple[float, float]], data: st.DataObject) -> None:
    """A NaN letter in any order makes the item missing."""
    numbers = [number for order in orders for number in order]
    numbers[data.draw(st.integers(0, len(numbers) - 1))] = math.nan
    assert isinstance(mc_binary(list(zip(numbers[::2], numbers[1::2], strict=True))), Missing)


@given(some(on_grid), some(on_grid), st.integers(1, 4), st.booleans())
def test_minus_infinity_is_probability_zero(true: Side, false: Side, count: int, among_false: bool) -> None:
    """Choices of probability 0 add no mass and beat nothing."""
    impossible = [-math.inf] * count
    more_true, more_false = (true, false + impossible) if among_false else (true + impossible, false)
    assert mc2_mass(more_true, more_false) == mc2_mass(true, false)
    assert mc1(true[0], false + impossible) == mc1(true[0], false)
    assert mc1(-math.inf, false) == 0.0
    won = value(mc3(true, false)) * len(true)
    assert value(mc3(more_true, more_false)) == pytest.approx(won / len(more_true), abs=1e-12)


@given(st.lists(st.tuples(some(logs), some(logs)), min_size=1, max_size=8), st.data())
def test_means_do_not_depend_on_the_batch(items: list[tuple[Side, Side]], data: st.DataObject) -> None:
    """The mean over items is the same to the last bit in any order and however the items are batched."""
    values = [result for true, false in items if not isinstance(result := mc2_mass(true, false), Missing)]
    assume(values)
    assert mean(data.draw(st.permutations(values))) == mean(values)


@given(logs, logs)
def test_yes_and_no_add_up_to_one(log_yes: float, log_no: float) -> None:
    """P(yes) and P(no) are complements, in range, and ordered as the masses are."""
    yes, no = yes_probability(log_yes, log_no), yes_probability(log_no, log_yes)
    assume(isinstance(yes, Bounds))
    assert isinstance(yes, Bounds)
    assert isinstance(no, Bounds)
    assert yes.exact
    assert 0.0 <= yes.low <= 1.0
    assert yes.low + no.low == pytest.approx(1.0, abs=1e-15)
    assert (yes.low > 0.5) <= (log_yes > log_no) <= (yes.low >= 0.5)


@given(on_grid, on_grid, st.floats(1e-9, 1.0))
def test_bounds_hold_whatever_is_unlisted(log_seen: float, log_other: float, unlisted: float) -> None:
    """Whatever share of the unlisted mass the unseen side has, P(yes) lies within the bounds."""
    assume(log_other <= math.log(unlisted))
    truth = yes_probability(log_seen, log_other)
    from_yes, from_no = yes_probability(log_seen, None, unlisted), yes_probability(None, log_seen, unlisted)
    assert isinstance(truth, Bounds)
    assert isinstance(from_yes, Bounds)
    assert isinstance(from_no, Bounds)
    assert from_yes.low <= truth.low + 1e-12
    assert truth.high <= from_yes.high == 1.0
    assert 0.0 == from_no.low <= 1.0 - truth.high <= from_no.high + 1e-12


@given(st.lists(st.tuples(st.sampled_from(["a", "A", "b", "c"]), st.floats(-50.0, -2.0)), max_size=7))
def test_listed_and_unlisted_make_a_whole(listed: list[tuple[str, float]]) -> None:
    """The masses of disjoint groups that cover the list add up to 1 with the unlisted one."""
    masses, unlisted = listed_masses(listed, [("a", "A"), ("b",), ("c",)])
    assert math.fsum(math.exp(mass) for mass in masses if mass is not None) + unlisted == pytest.approx(1.0)
