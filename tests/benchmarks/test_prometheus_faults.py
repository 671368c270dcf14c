"""Files of the Prometheus sets that are missing or of another form, and the published words beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.judge_files import graded, labelled, mistakes, pairs, publish, row
from truthguard.benchmarks.prometheus import load, read_wordings
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.errors import DataError
from truthguard.records import Rubric


@pytest.mark.parametrize("name", list(SETS))
def test_a_missing_file_says_how_to_get_it(tmp_path: Path, name: str) -> None:
    """Its name, the folder, the command and the option."""
    with pytest.raises(DataError) as caught:
        load(name, tmp_path)
    for part in (
        f"{SETS[name].file}.json",
        str(tmp_path / "prometheus2"),
        "truthguard fetch prometheus",
        "TRUTHGUARD_DATA",
    ):
        assert part in str(caught.value)


def test_prometheus_1_s_mt_bench_has_no_grades(tmp_path: Path) -> None:
    """One error for the file, not one for each row."""
    rows = [{key: value for key, value in graded().items() if not key.startswith("gpt4")}] * 3
    assert mistakes(tmp_path, "mt_bench", *rows, lines=True) == [
        ": no row has a 'gpt4_score' (Prometheus 1 published MT Bench so): take the file of Prometheus 2"
    ]


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        (
            "vicuna_bench",
            {**graded(), "instruction": "Grade this."},
            "'instruction': no line begins with '###Task Desc",
        ),
        ("vicuna_bench", {**graded(), "instruction": 5}, "'instruction': expected a text as 'instruction', found 5"),
        ("vicuna_bench", graded(6), "'gpt4_score': expected a grade from 1 to 5, found 6"),
        ("vicuna_bench", graded([4, None]), "'gpt4_score': expected a grade from 1 to 5, found None"),
        ("vicuna_bench", graded([]), "'gpt4_score': an empty list of grades"),
        ("vicuna_bench", graded(True), "found True"),
        ("vicuna_bench", graded("4"), "found '4'"),
        ("vicuna_bench", graded(float("nan")), "found nan"),
        ("vicuna_bench", graded(category=" "), "'category' is empty"),
        ("vicuna_bench", [], "expected an object, found []"),
        ("autoj", labelled(3), "expected 0 or 1 or 2 as 'label', found 3"),
        ("autoj", labelled(True), "found True"),
        ("autoj", labelled(prompt=" "), "'prompt' is empty"),
        ("autoj", labelled(first="\ud800"), "'response 1' holds half of a surrogate pair"),
        ("autoj", {"scenario": "lists", "label": 0, "prompt": "x", "response_1": "y"}, "no 'response 1'; did you mean"),
    ],
)
def test_a_row_of_another_form_is_named(tmp_path: Path, name: str, entry: Any, expected: str) -> None:
    """By its number in an array, by its line in JSON Lines; the other rows' mistakes are told as well."""
    whole = row(name)
    found = mistakes(tmp_path, name, whole, entry, whole)
    assert len(found) == 1
    assert found[0].startswith(": row 2: ")
    assert expected in found[0]
    found = mistakes(tmp_path, name, whole, entry, lines=True)
    assert found[0].startswith(":2: ")
    assert expected in found[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no rows: expected a JSON array, or a JSON object on each line"),
        ("[]", "no rows"),
        ("[{]", "not valid JSON"),
        ('{"a": 1}\n{"a": \n', ":2: not valid JSON"),
        ('[{"a": 1, "a": 2}]', "row 1: a field stands there twice"),
        ("null", ":1: expected an object, found None"),
    ],
)
def test_a_file_of_another_form_is_told(tmp_path: Path, text: str, expected: str) -> None:
    """Empty, cut short, or something else."""
    publish(tmp_path, "autoj_pairwise", []).write_text(text)
    with pytest.raises(DataError, match=re.escape(expected)):
        load("autoj", tmp_path)


def write_wordings(data: Path, content: object) -> None:
    (data / "prometheus2").mkdir(exist_ok=True)
    (data / "prometheus2" / "prompts.json").write_text(json.dumps(content), "utf-8")


def test_pairs_without_a_rubric_get_the_published_one_in_the_published_words(tmp_path: Path) -> None:
    """Ours in ours. The digest tells them apart."""
    write_wordings(tmp_path, {"paper": {"AUTOJ_COARSE_SCORE_RUBRIC": "\n[Is it good?]"}, "library": {"X": "y"}})
    publish(tmp_path, "autoj_pairwise", [labelled()])
    ours, theirs = (load("autoj", tmp_path, prompt=prompt) for prompt in ("default", "paper"))
    assert [item.rubric for item in pairs(theirs)] == [Rubric("Is it good?")]
    assert "default_rubrics" not in theirs.counts
    assert ours.data_sha256 != theirs.data_sha256
    write_wordings(tmp_path, {"paper": {"X": "y"}, "library": {"X": "y"}})
    with pytest.raises(DataError, match="AUTOJ_COARSE_SCORE_RUBRIC: the rubric has no criterion"):
        load("autoj", tmp_path, prompt="library")


def test_the_published_words_are_read_by_their_names(tmp_path: Path) -> None:
    """Beside them the file says where they come from."""
    write_wordings(tmp_path, {"source": "s", "paper": {"A": "a"}, "library": {"B": "b"}})
    assert read_wordings(tmp_path) == {"paper": {"A": "a"}, "library": {"B": "b"}}


@pytest.mark.parametrize(
    "content", [[], {}, {"paper": {"A": "a"}}, {"paper": {}, "library": {}}, {"paper": {"A": 1}, "library": {"B": "b"}}]
)
def test_words_of_another_form_are_told(tmp_path: Path, content: object) -> None:
    """Both sets of texts must be there."""
    write_wordings(tmp_path, content)
    with pytest.raises(DataError, match=r"prompts\.json: expected"):
        read_wordings(tmp_path)


def test_words_that_are_not_there_say_how_to_get_them(tmp_path: Path) -> None:
    """As a set's file does."""
    with pytest.raises(DataError, match=r"looked for prompts\.json .*truthguard fetch prometheus"):
        read_wordings(tmp_path)
