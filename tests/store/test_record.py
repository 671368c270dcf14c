"""The public record: strict JSON, whole or not at all, and read back with care."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.store.strategies import results, runs
from truthguard import __version__
from truthguard.errors import DataError, StoreError
from truthguard.records import (
    Bar,
    Counts,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    MetricSummary,
    Missing,
    Row,
    RowResult,
    Run,
    Sample,
    ScoredChoice,
)
from truthguard.store.record import make_record, read_record, row_record, write_record

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CHOICES = (
    ScoredChoice("yes, it is", True, True, -1.5, 3, 0.25),
    ScoredChoice("no, it\u2028is not", False, True, -math.inf, 4),
    ScoredChoice("perhaps", False, False, math.nan, 2, math.nan),
    ScoredChoice("never", False, False),
)
ITEM = ItemScores(
    "tqa-0a1b2c3d", "Health", "Is it?", {"mc1": 1.0, "mc3": None}, {"mc3": Missing("nan", "a NaN")}, CHOICES
)
RUN = Run(
    benchmark="truthfulqa",
    version="2021-10",
    data_sha256="d" * 64,
    file_sha256="f" * 64,
    model=Identity("m", "huggingface", "0" * 64, libraries={"torch": "2.13.0"}),
    settings={"prompt": "qa", "limit": None, "chat_template": False, "batch_tokens": 1024},
    scorer=Facts("packed", "agrees with plain", 1e-6, 2.0),
    counts=Counts(requests=1, prompt_tokens=40),
    seconds=1.25,
    seconds_load=2.0,
    oldest_answer=MOMENT,
    complete=True,
    items=(ITEM,),
)
SUMMARY = MetricSummary("mc1", 40, 1, 0.375, 0.24, 0.53, 0.95, n_dropped=2)
ROW = Row("truthfulqa[mc1]", "truthfulqa", "mc1", 12, Bar(min=0.22))
RESULT = RowResult(ROW, SUMMARY, "pass")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.json"


@pytest.fixture
def written(path: Path) -> dict[str, Any]:
    """The content of a record of one row and one run, read by a strict reader."""
    write_record(path, [RESULT], [RUN])

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    content: dict[str, Any] = json.loads(path.read_text("utf-8"), parse_constant=refuse)
    return content


@given(rows=st.lists(results, max_size=2), measured=st.lists(runs, max_size=2))
def test_a_record_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[RowResult], measured: list[Run]
) -> None:
    """Whatever the rows and runs hold, the record read equals the record written."""
    # Lone surrogates do change (to U+FFFD): they have their own test.
    assume(not re.search(r"\\ud[89a-f]", repr((rows, measured))))
    path = tmp_path_factory.mktemp("record") / "out.json"
    write_record(path, rows, measured)
    record = read_record(path)
    expected = make_record(rows, measured, record.created)
    assert repr(record) == repr(expected)


def test_the_rows_have_the_contracts_keys(written: dict[str, Any]) -> None:
    """A row says what was measured, the bar as far as it is set, and the verdict."""
    assert list(written) == ["schema", "truthguard", "created", "rows", "runs"]
    assert (written["schema"], written["truthguard"]) == (3, __version__)
    assert datetime.fromisoformat(written["created"]).utcoffset() == UTC.utcoffset(None)
    assert written["rows"] == [
        {
            "id": "truthfulqa[mc1]",
            "benchmark": "truthfulqa",
            "metric": "mc1",
            "slice": None,
            "estimate": 0.375,
            "low": 0.24,
            "high": 0.53,
            "confidence": 0.95,
            "n": 40,
            "n_unscored": 1,
            "n_dropped": 2,
            "bar": {"min": 0.22, "block_on": "estimate"},
            "verdict": "pass",
            "reason": "",
            "corrected": None,
            "drops": [],
        }
    ]


def test_the_runs_have_the_contracts_keys(written: dict[str, Any]) -> None:
    """A run stands there with everything that decides it; without a judged metric there is no judge."""
    (run,) = written["runs"]
    assert set(run) == {
        "benchmark",
        "version",
        "data_sha256",
        "file_sha256",
        "model",
        "judge",
        "settings",
        "scorer",
        "counts",
        "seconds",
        "seconds_load",
        "oldest_answer",
        "complete",
        "items",
        "below_half",
        "kind",
        "reference_agreement",
    }
    assert run["below_half"] == []
    assert (run["kind"], run["reference_agreement"]) == ("questions", None)
    assert run["judge"] is None
    assert run["oldest_answer"] == "2026-01-02T03:04:05Z"
    assert set(run["counts"]) == {
        "requests",
        "retries",
        "cached",
        "prompt_tokens",
        "completion_tokens",
        "tied_best",
        "degenerate",
        "truncated",
        "boundary_merges",
        "dropped_choices",
        "data",
    }
    (item,) = run["items"]
    texts = {"id", "category", "question", "answer", "choices", "samples"}
    assert set(item) == texts | {"values", "reasons", "group", "degenerate"}
    assert (item["answer"], item["samples"]) == (None, [])
    assert item["values"] == {"mc1": 1.0, "mc3": None}
    assert set(item["choices"][0]) == {"text", "true", "in_mc1", "log_likelihood", "tokens", "p_yes"}


def test_numbers_beyond_json_are_told(written: dict[str, Any]) -> None:
    """-inf is the string "-inf"; NaN is null with its reason; what was not asked is null without one."""
    item = written["runs"][0]["items"][0]
    assert [choice["log_likelihood"] for choice in item["choices"]] == [-1.5, "-inf", None, None]
    assert item["reasons"]["log_likelihood"] == {"kind": "nan", "detail": "not a number for choice 3 of 4"}
    assert item["reasons"]["p_yes"]["detail"] == "not a number for choice 3 of 4"
    assert item["reasons"]["mc3"] == {"kind": "nan", "detail": "a NaN"}


def test_a_value_of_nan_is_missing() -> None:
    """A value that is no number never reaches the file as one, and keeps the reason that it has."""
    known = ItemScores("i", "c", "q", {"mc1": math.nan, "mc2": math.nan}, {"mc1": Missing("why", "known")})
    (item,) = make_record([], [replace(RUN, items=(known,))], MOMENT).runs[0].items
    assert item.values == {"mc1": None, "mc2": None}
    assert item.reasons["mc1"] == Missing("why", "known")
    assert item.reasons["mc2"].kind == "nan"


@pytest.mark.parametrize(
    ("row", "slice_", "bar"),
    [
        (Row("r", "b", "m", 1, category="Confusion: People"), "Confusion: People", {}),
        (Row("r", "b", "m", 1, Bar(max=0.5, block_on="doubt"), item="faq-1"), "faq-1", {"max": 0.5}),
        (Row("r", "b", "m", 1, Bar(0.1, 0.2, "proof"), "c", "i"), "i", {"min": 0.1, "max": 0.2}),
    ],
)
def test_the_slice_and_the_bar(row: Row, slice_: str, bar: dict[str, float]) -> None:
    """The slice is the category's full name or the item's id; a bar has only the ends that are set."""
    record = row_record(RowResult(row, SUMMARY, "fail", "below"))
    assert record["slice"] == slice_
    assert {key: value for key, value in record["bar"].items() if key != "block_on"} == bar
    assert record["bar"].get("block_on") == (row.bar.block_on if bar else None)


def test_a_row_that_was_not_measured_has_no_numbers() -> None:
    """Without a summary there is no n of 0 and no estimate: null, and the reason."""
    record = row_record(RowResult(ROW, None, "error", "no model"))
    assert [record[key] for key in ("estimate", "low", "high", "n", "n_unscored", "n_dropped")] == [None] * 6
    assert (record["confidence"], record["reason"]) == (0.95, "no model")


def test_lone_surrogates_do_not_lose_a_run(path: Path) -> None:
    """A text that UTF-8 refuses stands in the record with U+FFFD, and the record is read back."""
    write_record(path, [RowResult(ROW, SUMMARY, "fail", "a \udc80 \U0001f600")], [])
    assert read_record(path).rows[0].reason == "a � \U0001f600"


def test_c22_a_byte_order_mark_changes_nothing(path: Path) -> None:
    """C22: a record that an editor saved with a byte order mark reads the same; writing never adds one."""
    write_record(path, [RESULT], [RUN])
    plain = path.read_bytes()
    assert not plain.startswith(b"\xef\xbb\xbf")
    record = read_record(path)
    path.write_bytes(b"\xef\xbb\xbf" + plain)
    assert read_record(path) == record
    path.write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    assert read_record(path) == record


# What cannot be written


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """The record does not make folders: the error names the one that lacks and the option."""
    with pytest.raises(StoreError, match=r"the folder .*absent does not exist: make it.*--truthguard-json"):
        write_record(tmp_path / "absent" / "out.json", [], [])


@pytest.mark.parametrize("target", [".", "/dev/null"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, target: str) -> None:
    """A folder or a device in the place of the record is left alone and told."""
    with pytest.raises(StoreError, match="no regular file"):
        write_record(tmp_path / target, [], [])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Written through a link, the record lands in the file that the link names."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "there" / "out.json")
    write_record(tmp_path / "link.json", [RESULT], [])
    assert (tmp_path / "link.json").is_symlink()
    assert read_record(tmp_path / "there" / "out.json").rows[0].id == ROW.id


def test_a_full_disk_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that cannot be written is an error with the file and the option, and no half file."""

    def full(target: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truthguard.store.strict.write_atomically", full)
    with pytest.raises(StoreError, match=r"out\.json: the record cannot be written .*No space left"):
        write_record(path, [], [])


# What cannot be read


def error_of(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        read_record(path)
    message = str(refused.value)
    assert message.startswith(str(path)), message
    return message


def test_a_record_cut_off_is_told(path: Path) -> None:
    """C26: wherever a record is cut off in the middle, the error names the file, the line and the position."""
    write_record(path, [RESULT], [RUN])
    content = path.read_bytes()
    for end in range(0, len(content) - 2, 7):
        path.write_bytes(content[:end])
        message = error_of(path)
        if end and not content[:end].rstrip().endswith(b"}"):
            assert "cut off, not JSON" in message or "not UTF-8" in message
        place = re.match(rf"{re.escape(str(path))}:(\d+): .*at character (\d+) of (\d+)", message)
        assert place or "not UTF-8" in message
        if place:
            assert int(place[1]) <= content[:end].count(b"\n") + 1
            assert int(place[2]) <= int(place[3]) <= end


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut off, not JSON at character 0 of 0"),
        (b"mc1 = 0.3\n", "not JSON at character 0"),
        (b'{"schema": 1, "rows": [NaN]}', "NaN is not JSON: expected a number, null"),
        (b'{"schema": 1, "rows": [-Infinity]}', "-Infinity is not JSON"),
        (b"[]", 'expected a record of truthguard: an object with "schema"'),
        (b'{"mc1": 0.41}', 'expected a record of truthguard: an object with "schema"'),
        (b'{"schema": "1"}', "expected a whole number for \"schema\", got '1'"),
        (b'{"schema": true}', 'expected a whole number for "schema", got True'),
        (b'{"schema": 0}', 'expected a whole number for "schema", got 0'),
        (b'{"schema": 5, "truthguard": "9.1"}', "a record of schema 5, written by truthguard 9.1;"),
        (b'{"schema": 7}', "a record of schema 7; this truthguard"),
        (b'{"schema": 1}', "not a record of schema 1: truthguard is missing"),
        ('{"schema": 1}'.encode("utf-16"), "not UTF-8 at byte 0"),
        (b'{"schema": 1, "x": "\xff"}', "not UTF-8 at byte 20"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_record_is_told(path: Path, content: bytes, message: str) -> None:
    """A file that is no record of this schema is refused with its name and what was expected."""
    path.write_bytes(content)
    assert message in error_of(path)


def change(*keys: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def apply(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        if to is None:
            del content[keys[-1]]
        else:
            content[keys[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change("rows", to=None), "rows is missing"),
        (change("rows", 0, "estimate", to=None), r"rows\[0\]\.estimate is missing"),
        (change("rows", 0, "estimate", to="high"), r"rows\[0\]\.estimate: expected a number"),
        (change("rows", 0, "verdict", to="passed"), r"rows\[0\]\.verdict: expected one of pass, fail"),
        (change("runs", 0, "items", 0, "values", to=None), r"runs\[0\]\.items\[0\]\.values is missing"),
        (
            change("runs", 0, "items", 0, "choices", 1, "true", to=1),
            r"choices\[1\]\.true: expected true or false",
        ),
        (change("runs", 0, "bencmark", to="x"), r"runs\[0\]\.bencmark is not known here; did you mean 'benchmark'"),
        (change("created", to="today"), "created: expected an ISO 8601 time"),
    ],
)
def test_a_record_of_another_form_is_told(
    path: Path, written: dict[str, Any], spoil: Callable[[dict[str, Any]], None], message: str
) -> None:
    """Keys that lack, are unknown, or have a value of the wrong kind are named by their place."""
    spoil(written)
    path.write_text(json.dumps(written))
    assert re.search(message, error_of(path))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A path without a file, or with a folder, is refused with the system's reason."""
    assert "No such file" in error_of(tmp_path / "absent.json")
    assert "Is a directory" in error_of(tmp_path)


def test_the_judge_stands_beside_the_model(path: Path) -> None:
    """A judged run says who judged, in which words and at what cost, and lists what a person must examine."""
    samples = (
        Sample(0, 0, "no", "no", "Ice floats.", "stop"),
        Sample(1, 1, None, "length", "", "length"),
        Sample(2, 0, "no", "no", "It floats.", "stop"),
    )
    item = replace(ITEM, values={"correctness": 0.0}, reasons={}, answer="Ice sinks.", samples=samples)
    judge = JudgeRun(
        Identity("openai:j", "openai", None, "api", ""), "rubric", {"samples": 3}, "p" * 64, Counts(requests=3), 1.5
    )
    write_record(path, [RESULT], [replace(RUN, model=None, judge=judge, items=(item,))])
    (run,) = json.loads(path.read_text("utf-8"))["runs"]
    assert run["model"] is None
    assert (run["judge"]["identity"]["name"], run["judge"]["kind"]) == ("openai:j", "rubric")
    assert (run["judge"]["prompt_digest"], run["judge"]["counts"]["requests"]) == ("p" * 64, 3)
    assert run["items"][0]["answer"] == "Ice sinks."
    assert run["items"][0]["samples"][1] == {
        "index": 1,
        "attempt": 1,
        "verdict": None,
        "kind": "length",
        "explanation": "",
        "finish_reason": "length",
        "question": "correctness",
        "missing": None,
    }
    assert run["below_half"] == [
        {
            "id": "tqa-0a1b2c3d",
            "question": "Is it?",
            "answer": "Ice sinks.",
            "correctness": 0.0,
            "explanations": ["Ice floats."],
        }
    ]
    assert read_record(path).runs[0].judge == judge


def test_a_record_of_the_first_schema_is_read(path: Path, written: dict[str, Any]) -> None:
    """What it lacks is empty: nobody judged, and there is nothing to examine."""
    written["schema"] = 1
    for run in written["runs"]:
        del run["below_half"]
    path.write_text(json.dumps(written), encoding="utf-8")
    (run,) = read_record(path).runs
    assert (run.judge, run.below_half) == (None, ())
