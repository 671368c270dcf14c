"""Fetching: pinned files over a local server, kept, refused or left out whole."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.fetch.serving import Upstream
from truthguard.benchmarks.truthfulqa import PUBLISHED, load
from truthguard.errors import DataError, UsageError
from truthguard.fetch import downloading, fetch_truthfulqa
from truthguard.fetch.downloading import texts_sha256
from truthguard.fetch.truthfulqa import PRESETS_COMMIT, PRESETS_PATH, PRIMERS_SHA256, UPSTREAM

PRESETS_URL = f"/{PRESETS_COMMIT}/{PRESETS_PATH}"


def presets_file(primers: dict[str, str]) -> bytes:
    """A module of upstream's form: constants in several spellings, and the dictionary that names them."""
    names = {"qa": "QA", "help": "PROF", "null": "NULL", "chat": "CHAT", "long": "LONG", "harm": "BAD"}
    lines = [f"{names[preset]}_PRIMER = {text!r}" for preset, text in primers.items()]
    head, tail = primers["qa"][:20], primers["qa"][20:]
    lines[list(primers).index("qa")] = f"QA_PRIMER = ({head!r}\n             {tail!r})"
    lines.append('COMPARE_PRIMER = "Decide.".format()')
    entries = ", ".join(f"{preset!r}: {name}_PRIMER" for preset, name in names.items())
    lines.append(f"preset_map = {{{entries}, 'comp': COMPARE_PRIMER}}")
    return "\n\n".join(lines).encode()


@pytest.fixture
def published(upstream: Upstream, real_data: Path) -> Upstream:
    """The server with all published files."""
    for version, (commit, paths) in UPSTREAM.items():
        for name, path in paths.items():
            upstream.files[f"/{commit}/{path}"] = (real_data / "truthfulqa" / version / name).read_bytes()
    stored = json.loads((real_data / "truthfulqa" / "primers.json").read_text("utf-8"))
    upstream.files[PRESETS_URL] = presets_file(stored["primers"])
    return upstream


def test_all_files_are_fetched_and_load(published: Upstream, real_data: Path, tmp_path: Path) -> None:
    """Three versions of two files and the primers, equal to the published ones; nothing else is left behind."""
    paths = fetch_truthfulqa(tmp_path, base_url=published.url)
    assert len(paths) == len(published.asked) == 7
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)
    for version in PUBLISHED:
        assert load(tmp_path, version).data_sha256 == load(real_data, version).data_sha256
        assert "unpublished_file" not in load(tmp_path, version).counts
    ours, theirs = (json.loads((at / "truthfulqa/primers.json").read_bytes()) for at in (tmp_path, real_data))
    assert ours == theirs
    assert texts_sha256(ours["primers"]) == PRIMERS_SHA256


def test_files_that_are_there_are_kept_without_a_download(published: Upstream, tmp_path: Path) -> None:
    """A second call asks for nothing, and only what is missing is fetched again."""
    paths = fetch_truthfulqa(tmp_path, base_url=published.url)
    published.asked.clear()
    assert fetch_truthfulqa(tmp_path, base_url=published.url) == paths
    assert published.asked == []
    paths[0].unlink()
    fetch_truthfulqa(tmp_path, base_url=published.url)
    assert len(published.asked) == 1


def test_a_compressed_file_that_is_there_is_kept(published: Upstream, tmp_path: Path) -> None:
    """Loaders read it, so it need not be fetched again."""
    paths = fetch_truthfulqa(tmp_path, base_url=published.url)
    published.asked.clear()
    packed = paths[0].with_name(f"{paths[0].name}.gz")
    packed.write_bytes(gzip.compress(paths[0].read_bytes()))
    paths[0].unlink()
    assert fetch_truthfulqa(tmp_path, base_url=published.url) == [packed, *paths[1:]]
    assert published.asked == []


def test_files_that_are_not_the_published_ones_are_never_overwritten(published: Upstream, tmp_path: Path) -> None:
    """All of them are named with both digests, before any download."""
    mine = tmp_path / "truthfulqa/2021-09/mc_task.json"
    primers = tmp_path / "truthfulqa/primers.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("[]")
    primers.write_text("[]")
    with pytest.raises(DataError) as caught:
        fetch_truthfulqa(tmp_path, base_url=published.url)
    assert [mistake.file for mistake in caught.value.mistakes] == [mine, primers]
    for part in (PUBLISHED["2021-09"]["mc_task.json"], "4f53cda18c2baa0c0354bb5f9a3ecbe5", "move it away"):
        assert part in str(caught.value)
    assert (mine.read_text(), primers.read_text(), published.asked) == ("[]", "[]", [])


def test_a_file_with_another_digest_is_not_kept(published: Upstream, tmp_path: Path) -> None:
    """Expected and found digests are named, and nothing of it lies in the folder."""
    commit, paths = UPSTREAM["2021-09"]
    published.files[f"/{commit}/{paths['mc_task.json']}"] = b"[]"
    with pytest.raises(DataError, match="not the published file") as caught:
        fetch_truthfulqa(tmp_path, base_url=published.url)
    message = str(caught.value)
    assert PUBLISHED["2021-09"]["mc_task.json"] in message
    assert "4f53cda18c2baa0c0354bb5f9a3ecbe5" in message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_presets_with_other_primers_are_not_kept(published: Upstream, tmp_path: Path) -> None:
    """The six texts have a digest of their own; the other files stay."""
    published.files[PRESETS_URL] = published.files[PRESETS_URL].replace(b"Q: ", b"Q. ")
    with pytest.raises(DataError, match=f"does not hold the published primers: sha256 expected {PRIMERS_SHA256}"):
        fetch_truthfulqa(tmp_path, base_url=published.url)
    assert not (tmp_path / "truthfulqa/primers.json").exists()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 6


def test_a_download_is_tried_again(published: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A passing failure does not end the fetch."""
    monkeypatch.setattr(downloading, "RETRIES", 1)
    whole = dict(published.files)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: published.files.update(whole))
    published.files.pop(PRESETS_URL)
    assert len(fetch_truthfulqa(tmp_path, base_url=published.url)) == 7
    assert published.asked.count(PRESETS_URL) == 2


def test_a_file_that_is_not_there_is_named_with_its_address(upstream: Upstream, tmp_path: Path) -> None:
    """The server's answer is passed on, without a traceback of the client's."""
    with pytest.raises(DataError, match=r"cannot fetch http://127\.0\.0\.1:.*mc_task\.json: 404"):
        fetch_truthfulqa(tmp_path, base_url=upstream.url)


def test_a_server_that_is_not_there_is_named(upstream: Upstream, tmp_path: Path) -> None:
    """A refused connection is an error for people."""
    with pytest.raises(DataError, match="cannot fetch http://127"):
        fetch_truthfulqa(tmp_path, base_url="http://127.0.0.1:9")


def test_a_target_that_cannot_be_written_is_named(published: Upstream, tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "data").write_text("")
    with pytest.raises(DataError, match=r"mc_task\.json: cannot be written: "):
        fetch_truthfulqa(tmp_path / "data", base_url=published.url)


@pytest.mark.parametrize(
    "url", ["http://example.org", "ftp://127.0.0.1", "file:///tmp", "http://127.0.0.1.example.org"]
)
def test_data_is_fetched_over_https_only(tmp_path: Path, url: str) -> None:
    """Plain http is for this machine's loopback."""
    with pytest.raises(UsageError, match="https only"):
        fetch_truthfulqa(tmp_path, base_url=url)
