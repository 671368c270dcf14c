"""The eight Prometheus sets on small files of the published form: what is read, what is counted, what is refused."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.judge_files import (
    ANCHORS,
    CHOSEN,
    CRITERION,
    chosen,
    graded,
    judge_prompt,
    labelled,
    mistakes,
    of_flask,
    pairs,
    publish,
    read,
    responses,
    row,
)
from truthguard.benchmarks import prometheus
from truthguard.benchmarks.files import git_blob
from truthguard.benchmarks.prometheus import load
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.benchmarks.table import UNCATEGORISED
from truthguard.judges.grading_prompts import DEFAULT_RUBRIC
from truthguard.records import GradedResponse, Rubric


def test_a_graded_response_of_flask(tmp_path: Path) -> None:
    """Skill as category, grades of GPT-4 and of people, and the whole prompt as it stands."""
    items = read(tmp_path, "flask", of_flask(reference="All four."))
    text = judge_prompt(reference="All four.")
    item = responses(items)[0]
    assert re.fullmatch(r"flask-[0-9a-f]{8}", item.id)
    assert replace(item, id="") == GradedResponse(
        id="",
        category="Completeness",
        group="Name the seasons.",
        instruction="Name the seasons.",
        response="Spring and autumn.",
        rubric=Rubric(CRITERION, ANCHORS),
        scores=(4.0, 4.0, 5.0),
        reference="All four.",
        human_scores=(3.0, 4.0, 4.0),
        judge_prompt=text.strip(),
    )
    assert (items.name, items.kind, items.version, items.primers) == ("flask", "direct", None, {})
    assert items.counts == {"dropped_choices": 0, "unpublished_file": 1}


def test_the_skill_tells_flask_s_items_apart(tmp_path: Path) -> None:
    """One response graded for two skills is two items, neither of them a repeat."""
    items = read(tmp_path, "flask", row("flask"), row("flask", criteria="Brevity"))
    assert len({item.id.rpartition("-")[2] for item in items.items}) == 2
    assert "repeated_ids" not in items.counts
    assert len({item.group for item in responses(items)}) == 1


def test_people_s_grades_may_be_lacking_in_a_row_of_flask(tmp_path: Path) -> None:
    """null and an empty list are counted; another value is a fault."""
    items = read(tmp_path, "flask", row("flask"), row("flask", human_score=None), row("flask", human_score=[]))
    assert [item.human_scores for item in responses(items)] == [(3.0, 4.0, 4.0), (), ()]
    assert items.counts["missing_human_scores"] == 2
    assert mistakes(tmp_path, "flask", row("flask", human_score=0)) == [
        ": row 1: 'human_score': expected a grade from 1 to 5, found 0"
    ]


def test_a_graded_response_of_feedback_bench(tmp_path: Path) -> None:
    """One grade, no category; the responses to one prompt are one group, whatever idx says."""
    rows = [{**row("feedback_bench", score), "idx": score} for score in (1, 5)]
    for each in rows:
        each.pop("response_source")
    items = read(tmp_path, "feedback_bench", *rows)
    assert [item.scores for item in responses(items)] == [(1.0,), (5.0,)]
    assert {(item.category, item.group) for item in responses(items)} == {(UNCATEGORISED, "Name the seasons.")}


def test_mt_bench_s_groups_are_by_idx(tmp_path: Path) -> None:
    """Its prompts hold the model's own first turn, so their texts differ within a group."""
    rows = [graded(idx=idx, instruction=text) for idx, text in ((81, "one"), (81, "two"), (82, "one"))]
    assert [item.group for item in responses(read(tmp_path, "mt_bench", *rows))] == ["idx 81", "idx 81", "idx 82"]
    assert [item.group for item in responses(read(tmp_path, "vicuna_bench", *rows))] == ["one", "two", "one"]
    assert mistakes(tmp_path, "mt_bench", graded(idx="81")) == [": row 1: expected a whole number as 'idx', found '81'"]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_pair_of_chosen_and_rejected(tmp_path: Path, name: str) -> None:
    """The chosen response is better; both prompts are kept."""
    items = read(tmp_path, name, row(name))
    item = pairs(items)[0]
    assert item.responses == ("All four: ...", "Two.")
    assert (item.winner, item.group, item.rubric) == ("a", "Name the seasons.", Rubric(CRITERION, ANCHORS))
    assert item.judge_prompts is not None
    assert [text in prompt for text, prompt in zip(item.responses, item.judge_prompts, strict=True)] == [True, True]
    assert item.category == ("honest" if name == "hhh_alignment" else UNCATEGORISED)
    assert items.kind == "pairwise"


def test_people_call_pairs_of_mt_bench_human_a_tie(tmp_path: Path) -> None:
    """tie is 0 or 1 and must be there."""
    items = read(tmp_path, "mt_bench_human", row("mt_bench_human", tie=1), row("mt_bench_human", "Four!"))
    assert [item.winner for item in pairs(items)] == ["tie", "a"]
    assert mistakes(tmp_path, "mt_bench_human", chosen(), chosen(tie=True), chosen(tie=2)) == [
        ": row 1: no 'tie'; expected one of: chosen_instruction, rejected_instruction",
        ": row 2: expected 0 or 1 as 'tie', found True",
        ": row 3: expected 0 or 1 as 'tie', found 2",
    ]


def test_a_reference_answer_of_a_pair_is_counted(tmp_path: Path) -> None:
    """No judge of pairs is shown it."""
    prompts = {
        f"{which}_instruction": judge_prompt(response=text, reference="All four.")
        for which, text in (("chosen", "Four."), ("rejected", "Two."))
    }
    assert read(tmp_path, "preference_bench", prompts).counts["unused_references"] == 1


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("instruction", judge_prompt("Name the months.")),
        ("rubric", judge_prompt(criterion="Is it kind?")),
        ("reference", judge_prompt(reference="All.")),
    ],
)
def test_two_responses_to_different_prompts_are_no_pair(tmp_path: Path, part: str, other: str) -> None:
    """Instruction, rubric and reference must be the same."""
    found = mistakes(tmp_path, "hhh_alignment", chosen(), row("hhh_alignment", rejected_instruction=other))
    assert found[0].startswith(": row 1: no 'source'")
    assert found[1:] == [
        f": row 2: the chosen and the rejected response are not to the same prompt: the {part} differs"
    ]


def test_pairs_of_autoj(tmp_path: Path) -> None:
    """Labels 0, 1 and 2, texts stripped (counted), our rubric (counted), JSON Lines."""
    rows = [labelled(0), labelled(1, second=" Three.\r\n"), labelled(2, "", "x", scenario="poems")]
    items = read(tmp_path, "autoj", *rows, lines=True)
    assert [item.winner for item in pairs(items)] == ["a", "b", "tie"]
    assert [item.responses for item in pairs(items)] == [("All four.", "Two."), ("All four.", "Three."), ("", "x")]
    assert {item.rubric for item in pairs(items)} == {DEFAULT_RUBRIC}
    assert [item.category for item in items.items] == ["lists", "lists", "poems"]
    counts = {"unpublished_file": 1, "stripped_texts": 1, "default_rubrics": 3, "empty_responses": 1}
    assert items.counts == {"dropped_choices": 0, **counts}


def test_oddities_of_pairs_are_counted(tmp_path: Path) -> None:
    """Equal responses, equal pairs in either order, and labels that contradict each other; nothing is dropped."""
    rows = [labelled(2, "x", "x"), labelled(1, "x", "x"), labelled(0), labelled(1, "Two.", "All four."), labelled(1)]
    items = read(tmp_path, "autoj", *rows)
    assert len(items.items) == 5
    for name, number in {
        "identical_responses": 2,
        "identical_decided": 1,
        "contradicting_labels": 5,
        "repeated_ids": 3,
    }.items():
        assert items.counts[name] == number, name
    stems = [item.id for item in items.items]
    assert stems[1] == f"{stems[0]}-2"
    assert stems[3:] == [f"{stems[2]}-2", f"{stems[2]}-3"]


def test_swapping_the_responses_changes_neither_ids_nor_the_digest(tmp_path: Path) -> None:
    """Which of the two the file gives first is no content."""
    rows = [labelled(0), labelled(2, "x", "y"), labelled(1, "z", "z")]
    swapped = [labelled({0: 1, 1: 0, 2: 2}[row["label"]], row["response 2"], row["response 1"]) for row in rows]
    one, other = read(tmp_path, "autoj", *rows), read(tmp_path, "autoj", *swapped)
    assert one.items != other.items
    assert [item.id for item in one.items] == [item.id for item in other.items]
    assert one.data_sha256 == other.data_sha256
    assert read(tmp_path, "autoj", labelled(1), *rows[1:]).data_sha256 != one.data_sha256


def test_oddities_of_graded_responses_are_counted(tmp_path: Path) -> None:
    """Repeats, empty texts, grades far apart, and headings at which upstream's reader would cut."""
    rows = [
        graded(5, reference=""),
        graded([2, 4, 3], response_source="another"),
        graded(5, response="", reference="x"),
        graded(5, response="###Autumn"),
    ]
    items = read(tmp_path, "vicuna_bench", *rows)
    expected = {
        "repeated_responses": 1,
        "wide_scores": 1,
        "empty_responses": 1,
        "empty_references": 1,
        "marked_texts": 1,
    }
    assert items.counts == {"dropped_choices": 0, "unpublished_file": 1, **expected}
    assert [item.reference for item in responses(items)] == [None, None, "x", None]


def test_fields_that_no_loader_knows_are_counted(tmp_path: Path) -> None:
    """Each name once: a file that was never seen may hold more than is read."""
    rows = [row("preference_bench", orig_criteria="x"), row("preference_bench", orig_criteria="y", idx=1)]
    assert read(tmp_path, "preference_bench", *rows).counts["unread_fields"] == 1


@pytest.mark.parametrize("name", list(SETS))
def test_array_lines_gzip_and_byte_order_mark_are_read_alike(tmp_path: Path, name: str) -> None:
    """The content decides, not the name, and none of it is in the digest."""
    rows = [row(name), row(name)]
    array = read(tmp_path, name, *rows)
    lines = read(tmp_path, name, *rows, lines=True)
    path = tmp_path / "prometheus2" / f"{SETS[name].file}.json"
    with gzip.open(f"{path}.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    path.unlink()
    packed = load(name, tmp_path)
    assert packed.path.suffix == ".gz"
    assert array.items == lines.items == packed.items
    assert array.data_sha256 == lines.data_sha256 == packed.data_sha256


@pytest.mark.parametrize("name", list(SETS))
def test_a_file_with_a_published_digest_is_not_counted_as_unpublished(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SHA-256 or as git blob, whichever is known."""
    path = publish(tmp_path, SETS[name].file, [row(name)])
    for digest in (hashlib.sha256(path.read_bytes()).hexdigest(), git_blob(path.read_bytes())):
        monkeypatch.setattr(prometheus, "SETS", {name: replace(SETS[name], digests=("0" * 64, digest))})
        assert "unpublished_file" not in load(name, tmp_path).counts
    monkeypatch.setattr(prometheus, "SETS", SETS)
    assert load(name, tmp_path).counts["unpublished_file"] == 1


def test_a_blob_is_named_as_git_names_it(tmp_path: Path) -> None:
    """The same 40 digits as `git hash-object`."""
    (tmp_path / "file").write_bytes(b"\x00text\r\n")
    done = subprocess.run(["git", "hash-object", "--no-filters", "file"], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("needs git")
    assert git_blob(b"\x00text\r\n") == done.stdout.strip()
