"""A team's own questions: the documented form, and every mistake by file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.dialogues import unavailable
from truthguard.benchmarks.own import FIELDS, load, load_starter
from truthguard.errors import DataError
from truthguard.records import BenchmarkSettings

pytestmark = pytest.mark.usefixtures("packaged")

ROW: dict[str, Any] = {
    "id": "tin",
    "category": "Metals",
    "question": "Is tin a metal?",
    "best_answer": "Tin is a metal.",
    "correct_answers": ["It is.", "Tin is a metal."],
    "incorrect_answers": ["It is a gas.", "It is a wood."],
    "best_incorrect_answer": "It is a wood.",
    "source": "a chemistry book",
}


def row(**changes: Any) -> dict[str, Any]:
    """The row with changes; `...` takes a field away."""
    return {key: value for key, value in {**ROW, **changes}.items() if value is not ...}


def read_lines(folder: Path, *rows: dict[str, Any] | str, name: str = "faq.jsonl") -> QuestionSet:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows)
    (folder / name).write_text(text, "utf-8")
    return load(folder / name, "faq")


def as_csv(*rows: dict[str, Any], line_end: str = "\n") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator=line_end)
    writer.writeheader()
    for each in rows:
        writer.writerow({key: "; ".join(value) if isinstance(value, list) else value for key, value in each.items()})
    return out.getvalue()


def read_table(folder: Path, text: str | bytes, name: str = "faq.csv") -> QuestionSet:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return load(folder / name, "faq")


def mistakes(folder: Path, *rows: dict[str, Any] | str) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_lines(folder, *rows)
    return [str(mistake).removeprefix(str(folder / "faq.jsonl")) for mistake in caught.value.mistakes]


def test_choices_are_the_correct_answers_best_first_then_the_incorrect_ones(tmp_path: Path) -> None:
    """mc1's choices are the best answer and all false ones."""
    questions = read_lines(tmp_path, row())
    (item,) = questions.questions
    assert (item.id, item.category, item.question) == ("tin", "Metals", "Is tin a metal?")
    assert [(choice.text, choice.true, choice.in_mc1) for choice in item.choices] == [
        ("Tin is a metal.", True, True),
        ("It is.", True, False),
        ("It is a gas.", False, True),
        ("It is a wood.", False, True),
    ]
    assert (item.best, item.best_incorrect) == ("Tin is a metal.", "It is a wood.")
    assert questions.counts == {"dropped_choices": 0}
    assert (questions.name, questions.version, set(questions.primers)) == ("faq", None, {"qa"})


def test_what_is_optional_has_the_documented_default(tmp_path: Path) -> None:
    """Without id, category and best answer: a content hash, `uncategorised`, the first correct answer."""
    rest = {"correct_answers": ["a", "b"], "incorrect_answers": ["c"]}
    questions = read_lines(tmp_path, {"question": "x?", **rest}, {"question": "x? ", **rest, "category": None})
    first, second = questions.questions
    assert first.id.startswith("q-")
    assert len(first.id) == 10
    assert second.id == f"{first.id}-2"
    assert first.category == second.category == "uncategorised"
    assert (first.best, first.best_incorrect) == ("a", None)
    assert questions.counts["repeated_ids"] == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("best_answer,", "Best Answer,").replace("category,", " CATEGORY ,"),
        lambda text: text + "\n\n",
    ],
)
def test_csv_and_json_lines_hold_the_same_questions(tmp_path: Path, write: Any) -> None:
    """C22: a byte order mark, line ends, blank lines, the header's case and the format are not content."""
    rows = [row(), row(id="lead", question='Is "lead", Pb, a\nmetal?')]
    assert read_table(tmp_path, write(as_csv(*rows))).data_sha256 == read_lines(tmp_path, *rows).data_sha256


def test_a_gzipped_file_is_read_by_its_inner_name(tmp_path: Path) -> None:
    """faq.csv.gz and faq.jsonl.gz are a CSV and a JSON Lines file; both digests are those of the plain file."""
    for plain in (read_table(tmp_path, as_csv(row())), read_lines(tmp_path, row())):
        zipped = plain.path.with_name(f"{plain.path.name}.gz")
        zipped.write_bytes(gzip.compress(plain.path.read_bytes()))
        again = load(zipped, "faq")
        assert (again.data_sha256, again.file_sha256) == (plain.data_sha256, plain.file_sha256)


def test_a_text_is_split_and_what_is_dropped_is_counted(tmp_path: Path) -> None:
    """Empty pieces (a trailing semicolon) and repeats go; JSON texts are split as CSV cells are."""
    changes = {"correct_answers": "Tin is a metal.; ; It is. ;It is.;", "incorrect_answers": " a gas ; a wood"}
    questions = read_lines(tmp_path, row(**changes, best_incorrect_answer=...))
    assert [choice.text for choice in questions.questions[0].choices] == [
        "Tin is a metal.",
        "It is.",
        "a gas",
        "a wood",
    ]
    assert questions.counts == {"dropped_choices": 3, "repeated_choices": 1}


def test_a_listed_answer_is_not_split(tmp_path: Path) -> None:
    """A list says where its answers end; repeats in it are dropped and counted too."""
    questions = read_lines(tmp_path, row(incorrect_answers=["a; b", "c", "c "], best_incorrect_answer=...))
    assert [choice.text for choice in questions.questions[0].choices if not choice.true] == ["a; b", "c"]
    assert questions.counts == {"dropped_choices": 1, "repeated_choices": 1}


def test_a_best_answer_that_its_list_lacks_is_put_before_the_list(tmp_path: Path) -> None:
    """So is a best incorrect one; both are counted."""
    questions = read_lines(tmp_path, row(best_answer="Yes.", best_incorrect_answer="No."))
    texts = [choice.text for choice in questions.questions[0].choices]
    assert texts == ["Yes.", "It is.", "Tin is a metal.", "No.", "It is a gas.", "It is a wood."]
    assert questions.counts == {"dropped_choices": 0, "added_answers": 2}


def test_line_separators_inside_a_json_string_do_not_end_the_line(tmp_path: Path) -> None:
    """C26: lines are split on the newline alone."""
    question = "Is a\u2028b\u0085c\x0bd a text?"
    (tmp_path / "faq.jsonl").write_text(json.dumps(row(question=question), ensure_ascii=False) + "\n", "utf-8")
    assert load(tmp_path / "faq.jsonl", "faq").questions[0].question == question


def test_closing_full_stops_are_added_before_answers_are_compared(tmp_path: Path) -> None:
    """`It is` and `It is.` are one answer then, dropped and counted as a repeat."""
    path = read_lines(tmp_path, row(correct_answers=["Tin is a metal", "It is", "It is."])).path
    questions = load(path, "faq", closing_period=True)
    assert [choice.text for choice in questions.questions[0].choices if choice.true] == ["Tin is a metal.", "It is."]
    assert questions.counts["repeated_choices"] == 1


def test_mc_binary_needs_a_best_incorrect_answer_of_every_question(tmp_path: Path) -> None:
    """The refusal says how many lack it, which is the first, and the field to give."""
    assert unavailable("mc_binary", read_lines(tmp_path, row()), BenchmarkSettings("faq")) is None
    questions = read_lines(tmp_path, row(), row(id="lead", best_incorrect_answer=...))
    refused = unavailable("mc_binary", questions, BenchmarkSettings("faq"))
    assert refused is not None
    for part in ("1 of 2", "'lead'", "best_incorrect_answer"):
        assert part in refused


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"question": ...}, "no 'question'"),
        ({"question": "  "}, "'question' is empty"),
        ({"question": 3}, "expected a text as 'question', found 3"),
        ({"question": {"a": 1}}, "expected a text as 'question', found an object"),
        ({"question": "\ud800?"}, "'question' holds half of a surrogate pair (\\ud800)"),
        ({"question": "a\0?"}, "'question' holds a NUL character"),
        ({"category": ""}, "'category' is empty"),
        ({"category": ["a"]}, "expected a text as 'category', found ['a']"),
        ({"best_answer": ""}, "'best_answer' is empty"),
        ({"best_incorrect_answer": True}, "expected a text as 'best_incorrect_answer', found True"),
        ({"correct_answers": ...}, "no 'correct_answers'"),
        ({"correct_answers": []}, "no answer in 'correct_answers'"),
        ({"correct_answers": ["a", ""]}, "an empty answer in 'correct_answers'"),
        ({"correct_answers": [1]}, "expected texts in 'correct_answers', found 1"),
        ({"correct_answers": 1.5}, "expected a text as 'correct_answers', found 1.5"),
        ({"incorrect_answers": " ; "}, "'incorrect_answers' holds no answer"),
        ({"incorrect_answers": ["\udfff"]}, "surrogate"),
        ({"incorrect_answers": ["IT IS."]}, "'IT IS.' stands among the correct and among the incorrect answers"),
        ({"best_incorrect_answer": "it is."}, "'it is.' stands among the correct and among the incorrect answers"),
        ({"best_answer": "It is a gas."}, "'It is a gas.' stands among the correct and among the incorrect"),
        ({"id": ""}, "id '': expected a text of ASCII letters, digits, - and _"),
        ({"id": "a b"}, "id 'a b': expected a text of ASCII letters"),
        ({"id": "é"}, "id 'é': expected"),
        ({"id": 7}, "id 7: expected a text"),
        ({"id": ...}, "no id: expected a text"),
        ({"id": "first"}, "id 'first' stands in line 1 already"),
        ({"catgory": "x"}, "unknown field 'catgory'; did you mean 'category'?"),
    ],
)
def test_a_mistake_in_a_line_is_named_with_its_line(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    """One mistake gives one message, at its line."""
    (found,) = mistakes(tmp_path, row(id="first"), row(**changes))
    assert found.startswith(":2: ")
    assert expected in found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"question": "x', "not valid JSON: Unterminated string"),
        ('{"id": "q3", "sco', "is it cut short?"),
        ('["a"]', "expected a JSON object on each line"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "a", "id": "b"}', "field 'id' stands there twice"),
        (f'{{"id": {"1" * 5000}}}', "not usable JSON"),
    ],
)
def test_a_line_that_is_no_object_is_named_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    """Blank lines count but hold nothing; with no good line beside it the mistake is the only one as well."""
    (found,) = mistakes(tmp_path, row(id="first"), "", line)
    assert found.startswith(":3: ")
    assert expected in found
    assert mistakes(tmp_path, "", "", line) == [found]


def test_all_mistakes_of_a_file_come_in_one_message(tmp_path: Path) -> None:
    """Several of one line, and of several lines; the first twenty are shown and the rest counted."""
    assert len(mistakes(tmp_path, row(question=3, category=4), row(id="b", correct_answers=[]))) == 3
    found = mistakes(tmp_path, *[row(id=f"i{number}", question="") for number in range(30)])
    assert len(found) == 21
    assert "10 more mistakes" in found[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: no column 'question'"),
        ("question;correct_answers\nx?;a\n", ":1: the columns are not separated by commas"),
        ("question,correct_answers,incorrect\nx?,a,b\n", "unknown column 'incorrect'; did you mean 'incorrect_"),
        ("question,correct_answers,incorrect\nx?,a,b\n", ":1: no column 'incorrect_answers'"),
        ("question,Question,correct_answers,incorrect_answers\n", "column 'question' stands there twice"),
        ("question,correct_answers,incorrect_answers\n", "no questions"),
        ("question,correct_answers,incorrect_answers\nx?,a, b, c\n", ":2: 4 cells, the header has 3"),
        ('question,correct_answers,incorrect_answers\n"x\ny?",a,b\nx?,a\n', ":4: 2 cells, the header has 3"),
        ('question,correct_answers,incorrect_answers\nx?,"a"b,c\n', ":2: not valid CSV"),
        ('question,correct_answers,incorrect_answers\nx?,a,"b\n', "not valid CSV: unexpected end of data"),
        ("question,correct_answers,incorrect_answers\nx?,,b\n", ":2: no 'correct_answers'"),
        ("question,correct_answers,incorrect_answers\nx?,;;,b\n", ":2: 'correct_answers' holds no answer"),
        ("question,correct_answers,incorrect_answers\nx?,a,b" + "b" * 140_000 + "\n", "field larger than"),
        (b"question,correct_answers,incorrect_answers\nx\xe9?,a,b\n", ":2: not UTF-8: byte 0xe9 at offset 44"),
        (b"question,correct_answers,incorrect_answers\nx\0?,a,b\n", ":2: a NUL character"),
        ("question".encode("utf-16"), "not UTF-8"),
    ],
)
def test_a_mistake_in_a_csv_is_named_with_its_line(tmp_path: Path, text: str | bytes, expected: str) -> None:
    """A record is named by the line on which it begins."""
    with pytest.raises(DataError) as caught:
        read_table(tmp_path, text)
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", ["faq.txt", "faq.json", "faq", "faq.gz"])
def test_another_kind_of_file_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    """The kinds that are read are named."""
    (tmp_path / name).write_bytes(gzip.compress(b"x") if name.endswith("gz") else b"x")
    with pytest.raises(DataError, match=r"\.csv and \.jsonl"):
        load(tmp_path / name, "faq")


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    ),
    name=st.sampled_from(FIELDS),
)
def test_any_value_of_a_field_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, value: Any, name: str
) -> None:
    """No content of a file leads to anything but questions or a DataError; what is read can be asked."""
    folder = tmp_path_factory.mktemp("own")
    try:
        (item,) = read_lines(folder, row(**{name: value})).questions
    except DataError:
        return
    assert item.question.strip()
    assert all(choice.text.strip() for choice in item.choices)
    assert sum(choice.true and choice.in_mc1 for choice in item.choices) == 1
    assert len({choice.text for choice in item.choices}) == len(item.choices)


def test_the_starter_set_is_read_from_the_package(packaged: Path) -> None:
    """load_starter reads the packaged files in the own form, under the name starter."""
    (packaged / "starter.jsonl").write_text(json.dumps(row()), "utf-8")
    questions = load_starter()
    assert (questions.name, len(questions.questions)) == ("starter", 1)
    assert unavailable("mc_binary", questions, BenchmarkSettings("faq")) is None
