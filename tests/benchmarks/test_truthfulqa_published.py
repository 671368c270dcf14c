"""TruthfulQA's three published versions, and copies of them that are written differently."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from math import fsum
from pathlib import Path

import pytest

from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.dialogues import unavailable
from truthguard.benchmarks.truthfulqa import PUBLISHED, load
from truthguard.errors import DataError
from truthguard.metrics.choice import chance
from truthguard.records import BenchmarkSettings

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

VERSIONS = tuple(PUBLISHED)


def mean_chance(questions: QuestionSet, metric: str) -> float:
    values = []
    for item in questions.questions:
        n_true = sum(choice.true for choice in item.choices)
        n_single = sum(choice.in_mc1 for choice in item.choices)
        value = chance(metric, n_single, n_true, len(item.choices) - n_true)
        assert value is not None
        values.append(value)
    return fsum(values) / len(values)


@pytest.mark.parametrize(
    ("version", "items", "choices", "categories", "dropped", "mc1", "mass", "digest"),
    [
        ("2021-09", 817, 5882, 38, 0, 0.2261, 0.4484, "816527507c84e2d6"),
        ("2021-10", 817, 6204, 38, 0, 0.2225, 0.4641, "2a2b0cbc9ecdf1d9"),
        ("2025-01", 790, 6023, 37, 22, 0.2235, 0.4684, "1356a7ba366913cb"),
    ],
)
def test_the_published_versions(
    real_data: Path,
    version: str,
    items: int,
    choices: int,
    categories: int,
    dropped: int,
    mc1: float,
    mass: float,
    digest: str,
) -> None:
    """Sizes, categories, what is dropped, and the levels of chance are those of the published files."""
    questions = load(real_data, version)
    assert len(questions.questions) == len({item.id for item in questions.questions}) == items
    assert sum(len(item.choices) for item in questions.questions) == choices
    assert len({item.category for item in questions.questions}) == categories
    assert questions.counts == {"dropped_choices": dropped}
    assert mean_chance(questions, "mc1") == pytest.approx(mc1, abs=5e-5)
    assert mean_chance(questions, "mc2_mass") == pytest.approx(mass, abs=5e-5)
    assert questions.data_sha256.startswith(digest)
    assert questions.file_sha256 == PUBLISHED[version]["mc_task.json"]
    assert all(re.fullmatch(r"tqa-[0-9a-f]{8}", item.id) for item in questions.questions)


@pytest.mark.parametrize(
    ("version", "rows"),
    [("2021-09", (25, 208)), ("2021-10", (164, 607)), ("2025-01", (335, 342))],
)
def test_true_choices_that_follow_false_ones_keep_their_place_and_label(
    real_data: Path, version: str, rows: tuple[int, int]
) -> None:
    """Only two rows are not true-first, and they are read by label."""
    items = load(real_data, version).questions
    labels = [[choice.true for choice in item.choices] for item in items]
    assert labels[rows[0]][:5] == [True, True, True, False, True]
    assert labels[rows[1]][:4] == [True, True, False, True]
    mixed = [number for number, row in enumerate(labels) if row != sorted(row, reverse=True)]
    assert mixed == list(rows)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_single_true_set_of_the_published_files(real_data: Path, version: str) -> None:
    """Every item has one true and at least one false mc1 choice among its choices; the true one is the best."""
    for item in load(real_data, version).questions:
        single = [choice for choice in item.choices if choice.in_mc1]
        assert [choice.text for choice in single if choice.true] == [item.best]
        assert len(single) > 1
        assert all(choice.text for choice in item.choices)


def test_only_2025_01_has_the_binary_form(real_data: Path) -> None:
    """mc_binary is refused elsewhere, naming the version that has it."""
    assert unavailable("mc_binary", load(real_data, "2025-01"), BenchmarkSettings("truthfulqa")) is None
    refused = unavailable("mc_binary", load(real_data, "2021-10"), BenchmarkSettings("truthfulqa"))
    assert refused is not None
    assert "2021-10" in refused
    assert "2025-01" in refused
    assert unavailable("mc1", load(real_data, "2021-10"), BenchmarkSettings("truthfulqa")) is None


def test_the_closing_full_stop_makes_2025_01_end_like_the_others(real_data: Path) -> None:
    """With closing_period every choice and both binary answers end closed; the items are other data then."""
    verbatim, period = load(real_data, "2025-01"), load(real_data, "2025-01", closing_period=True)
    ends = re.compile(r"[.!?…][\"')]*$")
    texts = [choice.text for item in period.questions for choice in item.choices]
    texts += [text for item in period.questions for text in (item.best, item.best_incorrect) if text]
    assert all(ends.search(text) for text in texts)
    assert sum(bool(ends.search(c.text)) for item in verbatim.questions for c in item.choices) < 100
    assert len(period.questions) == len(verbatim.questions)
    assert period.counts == verbatim.counts
    assert period.data_sha256 != verbatim.data_sha256


def with_bom(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf")


def without_bom(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf")


def with_crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def shuffled(data: bytes) -> bytes:
    """The rows of mc_task.json in another order; a CSV is left as it is (its order differs anyway)."""
    if not data.startswith(b"["):
        return data
    rows = json.loads(data)
    random.Random(0).shuffle(rows)
    return json.dumps(rows, indent=1).encode()


@pytest.mark.parametrize("change", [with_bom, without_bom, with_crlf, shuffled, gzip.compress])
@pytest.mark.parametrize("version", VERSIONS)
def test_how_a_file_is_written_does_not_change_the_data_digest(
    real_data: Path, tmp_path: Path, version: str, change: object
) -> None:
    """C22: byte order mark, line ends, compression and row order are not content."""
    assert callable(change)
    folder = tmp_path / "truthfulqa" / version
    folder.mkdir(parents=True)
    shutil.copy(real_data / "truthfulqa" / "primers.json", folder.parent)
    suffix = ".gz" if change is gzip.compress else ""
    for name in ("mc_task.json", "TruthfulQA.csv"):
        data = change((real_data / "truthfulqa" / version / name).read_bytes())
        (folder / f"{name}{suffix}").write_bytes(data)
    copy, published = load(tmp_path, version), load(real_data, version)
    assert copy.data_sha256 == published.data_sha256
    assert {item.category for item in copy.questions} == {item.category for item in published.questions}
    if change is gzip.compress:
        assert copy.file_sha256 == published.file_sha256
        assert "unpublished_file" not in copy.counts


def test_a_file_in_the_folder_of_another_version_is_refused(real_data: Path, tmp_path: Path) -> None:
    """The 2021 versions have the same form, so only the digest can tell them apart."""
    shutil.copytree(real_data / "truthfulqa" / "2021-10", tmp_path / "truthfulqa" / "2021-09")
    shutil.copy(real_data / "truthfulqa" / "primers.json", tmp_path / "truthfulqa")
    with pytest.raises(DataError, match=r"mc_task\.json: this is the file of 2021-10, in the folder of 2021-09"):
        load(tmp_path, "2021-09")
