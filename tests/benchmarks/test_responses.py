"""A team's own prompts and responses: the documented form, and every mistake by file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.responses import load
from truthguard.errors import DataError
from truthguard.records import Response

ROW: dict[str, Any] = {"id": "tin", "category": "Metals", "prompt": "Is tin a metal?", "response": "It is."}


def read_lines(folder: Path, *rows: dict[str, Any] | str) -> QuestionSet:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows)
    (folder / "bot.jsonl").write_text(text, "utf-8")
    return load(folder / "bot.jsonl", "bot")


def read_table(folder: Path, text: str) -> QuestionSet:
    (folder / "bot.csv").write_bytes(text.encode())
    return load(folder / "bot.csv", "bot")


def as_csv(*rows: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def mistakes(folder: Path, *rows: dict[str, Any] | str) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_lines(folder, *rows)
    return [str(mistake).removeprefix(str(folder / "bot.jsonl")) for mistake in caught.value.mistakes]


def test_a_row_is_a_prompt_with_or_without_a_response(tmp_path: Path) -> None:
    """What is optional has its default; prompts that the model must answer are counted."""
    given = read_lines(tmp_path, ROW)
    assert given.items == (Response("tin", "Metals", "Is tin a metal?", "It is."),)
    assert (given.kind, given.primers, given.questions) == ("correctness", {}, ())
    assert given.counts == {"dropped_choices": 0}
    asked = read_lines(tmp_path, {"prompt": " Is tin a metal? "}, {"prompt": "x", "response": None, "category": None})
    first, second = asked.items
    assert isinstance(first, Response)
    assert (first.category, first.prompt, first.response) == ("uncategorised", "Is tin a metal?", None)
    assert first.id.startswith("r-")
    assert len(first.id) == 10
    assert second.category == "uncategorised"
    assert asked.counts == {"dropped_choices": 0, "generated_responses": 2}


def test_ids_depend_on_prompt_and_response(tmp_path: Path) -> None:
    """Another response is another item; the same one again is told apart and counted."""
    rows = [{"prompt": "p", "response": text} for text in ("a", "b", " a ")] + [{"prompt": "p"}, {"prompt": "pa"}]
    read = read_lines(tmp_path, *rows)
    ids = [item.id for item in read.items]
    assert len(set(ids)) == 5
    assert ids[2] == f"{ids[0]}-2"
    assert read.counts["repeated_ids"] == 1
    assert [item.id for item in read_lines(tmp_path, *reversed(rows[:2])).items] == [ids[1], ids[0]]


@pytest.mark.parametrize(
    "write",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("prompt,", " Prompt ,"),
        lambda text: text + "\n\n",
    ],
)
def test_csv_and_json_lines_hold_the_same_prompts(tmp_path: Path, write: Any) -> None:
    """C22: a byte order mark, line ends, blank lines, the header's case and the format are not content."""
    rows = [ROW, {**ROW, "id": "lead", "prompt": 'Is "lead", Pb, a\nmetal?'}, {**ROW, "id": "oak", "response": ""}]
    lines = read_lines(tmp_path, *rows[:2], {**rows[2], "response": None})
    table = read_table(tmp_path, write(as_csv(*rows)))
    assert table.items == lines.items
    assert table.data_sha256 == lines.data_sha256
    assert table.counts["generated_responses"] == 1


def test_a_gzipped_file_is_read_by_its_inner_name(tmp_path: Path) -> None:
    """bot.csv.gz and bot.jsonl.gz are a CSV and a JSON Lines file; both digests are those of the plain file."""
    for plain in (read_table(tmp_path, as_csv(ROW)), read_lines(tmp_path, ROW)):
        zipped = plain.path.with_name(f"{plain.path.name}.gz")
        zipped.write_bytes(gzip.compress(plain.path.read_bytes()))
        again = load(zipped, "bot")
        assert (again.data_sha256, again.file_sha256) == (plain.data_sha256, plain.file_sha256)


@pytest.mark.parametrize("change", [{"prompt": "?"}, {"response": "No."}, {"response": None}, {"category": "x"}])
def test_every_part_of_an_item_changes_the_digest(tmp_path: Path, change: dict[str, Any]) -> None:
    """A baseline of other responses is another baseline."""
    assert read_lines(tmp_path, ROW).data_sha256 != read_lines(tmp_path, {**ROW, **change}).data_sha256


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    """All of the file's in one message, the nearest valid name beside a mistyped one."""
    assert mistakes(
        tmp_path,
        {"id": "a", "prompt": "p", "reponse": "r"},
        {"id": "b", "response": "r"},
        {"id": "c", "prompt": "p", "response": ""},
        {"id": "d", "prompt": 7},
        {"id": "b", "prompt": "p"},
        {"id": "no spaces", "prompt": "p"},
        {"prompt": "p"},
        "[1]",
        '{"id": "e", "prompt": "p", "prompt": "q"}',
        '{"id": "f", "prompt": "half \\ud800"}',
        '{"id": "g"',
    ) == [
        ":1: unknown field 'reponse'; did you mean 'response'?",
        ":8: expected a JSON object on each line",
        ":9: field 'prompt' stands there twice",
        ":11: not valid JSON: Expecting ',' delimiter at column 11; is it cut short?",
        ":5: id 'b' stands in line 2 already",
        ":6: id 'no spaces': expected a text of ASCII letters, digits, - and _",
        ":7: no id: expected a text of ASCII letters, digits, - and _",
        ":2: no 'prompt'",
        ":3: 'response' is empty: give a text, or leave the field out",
        ":4: expected a text as 'prompt', found 7",
        ":10: 'prompt' holds half of a surrogate pair (\\ud800): not valid text",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no column 'prompt'"),
        ("prompt\n", "no prompts"),
        ("question,response\na,b\n", "unknown column 'question'"),
        ("prompt;response\na;b\n", "not separated by commas"),
        ("prompt,response\na,b,c\n", "3 cells, the header has 2"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """Stopped at the header where that is the mistake."""
    with pytest.raises(DataError, match=expected):
        read_table(tmp_path, text)


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    """The message says what is read."""
    (tmp_path / "bot.txt").write_text("hello")
    with pytest.raises(DataError, match=r"own prompts are read from \.csv and \.jsonl"):
        load(tmp_path / "bot.txt", "bot")
    with pytest.raises(DataError, match="no prompts"):
        read_lines(tmp_path, "")
