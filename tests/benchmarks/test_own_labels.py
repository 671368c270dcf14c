"""A team's own labelled answers: what a row may hold, and every mistake with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from truthguard.benchmarks.labels import load
from truthguard.errors import DataError
from truthguard.records import LabelledAnswer

HEADER = "question,answer,label\n"


def labels(path: Path, text: str) -> list[LabelledAnswer]:
    path.write_text(text, "utf-8")
    return [item for item in load(path.parent, path).items if isinstance(item, LabelledAnswer)]


def mistakes(path: Path, text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(DataError) as caught:
        labels(path, text)
    return [(mistake.line, mistake.message) for mistake in caught.value.mistakes]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "labels.csv"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest.mark.parametrize("word", ["yes", " YES ", "True", "1"])
def test_words_for_yes(table: Path, word: str) -> None:
    """In any case, with blanks around them."""
    (item,) = labels(table, f"{HEADER}Is ice cold?,It is.,{word}\n")
    assert (item.question, item.answer, item.truthful) == ("Is ice cold?", "It is.", True)
    assert (item.category, item.references) == ("uncategorised", None)


@pytest.mark.parametrize("value", ["no", "FALSE", "0", False, 0])
def test_words_and_values_for_no(lines: Path, value: object) -> None:
    """JSON has truth values and numbers of its own."""
    (item,) = labels(lines, json.dumps({"question": "Is ice hot?", "answer": "Yes.", "label": value}) + "\n")
    assert item.truthful is False


@pytest.mark.parametrize("value", ["maybe", "2", 2, -1, 1.0, [True], {"label": True}])
def test_anything_else_is_no_label(lines: Path, value: object) -> None:
    """Nothing is no by default."""
    text = json.dumps({"question": "Is ice hot?", "answer": "Yes.", "label": value}) + "\n"
    ((line, message),) = mistakes(lines, text)
    assert line == 1
    assert message.startswith("expected yes or no (true or false, 1 or 0) as 'label', found ")


def test_every_mistake_is_told_with_its_line(lines: Path) -> None:
    """All of them at once."""
    rows = [
        {"question": "Q1", "answer": "A1", "label": "yes"},
        {"answer": "A2", "label": "yes"},
        {"question": "Q3", "label": "yes"},
        {"question": "Q4", "answer": "A4"},
        {"question": "Q5", "answer": " ", "label": "yes"},
        {"question": "Q6", "answer": "A6", "lable": "yes"},
    ]
    found = mistakes(lines, "".join(json.dumps(row) + "\n" for row in rows))
    # A field that nobody knows is told before what its row lacks.
    assert sorted(found) == [
        (2, "no 'question'"),
        (3, "no 'answer'"),
        (4, "no 'label'"),
        (5, "'answer' is empty: give a text"),
        (6, "unknown field 'lable'; did you mean 'label'?"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer\nQ,A\n", "no column 'label'"),
        (HEADER, "no answers"),
        ("question,answer,label,labels\nQ,A,yes,no\n", "unknown column 'labels'; did you mean 'label'?"),
        (HEADER + "Q,A,yes,more\n", "4 cells, the header has 3"),
    ],
)
def test_a_table_of_another_form_is_told(table: Path, text: str, message: str) -> None:
    """The header and the cells, before any row is judged by them."""
    assert message in str(mistakes(table, text))


def test_another_kind_of_file_is_told(tmp_path: Path) -> None:
    """The name says which of the two forms it is."""
    assert "read from .csv and .jsonl" in str(mistakes(tmp_path / "labels.xlsx", "x"))


def test_references_belong_to_the_question(table: Path) -> None:
    """One row may give them for all rows of its question; a list is split on ";"."""
    text = (
        "question,answer,label,correct_answers,incorrect_answers,source\n"
        "Is ice cold?,It is cold indeed.,yes,,,a colleague\n"
        "Is ice cold?,It is boiling.,no,Ice is cold.; Yes.;,Ice is hot.,\n"
        "Is tin soft?,Rather.,yes,,,\n"
    )
    first, second, other = labels(table, text)
    assert first.references == second.references
    assert first.references is not None
    assert [(choice.text, choice.true) for choice in first.references.choices] == [
        ("Ice is cold.", True),
        ("Yes.", True),
        ("Ice is hot.", False),
    ]
    assert other.references is None


def test_references_that_contradict_each_other_are_told(table: Path) -> None:
    """Two lists for one question, one list alone, and one answer on both sides."""
    text = (
        "question,answer,label,correct_answers,incorrect_answers\n"
        "Q,A,yes,Right.,Wrong.\n"
        "Q,B,yes,Right.,False.\n"
        "R,A,yes,Right.,\n"
        "S,A,yes,Right.,right.\n"
    )
    assert mistakes(table, text) == [
        (3, "line 2 gives this question other reference answers"),
        (4, "no 'incorrect_answers'"),
        (5, "'right.' stands among the correct and among the incorrect answers"),
    ]


def test_an_own_file_is_cleaned_like_the_public_one(lines: Path) -> None:
    """References of the question, repeats and contradictions are left out, and counted."""
    given = {"question": "Is ice cold?", "correct_answers": ["Ice is cold."], "incorrect_answers": ["Ice is hot."]}
    rows = [
        {**given, "answer": "ICE IS COLD", "label": 1},
        {**given, "answer": "It is.", "label": 1},
        {"question": "Is ice cold?", "answer": "It is.", "label": 1},
        {"question": "Is ice cold?", "answer": "No.", "label": 1},
        {"question": "Is ice cold?", "answer": "No.", "label": 0},
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    questions = load(lines.parent, lines)
    assert [item.answer for item in questions.items if isinstance(item, LabelledAnswer)] == ["It is."]
    assert questions.counts == {
        "dropped_choices": 0,
        "leaked_labels": 1,
        "repeated_labels": 2,
        "contradicting_prompts": 1,
    }
    assert (questions.version, questions.kind) == (None, "truthful_judge")


def test_ids_are_the_files_or_of_the_content(table: Path) -> None:
    """All rows have one or none; a repeated one is a mistake."""
    rows = "Q,A,yes\nQ,B,no\n"
    one, other = labels(table, HEADER + rows)
    assert one.id != other.id
    assert one.id.startswith("tl-")
    mine = labels(table, "id,category,question,answer,label\nmine-1,Ice,Q,A,yes\nmine-2,Ice,Q,B,no\n")
    assert [(item.id, item.category) for item in mine] == [("mine-1", "Ice"), ("mine-2", "Ice")]
    assert mistakes(table, "id,question,answer,label\nx,Q,A,yes\nx,Q,B,no\n,Q,C,no\n") == [
        (3, "id 'x' stands in line 2 already"),
        (4, "no id: expected a text of ASCII letters, digits, - and _"),
    ]


def test_mark_line_ends_compression_and_order_do_not_change_the_digest(table: Path, tmp_path: Path) -> None:
    """C22's cousin: what an editor does to a file is not another set of labels."""
    text = HEADER + "Q,A,yes\nQ,B,no\n"
    table.write_text(text, "utf-8")
    before = load(tmp_path, table)
    packed = tmp_path / "other.csv.gz"
    packed.write_bytes(gzip.compress(("\ufeff" + HEADER + "Q,B,no\nQ,A,yes\n").replace("\n", "\r\n").encode()))
    after = load(tmp_path, packed)
    assert before.data_sha256 == after.data_sha256
