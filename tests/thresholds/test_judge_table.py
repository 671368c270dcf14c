"""[judge], the keys of models behind an API, and which metrics belong to which benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thresholds.made import gate_of, mistakes_of
from truthguard.catalogue import METRICS_OF
from truthguard.thresholds.spec import JudgeSpec


def test_a_file_without_a_judge_sets_nothing(tmp_path: Path) -> None:
    """Who judges then is decided elsewhere."""
    assert gate_of(tmp_path, "[starter.truthful]\nmin = 0.5\n").judge == JudgeSpec()


def test_the_judges_own_keys_and_its_models_are_told_apart(tmp_path: Path) -> None:
    """What is set, and nothing else, under the names of the settings; the kind's line for what is said of it."""
    gate = gate_of(
        tmp_path,
        "[judge]\n"
        'model = "openai:some"\n'
        'kind = "rubric"\n'
        "samples = 3\ntemperature = 1\nmax_tokens = 64\nseed = 7\n"
        'api_key_env = "JUDGE_KEY"\nconcurrency = 4\ntimeout_seconds = 2.5\nmax_requests = 100\n'
        'cache_max_age = "90m"\nchat_template = true\nsystem_prompt = "Be strict."\ndevice = "cpu"\n'
        'dtype = "float32"\nrevision = "v2"\nadapter = "tuned"\nscorer = "plain"\nbatch_tokens = 64\n',
    )
    assert gate.judge.line == 3
    assert dict(gate.judge.settings) == {
        "kind": "rubric",
        "samples": 3,
        "temperature": 1.0,
        "max_tokens": 64,
        "seed": 7,
    }
    assert dict(gate.judge.model) == {
        "name": "openai:some",
        "api_key_env": "JUDGE_KEY",
        "concurrency": 4,
        "timeout_seconds": 2.5,
        "max_requests": 100,
        "cache_max_age_hours": 1.5,
        "chat_template": True,
        "system_prompt": "Be strict.",
        "device": "cpu",
        "dtype": "float32",
        "revision": "v2",
        "adapter": "tuned",
        "scorer": "plain",
        "batch_tokens": 64,
    }


@pytest.mark.parametrize(
    ("written", "hours"), [("12", 12.0), ("0", 0.0), ("0.5", 0.5), ('"30m"', 0.5), ('"12h"', 12.0), ('"1.5d"', 36.0)]
)
def test_an_age_is_hours_or_a_text_with_its_unit(tmp_path: Path, written: str, hours: float) -> None:
    """A bare number is hours; minutes, hours and days are said."""
    gate = gate_of(tmp_path, f'[model]\nname = "openai:m"\ncache_max_age = {written}\n')
    assert gate.model["cache_max_age_hours"] == hours


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('judge = "openai:m"\n', 1, "expected a table: [judge] and below it model"),
        ("[[judge]]\nsamples = 3\n", 1, "a table here is written once"),
        ("[jdge]\nsamples = 3\n", 1, "did you mean 'judge'?"),
        ('[judge]\nkind = "rubrik"\n', 2, "did you mean 'rubric'?"),
        ('[judge]\nmodel = " "\n', 2, "must not be blank"),
        ('[judge]\nmodel = "scripted:m:judge"\n', 2, "(--truthguard-judge) or in TRUTHGUARD_JUDGE"),
        ('[judge]\nname = "m"\n', 2, "unknown key 'name'"),
        ("[judge]\nsample = 3\n", 2, "did you mean 'samples'?"),
        ("[judge]\nsamples = 0\n", 2, "must be at least 1"),
        ("[judge]\nsamples = 2.5\n", 2, "expected a whole number"),
        ("[judge]\ntemperature = -0.1\n", 2, "must be at least 0"),
        ("[judge]\ntemperature = 2.1\n", 2, "must be at most 2"),
        ("[judge]\ntemperature = nan\n", 2, "expected a finite number"),
        ("[judge]\nmax_tokens = 0\n", 2, "must be at least 1"),
        ("[judge]\nseed = -1\n", 2, "must be at least 0"),
        ("[judge]\nseed = 2147483648\n", 2, "must be less than 2147483648"),
        ('[judge]\nmeasure = "rouge"\n', 2, "did you mean 'rouge"),
        ('[judge]\nmodel = "m"\nmeasure = "bleu"\n', 3, "with a model the kind is 'rubric'"),
        ('[judge]\nkind = "logprob"\nmeasure = "bleu"\n', 3, "kind is 'logprob'"),
        ("[model]\nconcurrency = 0\n", 2, "must be at least 1"),
        ("[model]\ntimeout_seconds = 0\n", 2, "must be greater than 0"),
        ("[model]\nmax_requests = 0\n", 2, "must be at least 1"),
        ("[model]\ncache_max_age = -1\n", 2, "must lie between 0 and 3653 days"),
        ("[model]\ncache_max_age = 1e9\n", 2, "must lie between 0 and 3653 days"),
        ("[model]\ncache_max_age = nan\n", 2, "must lie between 0 and 3653 days"),
        ("[model]\ncache_max_age = true\n", 2, "expected a number"),
        ('[model]\ncache_max_age = "12"\n', 2, '"90m", "12h" or "2d"'),
        ('[model]\ncache_max_age = "12 hours"\n', 2, '"90m", "12h" or "2d"'),
        ("[model]\nname = 'm'\nallow_host = 'x'\n", 3, "unknown key 'allow_host'"),
        ("[starter.flipped]\nmax = 0.1\n", 1, "flipped is no metric of questions"),
        ("[injection.mc1]\nmin = 0.1\n", 1, "mc1 is no metric of the judge's self-test; they have flipped, tone"),
        ("[injection.flippd]\nmax = 0.1\n", 1, "did you mean 'flipped'?"),
        ('[injection]\nprompt = "qa"\n', 2, "nothing is asked of a model"),
        ("[injection]\nclosing_period = true\n", 2, "closing_period is for questions"),
        ('[injection]\nkind = "questions"\n', 2, "injection is built in"),
        (
            '[said]\nkind = "correctness"\npath = "a.jsonl"\n[said.truthful]\nmin = 0.1\n',
            4,
            "truthful is no metric of prompts and responses; they have correctness",
        ),
        ('[said]\nkind = "correctness"\npath = "a.jsonl"\nmin = 0.1\n', 4, "as in [said.correctness]"),
        ('[said]\nkind = "correctness"\npath = "a.jsonl"\nprompt = "qa"\n', 4, "prompt is for questions"),
        ("[starter.truthful]\nmin = 70\n", 2, "70 looks like per cent"),
        ("[starter.bleu_diff]\nmin = -1.1\n", 2, "looks like per cent: scores here run from -1 to 1"),
    ],
)
def test_one_mistake_is_one_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    """Each rule, broken alone, gives one mistake at its line in the person's own words."""
    ((found, message),) = mistakes_of(tmp_path, text)
    assert found == line
    assert words in message


@pytest.mark.parametrize("table", ["model", "judge"])
def test_a_key_in_the_place_of_its_variable_is_not_printed(tmp_path: Path, table: str) -> None:
    """Who writes the key itself into the file must not find it in a log, too."""
    for name in ("api_key_env", "api_key"):
        ((line, message),) = mistakes_of(tmp_path, f'[{table}]\n{name} = "sk-secret-123"\n')
        assert line == 2
        assert "secret" not in message
        assert "environment variable" in message or "did you mean 'api_key_env'?" in message


@pytest.mark.parametrize("metric", METRICS_OF["questions"])
def test_every_metric_of_questions_may_be_a_row(tmp_path: Path, metric: str) -> None:
    """Judged rows allow 5 % of unscored items unless the file says otherwise."""
    (table,) = gate_of(tmp_path, f"[starter.{metric}]\nmin = 0.0\n").benchmarks
    (row,) = table.rows
    assert row.metric == metric
    assert row.limits.max_unscored == (0.0 if metric.startswith("mc") else 0.05)


def test_a_file_of_prompts_says_so(tmp_path: Path) -> None:
    """kind = "correctness" is read with its one metric."""
    text = '[said]\nkind = "correctness"\npath = "said.jsonl"\n[said.correctness]\nmin = 0.8\n'
    (table,) = gate_of(tmp_path, text).benchmarks
    assert (table.settings.kind, table.settings.path) == ("correctness", "said.jsonl")
    assert [row.metric for row in table.rows] == ["correctness"]
