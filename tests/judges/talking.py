"""Dialogues driven by lists: what is asked in each round is noted, what is said comes from the test."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from truthguard.backends.protocol import Generate, Masses, Reply, Request, Scores, Text
from truthguard.records import Missing

T = TypeVar("T")
Said = Text | Masses | Scores | Missing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOWN = Missing("failed", "the server did not answer")


def said(text: str, finish_reason: str = "stop") -> Text:
    return Text(text, finish_reason)


YES, NO, UNSURE = said("Checked. Verdict: yes"), said("One is wrong. Verdict: no"), said("Verdict: unsure")


def replies(requests: Sequence[Request], values: Sequence[Said]) -> list[Reply]:
    return [
        Reply(request, NOW, missing=value) if isinstance(value, Missing) else Reply(request, NOW, value=value)
        for request, value in zip(requests, values, strict=True)
    ]


def talk(
    asking: Generator[Sequence[Request], Sequence[Reply], T], *rounds: Sequence[Said]
) -> tuple[list[list[Request]], T]:
    """The requests of each round, and what the dialogue found; it must end exactly after the rounds given."""
    asked: list[list[Request]] = []
    left = list(rounds)
    try:
        requests = next(asking)
        while True:
            asked.append(list(requests))
            assert left, f"round {len(asked)} was not expected: {requests}"
            requests = asking.send(replies(requests, left.pop(0)))
    except StopIteration as end:
        assert not left, f"{len(left)} rounds were not asked for"
        found: T = end.value
        return asked, found


def written(request: Request) -> Generate:
    """The request as one for a text."""
    assert isinstance(request, Generate)
    return request
