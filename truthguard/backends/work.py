"""What a model computed, counted where it is asked, so that it can be held against what was needed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """`tokens` went through the model's layers, padding among them; at `places` the vocabulary was projected."""

    tokens: int = 0
    places: int = 0

    def add(self, *, tokens: int, places: int) -> None:
        """Count one forward pass."""
        self.tokens += tokens
        self.places += places
