"""A backend whose every question is on record, and what tests in several processes do with it."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from truthguard.backends.cached import CachedBackend
from truthguard.backends.protocol import ContinuationScore, Generate, Masses, Reply, Request, Score, Scores, Text, Usage
from truthguard.records import Counts, Facts, Identity, ItemScores, Run
from truthguard.store.answers import AnswerStore, fingerprint, request_key
from truthguard.store.session import SessionStore

IDENTITY = Identity(name="fake", kind="scripted", digest="0" * 64, libraries={"fake": "1"})
FACTS = Facts(scorer="packed", reason="agrees with plain", largest_difference=1e-6, seconds_load=2.5)
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = "ab" * 32


def reply_to(request: Request) -> Reply:
    """The same reply to the same request, always."""
    if isinstance(request, Score):
        each = tuple(ContinuationScore(-float(len(text)), len(text)) for text in request.continuations)
        return Reply(request, MOMENT, value=Scores(each), usage=Usage(prompt_tokens=10, completion_tokens=1))
    if isinstance(request, Generate):
        return Reply(request, MOMENT, value=Text(f"{request.context}", "stop"), usage=Usage(5, 5))
    masses = tuple(-float(len(group)) for group in request.groups)
    return Reply(request, MOMENT, value=Masses(masses), usage=Usage(prompt_tokens=5))


class FakeBackend:
    """Answers by `reply`; `asked` and, where one is given, the file `log` tell what it was asked."""

    def __init__(
        self,
        reply: Callable[[Request], Reply] = reply_to,
        *,
        identity: Identity = IDENTITY,
        refusal: str | None = None,
        log: Path | None = None,
        seconds: float = 0.0,
        backwards: bool = False,
    ) -> None:
        self._reply = reply
        self._identity = identity
        self._refusal = refusal
        self._log = log
        self._seconds = seconds
        self._backwards = backwards
        self.asked: list[Request] = []
        self.calls = 0
        self.loaded = False
        self.closed = 0

    def identity(self) -> Identity:
        return self._identity

    def refuses(self, kind: type[Request]) -> str | None:
        return self._refusal

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        self.calls += 1
        for request in reversed(list(requests)) if self._backwards else requests:
            self.loaded = True
            self.asked.append(request)
            time.sleep(self._seconds)
            if self._log:
                with self._log.open("a") as log:
                    log.write(f"{request.context}\n")
            yield self._reply(request)

    def facts(self) -> Facts | None:
        return FACTS if self.loaded else None

    def close(self) -> None:
        self.closed += 1
        self.loaded = False


def requests(count: int) -> list[Request]:
    return [Score(f"question {number}", (" yes", " certainly")) for number in range(count)]


def asked(log: Path) -> list[str]:
    """The contexts that any process asked about, in order."""
    return log.read_text().splitlines() if log.exists() else []


def contents(path: Path) -> list[tuple[object, ...]]:
    """Every row of every table of a store, sorted."""
    connection = sqlite3.connect(path)
    try:
        tables = ("answers", "facts", "digests")
        return sorted((row for table in tables for row in connection.execute(f"SELECT * FROM {table}")), key=repr)
    finally:
        connection.close()


def put_all(store: AnswerStore, count: int) -> list[bytes]:
    """Keep the replies to `count` requests; their keys."""
    keys = [request_key(fingerprint(IDENTITY), request) for request in requests(count)]
    for key, request in zip(keys, requests(count), strict=True):
        store.put(key, reply_to(request))
    return keys


def run_of(replies: Sequence[Reply]) -> Run:
    """A run that is made of these replies."""
    scored = tuple(ItemScores(str(reply.request.context), "all", "?", {"mc1": 1.0}) for reply in replies)
    ordered = tuple(sorted(scored, key=lambda item: item.id))
    return Run("b", None, "d", "f", IDENTITY, {}, None, Counts(len(ordered)), 0.0, 0.0, MOMENT, True, ordered)


# What other processes do; each is started anew and imports this module.


def measure(home: Path, count: int, seconds: float) -> None:
    """Ask `count` requests through the shared stores, as one process of a session does."""
    store = AnswerStore(home / "answers.sqlite3")
    backend = CachedBackend(IDENTITY, lambda: FakeBackend(log=home / "log", seconds=seconds), store)
    session = SessionStore(home / "session", claims=home / "claims")
    run = session.run_once(KEY, lambda: run_of(list(backend.answer(requests(count)))))
    (home / f"done-{os.getpid()}").write_text(str(len(run.items)))


def write_answers(path: Path, writer: int, count: int) -> None:
    """Put `count` replies of this writer's own, one by one, and read each back."""
    store = AnswerStore(path)
    identity = fingerprint(replace(IDENTITY, name=f"writer {writer}"))
    for request in requests(count):
        key = request_key(identity, request)
        store.put(key, reply_to(request))
        if key not in store.get_many([key]):
            raise AssertionError("a committed reply is not there")


def open_store(path: Path, told: Path) -> None:
    """Open a store and leave its warnings."""
    told.write_text("\n".join(AnswerStore(path).warnings))


def die_after_writing(path: Path, count: int) -> None:
    """Commit replies to a store of the session's own, then die by SIGKILL."""
    store = AnswerStore(path, durable=False)
    for request in requests(count):
        store.put(request_key(fingerprint(IDENTITY), request), reply_to(request))
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_writing(path: Path) -> None:
    """Commit two replies, then die by SIGKILL with the third half written into the file."""
    store = AnswerStore(path)
    identity = fingerprint(IDENTITY)
    for request in requests(2):
        store.put(request_key(identity, request), reply_to(request))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    row = (request_key(identity, requests(3)[2]), "2026", "Scores", bytes(200_000), b"{}")
    connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("INSERT INTO digests VALUES (?, 1, 1, ?)", (b"x" * 200_000, "y"))
    os.kill(os.getpid(), signal.SIGKILL)
