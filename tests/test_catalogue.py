"""The catalogue agrees with itself: ranges, names, variants, and what a later version brings."""

from __future__ import annotations

import doctest
import typing

import pytest

from truthguard import catalogue
from truthguard.catalogue import (
    ELICITATIONS,
    MEASURES,
    METRICS,
    METRICS_OF,
    NORMALIZATIONS,
    JudgeKind,
    asks_judge,
    metric_of,
    printed_judge,
    printed_name,
    serves,
    variant,
)
from truthguard.metrics.choice import chance
from truthguard.records import (
    BenchmarkKind,
    BenchmarkSettings,
    GradedResponse,
    JudgeSettings,
    Probe,
    ResponsePair,
    Rubric,
)


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(catalogue)
    assert results.attempted > 0
    assert results.failed == 0


def test_ranges() -> None:
    """Every metric has the contract's range: differences and statistics run from -1 to 1, all others from 0 to 1."""
    two_sided = {name for name, metric in METRICS.items() if metric.low == -1.0}
    statistics = {name for name, metric in METRICS.items() if metric.scale == "statistic"}
    assert two_sided - statistics == {"mc2", "bleu_diff", "rouge1_diff", "rouge2_diff", "rougeL_diff"}
    assert statistics < two_sided
    assert {metric.high for metric in METRICS.values()} == {1.0}
    assert {metric.low for metric in METRICS.values()} == {-1.0, 0.0}


def test_names() -> None:
    """A metric stands under its own name and is printed by a name that begins with it; no two print alike."""
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.printed.split(" ")[0] == name
    assert len({metric.printed for metric in METRICS.values()}) == len(METRICS)
    assert METRICS["mc2"].printed == "mc2 (yes/no contrast)"
    assert METRICS["mc2_mass"].printed == "mc2_mass (probability mass)"


def test_only_zero_one_items_are_shares() -> None:
    """Wilson's interval needs items of 0 or 1: mc1 and verdicts; mc_binary and correctness may lie between."""
    accuracies = [f"{measure}_acc" for measure in MEASURES]
    assert [name for name, metric in METRICS.items() if metric.scale == "share"] == [
        *("mc1", "truthful", "informative", "truthful_informative"),
        *accuracies,
        *("flipped", "tone"),
        *("accuracy", "without_ties", "with_ties", "position_bias", "sensitivity", "specificity"),
    ]


def test_what_is_no_mean_is_made_of_columns() -> None:
    """Correlations, kappa and consistency are made of several values of each item, and nothing else is."""
    columns = {name: metric.columns for name, metric in METRICS.items() if metric.columns}
    assert {name for name, metric in METRICS.items() if metric.scale == "statistic"} == set(columns)
    correlations = ("pearson", "spearman", "kendall")
    assert columns == {
        **dict.fromkeys(correlations, ("grade", "reference")),
        **{f"{name}_human": ("grade", "human") for name in correlations},
        "consistency": ("grade_run",),
        "kappa": ("verdict", "label"),
    }


def test_only_metrics_of_text_may_leave_items_unscored() -> None:
    """A metric read off the model's own probabilities has no excuse for a missing item; a text may be cut off."""
    for metric in METRICS.values():
        read_off = metric.elicitation in ("log_likelihood", "p_yes", "letters")
        assert metric.max_unscored == (0.0 if read_off else 0.05)


def test_every_metric_belongs_to_some_kind_of_benchmark() -> None:
    """Those of a model to questions, those of a judge to the sets that measure one; prompts have correctness alone."""
    assert set(METRICS_OF) == set(typing.get_args(BenchmarkKind))
    assert {name for names in METRICS_OF.values() for name in names} == set(METRICS)
    assert METRICS_OF["correctness"] == ("correctness",)
    assert METRICS_OF["injection"] == ("flipped", "tone")
    for kind, names in METRICS_OF.items():
        measures_a_judge = {METRICS[name].elicitation for name in names} <= {"judging", "injection"}
        assert measures_a_judge == (kind in catalogue.JUDGING_KINDS or kind == "injection")
    assert set(catalogue.BENCHMARKS.values()) <= set(METRICS_OF)
    assert set(METRICS_OF) - set(catalogue.BENCHMARKS.values()) == {"correctness"}


GRADED = GradedResponse("g", "", "g", "Tell me.", "So.", Rubric("Right?"), (4.0,))
PAIR = ResponsePair("p", "", "p", "Tell me.", ("So.", "Not so."), "a", Rubric("Right?"))
PROBE = Probe("i", "", "So?", "tone", ("Surely so.", "Perhaps so."))


def test_an_item_serves_the_metrics_of_its_kind() -> None:
    """In a set of graded responses and pairs each metric is of the one or of the other; a probe serves one metric."""
    served = {item.id: {name for name in METRICS if serves(item, name)} for item in (GRADED, PAIR, PROBE)}
    assert served == {"g": set(METRICS_OF["direct"]), "p": set(METRICS_OF["pairwise"]), "i": {"tone"}}
    assert set(METRICS_OF["judge_starter"]) <= served["g"] | served["p"]
    assert not served["g"] & served["p"]


def test_the_judge_stands_in_the_printed_name() -> None:
    """What a judge decides is printed with it; what no judge decides is not."""

    def shown(metric: str, kind: JudgeKind, items: BenchmarkKind) -> str:
        return printed_name(metric, printed_judge(metric, kind, "m", items))

    assert shown("truthful", "similarity", "questions") == "truthful (similarity)"
    assert shown("flipped", "rubric", "injection") == "flipped (rubric, m)"
    assert shown("correctness", "similarity", "questions") == "correctness (m)"
    assert shown("kappa", "logprob", "truthful_judge") == "kappa (logprob, m)"
    assert shown("accuracy", "similarity", "truthful_judge") == "accuracy (similarity)"
    assert shown("accuracy", "logprob", "direct") == "accuracy (m)"
    for name in METRICS_OF["questions"]:
        alone = printed_judge(name, "rubric", "m", "questions") is None
        assert alone == (name not in ("correctness", *catalogue.DECIDED_BY_KIND))


@pytest.mark.parametrize(
    ("metrics", "kind", "items", "asked"),
    [
        (["mc1", "bleu_max"], "rubric", "questions", False),
        (["truthful"], "similarity", "questions", False),
        (["truthful"], "logprob", "questions", True),
        (["correctness"], "similarity", "questions", True),
        (["pearson"], "similarity", "direct", True),
        (["with_ties"], "similarity", "pairwise", True),
        (["kappa"], "similarity", "truthful_judge", False),
        (["kappa"], "rubric", "truthful_judge", True),
        ([], "rubric", "questions", False),
    ],
)
def test_who_asks_the_judges_model(metrics: list[str], kind: JudgeKind, items: BenchmarkKind, asked: bool) -> None:
    """Similarity asks no model but for correctness, grades and choices, which are always asked of one."""
    assert asks_judge(metrics, kind, items) is asked


def test_elicitations() -> None:
    """Each metric names one of the known ways of asking, and each way serves some metric."""
    assert {metric.elicitation for metric in METRICS.values()} == set(ELICITATIONS)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_a_variant_leads_back_to_its_metric(metric: str, normalization: str) -> None:
    """metric_of finds the metric behind each variant's name."""
    assert metric_of(variant(metric, normalization)) is METRICS[metric]


def test_another_number_has_another_name() -> None:
    """Log-likelihood metrics have one name for each normalization, the others one name for all."""
    for name, metric in METRICS.items():
        names = {variant(name, normalization) for normalization in NORMALIZATIONS}
        assert len(names) == (len(NORMALIZATIONS) if metric.elicitation == "log_likelihood" else 1)
        assert variant(name, "none") == name


def test_variants_do_not_collide() -> None:
    """No variant of one metric is a name or variant of another."""
    names = [variant(name, normalization) for name in METRICS for normalization in NORMALIZATIONS]
    by_name = {name: metric_of(name).name for name in names}
    assert len(by_name) == 3 * 3 + len(METRICS) - 3


@pytest.mark.parametrize("name", ["mc4", "pearson_people", "", "per_token"])
def test_unknown_metric(name: str) -> None:
    """A name that is no metric is not taken for a metric."""
    with pytest.raises(KeyError):
        metric_of(name)


@pytest.mark.parametrize("metric", METRICS)
def test_chance_is_of_multiple_choice(metric: str) -> None:
    """Chance is known for multiple choice, within the metric's range; nobody guesses a text."""
    level = chance(metric, n_single=4, n_true=2, n_false=3)
    if METRICS[metric].elicitation not in ("log_likelihood", "p_yes", "letters"):
        assert level is None
        return
    assert level is not None
    assert METRICS[metric].low <= level <= METRICS[metric].high


def test_settings_know_the_same_words() -> None:
    """The settings' types allow exactly the catalogue's normalizations, own kinds, judges and measures."""
    hints = typing.get_type_hints(BenchmarkSettings)
    assert typing.get_args(hints["normalization"]) == NORMALIZATIONS
    assert typing.get_args(hints["kind"]) == catalogue.OWN_KINDS
    judge = typing.get_type_hints(JudgeSettings)
    assert typing.get_args(judge["kind"]) == typing.get_args(JudgeKind)
    assert typing.get_args(judge["measure"]) == MEASURES


def test_what_is_only_reported_is_no_metric() -> None:
    """The difference of the two orders of mc_binary is printed beside it and can be held to no bar."""
    assert catalogue.LETTER_BIAS not in METRICS


def test_versions_and_prompts_belong_to_benchmarks() -> None:
    """Each default version is a version, and every benchmark has its prompts, the default first."""
    for benchmark, version in catalogue.DEFAULT_VERSION.items():
        assert version in catalogue.VERSIONS[benchmark]
    assert set(catalogue.PROMPTS) == set(catalogue.BENCHMARKS)
    for name, prompts in catalogue.PROMPTS.items():
        kind = catalogue.BENCHMARKS[name]
        if kind in ("injection", "truthful_judge"):
            assert prompts == ()
        else:
            assert prompts[0] == catalogue.default_prompt(kind)
    assert set(catalogue.VERSIONS) == set(catalogue.DEFAULT_VERSION) <= set(catalogue.BENCHMARKS)
