"""The command `truthguard`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from truthguard import __main__ as command
from truthguard import __version__, fetch
from truthguard.errors import DataError


def test_the_command_is_installed() -> None:
    """`python -m truthguard --version` runs in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "truthguard", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"truthguard {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["fetch"], ["fetch", "nothing"], ["fly"], ["sets", "--nothing"]])
def test_a_wrong_command_line_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """argparse's own exit status, with the usage."""
    with pytest.raises(SystemExit) as exit_:
        command.main(arguments)
    assert exit_.value.code == 2
    assert "usage: truthguard" in capsys.readouterr().err


def test_fetch_says_what_lies_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file by its name below the folder, then how to use a folder that is not the default."""
    monkeypatch.setattr(fetch, "fetch_truthfulqa", lambda target: [target / "truthfulqa" / "primers.json"])
    assert command.main(["fetch", "truthfulqa", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(Path("truthfulqa", "primers.json"))
    assert lines[1] == f"1 files in {tmp_path}; pass --truthguard-data {tmp_path} or set TRUTHGUARD_DATA to it"


def test_an_error_is_one_message_and_exit_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback reaches the person who typed the command."""

    def fail(target: Path) -> list[Path]:
        raise DataError(f"{target}: expected this, got that")

    monkeypatch.setattr(fetch, "fetch_truthfulqa", fail)
    assert command.main(["fetch", "truthfulqa", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"truthguard: {tmp_path}: expected this, got that\n"


def test_fetch_knows_the_prometheus_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder may come from the environment."""
    monkeypatch.setattr(fetch, "fetch_prometheus", lambda target: [target / "prometheus2" / "flask_eval.json"])
    monkeypatch.setenv("TRUTHGUARD_DATA", str(tmp_path))
    assert command.main(["fetch", "prometheus"]) == 0
    assert capsys.readouterr().out.startswith(str(Path("prometheus2", "flask_eval.json")))


def test_sets_tells_of_the_sets_that_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which they are named; a set that is not there is no failure."""
    assert command.main(["sets", "flask", "judge_starter", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"flask: no flask_eval.json (or .json.gz) in {tmp_path / 'prometheus2'}"
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == ["flask", "judge_starter"]


def test_sets_tells_what_it_can_before_a_damaged_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, with the place of the mistake."""
    (tmp_path / "prometheus2").mkdir()
    (tmp_path / "prometheus2" / "vicuna_eval.json").write_text("[7]")
    assert command.main(["sets", "vicuna_bench", "flask", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "flask: no flask_eval.json" in told.out
    assert "vicuna_eval.json: row 1: expected an object, found 7" in told.err


def test_sets_knows_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped name is an error with the valid one."""
    assert command.main(["sets", "vicuna"]) == 1
    assert capsys.readouterr().err == "truthguard: unknown set 'vicuna'; did you mean 'vicuna_bench'?\n"
