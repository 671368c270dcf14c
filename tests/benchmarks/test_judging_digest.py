"""What of an item that a judge is measured on is data, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from truthguard.benchmarks.base import data_digest
from truthguard.records import Choice, GradedResponse, Item, LabelledAnswer, Question, ResponsePair, Rubric

RUBRIC = Rubric("Right?", ("no", "hardly", "partly", "nearly", "yes"))
GRADED = GradedResponse("g-1", "c", "g", "Say it.", "It.", RUBRIC, (4.0, 5.0), "It!", (3.0,), "Judge.")
PAIR = ResponsePair("p-1", "c", "g", "Say it.", ("It.", "No."), "a", RUBRIC, ("Judge it.", "Judge no."))
QUESTION = Question("q-1", "c", "Is it?", (Choice("Yes", True, True), Choice("No", False, True)))
LABELLED = LabelledAnswer("l-1", "c", "Is it?", "Yes", True, QUESTION)


@pytest.mark.parametrize(
    ("item", "changes"),
    [
        (
            GRADED,
            {
                "id": "g-2",
                "category": "d",
                "group": "h",
                "instruction": "Say so.",
                "response": "So.",
                "rubric": Rubric("Wrong?", RUBRIC.anchors),
                "scores": (5.0, 4.0),
                "reference": None,
                "human_scores": (),
                "judge_prompt": None,
            },
        ),
        (GRADED, {"rubric": Rubric("Right?")}),
        (
            PAIR,
            {
                "id": "p-2",
                "category": "d",
                "group": "h",
                "instruction": "Say so.",
                "responses": ("It.", "Never."),
                "winner": "b",
                "rubric": Rubric("Right?"),
                "judge_prompts": None,
            },
        ),
        (PAIR, {"winner": "tie"}),
        (
            LABELLED,
            {
                "id": "l-2",
                "category": "d",
                "question": "Was it?",
                "answer": "No",
                "truthful": False,
                "references": replace(QUESTION, best="Yes"),
            },
        ),
        (LABELLED, {"references": None}),
    ],
)
def test_every_part_of_an_item_is_in_the_digest(item: Item, changes: dict[str, Any]) -> None:
    """Grades, labels, rubric and reference are data as the texts are."""
    digests = {data_digest([replace(item, **{name: value})]) for name, value in changes.items()}
    assert len(digests | {data_digest([item])}) == len(changes) + 1


@pytest.mark.parametrize(("winner", "other"), [("a", "b"), ("b", "a"), ("tie", "tie")])
@pytest.mark.parametrize("responses", [("It.", "No."), ("It.", "It.")])
def test_which_response_comes_first_is_not(winner: Any, other: Any, responses: tuple[str, str]) -> None:
    """Neither with different responses nor with equal ones."""
    one = replace(PAIR, responses=responses, winner=winner)
    swapped = replace(one, responses=responses[::-1], judge_prompts=("Judge no.", "Judge it."), winner=other)
    assert data_digest([one]) == data_digest([swapped])
