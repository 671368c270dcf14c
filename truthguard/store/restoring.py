"""A record's runs and rows as the values they were made of: what is held and printed of them is what a session does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from truthguard.catalogue import printed_judge
from truthguard.records import Bar, BlockOn, ItemScores, MetricSummary, Missing, Row, RowResult, Run
from truthguard.store.record import RecordedItem, RecordedRow, RecordedRun

_ENDS = frozenset(field.name for field in fields(Bar))
_BLOCK_ON: tuple[BlockOn, ...] = get_args(BlockOn)
_STOPPED = Missing("stopped", "the record does not say why")


def scores_of(item: RecordedItem) -> ItemScores:
    """An item; a value that is no finite number is missing."""
    values, reasons = dict(item.values), dict(item.reasons)
    for name, value in item.values.items():
        if value is not None and not math.isfinite(value):
            values[name] = None
            reasons.setdefault(name, Missing("not_finite", f"the record has {value}"))
    return ItemScores(
        id=item.id,
        category=item.category,
        question=item.question,
        values=values,
        reasons=reasons,
        choices=item.choices,
        answer=item.answer,
        samples=item.samples,
        degenerate=item.degenerate,
        group=item.group,
    )


def run_of(run: RecordedRun) -> Run:
    """A run; why it was stopped stands in no record."""
    return Run(
        benchmark=run.benchmark,
        version=run.version,
        data_sha256=run.data_sha256,
        file_sha256=run.file_sha256,
        model=run.model,
        settings=run.settings,
        scorer=run.scorer,
        counts=run.counts,
        seconds=run.seconds,
        seconds_load=run.seconds_load,
        oldest_answer=run.oldest_answer,
        complete=run.complete,
        items=tuple(map(scores_of, run.items)),
        judge=run.judge,
        stopped=None if run.complete else _STOPPED,
        kind=run.kind,
        reference_agreement=run.reference_agreement,
    )


def result_of(row: RecordedRow, run: Run | None) -> RowResult:
    """A row's outcome; `run` is the one that it is about, None where the record has none."""
    is_item = run is not None and any(item.id == row.slice for item in run.items)
    max_drop, drop_block_on = drop_bar_of(row.bar)
    asked = Row(
        id=row.id,
        benchmark=row.benchmark,
        metric=row.metric,
        line=0,
        bar=bar_of(row.bar),
        category=None if is_item else row.slice,
        item=row.slice if is_item else None,
        confidence=row.confidence,
        judge=judge_of(row.metric, run),
        max_drop=max_drop,
        drop_block_on=drop_block_on,
    )
    summary = None
    if row.n is not None:
        summary = MetricSummary(
            metric=row.metric,
            n=row.n,
            n_unscored=row.n_unscored or 0,
            estimate=_finite(row.estimate),
            low=_finite(row.low),
            high=_finite(row.high),
            confidence=row.confidence,
            n_dropped=row.n_dropped or 0,
        )
    return RowResult(asked, summary, row.verdict, row.reason, row.corrected, row.drops)


def bar_of(recorded: Mapping[str, object]) -> Bar:
    """The bar of a row's score; whatever else stands there is none of its ends."""
    ends: dict[str, Any] = {name: value for name, value in recorded.items() if name in _ENDS}
    for name in ("min", "max"):
        if name in ends and not _is_number(ends[name]):
            del ends[name]
    if ends.get("block_on") not in _BLOCK_ON:
        ends.pop("block_on", None)
    return Bar(**ends)


def drop_bar_of(recorded: Mapping[str, object]) -> tuple[float | None, BlockOn]:
    """The bar of a row's drop, and what blocks there."""
    given: Any = recorded.get("max_drop")
    block_on: BlockOn = next((name for name in _BLOCK_ON if name == recorded.get("drop_block_on")), "proof")
    return (float(given) if _is_number(given) else None), block_on


def judge_of(metric: str, run: Run | None) -> str | None:
    """How the judge is printed behind a metric of the run."""
    if run is None or run.judge is None:
        return None
    # A judge that grades is asked by its model whatever its configured kind.
    kind = "rubric" if run.judge.kind == "prometheus" else run.judge.kind
    return printed_judge(metric, kind, run.judge.identity.name if run.judge.identity else None, run.kind)


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
