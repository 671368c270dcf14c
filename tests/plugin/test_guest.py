"""A guest in other people's pytest runs: no clash, no cost, no change."""

from __future__ import annotations

import pytest

from tests.plugin.projects import gate, requests, run

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

WATCH = """
import sys
import pytest

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    heavy = [name for name in ("numpy", "scipy", "torch", "transformers", "openai") if name in sys.modules]
    print("HEAVY", heavy)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["thresholds.toml", "--collect-only", "-q"],
        ["thresholds.toml", "--collect-only", "-p", "no:cacheprovider"],
        ["-p", "no:truthguard"],
        [],
    ],
    ids=" ".join,
)
def test_looking_costs_nothing(project: pytest.Pytester, arguments: list[str]) -> None:
    """C23: help, collection and unrelated runs load no model, send no request and import nothing heavy."""
    project.makeconftest(WATCH)
    project.makepyfile("def test_mine(): assert True")
    result = project.runpytest_subprocess(*arguments)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*HEAVY []"])
    assert requests(project) == []


def test_help_lists_only_prefixed_options(project: pytest.Pytester) -> None:
    """C23: every option and ini name of the plugin starts with truthguard."""
    text = project.runpytest_subprocess("--help").stdout.str()
    section = text.partition("truthguard: gates on")[2].partition("\n\n")[0]
    flags = [word for word in section.replace("=", " ").split() if word.startswith("-")]
    assert len(flags) >= 11
    assert all(flag.startswith("--truthguard") for flag in flags)


def test_without_the_cache_provider_the_gate_still_runs(project: pytest.Pytester) -> None:
    """C23: -p no:cacheprovider takes away --lf, not the measurement."""
    run(project, "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_marker_is_registered(project: pytest.Pytester) -> None:
    """C23: --strict-markers accepts the rows' marker."""
    run(project, "--strict-markers", "-m", "truthguard").assert_outcomes(passed=1)
    project.runpytest_subprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.truthguard*"])


def test_unrelated_output_is_unchanged(pytester: pytest.Pytester) -> None:
    """C23: with and without the plugin the same lines are printed."""
    pytester.makepyfile("def test_mine(): assert True\ndef test_yours(): assert False")
    with_it, without = (
        pytester.runpytest_subprocess(*arguments, "-p", "no:cacheprovider")
        for arguments in ((), ("-p", "no:truthguard"))
    )
    assert with_it.ret == without.ret == pytest.ExitCode.TESTS_FAILED

    def stable(result: pytest.RunResult) -> list[str]:
        return [line for line in result.outlines if not line.startswith(("plugins:", "=")) and line]

    assert stable(with_it) == stable(without)


def test_warnings_as_errors_do_not_break_a_run(project: pytest.Pytester) -> None:
    """The plugin raises no Python warnings of its own."""
    run(project, "-W", "error", in_process=False).assert_outcomes(passed=1)


def test_without_a_terminal_reporter_the_run_still_counts(project: pytest.Pytester) -> None:
    """-p no:terminal prints nothing and keeps the exit status."""
    gate(project, "[faq.mc1]\nmin = 0.9\n")
    assert run(project, "-p", "no:terminal", in_process=False).ret == pytest.ExitCode.TESTS_FAILED


def test_without_capture_the_run_still_works(project: pytest.Pytester) -> None:
    """-s and -p no:capture leave nothing for the progress display to suspend."""
    run(project, "-s", in_process=False).assert_outcomes(passed=1)
    run(project, "-p", "no:capture", in_process=False).assert_outcomes(passed=1)
