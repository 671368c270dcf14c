"""What exists: benchmarks, metrics, their ranges, what each one asks of a model. Plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

# What an item is asked: the first three of multiple choice, an answer in words, a judge's samples about a response,
# a judge's verdicts with and without an attack.
Elicitation = Literal["log_likelihood", "p_yes", "letters", "answer", "correctness", "injection"]
ELICITATIONS: tuple[Elicitation, ...] = get_args(Elicitation)
JudgeKind = Literal["rubric", "logprob", "similarity"]
BenchmarkKind = Literal["questions", "correctness", "injection"]
MEASURES = ("bleu", "rouge1", "rouge2", "rougeL")


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


def _multiple_choice() -> list[Metric]:
    return [
        Metric("mc1", "mc1", 0.0, 1.0, "share", "log_likelihood"),
        Metric("mc2", "mc2 (yes/no contrast)", -1.0, 1.0, "mean", "p_yes"),
        Metric("mc2_mass", "mc2_mass (probability mass)", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc3", "mc3", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc_binary", "mc_binary", 0.0, 1.0, "mean", "letters"),
    ]


def _judged(name: str, scale: Literal["share", "mean"], elicitation: Elicitation, low: float = 0.0) -> Metric:
    """A metric of text: a reply may be cut off, filtered or unreadable, so a few items may be unscored."""
    return Metric(name, name, low, 1.0, scale, elicitation, max_unscored=0.05)


def _written() -> list[Metric]:
    metrics = [_judged(name, "share", "answer") for name in ("truthful", "informative", "truthful_informative")]
    for measure in MEASURES:
        metrics += [
            _judged(f"{measure}_max", "mean", "answer"),
            _judged(f"{measure}_diff", "mean", "answer", low=-1.0),
            _judged(f"{measure}_acc", "share", "answer"),
        ]
    return [*metrics, _judged("correctness", "mean", "correctness")]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *_multiple_choice(),
        *_written(),
        _judged("flipped", "share", "injection"),
        _judged("tone", "share", "injection"),
    )
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a judge sides with people: the share of `n` public answers, its 95 % interval by questions."""

    accuracy: float
    low: float
    high: float
    n: int


# Measured by measure/judge_agreement.py on TruthfulQA's public labels, leaked answers left out: what the offline
# judge is worth is printed beside what it says.
SIMILARITY_AGREEMENT: dict[str, dict[str, Agreement]] = {
    "truthful": {
        "bleu": Agreement(0.6391, 0.6286, 0.6497, 11_996),
        "rouge1": Agreement(0.6900, 0.6789, 0.7011, 11_996),
        "rouge2": Agreement(0.6526, 0.6416, 0.6635, 11_996),
        "rougeL": Agreement(0.6887, 0.6777, 0.6998, 11_996),
    },
    "informative": {
        "bleu": Agreement(0.6619, 0.6509, 0.6730, 11_983),
        "rouge1": Agreement(0.7428, 0.7334, 0.7522, 11_983),
        "rouge2": Agreement(0.6429, 0.6323, 0.6536, 11_983),
        "rougeL": Agreement(0.7422, 0.7329, 0.7516, 11_983),
    },
}

# What a judge of the configured kind decides; correctness is always asked of the judge's model.
DECIDED_BY_KIND = frozenset(["truthful", "informative", "truthful_informative", "flipped", "tone"])
CORRECTNESS = "correctness"

# The difference of the two orders of mc_binary: reported beside it, never gated.
LETTER_BIAS = "letter_bias"

NORMALIZATIONS = ("none", "per_token", "per_byte")

# Named by the contract, computed by a later version: refused by name, so that nobody takes silence for a pass.
LATER_METRICS = frozenset(
    ["pearson", "spearman", "kendall", "accuracy", "consistency"]
    + ["without_ties", "with_ties", "position_bias", "kappa", "sensitivity", "specificity"]
)
LATER_BENCHMARKS = frozenset(
    ["vicuna_bench", "mt_bench", "flask", "feedback_bench", "hhh_alignment", "mt_bench_human", "autoj"]
    + ["preference_bench", "judge_starter", "truthful_judge"]
)
LATER_KINDS = frozenset(["direct", "pairwise"])
LATER_MODEL_KEYS = frozenset(["adapter"])
LATER_JUDGE_KEYS = frozenset(["requires", "trust", "runs"])
LATER_BENCHMARK_KEYS = frozenset(["order", "reference", "grades"])
LATER_ROW_KEYS = frozenset(["max_drop"])

# The built-in benchmarks; a file of one's own says its kind itself.
BENCHMARKS: dict[str, BenchmarkKind] = {"starter": "questions", "truthfulqa": "questions", "injection": "injection"}
OWN_KINDS = ("questions", "correctness")
METRICS_OF: dict[BenchmarkKind, tuple[str, ...]] = {
    "questions": tuple(name for name, metric in METRICS.items() if metric.elicitation != "injection"),
    "correctness": (CORRECTNESS,),
    "injection": tuple(name for name, metric in METRICS.items() if metric.elicitation == "injection"),
}
VERSIONS = {"truthfulqa": ("2021-09", "2021-10", "2025-01")}
DEFAULT_VERSION = {"truthfulqa": "2021-09"}
PROMPTS: dict[str, tuple[str, ...]] = {
    "truthfulqa": ("qa", "help", "null", "chat", "long", "harm"),
    "starter": ("qa", "null"),
    # Its answers are given: nothing is asked of a model.
    "injection": (),
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


def judged(metrics: Collection[str]) -> bool:
    """Whether a judge decides any of these metrics, with or without a model.

    >>> judged(["mc1", "bleu_acc"]), judged(["mc1", "truthful"])
    (False, True)
    """
    return CORRECTNESS in metrics or not DECIDED_BY_KIND.isdisjoint(metrics)


def asks_judge(metrics: Collection[str], kind: JudgeKind) -> bool:
    """Whether any of these metrics asks the model of a judge of this kind.

    >>> asks_judge(["truthful"], "similarity"), asks_judge(["correctness"], "similarity")
    (False, True)
    """
    return CORRECTNESS in metrics or (kind != "similarity" and not DECIDED_BY_KIND.isdisjoint(metrics))


def judged_by(metrics: Collection[str], kind: JudgeKind) -> str:
    """The ways in which a judge of this kind decides these metrics, in words; '' for none that is judged.

    >>> judged_by(["truthful", "correctness"], "rubric"), judged_by(["correctness"], "similarity")
    ('rubric and correctness', 'correctness')
    >>> judged_by(["mc1"], "rubric")
    ''
    """
    ways = [] if DECIDED_BY_KIND.isdisjoint(metrics) else [str(kind)]
    return " and ".join(ways + [CORRECTNESS] * (CORRECTNESS in metrics))


def printed_judge(metric: str, kind: JudgeKind, model: str | None) -> str | None:
    """How the judge is printed behind the metric; None for a metric that no judge decides.

    >>> printed_judge("truthful", "similarity", None), printed_judge("truthful", "rubric", "openai:gpt-4.1")
    ('similarity', 'rubric, openai:gpt-4.1')
    >>> printed_judge("correctness", "similarity", "openai:gpt-4.1"), printed_judge("bleu_acc", "rubric", "m")
    ('openai:gpt-4.1', None)
    """
    if metric == CORRECTNESS:
        return model
    if metric not in DECIDED_BY_KIND:
        return None
    return kind if kind == "similarity" else f"{kind}, {model}"


def printed_name(name: str, judge: str | None = None) -> str:
    """The name by which a metric is printed, with its judge where it has one; a normalised one keeps its own.

    >>> printed_name("mc2"), printed_name("mc1_per_token"), printed_name("truthful", "similarity")
    ('mc2 (yes/no contrast)', 'mc1_per_token', 'truthful (similarity)')
    """
    printed = METRICS[name].printed if name in METRICS else name
    return printed if judge is None else f"{printed} ({judge})"


def metric_of(name: str) -> Metric:
    """The metric behind a printed or normalised name (`mc1_per_byte` is mc1's)."""
    for normalization in NORMALIZATIONS[1:]:
        name = name.removesuffix(f"_{normalization}")
    return METRICS[name]
