"""The only caller of backends: holds the dialogues of many items at once and turns them into a run.

The requests of all dialogues are gathered by role, so a backend sees many at once; the replies go back to each
dialogue in the order in which it asked, and so on in rounds until every item has its scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from truthguard.backends.protocol import Backend, Masses, Reply, Request, Scores
from truthguard.benchmarks.base import Dialogue, QuestionSet
from truthguard.benchmarks.multiple_choice import dialogue
from truthguard.errors import ModelError, StoreError, UsageError
from truthguard.records import (
    BenchmarkSettings,
    Counts,
    Facts,
    Identity,
    ItemScores,
    ModelSettings,
    Question,
    Run,
    Selection,
)
from truthguard.store.encoding import digest

# How many of how many requests are answered; the total grows when dialogues ask further.
Progress = Callable[[int, int], None]


def run(
    questions: QuestionSet,
    selected: Sequence[Question],
    metrics: frozenset[str],
    backend: Backend,
    settings: BenchmarkSettings,
    model: ModelSettings,
    selection: Selection,
    progress: Progress | None = None,
) -> Run:
    """Measure the selected questions of a set with one model.

    `metrics` are catalogue names. The backend stays open, so that the next benchmark finds it loaded: who
    opened it closes it. Raises ModelError when it cannot answer what the metrics ask, or fails on the way,
    and then says how far it got; StoreError when answers cannot be kept.
    """
    before = backend.facts()
    start = time.perf_counter()
    held = hold([dialogue(item, metrics, questions, settings, model) for item in selected], backend, progress)
    seconds = time.perf_counter() - start
    facts, seconds_load = _facts(before, backend.facts())
    return Run(
        benchmark=questions.name,
        version=questions.version,
        data_sha256=questions.data_sha256,
        file_sha256=questions.file_sha256,
        model=backend.identity(),
        settings=_recorded(settings, model, selection),
        scorer=facts,
        counts=_counts(held, questions),
        seconds=max(0.0, seconds - seconds_load),
        seconds_load=seconds_load,
        oldest_answer=held.tally.oldest_answer,
        complete=True,
        items=held.items,
    )


def run_key(
    identity: Identity,
    questions: QuestionSet,
    selected: Sequence[Question],
    metrics: frozenset[str],
    settings: BenchmarkSettings,
    model: ModelSettings,
    selection: Selection,
) -> str:
    """The name under which processes share a run: a digest of everything that decides it."""
    return digest(
        {
            "identity": identity,
            "data_sha256": questions.data_sha256,
            "primers": questions.primers,
            "selected": [item.id for item in selected],
            "metrics": sorted(metrics),
            "settings": settings,
            "model": model,
            "selection": selection,
        }
    )


@dataclass(slots=True)
class Tally:
    """What the replies of a run amount to."""

    requests: int = 0
    retries: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0
    boundary_merges: int = 0
    oldest_answer: datetime | None = None

    def add(self, reply: Reply) -> None:
        """Count a reply. Tokens and retries are what the answer took when it was made, kept ones included."""
        self.requests += 1
        self.cached += reply.cached
        self.retries += reply.usage.retries
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        if isinstance(reply.value, Scores):
            self.truncated += sum(each.truncated for each in reply.value.continuations)
            self.boundary_merges += sum(each.merged for each in reply.value.continuations)
        elif isinstance(reply.value, Masses):
            self.truncated += reply.value.truncated
        if self.oldest_answer is None or reply.answered_at < self.oldest_answer:
            self.oldest_answer = reply.answered_at


@dataclass(frozen=True, slots=True)
class Held:
    """Dialogues that have come to their end: the scores in the dialogues' order."""

    items: tuple[ItemScores, ...]
    tally: Tally


def hold(dialogues: Sequence[Dialogue], backend: Backend, progress: Progress | None = None) -> Held:
    """Hold all dialogues with one model, in rounds, until each has returned its scores.

    Raises ModelError as `run` does, and for a dialogue that wants a judge: none is there.
    """
    rounds = _Rounds(backend, progress)
    scores: dict[int, ItemScores] = {}
    asking: dict[int, tuple[Request, ...]] = {}

    def advance(place: int, replies: Sequence[Reply] | None) -> None:
        try:
            # A dialogue that has not begun is sent None, as every generator.
            role, requests = dialogues[place].send(replies)  # type: ignore[arg-type]
        except StopIteration as end:
            scores[place] = end.value
            return
        if role != "model":
            raise ModelError(f"a metric asks a {role}, and none is set: only the model itself can be asked")
        asking[place] = tuple(requests)

    for place in range(len(dialogues)):
        advance(place, None)
    while asking:
        answers = rounds.ask(asking)
        asking = {}
        for place, replies in answers.items():
            advance(place, replies)
    return Held(tuple(scores[place] for place in range(len(dialogues))), rounds.tally)


@dataclass(slots=True)
class _Rounds:
    """One round of questions to the backend after another, counted through."""

    backend: Backend
    progress: Progress | None
    tally: Tally = field(default_factory=Tally)
    total: int = 0

    def ask(self, asking: Mapping[int, Sequence[Request]]) -> dict[int, list[Reply]]:
        """The replies to the requests of each place, in the requests' order."""
        self._refuse({type(request) for requests in asking.values() for request in requests})
        slots: dict[Request, list[tuple[int, int]]] = {}
        for place, requests in asking.items():
            for index, request in enumerate(requests):
                slots.setdefault(request, []).append((place, index))
        wanted = [request for requests in asking.values() for request in requests]
        self.total += len(wanted)
        self._report()
        replies: dict[int, dict[int, Reply]] = {place: {} for place in asking}
        for reply in self._drain(wanted):
            if not slots.get(reply.request):
                raise self._failed("it answered what it was not asked, or answered twice")
            place, index = slots[reply.request].pop(0)
            replies[place][index] = reply
            self.tally.add(reply)
            self._report()
        if self.tally.requests < self.total:
            raise self._failed("it stopped before every request had its reply")
        return {place: [found[index] for index in sorted(found)] for place, found in replies.items()}

    def _drain(self, wanted: Sequence[Request]) -> Iterator[Reply]:
        if not wanted:
            return
        try:
            yield from self.backend.answer(wanted)
        except (StoreError, UsageError):
            raise
        except Exception as error:
            if isinstance(error, ModelError) and self.tally.requests == 0:
                raise
            raise self._failed(_in_words(error)) from error

    def _refuse(self, kinds: Iterable[type[Request]]) -> None:
        for kind in sorted(kinds, key=lambda kind: kind.__name__):
            reason = self.backend.refuses(kind)
            if reason is not None:
                raise ModelError(f"{self.backend.identity().name} cannot be asked for this: {reason}")

    def _failed(self, why: str) -> ModelError:
        return ModelError(
            f"{self.backend.identity().name} failed: {why}."
            f" {self.tally.requests} of {self.total} requests were answered; a run with the same"
            " cache asks only for the rest"
        )

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self.tally.requests, self.total)


def _in_words(error: Exception) -> str:
    text = str(error).rstrip(". \n")
    if isinstance(error, ModelError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _facts(before: Facts | None, after: Facts | None) -> tuple[Facts | None, float]:
    """The facts with the seconds of loading that fell into this run: 0 where the model was loaded before."""
    if after is None:
        return None, 0.0
    # A backend adds up the seconds of its whole life, and an earlier benchmark may have had some of them.
    seconds_load = max(0.0, after.seconds_load - (before.seconds_load if before else 0.0))
    return replace(after, seconds_load=seconds_load), seconds_load


def _counts(held: Held, questions: QuestionSet) -> Counts:
    tally = held.tally
    return Counts(
        requests=tally.requests,
        retries=tally.retries,
        cached=tally.cached,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        tied_best=sum(item.tied_best for item in held.items),
        degenerate=sum(bool(item.degenerate) for item in held.items),
        truncated=tally.truncated,
        boundary_merges=tally.boundary_merges,
        dropped_choices=questions.counts["dropped_choices"],
        data={name: n for name, n in questions.counts.items() if n and name != "dropped_choices"},
    )


def _recorded(settings: BenchmarkSettings, model: ModelSettings, selection: Selection) -> Mapping[str, object]:
    return {
        "prompt": settings.prompt,
        "normalization": settings.normalization,
        "closing_period": settings.closing_period,
        "chat_template": model.chat_template,
        "system_prompt": model.system_prompt,
        "limit": selection.limit,
        "sample": selection.sample,
        "seed": selection.seed,
        "batch_tokens": model.batch_tokens,
        "scorer": model.scorer,
    }
