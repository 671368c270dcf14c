"""The trust file: what a judge has earned, kept for the gates that require it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from truthguard import __version__
from truthguard.catalogue import METRICS
from truthguard.errors import DataError, Mistake, nearest
from truthguard.records import TrustedMetric, TrustEntry, TrustRecord
from truthguard.store import strict

SCHEMA = 1
_FILE = strict.Kind("trust file", "--truthguard-save-trust", SCHEMA, '"schema" and "benchmarks"')


def make_trust(benchmarks: Mapping[str, TrustEntry], created: datetime) -> TrustRecord:
    """A trust file of these benchmarks."""
    return TrustRecord(SCHEMA, __version__, created, dict(benchmarks))


def write_trust(path: Path, record: TrustRecord) -> None:
    """Write a trust file, whole or not at all. Raises StoreError as truthguard.store.record.write_record does."""
    strict.write(path, record, _FILE)


def read_trust(path: Path) -> TrustRecord:
    """Read a trust file.

    Raises DataError as truthguard.store.record.read_record does, and for numbers that no judge can have.
    """
    record = strict.read(path, TrustRecord, _FILE)
    mistakes = [
        Mistake(f"benchmarks.{benchmark}.metrics.{name}: {problem}", path)
        for benchmark, entry in record.benchmarks.items()
        for name, metric in entry.metrics.items()
        if (problem := _impossible(name, metric))
    ]
    if mistakes:
        raise DataError(mistakes)
    return record


def _impossible(name: str, metric: TrustedMetric) -> str | None:
    spec = METRICS.get(name)
    if spec is None:
        return f"unknown metric{nearest(name, METRICS)}"
    if not spec.low <= metric.estimate <= spec.high:
        return f"{metric.estimate:g} lies outside the range of {name}: scores run from {spec.low:g} to {spec.high:g}"
    if metric.n < 1:
        return f"expected at least one scored item, got {metric.n}"
    if min(metric.n_unscored, metric.n_dropped) < 0:
        return f"expected counts of items, got {metric.n_unscored} unscored and {metric.n_dropped} dropped"
    if not 0.0 < metric.confidence < 1.0:
        return f"expected a confidence between 0 and 1, got {metric.confidence:g}"
    ends = (metric.low, metric.high)
    if any(end is not None and not spec.low <= end <= spec.high for end in ends):
        return f"the interval {ends[0]} to {ends[1]} leaves the range of {name}: {spec.low:g} to {spec.high:g}"
    return None
