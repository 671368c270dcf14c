"""Correctness: one chain-of-thought prompt, asked several times about one response.

Open-domain truth from what the judge knows, without a reference and without a context: that sets it apart from
context adherence. The arithmetic is in truthguard.metrics.correctness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from truthguard.backends.protocol import Generate
from truthguard.catalogue import temperature
from truthguard.judges.asking import Asking, addressed, model_of, samples, unread
from truthguard.judges.prompts import PromptName, correctness_prompt
from truthguard.metrics.correctness import correctness, representatives
from truthguard.records import JudgeSettings, Missing, Sample

PROMPT: PromptName = "correctness"


@dataclass(frozen=True, slots=True)
class CorrectnessJudgement:
    """The share of readable samples that say yes, and the words of those that stand for the result.

    `explanations` has one entry, of the majority; two, the not-factual one first, where exactly half say yes
    (`split`); none where the value is missing.
    """

    value: float | Missing
    samples: tuple[Sample, ...]
    explanations: tuple[str, ...]

    @property
    def split(self) -> bool:
        """Whether exactly half of the readable samples say yes."""
        return self.value == 0.5


def judge(prompt: str, response: str, settings: JudgeSettings) -> Asking[CorrectnessJudgement]:
    """Ask `settings.samples` times, independently, whether every factual claim of a response is true.

    Sample i has the seed `settings.seed + i`; what is asked for again is said in truthguard.judges.asking.
    Raises UsageError where the settings name no model, ValueError for less than one sample.
    """
    context = addressed(correctness_prompt(prompt, response), model_of(settings))
    first = Generate(context, settings.max_tokens, temperature=temperature(settings, "correctness"), seed=settings.seed)
    requests = [replace(first, seed=settings.seed + index, sample=index) for index in range(settings.samples)]
    found = yield from samples([("correctness", request) for request in requests])
    shown = representatives(found)
    explanations = () if isinstance(shown, Missing) else tuple(sample.explanation for sample in shown)
    return CorrectnessJudgement(_value(found), found, explanations)


def _value(found: Sequence[Sample]) -> float | Missing:
    """The share that says yes; where the judge's backend brought no reply at all, its own reason."""
    reasons = [(sample.kind, unread(sample)) for sample in found if sample.verdict is None]
    if all(sample.kind == "failed" for sample in found):
        return reasons[0][1]
    # Of equal kinds the first is kept.
    first = {kind: str(reason) if kind == "failed" else reason.detail for kind, reason in reversed(reasons)}
    return correctness([sample.kind for sample in found], first)
