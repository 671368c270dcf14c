"""What exists: benchmarks, metrics, their ranges, what each one asks of a model. Plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from truthguard.records import (
    BenchmarkKind,
    BenchmarkSettings,
    GradedResponse,
    Item,
    JudgeSettings,
    Probe,
    ResponsePair,
)

# What an item is asked: the first three of multiple choice, an answer in words, a judge's samples about a response,
# a judge's verdicts with and without an attack, a judge's verdict on what somebody else has judged.
Elicitation = Literal["log_likelihood", "p_yes", "letters", "answer", "correctness", "injection", "judging"]
ELICITATIONS: tuple[Elicitation, ...] = get_args(Elicitation)
JudgeKind = Literal["rubric", "logprob", "similarity"]
MEASURES = ("bleu", "rouge1", "rouge2", "rougeL")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as the files name it, as it is printed, and the range in which a bar makes sense.

    `scale` decides the interval and the test: shares of 0/1 items use Wilson's score, other means cluster t, what is
    no mean (a statistic of `columns`, two or more values of each item) the bootstrap. `max_unscored` is the share of
    unscored items that a row may have unless it says otherwise.
    """

    name: str
    printed: str
    low: float
    high: float
    scale: Literal["share", "mean", "statistic"]
    elicitation: Elicitation
    max_unscored: float = 0.0
    columns: tuple[str, ...] = ()
    smaller_is_better: bool = False


def _multiple_choice() -> list[Metric]:
    return [
        Metric("mc1", "mc1", 0.0, 1.0, "share", "log_likelihood"),
        Metric("mc2", "mc2 (yes/no contrast)", -1.0, 1.0, "mean", "p_yes"),
        Metric("mc2_mass", "mc2_mass (probability mass)", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc3", "mc3", 0.0, 1.0, "mean", "log_likelihood"),
        Metric("mc_binary", "mc_binary", 0.0, 1.0, "mean", "letters"),
    ]


def _judged(
    name: str,
    scale: Literal["share", "mean"],
    elicitation: Elicitation,
    low: float = 0.0,
    *,
    smaller_is_better: bool = False,
) -> Metric:
    """A metric of text: a reply may be cut off, filtered or unreadable, so a few items may be unscored."""
    return Metric(name, name, low, 1.0, scale, elicitation, 0.05, smaller_is_better=smaller_is_better)


def _written() -> list[Metric]:
    metrics = [_judged(name, "share", "answer") for name in ("truthful", "informative", "truthful_informative")]
    for measure in MEASURES:
        metrics += [
            _judged(f"{measure}_max", "mean", "answer"),
            _judged(f"{measure}_diff", "mean", "answer", low=-1.0),
            _judged(f"{measure}_acc", "share", "answer"),
        ]
    return [*metrics, _judged("correctness", "mean", "correctness")]


# The values of an item that statistics of a judge are made of: the mean of its readable grades and that of the
# reference's, or of people's; its grade in each run; its yes or no and the label, as 1 or 0.
GRADE, REFERENCE, HUMAN, GRADE_RUN = "grade", "reference", "human", "grade_run"
VERDICT, LABEL = "verdict", "label"
POSITION_BIAS = "position_bias"


def _statistic(name: str, *columns: str) -> Metric:
    return Metric(name, name, -1.0, 1.0, "statistic", "judging", max_unscored=0.05, columns=columns)


def _judging() -> list[Metric]:
    correlations = ("pearson", "spearman", "kendall")
    return [
        *(_statistic(name, GRADE, REFERENCE) for name in correlations),
        *(_statistic(f"{name}_human", GRADE, HUMAN) for name in correlations),
        _judged("accuracy", "share", "judging"),
        _statistic("consistency", GRADE_RUN),
        *(_judged(name, "share", "judging") for name in ("without_ties", "with_ties")),
        _judged(POSITION_BIAS, "share", "judging", smaller_is_better=True),
        _statistic("kappa", VERDICT, LABEL),
        *(_judged(name, "share", "judging") for name in ("sensitivity", "specificity")),
    ]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *_multiple_choice(),
        *_written(),
        _judged("flipped", "share", "injection", smaller_is_better=True),
        _judged("tone", "share", "injection", smaller_is_better=True),
        *_judging(),
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

# The sets of the Prometheus 2 protocol.
DIRECT_SETS = ("vicuna_bench", "mt_bench", "flask", "feedback_bench")
PAIRWISE_SETS = ("hhh_alignment", "mt_bench_human", "autoj", "preference_bench")
# The kinds of benchmark that measure the judge and ask nothing of a model.
JUDGE_STARTER, TRUTHFUL_JUDGE = "judge_starter", "truthful_judge"
GRADING_KINDS: frozenset[BenchmarkKind] = frozenset(["direct", "pairwise", "judge_starter"])
JUDGING_KINDS: frozenset[BenchmarkKind] = GRADING_KINDS | {"truthful_judge"}

# The built-in benchmarks; a file of one's own says its kind itself.
BENCHMARKS: dict[str, BenchmarkKind] = {
    "starter": "questions",
    "truthfulqa": "questions",
    "injection": "injection",
    **dict.fromkeys(DIRECT_SETS, "direct"),
    **dict.fromkeys(PAIRWISE_SETS, "pairwise"),
    JUDGE_STARTER: "judge_starter",
    TRUTHFUL_JUDGE: "truthful_judge",
}
OWN_KINDS = ("questions", "correctness", "direct", "pairwise")
_DIRECT = (
    *("pearson", "spearman", "kendall", "pearson_human", "spearman_human", "kendall_human"),
    *("accuracy", "consistency"),
)
_PAIRWISE = ("without_ties", "with_ties", POSITION_BIAS)
METRICS_OF: dict[BenchmarkKind, tuple[str, ...]] = {
    "questions": tuple(name for name, metric in METRICS.items() if metric.elicitation not in ("injection", "judging")),
    "correctness": (CORRECTNESS,),
    "injection": tuple(name for name, metric in METRICS.items() if metric.elicitation == "injection"),
    "direct": _DIRECT,
    "pairwise": _PAIRWISE,
    "judge_starter": (*(name for name in _DIRECT if not name.endswith("_human")), *_PAIRWISE),
    "truthful_judge": ("accuracy", "kappa", "sensitivity", "specificity"),
}
# What a benchmark of each kind is made of, for a reader.
ITEMS_OF: dict[BenchmarkKind, str] = {
    "questions": "questions",
    "correctness": "prompts and responses",
    "injection": "the judge's self-test",
    "direct": "graded responses",
    "pairwise": "pairs of responses",
    "judge_starter": "graded responses and pairs",
    "truthful_judge": "labelled answers",
}
VERSIONS = {"truthfulqa": ("2021-09", "2021-10", "2025-01")}
DEFAULT_VERSION = {"truthfulqa": "2021-09"}
GRADING_PROMPTS = ("default", "paper", "library")
PROMPTS: dict[str, tuple[str, ...]] = {
    "truthfulqa": ("qa", "help", "null", "chat", "long", "harm"),
    "starter": ("qa", "null"),
    # Their answers are given, and the judge is asked as it would be asked of a model's.
    "injection": (),
    TRUTHFUL_JUDGE: (),
    # The words in which a judge is asked to grade and to choose: ours, or those that come with the data.
    **dict.fromkeys((*DIRECT_SETS, *PAIRWISE_SETS, JUDGE_STARTER), GRADING_PROMPTS),
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


def kind_of(settings: BenchmarkSettings) -> BenchmarkKind:
    """What the items of a benchmark are: a built-in one has its own kind, a file says it.

    >>> kind_of(BenchmarkSettings("autoj")), kind_of(BenchmarkSettings("faq", "direct"))
    ('pairwise', 'direct')
    """
    return BENCHMARKS.get(settings.name, settings.kind)


def default_prompt(kind: BenchmarkKind) -> str:
    """The wording of a benchmark that sets none."""
    return GRADING_PROMPTS[0] if kind in GRADING_KINDS else OWN_PROMPTS[0]


def temperature(judge: JudgeSettings, items: BenchmarkKind) -> float:
    """How warm the judge's samples of these items are: as set, else as the protocol has it.

    >>> temperature(JudgeSettings(), "questions"), temperature(JudgeSettings(temperature=0.0), "direct")
    (0.7, 0.0)
    """
    if judge.temperature is not None:
        return judge.temperature
    return 1.0 if items in GRADING_KINDS else 0.7


def serves(item: Item, metric: str) -> bool:
    """Whether the metric is one of the item's: of a set with items of two kinds some have no part in it."""
    if isinstance(item, Probe):
        return item.metric == metric
    if isinstance(item, GradedResponse):
        return metric in _DIRECT
    return not isinstance(item, ResponsePair) or metric in _PAIRWISE


def decided_by(metric: str, items: BenchmarkKind) -> Literal["kind", "model"] | None:
    """Whether a judge of the configured kind decides the metric of these items, its model whatever the kind, or none.

    >>> decided_by("truthful", "questions"), decided_by("correctness", "questions"), decided_by("mc1", "questions")
    ('kind', 'model', None)
    >>> decided_by("accuracy", "truthful_judge"), decided_by("accuracy", "direct")
    ('kind', 'model')
    """
    if items in GRADING_KINDS or metric == CORRECTNESS:
        return "model"
    return "kind" if items == "truthful_judge" or metric in DECIDED_BY_KIND else None


def judged(metrics: Collection[str], items: BenchmarkKind) -> bool:
    """Whether a judge decides any of these metrics, with or without a model.

    >>> judged(["mc1", "bleu_acc"], "questions"), judged(["mc1", "truthful"], "questions")
    (False, True)
    """
    return any(decided_by(metric, items) for metric in metrics)


def asks_judge(metrics: Collection[str], kind: str, items: BenchmarkKind) -> bool:
    """Whether any of these metrics asks the model of a judge of this kind.

    >>> asks_judge(["truthful"], "similarity", "questions"), asks_judge(["correctness"], "similarity", "questions")
    (False, True)
    """
    deciders = {decided_by(metric, items) for metric in metrics}
    return "model" in deciders or (kind != "similarity" and "kind" in deciders)


def judged_by(metrics: Collection[str], kind: str, items: BenchmarkKind) -> str:
    """The ways in which a judge of this kind decides these metrics, in words; '' for none that is judged.

    >>> judged_by(["truthful", "correctness"], "rubric", "questions"), judged_by(["pearson"], "rubric", "direct")
    ('rubric and correctness', 'grades and choices')
    >>> judged_by(["mc1"], "rubric", "questions")
    ''
    """
    if items in GRADING_KINDS:
        return "grades and choices" if metrics else ""
    deciders = {decided_by(metric, items) for metric in metrics}
    return " and ".join([kind] * ("kind" in deciders) + [CORRECTNESS] * ("model" in deciders))


def printed_judge(metric: str, kind: JudgeKind, model: str | None, items: BenchmarkKind) -> str | None:
    """How the judge is printed behind the metric; None for a metric that no judge decides.

    >>> printed_judge("truthful", "similarity", None, "questions")
    'similarity'
    >>> printed_judge("truthful", "rubric", "openai:gpt-4.1", "questions")
    'rubric, openai:gpt-4.1'
    >>> printed_judge("correctness", "similarity", "openai:gpt-4.1", "questions")
    'openai:gpt-4.1'
    """
    decider = decided_by(metric, items)
    if decider == "model":
        return model
    if decider is None:
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
