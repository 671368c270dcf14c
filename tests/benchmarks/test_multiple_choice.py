"""The numbers of multiple choice, driven by hand: what is asked, and what is made of replies, usable or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.backends.protocol import (
    ContinuationScore,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Turn,
)
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.dialogues import dialogue
from truthguard.errors import UsageError
from truthguard.metrics.choice import NO_FORMS, YES_FORMS
from truthguard.records import BenchmarkSettings, Choice, ItemScores, JudgeSettings, Missing, ModelSettings, Question

# Neither the file's order nor the labels' put the best answer first.
ITEM = Question(
    id="tin",
    category="Metals",
    question="Is tin a metal?",
    choices=(
        Choice("It is.", True, False),
        Choice("It is a gas.", False, True),
        Choice("Tin is a metal.", True, True),
        Choice("It is a wood.", False, True),
        Choice("It is a dye.", False, False),
    ),
    best="Tin is a metal.",
    best_incorrect="It is a gas.",
)
QUESTIONS = QuestionSet("faq", None, (ITEM,), {"qa": "Q: a?\nA: b."}, "", "", {}, Path("faq.jsonl"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIKELIHOODS = ("mc1", "mc2_mass", "mc3")
ALL = (*LIKELIHOODS, "mc2", "mc_binary")
MODEL = ModelSettings("m")
NAN, INF = math.nan, math.inf


def ask(
    metrics: Sequence[str],
    replies: Sequence[Scores | Masses | Missing],
    *,
    item: Question = ITEM,
    normalization: str = "none",
    model: ModelSettings = MODEL,
) -> tuple[list[Request], ItemScores]:
    """The requests of the one yield, and what the dialogue makes of the replies."""
    settings = BenchmarkSettings("faq", normalization=normalization)  # type: ignore[arg-type]
    talk = dialogue(item, metrics, QUESTIONS, settings, model, JudgeSettings())
    role, requests = next(talk)
    assert role == "model"
    answered = [
        Reply(request, NOW, missing=each) if isinstance(each, Missing) else Reply(request, NOW, value=each)
        for request, each in zip(requests, replies, strict=True)
    ]
    with pytest.raises(StopIteration) as done:
        talk.send(answered)
    scores: ItemScores = done.value.value
    return list(requests), scores


def sums(*log_likelihoods: float | None, tokens: Sequence[int] = (3,) * 9) -> Scores:
    """Scores with these sums; None is a choice that could not be scored."""
    long = Missing("too_long", "the choice does not fit the window")
    return Scores(
        tuple(
            ContinuationScore(each, count, long if each is None else None)
            for each, count in zip(log_likelihoods, tokens, strict=False)
        )
    )


def masses(first: float | None, second: float | None, unlisted: float = 0.0) -> Masses:
    return Masses(tuple(None if p is None else math.log(p) if p else -INF for p in (first, second)), unlisted)


YES_NO = [masses(0.9, 0.1), masses(0.2, 0.8), masses(0.3, 0.1), masses(0.1, 0.3), masses(0.4, 0.6)]


def test_one_request_serves_all_log_likelihood_metrics() -> None:
    """All choices after one context, in file order, each after a space."""
    requests, _ = ask(LIKELIHOODS, [sums(-1, -2, -3, -4, -5)])
    context = "Q: a?\nA: b.\n\nQ: Is tin a metal?\nA:"
    assert requests == [Score(context, tuple(f" {choice.text}" for choice in ITEM.choices))]
    assert ask(["mc1"], [sums(-1, -2, -3, -4, -5)])[0] == requests


def test_everything_is_asked_at_once() -> None:
    """One score request, a yes/no question for each choice, both letter orders with the right letter A first."""
    letters = [masses(0.5, 0.2), masses(0.5, 0.2)]
    requests, scores = ask(ALL, [sums(-1, -2, -3, -4, -5), *YES_NO, *letters])
    assert [type(request) for request in requests] == [Score, *[NextToken] * 7]
    assert all(request.groups == (YES_FORMS, NO_FORMS) for request in requests[1:6] if isinstance(request, NextToken))
    assert "Proposed answer: It is a gas.\n" in str(requests[2].context)
    assert [request.groups for request in requests[6:] if isinstance(request, NextToken)] == [(("A",), ("B",))] * 2
    assert "(A) Tin is a metal.\n(B) It is a gas.\n" in str(requests[6].context)
    assert "(A) It is a gas.\n(B) Tin is a metal.\n" in str(requests[7].context)
    assert list(scores.values) == ["mc1", "mc2_mass", "mc3", "mc2", "mc_binary", "letter_bias"]


def test_the_values_of_a_row_by_label_and_not_by_place() -> None:
    """The best answer is the true one of the single-true set, wherever it stands."""
    _, scores = ask(LIKELIHOODS, [sums(-9, -4, -3, -5, -3.5)])
    total = sum(map(math.exp, (-9, -4, -3, -5, -3.5)))
    assert scores.values["mc1"] == 1.0
    assert scores.values["mc2_mass"] == pytest.approx((math.exp(-9) + math.exp(-3)) / total)
    assert scores.values["mc3"] == 0.5
    assert (scores.reasons, scores.tied_best, scores.degenerate) == ({}, False, ())
    assert [choice.log_likelihood for choice in scores.choices] == [-9, -4, -3, -5, -3.5]
    assert [choice.tokens for choice in scores.choices] == [3] * 5
    assert all(choice.p_yes is None for choice in scores.choices)


def test_a_choice_outside_the_single_true_set_does_not_count_for_mc1() -> None:
    """The likeliest choice of all is neither the best answer nor one that mc1 holds against it."""
    assert ask(["mc1"], [sums(-1, -4, -3, -5, -0.5)])[1].values == {"mc1": 1.0}


@pytest.mark.parametrize(
    ("best", "wrong", "expected"),
    [(NAN, NAN, None), (-4.0, -5.5, 1.0), (-7.0, -6.2, 0.0), (NAN, -4.9, None), (-6.0, NAN, None), (INF, -1.0, None)],
)
def test_a_log_likelihood_that_is_no_number_is_missing_and_never_a_win(
    best: float, wrong: float, expected: float | None
) -> None:
    """C04: one NaN among the choices makes the item unscored, with NaN named as the reason."""
    item = Question("i", "c", "q?", (Choice("a", True, True), Choice("b", False, True)))
    _, scores = ask(LIKELIHOODS, [sums(best, wrong)], item=item)
    assert scores.values["mc1"] == expected
    if expected is None:
        assert set(scores.values.values()) == {None}
        assert set(scores.reasons) == set(LIKELIHOODS)
        assert "NaN" in str(scores.reasons["mc1"]) or "inf" in str(scores.reasons["mc1"])


def test_sums_are_not_means_and_another_number_has_another_name() -> None:
    """C02: nine tokens of -1.5 against two of -4.2; the sum loses, the mean wins under a name of its own."""
    item = Question("i", "c", "q?", (Choice("gold", True, True), Choice("wrong", False, True)))
    reply = sums(-13.5, -8.4, tokens=(9, 2))
    plain = ask(["mc1", "mc2_mass"], [reply], item=item)[1]
    assert plain.values == {"mc1": 0.0, "mc2_mass": pytest.approx(0.00605980, abs=1e-8)}
    mean = ask(["mc1", "mc2_mass"], [reply], item=item, normalization="per_token")[1]
    assert mean.values == {"mc1_per_token": 1.0, "mc2_mass_per_token": pytest.approx(0.93702664, abs=1e-8)}
    assert [choice.log_likelihood for choice in mean.choices] == [-13.5, -8.4]


def test_bytes_are_those_of_the_choice_in_utf_8() -> None:
    """Four bytes of -8 beat two of -6, though the sum is lower; mc2 keeps its name under a normalisation."""
    item = Question("i", "c", "q?", (Choice("éé", True, True), Choice("no", False, True)))
    yes_no = [masses(0.5, 0.5), masses(0.25, 0.75)]
    values = ask(["mc1", "mc2"], [sums(-8.0, -6.0), *yes_no], item=item, normalization="per_byte")[1].values
    assert values == {"mc1_per_byte": 1.0, "mc2": pytest.approx(0.25)}


def test_a_choice_that_could_not_be_scored_gives_its_reason_to_the_metrics_that_need_it() -> None:
    """mc1 does not need a choice outside its set; the others name why they are missing."""
    _, scores = ask(LIKELIHOODS, [sums(-9, -4, -3, -5, None)])
    assert scores.values == {"mc1": 1.0, "mc2_mass": None, "mc3": None}
    assert {name: reason.kind for name, reason in scores.reasons.items()} == {
        "mc2_mass": "too_long",
        "mc3": "too_long",
    }
    assert scores.choices[4].log_likelihood is scores.choices[4].tokens is None


def test_a_request_without_an_answer_makes_all_its_metrics_missing() -> None:
    """The reason is passed on; the other elicitations keep their values."""
    down = Missing("failed", "the server did not answer")
    _, scores = ask([*LIKELIHOODS, "mc2"], [down, *YES_NO])
    assert {name for name, reason in scores.reasons.items() if reason is down} == set(LIKELIHOODS)
    assert scores.values["mc2"] is not None
    assert scores.tied_best is False


def test_a_value_of_another_kind_than_was_asked_is_missing() -> None:
    """A backend's fault is a reason and no traceback."""
    _, scores = ask(["mc1", "mc2"], [masses(0.5, 0.5), sums(-1), *YES_NO[1:]])
    assert {reason.kind for reason in scores.reasons.values()} == {"wrong_reply"}
    assert set(scores.values.values()) == {None}


def test_the_yes_no_contrast() -> None:
    """Mean P(yes) of the true answers minus that of the false ones; P(yes) stands with each choice."""
    _, scores = ask(["mc2"], YES_NO)
    assert scores.values["mc2"] == pytest.approx((0.9 + 0.75) / 2 - (0.2 + 0.25 + 0.4) / 3)
    assert [choice.p_yes for choice in scores.choices] == pytest.approx([0.9, 0.2, 0.75, 0.25, 0.4])
    assert all(choice.log_likelihood is None for choice in scores.choices)


def test_an_unlisted_side_enters_with_the_end_that_is_worse_for_the_item() -> None:
    """Low for a true answer, high for a false one; the value stands with an `inexact` reason beside it."""
    replies = [masses(0.9, None, 0.1), masses(None, 0.9, 0.1), *YES_NO[2:]]
    _, scores = ask(["mc2"], replies)
    assert [choice.p_yes for choice in scores.choices][:2] == pytest.approx([0.9, 0.1])
    assert scores.values["mc2"] is not None
    assert scores.reasons["mc2"].kind == "inexact"
    assert "2 of 5" in scores.reasons["mc2"].detail
    both_ends = ask(["mc2"], [masses(None, 0.9, 0.1), masses(0.9, None, 0.1), *YES_NO[2:]])[1]
    assert [choice.p_yes for choice in both_ends.choices][:2] == [0.0, 1.0]


def test_a_missing_yes_probability_outweighs_an_inexact_one() -> None:
    """With both sides unlisted in one answer the item is missing, and says so."""
    _, scores = ask(["mc2"], [masses(0.9, None, 0.1), masses(None, None, 1.0), *YES_NO[2:]])
    assert scores.values == {"mc2": None}
    assert scores.reasons["mc2"].kind == "unlisted"
    assert scores.choices[1].p_yes is None


@pytest.mark.parametrize(
    ("first", "second", "value", "bias"),
    [
        ((0.6, 0.1), (0.1, 0.6), 1.0, 0.0),
        ((0.6, 0.1), (0.6, 0.1), 0.5, 1.0),
        ((0.1, 0.6), (0.1, 0.6), 0.5, -1.0),
        ((0.1, 0.6), (0.6, 0.1), 0.0, 0.0),
        ((0.3, 0.3), (0.1, 0.6), 0.5, -1.0),
        ((0.3, 0.0), (0.1, 0.6), 1.0, 0.0),
    ],
)
def test_both_orders_of_the_letters(
    first: tuple[float, float], second: tuple[float, float], value: float, bias: float
) -> None:
    """The right letter is A, then B; a tie is 0 for its order; the bias is right with A minus right with B."""
    _, scores = ask(["mc_binary"], [masses(*first), masses(*second)])
    assert scores.values == {"mc_binary": value, "letter_bias": bias}
    assert len(scores.choices) == 5


def test_a_letter_without_a_probability_makes_both_values_missing() -> None:
    """No order is scored on the other one's behalf."""
    _, scores = ask(["mc_binary"], [masses(0.6, 0.1), masses(0.6, None, 0.3)])
    assert scores.values == {"mc_binary": None, "letter_bias": None}
    assert "letter B" in scores.reasons["mc_binary"].detail
    _, scores = ask(["mc_binary"], [masses(0.6, 0.1), Missing("failed", "no answer")])
    assert scores.reasons["letter_bias"].kind == "failed"


def test_mc_binary_without_a_best_incorrect_answer_is_refused() -> None:
    """The item is named; nothing is asked."""
    item = Question("tin", "c", "q?", ITEM.choices, best="Tin is a metal.")
    with pytest.raises(UsageError, match="'tin'"):
        ask(["mc_binary"], [], item=item)


def test_a_best_answer_level_with_another_one_is_a_tie_and_loses() -> None:
    """Only ties within the single-true set count."""
    _, scores = ask(["mc1"], [sums(-3, -4, -3, -3, -9)])
    assert (scores.values["mc1"], scores.tied_best) == (0.0, True)
    assert ask(["mc1"], [sums(-3, -4, -3, -5, -3)])[1].tied_best is False


def test_a_row_of_one_number_is_degenerate_for_each_way_of_asking() -> None:
    """All log-likelihoods, all P(yes), or both letters in both orders the same; one number alone shows nothing."""
    same = masses(0.5, 0.5)
    _, scores = ask(ALL, [sums(*[-2.5] * 5), *[same] * 5, same, masses(0.2, 0.2)])
    assert scores.degenerate == ("log_likelihood", "p_yes", "letters")
    assert scores.values["mc1"] == 0.0
    _, scores = ask(ALL, [sums(*[-2.5] * 4, -2.4), *YES_NO, same, masses(0.2, 0.3)])
    assert scores.degenerate == ()
    _, scores = ask(["mc1"], [sums(-2.5, None, None, None, None)])
    assert scores.degenerate == ()


def test_under_a_chat_template_the_context_is_turns_and_answers_begin_the_reply() -> None:
    """No leading space, the system prompt first."""
    model = ModelSettings("m", chat_template=True, system_prompt="Be brief.")
    requests, _ = ask(["mc1"], [sums(-1, -2, -3, -4, -5)], model=model)
    turns = (
        Turn("system", "Be brief."),
        Turn("user", "a?"),
        Turn("assistant", "b."),
        Turn("user", "Is tin a metal?"),
    )
    assert requests == [Score(turns, tuple(choice.text for choice in ITEM.choices))]


@given(order=st.permutations(range(5)), numbers=st.lists(st.floats(-50, 0), min_size=5, max_size=5, unique=True))
def test_the_order_of_the_choices_changes_no_value(order: list[int], numbers: list[float]) -> None:
    """Labels decide, places do not."""
    shuffled = Question("i", "c", "q?", tuple(ITEM.choices[index] for index in order))
    plain = ask(LIKELIHOODS, [sums(*numbers)])[1]
    moved = ask(LIKELIHOODS, [sums(*(numbers[index] for index in order))], item=shuffled)[1]
    assert moved.values == pytest.approx(plain.values)
