"""Which questions a benchmark's settings name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truthguard.benchmarks import registry
from truthguard.benchmarks.dialogues import unavailable
from truthguard.benchmarks.prompts import split_shots
from truthguard.benchmarks.registry import default_data, load
from truthguard.errors import DataError, UsageError
from truthguard.records import BenchmarkSettings

LINE = json.dumps({"question": "x?", "correct_answers": ["a"], "incorrect_answers": ["b"]})


@pytest.mark.usefixtures("packaged")
def test_an_own_path_starts_from_the_folder_of_the_thresholds_file(tmp_path: Path) -> None:
    """A relative path is taken from `base`, an absolute one as it is."""
    base = tmp_path / "project"
    base.mkdir()
    (base / "faq.jsonl").write_text(LINE, "utf-8")
    for path in ("faq.jsonl", str(base / "faq.jsonl"), "../project/faq.jsonl"):
        questions = load(BenchmarkSettings("faq", path=path), data=None, base=base)
        assert (questions.name, len(questions.items)) == ("faq", 1)


def test_an_own_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the whole path and the table that names it."""
    with pytest.raises(DataError, match=r"no such file: the path of \[faq\]") as caught:
        load(BenchmarkSettings("faq", path="faq.jsonl"), data=None, base=tmp_path)
    assert str(tmp_path / "faq.jsonl") in str(caught.value)


def test_the_kind_of_an_own_file_says_how_it_is_read(tmp_path: Path) -> None:
    """Prompts and responses by their name, questions otherwise."""
    (tmp_path / "bot.jsonl").write_text(json.dumps({"prompt": "Is ice cold?", "response": "It is."}), "utf-8")
    settings = BenchmarkSettings("bot", kind="correctness", path="bot.jsonl")
    prompts = load(settings, data=None, base=tmp_path)
    assert (prompts.name, prompts.kind, len(prompts.items)) == ("bot", "correctness", 1)
    with pytest.raises(DataError, match="unknown field 'prompt'"):
        load(BenchmarkSettings("bot", path="bot.jsonl"), data=None, base=tmp_path)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"name": "truthfullqa"}, r"unknown benchmark 'truthfullqa'; did you mean 'truthfulqa'\?"),
        ({"name": "starter", "path": "a.csv"}, r"\[starter\] has its own items"),
        ({"name": "truthfulqa", "version": "2021"}, r"version '2021'; expected one of: 2021-09, 2021-10, 2025-01"),
        ({"name": "truthfulqa", "prompt": "helpp"}, r"prompt 'helpp'; did you mean 'help'\?"),
        ({"name": "starter", "prompt": "help"}, r"prompt 'help'; expected one of: null, qa"),
        ({"name": "faq", "path": "a.csv", "prompt": "harm"}, r"prompt 'harm'; expected one of: null, qa"),
        ({"name": "faq", "path": "a.csv", "version": "1"}, r"these questions have no versions"),
        ({"name": "starter", "kind": "correctness"}, r"\[starter\] is a set of its own kind: kind is for other names"),
        ({"name": "bot", "path": "a.csv", "kind": "correctness", "prompt": "null"}, r"\[bot\] prompt has no effect"),
        (
            {"name": "bot", "path": "a.csv", "kind": "correctness", "closing_period": True},
            r"closing_period has no effect",
        ),
        ({"name": "bot", "path": "a.csv", "kind": "correctness", "normalization": "per_byte"}, r"normalization has no"),
    ],
)
def test_settings_that_fit_no_set_are_refused(tmp_path: Path, settings: dict[str, Any], expected: str) -> None:
    """The nearest valid name is given."""
    with pytest.raises(UsageError, match=expected):
        load(BenchmarkSettings(**settings), data=tmp_path, base=tmp_path)


def test_the_default_version_is_the_one_that_the_field_scores(real_data: Path, tmp_path: Path) -> None:
    """Without a version: 2021-09."""
    assert load(BenchmarkSettings("truthfulqa"), data=real_data, base=tmp_path).version == "2021-09"


def test_without_a_folder_the_users_cache_is_looked_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message of a missing file names the folder in the cache."""
    monkeypatch.setattr(registry, "default_data", lambda: tmp_path / "cache")
    with pytest.raises(DataError, match="cache"):
        load(BenchmarkSettings("truthfulqa"), data=None, base=tmp_path)
    assert default_data().name == "data"


def test_the_packaged_starter_set_serves_all_metrics(tmp_path: Path) -> None:
    """At least 80 questions in at least 8 categories, each with a best incorrect answer, a primer of six shots."""
    questions = load(BenchmarkSettings("starter"), data=None, base=tmp_path)
    assert len(questions.items) >= 80
    assert len({item.category for item in questions.items}) >= 8
    assert unavailable("mc_binary", questions, BenchmarkSettings("faq")) is None
    assert questions.counts == {"dropped_choices": 0}
    assert len(split_shots(questions.primers["qa"])[1]) == 6
