"""What a set must hold, and how it must be asked, for a metric of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.grading_items import GRADED, PAIR
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.judged_sets import unavailable
from truthguard.benchmarks.judging import grading_wording
from truthguard.catalogue import METRICS_OF
from truthguard.errors import UsageError
from truthguard.records import BenchmarkSettings, Item, LabelledAnswer

TEXTS = {
    "ABSOLUTE_PROMPT": "Grade {orig_instruction} {orig_response} {score_rubric}",
    "RELATIVE_PROMPT": "Choose {orig_instruction} {response_A} {response_B} {score_rubric}",
    "ABS_SYSTEM_PROMPT": "fair",
    "REL_SYSTEM_PROMPT": "fair",
}


def of(kind: Any, items: Sequence[Item]) -> QuestionSet:
    return QuestionSet("faq", None, tuple(items), TEXTS, "", "", {}, Path("faq.jsonl"), kind)


def why(metric: str, kind: str, items: Sequence[Item], **settings: Any) -> str:
    return str(unavailable(metric, of(kind, items), BenchmarkSettings("faq", **{"prompt": "default", **settings})))


@pytest.mark.parametrize("metric", ["pearson_human", "spearman_human", "kendall_human"])
def test_agreement_with_people_needs_peoples_grades(metric: str) -> None:
    """One item with some is enough: the others are dropped and counted."""
    assert f"{metric} needs grades of people" in why(metric, "direct", [GRADED])
    assert why(metric, "direct", [GRADED, replace(GRADED, human_scores=(3.0,))]) == "None"


def test_accuracy_needs_one_whole_grade() -> None:
    """Of one response at least; a mean of several can be met by no grade."""
    several = replace(GRADED, scores=(4.0, 5.0, 4.0))
    assert "no response has one: use pearson" in why("accuracy", "direct", [several, replace(GRADED, scores=(3.5,))])
    assert why("accuracy", "direct", [several, GRADED]) == "None"
    assert why("pearson", "direct", [several]) == "None"


def test_without_ties_needs_a_decided_pair() -> None:
    """A set without ties is no mistake: its two numbers are equal."""
    tied = replace(PAIR, winner="tie")
    assert "use with_ties" in why("without_ties", "pairwise", [tied, tied])
    assert why("with_ties", "pairwise", [tied]) == "None"
    assert [why(metric, "pairwise", [PAIR]) for metric in METRICS_OF["pairwise"]] == ["None"] * 3


def test_position_bias_needs_both_orders() -> None:
    """Not one that is drawn, and not responses that are shown alone."""
    assert "leave order out" in why("position_bias", "pairwise", [PAIR], order="single")
    assert "leave grades out" in why("position_bias", "judge_starter", [GRADED, PAIR], grades=True)
    assert why("without_ties", "pairwise", [PAIR], order="single") == "None"
    assert why("without_ties", "pairwise", [PAIR], grades=True) == "None"


@pytest.mark.parametrize("metric", ["pearson", "accuracy", "consistency"])
def test_the_paper_has_no_words_for_a_reference_beside_ones_own_responses(metric: str) -> None:
    """Found before anything is asked; library, no reference, and the sets' own prompts are ways out."""
    assert "'g' has: use prompt = \"library\", or reference = false" in why(metric, "direct", [GRADED], prompt="paper")
    assert why(metric, "direct", [GRADED], prompt="paper", reference=False) == "None"
    assert why(metric, "direct", [replace(GRADED, judge_prompt="whole")], prompt="paper") == "None"
    assert why(metric, "direct", [replace(GRADED, reference=None)], prompt="paper") == "None"
    assert why(metric, "direct", [GRADED]) == "None"
    assert why("with_ties", "judge_starter", [GRADED, PAIR], prompt="paper") == "None"


def test_published_words_that_are_not_as_expected_are_a_usage_error() -> None:
    """The file that lacks them is got again; ours ask for no file."""
    items = replace(of("direct", [GRADED]), primers={})
    with pytest.raises(UsageError, match="truthguard fetch prometheus"):
        unavailable("pearson", items, BenchmarkSettings("faq", prompt="library"))
    assert grading_wording(items, BenchmarkSettings("faq", prompt="default")).name == "default"


def test_shares_of_labels_need_such_labels() -> None:
    """Sensitivity is of those that people call truthful, specificity of the others."""
    yes, no = (LabelledAnswer(f"{label}", "c", "q?", "a", label) for label in (True, False))
    assert "there is none" in why("sensitivity", "truthful_judge", [no])
    assert "there is none" in why("specificity", "truthful_judge", [yes])
    assert [why(metric, "truthful_judge", [yes, no]) for metric in METRICS_OF["truthful_judge"]] == ["None"] * 4
