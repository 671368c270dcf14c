"""Progress: a bar on a real terminal, lines elsewhere, nothing where it is not wanted."""

from __future__ import annotations

import os
import subprocess
import sys
import termios

import pytest

from tests.plugin.projects import requests, run

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

LINES_AT_ONCE = """
import truthguard.plugin.display as display

display.SECONDS_BETWEEN_LINES = 0.0
"""


def slow_down(project: pytest.Pytester, seconds: float) -> None:
    model = project.path / "model.py"
    slow = f"def answer(request):\n    import time; time.sleep({seconds})"
    model.write_text(model.read_text().replace("def answer(request):", slow), encoding="utf-8")


def test_a_terminal_shows_a_bar_while_output_is_captured(project: pytest.Pytester) -> None:
    """On a pseudo-terminal the bar is drawn during the run and gone after it."""
    slow_down(project, 0.3)
    primary, secondary = os.openpty()
    termios.tcsetwinsize(secondary, (40, 100))
    command = [sys.executable, "-m", "pytest", "thresholds.toml", "--truthguard-model", "scripted:model:answer"]
    process = subprocess.Popen(
        [*command, "--truthguard-cache", "off"], cwd=project.path, stdout=secondary, stderr=secondary
    )
    os.close(secondary)
    shown = b""
    while True:
        try:
            chunk = os.read(primary, 4096)
        except OSError:  # what Linux answers once the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(primary)
    assert process.wait(timeout=60) == 0
    text = shown.decode("utf-8", "replace")
    assert "faq:  50%|" in text
    assert "2/4" in text
    assert "100%|" not in text.rpartition("truthguard: 1 passed")[0].rpartition("\n")[2]


def test_without_a_terminal_progress_is_told_in_lines(project: pytest.Pytester) -> None:
    """A CI log gets plain lines with numbers, no carriage returns."""
    project.makeconftest(LINES_AT_ONCE)
    result = run(project, in_process=False)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["truthguard: faq: 1 of 4 requests, * s", "truthguard: faq: 3 of 4 requests, * s"])
    assert "\r" not in result.stdout.str()


def test_very_quiet_shows_no_progress(project: pytest.Pytester) -> None:
    """-qq asks for silence."""
    project.makeconftest(LINES_AT_ONCE)
    result = run(project, "-qq", in_process=False)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("truthguard: faq: *")


@pytest.mark.slow
def test_the_controller_shows_what_its_workers_do(project: pytest.Pytester) -> None:
    """Under xdist the notes of a worker reach the terminal of the controller."""
    project.makeconftest(LINES_AT_ONCE)
    slow_down(project, 0.6)
    result = run(project, "-n", "1", in_process=False)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["truthguard: faq: * of 4 requests, * s"])
    assert len(requests(project)) == 4
