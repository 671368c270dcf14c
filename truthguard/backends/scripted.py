"""Answers from a Python callable: for tests, and for dry runs of a gate without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from truthguard.backends.protocol import Generate, Masses, Reply, Request, Score, Scores, Text
from truthguard.errors import ModelError
from truthguard.records import Facts, Identity, Missing

Handler = Callable[[Request], object]


class ScriptedBackend:
    """Asks `handler` for each request, in order. It returns Scores for a Score, Masses for a NextToken, or Missing.

    An answer of another kind, or with another number of entries than was asked for, is a ModelError.
    """

    def __init__(self, handler: Handler, identity: Identity) -> None:
        self._handler = handler
        self._identity = identity
        self._answered = False

    def identity(self) -> Identity:
        return self._identity

    def refuses(self, kind: type[Request]) -> str | None:
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            answer = self._handler(request)
            self._answered = True
            now = datetime.now(UTC)
            if isinstance(answer, Missing):
                yield Reply(request, now, missing=answer)
            else:
                yield Reply(request, now, value=self._fitting(request, answer))

    def facts(self) -> Facts | None:
        return Facts("scripted", "answers come from a Python callable") if self._answered else None

    def close(self) -> None:
        """Nothing to free."""

    def _fitting(self, request: Request, answer: object) -> Scores | Masses | Text:
        if isinstance(request, Generate):
            if isinstance(answer, Text):
                return answer
            expected = "Text"
        elif isinstance(request, Score):
            if isinstance(answer, Scores) and len(answer.continuations) == len(request.continuations):
                return answer
            expected = f"Scores with {len(request.continuations)} continuations"
        else:
            if isinstance(answer, Masses) and len(answer.log_masses) == len(request.groups):
                return answer
            expected = f"Masses with {len(request.groups)} groups"
        kind = type(request).__name__
        raise ModelError(f"{self._identity.name}: expected {expected}, or Missing, for a {kind}; got {answer!r}")
