"""The responses that a judge finds mostly not factual: the list that a person examines. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.catalogue import CORRECTNESS
from truthguard.metrics.correctness import representatives
from truthguard.records import ItemScores, Missing


@dataclass(frozen=True, slots=True)
class Doubt:
    """A response below one half, and what the samples say that stand for the majority."""

    item: ItemScores
    correctness: float
    explanations: tuple[str, ...]


def below_half(items: Sequence[ItemScores]) -> tuple[Doubt, ...]:
    """The scored items with correctness below 0.5, lowest first; equal ones keep their order.

    An item at exactly one half is split and not among them.
    """
    found = []
    for item in items:
        value = item.values.get(CORRECTNESS)
        if value is not None and value < 0.5:
            samples = [sample for sample in item.samples if sample.question == CORRECTNESS]
            shown = representatives(samples) if samples else ()
            words = () if isinstance(shown, Missing) else tuple(sample.explanation for sample in shown)
            found.append(Doubt(item, value, words))
    return tuple(sorted(found, key=lambda doubt: doubt.correctness))
