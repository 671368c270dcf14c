"""A team's own graded responses and pairs: the documented forms, and every mistake by file and line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.judge_files import ANCHORS, CRITERION
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.own_judging import load_direct, load_pairwise
from truthguard.benchmarks.table import UNCATEGORISED
from truthguard.errors import DataError
from truthguard.judges.grading_prompts import DEFAULT_RUBRIC
from truthguard.records import GradedResponse, ResponsePair, Rubric

RUBRIC = "\n".join([f"[{CRITERION}]", *(f"Score {n}: {anchor}" for n, anchor in enumerate(ANCHORS, 1))])
GRADED: dict[str, Any] = {
    "id": "seasons",
    "category": "nature",
    "instruction": "Name the seasons.",
    "response": "Spring.",
    "score": 2,
    "reference": "All four.",
    "rubric": RUBRIC,
    "source": "a model",
}
PAIR: dict[str, Any] = {"instruction": "Name the seasons.", "a": "Spring.", "b": "All four.", "winner": "b"}
LOADERS = {"direct": load_direct, "pairwise": load_pairwise}
ROWS = {"direct": GRADED, "pairwise": PAIR}


def read(folder: Path, kind: str, *rows: dict[str, Any]) -> QuestionSet:
    path = folder / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return LOADERS[kind](path, "own")


def mistakes(folder: Path, kind: str, *rows: dict[str, Any]) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(folder, kind, *rows)
    return [str(mistake).removeprefix(str(folder / "own.jsonl")) for mistake in caught.value.mistakes]


def as_csv(folder: Path, kind: str, *rows: dict[str, Any]) -> QuestionSet:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (folder / "own.csv").write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode())
    return LOADERS[kind](folder / "own.csv", "own")


def test_a_graded_response(tmp_path: Path) -> None:
    """Every field has its place; CSV and JSON Lines give the same item."""
    items = read(tmp_path, "direct", GRADED)
    assert items.items == (
        GradedResponse(
            id="seasons",
            category="nature",
            group="Name the seasons.",
            instruction="Name the seasons.",
            response="Spring.",
            rubric=Rubric(CRITERION, ANCHORS),
            scores=(2.0,),
            reference="All four.",
        ),
    )
    assert (items.kind, items.name, items.counts) == ("direct", "own", {"dropped_choices": 0})
    assert as_csv(tmp_path, "direct", GRADED).items == items.items


def test_what_is_optional_has_its_default(tmp_path: Path) -> None:
    """No category, no reference, our rubric (counted), an id by content."""
    bare = {name: GRADED[name] for name in ("instruction", "response", "score")}
    items = read(tmp_path, "direct", bare, {**bare, "source": "another"}, {**bare, "category": None})
    first, second, third = items.items
    assert isinstance(first, GradedResponse)
    assert (first.category, first.reference, first.rubric) == (UNCATEGORISED, None, DEFAULT_RUBRIC)
    assert first.id.startswith("g-")
    assert second.id.rpartition("-")[2] != first.id.rpartition("-")[2]
    assert third.id == f"{first.id}-2"
    assert items.counts == {"dropped_choices": 0, "default_rubrics": 3, "repeated_ids": 1, "repeated_responses": 2}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (4, (4.0,)),
        (4.5, (4.5,)),
        ("4", (4.0,)),
        (" 4.0 ", (4.0,)),
        ([4, 5, 4.5], (4.0, 5.0, 4.5)),
        ("1; 5", (1.0, 5.0)),
    ],
)
def test_a_score_is_one_number_or_several(tmp_path: Path, score: object, expected: tuple[float, ...]) -> None:
    """A number or its text; several as a list, or as one text with ; between them."""
    items = read(tmp_path, "direct", {**GRADED, "score": score})
    assert [item.scores for item in items.items if isinstance(item, GradedResponse)] == [expected]


@pytest.mark.parametrize(
    ("score", "found"),
    [
        (0, "0"),
        (6, "6"),
        (5.01, "5.01"),
        (True, "True"),
        ("four", "'four'"),
        ("4,5", "'4,5'"),
        ("4/5", "'4/5'"),
        ("0", "'0'"),
        ("4;6.50", "'6.50'"),
        ("4;", "''"),
        ("1e0", "'1e0'"),
        ("\u0664", "'\u0664'"),
        (["4"], "'4'"),
        ([[4]], "[4]"),
        ({"a": 1}, "an object"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_a_score_that_is_none_is_refused_with_its_line(tmp_path: Path, score: object, found: str) -> None:
    """What is no number from 1 to 5 is never made one."""
    assert mistakes(tmp_path, "direct", GRADED | {"id": "x"}, {**GRADED, "score": score}) == [
        f":2: 'score': expected a grade from 1 to 5, found {found}"
    ]


def test_all_mistakes_of_graded_responses_are_told_at_once(tmp_path: Path) -> None:
    """Each with its line."""
    rows: list[dict[str, Any]] = [
        {"instruction": "x", "response": "y"},
        {"instruction": "x", "response": " ", "score": []},
        {"instruction": 5, "response": "y", "score": 1, "source": 3},
        {"response": "y", "score": 1, "rubric": "[ ]"},
        {"instruction": "x", "response": "y", "score": 1, "rubric": RUBRIC.replace("Score 2:", "Score 3:")},
        {"instruction": "x", "response": "y", "score": 1, "refrence": "z"},
    ]
    assert mistakes(tmp_path, "direct", *rows) == [
        ":6: unknown field 'refrence'; did you mean 'reference'?",
        ":1: 'score': no grade",
        ":2: 'response' is empty: give a text",
        ":2: 'score': an empty list of grades: at least one is needed",
        ":3: expected a text as 'instruction', found 5",
        ":3: expected a text as 'source', found 3",
        ":4: no 'instruction'",
        ":4: 'rubric': the rubric has no criterion: expected it before the line 'Score 1: ...'",
        ":5: 'rubric': expected the lines 'Score 1: ...' to 'Score 5: ...' in this order, found those of 1, 3, 3, 4, 5",
    ]


@pytest.mark.parametrize(("winner", "expected"), [("a", "a"), ("B", "b"), (" Tie ", "tie")])
def test_a_pair(tmp_path: Path, winner: str, expected: str) -> None:
    """The winner in any case; CSV and JSON Lines give the same item."""
    row = {**PAIR, "winner": winner, "rubric": "Is it complete?", "category": "nature"}
    items = read(tmp_path, "pairwise", row)
    item = items.items[0]
    assert isinstance(item, ResponsePair)
    assert (item.responses, item.winner) == (("Spring.", "All four."), expected)
    assert (item.rubric, item.category, item.group) == (Rubric("Is it complete?"), "nature", "Name the seasons.")
    assert (items.kind, items.counts) == ("pairwise", {"dropped_choices": 0})
    assert as_csv(tmp_path, "pairwise", row).items == items.items


def test_swapping_a_and_b_keeps_id_and_digest(tmp_path: Path) -> None:
    """Two files that differ in nothing else are the same data."""
    swapped = {**PAIR, "a": PAIR["b"], "b": PAIR["a"], "winner": "a"}
    one, other = read(tmp_path, "pairwise", PAIR), read(tmp_path, "pairwise", swapped)
    assert one.items[0].id == other.items[0].id
    assert one.items[0].id.startswith("p-")
    assert one.data_sha256 == other.data_sha256
    assert read(tmp_path, "pairwise", {**swapped, "winner": "b"}).data_sha256 != one.data_sha256


def test_oddities_of_own_pairs_are_counted(tmp_path: Path) -> None:
    """Kept as they are labelled: equal responses, and labels that contradict each other."""
    rows = [PAIR, {**PAIR, "winner": "tie"}, {**PAIR, "a": "x", "b": "x", "winner": "a"}]
    assert read(tmp_path, "pairwise", *rows).counts == {
        "dropped_choices": 0,
        "contradicting_labels": 2,
        "default_rubrics": 3,
        "identical_decided": 1,
        "identical_responses": 1,
        "repeated_ids": 1,
    }


def test_all_mistakes_of_pairs_are_told_at_once(tmp_path: Path) -> None:
    """Each with its line."""
    rows: list[dict[str, Any]] = [{**PAIR, "winner": "c"}, {"instruction": "x", "a": "y"}, {**PAIR, "winner": 1}]
    assert mistakes(tmp_path, "pairwise", *rows) == [
        ":1: expected a, b or tie as 'winner', found 'c'",
        ":2: no 'b'",
        ":2: no 'winner'",
        ":3: expected a text as 'winner', found 1",
    ]


@pytest.mark.parametrize("kind", ["direct", "pairwise"])
def test_a_table_of_another_form_is_told_once(tmp_path: Path, kind: str) -> None:
    """A header of questions is not one of graded responses or pairs."""
    (tmp_path / "own.csv").write_text("question,best_answer\nx,y\n")
    with pytest.raises(DataError) as caught:
        LOADERS[kind](tmp_path / "own.csv", "own")
    assert "no column 'instruction'" in str(caught.value)
    assert {mistake.line for mistake in caught.value.mistakes} == {1}


@pytest.mark.parametrize("kind", ["direct", "pairwise"])
def test_an_empty_file_is_told(tmp_path: Path, kind: str) -> None:
    """No rows are no measurement."""
    noun = "responses" if kind == "direct" else "pairs"
    assert mistakes(tmp_path, kind) == [f": no {noun}"]


@pytest.mark.parametrize("kind", ["direct", "pairwise"])
def test_ids_of_ones_own_are_all_or_none(tmp_path: Path, kind: str) -> None:
    """As everywhere."""
    row = {name: value for name, value in ROWS[kind].items() if name != "id"}
    found = mistakes(tmp_path, kind, {**row, "id": "x y"}, row)
    assert [mistake[:8] for mistake in found] == [":1: id '", ":2: no i"]
