"""From questions, a model and a judge to a run: everything that was measured, before any bar is held against it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from truthguard.backends.protocol import Backend
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.dialogues import dialogue
from truthguard.benchmarks.judging import prompt_digests
from truthguard.benchmarks.reference_agreement import reference_agreement
from truthguard.catalogue import GRADING_KINDS, asks_judge, judged, temperature
from truthguard.records import (
    BenchmarkSettings,
    Counts,
    GradedResponse,
    Identity,
    Item,
    ItemScores,
    JudgeRun,
    JudgeSettings,
    ModelSettings,
    Run,
    Selection,
)
from truthguard.runner.rounds import Held, Part, Progress, hold
from truthguard.store.encoding import digest

SIMILARITY = JudgeSettings()
# A model that is not named asks nothing and decides nothing: its place in the settings of a dialogue.
NOBODY = ModelSettings("")


def run(
    questions: QuestionSet,
    selected: Sequence[Item],
    metrics: frozenset[str],
    backend: Backend | None,
    settings: BenchmarkSettings,
    model: ModelSettings | None,
    selection: Selection,
    progress: Progress | None = None,
    *,
    judge: JudgeSettings = SIMILARITY,
    judge_backend: Backend | None = None,
) -> Run:
    """Measure the selected items of a set with one model, and with one judge where a metric is judged.

    `metrics` are catalogue names. `backend` and `model` may be None where nothing is asked of a model, and
    `judge_backend` where nothing is asked of a judge's. It may be `backend` itself: the same weights in both roles.
    The backends stay open, so that the next benchmark finds them loaded (but for one that had to make room for the
    other): who opened them closes them. A run in which a backend stopped asking is not complete. Raises ModelError
    when one cannot answer what the metrics ask, or fails on the way, and then says how far it got; StoreError when
    answers cannot be kept.
    """
    start = time.perf_counter()
    dialogues = [dialogue(item, metrics, questions, settings, model or NOBODY, judge) for item in selected]
    held = hold(dialogues, backend, progress, judge_backend)
    seconds = time.perf_counter() - start
    asked, decided = held.model, held.judge
    stopped = asked.tally.stopped or decided.tally.stopped
    # Of a set with items of two kinds, those of the other kind have no part in what was asked.
    items = tuple(item for item in held.items if item.values or item.reasons)
    elsewhere = asked.seconds_load + decided.seconds_load + decided.seconds
    return Run(
        benchmark=questions.name,
        version=questions.version,
        data_sha256=questions.data_sha256,
        file_sha256=questions.file_sha256,
        model=None if backend is None else backend.identity(),
        settings=_recorded(settings, model or NOBODY, selection),
        scorer=asked.facts,
        counts=_counts(held, items, questions),
        seconds=max(0.0, seconds - elsewhere),
        seconds_load=asked.seconds_load,
        oldest_answer=asked.tally.oldest_answer,
        complete=stopped is None,
        items=items,
        judge=_judge_run(questions, metrics, settings, judge, judge_backend, decided)
        if judged(metrics, questions.kind)
        else None,
        stopped=stopped,
        kind=questions.kind,
        reference_agreement=reference_agreement([item for item in selected if isinstance(item, GradedResponse)]),
    )


def run_key(
    identity: Identity | None,
    questions: QuestionSet,
    selected: Sequence[Item],
    metrics: frozenset[str],
    settings: BenchmarkSettings,
    model: ModelSettings | None,
    selection: Selection,
    *,
    judge: JudgeSettings = SIMILARITY,
    judge_identity: Identity | None = None,
) -> str:
    """The name under which processes share a run: a digest of everything that decides it.

    How fast an API is asked, with which key and for how long its answers serve decides nothing: a run that was
    stopped by `max_requests` is the same run when it goes on with more.
    """
    return digest(
        {
            "identity": identity,
            "data_sha256": questions.data_sha256,
            "primers": questions.primers,
            "selected": [item.id for item in selected],
            "metrics": sorted(metrics),
            "settings": settings,
            "model": _deciding(model),
            "selection": selection,
            "judge": replace(judge, model=_deciding(judge.model)) if judged(metrics, questions.kind) else None,
            "judge_identity": judge_identity,
            "judge_prompts": prompt_digests(metrics, judge, questions, settings),
        }
    )


def _deciding(model: ModelSettings | None) -> ModelSettings | None:
    if model is None:
        return None
    usual = ModelSettings(model.name)
    return replace(
        model,
        api_key_env=usual.api_key_env,
        concurrency=usual.concurrency,
        timeout_seconds=usual.timeout_seconds,
        max_requests=usual.max_requests,
        cache_max_age_hours=usual.cache_max_age_hours,
    )


def _counts(held: Held, items: Sequence[ItemScores], questions: QuestionSet) -> Counts:
    return replace(
        held.model.tally.counts(),
        tied_best=sum(item.tied_best for item in items),
        degenerate=sum(bool(item.degenerate) for item in items),
        dropped_choices=questions.counts["dropped_choices"],
        data={name: n for name, n in questions.counts.items() if n and name != "dropped_choices"},
    )


def _judge_run(
    questions: QuestionSet,
    metrics: frozenset[str],
    settings: BenchmarkSettings,
    judge: JudgeSettings,
    backend: Backend | None,
    part: Part,
) -> JudgeRun:
    asked = backend is not None and asks_judge(metrics, judge.kind, questions.kind)
    prompts = prompt_digests(metrics, judge, questions, settings)
    model = judge.model if asked else None
    recorded: dict[str, object] = {
        "samples": judge.samples,
        "runs": judge.runs,
        "temperature": temperature(judge, questions.kind),
        "max_tokens": judge.max_tokens,
        "seed": judge.seed,
        "measure": judge.measure,
        "chat_template": None if model is None else model.chat_template,
        "system_prompt": None if model is None else model.system_prompt,
    }
    return JudgeRun(
        identity=backend.identity() if backend is not None and asked else None,
        kind="prometheus" if questions.kind in GRADING_KINDS else judge.kind,
        settings=recorded,
        prompt_digest=digest(prompts) if prompts else None,
        counts=part.tally.counts(),
        seconds=part.seconds,
        seconds_load=part.seconds_load,
        oldest_answer=part.tally.oldest_answer,
        scorer=part.facts,
        prompts=prompts,
    )


def _recorded(settings: BenchmarkSettings, model: ModelSettings, selection: Selection) -> Mapping[str, object]:
    return {
        "prompt": settings.prompt,
        "normalization": settings.normalization,
        "closing_period": settings.closing_period,
        "order": settings.order,
        "reference": settings.reference,
        "grades": settings.grades,
        "chat_template": model.chat_template,
        "system_prompt": model.system_prompt,
        "limit": selection.limit,
        "sample": selection.sample,
        "seed": selection.seed,
        "batch_tokens": model.batch_tokens,
        "scorer": model.scorer,
    }
