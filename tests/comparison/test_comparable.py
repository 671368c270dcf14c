"""What keeps two runs from being compared, and what may differ since it is what is compared."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest

from tests.comparison.compared import baseline_of
from tests.thresholds.made import row_of, run_of, scored
from truthguard import changes
from truthguard.comparison import compare, differences
from truthguard.records import Drop, Identity, JudgeRun, Missing, Run

JUDGE = JudgeRun(
    Identity("judge", "huggingface", "j" * 64),
    "rubric",
    {"samples": 5, "runs": 3, "temperature": 0.7, "max_tokens": 512, "seed": 0, "measure": "rouge1"},
    "p" * 64,
    prompts={"rubric_truthful": "t" * 64, "correctness": "c" * 64},
)
RUN = run_of([scored(float(n % 2), n) for n in range(10)])
JUDGED = replace(run_of([1.0, 0.0], "truthful"), judge=JUDGE)
CORRECTNESS = replace(run_of([0.8, 0.2], "correctness"), judge=JUDGE)
GRADING = {"prompt": "default", "order": "both", "reference": True, "grades": False, "batch_tokens": 512}
PAIRS = replace(
    run_of([1.0, 0.0], "with_ties"), kind="pairwise", settings=GRADING, judge=replace(JUDGE, kind="prometheus")
)


def test_the_doctests() -> None:
    """The examples of the words for changes hold."""
    assert doctest.testmod(changes).failed == 0


def why(run: Run, before: Run, metric: str) -> str:
    """Why the two are not compared; '' when they are."""
    found = compare(row_of(metric=metric, max_drop=0.0, max_unscored=1.0), run, baseline_of(before))
    if isinstance(found, Drop):
        return ""
    assert (
        "make a new baseline: run the baseline's model once more, with --truthguard-save-baseline FILE" in found.detail
    )
    return found.detail


def judge_of(run: Run, **changes: object) -> Run:
    assert run.judge is not None
    return replace(run, judge=replace(run.judge, **changes))  # type: ignore[arg-type]


def setting(run: Run, name: str, value: object) -> Run:
    assert run.judge is not None
    return judge_of(run, settings={**run.judge.settings, name: value})


@pytest.mark.parametrize(
    ("before", "metric", "words"),
    [
        (replace(RUN, data_sha256="e"), "mc1", "base.json: the data changed from 'e' to 'd'"),
        (
            replace(RUN, data_sha256="e", version="2025-01"),
            "mc1",
            "the version changed from '2025-01' to '2021-10'; the data changed from 'e' to 'd'",
        ),
        (run_of([1.0, 0.0], "mc1_per_token"), "mc1", "it has no mc1, it has mc1_per_token"),
        (replace(RUN, complete=False), "mc1", "its run was stopped before everything was asked"),
        (replace(RUN, kind="correctness"), "mc1", "the kind of items changed from 'correctness' to 'questions'"),
    ],
)
def test_what_must_be_equal_for_any_metric(before: Run, metric: str, words: str) -> None:
    """Another data digest, another variant and a run that was stopped are refused by name, with the way out."""
    reason = why(RUN, before, metric)
    assert reason.startswith("not comparable with base.json: ")
    assert words in reason


def test_equal_questions_of_two_versions_are_compared() -> None:
    """What was asked decides, not what it is called."""
    assert why(RUN, replace(RUN, version="2021-09"), "mc1") == ""


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (judge_of(JUDGED, kind="logprob"), "the judge's kind changed from 'logprob' to 'rubric'"),
        (judge_of(JUDGED, identity=Identity("other", "huggingface", "o" * 64)), "the judge's weights (judge) changed"),
        (judge_of(JUDGED, identity=None), "the judge's name changed from none to 'judge'"),
        (
            judge_of(JUDGED, identity=replace(JUDGE.identity or Identity("", "", None), dtype="bfloat16")),
            "dtype changed",
        ),
        (judge_of(JUDGED, prompts={"rubric_truthful": "u" * 64}), "the judge's prompt rubric_truthful changed"),
        (judge_of(JUDGED, prompts={}, prompt_digest="q" * 64), "the judge's prompt changed from"),
        (setting(JUDGED, "max_tokens", 256), "the judge's max_tokens changed from 256 to 512"),
    ],
)
def test_another_judge_is_refused_for_what_it_decides(before: Run, words: str) -> None:
    """Its kind, weights, dtype, words and deciding settings are part of what a judged number means."""
    assert words in why(JUDGED, before, "truthful")
    # The model's own metrics do not depend on it.
    unjudged, old = (replace(RUN, judge=run.judge) for run in (JUDGED, before))
    assert why(unjudged, old, "mc1") == ""


@pytest.mark.parametrize("name", ["samples", "runs", "temperature", "seed", "measure"])
def test_settings_that_decide_nothing_of_the_metric_may_differ(name: str) -> None:
    """A rubric judge that is asked once, greedily, has no samples, no temperature and no measure."""
    assert why(JUDGED, setting(JUDGED, name, 99), "truthful") == ""


@pytest.mark.parametrize("name", ["samples", "temperature", "seed", "max_tokens"])
def test_the_samples_of_correctness_are_part_of_it(name: str) -> None:
    """Correctness of five samples is not compared with that of eight."""
    assert f"the judge's {name} changed" in why(CORRECTNESS, setting(CORRECTNESS, name, 99), "correctness")
    assert why(CORRECTNESS, setting(CORRECTNESS, "runs", 99), "correctness") == ""
    assert why(CORRECTNESS, judge_of(CORRECTNESS, kind="similarity"), "correctness") == ""


def test_similarity_is_its_measure() -> None:
    """Without a model the measure decides; who else was asked in the run does not matter."""
    similar = judge_of(JUDGED, kind="similarity", identity=None, prompts={}, prompt_digest=None)
    assert "the judge's measure changed from 'bleu' to 'rouge1'" in why(
        similar, setting(similar, "measure", "bleu"), "truthful"
    )
    besides = judge_of(similar, identity=JUDGE.identity, prompts={"correctness": "c"}, prompt_digest="x")
    assert why(similar, besides, "truthful") == ""


def test_a_baseline_that_does_not_say_who_judged_is_refused() -> None:
    """A record made by hand may lack the judge; its judged values are nobody's."""
    assert "the judge changed from none to 'rubric'" in why(JUDGED, replace(JUDGED, judge=None), "truthful")


def test_prompts_that_only_one_run_asked_do_not_matter() -> None:
    """A run of one row is compared with a baseline of all of them."""
    alone = judge_of(JUDGED, prompts={"rubric_truthful": "t" * 64}, prompt_digest="alone")
    assert why(alone, JUDGED, "truthful") == ""


@pytest.mark.parametrize(
    ("name", "value"), [("prompt", "paper"), ("order", "single"), ("reference", False), ("grades", True)]
)
def test_a_set_that_measures_a_judge_must_be_put_to_it_alike(name: str, value: object) -> None:
    """The words, the order of a pair and the reference are part of what such a number means."""
    assert f"the items' {name} changed" in why(PAIRS, replace(PAIRS, settings={**GRADING, name: value}), "with_ties")
    assert why(PAIRS, replace(PAIRS, settings={**GRADING, "batch_tokens": 1}), "with_ties") == ""
    assert "the judge's runs changed" in why(PAIRS, setting(PAIRS, "runs", 1), "with_ties")


def test_a_benchmark_that_the_baseline_lacks_is_refused() -> None:
    """The reason says what it has."""
    found = compare(row_of(max_drop=0.0), replace(RUN, benchmark="faq"), baseline_of(RUN))
    assert isinstance(found, Missing)
    assert found.kind == "no_benchmark"
    assert found.detail.startswith("base.json has no faq, it has truthfulqa; make a new baseline")


def test_the_model_and_its_prompts_may_differ_and_are_listed() -> None:
    """Model, dtype, device, libraries, primer and chat template are what is compared: each has its line."""
    model = Identity("new", "huggingface", "n" * 64, "cuda", "bfloat16", libraries={"torch": "2.13"})
    settings = {"prompt": "help", "chat_template": True, "limit": None}
    now = replace(RUN, model=model, settings=settings)
    old = Identity("old", "huggingface", "o" * 64, "cpu", "float32", libraries={"torch": "2.12"})
    before = replace(RUN, model=old, settings={"prompt": "qa", "chat_template": False, "limit": None})
    assert why(now, before, "mc1") == ""
    assert differences(now, baseline_of(before).runs["truthfulqa"]) == (
        "the model's weights (new) changed from 'oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo'"
        " to 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'",
        "the model's dtype changed from 'float32' to 'bfloat16'",
        "the model's device changed from 'cpu' to 'cuda'",
        "the model's library torch changed from '2.12' to '2.13'",
        "prompt changed from 'qa' to 'help'",
        "chat_template changed from false to true",
    )
    assert differences(RUN, baseline_of(RUN).runs["truthfulqa"]) == ()


def test_a_change_of_the_judge_is_listed_too() -> None:
    """Rows that it does not decide are compared beside it."""
    before = judge_of(setting(JUDGED, "samples", 8), kind="logprob")
    assert differences(JUDGED, baseline_of(before).runs["truthfulqa"]) == (
        "the judge's kind changed from 'logprob' to 'rubric'",
        "the judge's samples changed from 8 to 5",
    )
