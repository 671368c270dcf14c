"""What a set must hold, and how it must be asked, for a metric of the judge to be had of it."""

from __future__ import annotations

from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.grading import one_grade
from truthguard.benchmarks.judging import grading_wording
from truthguard.catalogue import GRADING_KINDS, HUMAN, METRICS
from truthguard.judges.grading_prompts import GradingWording
from truthguard.records import BenchmarkSettings, GradedResponse, LabelledAnswer, Missing, ResponsePair


def unavailable(metric: str, items: QuestionSet, settings: BenchmarkSettings) -> str | None:
    """Why `metric` cannot be had of these items as they are asked, and what to do; None when it can.

    Raises UsageError where the published wording that `settings` name is not usable.
    """
    if items.kind not in GRADING_KINDS:
        return _of_labels(metric, items)
    wording = grading_wording(items, settings)
    responses = [item for item in items.items if isinstance(item, GradedResponse)]
    pairs = [item for item in items.items if isinstance(item, ResponsePair)]
    if metric in ("without_ties", "with_ties", "position_bias"):
        return _of_pairs(metric, pairs, settings)
    return _of_responses(metric, responses) or _unworded(responses, settings, wording)


def _of_labels(metric: str, items: QuestionSet) -> str | None:
    labels = {item.truthful for item in items.items if isinstance(item, LabelledAnswer)}
    if metric == "sensitivity" and True not in labels:
        return "sensitivity is a share of the answers that people call truthful, and there is none"
    if metric == "specificity" and False not in labels:
        return "specificity is a share of the answers that people do not call truthful, and there is none"
    return None


def _of_responses(metric: str, responses: list[GradedResponse]) -> str | None:
    if HUMAN in METRICS[metric].columns and not any(item.human_scores for item in responses):
        return f"{metric} needs grades of people, and there are none: of the published sets flask has them"
    if metric == "accuracy" and all(isinstance(one_grade(item), Missing) for item in responses):
        return (
            "accuracy needs a reference of one whole grade, and no response has one: use pearson, spearman or kendall"
        )
    return None


def _unworded(responses: list[GradedResponse], settings: BenchmarkSettings, wording: GradingWording) -> str | None:
    """A reference answer that the wording has no place for."""
    if wording.grade_with_reference is not None or not settings.reference:
        return None
    bare = [item for item in responses if item.reference is not None and item.judge_prompt is None]
    if not bare:
        return None
    return (
        f'prompt = "{wording.name}" has no words for grading beside a reference answer, which {bare[0].id!r} has:'
        ' use prompt = "library", or reference = false'
    )


def _of_pairs(metric: str, pairs: list[ResponsePair], settings: BenchmarkSettings) -> str | None:
    if metric == "without_ties" and all(item.winner == "tie" for item in pairs):
        return "without_ties needs pairs of which people prefer one response, and all are ties: use with_ties"
    if metric == "position_bias" and settings.grades:
        return "position_bias needs both orders, and grades = true shows each response alone: leave grades out"
    if metric == "position_bias" and settings.order != "both":
        return f'position_bias needs both orders, and order = "{settings.order}" shows one: leave order out'
    return None
