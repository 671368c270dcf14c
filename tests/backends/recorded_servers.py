"""What real servers replied, kept in tests/golden/servers and replayed by the scripted server.

A recording holds requests of this backend and the literal replies to them. A request gets the reply to the recorded
one that it contains: a parameter more changes nothing, one that is lacking or has another value finds no reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.backends.openai_clients import HASTY
from tests.backends.scripted_server import Answer, Asked, ScriptedServer, refusal, serving
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.openai_retry import Patience
from truthguard.records import ModelSettings

FOLDER = Path(__file__).parent.parent / "golden" / "servers"
_ABSENT = object()


@dataclass(frozen=True)
class Exchange:
    """One request and the reply to it. A prompt of thousands of words is left out of `asked`."""

    path: str
    asked: dict[str, Any]
    answer: Answer

    def within(self, path: str, body: dict[str, Any]) -> bool:
        return path == self.path and self.asked.items() <= body.items()


@dataclass(frozen=True)
class Recording:
    """A server's list of models, and what it replied to what."""

    models: object
    exchanges: tuple[Exchange, ...]

    def answer(self, asked: Asked) -> Answer | None:
        """The reply to the most particular of the recorded requests that this one contains."""
        fitting = [exchange for exchange in self.exchanges if exchange.within(asked.path, asked.body)]
        return max(fitting, key=lambda exchange: len(exchange.asked)).answer if fitting else None

    def first(self, path: str, **asked: object) -> Answer:
        """The first reply to a request that has these parameters."""
        return next(
            exchange.answer
            for exchange in self.exchanges
            if exchange.path == path and asked.items() <= exchange.asked.items()
        )


def recording(name: str) -> Recording:
    kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    exchanges = [
        Exchange(each["path"], each["asked"], Answer(each["reply"], each["status"], each.get("headers", {})))
        for each in kept["exchanges"]
    ]
    return Recording(kept["models"], tuple(exchanges))


@contextmanager
def replaying(
    name: str,
    model: str = "smol",
    *,
    models: object = _ABSENT,
    otherwise: Callable[[Asked], Answer] | None = None,
    patience: Patience = HASTY,
    **options: Any,
) -> Iterator[tuple[ScriptedServer, OpenAIBackend]]:
    """A server that replies as recorded and a backend that asks it; fails at the end for what is not recorded.

    `models` is another list of models than the recorded one; `otherwise` answers what is not recorded.
    """
    kept = recording(name)
    unknown: list[Asked] = []

    def script(asked: Asked) -> Answer:
        if (answer := kept.answer(asked)) is not None:
            return answer
        if otherwise is not None:
            return otherwise(asked)
        unknown.append(asked)
        return refusal("not recorded", status=418)

    with serving(script, kept.models if models is _ABSENT else models) as server:
        settings = ModelSettings(f"{server.url}#{model}", **options)
        with closing(OpenAIBackend(settings, api_identity(settings), patience=patience)) as backend:
            yield server, backend
    assert not unknown, f"{name}.json has no reply to {[(asked.path, asked.body) for asked in unknown]}"
