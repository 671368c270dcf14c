"""Every frozen value that crosses a layer. Plain data: no input, no output, no arithmetic."""

from __future__ import annotations

from truthguard.records.gate import Bar, BlockOn, CorrectedRate, Row, RowResult, Verdict
from truthguard.records.items import (
    BenchmarkKind,
    Choice,
    GradedResponse,
    Item,
    LabelledAnswer,
    Probe,
    Question,
    Response,
    ResponsePair,
    Rubric,
)
from truthguard.records.measured import (
    Counts,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    MetricSummary,
    Missing,
    ReferenceAgreement,
    Run,
    Sample,
    ScoredChoice,
    VerdictKind,
)
from truthguard.records.settings import BenchmarkSettings, JudgeSettings, ModelSettings, Selection
from truthguard.records.trust import TrustedJudge, TrustedMetric, TrustedSet, TrustEntry, TrustRecord

__all__ = [
    "Bar",
    "BenchmarkKind",
    "BenchmarkSettings",
    "BlockOn",
    "Choice",
    "CorrectedRate",
    "Counts",
    "Facts",
    "GradedResponse",
    "Identity",
    "Item",
    "ItemScores",
    "JudgeRun",
    "JudgeSettings",
    "LabelledAnswer",
    "MetricSummary",
    "Missing",
    "ModelSettings",
    "Probe",
    "Question",
    "ReferenceAgreement",
    "Response",
    "ResponsePair",
    "Row",
    "RowResult",
    "Rubric",
    "Run",
    "Sample",
    "ScoredChoice",
    "Selection",
    "TrustEntry",
    "TrustRecord",
    "TrustedJudge",
    "TrustedMetric",
    "TrustedSet",
    "Verdict",
    "VerdictKind",
]
