"""Dialogues about pairs of responses: both orders, one order, and grades turned into a choice."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.benchmarks.grading_items import (
    DIRECT,
    PAIR,
    UNREAD,
    WORDING,
    answer,
    began,
    exchanged,
    hold,
    result,
    shown_as_a,
)
from tests.judges.talking import DOWN, Said, said
from truthguard.backends.protocol import Generate
from truthguard.judges.grading_prompts import choose_context, grade_context
from truthguard.metrics.pairwise import swapped
from truthguard.records import BenchmarkSettings, ItemScores, JudgeSettings, Missing, ModelSettings, ResponsePair

MODEL = ModelSettings("judge")
SINGLE = BenchmarkSettings("faq", prompt="default", order="single")
GRADES = BenchmarkSettings("faq", prompt="default", grades=True)
TIED = dataclasses.replace(PAIR, winner="tie")
UNTIED = dataclasses.replace(WORDING, offers_tie=False)
PICKS = st.sampled_from(["A", "B", "tie"])


def scored(item: ResponsePair, *rounds: Sequence[Said], **given: Any) -> ItemScores:
    return hold(began(item, **given), *rounds)[1]


# Both orders. "It floats." comes before "It sinks.", so its turn as A is the first.


def test_both_orders_are_asked_at_once() -> None:
    """Each response is A once; the samples are named after the response that is, with the letters as shown."""
    asked, scores = hold(began(PAIR), [result("A"), result("B")])
    first, second = PAIR.responses
    assert [request.context for request in asked[0]] == [
        choose_context(WORDING, PAIR.instruction, *shown, PAIR.rubric, MODEL)
        for shown in ((first, second), (second, first))
    ]
    assert {(request.seed, request.sample, request.temperature) for request in asked[0]} == {(0, 0, 1.0)}
    assert scores.values == {"without_ties": 1.0, "with_ties": 1.0, "position_bias": 0.0}
    assert [(each.question, each.verdict, each.explanation) for each in scores.samples] == [
        ("first", "a", "So."),
        ("second", "b", "So."),
    ]
    assert (scores.group, scores.question, scores.answer, scores.reasons) == ("ice", PAIR.instruction, None, {})


@pytest.mark.parametrize(
    ("shown", "right", "bias"),
    [
        (("A", "B"), 1.0, 0.0),
        (("B", "A"), 0.0, 0.0),
        (("A", "A"), 0.0, 1.0),
        (("B", "B"), 0.0, 1.0),
        (("tie", "tie"), 0.0, 0.0),
        (("A", "tie"), 0.0, 1.0),
        (("tie", "A"), 0.0, 1.0),
    ],
)
def test_what_two_verdicts_come_to(shown: tuple[str, str], right: float, bias: float) -> None:
    """On a decided pair only both for the winner are right; a letter twice, or one tie, is a bias of position."""
    values = scored(PAIR, [result(each) for each in shown]).values
    assert values == {"without_ties": right, "with_ties": right, "position_bias": bias}


@pytest.mark.parametrize(
    ("shown", "right"),
    [(("tie", "tie"), 1.0), (("A", "A"), 1.0), (("A", "tie"), 1.0), (("A", "B"), 0.0), (("B", "A"), 0.0)],
)
def test_a_pair_that_people_call_a_tie(shown: tuple[str, str], right: float) -> None:
    """None of without_ties' items; in with_ties a disagreement of the orders is a tie as well."""
    scores = scored(TIED, [result(each) for each in shown])
    assert scores.values == {
        "with_ties": right,
        "position_bias": float(shown not in (("A", "B"), ("B", "A"), ("tie",) * 2)),
    }
    assert scores.reasons == {"without_ties": Missing("tie", "people call it a tie")}


@pytest.mark.parametrize("settings", [None, GRADES])
def test_without_ties_alone_says_nothing_of_other_metrics(settings: BenchmarkSettings | None) -> None:
    """Tied pairs are not asked then: over the decided ones alone the other two would be other numbers."""
    talk = began(PAIR, metrics=["without_ties", *DIRECT], settings=settings)
    _, scores = hold(talk, [result("A"), result("B")] if settings is None else [result(5), result(1)])
    assert scores.values == {"without_ties": 1.0}


def test_ties_cost_nothing_where_they_are_dropped() -> None:
    """Dropped before anything else: a row on without_ties alone asks nobody about them."""
    asked, scores = hold(began(TIED, metrics=["without_ties"]))
    assert (asked, scores.values, scores.samples) == ([], {}, ())
    assert scores.reasons["without_ties"].kind == "tie"
    assert hold(began(TIED, metrics=["without_ties", "with_ties"]), [result("tie")] * 2)[1].values["with_ties"] == 1.0
    for pair in (PAIR, TIED):
        asked, scores = hold(began(pair, metrics=DIRECT))
        assert (asked, scores.values, scores.reasons) == ([], {}, {})


@pytest.mark.parametrize(("unread", "shown_first"), [(0, "first"), (1, "second")])
def test_an_unread_order_leaves_the_pair_unscored(unread: int, shown_first: str) -> None:
    """By its kind, in every number of the pair, whatever the other order said; which one is told."""
    replies: list[Said] = [result("A"), result("A")]
    replies[unread] = said("No.", "refusal")
    scores = scored(PAIR, replies)
    assert scores.values == {"without_ties": None, "with_ties": None, "position_bias": None}
    assert set(scores.reasons.values()) == {
        Missing("refusal", f"with the {shown_first} response shown as A: the judge refused to reply")
    }
    tied = scored(TIED, replies)
    assert tied.values == {"with_ties": None, "position_bias": None}
    assert (tied.reasons["without_ties"].kind, tied.reasons["with_ties"].kind) == ("tie", "refusal")


def test_the_reason_of_the_first_unread_order_is_given() -> None:
    """Both samples are kept with their kinds."""
    scores = scored(PAIR, [DOWN, said("No.", "refusal")], [DOWN], [DOWN])
    assert scores.reasons["with_ties"].kind == "failed"
    assert [sample.kind for sample in scores.samples] == ["failed", "refusal"]


def test_an_unread_choice_is_asked_for_three_times() -> None:
    """In rounds of their own, and the third may do."""
    asked, scores = hold(began(PAIR), [result("A"), UNREAD], [UNREAD], [result("B")])
    assert [[request.attempt for request in requests] for requests in asked] == [[0, 0], [1], [2]]
    assert scores.values["with_ties"] == 1.0


def test_words_without_a_tie_get_one_only_from_disagreement() -> None:
    """A judge that says tie all the same is unread."""
    assert scored(TIED, [result("A"), result("A")], wording=UNTIED).values["with_ties"] == 1.0
    scores = scored(PAIR, [result("tie"), result("B")], [result("tie")], [result("tie")], wording=UNTIED)
    assert (scores.values["with_ties"], scores.reasons["with_ties"].kind) == (None, "unparsed")


# One order


def test_a_single_order_is_drawn_by_seed() -> None:
    """One request; over many seeds both orders occur, the same seed draws the same; there is no bias to speak of."""
    drawn = []
    for seed in range(40):
        judge = JudgeSettings("rubric", MODEL, seed=seed)
        asked, scores = hold(began(PAIR, settings=SINGLE, judge=judge), [result("A")])
        ((request,),) = asked
        first = shown_as_a(request, PAIR)
        assert scores.values == {"without_ties": float(first == 0), "with_ties": float(first == 0)}
        assert scores.samples[0].question == ("first", "second")[first]
        drawn.append(first)
    assert 8 < sum(drawn) < 32
    again = hold(began(PAIR, settings=SINGLE, judge=JudgeSettings("rubric", MODEL, seed=3)), [result("A")])[0][0][0]
    assert shown_as_a(again, PAIR) == drawn[3]


def test_single_orders_differ_from_pair_to_pair() -> None:
    """Under one seed both orders occur, so that a judge that always says A is no better than chance."""
    drawn = []
    for number in range(60):
        pair = dataclasses.replace(PAIR, instruction=f"Question {number}?")
        asked, _ = hold(began(pair, settings=SINGLE), [result("A")])
        drawn.append(shown_as_a(asked[0][0], pair))
    assert 15 < sum(drawn) < 45


def test_a_single_tie_and_a_single_unread_reply() -> None:
    """The tie is wrong on a decided pair and right on a tie; unread is unscored."""
    assert scored(PAIR, [result("tie")], settings=SINGLE).values == {"without_ties": 0.0, "with_ties": 0.0}
    assert scored(TIED, [result("tie")], settings=SINGLE).values == {"with_ties": 1.0}
    scores = scored(PAIR, [UNREAD], [UNREAD], [UNREAD], settings=SINGLE)
    assert (scores.values["with_ties"], scores.reasons["with_ties"].kind) == (None, "unparsed")


# From grades


C15: list[tuple[list[tuple[int | None, int | None]], str, float]] = [
    ([(3, 3), (4, 4), (5, 4)], "a", 1.0),
    ([(4, 4), (4, 4), (2, 2)], "a", 0.0),
    ([(None, 3), (2, 5)], "a", 0.0),
    ([(5, 2)], "a", 1.0),
    ([(3, 3)], "tie", 1.0),
    ([(4, 3)], "tie", 0.0),
    ([(2, 2)], "tie", 1.0),
]


def graded(item: ResponsePair, runs: Sequence[tuple[int | None, int | None]]) -> tuple[list[Generate], ItemScores]:
    """With grades by response and run; None is unreadable in each attempt. A run too many is an error."""
    grades = dict(zip(item.responses, zip(*runs, strict=True), strict=True))

    def judge(request: Generate) -> Said:
        (response,) = (each for each in item.responses if f"\n{each}\n" in str(request.context))
        grade = grades[response][request.sample]
        return UNREAD if grade is None else result(grade)

    return answer(began(item, settings=GRADES), judge)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(("runs", "winner", "right"), C15)
def test_c15_pairs_from_grades(
    runs: list[tuple[int | None, int | None]], winner: Any, right: float, swap: bool
) -> None:
    """C15: each of its seven pairs, with no run more than it takes; exchanging the responses changes nothing."""
    item = dataclasses.replace(PAIR, winner=winner)
    if swap:
        item, runs = exchanged(item), [(second, first) for first, second in runs]
    asked, scores = graded(item, runs)
    assert scores.values == ({"with_ties": right} if winner == "tie" else {"without_ties": right, "with_ties": right})
    assert {request.sample for request in asked} == set(range(len(runs)))
    assert {request.seed for request in asked} == set(range(len(runs)))
    assert len(scores.samples) == 2 * len(runs)
    assert {sample.question for sample in scores.samples} == {"first", "second"}


def test_c15_as_a_whole() -> None:
    """C15: 2 of 4 without ties, 4 of 7 with them."""
    found = [graded(dataclasses.replace(PAIR, winner=winner), runs)[1].values for runs, winner, _ in C15]  # type: ignore[arg-type]
    without = [values["without_ties"] for values in found if "without_ties" in values]
    assert (sum(filter(None, without)), len(without)) == (2, 4)
    assert sum(values["with_ties"] or 0.0 for values in found) == 4


def test_grades_of_pairs_see_no_reference_and_the_items_own_rubric() -> None:
    """Each response alone, in the template without a reference; both of a run at once."""
    asked, _ = hold(began(PAIR, settings=GRADES), [result(5), result(1)])
    assert [request.context for request in asked[0]] == [
        grade_context(WORDING, PAIR.instruction, response, PAIR.rubric, None, MODEL) for response in PAIR.responses
    ]


def test_the_papers_words_grade_with_the_pairs_own_prompts() -> None:
    """Each response with its own, exchanged or not."""
    paper = dataclasses.replace(WORDING, name="paper", grade_with_reference=None)
    item = dataclasses.replace(PAIR, judge_prompts=("the first's", "the second's"))
    for each in (item, exchanged(item)):
        asked, scores = hold(began(each, settings=GRADES, wording=paper), [result(5), result(1)])
        assert [request.context for request in asked[0]] == ["the first's", "the second's"]
        assert scores.values["without_ties"] == 1.0


def test_no_more_runs_than_three_nor_than_the_judge_has() -> None:
    """An undecided pair is wrong after them."""
    for runs, expected in ((1, 1), (2, 2), (3, 3), (8, 3)):
        judge = JudgeSettings("rubric", MODEL, runs=runs)
        asked, scores = hold(began(PAIR, settings=GRADES, judge=judge), *[[result(3)] * 2] * expected)
        assert (len(asked), scores.values["with_ties"]) == (expected, 0.0)


@pytest.mark.parametrize("item", [PAIR, TIED])
def test_without_a_run_readable_on_both_sides_there_is_no_choice(item: ResponsePair) -> None:
    """Never the lowest grade: unscored by the kind of the first unread one."""
    asked, scores = graded(item, [(None, 3), (2, None), (None, None)])
    assert {request.sample for request in asked} == {0, 1, 2}
    assert scores.values["with_ties"] is None
    assert scores.reasons["with_ties"] == Missing(
        "unparsed",
        "with the first response graded: the judge's reply does not end in a verdict of the agreed form",
    )


# Exchanging the two responses


def biased(request: Generate, item: ResponsePair) -> Said:
    """A judge whose reply is a function of what it is asked, and of nothing else."""
    kinds = ["A", "B", "tie", "4", "2", "hm", "refused"]
    word = kinds[hashlib.sha256(f"{request}".encode()).digest()[0] % len(kinds)]
    return said("No.", "refusal") if word == "refused" else result(word)


TEXTS = st.sampled_from(["same", "other", "more", ""])
PAIRS = st.builds(
    ResponsePair,
    st.just("p"),
    st.just("c"),
    st.text(max_size=3),
    st.text(max_size=3),
    st.tuples(TEXTS, TEXTS),
    st.sampled_from(["a", "b", "tie"]),
    st.just(PAIR.rubric),
    st.none() | st.tuples(TEXTS, TEXTS),
)


@given(
    PAIRS,
    st.sampled_from(["both", "single"]),
    st.booleans(),
    st.integers(0, 5),
    st.sampled_from([WORDING, UNTIED, dataclasses.replace(WORDING, name="paper")]),
)
@example(
    dataclasses.replace(TIED, responses=("same", "same"), judge_prompts=("one", "other")),
    "both",
    True,
    0,
    dataclasses.replace(WORDING, name="paper"),
)
def test_exchanging_the_responses_changes_no_number(
    item: ResponsePair, order: Any, grades: bool, seed: int, wording: Any
) -> None:
    """The same requests in the same order, the same values, and the same kinds; equal responses are no exception."""
    settings = BenchmarkSettings("faq", prompt="default", order=order, grades=grades)
    judge = JudgeSettings("rubric", MODEL, seed=seed)
    found = []
    for each in (item, exchanged(item)):
        asked, scores = answer(
            began(each, settings=settings, wording=wording, judge=judge), lambda request: biased(request, item)
        )
        kinds = {name: reason.kind for name, reason in scores.reasons.items()}
        found.append((asked, scores.values, kinds, [(sample.kind, sample.index) for sample in scores.samples]))
    assert found[0] == found[1]


@given(PICKS, PICKS, st.sampled_from(["a", "b"]))
def test_equal_responses_are_told_apart_by_their_place_alone(one: str, other: str, winner: Any) -> None:
    """A judge cannot know which is the winner, and the file's order does not tell it."""
    item = dataclasses.replace(PAIR, responses=("same", "same"), winner=winner)
    asked, scores = hold(began(item), [result(one), result(other)])
    assert asked[0][0] == asked[0][1]
    swap, back = hold(began(exchanged(item)), [result(one), result(other)])
    assert (swap, back.values) == (asked, scores.values)
    assert item.winner == swapped(exchanged(item).winner)
