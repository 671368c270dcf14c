"""Files of upstream's form that are not the published ones: what is counted, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from truthguard.benchmarks.truthfulqa import load
from truthguard.errors import DataError

SHOTS = "Q: Is ice cold?\nA: Ice is cold.\n\nQ: Who wrote this?\nA: A tester."
PRIMERS = {
    "qa": SHOTS,
    "help": f"Be exact:\n\n{SHOTS}",
    "null": "Q: ",
    "chat": "Ann: Hello.\n\nBob: {0}\n\nAnn:",
    "long": "A post.\n\nToday's question: {0}\n\nMy answer:",
    "harm": "Q: What is best?\nA: Nothing is.\n\nQ: {0}\nA:",
}

Entry = dict[str, Any]


def entry(question: Any = "Is tin a metal?", **changes: Any) -> Entry:
    """One question of the 2021 form; a change of None takes the field away."""
    fields: Entry = {
        "question": question,
        "mc1_targets": {"Tin is a metal.": 1, "Tin is a gas.": 0},
        "mc2_targets": {"Tin is a metal.": 1, "It is.": 1, "Tin is a gas.": 0, "Tin is a wood.": 0},
        **changes,
    }
    return {key: value for key, value in fields.items() if value is not None}


def table_text(rows: list[dict[str, str]]) -> str:
    """Rows as CSV text with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def table_row(task: Entry, category: str = "Metals") -> dict[str, str]:
    """The CSV row that goes with an entry."""
    row = {"Type": "Adversarial", "Category": category, "Question": task["question"]}
    row["Best Answer"] = next(text for text, label in task["mc1_targets"].items() if label)
    if "mc0_targets" in task:
        row["Best Incorrect Answer"] = next(text for text, label in task["mc0_targets"].items() if not label)
    return row


WriteVersion = Callable[..., Path]


@pytest.fixture
def write_version(tmp_path: Path) -> WriteVersion:
    """Write one version's files; parts given as text replace the made-up ones. Returns the data folder."""

    def write(
        entries: list[Entry] | None = None,
        version: str = "2021-09",
        *,
        task: str | None = None,
        table: str | None = None,
        primers: str | None = None,
    ) -> Path:
        entries = [entry()] if entries is None else entries
        folder = tmp_path / "truthfulqa" / version
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mc_task.json").write_text(json.dumps(entries) if task is None else task, "utf-8")
        rows = table_text([table_row(each) for each in entries]) if table is None else table
        (folder / "TruthfulQA.csv").write_text(rows, "utf-8")
        text = json.dumps({"primers": PRIMERS}) if primers is None else primers
        (folder.parent / "primers.json").write_text(text, "utf-8")
        return tmp_path

    return write


def test_a_made_up_file_is_read_and_marked_as_unpublished(write_version: WriteVersion) -> None:
    """Choices keep the object's order, the category comes from the CSV, and the counts say what it is."""
    questions = load(write_version(), "2021-09")
    (item,) = questions.questions
    assert item.category == "Metals"
    assert [choice.text for choice in item.choices] == [
        "Tin is a metal.",
        "It is.",
        "Tin is a gas.",
        "Tin is a wood.",
    ]
    assert [choice.in_mc1 for choice in item.choices] == [True, False, True, False]
    assert (item.best, item.best_incorrect) == ("Tin is a metal.", None)
    assert questions.counts == {"dropped_choices": 0, "unpublished_file": 2}
    assert questions.primers == PRIMERS


def binary_entry(**changes: Any) -> Entry:
    return entry(**{"mc0_targets": {"Tin is a metal.": 1, "Tin is a gas.": 0}, **changes})


def test_the_binary_answers_are_those_of_mc0_targets(write_version: WriteVersion) -> None:
    """Where the CSV or mc1_targets have others, mc0_targets is taken and the difference to the CSV counted."""
    task = binary_entry(mc0_targets={"It is.": 1, "Tin is a gas.": 0})
    row = {**table_row(task), "Best Incorrect Answer": "Tin is a wood"}
    questions = load(write_version([task], "2025-01", table=table_text([row])), "2025-01")
    (item,) = questions.questions
    assert (item.best, item.best_incorrect) == ("It is.", "Tin is a gas.")
    assert [choice.text for choice in item.choices if choice.true and choice.in_mc1] == ["Tin is a metal."]
    assert questions.counts["differing_best"] == questions.counts["differing_best_incorrect"] == 1


def test_a_question_is_joined_to_its_category_after_stripping(write_version: WriteVersion) -> None:
    """Blanks around a question, in either file, do not part the two files nor change the id."""
    row = {**table_row(entry()), "Question": "Is tin a metal?  "}
    data = write_version([entry(" Is tin a metal?")], table=table_text([row]))
    stripped = load(data, "2021-09").questions[0]
    assert stripped.question == "Is tin a metal?"
    assert stripped.id == load(write_version(), "2021-09").questions[0].id


def test_rows_of_the_csv_without_a_question_are_counted(write_version: WriteVersion) -> None:
    """A shortened mc_task.json is usable with the whole CSV."""
    table = table_text([table_row(entry()), table_row(entry("Is lead a metal?"))])
    assert load(write_version(table=table), "2021-09").counts["unmatched_rows"] == 1


def test_repeated_questions_are_told_apart_and_counted(write_version: WriteVersion) -> None:
    """Equal questions get -2 in file order."""
    questions = load(write_version([entry(), entry()]), "2021-09")
    assert questions.questions[1].id == f"{questions.questions[0].id}-2"
    assert questions.counts["repeated_ids"] == 1


def test_a_repeated_key_of_a_json_object_is_seen(write_version: WriteVersion) -> None:
    """The same answer twice with one label is dropped and counted; with both labels it is kept and counted."""
    task = json.dumps([entry()])
    same = task.replace('"It is.": 1', '"It is.": 1, "It is.": 1')
    questions = load(write_version(task=same), "2021-09")
    assert len(questions.questions[0].choices) == 4
    assert questions.counts["dropped_choices"] == questions.counts["repeated_choices"] == 1
    both = load(write_version(task=task.replace('"It is.": 1', '"It is.": 1, "It is.": 0')), "2021-09")
    assert [choice.true for choice in both.questions[0].choices if choice.text == "It is."] == [True, False]
    assert both.counts["overlapping_choices"] == 1


def test_empty_choices_are_dropped_and_counted(write_version: WriteVersion) -> None:
    """An empty string or blank is no answer, whatever its label."""
    choices = {**entry()["mc2_targets"], "": 1, "  ": 0}
    single = {**entry()["mc1_targets"], "": 0}
    questions = load(write_version([entry(mc1_targets=single, mc2_targets=choices)]), "2021-09")
    assert len(questions.questions[0].choices) == 4
    assert questions.counts["dropped_choices"] == 2


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ('[{"question": "Is tin', r"mc_task\.json:1: not valid JSON: .*cut short"),
        ("", r"not valid JSON"),
        ("{}", r"expected a list of questions, found an empty object"),
        ("[]", r"expected a list of questions, found an empty list"),
        ("[" * 100_000, r"nested too deeply"),
        ('["a"]', r"question 1: expected an object, found 'a'"),
        (json.dumps([entry(), entry(question=None)]), r"question 2: no 'question'"),
        (json.dumps([entry(question="  ")]), r"question 1: expected a text as 'question'"),
        (json.dumps([entry(question=7)]), r"question 1: expected a text as 'question', found 7"),
        (json.dumps([entry("Is \ud800 it?")]), r"surrogate"),
        (json.dumps([entry("Is \0 it?")]), r"NUL"),
        (json.dumps([entry(mc2_targets=None, mc2_target={})]), r"no 'mc2_targets'; did you mean 'mc2_target'\?"),
        (json.dumps([entry(mc0_targets={})]), r"unexpected 'mc0_targets' in version 2021-09"),
        (json.dumps([entry(mc2_targets=["a"])]), r"expected an object of answers and labels as mc2_targets"),
        (json.dumps([entry(mc2_targets={})]), r"as mc2_targets, found an empty object"),
        (json.dumps([entry(mc2_targets={"a": True})]), r"the label of 'a' in mc2_targets is True, expected 0 or 1"),
        (json.dumps([entry(mc2_targets={"a": 2})]), r"is 2, expected 0 or 1"),
        (json.dumps([entry(mc2_targets={"": 1})]), r"every answer in mc2_targets is empty"),
        (json.dumps([entry(mc2_targets={"a": 1})]), r"at least one true and one false"),
        (json.dumps([entry(mc1_targets={"Tin is a metal.": 1})]), r"mc1_targets needs exactly one true"),
        (json.dumps([entry(mc1_targets={"Tin is a metal.": 1, "No.": 0})]), r"'No\.' is not among mc2_targets"),
        (
            json.dumps([entry(mc1_targets={"Tin is a metal.": 0, "Tin is a gas.": 1})]),
            r"not among mc2_targets with the same label",
        ),
    ],
)
def test_a_task_file_of_another_form_is_refused(write_version: WriteVersion, task: str, message: str) -> None:
    """The message names the file, the question and what was expected."""
    with pytest.raises(DataError, match=message) as caught:
        load(write_version([entry()], task=task), "2021-09")
    assert "mc_task.json" in str(caught.value)


def test_all_mistakes_of_a_task_file_come_in_one_message(write_version: WriteVersion) -> None:
    """Twenty are shown, the others counted."""
    task = json.dumps([entry(question=None)] * 23)
    with pytest.raises(DataError, match=r"question 20: (.|\n)*3 more mistakes") as caught:
        load(write_version(task=task), "2021-09")
    assert len(caught.value.mistakes) == 21


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", r"no column 'Category'"),
        ("Type,Categories,Question,Best Answer\n", r":1: no column 'Category'; did you mean 'Categories'\?"),
        ("Category,Question,Best Answer\nMetals,Is tin a metal?\n", r":2: 2 cells, the header has 3"),
        ('Category,Question,Best Answer\nMetals,"Is tin\na metal?","x\n', r"not valid CSV"),
        ("Category,Question,Best Answer\n,Is tin a metal?,x\n", r":2: the question or its category is empty"),
        ("Category,Question,Best Answer\nMetals,Is iron?,x\n", r"question 1: 'Is tin a metal\?' has no row in"),
        (
            "Category,Question,Best Answer\nA,Is tin a metal?,x\nB,Is tin a metal?,x\n",
            r":3: this question stood in an earlier row with another category",
        ),
    ],
)
def test_a_csv_of_another_form_is_refused(write_version: WriteVersion, table: str, message: str) -> None:
    """The message names the file, the line and what was expected."""
    with pytest.raises(DataError, match=message) as caught:
        load(write_version(table=table), "2021-09")
    assert "TruthfulQA.csv" in str(caught.value)


def test_a_2021_file_in_the_folder_of_2025_lacks_its_binary_targets(write_version: WriteVersion) -> None:
    """The version whose form was expected is named."""
    with pytest.raises(DataError, match=r"no 'mc0_targets'.*is this a file of version 2025-01\?"):
        load(write_version([entry()], "2025-01"), "2025-01")


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"a": 1, "b": 0, "c": 0}, "needs two answers, found 3"),
        ({"a": 1, "b": 1}, "exactly one true"),
        ({"a": 0, "b": 0}, "exactly one true"),
    ],
)
def test_the_binary_form_has_one_true_and_one_false_answer(
    write_version: WriteVersion, targets: dict[str, int], message: str
) -> None:
    """Anything else could not be asked as (A) and (B)."""
    data = write_version([binary_entry()], "2025-01", task=json.dumps([entry(mc0_targets=targets)]))
    with pytest.raises(DataError, match=f"mc0_targets.*{message}"):
        load(data, "2025-01")


@pytest.mark.parametrize("name", ["2021-09/mc_task.json", "2021-09/TruthfulQA.csv", "primers.json"])
def test_a_missing_file_is_named_with_every_way_to_get_it(write_version: WriteVersion, name: str) -> None:
    """Where it was looked for, the command that fetches it, the option and the variable."""
    data = write_version()
    (data / "truthfulqa" / name).unlink()
    with pytest.raises(DataError, match="looked for") as caught:
        load(data, "2021-09")
    message = str(caught.value)
    for part in (Path(name).name, str(data), "truthguard fetch truthfulqa", "--truthguard-data", "TRUTHGUARD_DATA"):
        assert part in message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe[", r":1: not UTF-8: byte 0xff at offset 0"),
        (b'[\n"\xc3"]', r":2: not UTF-8: byte 0xc3 at offset 3"),
        (b"[\n\0]", r":2: a NUL character"),
    ],
)
def test_bytes_that_are_no_text_are_refused(write_version: WriteVersion, data: bytes, message: str) -> None:
    """The line and the byte are named."""
    folder = write_version()
    (folder / "truthfulqa/2021-09/mc_task.json").write_bytes(data)
    with pytest.raises(DataError, match=message):
        load(folder, "2021-09")


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"plain", lambda data: data[:30] + b"x" * 9])
def test_a_damaged_gzip_file_is_refused(write_version: WriteVersion, damage: object) -> None:
    """A name that ends in .gz promises a whole gzip file."""
    assert callable(damage)
    data = write_version()
    plain = data / "truthfulqa/2021-09/mc_task.json"
    plain.with_name("mc_task.json.gz").write_bytes(damage(gzip.compress(plain.read_bytes())))
    plain.unlink()
    with pytest.raises(DataError, match=r"mc_task\.json\.gz: not a whole gzip file"):
        load(data, "2021-09")


@pytest.mark.parametrize(
    ("primers", "message"),
    [
        ("[]", r'expected an object with "primers"'),
        ('{"primers": "x"}', r'expected an object with "primers"'),
        (json.dumps({"primers": PRIMERS, "sourse": ""}), r"unknown key 'sourse'; did you mean 'source'\?"),
        (json.dumps({"primers": {**PRIMERS, "qq": "x"}}), r"primer 'qq' is unknown"),
        (json.dumps({"primers": {**PRIMERS, "qa": 3}}), r"primer 'qa' is no text: found 3"),
        (json.dumps({"primers": {**PRIMERS, "qa": "Hello"}}), r"primer 'qa' is not made of paragraphs"),
        (json.dumps({"primers": {**PRIMERS, "help": "Q: a\nA: b\n\nHello"[:5]}}), r"primer 'help' is not made of"),
        (json.dumps({"primers": {**PRIMERS, "chat": "no hole"}}), r"primer 'chat' must hold .*once, found 0"),
        (json.dumps({"primers": {**PRIMERS, "long": "{0} {0}"}}), r"once, found 2"),
        (json.dumps({"primers": {**PRIMERS, "qa": "Q: \ud800\nA: b"}}), r"surrogate"),
        ('{"primers": {"qa": "Q: a\\nA: b", "qa": "Q: a\\nA: b"}}', r"primer 'qa' stands there twice"),
        (json.dumps({"primers": {k: v for k, v in PRIMERS.items() if k != "harm"}}), r"primer 'harm' is missing"),
    ],
)
def test_primers_of_another_form_are_refused(write_version: WriteVersion, primers: str, message: str) -> None:
    """The primer and what is wrong with it are named."""
    with pytest.raises(DataError, match=message) as caught:
        load(write_version(primers=primers), "2021-09")
    assert "primers.json" in str(caught.value)
