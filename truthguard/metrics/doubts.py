"""The responses that a person examines: those that a judge finds mostly not factual, and those it is split about.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.catalogue import CORRECTNESS
from truthguard.metrics.correctness import representatives
from truthguard.records import ItemScores, Missing


@dataclass(frozen=True, slots=True)
class Doubt:
    """A response, and what the samples say that stand for its value: of a split one the not-factual one first."""

    item: ItemScores
    correctness: float
    explanations: tuple[str, ...]


def below_half(items: Sequence[ItemScores]) -> tuple[Doubt, ...]:
    """The scored items with correctness below 0.5, lowest first; equal ones keep their order.

    An item at exactly one half is split and not among them.
    """
    found = [
        _doubt(item, value) for item in items if (value := item.values.get(CORRECTNESS)) is not None and value < 0.5
    ]
    return tuple(sorted(found, key=lambda doubt: doubt.correctness))


def split(items: Sequence[ItemScores]) -> tuple[Doubt, ...]:
    """The scored items with correctness exactly 0.5, in their order."""
    return tuple(_doubt(item, 0.5) for item in items if item.values.get(CORRECTNESS) == 0.5)


def _doubt(item: ItemScores, value: float) -> Doubt:
    samples = [sample for sample in item.samples if sample.question == CORRECTNESS]
    shown = representatives(samples) if samples else ()
    words = () if isinstance(shown, Missing) else tuple(sample.explanation for sample in shown)
    return Doubt(item, value, words)
