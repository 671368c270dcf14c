"""A thresholds file made ready: what is found before a model loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.projects import GATE, write_questions
from truthguard.errors import UsageError
from truthguard.plan import default_plan, make_plan
from truthguard.records import BenchmarkSettings, ModelSettings, Selection


@pytest.fixture
def thresholds(tmp_path: Path) -> Path:
    write_questions(tmp_path)
    path = tmp_path / "thresholds.toml"
    path.write_text(GATE, encoding="utf-8")
    return path


def model_line(path: Path, text: str) -> None:
    path.write_text(f"[model]\n{text}\n" + path.read_text(encoding="utf-8"), encoding="utf-8")


def test_a_plan_has_rows_questions_and_no_model_until_one_is_named(thresholds: Path) -> None:
    """Own questions lie beside the file, wherever the process runs."""
    plan = make_plan(thresholds)
    assert [row.id for row in plan.rows] == ["faq[mc1]"]
    assert [item.id for item in plan.selected["faq"]] == ["q0", "q1", "q2", "q3"]
    assert plan.model is None


def test_the_selection_narrows_what_is_asked(thresholds: Path) -> None:
    """The whole set stays known, for categories and chance."""
    plan = make_plan(thresholds, selection=Selection(limit=1))
    assert len(plan.selected["faq"]) == 1
    assert len(plan.questions["faq"].items) == 4


def test_a_model_folder_is_found_beside_the_file(thresholds: Path) -> None:
    """A relative path in the file means the file's folder; a name that is no path stays a name."""
    (thresholds.parent / "weights").mkdir()
    model_line(thresholds, 'name = "weights"')
    plan = make_plan(thresholds)
    assert plan.model == ModelSettings(str(thresholds.parent / "weights"))
    model_line(thresholds, "")
    thresholds.write_text(GATE.replace("[faq]", '[model]\nname = "some/hub-model"\n\n[faq]', 1), encoding="utf-8")
    assert make_plan(thresholds).model == ModelSettings("some/hub-model")


def test_a_system_prompt_needs_a_chat_template(thresholds: Path) -> None:
    """A setting without effect is told at the benchmark's line, before a model loads."""
    model_line(thresholds, 'name = "m"\nsystem_prompt = "Be brief."')
    line = thresholds.read_text(encoding="utf-8").splitlines().index("[faq]") + 1
    with pytest.raises(UsageError, match="chat_template = true") as error:
        make_plan(thresholds)
    assert [mistake.line for mistake in error.value.mistakes] == [line]


def test_a_preset_without_shots_cannot_become_turns(thresholds: Path, real_data: Path) -> None:
    """`long` is a blog post: there is nothing in it that a chat template could turn."""
    text = '[model]\nname = "m"\nchat_template = true\n\n[truthfulqa]\nprompt = "long"\n\n[truthfulqa.mc1]\nmin = 0\n'
    thresholds.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="qa, help"):
        make_plan(thresholds, data=real_data)


def test_a_default_plan_has_one_benchmark_and_no_rows(tmp_path: Path) -> None:
    """What the fixture measures where no file describes it."""
    plan = default_plan(tmp_path, BenchmarkSettings("starter"), ModelSettings("m"))
    assert plan.rows == ()
    assert len(plan.questions["starter"].items) > 80
