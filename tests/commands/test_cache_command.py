"""`truthguard cache`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.store.fakes import KEY, reply_to
from tests.store.test_weights import ORIGIN, OTHER, compute, keep
from truthguard import __main__ as command
from truthguard.backends.protocol import Score
from truthguard.store.answers import FILE_NAME, AnswerStore
from truthguard.store.session import CLAIMS, SessionStore
from truthguard.store.weights import WeightsStore


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache folder with two answers, two copies, a benchmark's file, and somebody else's notes."""
    folder = tmp_path / "cache"
    answers = AnswerStore(folder / FILE_NAME)
    for number in range(2):
        answers.put(bytes([number]) * 32, reply_to(Score("a", ("b", "c"))))
    answers.close()
    weights = WeightsStore(folder / "weights", compute)
    keep(weights, ORIGIN)
    keep(weights, OTHER)
    for name in ("data/truthfulqa/TruthfulQA.csv", "weights/notes.txt", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    return folder


def told(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> list[str]:
    assert command.main(["cache", "--cache", str(folder), *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_list_says_what_is_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers, copies with the model's file, the last use, and the benchmarks' files."""
    lines = told(capsys, cache)
    assert lines[0] == f"{cache}:"
    assert lines[1].startswith("  answers: 2, ")
    assert lines[2].startswith("  converted weights: 2 copies, 2.")
    assert {line.split()[0] for line in lines[3:5]} == {"tiny.gguf", "other.gguf"}
    assert all("(float32)" in line and "last used 20" in line for line in lines[3:5])
    assert lines[5] == "  benchmark files: 1 file, 4 B (of `truthguard fetch`; not cleared here)"


def test_the_list_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no cache none is made; a damaged file is left for the next run to set aside."""
    assert told(capsys, tmp_path / "cache") == [
        f"{tmp_path / 'cache'}: there is none yet",
        "  answers: none",
        "  converted weights: 0 copies",
    ]
    assert not (tmp_path / "cache").exists()
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1000)
    assert "cannot be counted" in told(capsys, tmp_path)[1]
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize(
    ("what", "answers", "copies"), [(("answers",), 0, 2), (("weights",), 2, 0), (("all",), 0, 0), ((), 0, 0)]
)
def test_clearing_says_what_was_freed_and_touches_nothing_else(
    what: tuple[str, ...], answers: int, copies: int, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a word all of it goes; what is not truthguard's stays, and so do the benchmarks' files."""
    lines = told(capsys, cache, "--clear", *what)
    assert any(line.startswith("answers: 2 cleared, ") for line in lines) is (answers == 0)
    assert any(line.startswith("converted weights: 2 copies cleared, 2.") for line in lines) is (copies == 0)
    after = told(capsys, cache)
    assert after[1].startswith(f"  answers: {answers}, ")
    assert after[2].startswith(f"  converted weights: {copies} copies")
    for name in ("data/truthfulqa/TruthfulQA.csv", "weights/notes.txt", "notes.txt"):
        assert (cache / name).read_text() == "mine"


def test_clearing_gives_the_space_back(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file shrinks, and a run that begins with it finds a store."""
    answers = AnswerStore(cache / FILE_NAME)
    for number in range(2000):
        answers.put(number.to_bytes(32, "big"), reply_to(Score("a", ("b" * 50,))))
    answers.close()
    before = (cache / FILE_NAME).stat().st_size
    told(capsys, cache, "--clear", "answers")
    assert (cache / FILE_NAME).stat().st_size < before / 4
    store = AnswerStore(cache / FILE_NAME)
    assert store.get_many([b"\0" * 32]) == {}
    assert store.warnings == []
    store.close()


def test_files_that_were_set_aside_are_cleared_with_the_answers(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are truthguard's own; a name that only looks alike is not."""
    (cache / f"{FILE_NAME}.aside-1").write_bytes(b"x" * 5000)
    (cache / f"{FILE_NAME}.aside-mine").write_text("mine")
    assert any("aside-1  4.9 KiB  set aside" in line for line in told(capsys, cache))
    assert "and 1 file that had been set aside" in told(capsys, cache, "--clear", "answers")[0]
    assert [path.name for path in cache.glob("*aside*")] == [f"{FILE_NAME}.aside-mine"]


def test_a_damaged_file_is_cleared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is set aside and removed, and what that was is said."""
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1000)
    lines = told(capsys, tmp_path, "--clear", "answers")
    assert "was set aside" in lines[0]
    assert lines[1].startswith("answers: 0 cleared and 1 file that had been set aside")


def test_what_a_run_uses_is_refused(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answers as a whole, of the copies the one that is in use; exit status 1."""
    with SessionStore(cache / "session", cache / CLAIMS).claim(KEY):
        assert command.main(["cache", "--cache", str(cache), "--clear", "answers"]) == 1
    assert "a run is using the answers" in capsys.readouterr().err
    weights = WeightsStore(cache / "weights", compute)
    with weights.claim(ORIGIN):
        assert command.main(["cache", "--cache", str(cache), "--clear", "weights"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("converted weights: 1 copy cleared")
    assert ORIGIN.key in said.err
    assert told(capsys, cache)[1].startswith("  answers: 2, ")


def test_a_store_of_another_form_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A database without the table says so."""
    sqlite3.connect(tmp_path / FILE_NAME).close()
    (tmp_path / FILE_NAME).touch()
    assert "no such table" in told(capsys, tmp_path)[1]


def test_the_folder_may_come_from_the_environment(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for the plugin; a cache that is off has no folder."""
    monkeypatch.setenv("TRUTHGUARD_CACHE", str(cache))
    assert command.main(["cache"]) == 0
    assert capsys.readouterr().out.startswith(f"{cache}:")
    monkeypatch.setenv("TRUTHGUARD_CACHE", "off")
    assert command.main(["cache"]) == 1
    assert "name a folder with --cache DIR" in capsys.readouterr().err
