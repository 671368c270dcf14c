"""A dry run: what each model would be asked, found by holding the very dialogues with nobody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from truthguard.backends.counting import CountingBackend
from truthguard.plan import Plan
from truthguard.plugin.measuring import models
from truthguard.runner import run

REASON = "dry run"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one benchmark would ask of one model. The tokens are an estimate (backends.counting)."""

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int


def estimate(plan: Plan, benchmark: str, metrics: frozenset[str]) -> tuple[Estimate, ...]:
    """What these metrics of a benchmark would ask of the model and of the judge, as if nothing were kept.

    The judge is asked as after a readable answer and replies readably, so nothing is asked twice. Loads and sends
    nothing. Raises UsageError where a model is asked and none is named.
    """
    backends = [None if each is None else CountingBackend(each.name) for each in models(plan, benchmark, metrics)]
    measured = run(
        plan.questions[benchmark],
        plan.selected[benchmark],
        metrics,
        backends[0],
        plan.settings[benchmark],
        plan.model,
        plan.selection,
        judge=plan.judge,
        judge_backend=backends[1],
    )
    counts = (measured.counts, None if measured.judge is None else measured.judge.counts)
    return tuple(
        Estimate(backend.name, each.requests, each.prompt_tokens, each.completion_tokens)
        for backend, each in zip(backends, counts, strict=True)
        if backend is not None and each is not None
    )


def estimate_lines(estimates: Iterable[Estimate]) -> list[str]:
    """One line for each model, in the order in which they come first.

    >>> estimate_lines([Estimate("m", 8, 1200, 400), Estimate("m", 2, 300, 100)])
    ['m: 10 requests, about 1,500 prompt and 500 completion tokens']
    """
    totals: dict[str, Estimate] = {}
    for each in estimates:
        before = totals.get(each.model, Estimate(each.model, 0, 0, 0))
        totals[each.model] = Estimate(
            each.model,
            before.requests + each.requests,
            before.prompt_tokens + each.prompt_tokens,
            before.completion_tokens + each.completion_tokens,
        )
    return [
        f"{each.model}: {each.requests} requests, about {each.prompt_tokens:,} prompt"
        f" and {each.completion_tokens:,} completion tokens"
        for each in totals.values()
    ]
