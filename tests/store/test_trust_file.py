"""The trust file: strict JSON, whole or not at all, read back with care."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.thresholds.trusted import ENTRY, NOW, RECORD
from truthguard import __version__
from truthguard.errors import DataError, StoreError
from truthguard.records import TrustedMetric, TrustedSet
from truthguard.store.trust import make_trust, read_trust, write_trust


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge_trust.json"


def test_a_trust_file_comes_back_as_it_was(path: Path) -> None:
    """Every field, with and without the settings of a graded set."""
    asked = TrustedSet("direct", "paper", "both", reference=False, grades=True)
    record = make_trust({"truthful_judge": ENTRY, "flask": replace(ENTRY, asked=asked)}, NOW)
    write_trust(path, record)
    assert read_trust(path) == record
    assert (record.schema, record.truthguard, record.created) == (1, __version__, NOW)


def test_the_file_says_who_was_measured_on_what(path: Path) -> None:
    """Judge, prompt and data digests stand there under their names, and nothing that could be a key."""
    write_trust(path, RECORD)
    content = json.loads(path.read_text("utf-8"))
    entry = content["benchmarks"]["truthful_judge"]
    assert list(content) == ["schema", "truthguard", "created", "benchmarks"]
    assert list(entry["judge"]) == ["kind", "name", "digest", "revision", "dtype", "settings", "prompt_digest"]
    assert (entry["data_sha256"], entry["n_items"], entry["limit"]) == ("d" * 64, 200, 200)
    assert entry["metrics"]["accuracy"]["n_unscored"] == 3
    assert "api_key" not in path.read_text("utf-8")


def changed(path: Path, change: dict[str, Any], *place: str) -> None:
    """The file with some values of the object at a place replaced."""
    write_trust(path, RECORD)
    content = json.loads(path.read_text("utf-8"))
    target = content
    for name in place:
        target = target[name]
    target |= change
    path.write_text(json.dumps(content), "utf-8")


ACCURACY = ("benchmarks", "truthful_judge", "metrics", "accuracy")


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"schema": 2}, (), "a trust file of schema 2"),
        ({"rows": []}, (), "rows is not known here"),
        ({"kind": "oracle"}, ("benchmarks", "truthful_judge", "judge"), r"judge\.kind: expected one of rubric"),
        ({"estimate": 1.5}, ACCURACY, "1.5 lies outside the range of accuracy: scores run from 0 to 1"),
        ({"estimate": "nan"}, ACCURACY, "nan lies outside the range"),
        ({"estimate": None}, ACCURACY, "expected a number"),
        ({"n": 0}, ACCURACY, "expected at least one scored item, got 0"),
        ({"n_unscored": -1}, ACCURACY, "expected counts of items, got -1 unscored and 0 dropped"),
        ({"confidence": 95}, ACCURACY, "expected a confidence between 0 and 1, got 95"),
        ({"high": 1.5}, ACCURACY, r"the interval 0\.6436 to 1\.5 leaves the range of accuracy: 0 to 1"),
        ({"low": "nan"}, ACCURACY, "the interval nan to"),
        ({"acuracy": {"estimate": 1.0}}, ACCURACY[:-1], "acuracy.low is missing"),
    ],
)
def test_what_no_judge_can_have_is_refused(
    path: Path, change: dict[str, Any], place: tuple[str, ...], message: str
) -> None:
    """A file that somebody edited is told by its place, and never taken for trust."""
    changed(path, change, *place)
    with pytest.raises(DataError, match=message) as caught:
        read_trust(path)
    assert str(path) in str(caught.value)


def test_an_unknown_metric_is_refused(path: Path) -> None:
    """With the nearest one that there is."""
    entry = replace(ENTRY, metrics={"acuracy": TrustedMetric(0.5, None, None, 0.95, 10, 0)})
    write_trust(path, replace(RECORD, benchmarks={"truthful_judge": entry}))
    with pytest.raises(DataError, match="unknown metric; did you mean 'accuracy'"):
        read_trust(path)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"schema": 1', '{"mc1": 0.4}', '{"schema": NaN}'])
def test_what_is_no_trust_file_is_told(path: Path, content: str) -> None:
    """Cut off, empty, of another form: the file is named."""
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=r"judge_trust\.json"):
        read_trust(path)


def test_a_record_is_no_trust_file(path: Path) -> None:
    """The other file that truthguard writes has a schema of its own."""
    path.write_text('{"schema": 1, "truthguard": "0.1.0", "created": "2026-01-01T00:00:00Z", "rows": []}', "utf-8")
    with pytest.raises(DataError, match="not a trust file of schema 1"):
        read_trust(path)


def test_a_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: an error with the file and the option, and what was there is whole."""
    write_trust(path, RECORD)

    def full(target: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truthguard.store.strict.write_atomically", full)
    with pytest.raises(StoreError, match=r"the trust file cannot be written .*--truthguard-save-trust FILE"):
        write_trust(path, replace(RECORD, benchmarks={}))
    assert read_trust(path) == RECORD
