"""Fetching the Prometheus sets: eight files by SHA-256 or git blob, and the prompts from two Python files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.judge_files import chosen, graded
from tests.fetch.serving import Upstream
from truthguard.benchmarks.files import git_blob, read_content
from truthguard.benchmarks.prometheus import load, read_wordings
from truthguard.benchmarks.prometheus_sets import SETS
from truthguard.errors import DataError
from truthguard.fetch import fetch_prometheus
from truthguard.fetch.downloading import texts_sha256
from truthguard.fetch.prometheus import COMMIT, DATA_PATH, TEXTS, TEXTS_SHA256

# For the four whose real files are not to be had: files of the same form, under the digests that they have.
STAND_INS = {
    "flask": {**graded(), "criteria": "Brevity", "human_score": 3},
    "feedback_bench": graded(4),
    "mt_bench_human": chosen(tie=1),
    "preference_bench": chosen(),
}


def module_of(texts: dict[str, str]) -> bytes:
    """A Python file that gives the texts to their names, and does more than that."""
    lines = [f"{name} = {text!r}" for name, text in texts.items()]
    return "\n".join(["import os", *lines, "RUBRIC = os.linesep.strip()", "RUBRIC = 2"]).encode()


def address(name: str) -> str:
    return f"/{COMMIT}/{DATA_PATH}/{SETS[name].file}.json"


def content_of(name: str, real_data: Path) -> bytes:
    if name in STAND_INS:
        return json.dumps([STAND_INS[name]]).encode()
    return read_content(real_data / "prometheus2" / f"{SETS[name].file}.json.gz")


@pytest.fixture
def published(upstream: Upstream, real_data: Path, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """The server with all eight files and both modules."""
    sets = dict(SETS)
    for name, each in SETS.items():
        content = content_of(name, real_data)
        upstream.files[address(name)] = content
        if name in STAND_INS:
            sets[name] = replace(each, digests=(git_blob(content),))
    monkeypatch.setattr("truthguard.fetch.prometheus.SETS", sets)
    wordings = read_wordings(real_data)
    for name, (path, _) in TEXTS.items():
        upstream.files[f"/{COMMIT}/{path}"] = module_of(dict(wordings[name]))
    return upstream


def test_the_commit_and_the_digests_are_pinned() -> None:
    """Every set has a digest that the file behind the address must have."""
    assert len(COMMIT) == 40
    assert {len(each.digests[0]) for each in SETS.values()} == {40, 64}
    assert all((len(each.digests[0]) == 64) is each.tried for each in SETS.values())


def test_all_files_are_fetched_and_load(published: Upstream, real_data: Path, tmp_path: Path) -> None:
    """Eight sets and the prompts, the real ones equal to the published; nothing else is left behind."""
    paths = fetch_prometheus(tmp_path, base_url=published.url)
    assert len(paths) == 9
    assert len(published.asked) == 10
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)
    for name in SETS:
        assert len(load(name, tmp_path).items) == (1 if name in STAND_INS else len(load(name, real_data).items))
    assert read_wordings(tmp_path) == read_wordings(real_data)
    stored = json.loads((tmp_path / "prometheus2/prompts.json").read_bytes())
    assert texts_sha256({name: stored[name] for name in TEXTS}) == TEXTS_SHA256
    assert COMMIT in stored["source"]


def test_published_files_that_are_there_are_kept(published: Upstream, real_data: Path, tmp_path: Path) -> None:
    """Compressed ones and those of Prometheus 1 as well; only what is missing is asked for."""
    folder = tmp_path / "prometheus2"
    folder.mkdir()
    for origin, file in (("prometheus2", "autoj_pairwise"), ("prometheus1", "vicuna_eval")):
        (folder / f"{file}.json.gz").write_bytes((real_data / origin / f"{file}.json.gz").read_bytes())
    paths = fetch_prometheus(tmp_path, base_url=published.url)
    assert len(published.asked) == 8
    assert {path.name for path in paths if path.suffix == ".gz"} == {"autoj_pairwise.json.gz", "vicuna_eval.json.gz"}
    assert not (folder / "autoj_pairwise.json").exists()
    published.asked.clear()
    assert fetch_prometheus(tmp_path, base_url=published.url) == paths
    assert published.asked == []


def test_other_files_are_never_overwritten(published: Upstream, tmp_path: Path) -> None:
    """All of them are named with the digest that is known and their own of the same kind, before any download."""
    folder = tmp_path / "prometheus2"
    folder.mkdir()
    (folder / "flask_eval.json").write_text("[]")
    (folder / "vicuna_eval.json.gz").write_bytes(gzip.compress(b"[]"))
    (folder / "prompts.json").write_text('{"library": {}}')
    with pytest.raises(DataError) as caught:
        fetch_prometheus(tmp_path, base_url=published.url)
    names = [mistake.file.name for mistake in caught.value.mistakes if mistake.file]
    assert names == ["vicuna_eval.json.gz", "flask_eval.json", "prompts.json"]
    assert f"git blob expected {git_blob(published.files[address('flask')])}, got {git_blob(b'[]')}" in str(
        caught.value
    )
    assert f"sha256 expected {SETS['vicuna_bench'].digests[0]}, got 4f53cda18c2baa0c" in str(caught.value)
    assert "does not hold the published prompts" in str(caught.value)
    assert published.asked == []


@pytest.mark.parametrize("name", ["flask", "vicuna_bench"])
def test_a_file_with_another_digest_is_not_kept(published: Upstream, tmp_path: Path, name: str) -> None:
    """Not even the older copy of Prometheus 1: what lies behind the address is known."""
    file = f"{SETS[name].file}.json"
    digest = git_blob(published.files[address(name)]) if name in STAND_INS else SETS[name].digests[0]
    published.files[address(name)] += b"\n"
    with pytest.raises(DataError, match=f"{file} is not the published file, nothing was kept: .* expected") as caught:
        fetch_prometheus(tmp_path, base_url=published.url)
    assert digest in str(caught.value)
    assert not (tmp_path / "prometheus2" / file).exists()
    assert not list(tmp_path.rglob("*.part"))


def test_other_prompts_are_not_kept(published: Upstream, tmp_path: Path) -> None:
    """One word of one text is enough."""
    path = f"/{COMMIT}/{TEXTS['paper'][0]}"
    published.files[path] = published.files[path].replace(b"fair judge", b"strict judge", 1)
    with pytest.raises(DataError, match=f"does not hold the published prompts: sha256 expected {TEXTS_SHA256}"):
        fetch_prometheus(tmp_path, base_url=published.url)
    assert not (tmp_path / "prometheus2/prompts.json").exists()
