"""What a judge of truth and informativeness decides about one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truthguard.judges.asking import unread
from truthguard.judges.prompts import Dimension
from truthguard.records import Missing, Sample

DIMENSIONS: tuple[Dimension, ...] = ("truthful", "informative")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Yes, no, or why there is no verdict, for each dimension that was asked for; one sample for each."""

    verdicts: Mapping[Dimension, bool | Missing]
    samples: tuple[Sample, ...] = ()

    @classmethod
    def of(cls, dimensions: Sequence[Dimension], samples: Sequence[Sample]) -> Judgement:
        """The judgement that the samples, one for each dimension, amount to."""
        verdicts = {
            dimension: unread(sample) if sample.verdict is None else sample.verdict == "yes"
            for dimension, sample in zip(dimensions, samples, strict=True)
        }
        return cls(verdicts, tuple(samples))
