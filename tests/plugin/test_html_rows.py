"""--truthguard-html: one page from the session and its baselines, written by one process after a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests, run
from truthguard import __main__ as command
from truthguard.report import html
from truthguard.store import outputs
from truthguard.store.record import read_record

ROWS = "[faq.mc1]\nmin = 0.9\nmax_drop = 0\n[faq.mc2]\nmin = -1\n"
HTML, JSON, SAVE, READ = (f"--truthguard-{name}" for name in ("html", "json", "save-baseline", "baseline"))


def page_of(project: pytest.Pytester, name: str = "page.html") -> str:
    return (project.path / name).read_text("utf-8")


def save(project: pytest.Pytester, *arguments: str) -> None:
    gate(project, "[faq.mc1]\nmin = 0\n[faq.mc2]\nmin = -1\n", "saving.toml")
    assert run(project, "saving.toml", *arguments).ret == pytest.ExitCode.OK


def test_the_page_is_of_the_session(project: pytest.Pytester) -> None:
    """Verdict, thresholds file and questions, without a baseline."""
    gate(project, ROWS.replace("max_drop = 0\n", ""))
    assert run(project, HTML, "page.html").ret == pytest.ExitCode.TESTS_FAILED
    page = page_of(project)
    assert "<title>Failed: thresholds.toml · truthguard</title>" in page
    assert "Since the baseline" not in page
    assert "scripted:model:answer" in page


@pytest.mark.parametrize("kind", [SAVE, JSON])
def test_the_baselines_are_in_it(project: pytest.Pytester, kind: str) -> None:
    """A baseline by its values; a record with its texts, before and now."""
    save(project, kind, "base.json")
    gate(project, ROWS)
    run(project, READ, "base.json", HTML, "page.html")
    page = page_of(project)
    assert "Since the baseline" in page
    assert "beside base.json" in page
    assert "undecided" in page


def test_two_baselines_make_a_history(project: pytest.Pytester) -> None:
    """The last release and an anchor."""
    save(project, SAVE, "last.json", JSON, "anchor.json")
    gate(project, ROWS)
    run(project, READ, "last.json", READ, "anchor.json", HTML, "page.html")
    assert "Over the records" in page_of(project)


def test_a_baseline_that_is_replaced_is_shown_as_it_was(project: pytest.Pytester) -> None:
    """The page is made before the session writes over the file that it was compared with."""
    save(project, SAVE, "base.json")
    model = project.path / "model.py"
    model.write_text(model.read_text().replace('lies = "Which of 3" in text', "lies = False"), encoding="utf-8")
    gate(project, ROWS)
    run(project, READ, "base.json", SAVE, "base.json", HTML, "page.html")
    assert "0.7500 to 1.0000" in page_of(project)


def test_one_process_writes_it(project: pytest.Pytester) -> None:
    """Under xdist the page is the same as without: the controller's."""
    gate(project, ROWS.replace("max_drop = 0\n", ""))
    run(project, HTML, "alone.html")
    result = run(project, HTML, "spread.html", "-n", "2", in_process=False)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert page_of(project, "spread.html").count("<tr") == page_of(project, "alone.html").count("<tr")
    assert not list(project.path.glob(".*.part"))


def test_a_dry_run_writes_nothing(project: pytest.Pytester) -> None:
    """And says so."""
    result = run(project, HTML, "page.html", "--truthguard-dry-run")
    result.stdout.fnmatch_lines(["--truthguard-html *page.html was not written: a dry run measures nothing"])
    assert not (project.path / "page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((HTML, "none/page.html"), "*--truthguard-html *page.html: the folder *none does not exist"),
        ((HTML, "."), "*--truthguard-html *: this is a folder; name a file"),
        (("thresholds.toml", HTML, "thresholds.toml"), "*this is the thresholds file itself; name another file"),
        ((HTML, "out", JSON, "out"), "*--truthguard-html *out: this is the file of --truthguard-json too*"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    project: pytest.Pytester, arguments: tuple[str, ...], words: str
) -> None:
    """Exit 4."""
    result = run(project, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])
    assert requests(project) == []


def test_the_missing_extra_is_told_before_anything_is_asked(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 4, with the command that installs it; without the option nobody needs it."""
    monkeypatch.setattr(html, "missing_extra", lambda: 'pip install "truthguard[report]"')
    result = run(project, HTML, "page.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(['*--truthguard-html: pip install "truthguard[[]report]"'])
    assert requests(project) == []
    assert run(project).ret == pytest.ExitCode.OK


def test_a_page_that_cannot_be_written_fails_the_session(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder went away while the model was asked: told in the summary, and the record is written all the same."""

    def full(path: Path, data: bytes) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(outputs, "write_atomically", full)
    result = run(project, HTML, "page.html", JSON, "out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--truthguard-html *page.html: the page was not written: No space left on device"])
    assert (project.path / "out.json").exists()


def test_without_a_thresholds_file_the_option_says_that_it_does_nothing(project: pytest.Pytester) -> None:
    """As the others do."""
    test = project.makepyfile("def test_nothing():\n    pass\n")
    result = project.runpytest_inprocess(str(test), HTML, "page.html")
    result.stdout.fnmatch_lines(["truthguard: --truthguard-html did nothing: it is about the rows of a thresholds *"])


def test_compare_holds_a_record_as_the_session_did(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a session and those of `truthguard compare` over its record and baseline are equal."""
    gate(project, "[faq.mc1]\nmin = 0\n[faq.mc2]\nmin = -1\n[faq.mc2_mass]\nmin = 0\n", "saving.toml")
    assert run(project, "saving.toml", SAVE, "base.json").ret == pytest.ExitCode.OK
    gate(
        project,
        '[faq.mc1]\nmin = 0.7\nmax_drop = 0\nitem_min = 1\nby = "category"\n[faq.mc2]\nmin = 0\nblock_on = "doubt"\n'
        "[faq.mc2_mass]\nmin = 0.5\nmax_drop = 0.1\n",
    )
    run(project, READ, "base.json", JSON, "out.json")
    session = read_record(project.path / "out.json")
    assert {row.verdict for row in session.rows} == {"pass", "fail"}
    monkeypatch.chdir(project.path)
    capsys.readouterr()
    arguments = ["compare", "base.json", "out.json", "--thresholds", "thresholds.toml", "--json", "again.json"]
    assert command.main(arguments) == 1
    assert read_record(project.path / "again.json").rows == session.rows
