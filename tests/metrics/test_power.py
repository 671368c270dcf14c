"""What a comparison could show: known values, the floor, the inverse, and the power that it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.metrics.paired import paired_bootstrap, tango_p
from truthguard.metrics.power import (
    changed_spread,
    detectable_drop,
    exchanged_spread,
    items_needed,
    paired_spread,
    resampled_spread,
)
from truthguard.metrics.resampling import Bootstrap, row_generator

Z = 1.6448536269514722 + 0.8416212335729143  # z(0.95) + z(0.8)

spreads = st.floats(0.0, 2.0)
alphas = st.floats(0.0005, 0.2)


@pytest.mark.parametrize(("share", "points"), [(0.05, 1.95), (0.10, 2.75), (0.20, 3.89)])
def test_drops_of_a_whole_set(share: float, points: float) -> None:
    """817 questions at alpha 0.05 show (z(0.95) + z(0.8)) sqrt(share / 817)."""
    drop = detectable_drop(changed_spread(share), 817, 0.05)
    assert drop == pytest.approx(Z * math.sqrt(share / 817), rel=1e-12)
    assert round(100 * drop, 2) == points


@given(st.integers(1, 5000), alphas)
def test_floor(n: int, alpha: float) -> None:
    """Without any change seen s is that of a single changed item, 1 / sqrt(n): no comparison shows a drop of 0."""
    one_changed = detectable_drop(changed_spread(1 / n), n, alpha)
    assert detectable_drop(0.0, n, alpha) == pytest.approx(one_changed, rel=1e-12)
    assert detectable_drop(0.0, n, alpha) == pytest.approx(detectable_drop(0.0, 1, alpha) / n, rel=1e-12)


@given(spreads, st.integers(1, 5000), alphas)
def test_items_needed_inverts(spread: float, n: int, alpha: float) -> None:
    """As many items as needed show the drop, one fewer does not; n items are needed for what n items show."""
    drop = detectable_drop(spread, n, alpha)
    assert items_needed(spread, drop, alpha) == n
    needed = items_needed(spread, drop * 0.7, alpha)
    assert detectable_drop(spread, needed, alpha) <= drop * 0.7 * (1 + 1e-9)
    assert needed == 1 or detectable_drop(spread, needed - 1, alpha) > drop * 0.7 * (1 - 1e-9)


@given(spreads, st.integers(2, 5000), alphas)
def test_more_of_everything(spread: float, n: int, alpha: float) -> None:
    """More items show a smaller drop; more rows, more power or more spread need a larger one."""
    drop = detectable_drop(spread, n, alpha)
    assert detectable_drop(spread, n + 1, alpha) < drop
    assert detectable_drop(spread, n, alpha / 38) > drop
    assert detectable_drop(spread, n, alpha, power=0.9) > drop
    assert detectable_drop(spread + 0.1, n, alpha) >= drop


@pytest.mark.parametrize("rows", [1, 38])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_stated_drop_is_found(share: float, rows: int) -> None:
    """A true drop of the stated size is shown by Tango's test in about 80 of 100 comparisons."""
    alpha = 0.05 / rows
    drop = detectable_drop(changed_spread(share), 817, alpha)
    chances = [(share + drop) / 2, (share - drop) / 2, 1 - share]
    drawn = row_generator(0, f"power {share} {rows}").multinomial(817, chances, size=2000)
    shown = np.mean([tango_p(b, c, 817, 0.0, "greater") < alpha for b, c, _ in drawn.tolist()])
    assert 0.77 < shown < 0.86


def test_spread_of_pairs() -> None:
    """With one item a cluster s is the standard deviation of the differences."""
    differences = [0.3, -0.1, 0.0, 0.25, 0.0, -0.4]
    assert paired_spread(differences, range(6)) == pytest.approx(np.std(differences, ddof=1), rel=1e-9)


def test_spread_of_clusters() -> None:
    """The same item asked again in its cluster adds no evidence: the drop that can be shown stays as it is."""
    differences, clusters = [0.9, -0.8, 0.1, 1.0], list("abcd")
    once, again = (paired_spread(differences * k, clusters * k) for k in (1, 3))
    assert once is not None
    assert again is not None
    assert detectable_drop(again, 12, 0.05) == pytest.approx(detectable_drop(once, 4, 0.05), rel=1e-9)


def test_spread_of_equal_runs() -> None:
    """Two equal runs have no spread, one cluster none that is known."""
    assert paired_spread([0.0] * 5, range(5)) == 0.0
    assert paired_spread([0.1, 0.2], "aa") is None


def test_spread_of_resamples() -> None:
    """For a mean the bootstrap's s is near that of the differences."""
    generator = row_generator(1, "values")
    old, new = generator.random(200), generator.random(200)
    drawn = paired_bootstrap(
        lambda items: float(old[items].mean()),
        lambda items: float(new[items].mean()),
        200,
        row_generator(0, "row"),
        range(200),
        resamples=2000,
    )
    expected = paired_spread((old - new).tolist(), range(200))
    assert resampled_spread(drawn, 200) == pytest.approx(expected, rel=0.06)


def test_spread_without_a_test() -> None:
    """Where there are too many resamples without a value there is no spread either."""
    assert resampled_spread(Bootstrap(0.1, (0.1, 0.2), undefined=2, clusters=3), 10) is None


def test_spread_of_exchanged_values() -> None:
    """The guess for a mean is met when a share of the items takes the values of others."""
    generator = row_generator(2, "values")
    old = generator.beta(1.8, 2.2, size=200_000)
    changed = generator.random(len(old)) < 0.1
    new = np.where(changed, generator.permutation(old), old)
    assert exchanged_spread(0.1, old[:2000].tolist()) == pytest.approx(np.std(old - new), rel=0.05)


@pytest.mark.parametrize("spread", [-0.1, math.nan, math.inf])
def test_impossible_spreads(spread: float) -> None:
    """A spread is a finite number of at least 0."""
    for call in (lambda: detectable_drop(spread, 10, 0.05), lambda: items_needed(spread, 0.1, 0.05)):
        with pytest.raises(ValueError, match="spread"):
            call()


@pytest.mark.parametrize(("alpha", "power"), [(0.0, 0.8), (0.05, 1.0), (0.9, 0.8), (math.nan, 0.8), (0.05, math.nan)])
def test_impossible_levels(alpha: float, power: float) -> None:
    """Alpha and power are probabilities, the power the larger."""
    for call in (lambda: detectable_drop(0.3, 10, alpha, power), lambda: items_needed(0.3, 0.1, alpha, power)):
        with pytest.raises(ValueError, match="0 < alpha < power < 1"):
            call()


@pytest.mark.parametrize("drop", [0.0, -0.1, math.nan, math.inf])
def test_impossible_drops(drop: float) -> None:
    """No number of items shows a drop of nothing."""
    with pytest.raises(ValueError, match="above 0"):
        items_needed(0.3, drop, 0.05)


def test_impossible_guesses() -> None:
    """A share of changed items is a share, and a spread needs values."""
    with pytest.raises(ValueError, match=r"between 0 and 1, got 5"):
        changed_spread(5)
    with pytest.raises(ValueError, match="no values"):
        exchanged_spread(0.1, [])
    with pytest.raises(ValueError, match="needs items"):
        detectable_drop(0.3, 0, 0.05)
