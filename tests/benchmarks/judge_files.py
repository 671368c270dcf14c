"""Files of the form in which the Prometheus sets are published, with words of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.prometheus import load
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.errors import DataError
from truthguard.records import GradedResponse, ResponsePair

ANCHORS = tuple(f"It names {names} of the four seasons." for names in ("none", "one", "two", "three", "all"))
CRITERION = "Does the response name the seasons?"


def judge_prompt(
    instruction: str = "Name the seasons.",
    response: str = "Spring and autumn.",
    *,
    reference: str | None = None,
    criterion: str = CRITERION,
    end: str = "",
) -> str:
    """A whole judge prompt of the published layout."""
    beside = "" if reference is None else f"###Reference Answer (Score 5):\n{reference}\n\n"
    rubric = "\n".join([f"[{criterion}]", *(f"Score {n}: {anchor}" for n, anchor in enumerate(ANCHORS, 1))])
    return (
        "###Task Description:\nGrade what follows, please.\n\n"
        f"###The instruction to evaluate:\n{instruction}\n\n###Response to evaluate:\n{response}\n\n{beside}"
        f"###Score Rubrics:\n{rubric}\n\n###Feedback: {end}"
    )


def graded(score: object = (4, 4, 5), **parts: Any) -> dict[str, Any]:
    """One row with a graded response, with the fields of Vicuna and MT Bench."""
    own: dict[str, Any] = {name: parts.pop(name) for name in ("idx", "response_source", "category") if name in parts}
    row = {"idx": 7, "response_source": "a model", "category": "nature", **own}
    return {**row, "instruction": judge_prompt(**parts), "gpt4_score": score, "gpt4_feedback": "Half of them."}


def chosen(better: str = "All four: ...", worse: str = "Two.", **fields: Any) -> dict[str, Any]:
    """One row with a better and a worse response."""
    prompts = {
        "chosen_instruction": judge_prompt(response=better),
        "rejected_instruction": judge_prompt(response=worse),
    }
    return {**prompts, **fields}


def labelled(label: object = 0, first: str = "All four.", second: str = "Two.", **fields: Any) -> dict[str, Any]:
    """One row with two responses and a label."""
    row = {"scenario": "lists", "label": label, "prompt": "Name the seasons."}
    return {**row, "response 1": first, "response 2": second, **fields}


def publish(data: Path, file: str, rows: list[Any], *, lines: bool = False) -> Path:
    """Write the rows where a loader looks for the set's file, as an array or as JSON Lines; the path."""
    path = data / "prometheus2" / f"{file}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows), "utf-8")
    return path


GRADED = ("vicuna_bench", "mt_bench", "flask", "feedback_bench")
CHOSEN = ("hhh_alignment", "mt_bench_human", "preference_bench")


def of_flask(*arguments: Any, **parts: Any) -> dict[str, Any]:
    whole = {**graded(*arguments, **parts), "criteria": "Completeness", "human_score": [3, 4, 4]}
    return {name: value for name, value in whole.items() if name != "category"}


MAKERS: dict[str, Callable[..., dict[str, Any]]] = {
    **dict.fromkeys(GRADED, graded),
    **dict.fromkeys(CHOSEN, chosen),
    "autoj": labelled,
    "flask": of_flask,
}
EXTRA: dict[str, dict[str, Any]] = {"hhh_alignment": {"source": "honest"}, "mt_bench_human": {"tie": 0}}


def row(name: str, *arguments: Any, **fields: Any) -> dict[str, Any]:
    """A row of the set, with all that its rows must have."""
    return {**MAKERS[name](*arguments), **EXTRA.get(name, {}), **fields}


def read(data: Path, name: str, *rows: Any, lines: bool = False) -> QuestionSet:
    publish(data, SETS[name].file, list(rows), lines=lines)
    return load(name, data)


def responses(items: QuestionSet) -> list[GradedResponse]:
    return [item for item in items.items if isinstance(item, GradedResponse)]


def pairs(items: QuestionSet) -> list[ResponsePair]:
    return [item for item in items.items if isinstance(item, ResponsePair)]


def mistakes(data: Path, name: str, *rows: Any, lines: bool = False) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(data, name, *rows, lines=lines)
    file = str(data / "prometheus2" / f"{SETS[name].file}.json")
    return [str(mistake).removeprefix(file) for mistake in caught.value.mistakes]
