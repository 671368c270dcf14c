"""Correctness from the kinds of a response's samples, and whose explanation is shown."""

from __future__ import annotations

import doctest
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truthguard.metrics.correctness as module
from truthguard.metrics.correctness import KINDS, correctness, count_kinds, representatives
from truthguard.records import Missing, VerdictKind


@dataclass(frozen=True)
class Sample:
    kind: VerdictKind
    explanation: str = ""


def missing(value: object) -> Missing:
    assert isinstance(value, Missing)
    return value


def shown(*samples: Sample) -> list[str]:
    found = representatives(samples)
    assert not isinstance(found, Missing)
    return [sample.explanation for sample in found]


def test_examples_hold() -> None:
    """Every example of the module's docstrings runs and prints what it says."""
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


class TestCorrectness:
    def test_the_share_of_yes(self) -> None:
        """C11: yes, no, yes, yes, no is 3/5."""
        assert correctness(["yes", "no", "yes", "yes", "no"]) == 0.6

    def test_other_kinds_are_no_no(self) -> None:
        """C09: an unreadable sample among five leaves 3/4."""
        assert correctness(["yes", "no", "length", "yes", "yes"]) == 0.75

    def test_fewer_verdicts_than_asked_for(self) -> None:
        """C12: two readable samples of five, or none, are no number."""
        two = missing(correctness(["no", "yes", "failed", "failed", "failed"]))
        assert two.kind == "too_few_verdicts"
        assert two.detail == "2 of 5 samples are readable, at least 3 must be: 1 yes, 1 no, 3 failed"
        none = missing(correctness(["unparsed"] * 5))
        assert none.detail == "0 of 5 samples are readable, at least 3 must be: 5 unparsed"

    def test_replies_without_content(self) -> None:
        """C13: one readable sample of four is no number."""
        assert missing(correctness(["length", "content_filter", "yes", "length"])).kind == "too_few_verdicts"

    @pytest.mark.parametrize(("n", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 4), (9, 5)])
    def test_half_must_be_readable(self, n: int, needed: int) -> None:
        """Exactly ceil(n / 2) readable samples are enough, one fewer is not."""
        readable: list[VerdictKind] = ["yes"] * needed
        others: list[VerdictKind] = ["unsure"] * (n - needed)
        assert correctness(readable + others) == 1.0
        assert isinstance(correctness(readable[1:] + others + ["failed"]), Missing)

    def test_no_sample_is_a_mistake(self) -> None:
        """No sample at all is the caller's mistake."""
        with pytest.raises(ValueError, match="at least one sample"):
            correctness([])

    @given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=12))
    def test_yes_against_no(self, kinds: list[VerdictKind]) -> None:
        """The value is yes / (yes + no) whatever else there is, and there is one iff half are readable."""
        yes, no = kinds.count("yes"), kinds.count("no")
        value = correctness(kinds)
        if yes + no >= math.ceil(len(kinds) / 2):
            assert value == yes / (yes + no)
        else:
            assert isinstance(value, Missing)


class TestCounts:
    @given(kinds=st.lists(st.sampled_from(KINDS), max_size=12))
    def test_every_sample_is_counted(self, kinds: list[VerdictKind]) -> None:
        """The counts add up to the samples, and a kind that does not occur has none."""
        counts = count_kinds(kinds)
        assert sum(counts.values()) == len(kinds)
        assert all(counts.values())
        assert list(counts) == [kind for kind in KINDS if kind in kinds]

    def test_an_unknown_kind_is_refused(self) -> None:
        """A kind that nobody counts is refused with the nearest known one."""
        with pytest.raises(ValueError, match="unknown kind of verdict 'Yes'; did you mean 'yes'"):
            count_kinds(["Yes"])  # type: ignore[list-item]


class TestRepresentatives:
    def test_the_majority_speaks(self) -> None:
        """The explanation shown is the first of the majority."""
        assert shown(Sample("no", "a"), Sample("yes", "b"), Sample("yes", "c")) == ["b"]
        assert shown(Sample("yes", "a"), Sample("no", "b"), Sample("no", "c")) == ["b"]

    def test_a_split_shows_both_sides(self) -> None:
        """At exactly one half the first of each side is shown, the one that says not factual first."""
        assert shown(
            Sample("yes", "a"), Sample("unsure", "u"), Sample("no", "b"), Sample("no", "c"), Sample("yes", "d")
        ) == [
            "b",
            "a",
        ]

    def test_a_sample_that_explains_goes_first(self) -> None:
        """A bare verdict is passed over for the first sample of its side with an explanation, if there is one."""
        assert shown(Sample("yes"), Sample("yes", " "), Sample("yes", "c")) == ["c"]
        assert shown(Sample("yes"), Sample("yes")) == [""]

    def test_other_kinds_never_speak(self) -> None:
        """The text of an unreadable sample is never shown as an explanation."""
        assert shown(Sample("unparsed", "x"), Sample("refusal", "y"), Sample("no", "b"), Sample("no", "c")) == ["b"]

    def test_without_a_score_nobody_speaks(self) -> None:
        """An item with too few verdicts has no majority."""
        assert (
            missing(representatives([Sample("yes", "a"), Sample("failed"), Sample("failed")])).kind
            == "too_few_verdicts"
        )
