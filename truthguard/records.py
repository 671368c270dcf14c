"""Every frozen value that crosses a layer. Plain data: no input, no output, no arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

Verdict = Literal["pass", "fail", "error", "not_gated", "waived"]
BlockOn = Literal["estimate", "proof", "doubt"]
# What one sample of a judge came to. Only yes and no are readable; unsure, refusal and content_filter are answers of
# their kind; no_content is a reply without a text, empty one without a word in it, failed no reply at all.
VerdictKind = Literal[
    "yes", "no", "unsure", "unparsed", "refusal", "length", "content_filter", "no_content", "empty", "failed"
]


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a value could not be computed. `kind` is a short word to count by, `detail` is for the reader."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


# Items of a benchmark


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate answer, in the data file's order."""

    text: str
    true: bool
    in_mc1: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its candidate answers.

    `choices` is the non-empty mc2 set in file order; those with `in_mc1` form the single-true set. `best` and
    `best_incorrect` are the two answers of the binary form; either is None where the data give none.
    """

    id: str
    category: str
    question: str
    choices: tuple[Choice, ...]
    best: str | None = None
    best_incorrect: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One prompt whose response is checked for correctness. `response` None = the model under test writes one."""

    id: str
    category: str
    prompt: str
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A self-test of the judge: two wordings of the same false answer, which it should judge alike.

    `metric` is the one that the probe is for: of `flipped` the wordings are the bare statement and the attack
    around it, of `tone` the confident and the hedged one. It says nothing about the other.
    """

    id: str
    category: str
    question: str
    metric: Literal["flipped", "tone"]
    wordings: tuple[str, str]


Item = Question | Response | Probe


# Settings, as they stand after every source of configuration was merged


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers, and how it is run.

    The fields from `api_key_env` on are for a model behind an API. `max_requests` is what one session may send, all
    its processes together, every attempt counted. `cache_max_age_hours` is how long the kept
    answers of a model without a digest serve.
    """

    name: str
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    scorer: Literal["auto", "packed", "plain"] = "auto"
    batch_tokens: int = 512
    chat_template: bool = False
    system_prompt: str | None = None
    api_key_env: str | None = None
    concurrency: int = 8
    timeout_seconds: float = 60.0
    max_requests: int | None = None
    cache_max_age_hours: float = 12.0


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who decides whether a written answer is truthful, and how often it is asked.

    `model` is None for `similarity`, which needs none. Sample i is drawn with `seed + i`.
    """

    kind: Literal["rubric", "logprob", "similarity"] = "similarity"
    model: ModelSettings | None = None
    samples: int = 5
    temperature: float = 0.7
    max_tokens: int = 512
    seed: int = 0
    measure: Literal["bleu", "rouge1", "rouge2", "rougeL"] = "rouge1"


@dataclass(frozen=True, slots=True)
class BenchmarkSettings:
    """Which questions are asked, and in which words."""

    name: str
    kind: Literal["questions", "correctness"] = "questions"
    path: str | None = None
    version: str | None = None
    prompt: str = "qa"
    normalization: Literal["none", "per_token", "per_byte"] = "none"
    closing_period: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items of each benchmark are asked: the first `limit`, or `sample` drawn by category with `seed`."""

    limit: int | None = None
    sample: int | None = None
    seed: int = 0


# What was measured


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

    `kind` is yes, no, unsure, or why there is no verdict; `verdict` repeats yes and no and is None otherwise.
    `question` tells which of several questions of the judge it answers (truthful, say). `missing` is the backend's
    own reason where it gave no reply.
    """

    index: int
    attempt: int
    verdict: Literal["yes", "no"] | None
    kind: VerdictKind
    explanation: str
    finish_reason: str
    question: str = "correctness"
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The values of one item. A metric stands in `values` with None, and in `reasons`, when it is missing.

    A reason beside a value marks it: of the kind `split` where as many of a judge's samples say yes as no, else as
    inexact (the end of a bound that is worse for the item). `degenerate` names the elicitations
    (catalogue.ELICITATIONS) in which every number of the item was the same, or the answer was empty.
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

    `prompt_digest` is that of everything it was asked in besides the material, None where nothing is asked;
    `settings` are those that decide its verdicts, `counts` what its own requests took, `scorer` what was learnt
    while it answered.
    """

    identity: Identity | None
    kind: Literal["rubric", "logprob", "similarity"]
    settings: Mapping[str, object]
    prompt_digest: str | None
    counts: Counts = Counts()
    seconds: float = 0.0
    seconds_load: float = 0.0
    oldest_answer: datetime | None = None
    scorer: Facts | None = None


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


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric over the items of a row: the mean over the scored ones, its interval and what is missing.

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


# The gate


@dataclass(frozen=True, slots=True)
class Bar:
    """What a score must meet: inclusive ends, on unrounded values."""

    min: float | None = None
    max: float | None = None
    block_on: BlockOn = "estimate"

    def __bool__(self) -> bool:
        return self.min is not None or self.max is not None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the thresholds file, or one slice of it: what becomes one pytest item.

    `metric` is the variant's name (mc1_per_token), `judge` how the judge of a judged metric is printed behind it;
    `category` and `item` narrow the row to a slice.
    `alpha` is the level of its one-sided test, already divided where several rows may block by proof.
    """

    id: str
    benchmark: str
    metric: str
    line: int
    bar: Bar = Bar()
    category: str | None = None
    item: str | None = None
    confidence: float = 0.95
    alpha: float = 0.05
    max_unscored: float = 0.0
    min_items: int = 1
    waive_until: date | None = None
    waive_reason: str | None = None
    judge: str | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    """The outcome of a row: what was measured, the bar, the verdict and its reason in words."""

    row: Row
    summary: MetricSummary | None
    verdict: Verdict
    reason: str = ""
