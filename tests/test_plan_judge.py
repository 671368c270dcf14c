"""Keys of [judge] that would change nothing: which are mistakes, at which line, and which files stay valid."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.projects import GATE, write_questions
from truthguard.errors import UsageError
from truthguard.plan import Plan, make_plan
from truthguard.plugin.options import Options
from truthguard.records import JudgeSettings
from truthguard.thresholds.spec import JudgeSpec

QUESTIONS = GATE.partition("[faq.mc1]")[0]
CORRECTNESS = "[faq.correctness]\nmin = 0.5\n"
TRUTHFUL = "[faq.truthful]\nmin = 0.5\n"
MC1 = "[faq.mc1]\nmin = 0.5\n"
BLEU = "[faq.bleu_acc]\nmin = 0.5\n"
# Every key of [judge] that is its model's, or asks it.
MODELS = (
    "samples = 3\ntemperature = 0.5\nmax_tokens = 64\nseed = 1\nconcurrency = 4\ntimeout_seconds = 9\n"
    'max_requests = 10\ncache_max_age = "1h"\nchat_template = true\nsystem_prompt = "Be strict."\n'
    'api_key_env = "KEY"\ndevice = "cpu"\ndtype = "float32"\nrevision = "v1"\nadapter = "a"\nscorer = "plain"\n'
    "batch_tokens = 9\n"
)


def plan(folder: Path, judge: str, rows: str, named: str | None = None) -> Plan:
    """The plan of a file whose first line is [judge]; `named` is --truthguard-judge."""
    write_questions(folder)
    path = folder / "thresholds.toml"
    path.write_text(f"[judge]\n{judge}{QUESTIONS}{rows}", encoding="utf-8")

    def merge(spec: JudgeSpec, model: Mapping[str, Any]) -> JudgeSettings:
        return Options({} if named is None else {"judge": named}, {}, {}).judge_settings(spec, model)

    return make_plan(path, merge_judge=merge)


def mistakes(folder: Path, judge: str, rows: str, named: str | None = None) -> dict[int | None, str]:
    """Each mistake by its line; no two share one."""
    with pytest.raises(UsageError) as caught:
        plan(folder, judge, rows, named)
    found = {mistake.line: mistake.message for mistake in caught.value.mistakes}
    assert len(found) == len(caught.value.mistakes)
    return found


@pytest.mark.parametrize("rows", [TRUTHFUL, MC1, BLEU, ""])
def test_keys_of_a_model_that_nobody_names_are_mistakes(tmp_path: Path, rows: str) -> None:
    """Whatever the rows, each is told at its own line, under the file's own name, with the places to name one."""
    found = mistakes(tmp_path, MODELS, rows)
    keys = [line.partition(" ")[0] for line in MODELS.splitlines()]
    assert list(found) == list(range(2, 2 + len(keys)))
    for key, message in zip(keys, found.values(), strict=True):
        assert message.startswith(f"[judge] {key} has no effect: it is for a judge's model, and none is named")
        assert "--truthguard-judge SPEC and TRUTHGUARD_JUDGE" in message


@pytest.mark.parametrize("rows", [CORRECTNESS, CORRECTNESS + TRUTHFUL, MC1, ""])
def test_a_team_may_keep_them_and_name_the_judge_on_the_command_line(tmp_path: Path, rows: str) -> None:
    """With a model every key is right that a row can use, or a test where the file has no judged row."""
    made = plan(tmp_path, MODELS, rows, named="some/judge")
    assert made.judge.samples == 3
    assert made.warnings == ()


def test_a_lacking_model_is_told_once(tmp_path: Path) -> None:
    """Where a row or the kind needs the model, that is the mistake, and no key of the model's."""
    assert list(mistakes(tmp_path, "samples = 3\n", CORRECTNESS)) == [8]
    assert list(mistakes(tmp_path, 'samples = 3\nkind = "rubric"\n', TRUTHFUL)) == [3]


@pytest.mark.parametrize("named", [None, "some/judge"])
def test_samples_are_for_correctness(tmp_path: Path, named: str | None) -> None:
    """A rubric's verdict is one greedy reply: nothing about chance reaches it, and who wrote it believes it does."""
    model = "" if named else 'model = "m"\n'
    found = mistakes(tmp_path, "samples = 3\ntemperature = 0.5\nmax_tokens = 64\nseed = 1\n" + model, TRUTHFUL, named)
    assert {line: message.split()[1] for line, message in found.items()} == {2: "samples", 3: "temperature", 5: "seed"}
    assert all("and no row is one: every other verdict is asked for once" in message for message in found.values())


def test_a_logprob_judge_writes_nothing(tmp_path: Path) -> None:
    """max_tokens bounds a text; correctness has one even beside such a judge."""
    keys = 'kind = "logprob"\nmodel = "m"\nmax_tokens = 64\n'
    ((line, message),) = mistakes(tmp_path, keys, TRUTHFUL).items()
    assert line == 4
    assert "the logprob judge writes nothing" in message
    assert plan(tmp_path, keys, TRUTHFUL + CORRECTNESS).judge.max_tokens == 64


def test_a_model_beside_similarity_is_for_correctness(tmp_path: Path) -> None:
    """Without a row of it nobody asks the model, and each of its keys is told."""
    keys = 'kind = "similarity"\nmodel = "m"\nconcurrency = 4\nmeasure = "bleu"\n'
    found = mistakes(tmp_path, keys, TRUTHFUL)
    assert {line: message.split()[1] for line, message in found.items()} == {3: "model", 4: "concurrency"}
    assert all("kind = 'similarity' asks no model" in message for message in found.values())
    assert plan(tmp_path, keys, TRUTHFUL + CORRECTNESS).judge.kind == "similarity"
    # The command line may name a judge for all files, those that want none included.
    assert plan(tmp_path, 'kind = "similarity"\nmeasure = "bleu"\n', TRUTHFUL, named="some/judge").warnings == ()


def test_a_measure_decides_nothing_else(tmp_path: Path) -> None:
    """A row of a measure's own says which one it is, and correctness compares no words."""
    ((line, message),) = mistakes(tmp_path, 'kind = "similarity"\nmodel = "m"\nmeasure = "bleu"\n', CORRECTNESS).items()
    assert (line, "no row is one of them" in message) == (4, True)
    assert plan(tmp_path, 'measure = "bleu"\n', TRUTHFUL).judge.measure == "bleu"


def test_a_measure_that_the_command_line_overrules_is_said(tmp_path: Path) -> None:
    """The file is right by itself and stays valid; that its measure does not decide stands in the summary."""
    made = plan(tmp_path, 'max_tokens = 9\nmeasure = "bleu"\n', TRUTHFUL, named="some/judge")
    assert made.judge.kind == "rubric"
    (warning,) = made.warnings
    assert warning.startswith(f"{tmp_path / 'thresholds.toml'}:3: [judge] measure does not decide here: some/judge,")


def test_a_system_prompt_without_chat_template_is_told_at_its_line(tmp_path: Path) -> None:
    """Not at the kind's."""
    keys = 'kind = "rubric"\nmodel = "m"\nsystem_prompt = "Be strict."\n'
    ((line, message),) = mistakes(tmp_path, keys, TRUTHFUL).items()
    assert (line, "chat_template" in message) == (4, True)


def test_a_row_that_is_wrong_leaves_its_keys_in_peace(tmp_path: Path) -> None:
    """A mistyped correctness may be what the samples are for: only the one mistake is told."""
    rows = TRUTHFUL + CORRECTNESS.replace("correctness", "corectness")
    assert list(mistakes(tmp_path, 'model = "m"\nsamples = 3\n', rows)) == [11]
    data = TRUTHFUL + f'[said]\nkind = "correctness"\npath = "nowhere.jsonl"\n{CORRECTNESS.replace("faq", "said")}'
    assert ["samples" in text for text in mistakes(tmp_path, 'model = "m"\nsamples = 3\n', data).values()] == [False]


def test_deselected_rows_keep_their_keys_effect(tmp_path: Path) -> None:
    """The file as a whole is judged, not the rows that pytest goes on to select: the plan knows nothing of them."""
    made = plan(tmp_path, 'model = "m"\nsamples = 3\n', TRUTHFUL + CORRECTNESS)
    assert {row.metric for row in made.rows} == {"truthful", "correctness"}
