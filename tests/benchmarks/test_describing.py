"""What `truthguard sets` tells of the sets on which a judge is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.judge_files import chosen, graded, labelled, publish
from truthguard.benchmarks.describing import NAMES, WIDTH, describe
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.errors import DataError


def told(data: Path, *names: str) -> str:
    """What is told of these sets, on one line."""
    return " ".join(line.strip() for line in describe(names, data))


def test_every_set_is_told_of_in_a_fixed_order(tmp_path: Path) -> None:
    """The packaged one, then the eight; of those that are not there, how to get them, in short lines."""
    lines = list(describe(NAMES, tmp_path))
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["judge_starter", *SETS]
    assert all(len(line) <= WIDTH or str(tmp_path) in line for line in lines)
    assert sum("truthguard fetch prometheus" in each for each in (told(tmp_path, name) for name in SETS)) == 8


@pytest.mark.parametrize("name", list(SETS))
def test_sets_never_tried_on_a_real_file_say_so(tmp_path: Path, name: str) -> None:
    """Four of eight."""
    untried = name in ("flask", "feedback_bench", "mt_bench_human", "preference_bench")
    assert ("not tried on the real file" in told(tmp_path, name)) is untried


def test_responses_are_told_of_with_their_reference(tmp_path: Path) -> None:
    """Sizes, categories, and how far the reference agrees with itself."""
    scores = ([1, 1], [2, 3], [5, 5])
    rows = [graded(score, instruction=f"{score}?", category=f"c{len(set(score))}") for score in scores]
    publish(tmp_path, "vicuna_eval", rows)
    text = told(tmp_path, "vicuna_bench")
    assert text.startswith("vicuna_bench: 3 responses, 3 prompts reference: GPT-4 categories: c1 2, c2 1 ")
    assert "its 2 runs differ on 1 of 3 responses (33%), one run against the mean of the others r = 0.9" in text
    assert "ties" not in text


def test_pairs_are_told_of_with_their_ties(tmp_path: Path) -> None:
    """What without_ties leaves out, and what the loader counted."""
    publish(tmp_path, "autoj_pairwise", [labelled(0), labelled(2, "x"), labelled(2, "y", "y")])
    text = told(tmp_path, "autoj")
    assert "3 pairs, 1 prompts" in text
    assert "ties: 2; n of without_ties: 1" in text
    assert "categories" not in text
    assert "1 data files that are not byte for byte a published one" in text


def test_damaged_files_are_told_of_behind_the_others(tmp_path: Path) -> None:
    """One error with the mistakes of all; the sets that can be read are told of first."""
    for file in ("vicuna_eval", "hhh_alignment_eval"):
        publish(tmp_path, file, [{}])
    publish(tmp_path, "preference_collection_ood_test", [chosen()])
    lines: list[str] = []
    with pytest.raises(DataError) as caught:
        lines.extend(describe(NAMES, tmp_path))
    assert len(caught.value.mistakes) == 2
    assert "vicuna_bench: cannot be read" in lines
    assert "preference_bench: 1 pairs, 1 prompts" in lines


def test_the_published_numbers(real_data: Path) -> None:
    """Sizes, ties and the reference's agreement of the real files, as the contract has them."""
    vicuna, mt_bench = told(real_data, "vicuna_bench"), told(real_data, "mt_bench")
    assert "320 responses, 80 prompts" in vicuna
    assert "differ on 121 of 320 responses (38%), one run against the mean of the others r = 0.840 to 0.857" in vicuna
    assert "320 responses, 80 prompts" in mt_bench
    assert "(56%), one run against the mean of the others r = 0.866 to 0.896" in mt_bench
    hhh, autoj = told(real_data, "hhh_alignment"), told(real_data, "autoj")
    assert "221 pairs, 102 prompts" in hhh
    assert "categories: harmless 58, helpful 59, honest 61, other 43" in hhh
    assert "1,392 pairs, 1,181 prompts" in autoj
    assert "ties: 373; n of without_ties: 1,019" in autoj
