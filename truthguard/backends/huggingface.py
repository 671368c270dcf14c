"""A causal language model on this machine, loaded when the first answer is needed."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from truthguard.backends.assembly import Assembly
from truthguard.backends.huggingface_engine import Engine
from truthguard.backends.huggingface_weights import choose_device, free_memory, load
from truthguard.backends.protocol import Reply, Request
from truthguard.backends.tokens import Encoder
from truthguard.records import Facts, Identity, ModelSettings


class HuggingFaceBackend:
    """Answers by log-probabilities of the model at `path`, a folder of safetensors or a .gguf file."""

    def __init__(self, settings: ModelSettings, path: Path, identity: Identity) -> None:
        self._settings = settings
        self._path = path
        self._identity = identity
        self._loaded: tuple[Encoder, Engine] | None = None
        self._facts: Facts | None = None
        self._seconds_load = 0.0

    def identity(self) -> Identity:
        return self._identity

    def refuses(self, kind: type[Request]) -> str | None:
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request, in order of completion: the passes follow what the requests share."""
        pending = list(requests)
        if not pending:
            return
        encoder, engine = self._load()
        assembly = Assembly(encoder, pending)
        yield from assembly.settled()
        for truncated in (False, True):
            # A context that was cut does not begin like the others: it would leave them no common prefix.
            chosen = [number for number, cut in enumerate(assembly.truncated) if cut is truncated]
            rows = [assembly.rows[number] for number in chosen]
            groups = [assembly.groups[number] for number in chosen]
            for index, values in engine.values(rows, groups):
                yield from assembly.settle(chosen[index], values)

    def facts(self) -> Facts | None:
        if self._loaded is not None:
            self._facts = self._loaded[1].facts(self._seconds_load)
        return self._facts

    def close(self) -> None:
        if self._loaded is None:
            return
        self._facts = self.facts()
        self._loaded = None
        gc.collect()
        free_memory()

    def _load(self) -> tuple[Encoder, Engine]:
        if self._loaded is None:
            started = time.perf_counter()
            settings, identity = self._settings, self._identity
            device = choose_device(settings.device)
            weights = load(self._path, name=settings.name, device=device, dtype=identity.dtype)
            engine = Engine(
                weights.model,
                name=settings.name,
                dtype=identity.dtype,
                scorer=settings.scorer,
                most_tokens=settings.batch_tokens,
            )
            self._loaded = (Encoder(weights.tokenizer, weights.window), engine)
            self._seconds_load += time.perf_counter() - started
        return self._loaded
