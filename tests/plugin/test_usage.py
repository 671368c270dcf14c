"""Mistakes are found before anything loads: one message, exit 4, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests, run


def expect_usage_error(result: pytest.RunResult, *patterns: str) -> None:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{pattern}*" for pattern in patterns], consecutive=False)
    result.stderr.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*Traceback*")


def test_all_mistakes_of_a_file_come_in_one_message(project: pytest.Pytester) -> None:
    """C21: each with file, line and the nearest valid name; nothing is asked."""
    gate(project, "[faq.mc1]\nmin = nan\n[faq.mc2_mas]\nmin = 70\n[faq.mc3]\nmni = 0.5\n")
    result = run(project)
    expect_usage_error(result, "thresholds.toml:7: *nan*", "*mc2_mass*", "thresholds.toml:11: *min*")
    assert requests(project) == []


def test_a_repeated_table_is_shown_with_file_and_line(project: pytest.Pytester) -> None:
    """C21: TOML itself forbids it."""
    gate(project, "[faq.mc1]\nmin = 0.5\n[faq.mc1]\nmin = 0.6\n")
    expect_usage_error(run(project), "thresholds.toml:8*")


def test_a_byte_order_mark_is_no_mistake(project: pytest.Pytester) -> None:
    """C22: a thresholds file saved with the mark is read."""
    path = project.path / "thresholds.toml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    run(project).assert_outcomes(passed=1)


def test_a_file_without_a_model_needs_one_to_be_measured(project: pytest.Pytester) -> None:
    """The message names the three places where a model can be set."""
    expect_usage_error(run(project, model=None), "*--truthguard-model*TRUTHGUARD_MODEL*")


def test_missing_data_names_the_way_to_get_it(project: pytest.Pytester) -> None:
    """Benchmark files that are not there are a mistake in the set-up, not a failed gate."""
    (project.path / "thresholds.toml").write_text("[truthfulqa.mc1]\nmin = 0.2\n")
    result = run(project, "--truthguard-data", str(project.path / "nowhere"))
    expect_usage_error(result, "*truthguard fetch truthfulqa*")


def test_a_metric_of_a_later_version_is_refused_by_name(project: pytest.Pytester) -> None:
    """Silence would look like a pass."""
    gate(project, "[faq.pearson]\nmin = 0.5\n")
    expect_usage_error(run(project), "*pearson*later version*")


def test_an_unknown_category_gets_the_nearest(project: pytest.Pytester) -> None:
    """Categories are known once the data are read, and checked before the model loads."""
    gate(project, '[faq.mc1]\nmin = 0.5\n[faq.mc1.categories."Betta"]\nmin = 0.5\n')
    expect_usage_error(run(project), "*Betta*Beta*")
    assert requests(project) == []


def test_an_output_that_cannot_be_written_is_found_first(project: pytest.Pytester) -> None:
    """A missing folder is found before an hour of work, not after it."""
    expect_usage_error(run(project, "--truthguard-json", "no/such/folder/out.json"), "*does not exist*")
    assert requests(project) == []


def test_a_scripted_model_comes_from_the_command_line_only(project: pytest.Pytester) -> None:
    """A thresholds file of somebody else's pull request must not name code to run."""
    path = project.path / "thresholds.toml"
    path.write_text('[model]\nname = "scripted:model:answer"\n' + path.read_text())
    expect_usage_error(run(project, model=None), "thresholds.toml:2*command line*")


@pytest.mark.parametrize("model", ["no/such/folder.gguf", "package:no_such_package/model.gguf"])
def test_a_model_that_is_not_there_stops_the_rows(project: pytest.Pytester, model: str) -> None:
    """A wrong spec is an error that names it, without a traceback."""
    result = run(project, model=model)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.TESTS_FAILED)
    text = result.stdout.str() + result.stderr.str()
    assert Path(model).name in text
    assert "Traceback" not in text


def test_two_files_may_be_named_at_once(project: pytest.Pytester) -> None:
    """Each has its own rows; the mistakes of both come together."""
    gate(project, "[faq.mc2]\nmin = 0\n", "second.toml")
    run(project, "thresholds.toml", "second.toml").assert_outcomes(passed=2)
    gate(project, "[faq.mc9]\nmin = 0\n", "second.toml")
    gate(project, "[faq.mc8]\nmin = 0\n")
    expect_usage_error(run(project, "thresholds.toml", "second.toml"), "*mc8*", "*mc9*")
