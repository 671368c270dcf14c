"""`truthguard report`: finished records said once more, and made into pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands.recorded import DROP, baseline_file, c19_files, record_file, thresholds_file
from tests.report.pages import record
from tests.thresholds.made import run_of
from truthguard import __main__ as command
from truthguard.report.html import read_named
from truthguard.store.record import read_record, save_record

Told = tuple[int, list[str], str]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run the command: exit status, lines of standard output, standard error."""

    def run(*arguments: str | Path) -> Told:
        capsys.readouterr()  # what made the records is not told
        status = command.main(["report", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out.splitlines(), printed.err

    return run


@pytest.fixture
def compared(tmp_path: Path) -> tuple[Path, Path]:
    """C19's base.json, and out.json: the record of the failed comparison with it."""
    base, candidate = c19_files(tmp_path)
    out = tmp_path / "out.json"
    gate = thresholds_file(tmp_path, DROP)
    assert command.main(["compare", str(base), str(candidate), "--thresholds", str(gate), "--json", str(out)]) == 1
    return base, out


def test_the_summary_is_that_of_the_session(report: Callable[..., Told], tmp_path: Path) -> None:
    """Rows with their verdicts, runs, doubts; exit 0 whatever they were: nothing is held here."""
    path = tmp_path / "run.json"
    save_record(path, record(n=12).record)
    status, lines, error = report(path)
    assert (status, error) == (0, "")
    assert lines[0].split() == [
        "benchmark",
        "metric",
        "slice",
        "score",
        "interval",
        "n",
        "bar",
        "margin",
        "verdict",
        "chance",
    ]
    assert any(line.startswith("faq: 12 questions, package:small/model-135M.gguf") for line in lines)


def test_the_newest_comes_first_whatever_the_order(
    report: Callable[..., Told], compared: tuple[Path, Path], tmp_path: Path
) -> None:
    """By when they were made; the page is about it, beside the one before it."""
    base, out = compared
    old = record_file(tmp_path / "old.json", [run_of([1.0] * 200)], days=-30)
    pages = []
    for number, paths in enumerate(((old, base, out), (out, old, base))):
        page = tmp_path / f"{number}.html"
        status, lines, _ = report(*paths, "--html", page)
        assert status == 0
        assert lines[0] == (
            "out.json of 2026-03-08 12:00 UTC, beside base.json of 2026-03-01 12:00 UTC,"
            " old.json of 2026-01-30 12:00 UTC"
        )
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert b"Over the records" not in pages[0]  # base.json and old.json have no rows


def test_drops_are_told_again(report: Callable[..., Told], compared: tuple[Path, Path], tmp_path: Path) -> None:
    """The record keeps what it was compared with, and both pages say it, with the items that changed."""
    base, out = compared
    html, markdown = tmp_path / "page.html", tmp_path / "page.md"
    status, lines, _ = report(out, base, "--html", html, "--markdown", markdown)
    assert status == 0
    assert any(line.startswith("truthfulqa[mc1]: drop 0.0600 [0.0179, 0.1090] against base.json") for line in lines)
    assert lines[-2:] == [f"page: {markdown}", f"page: {html}"]
    assert "beyond the bar" in html.read_text("utf-8")
    assert "### Changed most against `base.json`: 10 of 20 items" in markdown.read_text("utf-8")
    status, _, _ = report(out, "--markdown", markdown)
    assert status == 0
    assert "Changed most" not in markdown.read_text("utf-8")


def test_a_baseline_is_a_record_without_texts(report: Callable[..., Told], tmp_path: Path) -> None:
    """With a row for each of its metrics, so that metrics over time are shown; an unscored item has its reason."""
    run = run_of([1.0, 0.0, None, 1.0])
    first = baseline_file(tmp_path / "first.json", [run])
    (named,) = read_named([first])
    assert [(row.metric, row.estimate, row.n_unscored) for row in named.record.rows] == [("mc1", 2 / 3, 1)]
    assert [item.question for item in named.record.runs[0].items] == [""] * 4
    status, _, _ = report(first, "--html", tmp_path / "page.html")
    assert status == 0


def test_over_time_with_baselines(report: Callable[..., Told], tmp_path: Path, compared: tuple[Path, Path]) -> None:
    """Two baselines and a record make a line of three points."""
    base, out = compared
    runs = [run_of([1.0] * 100 + [0.0] * 100)]
    older, oldest = (baseline_file(tmp_path / f"{name}.json", runs) for name in ("older", "oldest"))
    for path, day in ((older, "2026-02-01"), (oldest, "2026-01-01")):
        content = json.loads(path.read_text("utf-8"))
        content["created"] = f"{day}T00:00:00Z"
        path.write_text(json.dumps(content), "utf-8")
    page = tmp_path / "page.html"
    assert report(base, out, older, oldest, "--html", page)[0] == 0
    assert "Over the records" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "out.json: the baseline cannot be read"),
        (lambda path: path.write_text("[]"), "out.json: expected a baseline of truthguard"),
        (lambda path: path.write_text('{"schema": 99, "rows": [], "runs": []}'), "out.json: a record of schema 99"),
    ],
)
def test_files_that_are_no_records_are_named(
    report: Callable[..., Told], compared: tuple[Path, Path], spoil: Callable[[Path], object], words: str
) -> None:
    """Exit 1, before anything is printed."""
    base, out = compared
    spoil(out)
    status, lines, error = report(base, out)
    assert (status, lines) == (1, [])
    assert words in error


def test_a_file_named_twice_is_told(report: Callable[..., Told], compared: tuple[Path, Path]) -> None:
    """Two points of one record would be no history."""
    base, out = compared
    status, _, error = report(base, out, base)
    assert (status, error) == (1, f"truthguard: {base}: named twice; name it once\n")


def test_files_of_one_name_are_told_apart(report: Callable[..., Told], compared: tuple[Path, Path]) -> None:
    """By their paths."""
    base, out = compared
    (base.parent / "new").mkdir()
    other = shutil.move(out, base.parent / "new" / "base.json")
    assert report(base, other)[1][0].startswith(f"{other} of 2026-03-08 12:00 UTC, beside {base} of")


def test_a_page_is_not_written_over_a_record(report: Callable[..., Told], compared: tuple[Path, Path]) -> None:
    """Whatever path names it."""
    base, out = compared
    before = out.read_bytes()
    status, lines, error = report(out, base, "--html", out)
    assert (status, lines) == (1, [])
    assert "this file is read here; name another file" in error
    assert out.read_bytes() == before


def test_hostile_names_act_on_nothing(report: Callable[..., Told], compared: tuple[Path, Path], tmp_path: Path) -> None:
    """A file's name and a baseline's name in a record reach the terminal and the page as text."""
    base, out = compared
    found = read_record(out)
    (row,) = found.rows
    evil = "<script>alert(1)</script>\x1b[31m"
    drop = replace(row.drops[0], baseline=evil)
    path = tmp_path / "<b>.json"
    save_record(path, replace(found, rows=(replace(row, drops=(drop,)),)))
    page = tmp_path / "page.html"
    status, lines, _ = report(path, base, "--html", page)
    assert status == 0
    assert not any("\x1b" in line for line in lines)
    text = page.read_text("utf-8")
    assert "<script>alert" not in text
    assert "<b>.json" not in text
