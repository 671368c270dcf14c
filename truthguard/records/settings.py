"""Settings, as they stand after every source of configuration was merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers, and how it is run.

    `adapter` is the folder of a LoRA adapter that is merged into the weights of a model on this machine.

    `batch_tokens` is the most that one forward pass takes; None: as many as its device is fastest with.

    The fields from `api_key_env` on are for a model behind an API. `max_requests` is what one session may send, all
    its processes together, every attempt counted. `cache_max_age_hours` is how long the kept answers of a model
    without a digest serve.
    """

    name: str
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    adapter: str | None = None
    scorer: Literal["auto", "packed", "plain"] = "auto"
    batch_tokens: int | None = None
    chat_template: bool = False
    system_prompt: str | None = None
    api_key_env: str | None = None
    concurrency: int = 8
    timeout_seconds: float = 60.0
    max_requests: int | None = None
    cache_max_age_hours: float = 12.0

    @property
    def label(self) -> str:
        """The name in print, the adapter behind it."""
        return self.name if self.adapter is None else f"{self.name} + {self.adapter}"


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who decides whether a written answer is truthful, who grades and chooses, and how often it is asked.

    `model` is None for `similarity`, which needs none. Sample i, and run i of a grade, is drawn with `seed + i`.
    `temperature` None = that of each protocol: 0.7 for correctness, 1 for grades and choices.
    """

    kind: Literal["rubric", "logprob", "similarity"] = "similarity"
    model: ModelSettings | None = None
    samples: int = 5
    runs: int = 3
    temperature: float | None = None
    max_tokens: int = 512
    seed: int = 0
    measure: Literal["bleu", "rouge1", "rouge2", "rougeL"] = "rouge1"


@dataclass(frozen=True, slots=True)
class BenchmarkSettings:
    """Which items are asked, and in which words.

    Of sets that measure a judge: `order` in which the responses of a pair are shown, whether a judge that grades is
    shown the `reference` answer, and whether a pair is decided by the `grades` of its responses.
    """

    name: str
    kind: Literal["questions", "correctness", "direct", "pairwise"] = "questions"
    path: str | None = None
    version: str | None = None
    prompt: str = "qa"
    normalization: Literal["none", "per_token", "per_byte"] = "none"
    closing_period: bool = False
    order: Literal["both", "single"] = "both"
    reference: bool = True
    grades: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items of each benchmark are asked: the first `limit`, or `sample` drawn by category with `seed`."""

    limit: int | None = None
    sample: int | None = None
    seed: int = 0
