"""A backend around a backend: every reply is kept as it arrives, and what is kept is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from truthguard.backends.protocol import NO_USAGE, Backend, Reply, Request
from truthguard.errors import ModelError
from truthguard.records import Facts, Identity
from truthguard.store.answers import AnswerStore, KeptAnswer, fingerprint, request_key

# A model without a digest (a name at a server) may change under us: its answers serve for this long by default.
MAX_AGE = timedelta(hours=12)


class CachedBackend:
    """Answers from `store` first, in one sweep, and asks the inner backend for what is missing, all at once.

    `open_inner` makes the inner backend when something must be asked of it; making it loads no model. A reply
    without a value is passed on and not kept, so it is asked for again. Of equal requests in one call one is
    asked; the others' replies, like those from the store, are marked `cached`, and took nothing. A reply from the
    store took what it took when it was made. What a model without a digest answered serves while it is not older
    than `max_age` was at the last `begin`, or now where there was none.
    """

    def __init__(
        self,
        identity: Identity,
        open_inner: Callable[[], Backend],
        store: AnswerStore,
        *,
        max_age: timedelta = MAX_AGE,
    ) -> None:
        self._identity = identity
        self._open_inner = open_inner
        self._store = store
        self._max_age = max_age
        self._begun: datetime | None = None
        self._fingerprint = fingerprint(identity)
        self._inner: Backend | None = None
        self._facts: Facts | None = None

    def identity(self) -> Identity:
        """What decides the inner backend's answers. Loads nothing."""
        return self._identity

    def begin(self, moment: datetime) -> None:
        """A run that was begun at `moment` asks from now on: what served then serves until the next one begins."""
        self._begun = moment

    def refuses(self, kind: type[Request]) -> str | None:
        """None: what is kept is answered whatever the inner backend can do, and to ask it may cost a request.

        What it refuses is an error once something is missing that it would be asked for.
        """
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request: first those that are kept, then the others as they arrive.

        Raises ModelError, before the first reply, where the inner backend refuses a kind of those that are missing.
        """
        asked = list(requests)
        keys = {request: request_key(self._fingerprint, request) for request in asked}
        kept = self._store.get_many(keys.values())
        ready: dict[Request, list[Reply]] = {}
        waiting: dict[Request, list[Request]] = {}
        for request in asked:
            answer = kept.get(keys[request])
            if answer is None or self._outdated(answer):
                waiting.setdefault(request, []).append(request)
            else:
                reply = Reply(request, answer.answered_at, value=answer.value, usage=answer.usage, cached=True)
                equal = ready.setdefault(request, [])
                equal.append(replace(reply, usage=NO_USAGE) if equal else reply)
        self._refuse({type(request) for request in waiting})
        for replies in ready.values():
            yield from replies
        if waiting:
            yield from self._ask(waiting, keys)

    def facts(self) -> Facts | None:
        """What was learnt when this model answered, in this session or, where nothing was asked, before.

        In the latter case nothing was loaded: `seconds_load` is 0.
        """
        if self._facts is not None:
            return self._facts
        earlier = self._store.facts(self._fingerprint)
        return earlier and replace(earlier, seconds_load=0.0)

    def close(self) -> None:
        """Free the inner backend's memory."""
        if self._inner is not None:
            self._inner.close()
        self._inner = self._facts = None

    def _refuse(self, kinds: Iterable[type[Request]]) -> None:
        for kind in sorted(kinds, key=lambda kind: kind.__name__):
            reason = self._opened().refuses(kind)
            if reason is not None:
                raise ModelError(f"{self._identity.name} cannot be asked for this: {reason}")

    def _ask(self, waiting: dict[Request, list[Request]], keys: dict[Request, bytes]) -> Iterator[Reply]:
        for reply in self._opened().answer(list(waiting)):
            self._learn()
            if reply.value is not None:
                self._store.put(keys[reply.request], reply)
            first, *equal = waiting.pop(reply.request)
            yield replace(reply, request=first)
            for request in equal:
                yield replace(reply, request=request, usage=NO_USAGE, cached=True)

    def _learn(self) -> None:
        """Keep the facts before the reply: whoever finds all answers finds the facts, too."""
        facts = self._opened().facts()
        if facts is not None and facts != self._facts:
            self._store.put_facts(self._fingerprint, facts)
            self._facts = facts

    def _opened(self) -> Backend:
        if self._inner is None:
            self._inner = self._open_inner()
        return self._inner

    def _outdated(self, answer: KeptAnswer) -> bool:
        if self._identity.digest is not None:
            return False
        return (self._begun or datetime.now(UTC)) - answer.answered_at > self._max_age
