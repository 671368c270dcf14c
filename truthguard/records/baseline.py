"""What a candidate is compared with: the values of earlier runs, and what decides whether they may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from truthguard.records.items import BenchmarkKind
from truthguard.records.measured import Identity, JudgeRun


@dataclass(frozen=True, slots=True)
class BaselineItem:
    """The values of one item: None where it could not be scored; what is none of the item's does not stand here."""

    id: str
    category: str
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """One benchmark of a baseline. Of the judge only who it was and how it was asked is known."""

    benchmark: str
    version: str | None
    kind: BenchmarkKind
    data_sha256: str
    model: Identity | None
    judge: JudgeRun | None
    settings: Mapping[str, object]
    complete: bool
    items: tuple[BaselineItem, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline, by what it is called in print, the version that wrote it, and its runs by benchmark."""

    name: str
    truthguard: str
    created: datetime
    runs: Mapping[str, BaselineRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compared:
    """A benchmark that was compared with a baseline, and what differs between the two runs, in words."""

    benchmark: str
    baseline: str
    created: datetime
    differences: tuple[str, ...]
