"""What a judge has earned: how it did on what people or a stronger judge have judged, and which judge it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class TrustedJudge:
    """Whom a benchmark asked, and in which words: with any of it changed its numbers are of another judge.

    `name`, `digest`, `revision` and `dtype` are the identity's, all None for a judge that asks no model. `settings`
    are those that decide its verdicts on these items, `prompt_digest` is that of JudgeRun.
    """

    kind: Literal["rubric", "logprob", "similarity", "prometheus"]
    name: str | None
    digest: str | None
    revision: str | None
    dtype: str | None
    settings: Mapping[str, object]
    prompt_digest: str | None


@dataclass(frozen=True, slots=True)
class TrustedSet:
    """How a benchmark of graded responses or pairs was put to its judge, as its settings have it."""

    kind: Literal["direct", "pairwise", "judge_starter"]
    prompt: Literal["default", "paper", "library"]
    order: Literal["both", "single"]
    reference: bool
    grades: bool


@dataclass(frozen=True, slots=True)
class TrustedMetric:
    """One number of a judge, over all items that were asked, with its two-sided interval at `confidence`."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float
    n: int
    n_unscored: int
    n_dropped: int = 0


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """What one benchmark says of a judge.

    `asked` is None where its items can be put to a judge in one way only. `n_items` is how many were asked, under
    `limit`, `sample` and `seed` where only a part was.
    """

    measured: datetime
    version: str | None
    data_sha256: str
    asked: TrustedSet | None
    n_items: int
    limit: int | None
    sample: int | None
    seed: int
    judge: TrustedJudge
    metrics: Mapping[str, TrustedMetric]


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """A trust file: `truthguard` is the version that wrote it, `benchmarks` what each of them says, by name."""

    schema: int
    truthguard: str
    created: datetime
    benchmarks: Mapping[str, TrustEntry]
