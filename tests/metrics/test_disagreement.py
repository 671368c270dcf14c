"""What is shown of the items on which a judge disagrees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.metrics.judged_items import graded, graded_items, labelled, pair
from truthguard.metrics.disagreement import furthest_apart, said
from truthguard.metrics.summary import nearest_to_flip
from truthguard.records import Bar, Sample, VerdictKind


def shown(found: tuple[tuple[object, str], ...]) -> list[str]:
    return [text for _, text in found]


def test_the_furthest_from_the_reference_come_first() -> None:
    """By the distance of the grades, equal ones in their order; what agrees and what was not read is not shown."""
    found = furthest_apart(graded_items("5 1 4 3 - 2", "1 2 4 1 5 4"), "pearson")
    assert [item.id for item, _ in found] == ["i0", "i3", "i5", "i1"]
    assert shown(found)[:2] == [
        "4 apart: the judge gave 5, the reference 1",
        "2 apart: the judge gave 3, the reference 1",
    ]
    assert len(furthest_apart(graded_items("1 " * 9, "2 " * 9), "kendall")) == 5
    assert len(furthest_apart(graded_items("1 " * 9, "2 " * 9), "kendall", count=2)) == 2


def test_people_have_distances_of_their_own() -> None:
    """A correlation with people is held against people's grades, which are named."""
    items = [graded("a", [4, None, 5], 4.5, human=2), graded("b", 1, 5, human=1)]
    assert shown(furthest_apart(items, "spearman_human")) == ["2.5 apart: the judge gave 4.5 (4, unread, 5), people 2"]
    assert shown(furthest_apart(items, "spearman")) == ["4 apart: the judge gave 1, the reference 5"]


def test_runs_apart() -> None:
    """Of consistency the items whose runs lie furthest apart."""
    items = [graded("a", [3, 3, 4], 3), graded("b", [1, 5, None], 3), graded("c", [2, 2, 2], 1)]
    assert shown(furthest_apart(items, "consistency")) == [
        "4 apart: the judge gave 3 (1, 5, unread), the reference 3",
        "1 apart: the judge gave 3.333 (3, 3, 4), the reference 3",
    ]


def test_verdicts_that_differ_from_the_label() -> None:
    """Of kappa the items on which judge and people differ, in their order."""
    items = [
        labelled("a", True, True),
        labelled("b", True, False),
        labelled("c", False, True),
        labelled("d", None, True),
    ]
    assert shown(furthest_apart(items, "kappa")) == [
        "the judge said yes, people say no",
        "the judge said no, people say yes",
    ]


def test_wrong_verdicts_are_shown_with_what_the_judge_said() -> None:
    """Of accuracies the wrong items, in the order of the data, in their own words."""
    items = [graded("a", 3, 3), graded("b", [None, 4], 2), graded("c", 1, 5)]
    assert shown(nearest_to_flip(items, "accuracy", Bar(min=0.9))) == [
        "the judge gave 4 (unread, 4), the reference 2",
        "the judge gave 1, the reference 5",
    ]
    items = [labelled("a", False, True), labelled("b", False, False)]
    assert shown(nearest_to_flip(items, "sensitivity", Bar(min=0.9))) == ["the judge said no, people say yes"]


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        (("a", "a"), "the judge chose the first response as A, then the second response as A"),
        (("b", "tie"), "the judge chose the second response as B, then a tie"),
        (("b",), "the judge chose the second response as B"),
        (("unparsed", "b"), "the judge chose nothing readable (unparsed), then the first response as B"),
    ],
)
def test_choices(verdicts: tuple[VerdictKind, ...], text: str) -> None:
    """Letters are turned into the responses that they stood for."""
    assert said(pair("p", False, verdicts=verdicts)) == text


def test_grades_of_a_pair() -> None:
    """Where a pair was decided by grades they are shown for each response, run by run."""
    verdicts: list[tuple[str, VerdictKind, str | None]] = [
        ("second", "grade", "4"),
        ("first", "unparsed", None),
        ("second", "grade", "3"),
        ("first", "grade", "5"),
    ]
    samples = tuple(Sample(0, 0, verdict, kind, "", "stop", name) for name, kind, verdict in verdicts)
    item = replace(pair("p", False), samples=samples)
    assert said(item) == "the judge gave the second response 4, 3 and the first response unparsed, 5"


def test_nothing_kept() -> None:
    """Without samples, grades or verdicts the text says so."""
    assert said(pair("p", False)) == "no verdict kept"
    assert said(graded("a", None, 3)) == "the judge gave no readable grade, the reference 3"
    assert said(labelled("a", None, True)) == "the judge said nothing readable, people say yes"
