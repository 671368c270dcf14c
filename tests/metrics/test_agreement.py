"""Agreement of a judge with labels, from counts that a person can follow."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import truthguard.metrics.agreement as module
from truthguard.metrics.agreement import Confusion, Share, accuracy, kappa, sensitivity, specificity
from truthguard.metrics.statistics import wilson
from truthguard.records import Missing

counts_of_items = st.integers(0, 500)
tables = st.builds(Confusion, counts_of_items, counts_of_items, counts_of_items, counts_of_items)
Measure = Callable[[Confusion, float], Share | Missing]
SHARES: list[Measure] = [accuracy, sensitivity, specificity]


def share(value: Share | Missing) -> Share:
    assert isinstance(value, Share)
    return value


def number(value: float | Missing) -> float:
    assert isinstance(value, float)
    return value


def missing(value: object) -> Missing:
    assert isinstance(value, Missing)
    return value


def test_examples_hold() -> None:
    """Every example of the module's docstrings runs and prints what it says."""
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


class TestConfusion:
    def test_counted_by_hand(self) -> None:
        """Each of the four kinds of pair, label before verdict, is counted in its own cell."""
        pairs = [(True, True)] * 4 + [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)]
        counts = Confusion.of(pairs)
        assert counts == Confusion(true_positive=4, false_positive=3, false_negative=2, true_negative=1)
        assert (counts.n, counts.positives, counts.negatives) == (10, 6, 4)

    def test_nothing(self) -> None:
        """No pairs are four zeros."""
        assert Confusion.of([]) == Confusion(0, 0, 0, 0)

    @pytest.mark.parametrize("place", range(4))
    def test_negative_count(self, place: int) -> None:
        """A negative count is refused, in whichever cell."""
        cells = [1, 1, 1, 1]
        cells[place] = -1
        with pytest.raises(ValueError, match="cannot be negative"):
            Confusion(*cells)

    @given(st.lists(st.tuples(st.booleans(), st.booleans())))
    def test_order(self, pairs: list[tuple[bool, bool]]) -> None:
        """Every pair is counted once, in whatever order they come."""
        counts = Confusion.of(pairs)
        assert counts == Confusion.of(sorted(pairs))
        assert counts.n == len(pairs)


class TestShares:
    def test_counted_by_hand(self) -> None:
        """40 of 50 labelled yes found, 30 of 50 labelled no: 0.8, 0.6 and 70 of 100."""
        counts = Confusion(true_positive=40, false_positive=20, false_negative=10, true_negative=30)
        assert accuracy(counts, 0.95) == Share(0.7, 100, wilson(70, 100, 0.95))
        assert sensitivity(counts, 0.95) == Share(0.8, 50, wilson(40, 50, 0.95))
        assert specificity(counts, 0.95) == Share(0.6, 50, wilson(30, 50, 0.95))

    def test_confidence(self) -> None:
        """The interval is that of the confidence asked for."""
        assert share(accuracy(Confusion(5, 5, 0, 0), 0.9)).interval == wilson(5, 10, 0.9)

    @pytest.mark.parametrize("measure", SHARES)
    def test_no_confidence(self, measure: Measure) -> None:
        """A confidence of 95, meant as per cent, is refused."""
        with pytest.raises(ValueError, match="confidence"):
            measure(Confusion(1, 1, 1, 1), 95.0)

    def test_labels_of_one_kind(self) -> None:
        """Without an item labelled yes there is no sensitivity, without one labelled no no specificity."""
        assert missing(sensitivity(Confusion(0, 3, 0, 7), 0.95)).detail == "there are no items labelled yes"
        assert missing(specificity(Confusion(3, 0, 7, 0), 0.95)).detail == "there are no items labelled no"
        assert share(accuracy(Confusion(0, 3, 0, 7), 0.95)).estimate == 0.7

    @pytest.mark.parametrize("measure", SHARES)
    def test_no_items(self, measure: Measure) -> None:
        """Of no items there is no share."""
        assert missing(measure(Confusion(0, 0, 0, 0), 0.95)).kind == "no_items"

    @given(tables)
    def test_accuracy_is_made_of_the_two(self, counts: Confusion) -> None:
        """Accuracy is sensitivity and specificity weighted by the labels."""
        assume(counts.positives and counts.negatives)
        found, rejected = share(sensitivity(counts, 0.95)), share(specificity(counts, 0.95))
        expected = (found.estimate * found.n + rejected.estimate * rejected.n) / counts.n
        assert share(accuracy(counts, 0.95)).estimate == pytest.approx(expected, abs=1e-12)


class TestKappa:
    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            (Confusion(20, 5, 10, 15), 0.4),
            (Confusion(45, 15, 25, 15), 3 / 23),
            (Confusion(25, 35, 5, 35), 7 / 27),
            (Confusion(5, 0, 0, 5), 1.0),
            (Confusion(0, 5, 5, 0), -1.0),
            (Confusion(25, 25, 25, 25), 0.0),
        ],
    )
    def test_worked_by_hand(self, counts: Confusion, expected: float) -> None:
        """Textbook tables: the second and third have the same accuracy of 0.6, and not the same kappa."""
        assert number(kappa(counts)) == pytest.approx(expected, abs=1e-15)

    def test_always_the_same_verdict(self) -> None:
        """A judge that says yes to everything is right on nine of ten, and agrees no more than chance."""
        counts = Confusion(true_positive=9, false_positive=1, false_negative=0, true_negative=0)
        assert share(accuracy(counts, 0.95)).estimate == 0.9
        assert kappa(counts) == 0.0

    def test_nothing_but_yes(self) -> None:
        """Where judge and labels say one and the same to everything kappa is undefined, not 1."""
        assert missing(kappa(Confusion(7, 0, 0, 0))).kind == "constant"
        assert "say no to every item" in missing(kappa(Confusion(0, 0, 0, 7))).detail

    def test_no_items(self) -> None:
        """Of no items there is no kappa."""
        assert missing(kappa(Confusion(0, 0, 0, 0))).kind == "no_items"

    @given(tables)
    def test_the_published_formula(self, counts: Confusion) -> None:
        """Kappa is (a - c) / (1 - c) in exact fractions, rounded once; undefined exactly where c is 1."""
        assume(counts.n)
        said_yes = counts.true_positive + counts.false_positive
        agreed = Fraction(counts.true_positive + counts.true_negative, counts.n)
        by_yes = counts.positives * said_yes
        by_no = counts.negatives * (counts.n - said_yes)
        by_chance = Fraction(by_yes + by_no, counts.n**2)
        if by_chance == 1:
            assert missing(kappa(counts)).kind == "constant"
        else:
            assert kappa(counts) == float((agreed - by_chance) / (1 - by_chance))

    @given(tables)
    def test_judge_and_label_trade_places(self, counts: Confusion) -> None:
        """Kappa does not care which of the two is called the label."""
        other = Confusion(counts.true_positive, counts.false_negative, counts.false_positive, counts.true_negative)
        assert kappa(other) == kappa(counts)


@given(tables)
def test_yes_and_no_trade_places(counts: Confusion) -> None:
    """With yes and no renamed sensitivity and specificity trade places; accuracy and kappa stay."""
    other = Confusion(counts.true_negative, counts.false_negative, counts.false_positive, counts.true_positive)
    assert accuracy(other, 0.95) == accuracy(counts, 0.95)
    if counts.positives and counts.negatives:
        assert sensitivity(other, 0.95) == specificity(counts, 0.95)
        assert kappa(other) == kappa(counts)


@given(tables, st.integers(2, 50))
def test_more_of_the_same(counts: Confusion, times: int) -> None:
    """Many copies of every item change no estimate, and narrow the interval."""
    assume(counts.positives and counts.negatives)
    cells = (counts.true_positive, counts.false_positive, counts.false_negative, counts.true_negative)
    more = Confusion(*(times * cell for cell in cells))
    assert kappa(more) == kappa(counts)
    for measure in SHARES:
        few, many = share(measure(counts, 0.95)), share(measure(more, 0.95))
        assert many.estimate == few.estimate
        assert many.interval.high - many.interval.low < few.interval.high - few.interval.low


@given(tables)
def test_perfect_agreement(counts: Confusion) -> None:
    """Kappa is 1 exactly where accuracy is; it is never above accuracy and never below -1."""
    value = kappa(counts)
    if isinstance(value, Missing):
        return
    agreed = share(accuracy(counts, 0.95)).estimate
    assert (value == 1.0) is (agreed == 1.0)
    assert -1.0 <= value <= agreed + 1e-12
