"""--truthguard-html through pytest: one page of what was measured, beside its baselines, or why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests, run
from tests.plugin.test_baseline_rows import READ, SAVE, better, save, worse
from tests.report.hostile import HOSTILE, INVISIBLE
from tests.report.test_html_page import Page

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

HTML = "--truthguard-html"
ROWS = "[faq.mc1]\nmin = 0.9\n[faq.mc2]\nmin = -1\n"


def page_of(project: pytest.Pytester, name: str = "out.html") -> Page:
    return Page((project.path / name).read_text(encoding="utf-8"))


def questions_of(page: Page) -> list[str]:
    return [item["question"] for item in page.data["runs"][0]["items"]]


def test_the_page_has_the_verdict_and_every_question(project: pytest.Pytester) -> None:
    """What failed and by how much, the model, and the questions with their texts; the older page is replaced."""
    (project.path / "out.html").write_text("an older page", encoding="utf-8")
    gate(project, ROWS)
    run(project, HTML, "out.html").assert_outcomes(passed=1, failed=1)
    page = page_of(project)
    assert "thresholds.toml" in page.text
    assert "Failed Of 2 bars 1 passed, 1 failed." in page.text
    assert "0.1500 below" in page.text
    assert "scripted:model:answer" in page.text
    assert "none: nothing is judged" in page.text
    assert questions_of(page) == [f"Which of {number} is it?" for number in range(4)]


def test_a_session_that_passes_says_so(project: pytest.Pytester) -> None:
    """The bar nearest to failing stands on the first screen."""
    run(project, HTML, "out.html").assert_outcomes(passed=1)
    assert "Passed Of 1 bar 1 passed." in page_of(project).text
    assert "+0.2500 to spare" in page_of(project).text


def test_a_drop_is_shown_beside_its_bar(project: pytest.Pytester) -> None:
    """Drop, interval, bar, p and items of each row, and by how much it failed on the first screen."""
    better(project)
    save(project)
    worse(project)
    gate(project, '[faq.mc1]\nmax_drop = 0.1\nblock_on = "estimate"\n[faq.mc2]\nmin = -1\n')
    run(project, READ, "base.json", HTML, "out.html").assert_outcomes(passed=1, failed=1)
    text = page_of(project).text
    assert "0.2500 lower than base.json" in text
    assert "drop 0.2500 > 0.1000 (max_drop) against base.json" in text
    assert "mc1 faq beside base.json, n = 4; exact McNemar p = 1; could show" in text
    assert "+0.2500" in text
    assert "0.1 (estimate)" in text
    assert "1 worse, 0 better beyond the bar" in text
    assert "no bar" in text, "mc2 is compared, and nothing hangs on it"


def test_the_questions_stand_beside_the_first_baseline(project: pytest.Pytester) -> None:
    """Each has its value before and now; with two baselines the rows have two drops, and the records a history."""
    better(project)
    save(project, "anchor.json")
    save(project, "last.json")
    worse(project)
    gate(project, "[faq.mc1]\nmin = 0.5\nmax_drop = 0.5\n")
    run(project, READ, "last.json", READ, "anchor.json", HTML, "out.html").assert_outcomes(passed=1)
    page = page_of(project)
    changed = [item["seen"][0][4] for item in page.data["runs"][0]["items"]]
    assert changed == ["same", "same", "same", "worse"]
    assert "beside last.json" in page.text
    assert "beside anchor.json" in page.text
    assert "anchor.json → last.json → thresholds.toml" in page.text


def test_an_improvement_is_named_one(project: pytest.Pytester) -> None:
    """Where the test shows it: thirty questions that were wrong are right now."""
    questions = [
        {
            "id": f"q{number}",
            "question": f"Which of 3{number} is it?",
            "correct_answers": ["It is right."],
            "incorrect_answers": ["It is wrong."],
        }
        for number in range(30)
    ]
    (project.path / "faq.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions), encoding="utf-8")
    gate(project, "[faq.mc1]\nmax_drop = 0\n")
    run(project, SAVE, "base.json").assert_outcomes(errors=1)
    better(project)
    run(project, READ, "base.json", HTML, "out.html").assert_outcomes(passed=1)
    text = page_of(project).text
    assert "that it improved" in text
    assert "0 worse, 30 better improved" in text


def test_a_refused_comparison_is_said_with_the_way_out(project: pytest.Pytester) -> None:
    """Other questions than the baseline's: no drop, an error, and what differs."""
    save(project)
    file = project.path / "faq.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("It is so.", "So it is."), encoding="utf-8")
    gate(project, "[faq.mc1]\nmax_drop = 0\n")
    run(project, READ, "base.json", HTML, "out.html").assert_outcomes(errors=1)
    text = page_of(project).text
    assert "Could not be measured" in text
    assert "not comparable with base.json: the data changed" in text
    assert "not compared" in text
    assert "the questions are not the same" in text


def test_without_a_baseline_max_drop_is_an_error_on_the_page(project: pytest.Pytester) -> None:
    """The option that is lacking is named there too."""
    gate(project, "[faq.mc1]\nmax_drop = 0\n")
    run(project, HTML, "out.html").assert_outcomes(errors=1)
    assert "none is named: name one with --truthguard-baseline FILE" in page_of(project).text


def test_a_baseline_may_be_replaced_in_the_same_session(project: pytest.Pytester) -> None:
    """The page stands beside what the file was."""
    better(project)
    save(project)
    worse(project)
    gate(project, "[faq.mc1]\nmin = 0.5\nmax_drop = 0.5\n")
    run(project, READ, "base.json", SAVE, "base.json", HTML, "out.html").assert_outcomes(passed=1)
    assert page_of(project).data["runs"][0]["items"][3]["seen"][0][4] == "worse"


def test_hostile_names_are_text(project: pytest.Pytester) -> None:
    """Questions, choices, categories and the name of a baseline: the elements are those of harmless ones."""
    file = project.path / "faq.jsonl"
    questions = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    name = "<img src=x onerror=alert(1)>.json"
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\nmax_drop = 0.5\n')
    save(project, "plain.json")
    run(project, READ, "plain.json", HTML, "plain.html")
    for question, text in zip(questions, HOSTILE[:4], strict=True):
        question["question"] += text
        question["category"] += f" {HOSTILE[0]}"
        question["correct_answers"][0] += f" \u202e\x1b[31m {text}"
    file.write_text("".join(json.dumps(each) + "\n" for each in questions), encoding="utf-8")
    save(project, name)
    run(project, READ, name, HTML, "out.html").assert_outcomes(passed=3)
    plain, attacked = page_of(project, "plain.html"), page_of(project)
    assert attacked.tags == plain.tags
    assert name in attacked.text
    assert questions_of(attacked) != questions_of(plain)
    assert attacked.inside["script"] == plain.inside["script"]
    raw = (project.path / "out.html").read_text(encoding="utf-8")
    assert not [character for character in INVISIBLE if character in raw]


@pytest.mark.parametrize("arguments", [["--truthguard-dry-run"], ["--collect-only"], ["-k", "nothing"]])
def test_where_nothing_was_measured_nothing_is_written(project: pytest.Pytester, arguments: list[str]) -> None:
    """A dry run says so; an older page stays."""
    result = run(project, HTML, "out.html", *arguments)
    assert not (project.path / "out.html").exists()
    assert requests(project) == []
    if "--truthguard-dry-run" in arguments:
        result.stdout.fnmatch_lines([f"{HTML} *out.html was not written: a dry run measures nothing"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((HTML, "none/out.html"), f"*{HTML} *the folder *none does not exist*"),
        ((HTML, "."), f"*{HTML}*"),
        ((HTML, "thresholds.toml"), f"*{HTML} *this is the thresholds file itself; name another file"),
        ((HTML, "out", "--truthguard-markdown", "./out"), "*: this is the file of --truthguard-html too*"),
        ((HTML, "out", "--truthguard-json", "out"), "*: this is the file of --truthguard-json too*"),
        ((HTML, "out", SAVE, "out"), "*: this is the file of --truthguard-save-baseline too*"),
        ((HTML, "out", "--truthguard-save-trust", "out"), "*: this is the file of --truthguard-save-trust too*"),
    ],
)
def test_a_place_that_cannot_be_written_is_found_before_the_work(
    project: pytest.Pytester, arguments: tuple[str, ...], words: str
) -> None:
    """A folder, the thresholds file, the file of another option: exit 4, and nothing is asked."""
    result = run(project, "thresholds.toml", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])
    assert requests(project) == []


def test_a_missing_extra_is_found_before_the_work(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4 with the command that installs it, and nothing is asked."""
    monkeypatch.setattr("truthguard.report.html.page.find_spec", lambda name: None)
    result = run(project, HTML, "out.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f'*{HTML}: an HTML report needs matplotlib and jinja2: pip install "truthguard*report*"']
    )
    assert requests(project) == []


def test_a_page_that_cannot_be_written_in_the_end_fails_the_session(project: pytest.Pytester) -> None:
    """It was asked for by name; the record is written all the same."""
    project.makeconftest("import os\ndef pytest_runtest_teardown(): os.rmdir('pages')\n")
    (project.path / "pages").mkdir()
    result = run(project, HTML, "pages/out.html", "--truthguard-json", "out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"{HTML} *: the page was not written: *"])
    assert (project.path / "out.json").exists()


def test_two_thresholds_files_share_a_page(project: pytest.Pytester) -> None:
    """Both are named, and every row is there."""
    gate(project, "[faq.mc1]\nmin = 0.5\n")
    text = (project.path / "thresholds.toml").read_text(encoding="utf-8")
    (project.path / "other.toml").write_text(text.replace("faq", "others").replace("others.jsonl", "faq.jsonl"))
    run(project, "thresholds.toml", "other.toml", HTML, "out.html").assert_outcomes(passed=2)
    page = page_of(project)
    assert "thresholds.toml, other.toml" in page.text
    assert "Of 2 bars 2 passed." in page.text
    assert [each["name"] for each in page.data["runs"]] == ["faq", "others"]


def test_without_a_thresholds_file_that_is_said(project: pytest.Pytester) -> None:
    """Whoever asks for a page of ordinary tests is told that there is none."""
    project.makepyfile("def test_nothing(): pass\n")
    result = project.runpytest_inprocess(HTML, "out.html")
    result.stdout.fnmatch_lines([f"*{HTML} did nothing*no thresholds file was named"])
    assert not (project.path / "out.html").exists()


@pytest.mark.slow
def test_under_xdist_the_page_is_that_of_one_process(project: pytest.Pytester, tmp_path: Path) -> None:
    """The controller writes it once, with the rows in the file's order and the same questions."""
    better(project)
    save(project)
    worse(project)
    gate(project, '[faq.mc1]\nmin = 0.9\nmax_drop = 0.5\nby = "category"\n[faq.mc2]\nmin = -1\n')
    for name, spread in (("alone", ()), ("spread", ("-n", "2"))):
        result = run(project, READ, "base.json", HTML, f"{name}.html", *spread, in_process=False)
        result.assert_outcomes(passed=2, failed=2)
    alone, both = page_of(project, "alone.html"), page_of(project, "spread.html")
    assert alone.tags == both.tags
    assert alone.data == both.data
