"""The catalogue agrees with itself: ranges, names, variants, and what a later version brings."""

from __future__ import annotations

import doctest
import typing

import pytest

from truthguard import catalogue
from truthguard.catalogue import ELICITATIONS, METRICS, NORMALIZATIONS, metric_of, variant
from truthguard.metrics.choice import chance
from truthguard.records import BenchmarkSettings


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(catalogue)
    assert results.attempted > 0
    assert results.failed == 0


def test_ranges() -> None:
    """Every metric has the contract's range: mc2 from -1 to 1, the others from 0 to 1."""
    ranges = {name: (metric.low, metric.high) for name, metric in METRICS.items()}
    assert ranges == {
        "mc1": (0.0, 1.0),
        "mc2": (-1.0, 1.0),
        "mc2_mass": (0.0, 1.0),
        "mc3": (0.0, 1.0),
        "mc_binary": (0.0, 1.0),
    }


def test_names() -> None:
    """A metric stands under its own name and is printed by a name that begins with it; no two print alike."""
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.printed.split(" ")[0] == name
    assert len({metric.printed for metric in METRICS.values()}) == len(METRICS)
    assert METRICS["mc2"].printed == "mc2 (yes/no contrast)"
    assert METRICS["mc2_mass"].printed == "mc2_mass (probability mass)"


def test_only_zero_one_items_are_shares() -> None:
    """Wilson's interval needs items of 0 or 1: mc1 alone, since mc_binary may be one half."""
    assert [name for name, metric in METRICS.items() if metric.scale == "share"] == ["mc1"]


def test_log_likelihood_metrics_allow_nothing_unscored() -> None:
    """A metric read off the model's own probabilities has no excuse for a missing item."""
    assert {metric.max_unscored for metric in METRICS.values()} == {0.0}


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
    assert len(by_name) == 3 * 3 + 2


@pytest.mark.parametrize("name", ["mc4", "truthful", "", "per_token"])
def test_unknown_metric(name: str) -> None:
    """A name that is no metric, or one of a later version, is not taken for a metric."""
    with pytest.raises(KeyError):
        metric_of(name)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_level_of_chance(metric: str) -> None:
    """Chance is known for each metric and lies within its range."""
    level = chance(metric, n_single=4, n_true=2, n_false=3)
    assert level is not None
    assert METRICS[metric].low <= level <= METRICS[metric].high


def test_settings_know_the_same_normalizations() -> None:
    """The settings' type allows exactly the catalogue's normalizations."""
    hints = typing.get_type_hints(BenchmarkSettings)
    assert typing.get_args(hints["normalization"]) == NORMALIZATIONS


def test_later_names_are_not_offered_now() -> None:
    """What a later version will compute is kept apart from what this one does."""
    assert not catalogue.LATER_METRICS & set(METRICS)
    assert not catalogue.LATER_BENCHMARKS & set(catalogue.BENCHMARKS)
    assert catalogue.LETTER_BIAS not in METRICS


def test_versions_and_prompts_belong_to_benchmarks() -> None:
    """Each default version is a version, and every benchmark has prompts, qa first."""
    for benchmark, version in catalogue.DEFAULT_VERSION.items():
        assert version in catalogue.VERSIONS[benchmark]
    assert set(catalogue.PROMPTS) == set(catalogue.BENCHMARKS)
    assert {prompts[0] for prompts in catalogue.PROMPTS.values()} == {"qa"}
    assert set(catalogue.VERSIONS) == set(catalogue.DEFAULT_VERSION) <= set(catalogue.BENCHMARKS)
