"""The dialogues of many items, held at once with a model and a judge.

The requests of all dialogues are gathered by role, so a backend sees many at once; the replies go back to each
dialogue in the order in which it asked, and so on in rounds until every item has its scores. All that is asked of
the model comes before anything that is asked of the judge. Where the judge is another model of this machine, the
first is closed before the second loads, so that both fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from truthguard.backends.protocol import NO_USAGE, Backend, Generate, Masses, Reply, Request, Scores, Usage
from truthguard.benchmarks.base import Dialogue, Role
from truthguard.errors import ModelError, StoreError, UsageError
from truthguard.records import Counts, Facts, ItemScores, Missing

# Why a backend stopped asking: what it left out can be had later, and is no property of the items.
STOPS = frozenset(["max_requests", "rate_limited", "quota", "unreachable"])
# How many of how many requests are answered; the total grows when dialogues ask further.
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Tally:
    """What the replies of a run amount to.

    `usage` is what they took when they were made, kept ones included; `cached` of its requests were those of kept
    ones.
    """

    replies: int = 0
    usage: Usage = NO_USAGE
    cached: int = 0
    truncated: int = 0
    boundary_merges: int = 0
    oldest_answer: datetime | None = None
    # What is still lacking because a backend stopped asking, by what was asked.
    _left_out: dict[Request, Missing] = field(default_factory=dict, init=False)

    @property
    def stopped(self) -> Missing | None:
        """Why replies are lacking that can be had later; None where a later attempt brought each of them."""
        return next(iter(self._left_out.values()), None)

    def add(self, reply: Reply) -> None:
        """Count a reply."""
        self.replies += 1
        self.usage += reply.usage
        self.cached += reply.usage.requests if reply.cached else 0
        if isinstance(reply.value, Scores):
            self.truncated += sum(each.truncated for each in reply.value.continuations)
            self.boundary_merges += sum(each.merged for each in reply.value.continuations)
        elif isinstance(reply.value, Masses):
            self.truncated += reply.value.truncated
        self._left_out.pop(_asked(reply.request), None)
        if reply.missing is not None and reply.missing.kind in STOPS:
            self._left_out[_asked(reply.request)] = reply.missing
        if self.oldest_answer is None or reply.answered_at < self.oldest_answer:
            self.oldest_answer = reply.answered_at

    def counts(self) -> Counts:
        """The part of a run's counts that its traffic decides."""
        return Counts(
            requests=self.usage.requests,
            retries=self.usage.retries,
            cached=self.cached,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            truncated=self.truncated,
            boundary_merges=self.boundary_merges,
        )


@dataclass(slots=True)
class Part:
    """What one role's part of a run took; `seconds` of answering, without those of loading."""

    tally: Tally = field(default_factory=Tally)
    total: int = 0
    facts: Facts | None = None
    seconds: float = 0.0
    seconds_load: float = 0.0


@dataclass(frozen=True, slots=True)
class Held:
    """Dialogues that have come to their end: the scores in the dialogues' order, and what each role took."""

    items: tuple[ItemScores, ...]
    model: Part
    judge: Part


def hold(
    dialogues: Sequence[Dialogue],
    backend: Backend | None,
    progress: Progress | None = None,
    judge: Backend | None = None,
) -> Held:
    """Hold all dialogues with one model and one judge, in rounds, until each has returned its scores.

    As long as any dialogue wants the model, the judge waits. Raises ModelError as `run` does, and for a dialogue
    that asks someone who is not there.
    """
    rounds = _Rounds({"model": backend, "judge": judge}, progress)
    scores: dict[int, ItemScores] = {}
    asking: dict[Role, dict[int, tuple[Request, ...]]] = {"model": {}, "judge": {}}

    def advance(place: int, replies: Sequence[Reply] | None) -> None:
        try:
            # A dialogue that has not begun is sent None, as every generator.
            role, requests = dialogues[place].send(replies)  # type: ignore[arg-type]
        except StopIteration as end:
            scores[place] = end.value
            return
        rounds.expect(role)
        asking[role][place] = tuple(requests)

    for place in range(len(dialogues)):
        advance(place, None)
    while role := next((role for role, wanted in asking.items() if wanted), None):
        wanted, asking[role] = asking[role], {}
        for place, replies in rounds.ask(role, wanted).items():
            advance(place, replies)
    return Held(tuple(scores[place] for place in range(len(dialogues))), rounds.parts["model"], rounds.parts["judge"])


_ABSENT: Mapping[Role, str] = {
    "model": "a metric asks the model, and none is named",
    "judge": "a metric asks a judge, and none is set: name its model in [judge] or with --truthguard-judge",
}


class _Rounds:
    """One round of questions after another, to one role at a time, counted through."""

    def __init__(self, backends: Mapping[Role, Backend | None], progress: Progress | None) -> None:
        self._backends = backends
        self._progress = progress
        self.parts: dict[Role, Part] = {"model": Part(), "judge": Part()}

    def expect(self, role: Role) -> Backend:
        """The backend of the role; ModelError when nobody is there."""
        backend = self._backends[role]
        if backend is None:
            raise ModelError(_ABSENT[role])
        return backend

    def ask(self, role: Role, asking: Mapping[int, Sequence[Request]]) -> dict[int, list[Reply]]:
        """The replies to the requests of each place, in the requests' order."""
        backend, part = self.expect(role), self.parts[role]
        self._refuse(backend, {type(request) for requests in asking.values() for request in requests})
        slots: dict[Request, list[tuple[int, int]]] = {}
        for place, requests in asking.items():
            for index, request in enumerate(requests):
                slots.setdefault(request, []).append((place, index))
        wanted = [request for requests in asking.values() for request in requests]
        part.total += len(wanted)
        self._report()
        replies: dict[int, dict[int, Reply]] = {place: {} for place in asking}
        for reply in self._timed(role, wanted):
            if not slots.get(reply.request):
                raise _failed(backend, part, "it answered what it was not asked, or answered twice")
            place, index = slots[reply.request].pop(0)
            replies[place][index] = reply
            part.tally.add(reply)
            self._report()
        if part.tally.replies < part.total:
            raise _failed(backend, part, "it stopped before every request had its reply")
        return {place: [found[index] for index in sorted(found)] for place, found in replies.items()}

    def _timed(self, role: Role, wanted: Sequence[Request]) -> Iterator[Reply]:
        """The replies, with what they took and the seconds of loading among it noted in the role's part."""
        if not wanted:
            return
        backend, part = self.expect(role), self.parts[role]
        self._make_room(role)
        before, start = backend.facts(), time.perf_counter()
        yield from _drain(backend, part, wanted)
        seconds = time.perf_counter() - start
        after = backend.facts()
        if after is not None:
            # Seconds of loading add up while a model is open, and begin anew when it is loaded anew.
            earlier = before.seconds_load if before is not None else 0.0
            loading = after.seconds_load - (earlier if earlier <= after.seconds_load else 0.0)
            part.seconds_load += loading
            part.facts = replace(after, seconds_load=part.seconds_load)
            seconds -= loading
        part.seconds += max(0.0, seconds)

    def _make_room(self, role: Role) -> None:
        """Two models of this machine need not fit into its memory together."""
        backend = self.expect(role)
        if backend.identity().kind != "huggingface":
            return
        for other in self._backends.values():
            # A server takes no memory here, and what was learnt of it, and its budget, go on.
            if other is not None and other is not backend and other.identity().kind == "huggingface":
                other.close()

    def _refuse(self, backend: Backend, kinds: Iterable[type[Request]]) -> None:
        for kind in sorted(kinds, key=lambda kind: kind.__name__):
            reason = backend.refuses(kind)
            if reason is not None:
                raise ModelError(f"{backend.identity().name} cannot be asked for this: {reason}")

    def _report(self) -> None:
        if self._progress is not None:
            parts = self.parts.values()
            self._progress(sum(part.tally.replies for part in parts), sum(part.total for part in parts))


def _asked(request: Request) -> Request:
    """What a further attempt asks again, however often and with whatever budget."""
    return replace(request, attempt=0, max_tokens=0) if isinstance(request, Generate) else request


def _drain(backend: Backend, part: Part, wanted: Sequence[Request]) -> Iterator[Reply]:
    try:
        yield from backend.answer(wanted)
    except (StoreError, UsageError):
        raise
    except Exception as error:
        if isinstance(error, ModelError) and part.tally.replies == 0:
            raise
        raise _failed(backend, part, _in_words(error)) from error


def _failed(backend: Backend, part: Part, why: str) -> ModelError:
    return ModelError(
        f"{backend.identity().name} failed: {why}."
        f" {part.tally.replies} of {part.total} requests were answered; a run with the same"
        " cache asks only for the rest"
    )


def _in_words(error: Exception) -> str:
    text = str(error).rstrip(". \n")
    if isinstance(error, ModelError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
