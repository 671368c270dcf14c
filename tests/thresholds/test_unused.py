"""The rule for keys of [judge], and its docstring's example."""

from __future__ import annotations

import doctest
from itertools import combinations

import pytest

from truthguard.catalogue import METRICS_OF, JudgeKind, asks_judge, judged
from truthguard.records import JudgeSettings, ModelSettings
from truthguard.thresholds import unused as module
from truthguard.thresholds.schema import JudgeTable
from truthguard.thresholds.spec import JudgeSpec
from truthguard.thresholds.unused import Asked, unused

ALL_KEYS = JudgeSpec(lines=dict.fromkeys(JudgeTable.model_fields, 1))


def test_the_example_holds() -> None:
    """The docstring's example runs and prints what it says."""
    results = doctest.testmod(module)
    assert (results.attempted, results.failed) == (1, 0)


@pytest.mark.parametrize("kind", ["rubric", "logprob", "similarity"])
def test_a_models_name_has_an_effect_exactly_where_it_is_asked(kind: JudgeKind) -> None:
    """Whatever judged metrics the file has: the rule agrees with the one by which the run asks the judge."""
    judge = JudgeSettings(kind, ModelSettings("m"))
    names = [name for name in METRICS_OF["questions"] if name in ("mc1", "bleu_acc") or judged([name], "questions")]
    for metrics in (pair for n in (1, 2, 3) for pair in combinations(names, n)):
        idle = dict(unused(ALL_KEYS, judge, [(name, "questions") for name in metrics]))
        asked = asks_judge(metrics, kind, "questions")
        assert ("model" in idle) == (judged(metrics, "questions") and not asked), metrics
        assert "kind" not in idle


@pytest.mark.parametrize("rows", [None, [], [("mc1", "questions")]])
def test_without_a_judged_row_everything_may_be_for_the_fixture(rows: list[Asked] | None) -> None:
    """Nothing is concluded from rows that are not known or not judged."""
    for kind in ("rubric", "logprob"):
        assert list(unused(ALL_KEYS, JudgeSettings(kind, ModelSettings("m")), rows)) == []
    without_model = {"kind", "measure", "requires", "trust"}
    assert {key for key, _ in unused(ALL_KEYS, JudgeSettings(), rows)} == {*ALL_KEYS.lines} - without_model


@pytest.mark.parametrize(
    ("row", "idle"),
    [
        (("pearson", "direct"), {"samples"}),
        (("with_ties", "pairwise"), {"samples"}),
        (("correctness", "correctness"), {"runs"}),
        (("truthful", "questions"), {"samples", "runs", "temperature", "seed"}),
        (("accuracy", "truthful_judge"), {"samples", "runs", "temperature", "seed"}),
    ],
)
def test_samples_and_runs_are_for_what_is_drawn(row: Asked, idle: set[str]) -> None:
    """Correctness draws samples, grades come in runs, and a verdict by the rubric is asked for once."""
    judge = JudgeSettings("rubric", ModelSettings("m"))
    assert {key for key, _ in unused(ALL_KEYS, judge, [row])} == idle
