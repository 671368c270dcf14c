"""Dialogues about graded responses: what a judge is asked, and the values that its replies come to."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.grading_items import DIRECT, GRADED, JUDGE, PAIRWISE, UNREAD, WORDING, began, hold, result
from tests.judges.talking import DOWN, Said, said
from truthguard.backends.protocol import Turn
from truthguard.benchmarks.grading import one_grade
from truthguard.errors import UsageError
from truthguard.judges.grading_prompts import grade_context
from truthguard.metrics.summary import summarise
from truthguard.records import BenchmarkSettings, ItemScores, JudgeSettings, Missing, ModelSettings

MODEL = ModelSettings("judge")
FREE = BenchmarkSettings("faq", prompt="default", reference=False)


def test_the_values_of_a_graded_response() -> None:
    """The mean of the runs, the reference's grade, each run's own, and whether the first is the reference's."""
    asked, scores = hold(began(GRADED), [result(grade) for grade in (4, 5, 4)])
    context = grade_context(WORDING, GRADED.instruction, GRADED.response, GRADED.rubric, GRADED.reference, MODEL)
    assert [(request.context, request.seed, request.sample) for request in asked[0]] == [
        (context, run, run) for run in range(3)
    ]
    assert scores.values == {
        "grade": pytest.approx(13 / 3),
        "reference": 4.0,
        "grade_run1": 4.0,
        "grade_run2": 5.0,
        "grade_run3": 4.0,
        "accuracy": 1.0,
    }
    assert scores.reasons == {}
    assert (scores.group, scores.question, scores.answer) == ("ice", "Does ice float?", "It floats.")
    assert [(each.question, each.verdict, each.explanation) for each in scores.samples] == [
        ("grade", "4", "So."),
        ("grade", "5", "So."),
        ("grade", "4", "So."),
    ]


def test_an_unread_run_leaves_the_mean_to_the_others() -> None:
    """C14: it is a reason of its own kind, never the lowest grade; accuracy takes the first readable run."""
    _, scores = hold(began(GRADED), [UNREAD, result(4), result(2)], [UNREAD], [UNREAD])
    assert scores.values == {
        "grade": 3.0,
        "reference": 4.0,
        "grade_run1": None,
        "grade_run2": 4.0,
        "grade_run3": 2.0,
        "accuracy": 1.0,
    }
    assert {name: reason.kind for name, reason in scores.reasons.items()} == {"grade_run1": "unparsed"}


def test_without_a_readable_run_there_is_no_grade() -> None:
    """The item is unscored by the kind of its first run; what the others came to is said."""
    refused = said("No.", "refusal")
    _, scores = hold(began(GRADED), [refused, UNREAD, refused], [UNREAD], [UNREAD])
    assert [scores.values[name] for name in ("grade", "accuracy", "grade_run2")] == [None] * 3
    assert scores.values["reference"] == 4.0
    assert scores.reasons["grade"] == Missing("refusal", "none of 3 runs is readable: 2 refusal, 1 unparsed")
    assert scores.reasons["accuracy"] == scores.reasons["grade"]
    _, scores = hold(began(GRADED), *[[DOWN] * 3] * 3)
    assert scores.reasons["grade"] == DOWN


def test_the_runs_are_the_judges() -> None:
    """One run is one request."""
    judge = dataclasses.replace(JUDGE, runs=1)
    asked, scores = hold(began(GRADED, judge=judge), [result(5)])
    assert (len(asked[0]), scores.values["grade"], scores.values["accuracy"]) == (1, 5.0, 0.0)
    assert "grade_run2" not in scores.values


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((4.0,), 4),
        ((4.0, 4.0, 4.0), 4),
        ((5.0, 5.0, 3.0), Missing("several_grades", "the reference's grades differ: 5, 5, 3")),
        ((3.5,), Missing("no_whole_grade", "the reference's grade is no whole number: 3.5")),
        ((4.0, 4.5), Missing("several_grades", "the reference's grades differ: 4, 4.5")),
    ],
)
def test_accuracy_is_of_items_with_one_whole_reference_grade(scores: Sequence[float], expected: int | Missing) -> None:
    """The others are none of its items, whatever the judge says: no value, and the reason."""
    item = dataclasses.replace(GRADED, scores=tuple(scores))
    assert one_grade(item) == expected
    for rounds in ([[result(4)] * 3], [[UNREAD] * 3] * 3):
        _, found = hold(began(item), *rounds)
        assert ("accuracy" in found.values) == isinstance(expected, int)
        if isinstance(expected, Missing):
            assert found.reasons["accuracy"] == expected
        assert found.values["reference"] == pytest.approx(sum(scores) / len(scores))


def test_grades_of_people_stand_beside_the_references() -> None:
    """Their mean where there are any; where one is wanted and lacking, the item is dropped with that reason."""
    graded = dataclasses.replace(GRADED, human_scores=(3.0, 4.0))
    _, scores = hold(began(graded, metrics=["spearman_human"]), [result(4)] * 3)
    assert scores.values["human"] == 3.5
    _, scores = hold(began(GRADED, metrics=["spearman_human"]), [result(4)] * 3)
    assert "human" not in scores.values
    assert scores.reasons["human"].kind == "no_human_grade"
    assert "human" not in hold(began(GRADED, metrics=["spearman"]), [result(4)] * 3)[1].reasons


def test_a_judge_without_reference_sees_none() -> None:
    """`reference = false`, and an item that has none: the template without one."""
    bare = grade_context(WORDING, GRADED.instruction, GRADED.response, GRADED.rubric, None, MODEL)
    asked, _ = hold(began(GRADED, settings=FREE), [result(4)] * 3)
    assert asked[0][0].context == bare
    assert "Yes, it does." not in str(bare)
    asked, _ = hold(began(dataclasses.replace(GRADED, reference=None)), [result(4)] * 3)
    assert asked[0][0].context == bare


PAPER = dataclasses.replace(WORDING, name="paper", grade_with_reference=None, offers_tie=False)


def test_the_papers_words_are_the_items_own_prompt() -> None:
    """Verbatim, with the reference in it; a judge that sees none gets the template without one instead."""
    item = dataclasses.replace(GRADED, judge_prompt="The whole prompt, with Yes, it does.")
    asked, _ = hold(began(item, wording=PAPER), [result(4)] * 3)
    assert asked[0][0].context == "The whole prompt, with Yes, it does."
    asked, _ = hold(began(item, wording=PAPER, settings=FREE), [result(4)] * 3)
    assert "Yes, it does." not in str(asked[0][0].context)
    assert "It floats." in str(asked[0][0].context)
    whole = dataclasses.replace(item, reference=None, judge_prompt="A prompt without a reference")
    asked, _ = hold(began(whole, wording=PAPER, settings=FREE), [result(4)] * 3)
    assert asked[0][0].context == "A prompt without a reference"


def test_the_paper_has_no_words_for_a_reference_of_ones_own() -> None:
    """The message says what to use."""
    with pytest.raises(UsageError, match='prompt = "library", or reference = false'):
        next(began(GRADED, wording=PAPER))


def test_only_metrics_of_graded_responses_ask_for_grades() -> None:
    """In a set with items of two kinds the metrics of the others cost nothing here."""
    assert hold(began(GRADED, metrics=PAIRWISE)) == (
        [],
        ItemScores("g", "Water", "Does ice float?", {}, answer="It floats.", group="ice"),
    )


def test_with_a_chat_template_the_prompt_is_the_users_turn() -> None:
    """Behind the judge's own system prompt."""
    model = ModelSettings("judge", chat_template=True, system_prompt="Be strict.")
    asked, _ = hold(began(GRADED, judge=JudgeSettings("rubric", model)), [result(4)] * 3)
    context = asked[0][0].context
    assert isinstance(context, tuple)
    assert (context[0], context[1].role) == (Turn("system", "Be strict."), "user")


def test_nobody_can_be_asked_without_a_model() -> None:
    """Whatever the judge's kind: grades are asked in writing."""
    with pytest.raises(UsageError, match=r"give \[judge\] a model"):
        next(began(GRADED, judge=JudgeSettings()))


def test_scores_are_plain_data() -> None:
    """They reach the store as JSON without NaN."""
    _, scores = hold(began(GRADED), [UNREAD, result(4), result(2)], [UNREAD], [UNREAD])
    assert "NaN" not in json.dumps(dataclasses.asdict(scores))


def test_c14_an_unreadable_grade_leaves_both_vectors() -> None:
    """C14: six of eight items are left, in the judge's grades and in people's alike."""
    human, said_by_judge = [5, 4, 4, 3, 2, 5, 1, 3], [5, 4, 5, 3, 2, None, 1, None]
    judge = dataclasses.replace(JUDGE, runs=1)
    items = []
    for place, (reference, grade) in enumerate(zip(human, said_by_judge, strict=True)):
        item = dataclasses.replace(GRADED, id=f"g{place}", group=f"{place}", scores=(float(reference),))
        rounds = [[UNREAD]] * 3 if grade is None else [[result(grade)]]
        items.append(hold(began(item, judge=judge), *rounds)[1])
    for metric, expected in (("pearson", 0.97072534), ("spearman", 0.95588235), ("kendall", 0.92857143)):
        summary = summarise(items, metric, 0.95)
        assert (summary.n, summary.n_unscored, summary.unscored) == (6, 2, {"unparsed": 2})
        assert summary.estimate == pytest.approx(expected, abs=1e-8)
    read = [scores.values["grade"] for scores in items if scores.values["grade"] is not None]
    assert sum(read) / len(read) == pytest.approx(3.33333333, abs=1e-8)


GRADES = st.none() | st.integers(1, 5)


@given(st.lists(st.tuples(st.integers(1, 5), st.lists(GRADES, min_size=3, max_size=3)), min_size=1, max_size=8))
def test_an_item_without_a_grade_never_shifts_the_others(drawn: list[tuple[int, list[int | None]]]) -> None:
    """Every item's values are its own runs', whatever its neighbours lack."""
    for reference, runs in drawn:
        item = dataclasses.replace(GRADED, scores=(float(reference),))
        first: list[Said] = [UNREAD if grade is None else result(grade) for grade in runs]
        again = [[UNREAD] * runs.count(None)] * 2 if None in runs else []
        _, scores = hold(began(item, metrics=DIRECT), first, *again)
        readable = [grade for grade in runs if grade is not None]
        assert [scores.values[f"grade_run{run}"] for run in (1, 2, 3)] == runs
        assert scores.values["grade"] == (pytest.approx(sum(readable) / len(readable)) if readable else None)
        assert scores.values["accuracy"] == (float(readable[0] == reference) if readable else None)
        assert scores.values["reference"] == reference
        assert {name for name, value in scores.values.items() if value is None} == set(scores.reasons)
