"""Backends that ask a scripted server, quick to try again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.backends.scripted_server import ScriptedServer
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.openai_retry import Patience
from truthguard.backends.openai_traffic import Budget
from truthguard.backends.protocol import Generate, Reply, Text
from truthguard.records import ModelSettings

HASTY = Patience(first=0.001, most=0.002)


@contextmanager
def asking(
    server: ScriptedServer,
    *,
    allowed_hosts: tuple[str, ...] = (),
    patience: Patience = HASTY,
    budget: Budget | None = None,
    **options: Any,
) -> Iterator[OpenAIBackend]:
    """A backend for the model `m` of a server; closed at the end."""
    settings = ModelSettings(f"{server.url}#m", **options)
    identity = api_identity(settings)
    backend = OpenAIBackend(settings, identity, allowed_hosts=allowed_hosts, patience=patience, budget=budget)
    try:
        yield backend
    finally:
        backend.close()


def greedy(number: int = 0) -> Generate:
    return Generate(f"question {number}", max_tokens=20)


def samples(count: int, context: str = "judge this", first: int = 0) -> list[Generate]:
    return [
        Generate(context, max_tokens=20, temperature=0.7, seed=100 + index, sample=index)
        for index in range(first, first + count)
    ]


def texts(replies: list[Reply]) -> list[str]:
    """The texts by sample; fails where one is missing."""
    found = []
    for reply in sorted(replies, key=lambda reply: getattr(reply.request, "sample", 0)):
        assert isinstance(reply.value, Text), reply.missing
        found.append(reply.value.text)
    return found


def kinds(replies: list[Reply]) -> list[str]:
    """The kinds of the missing replies."""
    return [reply.missing.kind for reply in replies if reply.missing is not None]
