"""A judge behind an API, and what a trust file says of it."""

from __future__ import annotations

from datetime import UTC, datetime

from truthguard.records import TrustedJudge, TrustedMetric, TrustEntry, TrustRecord

NOW = datetime(2026, 1, 2, tzinfo=UTC)
JUDGE = TrustedJudge(
    kind="rubric",
    name="openai:judge",
    digest=None,
    revision=None,
    dtype="",
    settings={"max_tokens": 512, "chat_template": True, "system_prompt": "Be strict."},
    prompt_digest="a" * 64,
)
ENTRY = TrustEntry(
    measured=NOW,
    version="2021-10",
    data_sha256="d" * 64,
    asked=None,
    n_items=200,
    limit=200,
    sample=None,
    seed=0,
    judge=JUDGE,
    metrics={"accuracy": TrustedMetric(0.71, 0.6436, 0.7686, 0.95, 200, 3)},
)
RECORD = TrustRecord(1, "0.1.0", NOW, {"truthful_judge": ENTRY})
