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


def test_an_adapter_that_is_not_there_is_found_before_anything_loads(project: pytest.Pytester) -> None:
    """Its path starts from the file that names it."""
    (project.path / "weights").mkdir()
    for name in ("config.json", "model.safetensors"):
        (project.path / "weights" / name).write_text("{}")
    gate(project, '[model]\nname = "weights"\nadapter = "tuned"\n[faq.mc1]\nmin = 0.5\n')
    expect_usage_error(run(project, model=None), f"*there is no {project.path / 'tuned'}*")
    expect_usage_error(
        run(project, "--truthguard-adapter", "weights", model=None), "*it holds a whole model: name it as the model*"
    )


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


@pytest.mark.parametrize(
    "model", ["no/such/folder.gguf", "package:no_such_package/model.gguf", "./" + "a" * 300, "scripted:model"]
)
def test_a_model_that_is_not_there_is_a_usage_error(project: pytest.Pytester, model: str) -> None:
    """A wrong spec is told before anything loads, whatever its length."""
    expect_usage_error(run(project, model=model), f"*{Path(model).name[:40]}*")


def test_a_scripted_model_in_the_ini_file_is_refused(project: pytest.Pytester) -> None:
    """The ini file lies in the repository, too: code to run is named by a person."""
    project.makeini("[pytest]\ntruthguard_model = scripted:model:answer")
    expect_usage_error(run(project, model=None), "*--truthguard-model or TRUTHGUARD_MODEL*")


def test_a_scripted_model_may_come_from_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment is a person's word, like the command line."""
    monkeypatch.setenv("TRUTHGUARD_MODEL", "scripted:model:answer")
    run(project, model=None).assert_outcomes(passed=1)


def test_an_absent_device_is_a_usage_error(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found before the model loads, and never replaced by another."""
    monkeypatch.setattr("truthguard.backends.loading._may_have", lambda accelerator: False)
    expect_usage_error(run(project, "--truthguard-device", "cuda"), "*cuda*none*")


@pytest.mark.parametrize("text", ["", "[model]\nname = 'm'\n", "[faq]\nkind = 'questions'\npath = 'faq.jsonl'\n"])
def test_a_file_without_rows_is_a_mistake(project: pytest.Pytester, text: str) -> None:
    """A gate that can hold nothing back must not look green beside other tests."""
    (project.path / "empty.toml").write_text(text, encoding="utf-8")
    expect_usage_error(run(project, "empty.toml", "thresholds.toml"), "*empty.toml: no row*")


def test_mistakes_of_keys_data_and_categories_come_together(project: pytest.Pytester) -> None:
    """One message: a mistyped key, a category that is not there, files that are not there."""
    text = "[faq.mc1]\nmni = 0.9\n[faq.mc3]\nmin = 0.1\n[faq.mc3.categories.Beeta]\nmin = 0.1\n"
    for name in ("a", "b"):
        text += f'[{name}]\nkind = "questions"\npath = "none-{name}.jsonl"\n[{name}.mc1]\nmin = 0\n'
    gate(project, text)
    expect_usage_error(run(project), "*mni*", "*Beeta*", "*none-a.jsonl*", "*none-b.jsonl*")


def test_mistakes_of_the_environment_come_together(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bad variables are two lines of one message."""
    monkeypatch.setenv("TRUTHGUARD_LIMIT", "x")
    monkeypatch.setenv("TRUTHGUARD_DTYPE", "y")
    expect_usage_error(run(project), "*TRUTHGUARD_DTYPE*", "*TRUTHGUARD_LIMIT*")


@pytest.mark.parametrize("target", ["thresholds.toml", "/dev/null", "."])
def test_a_record_may_not_replace_what_it_must_not(project: pytest.Pytester, target: str) -> None:
    """The thresholds file itself, a device and a folder are refused before the work."""
    before = (project.path / "thresholds.toml").read_bytes()
    expect_usage_error(run(project, "thresholds.toml", "--truthguard-json", target), "*--truthguard-json*")
    assert (project.path / "thresholds.toml").read_bytes() == before
    assert requests(project) == []


def test_a_cache_that_is_a_file_is_refused(project: pytest.Pytester) -> None:
    """Where answers cannot be kept is found before they are asked for."""
    (project.path / "kept").write_text("mine", encoding="utf-8")
    expect_usage_error(run(project, "--truthguard-cache", "kept"), "*--truthguard-cache*no folder*off*")
    assert requests(project) == []


def test_a_linked_file_reads_its_questions_from_beside_the_link(project: pytest.Pytester) -> None:
    """Relative paths start from where the user sees the file."""
    (project.path / "real").mkdir()
    (project.path / "thresholds.toml").rename(project.path / "real" / "gate.toml")
    (project.path / "thresholds.toml").symlink_to(project.path / "real" / "gate.toml")
    run(project).assert_outcomes(passed=1)


def test_a_path_of_the_ini_file_starts_from_it(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pytest reads its own paths there, wherever pytest is started."""
    project.makeini("[pytest]\ntruthguard_cache = kept")
    (project.path / "sub").mkdir()
    monkeypatch.chdir(project.path / "sub")
    project.syspathinsert()
    arguments = ("../thresholds.toml", "--truthguard-model", "scripted:model:answer")
    project.runpytest_inprocess(*arguments).assert_outcomes(passed=1)
    assert list((project.path / "kept").glob("*.sqlite3"))


def test_two_files_may_be_named_at_once(project: pytest.Pytester) -> None:
    """Each has its own rows; the mistakes of both come together."""
    gate(project, "[faq.mc2]\nmin = 0\n", "second.toml")
    run(project, "thresholds.toml", "second.toml").assert_outcomes(passed=2)
    gate(project, "[faq.mc9]\nmin = 0\n", "second.toml")
    gate(project, "[faq.mc8]\nmin = 0\n")
    expect_usage_error(run(project, "thresholds.toml", "second.toml"), "*mc8*", "*mc9*")
