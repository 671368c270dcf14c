"""What exists: benchmarks, metrics, their ranges, what each one asks of a model. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Elicitation = Literal["log_likelihood", "p_yes", "letters"]
ELICITATIONS: tuple[Elicitation, ...] = ("log_likelihood", "p_yes", "letters")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as the files name it, as it is printed, and the range in which a bar makes sense.

    `scale` decides the interval and the test: shares of 0/1 items use Wilson's score, other means cluster t.
    `max_unscored` is the share of unscored items that a row may have unless it says otherwise.
    """

    name: str
    printed: str
    low: float
    high: float
    scale: Literal["share", "mean"]
    elicitation: Elicitation
    max_unscored: float = 0.0


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("mc1", "mc1", 0.0, 1.0, "share", "log_likelihood"),
        Metric("mc2", "mc2 (yes/no contrast)", -1.0, 1.0, "mean", "p_yes"),
        Metric("mc2_mass", "mc2_mass (probability mass)", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc3", "mc3", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc_binary", "mc_binary", 0.0, 1.0, "mean", "letters"),
    )
}

# The difference of the two orders of mc_binary: reported beside it, never gated.
LETTER_BIAS = "letter_bias"

NORMALIZATIONS = ("none", "per_token", "per_byte")

# Named by the contract, computed by a later version: refused by name, so that nobody takes silence for a pass.
LATER_METRICS = frozenset(
    ["truthful", "informative", "truthful_informative", "correctness"]
    + [f"{measure}_{form}" for measure in ("bleu", "rouge1", "rouge2", "rougeL") for form in ("max", "diff", "acc")]
    + ["pearson", "spearman", "kendall", "accuracy", "consistency"]
    + ["without_ties", "with_ties", "position_bias", "kappa", "sensitivity", "specificity", "flipped", "tone"]
)
LATER_BENCHMARKS = frozenset(
    ["vicuna_bench", "mt_bench", "flask", "feedback_bench", "hhh_alignment", "mt_bench_human", "autoj"]
    + ["preference_bench", "judge_starter", "truthful_judge", "injection"]
)
LATER_KINDS = frozenset(["correctness", "direct", "pairwise"])
LATER_MODEL_KEYS = frozenset(
    ["adapter", "api_key_env", "concurrency", "timeout_seconds", "max_requests", "cache_max_age"]
)
LATER_BENCHMARK_KEYS = frozenset(["order", "reference", "grades"])
LATER_ROW_KEYS = frozenset(["max_drop"])

BENCHMARKS = ("starter", "truthfulqa")
VERSIONS = {"truthfulqa": ("2021-09", "2021-10", "2025-01")}
DEFAULT_VERSION = {"truthfulqa": "2021-09"}
PROMPTS = {
    "truthfulqa": ("qa", "help", "null", "chat", "long", "harm"),
    "starter": ("qa", "null"),
}
# Own questions have no primers of their own: they are asked behind the starter set's.
OWN_PROMPTS = PROMPTS["starter"]


def variant(metric: str, normalization: str) -> str:
    """The name of a metric under a normalisation: another number must have another name.

    >>> variant("mc1", "per_token"), variant("mc2", "per_token"), variant("mc1", "none")
    ('mc1_per_token', 'mc2', 'mc1')
    """
    if normalization == "none" or METRICS[metric].elicitation != "log_likelihood":
        return metric
    return f"{metric}_{normalization}"


def printed_name(name: str) -> str:
    """The name by which a metric is printed; a normalised one keeps its own.

    >>> printed_name("mc2"), printed_name("mc1_per_token")
    ('mc2 (yes/no contrast)', 'mc1_per_token')
    """
    return METRICS[name].printed if name in METRICS else name


def metric_of(name: str) -> Metric:
    """The metric behind a printed or normalised name (`mc1_per_byte` is mc1's)."""
    for normalization in NORMALIZATIONS[1:]:
        name = name.removesuffix(f"_{normalization}")
    return METRICS[name]
