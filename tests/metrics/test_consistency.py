"""Ordinal alpha on published and on counted examples, and against its definition by brute force."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.metrics.consistency import on_resamples, ordinal_alpha
from truthguard.records import Missing

units = st.lists(st.lists(st.integers(1, 5), max_size=4), max_size=12)
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units.
OBSERVERS = ("1233 2141 2...", "1233 2241 25.3", ".333 2342 251.", "1233 2441 251.")


def published() -> list[list[float]]:
    columns = zip(*(row.replace(" ", "") for row in OBSERVERS), strict=True)
    return [[float(value) for value in column if value != "."] for column in columns]


def by_definition(items: list[list[float]]) -> float:
    """From all pairs of values: weights of the pairs within items, distances by counting what lies between."""
    pairable = [item for item in items if len(item) > 1]
    values = [value for item in pairable for value in item]

    def squared(c: float, k: float) -> float:
        low, high = min(c, k), max(c, k)
        between = sum(low <= value <= high for value in values)
        return (between - (values.count(c) + values.count(k)) / 2) ** 2 if c != k else 0.0

    observed = sum(squared(c, k) / (len(item) - 1) for item in pairable for c, k in permutations(item, 2))
    expected = sum(squared(c, k) for c, k in permutations(values, 2))
    return 1 - (len(values) - 1) * observed / expected


def test_the_published_example() -> None:
    """Krippendorff's four observers and twelve units, one of them seen by one observer: 0.815."""
    items = published()
    assert [len(item) for item in items] == [3, 4, 4, 4, 4, 4, 4, 4, 4, 3, 2, 1]
    assert ordinal_alpha(items) == pytest.approx(0.815, abs=5e-4)
    assert ordinal_alpha(items) == pytest.approx(by_definition(items), abs=1e-14)


@given(units)
def test_the_definition(items: list[list[float]]) -> None:
    """On any values alpha is what the definition gives; missing where nothing differs or nothing can be paired."""
    seen = {value for item in items if len(item) > 1 for value in item}
    alpha = ordinal_alpha(items)
    if len(seen) < 2:
        assert isinstance(alpha, Missing)
        assert alpha.kind == ("constant" if seen else "too_few")
    else:
        assert alpha == pytest.approx(by_definition(items), abs=1e-12)
        assert -1.0 <= alpha <= 1.0  # type: ignore[operator]


@given(units, st.data())
def test_no_order(items: list[list[float]], data: st.DataObject) -> None:
    """Neither the order of the items nor that of their values matters, nor any item with fewer than two."""
    mixed = [data.draw(st.permutations(item)) for item in data.draw(st.permutations(items))]
    plain, other = ordinal_alpha(items), ordinal_alpha([*mixed, [], [3]])
    if isinstance(plain, Missing):
        assert isinstance(other, Missing)
        assert other.kind == plain.kind
    else:
        assert other == pytest.approx(plain, abs=1e-12)


@given(units)
def test_monotone_maps(items: list[list[float]]) -> None:
    """Only the order of the values counts: another scale, or one turned round, changes nothing."""
    plain = ordinal_alpha(items)
    for scale in (lambda value: math.exp(value) + 7, lambda value: -3 * value):
        other = ordinal_alpha([[scale(value) for value in item] for item in items])
        if isinstance(plain, Missing):
            assert isinstance(other, Missing)
        else:
            assert other == pytest.approx(plain, abs=1e-12)


def test_agreement_is_one() -> None:
    """Runs that agree on every item are 1, whatever else was given."""
    assert ordinal_alpha([[1, 1, 1], [4, 4], [5]]) == 1.0


def test_reasons() -> None:
    """One run, or one grade throughout, has no alpha: not 0, and not 1."""
    assert ordinal_alpha([[3], [4], []]) == Missing("too_few", "none of 3 items has two readable grades to compare")
    assert ordinal_alpha([[5, 5], [5, 5, 5], [4]]) == Missing(
        "constant", "the judge gave 5 to all 2 items in every run"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_hostile_values(value: float) -> None:
    """What is no number is an error."""
    with pytest.raises(ValueError, match="finite values only"):
        ordinal_alpha([[1, value], [2, 2]])


def test_on_resamples() -> None:
    """On drawn items, repeats included, alpha is that of these items, with their own distances."""
    items: list[list[float]] = [[1, 2], [3, 3, 4], [5], [2, 2], [5, 4]]
    value, generator, missing = on_resamples(items), np.random.default_rng(0), 0
    for _ in range(200):
        drawn = generator.integers(5, size=generator.integers(1, 6))
        expected = ordinal_alpha([items[place] for place in drawn])
        found = value(drawn)
        missing += found is None
        assert found == (None if isinstance(expected, Missing) else pytest.approx(expected, abs=1e-12))
    assert 0 < missing < 200
