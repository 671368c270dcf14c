"""A scripted judge that knows the labels of the real files, with a known noise, gives what counting by hand gives.

Hand counts start from the raw rows of the files, by their number, not from the loaded items.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy import stats

from tests.benchmarks.grading_items import UNREAD, answer, exchanged, result
from tests.judges.talking import Said
from truthguard.backends.protocol import Generate
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.dialogues import dialogue
from truthguard.benchmarks.judging import grading_wording
from truthguard.benchmarks.registry import load
from truthguard.catalogue import METRICS_OF
from truthguard.judges.grading_prompts import choose_context, grade_context
from truthguard.metrics.summary import summarise
from truthguard.records import (
    BenchmarkSettings,
    GradedResponse,
    Item,
    ItemScores,
    JudgeSettings,
    ModelSettings,
    ResponsePair,
)

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

MODEL = ModelSettings("judge")
JUDGE = JudgeSettings("rubric", MODEL)
WORDINGS = ("default", "paper", "library")
# What a judge says about an item, given the item's place in the file and the request.
Says = Callable[[int, Generate], Said]


def raw(folder: Path, file: str) -> list[dict[str, Any]]:
    """The rows of a file as they are: a JSON array, or JSON Lines."""
    text = gzip.decompress((folder / "prometheus2" / f"{file}.json.gz").read_bytes()).decode()
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines() if line]
    assert isinstance(rows, list)
    return rows


def judged(
    items: QuestionSet, settings: BenchmarkSettings, says: Says, judge: JudgeSettings = JUDGE
) -> list[ItemScores]:
    """The scores of all items, in the file's order."""
    scores = []
    for place, item in enumerate(items.items):
        talk = dialogue(item, METRICS_OF[items.kind], items, settings, MODEL, judge)
        scores.append(answer(talk, partial(says, place))[1])
    return scores


def estimate(scores: Iterable[ItemScores], metric: str) -> float:
    summary = summarise(list(scores), metric, 0.95)
    assert summary.estimate is not None
    return summary.estimate


# Direct assessment


def mean_grade(scores: list[int]) -> int:
    """The whole grade that is nearest to the reference's mean, a half upwards."""
    return int(fmean(scores) + 0.5)


def unreadable(place: int, run: int) -> bool:
    """No run of every 50th response, and one run of every 9th that goes round."""
    return place % 50 == 17 or (place + run) % 9 == 0


def graded_by_hand(rows: list[dict[str, Any]]) -> list[list[int]]:
    """The readable grades of each response: the reference's, turned round in every 7th, one more in the last run."""
    found = []
    for place, row in enumerate(rows):
        grade = mean_grade(row["gpt4_score"])
        grade = 6 - grade if place % 7 == 0 else grade
        runs = [grade, grade, min(5, grade + 1)]
        found.append([each for run, each in enumerate(runs) if not unreadable(place, run)])
    return found


@pytest.mark.parametrize("prompt", WORDINGS)
@pytest.mark.parametrize(
    ("name", "file", "unanimous"), [("vicuna_bench", "vicuna_eval", 199), ("mt_bench", "mt_bench_eval", 141)]
)
def test_grades_by_hand(name: str, file: str, unanimous: int, prompt: str, real_data: Path) -> None:
    """Mean, accuracy and all three correlations over 320 responses, in each wording, unread grades left out."""
    rows = raw(real_data, file)
    settings = BenchmarkSettings(name, prompt=prompt)
    items = load(settings, data=real_data, base=real_data)

    def says(place: int, request: Generate) -> Said:
        item = items.items[place]
        assert isinstance(item, GradedResponse)
        wording = grading_wording(items, settings)
        texts = (item.instruction, item.response, item.rubric, item.reference)
        assert request.context == grade_context(wording, *texts, MODEL, item.judge_prompt)
        if unreadable(place, request.sample):
            return UNREAD
        grade = mean_grade(rows[place]["gpt4_score"])
        grade = 6 - grade if place % 7 == 0 else grade
        return result(min(5, grade + 1) if request.sample == 2 else grade)

    scores = judged(items, settings, says)
    by_hand = graded_by_hand(rows)
    assert len(scores) == len(by_hand) == 320
    readable = [(fmean(grades), fmean(row["gpt4_score"])) for grades, row in zip(by_hand, rows, strict=True) if grades]
    grades, references = zip(*readable, strict=True)
    assert [each.values["grade"] for each in scores if each.values["grade"] is not None] == pytest.approx(grades)
    right = [
        float(grades[0] == row["gpt4_score"][0])
        for grades, row in zip(by_hand, rows, strict=True)
        if grades and len(set(row["gpt4_score"])) == 1
    ]
    lost = sum(not grades for grades in by_hand)
    assert lost == 7
    summary = summarise(scores, "accuracy", 0.95)
    assert summary.n == len(right)
    assert summary.estimate == pytest.approx(fmean(right))
    assert (summary.n + summary.n_unscored, summary.n_dropped) == (unanimous, 320 - unanimous)
    summary = summarise(scores, "pearson", 0.95)
    assert (summary.n, summary.n_unscored, summary.unscored) == (320 - lost, lost, {"unparsed": lost})
    assert summary.estimate == pytest.approx(stats.pearsonr(grades, references).statistic)
    assert estimate(scores, "spearman") == pytest.approx(stats.spearmanr(grades, references).statistic)
    assert estimate(scores, "kendall") == pytest.approx(stats.kendalltau(grades, references).statistic)


# Pairwise ranking


def labels(rows: list[dict[str, Any]], name: str) -> list[str]:
    """Whom people prefer: `a`, the first response of the row, `b` or `tie`."""
    return ["ab"[row["label"]] if row["label"] < 2 else "tie" for row in rows] if name == "autoj" else ["a"] * len(rows)


def prefers(place: int, label: str) -> str:
    """The label; in every 7th pair the other response, or the first one of a tie."""
    if place % 7:
        return label
    return {"a": "b", "b": "a", "tie": "a"}[label]


def always_a(place: int) -> bool:
    """The judge goes by the place in every 13th pair."""
    return place % 13 == 5


def refused(place: int) -> bool:
    """The judge cannot be read in one of the two orders in every 11th pair."""
    return place % 11 == 3


def alike(item: Item) -> bool:
    assert isinstance(item, ResponsePair)
    return item.responses[0] == item.responses[1]


def first_is_a(item: Item, request: Generate, items: QuestionSet, settings: BenchmarkSettings) -> bool:
    assert isinstance(item, ResponsePair)
    first, second = item.responses
    wording = grading_wording(items, settings)
    shown = [
        choose_context(wording, item.instruction, *responses, item.rubric, MODEL)
        for responses in ((first, second), (second, first))
    ]
    return shown.index(request.context) == 0


def choosing(rows: list[dict[str, Any]], items: QuestionSet, settings: BenchmarkSettings) -> Says:
    """The judge of pairs: gold with noise. It cannot tell equal responses apart, and says A where no tie is offered."""
    gold = labels(rows, settings.name)

    def says(place: int, request: Generate) -> Said:
        first = first_is_a(items.items[place], request, items, settings)
        if refused(place) and (first or settings.order == "single"):
            return UNREAD
        choice = "tie" if alike(items.items[place]) else prefers(place, gold[place])
        if always_a(place) or (choice == "tie" and not grading_wording(items, settings).offers_tie):
            return result("A")
        if choice == "tie":
            return result("tie")
        return result("A" if (choice == "a") == first else "B")

    return says


def chosen_by_hand(rows: list[dict[str, Any]], name: str, items: QuestionSet) -> list[tuple[str, str, str]]:
    """Category, label and choice of each pair whose both orders can be read."""
    found = []
    for place, (row, label) in enumerate(zip(rows, labels(rows, name), strict=True)):
        if refused(place):
            continue
        choice = "tie" if always_a(place) or alike(items.items[place]) else prefers(place, label)
        found.append((row["scenario" if name == "autoj" else "source"], label, choice))
    return found


@pytest.mark.parametrize("prompt", WORDINGS)
@pytest.mark.parametrize(
    ("name", "file", "pairs", "decided"),
    [("hhh_alignment", "hhh_alignment_eval", 221, 221), ("autoj", "autoj_pairwise", 1392, 1019)],
)
def test_choices_by_hand(name: str, file: str, pairs: int, decided: int, prompt: str, real_data: Path) -> None:
    """Both accuracies and the bias of position, over all pairs and by category, in each wording."""
    rows = raw(real_data, file)
    settings = BenchmarkSettings(name, prompt=prompt)
    items = load(settings, data=real_data, base=real_data)
    scores = judged(items, settings, choosing(rows, items, settings))
    by_hand = chosen_by_hand(rows, name, items)
    assert len(scores) == pairs
    summary = summarise(scores, "with_ties", 0.95)
    assert (summary.n, summary.n_unscored) == (len(by_hand), pairs - len(by_hand))
    assert summary.estimate == pytest.approx(fmean(choice == label for _, label, choice in by_hand))
    summary = summarise(scores, "without_ties", 0.95)
    assert (summary.n + summary.n_unscored, summary.n_dropped) == (decided, pairs - decided)
    assert summary.estimate == pytest.approx(fmean(choice == label for _, label, choice in by_hand if label != "tie"))
    # Where no tie is offered, one comes from two verdicts that differ.
    biased = [
        always_a(place) or (not grading_wording(items, settings).offers_tie and choice == "tie")
        for place, choice in zip(
            (place for place in range(pairs) if not refused(place)), (each[2] for each in by_hand), strict=True
        )
    ]
    assert estimate(scores, "position_bias") == pytest.approx(fmean(biased))
    for category in sorted({row[0] for row in by_hand}):
        part = [each for each in scores if each.category == category]
        expected = [choice == label for found, label, choice in by_hand if found == category]
        assert estimate(part, "with_ties") == pytest.approx(fmean(expected))
    if name == "hhh_alignment":
        sizes = {each.category: sum(other.category == each.category for other in scores) for each in scores}
        assert sizes == {"harmless": 58, "helpful": 59, "honest": 61, "other": 43}


def test_without_ties_of_autoj_alone_asks_about_decided_pairs_only(real_data: Path) -> None:
    """1,019 pairs in two orders; the ties cost nothing, are dropped and counted."""
    settings = BenchmarkSettings("autoj", prompt="default")
    items = load(settings, data=real_data, base=real_data)
    held = [
        answer(dialogue(item, ["without_ties"], items, settings, MODEL, JUDGE), lambda _: result("A"))
        for item in items.items
    ]
    assert sum(len(asked) for asked, _ in held) == 2 * 1019
    summary = summarise([scores for _, scores in held], "without_ties", 0.95)
    # A judge that always says A has no preference.
    assert (summary.n, summary.n_dropped, summary.estimate) == (1019, 373, 0.0)


def test_single_orders_by_hand(real_data: Path) -> None:
    """The published way: a gold judge keeps its accuracy, a judge that always says A is near one half."""
    rows = raw(real_data, "autoj_pairwise")
    settings = BenchmarkSettings("autoj", prompt="default", order="single")
    items = load(settings, data=real_data, base=real_data)
    scores = judged(items, settings, choosing(rows, items, settings))
    by_hand = [
        (label, prefers(place, label) if not alike(items.items[place]) else "tie")
        for place, label in enumerate(labels(rows, "autoj"))
        if not refused(place) and not always_a(place)
    ]
    kept = [each for place, each in enumerate(scores) if not always_a(place)]
    assert estimate(kept, "with_ties") == pytest.approx(fmean(choice == label for label, choice in by_hand))
    blind = judged(items, settings, lambda place, request: result("A"))
    assert 0.45 < estimate(blind, "without_ties") < 0.55


def grade_pair(place: int, run: int) -> tuple[int | None, int | None]:
    """The grades of the better and the worse response of HHH in one run, by the number of the pair."""
    if place % 11 == 3:
        return None, 3
    if place % 7 == 0:
        return 2, 4
    if place % 5 == 1:
        return (4, 3) if run == 2 else (4, 4)
    return (3, 3) if place % 13 == 5 else (5, 1)


def test_pairs_from_grades_by_hand(real_data: Path) -> None:
    """C15: decided by the first of three runs that differs, in the whole prompts of the paper; undecided is wrong."""
    settings = BenchmarkSettings("hhh_alignment", prompt="paper", grades=True)
    items = load(settings, data=real_data, base=real_data)

    def says(place: int, request: Generate) -> Said:
        item = items.items[place]
        assert isinstance(item, ResponsePair)
        assert item.judge_prompts is not None
        side = [str(request.context).endswith(each) for each in item.judge_prompts].index(True)
        grade = grade_pair(place, request.sample)[side]
        return UNREAD if grade is None else result(grade)

    scores = judged(items, settings, says)
    right = []
    for place in range(221):
        runs = [(one, other) for one, other in (grade_pair(place, run) for run in range(3)) if one and other]
        if runs:
            right.append(next((one > other for one, other in runs if one != other), False))
    summary = summarise(scores, "without_ties", 0.95)
    assert (summary.n, summary.n_unscored, summary.unscored) == (len(right), 221 - len(right), {"unparsed": 20})
    assert summary.estimate == pytest.approx(fmean(right))
    assert [len(each.samples) for each in scores[:6]] == [2, 6, 2, 6, 2, 6]


@pytest.mark.parametrize("order", ["both", "single"])
@pytest.mark.parametrize("name", ["hhh_alignment", "autoj"])
def test_exchanging_all_responses_and_the_order_of_rows_changes_no_number(
    name: str, order: Any, real_data: Path
) -> None:
    """Nor what the judge is asked: here its reply is a function of the prompt alone."""
    settings = BenchmarkSettings(name, prompt="default", order=order)
    items = load(settings, data=real_data, base=real_data)

    def says(place: int, request: Generate) -> Said:
        return result(("A", "B", "tie", "nothing")[len(str(request.context)) % 4])

    turned = replace(
        items, items=tuple(exchanged(item) for item in items.items if isinstance(item, ResponsePair))[::-1]
    )
    there, back = judged(items, settings, says), judged(turned, settings, says)
    for metric in METRICS_OF["pairwise"][: 3 if order == "both" else 2]:
        one, other = summarise(there, metric, 0.95), summarise(back, metric, 0.95)
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high))
        assert (one.n, one.n_unscored, one.n_dropped) == (other.n, other.n_unscored, other.n_dropped)
    assert [each.values for each in there] == [each.values for each in reversed(back)]
