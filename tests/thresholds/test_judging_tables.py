"""Tables of benchmarks that measure the judge, and what [judge] requires of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thresholds.made import gate_of, mistakes_of
from truthguard.catalogue import BENCHMARKS, DIRECT_SETS, JUDGING_KINDS, METRICS_OF, PAIRWISE_SETS
from truthguard.records import BenchmarkSettings

JUDGING = [name for name, kind in BENCHMARKS.items() if kind in JUDGING_KINDS]


@pytest.mark.parametrize("benchmark", JUDGING)
def test_every_metric_of_a_set_is_a_row(tmp_path: Path, benchmark: str) -> None:
    """Each of the sets takes a bar for each of the metrics that the contract gives it."""
    metrics = METRICS_OF[BENCHMARKS[benchmark]]
    text = "".join(f'[{benchmark}.{metric}]\nmin = 0.5\nblock_on = "doubt"\n' for metric in metrics)
    (table,) = gate_of(tmp_path, text).benchmarks
    assert [row.metric for row in table.rows] == list(metrics)
    assert {row.limits.max_unscored for row in table.rows} == {0.05}


def test_the_judge_is_asked_in_our_words_unless_others_are_named(tmp_path: Path) -> None:
    """The settings of a set that is only named, and of one that says all it can."""
    text = """
[vicuna_bench.pearson]
min = 0.5
[mt_bench]
prompt = "paper"
reference = false
[autoj]
prompt = "library"
order = "single"
[hhh_alignment]
grades = true
[answers]
kind = "direct"
path = "answers.csv"
[pairs]
kind = "pairwise"
path = "pairs.jsonl"
[truthful_judge]
path = "labels.csv"
"""
    assert [table.settings for table in gate_of(tmp_path, text).benchmarks] == [
        BenchmarkSettings("vicuna_bench", prompt="default"),
        BenchmarkSettings("mt_bench", prompt="paper", reference=False),
        BenchmarkSettings("autoj", prompt="library", order="single"),
        BenchmarkSettings("hhh_alignment", prompt="default", grades=True),
        BenchmarkSettings("answers", kind="direct", path="answers.csv", prompt="default"),
        BenchmarkSettings("pairs", kind="pairwise", path="pairs.jsonl", prompt="default"),
        BenchmarkSettings("truthful_judge", path="labels.csv"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[vicuna_bench]\norder = "both"\n', "order is for pairs of responses and graded responses and pairs"),
        ("[vicuna_bench]\ngrades = true\n", "this has graded responses: leave it out"),
        ("[autoj]\nreference = false\n", "reference is for graded responses"),
        ('[starter]\norder = "both"\n', "this has questions: leave it out"),
        ("[truthful_judge]\nreference = true\n", "this has labelled answers: leave it out"),
        ("[mt_bench]\nclosing_period = true\n", "closing_period is for questions"),
        ('[mt_bench]\nprompt = "qa"\n', "unknown prompt of mt_bench; expected one of: default, library, paper"),
        ('[mt_bench]\nprompt = "papr"\n', "did you mean 'paper'"),
        ('[mt_bench]\nversion = "2021-10"\n', "only truthfulqa has versions"),
        ('[mt_bench]\npath = "x.csv"\n', "mt_bench is built in"),
        ('[autoj]\norder = "first"\n', "order = 'first'"),
        ('[autoj]\ngrades = true\norder = "both"\n', "has each response graded alone: leave one out"),
        ("[autoj]\ngrades = 1\n", "expected true or false"),
    ],
)
def test_a_key_that_says_nothing_of_the_items_is_a_mistake(tmp_path: Path, text: str, words: str) -> None:
    """Nothing is ignored: a key of other items, or one without effect, is refused at its line."""
    ((line, message),) = mistakes_of(tmp_path, text)
    assert line == text.count("\n")
    assert words in message


@pytest.mark.parametrize(
    ("row", "has"),
    [
        ("vicuna_bench.without_ties", METRICS_OF["direct"]),
        ("autoj.pearson", METRICS_OF["pairwise"]),
        ("starter.pearson", METRICS_OF["questions"]),
        ("truthful_judge.truthful", METRICS_OF["truthful_judge"]),
        ("judge_starter.pearson_human", METRICS_OF["judge_starter"]),
        ("injection.kappa", METRICS_OF["injection"]),
    ],
)
def test_a_metric_of_other_items_is_refused_with_those_that_fit(tmp_path: Path, row: str, has: tuple[str, ...]) -> None:
    """Who looks for a correlation of pairs is told what pairs have."""
    ((line, message),) = mistakes_of(tmp_path, f"\n[{row}]\nmin = 0.5\n")
    assert line == 2
    assert message.endswith(f"they have {', '.join(has)}")


def test_a_correlation_runs_from_minus_one_to_one(tmp_path: Path) -> None:
    """A bar may be negative for a correlation, and not for a share."""
    gate = gate_of(tmp_path, "[vicuna_bench.pearson]\nmin = -0.2\n")
    assert gate.benchmarks[0].rows[0].limits.min == -0.2
    ((_, message),) = mistakes_of(tmp_path, "[vicuna_bench.accuracy]\nmin = -0.2\n")
    assert "scores here run from 0 to 1" in message


def test_one_item_has_no_correlation(tmp_path: Path) -> None:
    """A must-pass item needs a value of its own."""
    ((line, message),) = mistakes_of(tmp_path, "[vicuna_bench.pearson]\nitem_min = 0.5\n")
    assert line == 2
    assert message.endswith("item_min: pearson is a number of many items, one has none")


def test_what_is_required_of_the_judge(tmp_path: Path) -> None:
    """By benchmark and metric, in quotes or as TOML reads a dotted key; the file of the record is the table's own."""
    text = """
[judge]
runs = 5
trust = "trust/judge.json"
requires = { "truthful_judge.accuracy" = 0.85, vicuna_bench.pearson = 0.6, "my_pairs.without_ties" = 1 }
"""
    judge = gate_of(tmp_path, text).judge
    assert dict(judge.requires) == {
        "truthful_judge.accuracy": 0.85,
        "vicuna_bench.pearson": 0.6,
        "my_pairs.without_ties": 1.0,
    }
    assert judge.trust == "trust/judge.json"
    assert dict(judge.settings) == {"runs": 5}
    assert dict(judge.model) == {}


@pytest.mark.parametrize(
    ("requires", "words"),
    [
        ('{ "truthful_judge.acuracy" = 0.85 }', "did you mean 'truthful_judge.accuracy'"),
        ('{ "truthful_judge" = 0.85 }', "unknown requirement 'truthful_judge'"),
        ('{ "starter.mc1" = 0.85 }', "unknown requirement 'starter.mc1'"),
        ('{ "mine.mc1" = 0.85 }', "unknown requirement 'mine.mc1'"),
        ('{ "truthful_judge.accuracy" = 85 }', "lies outside the range of accuracy"),
        ('{ "truthful_judge.accuracy" = nan }', "expected a finite number"),
        ('{ "truthful_judge.accuracy" = true }', "expected a number"),
        ('{ "truthful_judge.accuracy" = "0.85" }', "expected a number"),
        ('{ "autoj.position_bias" = 0.1 }', "the better the smaller"),
        ("0.85", "expected a table"),
        ('["truthful_judge.accuracy"]', "expected a table"),
    ],
)
def test_a_requirement_that_nothing_could_meet_or_miss_is_a_mistake(tmp_path: Path, requires: str, words: str) -> None:
    """Unknown names, other types and numbers out of range are told with the line."""
    ((line, message),) = mistakes_of(tmp_path, f"[judge]\nrequires = {requires}\n")
    assert line == 2
    assert words in message


@pytest.mark.parametrize("runs", ["0", "101", "3.0", "true", '"3"'])
def test_runs_are_a_small_whole_number(tmp_path: Path, runs: str) -> None:
    """Less than one run is none, and a judge is not asked a thousand times by a slip."""
    ((line, message),) = mistakes_of(tmp_path, f"[judge]\nruns = {runs}\n")
    assert line == 2
    assert message.startswith(f"[judge] runs = {runs.replace(chr(34), chr(39))}")


def test_the_eight_sets_are_there() -> None:
    """The sets of the protocol are named as the contract names them."""
    assert DIRECT_SETS == ("vicuna_bench", "mt_bench", "flask", "feedback_bench")
    assert PAIRWISE_SETS == ("hhh_alignment", "mt_bench_human", "autoj", "preference_bench")


def test_every_wrong_requirement_is_told_at_once(tmp_path: Path) -> None:
    """The first mistake does not hide the next."""
    requires = '{ "truthful_judge.acuracy" = 0.8, "truthful_judge.kappa" = 1.8, "autoj.position_bias" = 0.3 }'
    ((line, message),) = mistakes_of(tmp_path, f"[judge]\nrequires = {requires}\n")
    assert line == 2
    for words in (
        "did you mean 'truthful_judge.accuracy'",
        "'truthful_judge.kappa' = 1.8 lies",
        "'autoj.position_bias'",
    ):
        assert words in message


def test_a_wrong_value_does_not_hide_a_key_of_another_kind(tmp_path: Path) -> None:
    """A table's own mistakes are told together, whatever else is wrong with it."""
    text = '[vicuna_bench]\nprompt = "papr"\norder = "both"\n[autoj]\nversion = "1"\ngrades = true\norder = "both"\n'
    assert [line for line, _ in mistakes_of(tmp_path, text)] == [2, 3, 5, 7]
