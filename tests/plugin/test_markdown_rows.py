"""--truthguard-markdown and what GitHub Actions is given: written once, by one process, after a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests, run

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

ROWS = "[faq.mc1]\nmin = 0.9\n[faq.mc2]\nmin = 0.9\n[faq.mc3]\nmin = 0\n"


@pytest.fixture
def summary(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary file of a step that runs in GitHub Actions, with a line of its own."""
    path = project.path / "step_summary.md"
    path.write_text("from another tool\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def errors(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("::")]


def test_the_page_is_written(project: pytest.Pytester) -> None:
    """Failed rows first, and no text of the team's own questions."""
    gate(project, ROWS)
    result = run(project, "--truthguard-markdown", "out.md")
    page = (project.path / "out.md").read_text(encoding="utf-8")
    assert page.startswith("## truthguard: failed\n\nOf 3 rows 2 failed, 1 passed.\n")
    assert "| `faq` | `mc1` | all | 0.7500 |" in page
    assert "Which of" not in page
    assert "It is" not in page
    assert errors(result) == []


def test_on_github_the_summary_grows_and_the_failed_benchmark_is_annotated(
    project: pytest.Pytester, summary: Path
) -> None:
    """The page behind what others wrote; one error at the line of the first failed row."""
    gate(project, ROWS)
    result = run(project)
    assert summary.read_text(encoding="utf-8").startswith("from another tool\n\n## truthguard: failed\n")
    (line,) = errors(result)
    assert line.startswith(
        "::error file=thresholds.toml,line=6,title=truthguard%3A faq::faq[mc1] failed: 0.7500 < 0.9000 (min)%0A"
        "faq[mc2] failed: "
    )


def test_what_passes_is_summed_up_and_not_annotated(project: pytest.Pytester, summary: Path) -> None:
    """A passing gate leaves its page alone."""
    assert errors(run(project)) == []
    assert "## truthguard: passed" in summary.read_text(encoding="utf-8")


def test_off_leaves_github_alone(project: pytest.Pytester, summary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line, in the environment, in the ini file; the page in a file is written all the same."""
    gate(project, ROWS)
    assert errors(run(project, "--truthguard-github", "off", "--truthguard-markdown", "out.md")) == []
    assert (project.path / "out.md").exists()
    monkeypatch.setenv("TRUTHGUARD_GITHUB", "off")
    assert errors(run(project)) == []
    monkeypatch.delenv("TRUTHGUARD_GITHUB")
    project.makeini("[pytest]\ntruthguard_github = off\n")
    assert errors(run(project)) == []
    assert summary.read_text(encoding="utf-8") == "from another tool\n"
    assert len(errors(run(project, "--truthguard-github", "auto"))) == 1


def test_another_word_for_github_is_refused(project: pytest.Pytester) -> None:
    """With the nearest one."""
    result = run(project, "--truthguard-github", "of")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--truthguard-github*did you mean 'off'*"])


def test_elsewhere_nothing_is_annotated(
    project: pytest.Pytester, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI that sets a summary file and is not GitHub's gets the page alone."""
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    gate(project, ROWS)
    assert errors(run(project)) == []
    assert "## truthguard: failed" in summary.read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--truthguard-dry-run"], ["--collect-only"], ["-k", "nothing"]])
def test_where_nothing_was_measured_nothing_is_written(
    project: pytest.Pytester, summary: Path, arguments: list[str]
) -> None:
    """A dry run, a look at the rows, and a selection without any."""
    result = run(project, "--truthguard-markdown", "out.md", *arguments)
    assert not (project.path / "out.md").exists()
    assert summary.read_text(encoding="utf-8") == "from another tool\n"
    assert errors(result) == []
    assert requests(project) == []
    if "--truthguard-dry-run" in arguments:
        result.stdout.fnmatch_lines(["--truthguard-markdown * was not written: a dry run measures nothing"])


def test_without_a_thresholds_file_that_is_said(project: pytest.Pytester) -> None:
    """Whoever asks for a page of ordinary tests is told that there is none."""
    project.makepyfile("def test_nothing(): pass\n")
    result = project.runpytest_inprocess("--truthguard-markdown", "out.md")
    result.stdout.fnmatch_lines(["*--truthguard-markdown did nothing*no thresholds file was named"])
    assert not (project.path / "out.md").exists()


@pytest.mark.parametrize("target", ["none/out.md", ".", "thresholds.toml"])
def test_a_place_that_cannot_be_written_is_found_before_the_work(project: pytest.Pytester, target: str) -> None:
    """A missing folder, a folder, the thresholds file itself: exit 4, and nothing is asked."""
    result = run(project, "thresholds.toml", "--truthguard-markdown", target)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--truthguard-markdown*"])
    assert requests(project) == []


def test_two_outputs_need_two_files(project: pytest.Pytester) -> None:
    """The record and the page cannot share one."""
    result = run(project, "--truthguard-json", "out", "--truthguard-markdown", "./out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--truthguard-markdown*: this is the file of --truthguard-json too*"])


def test_a_page_that_cannot_be_written_in_the_end_fails_the_session(project: pytest.Pytester) -> None:
    """It was asked for by name."""
    project.makeconftest("import os\ndef pytest_runtest_teardown(): os.rmdir('pages')\n")
    (project.path / "pages").mkdir()
    result = run(project, "--truthguard-markdown", "pages/out.md")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--truthguard-markdown *: the page was not written: *"])


def test_a_summary_that_cannot_be_written_fails_nothing(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for it by name: a line says so."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    result = run(project)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["nothing was added to the summary of the step *: Is a directory"])


def test_a_link_stays_a_link(project: pytest.Pytester) -> None:
    """The page is written where it points."""
    (project.path / "out.md").symlink_to("real.md")
    run(project, "--truthguard-markdown", "out.md")
    assert (project.path / "out.md").is_symlink()
    assert (project.path / "real.md").read_text(encoding="utf-8").startswith("## truthguard: passed")


def test_each_file_has_its_own_errors(project: pytest.Pytester, summary: Path) -> None:
    """Two thresholds files, one of them in a folder: the path is the repository's."""
    gate(project, ROWS)
    (project.path / "more").mkdir()
    text = (project.path / "thresholds.toml").read_text(encoding="utf-8").replace("faq.jsonl", "../faq.jsonl")
    (project.path / "more" / "other.toml").write_text(text, encoding="utf-8")
    found = errors(run(project, "thresholds.toml", "more/other.toml"))
    assert [line.partition(",")[0] for line in found] == [
        "::error file=thresholds.toml",
        "::error file=more/other.toml",
    ]
    assert summary.read_text(encoding="utf-8").count("## truthguard") == 1


def test_the_items_that_changed_since_the_baseline_are_listed(project: pytest.Pytester) -> None:
    """By their ids, with the drop of each row beside it."""
    gate(project, "[faq.mc1]\nmin = 0.5\n")
    run(project, "--truthguard-save-baseline", "base.json").assert_outcomes(passed=1)
    model = project.path / "model.py"
    # One byte longer, too: of a file as long as before, changed within the second, Python runs what it compiled before.
    changed = model.read_text(encoding="utf-8").replace("Which of 3", "Which of 1") + "\n"
    model.write_text(changed, encoding="utf-8")
    result = run(project, "--truthguard-baseline", "base.json", "--truthguard-markdown", "out.md", in_process=False)
    result.assert_outcomes(passed=1)
    page = (project.path / "out.md").read_text(encoding="utf-8")
    assert (
        "### Changed most against `base.json`\n- `q1`, `faq mc1`: 1.0000 → 0.0000\n- `q3`, `faq mc1`: 0.0000 →" in page
    )
    assert "| drop |" in page


@pytest.mark.slow
def test_under_xdist_the_controller_writes_once(project: pytest.Pytester, summary: Path) -> None:
    """One page, one summary, one error."""
    gate(project, ROWS)
    result = run(project, "-n", "2", "--truthguard-markdown", "out.md", in_process=False)
    result.assert_outcomes(passed=1, failed=2)
    assert len(errors(result)) == 1
    assert summary.read_text(encoding="utf-8").count("## truthguard") == 1
    assert summary.read_text(encoding="utf-8").endswith((project.path / "out.md").read_text(encoding="utf-8"))
