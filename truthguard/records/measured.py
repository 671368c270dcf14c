"""What was measured: of one item, of a run, of a metric over many items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from truthguard.records.items import BenchmarkKind

# What one sample of a judge came to. Readable are yes and no, a grade, and a choice of a, b or tie, whichever was
# asked for; unsure, refusal and content_filter are answers of their kind; no_content is a reply without a text, empty
# one without a word in it, failed no reply at all.
VerdictKind = Literal[
    "yes",
    "no",
    "grade",
    "a",
    "b",
    "tie",
    "unsure",
    "unparsed",
    "refusal",
    "length",
    "content_filter",
    "no_content",
    "empty",
    "failed",
]


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a value could not be computed. `kind` is a short word to count by, `detail` is for the reader."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ScoredChoice:
    """A choice with what the model said of it. None = not asked or not to be had."""

    text: str
    true: bool
    in_mc1: bool
    log_likelihood: float | None = None
    tokens: int | None = None
    p_yes: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One reply of a judge: its index, the attempt that was kept, how it reads and what it says.

    `kind` is yes, no, unsure, grade, a, b, tie, or why there is no verdict; `verdict` repeats a readable one (yes, no,
    the grade as a digit, a, b, tie) and is None otherwise. `question` tells which of several questions of the judge it
    answers (truthful, say). `missing` is the backend's own reason where it gave no reply.
    """

    index: int
    attempt: int
    verdict: str | None
    kind: VerdictKind
    explanation: str
    finish_reason: str
    question: str = "correctness"
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The values of one item. A metric stands in `values` with None, and in `reasons`, when it is missing.

    A reason beside a value marks it: of the kind `split` where as many of a judge's samples say yes as no, else as
    inexact (the end of a bound that is worse for the item). A reason of a metric that does not stand in `values` says
    why the metric's definition leaves the item out (a tie in without_ties): it is dropped, not missing. Metrics that
    are no mean over items are made of several values of each, under their names in catalogue.Metric.columns.
    `group` is what items that share a prompt have in common, None = the question itself. `degenerate` names the
    elicitations (catalogue.ELICITATIONS) in which every number of the item was the same, or the answer was empty.
    """

    id: str
    category: str
    question: str
    values: Mapping[str, float | None]
    reasons: Mapping[str, Missing] = field(default_factory=dict)
    choices: tuple[ScoredChoice, ...] = ()
    answer: str | None = None
    samples: tuple[Sample, ...] = ()
    tied_best: bool = False
    degenerate: tuple[str, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run took, and what was unusual about it; `data` is what the loader counted, by its own names.

    `requests` are those that were sent, each once, and `retries` how often one was sent again: over HTTP the server
    got the sum of both, so samples that come in one reply are one request and a log-likelihood of several choices is
    several. Of a local model it is one for each context. `cached` of the requests were answered before this run;
    they count, as their retries and tokens do, with what they took then.
    """

    requests: int = 0
    retries: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tied_best: int = 0
    degenerate: int = 0
    truncated: int = 0
    boundary_merges: int = 0
    dropped_choices: int = 0
    data: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """What decides a model's answers. `digest` None = the answers may change under us.

    `device` is the class (cpu, cuda, mps), `dtype` the one the weights are loaded in; `libraries` the versions
    that may change a number.
    """

    name: str
    kind: str
    digest: str | None
    device: str = "cpu"
    dtype: str = "float32"
    revision: str | None = None
    scorer: str = "auto"
    libraries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a backend learnt while it answered: which scoring path was used and why, seconds of loading."""

    scorer: str
    reason: str
    largest_difference: float | None = None
    seconds_load: float = 0.0


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """The judge's part of a run. `identity` is None for `similarity`, which asks no model.

    `kind` is `prometheus` where it grades and chooses: there its configured kind decides nothing.

    `prompt_digest` is that of everything it was asked in besides the material, None where nothing is asked; `prompts`
    has the digest of each prompt by its name (records of older versions lack them). `settings` are those that decide
    its verdicts, `counts` what its own requests took, `scorer` what was learnt while it answered.
    """

    identity: Identity | None
    kind: Literal["rubric", "logprob", "similarity", "prometheus"]
    settings: Mapping[str, object]
    prompt_digest: str | None
    counts: Counts = Counts()
    seconds: float = 0.0
    seconds_load: float = 0.0
    oldest_answer: datetime | None = None
    scorer: Facts | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReferenceAgreement:
    """How far a reference that graded each of `n` items in several `runs` agrees with itself.

    `n_not_unanimous` items have runs that differ; `low` and `high` are the least and the greatest correlation
    (Pearson's) of one run with the mean of the others, None where that is undefined.
    """

    n: int
    n_not_unanimous: int
    runs: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark on one model: everything that was measured, before any bar is held against it.

    `model` is None where nothing was asked of one (a self-test of the judge, responses that the file gives);
    `counts`, `seconds` and `oldest_answer` are the model's, the judge's stand in `judge`: None where no metric
    is judged. A run is `complete` unless it was stopped before everything was asked, and then `stopped` says why.
    """

    benchmark: str
    version: str | None
    data_sha256: str
    file_sha256: str
    model: Identity | None
    settings: Mapping[str, object]
    scorer: Facts | None
    counts: Counts
    seconds: float
    seconds_load: float
    oldest_answer: datetime | None
    complete: bool
    items: tuple[ItemScores, ...]
    judge: JudgeRun | None = None
    stopped: Missing | None = None
    kind: BenchmarkKind = "questions"
    reference_agreement: ReferenceAgreement | None = None


@dataclass(frozen=True, slots=True)
class ItemChange:
    """An item's value in the baseline and in the candidate, None where the candidate could not be scored.

    Of a metric that is no mean, how far apart the item's own values lie (the judge's grade and the reference's, say).
    """

    id: str
    baseline: float
    candidate: float | None


@dataclass(frozen=True, slots=True)
class Drop:
    """How much lower a metric is than in a baseline: baseline minus candidate, paired by item.

    `n` pairs, the `lost` ones among them (scored by the baseline, not by the candidate) with the metric's worst value;
    of what is no mean they leave the pairs. `gained` items are scored by the candidate alone and left out, and so are
    those that only one side has. `low` and `high` are the two-sided interval at `confidence`. The one-sided p values,
    each held against `alpha`, are that the true drop is greater than the bar, less than it (0 without a bar), and that
    the metric improved: that its drop is less than 0, or greater where smaller is better; None, with the reason in
    `untested`, where there is no test. `worse` and `better` items got worse and better, `worst` are those that got
    worse by most; `mcnemar` is the exact two-sided p of 0/1 pairs. `detectable` is the drop beyond the bar that the
    test would have found with 80 % power. `baseline` is how the file is called.
    """

    baseline: str
    n: int
    estimate: float
    low: float | None
    high: float | None
    confidence: float
    p_greater: float | None
    p_less: float | None
    p_improved: float | None
    worse: int
    better: int
    lost: int = 0
    gained: int = 0
    only_baseline: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    mcnemar: float | None = None
    detectable: float | None = None
    untested: str | None = None
    alpha: float = 0.05
    worst: tuple[ItemChange, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric over the items of a row: the mean over the scored ones, its interval and what is missing.

    Of a metric that is no mean (a correlation) `undefined` says why it has no value although items are scored, and
    `undefined_resamples` counts the bootstrap's resamples without one. `n_dropped` items are none of the metric's.

    `low` and `high` are the two-sided interval at `confidence`; `bound_low` and `bound_high` are the score if
    every unscored item had the metric's lowest or highest value. `unscored` counts the reasons by kind,
    `details` has the first detail of each.
    """

    metric: str
    n: int
    n_unscored: int
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    chance: float | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    inexact: int = 0
    n_dropped: int = 0
    undefined: Missing | None = None
    undefined_resamples: int = 0
