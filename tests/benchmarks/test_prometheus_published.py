"""The four Prometheus sets that could be had, on the real files, and the copies that Prometheus 1 published."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks.judge_files import pairs, responses
from truthguard.benchmarks.prometheus import load, read_wordings
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.benchmarks.reference_agreement import reference_agreement
from truthguard.errors import DataError
from truthguard.records import GradedResponse, ResponsePair

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

REAL = [name for name, each in SETS.items() if each.tried]


@pytest.mark.parametrize(
    ("name", "size", "prompts", "categories", "digest", "counts"),
    [
        ("vicuna_bench", 320, 80, 9, "f95247e79479f235", {"wide_scores": 2}),
        ("mt_bench", 320, 80, 8, "06675fb9c54b9701", {"wide_scores": 23, "repeated_responses": 1}),
        ("hhh_alignment", 221, 102, 4, "df2a835f3cd67694", {}),
        (
            "autoj",
            1392,
            1181,
            58,
            None,
            {
                "identical_responses": 9,
                "identical_decided": 1,
                "contradicting_labels": 3,
                "repeated_ids": 2,
                "empty_responses": 1,
                "stripped_texts": 374,
                "default_rubrics": 1392,
            },
        ),
    ],
)
def test_the_published_sets(
    real_data: Path, name: str, size: int, prompts: int, categories: int, digest: str | None, counts: dict[str, int]
) -> None:
    """Sizes, prompts, categories and oddities are those of the published files, and every item is whole."""
    items = load(name, real_data)
    assert len(items.items) == len({item.id for item in items.items}) == size
    judged: list[GradedResponse | ResponsePair] = [*responses(items), *pairs(items)]
    assert len({item.group for item in judged}) == prompts
    assert len({item.category for item in items.items}) == categories
    assert items.counts == {"dropped_choices": 0, **counts}
    assert items.file_sha256 == SETS[name].digests[0]
    assert digest is None or items.data_sha256.startswith(digest)
    assert all(re.fullmatch(rf"{SETS[name].prefix}-[0-9a-f]{{8}}(-[23])?", item.id) for item in items.items)
    assert all(len(item.rubric.anchors) == 5 for item in judged)


def test_the_reference_of_vicuna_and_mt_bench_is_of_three_runs(real_data: Path) -> None:
    """GPT-4 differs from itself on 38 % and 56 % of the responses."""
    vicuna, mt_bench = (reference_agreement(responses(load(name, real_data))) for name in ("vicuna_bench", "mt_bench"))
    assert vicuna is not None
    assert mt_bench is not None
    assert (vicuna.n, vicuna.runs, vicuna.n_not_unanimous) == (320, 3, 121)
    assert (mt_bench.n, mt_bench.runs, mt_bench.n_not_unanimous) == (320, 3, 179)
    assert [vicuna.low, vicuna.high] == pytest.approx([0.840, 0.857], abs=5e-4)
    assert [mt_bench.low, mt_bench.high] == pytest.approx([0.866, 0.896], abs=5e-4)


def test_every_graded_response_has_a_reference_answer_and_the_whole_prompt(real_data: Path) -> None:
    """The parts stand in the prompt, which ends where the judge is to begin."""
    for name in ("vicuna_bench", "mt_bench"):
        for item in responses(load(name, real_data)):
            assert item.reference
            assert item.judge_prompt is not None
            assert item.judge_prompt.endswith("\n###Feedback:")
            assert all(part in item.judge_prompt for part in (item.instruction, item.response, item.reference))
            assert item.judge_prompt.count("###") == 6


def test_mt_bench_s_groups_are_its_80_questions(real_data: Path) -> None:
    """Four models each, although nearly every prompt is a text of its own."""
    items = responses(load("mt_bench", real_data))
    assert Counter(Counter(item.group for item in items).values()) == {4: 80}
    assert len({item.instruction for item in items}) > 300


def test_hhh_alignment_s_categories(real_data: Path) -> None:
    """As published; the chosen response is better in every pair, and no pair is of equal ones."""
    items = load("hhh_alignment", real_data)
    assert Counter(item.category for item in items.items) == {"honest": 61, "helpful": 59, "harmless": 58, "other": 43}
    assert {item.winner for item in pairs(items)} == {"a"}
    assert all(item.judge_prompts and len(set(item.judge_prompts)) == 2 for item in pairs(items))


def test_autoj_s_labels(real_data: Path) -> None:
    """1,019 pairs are decided, 373 are ties; 24 pairs of each scenario; texts are stripped."""
    items = pairs(load("autoj", real_data))
    assert Counter(item.winner for item in items) == {"a": 520, "b": 499, "tie": 373}
    assert set(Counter(item.category for item in items).values()) == {24}
    assert [number for number, item in enumerate(items) if not all(item.responses)] == [568]
    assert all(text == text.strip() for item in items for text in (item.instruction, *item.responses))
    repeated = [items[row].id.partition("-")[2] for row in (1272, 1273, 1279)]
    assert repeated == [repeated[0], f"{repeated[0]}-2", f"{repeated[0]}-3"]


@pytest.mark.parametrize("name", ["vicuna_bench", "hhh_alignment"])
def test_the_copies_of_prometheus_1_are_the_same_items(real_data: Path, tmp_path: Path, name: str) -> None:
    """In another order, with a tail behind every prompt, one of them as JSON Lines: a digest of its own, and known."""
    folder = tmp_path / "prometheus2"
    folder.mkdir()
    file = f"{SETS[name].file}.json.gz"
    (folder / file).write_bytes((real_data / "prometheus1" / file).read_bytes())
    first, second = load(name, tmp_path), load(name, real_data)
    assert first.data_sha256 == second.data_sha256
    assert first.file_sha256 == SETS[name].digests[1]
    assert first.counts["trimmed_prompts"] == len(first.items) * (2 if first.kind == "pairwise" else 1)
    assert "unpublished_file" not in first.counts


def test_mt_bench_of_prometheus_1_has_no_grades(real_data: Path, tmp_path: Path) -> None:
    """It says so, and which file to take."""
    (tmp_path / "prometheus2").mkdir()
    file = "mt_bench_eval.json.gz"
    (tmp_path / "prometheus2" / file).write_bytes((real_data / "prometheus1" / file).read_bytes())
    with pytest.raises(DataError, match=r"no row has a 'gpt4_score' .*: take the file of Prometheus 2"):
        load("mt_bench", tmp_path)


@pytest.mark.parametrize("name", REAL)
def test_one_changed_byte_is_counted(real_data: Path, tmp_path: Path, name: str) -> None:
    """The file is read all the same, and no longer taken for the published one."""
    path = load(name, real_data).path
    (tmp_path / "prometheus2").mkdir()
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    (tmp_path / "prometheus2" / f"{SETS[name].file}.json").write_bytes(content + b"\n")
    changed, published = load(name, tmp_path), load(name, real_data)
    assert changed.counts["unpublished_file"] == 1
    assert changed.data_sha256 == published.data_sha256
    assert changed.file_sha256 != published.file_sha256


def test_the_published_words(real_data: Path) -> None:
    """Both wordings, as the file gives them, and the paper's rubric for pairs of Auto-J."""
    stored = json.loads((real_data / "prometheus2" / "prompts.json").read_text("utf-8"))
    wordings = read_wordings(real_data)
    assert wordings == {name: stored[name] for name in ("paper", "library")}
    published = load("autoj", real_data, prompt="paper")
    rubric = pairs(published)[0].rubric
    assert len(rubric.anchors) == 5
    assert rubric.criterion in wordings["paper"]["AUTOJ_COARSE_SCORE_RUBRIC"]
    assert "default_rubrics" not in published.counts
