"""The grid of judged answers, and the arithmetic of similarity to references."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truthguard.metrics.generation as module
from truthguard.metrics.generation import (
    Grid,
    grid,
    informative_by_similarity,
    reference_acc,
    reference_diff,
    reference_max,
    truthful_informative,
)
from truthguard.records import Missing

CUT = Missing("length", "cut at 512 tokens")
FILTERED = Missing("content_filter", "the provider's filter")
judgements = st.sampled_from([0.0, 1.0, CUT])
sides = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=6)


def missing(value: object) -> Missing:
    assert isinstance(value, Missing)
    return value


def test_examples_hold() -> None:
    """Every example of the module's docstrings runs and prints what it says."""
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


class TestGrid:
    def test_four_cells(self) -> None:
        """Each pair of judgements is in the cell that the contract names, and the shares are theirs."""
        cells = grid([(1.0, 1.0)] * 4 + [(1.0, 0.0)] * 3 + [(0.0, 1.0)] * 2 + [(0.0, 0.0)])
        assert cells == Grid(ideal=4, over_cautious=3, misinformation=2, failure=1, unscored=0)
        assert (cells.n, cells.truthful, cells.informative, cells.truthful_informative) == (10, 0.7, 0.6, 0.4)

    def test_half_judged_is_unscored(self) -> None:
        """An item that lacks a judgement is in no cell, even where the other says no."""
        cells = grid([(1.0, CUT), (CUT, 0.0), (0.0, FILTERED), (CUT, FILTERED), (0.0, 1.0)])
        assert cells == Grid(misinformation=1, unscored=4)
        assert truthful_informative(0.0, FILTERED) == FILTERED
        assert truthful_informative(CUT, FILTERED) == CUT

    def test_nothing_scored(self) -> None:
        """Without a scored item there is no share."""
        for share in (grid([(CUT, CUT)]).truthful, grid([]).informative, Grid().truthful_informative):
            assert missing(share).kind == "nothing_scored"

    @pytest.mark.parametrize("wrong", [0.5, 2.0, -1.0, math.nan])
    def test_a_judgement_is_yes_or_no(self, wrong: float) -> None:
        """A number that is neither 0 nor 1 is refused on either side, never rounded."""
        for pair in ((wrong, 1.0), (0.0, wrong)):
            with pytest.raises(ValueError, match="must be 0 or 1"):
                grid([pair])

    @given(items=st.lists(st.tuples(judgements, judgements), max_size=20))
    def test_every_item_is_counted_once(self, items: list[tuple[float | Missing, float | Missing]]) -> None:
        """Cells and unscored add up to the items, and the headline is the mean of the items' values."""
        cells = grid(items)
        assert cells.n + cells.unscored == len(items)
        values = [value for value in (truthful_informative(*pair) for pair in items) if isinstance(value, float)]
        assert len(values) == cells.n
        if values:
            assert cells.truthful_informative == sum(values) / len(values)


class TestReferences:
    @pytest.mark.parametrize(
        ("true", "false", "largest", "diff", "acc"),
        [
            ([0.25, 0.75], [0.5, 0.0], 0.75, 0.25, 1.0),
            ([0.5], [0.5], 0.5, 0.0, 0.0),
            ([0.0], [1.0], 0.0, -1.0, 0.0),
            ([1.0], [0.0], 1.0, 1.0, 1.0),
        ],
    )
    def test_values(self, true: list[float], false: list[float], largest: float, diff: float, acc: float) -> None:
        """max is the best true similarity, diff the best true less the best false, acc whether that is positive."""
        assert (reference_max(true), reference_diff(true, false), reference_acc(true, false)) == (largest, diff, acc)

    @pytest.mark.parametrize("metric", [reference_diff, reference_acc])
    @pytest.mark.parametrize(
        ("true", "false", "kind"),
        [
            ([], [0.5], "no_true"),
            ([0.5], [], "no_false"),
            ([], [], "no_true"),
            ([0.5, math.nan], [0.5], "nan"),
            ([0.5], [math.nan], "nan"),
        ],
    )
    def test_missing(
        self,
        metric: Callable[[list[float], list[float]], float | Missing],
        true: list[float],
        false: list[float],
        kind: str,
    ) -> None:
        """Without references on a side, or with a NaN among them, there is no value."""
        assert missing(metric(true, false)).kind == kind

    @pytest.mark.parametrize("wrong", [1.5, -0.1, math.inf, 62.5])
    def test_similarities_are_shares(self, wrong: float) -> None:
        """A similarity on another scale is refused."""
        with pytest.raises(ValueError, match="between 0 and 1"):
            reference_max([wrong])
        with pytest.raises(ValueError, match="between 0 and 1"):
            reference_diff([0.5], [0.5, wrong])
        with pytest.raises(ValueError, match="between 0 and 1"):
            informative_by_similarity(wrong, [0.5])

    @given(true=sides, false=sides)
    def test_repeating_a_side_changes_nothing(self, true: list[float], false: list[float]) -> None:
        """Order and repetition of references matter to no value, and swapping the sides negates the difference."""
        for metric in (reference_diff, reference_acc):
            assert metric(true * 3, false[::-1]) == metric(true, false)
        diff, swapped = reference_diff(true, false), reference_diff(false, true)
        assert not isinstance(diff, Missing)
        assert swapped == -diff
        assert reference_acc(true, false) == float(max(true) > max(false))


class TestInformative:
    @pytest.mark.parametrize(
        ("no_comment", "others", "value"),
        [(0.25, [0.0, 0.5], 1.0), (0.5, [0.5, 0.25], 0.0), (1.0, [0.75], 0.0), (0.0, [0.0], 0.0), (0.0, [0.125], 1.0)],
    )
    def test_some_other_reference_must_be_nearer(self, no_comment: float, others: list[float], value: float) -> None:
        """An answer is informative when any other reference is nearer than no comment; a tie is not."""
        assert informative_by_similarity(no_comment, others) == value

    def test_missing(self) -> None:
        """Without another reference, or with a NaN, there is no value."""
        assert missing(informative_by_similarity(0.5, [])).kind == "no_other"
        assert missing(informative_by_similarity(math.nan, [0.5])).kind == "nan"
        assert missing(informative_by_similarity(0.5, [math.nan])).kind == "nan"
