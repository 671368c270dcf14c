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


def test_an_adapter_lies_beside_the_file(thresholds: Path) -> None:
    """Whether it is there or not: an adapter is always a path."""
    model_line(thresholds, 'name = "some/hub-model"\nadapter = "tuned"')
    plan = make_plan(thresholds)
    assert plan.model == ModelSettings("some/hub-model", adapter=str(thresholds.parent / "tuned"))


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


def lines_of(thresholds: Path, text: str) -> list[tuple[int | None, str]]:
    thresholds.write_text(GATE + text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        make_plan(thresholds)
    return [(mistake.line, mistake.message) for mistake in error.value.mistakes]


def test_a_wrong_judge_brings_no_mistakes_of_rows_with_it(thresholds: Path) -> None:
    """What its model is cannot be known while [judge] is wrong; what is wrong elsewhere is told with it."""
    found = lines_of(
        thresholds,
        '[judge]\nmodel = "m"\nsampels = 2\n[faq.correctness]\nmin = 0.5\n[faq.mc3.categories.Beeta]\nmin = 0.1\n',
    )
    assert len(found) == 2
    assert "sampels" in found[0][1]
    assert "Beeta" in found[1][1]


def test_a_wrong_model_brings_no_mistakes_of_prompts_with_it(thresholds: Path) -> None:
    """Whether the system prompt goes through a chat template cannot be known while [model] is wrong."""
    found = lines_of(thresholds, '[model]\nname = "m"\nsystem_prompt = "Be brief."\nchat_templat = true\n')
    assert ["chat_templat" in message for _, message in found] == [True]


def test_a_judge_that_is_named_needs_no_hint_how_to_name_one(thresholds: Path) -> None:
    """Each reason has its own way out: another kind, or no chat template."""
    logprob = '[judge]\nkind = "logprob"\nmodel = "m"\nchat_template = true\n[faq.truthful]\nmin = 0.5\n'
    ((_, message),) = lines_of(thresholds, logprob)
    assert message.endswith("leave chat_template out of [judge]")
    similarity = '[judge]\nkind = "similarity"\nmodel = "m"\n[injection.tone]\nmax = 0.1\n'
    ((_, message),) = lines_of(thresholds, similarity)
    assert message.endswith('set kind = "rubric" or "logprob" in [judge]')


def test_keys_that_only_questions_have_are_told_once(thresholds: Path) -> None:
    """What the file's rules refuse the loader need not refuse again."""
    (thresholds.parent / "said.jsonl").write_text('{"prompt": "Say it.", "response": "It."}\n', encoding="utf-8")
    keys = 'prompt = "qa"\nclosing_period = true\nnormalization = "per_token"\n'
    found = lines_of(thresholds, f'[said]\nkind = "correctness"\npath = "said.jsonl"\n{keys}[judge]\nmodel = "m"\n')
    assert [message.split()[1] for _, message in found] == ["prompt", "closing_period", "normalization"]
