"""Rows as pytest items: verdicts, exit codes, node ids, selection."""

from __future__ import annotations

import json

import pytest

from tests.plugin.projects import gate, requests, run


def test_a_row_above_its_bar_passes(project: pytest.Pytester) -> None:
    """mc1 is 0.75 of at least 0.5: one passed item, exit 0, the score in the table."""
    result = run(project)
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["faq * mc1 * all * 0.7500 * 4 * min 0.5 * +0.2500 * pass*0.3333"])


def test_a_row_below_its_bar_fails_without_a_traceback(project: pytest.Pytester) -> None:
    """The failure text says what was measured and what was demanded; exit 1."""
    gate(project, "[faq.mc1]\nmin = 0.9\n")
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*0.7500*0.9*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*items.py:*")
    result.stdout.fnmatch_lines(["*q3*"])


def test_every_metric_is_computed_from_one_run(project: pytest.Pytester) -> None:
    """Five metrics of four questions: one Score each, four yes/no questions each, two orders each."""
    gate(project, "".join(f"[faq.{name}]\nmin = 0\n" for name in ("mc1", "mc2", "mc2_mass", "mc3", "mc_binary")))
    result = run(project, "-v")
    result.assert_outcomes(passed=5)
    kinds = [line.split()[1] for line in requests(project)]
    assert kinds.count("Score") == 4
    assert kinds.count("NextToken") == 4 * (4 + 2)
    # mc2: three questions contrast by +0.5, one by -0.5.
    result.stdout.fnmatch_lines(["faq *mc2 (yes/no contrast)*0.2500*"])
    result.stdout.fnmatch_lines(["faq *mc_binary*0.7500*"])


def test_a_row_that_cannot_be_measured_is_an_error_not_a_failure(project: pytest.Pytester) -> None:
    """A NaN is found in setup: pytest shows E, and the message names the cause."""
    model = project.path / "model.py"
    model.write_text(model.read_text().replace("value - rank / 8", "float('nan') if lies else value"))
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*nan*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_categories_and_items_become_rows_with_slugs(project: pytest.Pytester) -> None:
    """`by` adds a row a category, `item_min` a row an item; full names stand in the table."""
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\nitem_min = 1\n')
    result = run(project, "--co", "-q")
    names = [line for line in result.outlines if "::" in line]
    expected = ["mc1", "mc1-Alpha-one", "mc1-Beta", "mc1-q0", "mc1-q1", "mc1-q2", "mc1-q3"]
    assert names == [f"thresholds.toml::faq[{name}]" for name in expected]
    result = run(project)
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(["FAILED thresholds.toml::faq[[]mc1-q3]*"])


def test_selection_by_keyword_node_id_and_marker(project: pytest.Pytester) -> None:
    """-k, a node id and -m truthguard choose rows as they choose tests; only what is asked is measured."""
    gate(project, "[faq.mc1]\nmin = 0.5\n[faq.mc2]\nmin = 0\n")
    run(project, "-k", "mc2").assert_outcomes(passed=1, deselected=1)
    assert {line.split()[1] for line in requests(project)} == {"NextToken"}
    run(project, "thresholds.toml::faq[mc1]").assert_outcomes(passed=1)
    run(project, "-m", "truthguard").assert_outcomes(passed=2)
    run(project, "-m", "not truthguard").assert_outcomes(deselected=2)


def test_stop_at_the_first_failure_and_last_failed(project: pytest.Pytester) -> None:
    """-x and --lf work on rows."""
    gate(project, "[faq.mc1]\nmin = 0.9\n[faq.mc3]\nmin = 0.1\n")
    run(project, "-x").assert_outcomes(failed=1)
    run(project, "--lf").assert_outcomes(failed=1)


def test_collecting_asks_nothing(project: pytest.Pytester) -> None:
    """--co needs no model at all."""
    result = run(project, "--co", "-q", model=None)
    assert result.ret == pytest.ExitCode.OK
    assert requests(project) == []


def test_a_location_points_at_the_toml_line(project: pytest.Pytester) -> None:
    """The line of the table in the file is the item's location."""
    gate(project, "[faq.mc1]\nmin = 0.9\n")
    line = (project.path / "thresholds.toml").read_text().splitlines().index("[faq.mc1]") + 1
    items, _ = project.inline_genitems("thresholds.toml")
    assert items[0].location == ("thresholds.toml", line - 1, "faq[mc1]")


def test_a_bare_pytest_collects_no_toml(project: pytest.Pytester) -> None:
    """Without being named the file is nobody's test."""
    project.makepyfile("def test_mine(): assert True")
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert requests(project) == []


@pytest.mark.parametrize("how", ["--truthguard", "testpaths"])
def test_the_file_is_collected_when_asked_for(project: pytest.Pytester, how: str) -> None:
    """--truthguard takes the root directory's file, testpaths may name one."""
    if how == "testpaths":
        project.makeini("[pytest]\ntestpaths = thresholds.toml")
        result = project.runpytest_subprocess(
            "--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off"
        )
    else:
        result = run(project, how)
    result.assert_outcomes(passed=1)


def test_a_waiver_turns_a_failure_into_an_xfail_until_its_day(project: pytest.Pytester) -> None:
    """Waived rows do not fail the session, and say why; an expired waiver does not help."""
    row = "[faq.mc1]\nmin = 0.9\n[faq.mc3]\nmin = 0.1\n"
    waiver = 'waive_until = {day}\nwaive_reason = "known since release 7"\n'
    gate(project, row.replace("min = 0.9\n", "min = 0.9\n" + waiver.format(day="2999-12-31")))
    result = run(project, "-rx")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*known since release 7*"])
    gate(project, row.replace("min = 0.9\n", "min = 0.9\n" + waiver.format(day="2020-12-31")))
    run(project).assert_outcomes(passed=1, failed=1)


def test_a_small_slice_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    """min_items leaves small slices ungated."""
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\nmin_items = 3\n')
    result = run(project, "-rs")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*thresholds.toml:*"])


def test_a_file_in_which_nothing_was_gated_is_an_error(project: pytest.Pytester) -> None:
    """A gate that held nothing against anything must not look green."""
    gate(project, "[faq.mc1]\nmin = 0.5\nmin_items = 100\n")
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*thresholds.toml: no row was gated*"])


def test_limit_and_sample_choose_the_questions(project: pytest.Pytester) -> None:
    """The first N in file order; a sample stratified by category."""
    run(project, "--truthguard-limit", "3").stdout.fnmatch_lines(["faq*mc1*1.0000* 3 *"])
    assert len(requests(project)) == 3
    result = run(project, "--truthguard-sample", "2", "--truthguard-json", "out.json")
    record = json.loads((project.path / "out.json").read_text())
    assert len({item["category"] for item in record["runs"][0]["items"]}) == 2
    assert result.ret == pytest.ExitCode.OK


def test_a_category_outside_the_sample_is_an_error(project: pytest.Pytester) -> None:
    """A row none of whose questions were asked cannot pass."""
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\n')
    result = run(project, "--truthguard-limit", "2")
    result.assert_outcomes(passed=2, errors=1)


def test_the_record_tells_what_the_table_tells(project: pytest.Pytester) -> None:
    """--truthguard-json writes rows and runs in the documented form."""
    gate(project, '[faq.mc1]\nmin = 0.5\nby = "category"\n[faq.mc2]\nmin = 0.9\n')
    result = run(project, "--truthguard-json", "out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    record = json.loads((project.path / "out.json").read_text())
    rows = {row["id"]: row for row in record["rows"]}
    assert rows["faq[mc1]"]["estimate"] == 0.75
    assert rows["faq[mc1]"]["verdict"] == "pass"
    assert rows["faq[mc1-Alpha-one]"]["slice"] == "Alpha: one"
    assert rows["faq[mc2]"]["verdict"] == "fail"
    assert rows["faq[mc2]"]["bar"]["min"] == 0.9
    run_record = record["runs"][0]
    assert [item["id"] for item in run_record["items"]] == ["q0", "q1", "q2", "q3"]
    assert run_record["counts"]["requests"] == 4 + 16
    assert run_record["complete"] is True


def test_a_second_run_asks_nothing(project: pytest.Pytester) -> None:
    """Kept answers serve the second run, with the same record but for times and the cache's count."""
    cache = ("--truthguard-cache", "answers")
    run(project, *cache, "--truthguard-json", "first.json").assert_outcomes(passed=1)
    asked = len(requests(project))
    run(project, *cache, "--truthguard-json", "second.json").assert_outcomes(passed=1)
    assert len(requests(project)) == asked == 4
    first, second = (json.loads((project.path / name).read_text()) for name in ("first.json", "second.json"))
    assert first["rows"] == second["rows"]
    assert first["runs"][0]["items"] == second["runs"][0]["items"]
    assert second["runs"][0]["counts"]["cached"] == 4


def test_a_timeout_for_tests_does_not_kill_the_run(project: pytest.Pytester) -> None:
    """The row that pays for the run may take longer than any test."""
    model = project.path / "model.py"
    model.write_text(
        model.read_text().replace("def answer(request):", "def answer(request):\n    import time; time.sleep(0.6)")
    )
    run(project, "--timeout", "1").assert_outcomes(passed=1)


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_looking_at_the_setup_asks_nothing(project: pytest.Pytester, option: str) -> None:
    """pytest's options for looking at a session load no model."""
    run(project, option)
    assert requests(project) == []


def test_runxfail_shows_a_waived_failure_as_a_failure(project: pytest.Pytester) -> None:
    """--runxfail reports as if no failure were expected."""
    gate(project, '[faq.mc1]\nmin = 0.9\nwaive_until = 2999-12-31\nwaive_reason = "known"\n')
    run(project, "--runxfail").assert_outcomes(failed=1)


def test_unscored_items_are_told_when_the_row_passes(project: pytest.Pytester) -> None:
    """A pass over fewer items says which kind is missing and within which bounds the score lies."""
    model = project.path / "model.py"
    text = model.read_text(encoding="utf-8")
    missing = '    if "Which of 2" in text:\n        return Missing("does_not_fit", "long")\n    lies ='
    text = text.replace("    lies =", missing).replace(
        "import math", "import math\nfrom truthguard.records import Missing"
    )
    model.write_text(text, encoding="utf-8")
    gate(project, "[faq.mc1]\nmin = 0.5\nmax_unscored = 0.5\n")
    result = run(project)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 of 4 questions could not be scored: does_not_fit 1*0.5000 and 0.7500*"])


def test_an_error_is_told_once(project: pytest.Pytester) -> None:
    """No chain of exceptions around what the reader needs."""
    model = project.path / "model.py"
    model.write_text(model.read_text().replace("    lies =", "    raise ValueError('kaboom')\n    lies ="))
    result = run(project)
    result.assert_outcomes(errors=1)
    assert "exception occurred" not in result.stdout.str()
    assert "direct cause" not in result.stdout.str()


def test_a_fault_outside_our_errors_still_leaves_its_row(project: pytest.Pytester) -> None:
    """Every row has a verdict, in the table and in the record."""
    (project.path / "model.py").write_text("raise RuntimeError('broken at import')", encoding="utf-8")
    result = run(project, "--truthguard-json", "out.json")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["faq * error *"])
    assert json.loads((project.path / "out.json").read_text())["rows"][0]["verdict"] == "error"


def test_rows_of_two_files_are_told_apart(project: pytest.Pytester) -> None:
    """Where several files are collected a row's id is its node id."""
    gate(project, "[faq.mc1]\nmin = 0.6\n", "second.toml")
    run(project, "thresholds.toml", "second.toml", "--truthguard-json", "out.json").assert_outcomes(passed=2)
    rows = json.loads((project.path / "out.json").read_text())["rows"]
    assert [row["id"] for row in rows] == ["thresholds.toml::faq[mc1]", "second.toml::faq[mc1]"]


def test_what_a_loader_counts_is_shown_and_recorded(project: pytest.Pytester) -> None:
    """Repeated answers dropped by the loader leave a number, not silence."""
    path = project.path / "faq.jsonl"
    path.write_text(path.read_text().replace('"It is so."', '"It is so.", "It is so."'), encoding="utf-8")
    result = run(project, "--truthguard-json", "out.json")
    result.stdout.fnmatch_lines(["*4 repeated choices dropped by the loader*"])
    assert json.loads((project.path / "out.json").read_text())["runs"][0]["counts"]["data"] == {"repeated_choices": 4}
