"""--truthguard-update-thresholds: the file itself after a session, by one process, and never by surprise."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests, run

FLAG = "--truthguard-update-thresholds"
# mc1 is 0.75 of 4: Wilson's interval begins at 0.3006; mc3 is 0.75, and its interval begins below 0.
ROWS = '# ours\n[faq.mc1] # the headline\nmin = 0.1   # so far\nitem_min = 0\n\n[faq.mc3]\nmin = 0.6\nby = "category"\n'


def text_of(project: pytest.Pytester, name: str = "thresholds.toml") -> str:
    return (project.path / name).read_bytes().decode()


def test_the_bar_is_raised_in_place_and_the_diff_is_shown(project: pytest.Pytester) -> None:
    """To the lower end, rounded down; what was not raised is said, and the session stays as it ended."""
    gate(project, ROWS)
    before = text_of(project)
    result = run(project, FLAG, "-v")
    assert text_of(project) == before.replace("min = 0.1 ", "min = 0.3006 ")
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # mc3 of Beta is 0.5
    result.stdout.fnmatch_lines(
        [
            "*thresholds.toml: 1 bar raised to the lower end of the interval just measured",
            "--- thresholds.toml",
            "+++ thresholds.toml",
            "-min = 0.1   # so far",
            "+min = 0.3006   # so far",
            "*faq.mc3* min stays at 0.6: *",
        ]
    )


def test_a_second_turn_changes_nothing(project: pytest.Pytester) -> None:
    """The same measurement finds every bar where it is, and the row still passes."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    run(project, FLAG).assert_outcomes(passed=1)
    once = text_of(project)
    result = run(project, FLAG)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*thresholds.toml: no bar raised", "  1 bar left: no interval begins higher"])
    assert text_of(project) == once


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--truthguard-dry-run"], "*no bar was raised: a dry run measures nothing"),
        (["--truthguard-limit", "3"], "*only a part of the items was asked*"),
        (["--truthguard-sample", "3"], "*only a part of the items was asked*"),
        (["--collect-only"], "*test*collected*"),
    ],
)
def test_what_measures_only_a_part_raises_nothing(project: pytest.Pytester, arguments: list[str], why: str) -> None:
    """A dry run, a limit, a sample, a look at the rows; each says so."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    before = text_of(project)
    result = run(project, FLAG, *arguments)
    result.stdout.fnmatch_lines([why])
    assert text_of(project) == before


def test_a_limit_that_takes_all_is_none(project: pytest.Pytester) -> None:
    """Four of four questions are the whole set."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    run(project, FLAG, "--truthguard-limit", "4")
    assert "min = 0.3006" in text_of(project)


def test_a_selection_raises_what_it_measured(project: pytest.Pytester) -> None:
    """-k leaves the bars of the other rows, and says so."""
    gate(project, "[faq.mc1]\nmin = 0.1\n[faq.mc3]\nmin = -0\n")
    result = run(project, FLAG, "-k", "mc1")
    assert "min = 0.3006" in text_of(project)
    assert "min = -0" in text_of(project)
    result.stdout.fnmatch_lines(["*[[]faq.mc3[]] min stays at 0: faq[[]mc3[]] was not measured"])


def test_without_the_option_the_file_is_left_alone(project: pytest.Pytester) -> None:
    """Nobody's file changes by itself; the environment can ask for it, too."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    before = text_of(project)
    run(project)
    assert text_of(project) == before


def test_the_environment_asks_for_it(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every option."""
    monkeypatch.setenv("TRUTHGUARD_UPDATE_THRESHOLDS", "1")
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    run(project)
    assert "min = 0.3006" in text_of(project)


def test_a_file_that_changed_meanwhile_is_not_written_over(project: pytest.Pytester) -> None:
    """Somebody's edit is worth more than a bar: exit 1, and it is said."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    project.makeconftest("def pytest_runtest_teardown(): open('thresholds.toml', 'a').write('# edited\\n')\n")
    before = text_of(project)
    result = run(project, FLAG)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert text_of(project) == before + "# edited\n"
    result.stdout.fnmatch_lines([f"{FLAG}: *thresholds.toml was not updated: it has changed since it was read*"])


@pytest.mark.slow
def test_an_interrupted_session_raises_nothing(project: pytest.Pytester) -> None:
    """Whoever stops a session wants nothing to happen."""
    gate(project, "[faq.mc1]\nmin = 0.1\n[faq.mc3]\nmin = 0\n")
    project.makeconftest("def pytest_runtest_teardown(): raise KeyboardInterrupt\n")
    before = text_of(project)
    result = run(project, FLAG, in_process=False)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert text_of(project) == before
    result.stdout.fnmatch_lines(["*no bar was raised: the session was interrupted"])


def test_bytes_links_and_permissions_are_kept(project: pytest.Pytester) -> None:
    """A byte order mark and CRLF; a link to the file stays one; the file's mode is as it was."""
    gate(project, "[faq.mc1]\nmin = 0.1\n", name="real.toml")
    path = project.path / "real.toml"
    data = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(data)
    path.chmod(0o640)
    link = project.path / "thresholds.toml"
    link.unlink()
    link.symlink_to("real.toml")
    run(project, FLAG).assert_outcomes(passed=1)
    assert path.read_bytes() == data.replace(b"0.1", b"0.3006")
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("refused", ["thresholds.toml", "."])
def test_a_file_that_cannot_be_written_is_found_before_the_work(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """The file itself, or its folder, in which a new one takes its place: exit 4, and nothing is asked."""
    real, place = os.access, str(project.path / refused)
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != place and real(path, mode))
    result = run(project, FLAG)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{FLAG}: *thresholds.toml: no permission to write there*"])
    assert requests(project) == []


def test_each_of_several_files_is_updated(project: pytest.Pytester) -> None:
    """By its own rows."""
    gate(project, "[faq.mc1]\nmin = 0.1\n")
    gate(project, "[faq.mc1]\nmin = 0.2\n[faq.truthful]\nmin = 0.1\n", name="other.toml")
    run(project, "thresholds.toml", "other.toml", FLAG).assert_outcomes(passed=3)
    assert text_of(project).count("0.3006") == 1
    assert text_of(project, "other.toml").count("0.3006") == 2


def test_without_a_thresholds_file_that_is_said(project: pytest.Pytester) -> None:
    """There is nothing to update."""
    project.makepyfile("def test_nothing(): pass\n")
    result = project.runpytest_inprocess(FLAG)
    result.stdout.fnmatch_lines([f"*{FLAG} did nothing*no thresholds file was named"])


@pytest.mark.slow
def test_under_xdist_the_controller_raises_once(project: pytest.Pytester, tmp_path: Path) -> None:
    """The same file as from a single process, and one diff."""
    gate(project, ROWS)
    before = text_of(project)
    result = run(project, FLAG, "-n", "2", in_process=False)
    assert text_of(project) == before.replace("min = 0.1 ", "min = 0.3006 ")
    assert sum(line.startswith("+min") for line in result.outlines) == 1
