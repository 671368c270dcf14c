"""Hypothesis strategies for the values that the store keeps, hostile ones included."""

from __future__ import annotations

from datetime import UTC

from hypothesis import strategies as st

from truthguard.metrics.correctness import KINDS
from truthguard.records import (
    Bar,
    Counts,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    MetricSummary,
    Missing,
    Row,
    RowResult,
    Run,
    Sample,
    ScoredChoice,
)

# Every code point, lone surrogates included.
texts = st.text(st.characters(), max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.floats()
counts = st.integers(0, 10**6)
moments = st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0))
missing = st.builds(Missing, texts, texts)

choices = st.builds(
    ScoredChoice,
    text=texts,
    true=st.booleans(),
    in_mc1=st.booleans(),
    log_likelihood=st.none() | numbers,
    tokens=st.none() | counts,
    p_yes=st.none() | st.floats(0, 1),
)
samples = st.builds(
    Sample,
    index=counts,
    attempt=counts,
    verdict=st.sampled_from(("yes", "no", None)),
    kind=st.sampled_from(KINDS),
    explanation=texts,
    finish_reason=texts,
    question=texts,
)
items = st.builds(
    ItemScores,
    id=texts,
    category=texts,
    question=texts,
    values=st.dictionaries(texts, st.none() | finite, max_size=3),
    reasons=st.dictionaries(texts, missing, max_size=2),
    choices=st.lists(choices, max_size=3).map(tuple),
    answer=st.none() | texts,
    samples=st.lists(samples, max_size=2).map(tuple),
    tied_best=st.booleans(),
    degenerate=st.lists(texts, max_size=2).map(tuple),
)
identities = st.builds(
    Identity,
    name=texts,
    kind=texts,
    digest=st.none() | texts,
    libraries=st.dictionaries(texts, texts, max_size=2),
)
facts = st.builds(Facts, scorer=texts, reason=texts, largest_difference=st.none() | finite, seconds_load=finite)
tallies = st.builds(Counts, requests=counts, cached=counts, degenerate=counts, dropped_choices=counts)
settings = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | finite | texts, max_size=3)
judges = st.builds(
    JudgeRun,
    identity=st.none() | identities,
    kind=st.sampled_from(("rubric", "logprob", "similarity")),
    settings=settings,
    prompt_digest=st.none() | texts,
    counts=tallies,
    seconds=finite,
    oldest_answer=st.none() | moments,
)
runs = st.builds(
    Run,
    benchmark=texts,
    version=st.none() | texts,
    data_sha256=texts,
    file_sha256=texts,
    model=st.none() | identities,
    settings=settings,
    scorer=st.none() | facts,
    counts=tallies,
    seconds=finite,
    seconds_load=finite,
    oldest_answer=st.none() | moments,
    complete=st.booleans(),
    items=st.lists(items, max_size=3).map(tuple),
    judge=st.none() | judges,
    stopped=st.none() | st.builds(Missing, texts, texts),
)
bars = st.builds(
    Bar,
    min=st.none() | finite,
    max=st.none() | finite,
    block_on=st.sampled_from(("estimate", "proof", "doubt")),
)
rows = st.builds(
    Row,
    id=texts,
    benchmark=texts,
    metric=texts,
    line=counts,
    bar=bars,
    category=st.none() | texts,
    item=st.none() | texts,
    confidence=finite,
)
summaries = st.builds(
    MetricSummary,
    metric=texts,
    n=counts,
    n_unscored=counts,
    estimate=st.none() | finite,
    low=st.none() | finite,
    high=st.none() | finite,
    confidence=finite,
    n_dropped=counts,
)
results = st.builds(
    RowResult,
    row=rows,
    summary=st.none() | summaries,
    verdict=st.sampled_from(("pass", "fail", "error", "not_gated", "waived")),
    reason=texts,
)
