"""A causal language model on this machine, loaded when the first answer is needed."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from truthguard.backends.assembly import Assembly, slices
from truthguard.backends.converted import converted
from truthguard.backends.generation import TextRow
from truthguard.backends.huggingface_engine import Engine
from truthguard.backends.huggingface_generation import Writer
from truthguard.backends.huggingface_placement import place
from truthguard.backends.huggingface_weights import free_memory, load
from truthguard.backends.protocol import Generate, Reply, Request, Usage
from truthguard.backends.tokens import Encoder
from truthguard.backends.work import Work
from truthguard.records import Facts, Identity, ModelSettings
from truthguard.store.weights import WeightsStore


@dataclass(slots=True)
class _Loaded:
    """What there is while the model is in memory, and what it was used for."""

    encoder: Encoder
    engine: Engine
    writer: Writer
    placed: str = ""
    scored: bool = False
    wrote: bool = False
    cut: int = 0


class HuggingFaceBackend:
    """Answers by log-probabilities, and with texts, of the model at `path`: a folder of safetensors or a .gguf file.

    `adapter` is the folder of what is merged into its weights. `kept` holds what .gguf files were converted to, so
    that each is converted once.
    """

    def __init__(
        self,
        settings: ModelSettings,
        path: Path,
        identity: Identity,
        *,
        adapter: Path | None = None,
        kept: WeightsStore | None = None,
    ) -> None:
        self._settings = settings
        self._path = path
        self._identity = identity
        self._adapter = adapter
        self._kept = kept
        self._loaded: _Loaded | None = None
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
        loaded = self._load()
        if scoring := [request for request in pending if not isinstance(request, Generate)]:
            yield from self._score(loaded, scoring)
        if writing := [request for request in pending if isinstance(request, Generate)]:
            yield from self._write(loaded, writing)

    @classmethod
    def _score(cls, loaded: _Loaded, requests: Sequence[Request]) -> Iterator[Reply]:
        loaded.scored = True
        for part in slices(requests):
            yield from cls._score_slice(loaded, part)

    @staticmethod
    def _score_slice(loaded: _Loaded, requests: Sequence[Request]) -> Iterator[Reply]:
        assembly = Assembly(loaded.encoder, requests)
        yield from assembly.settled()
        for truncated in (False, True):
            # A context that was cut does not begin like the others: it would leave them no common prefix.
            chosen = [number for number, cut in enumerate(assembly.truncated) if cut is truncated]
            rows = [assembly.rows[number] for number in chosen]
            groups = [assembly.groups[number] for number in chosen]
            for index, values in loaded.engine.values(rows, groups):
                yield from assembly.settle(chosen[index], values)

    @staticmethod
    def _write(loaded: _Loaded, requests: Sequence[Generate]) -> Iterator[Reply]:
        loaded.wrote = True
        rows: dict[bool, list[TextRow]] = {False: [], True: []}
        for request in requests:
            prompt = loaded.encoder.prompt(request.context, request.max_tokens)
            if prompt.missing is None:
                rows[prompt.truncated].append(TextRow(request, prompt))
            else:
                usage = Usage(prompt_tokens=len(prompt.tokens))
                yield Reply(request, datetime.now(UTC), missing=prompt.missing, usage=usage)
        loaded.cut += len(rows[True])
        for part in rows.values():
            for _, draft in loaded.writer.texts(part):
                yield draft.reply()

    @property
    def work(self) -> Work | None:
        """What scoring computed since the model was loaded; None where it is not."""
        return None if self._loaded is None else self._loaded.engine.work

    def facts(self) -> Facts | None:
        if self._loaded is not None:
            self._facts = self._facts_of(self._loaded)
        return self._facts

    def _facts_of(self, loaded: _Loaded) -> Facts:
        facts = self._answering(loaded)
        return replace(facts, reason=f"{facts.reason}; {loaded.placed}") if loaded.placed else facts

    def _answering(self, loaded: _Loaded) -> Facts:
        scoring = loaded.engine.facts(self._seconds_load)
        if not loaded.wrote:
            return scoring
        writer, reason = loaded.writer, loaded.writer.reason
        if loaded.cut:
            reason += f"; {loaded.cut} prompts were cut from the left to fit the window"
        seconds = scoring.seconds_load + writer.seconds_checking
        if not loaded.scored:
            return Facts(writer.path, reason, writer.difference, seconds)
        differences = [value for value in (scoring.largest_difference, writer.difference) if value is not None]
        return replace(
            scoring,
            reason=f"{scoring.reason}; {reason}",
            largest_difference=max(differences, default=None),
            seconds_load=seconds,
        )

    def close(self) -> None:
        if self._loaded is None:
            return
        self._facts = self._facts_of(self._loaded)
        self._seconds_load = self._facts.seconds_load  # the time of the checks goes with the model
        self._loaded = None
        gc.collect()
        free_memory()

    def _load(self) -> _Loaded:
        if self._loaded is None:
            started = time.perf_counter()
            settings, dtype = self._settings, self._identity.dtype
            with converted(self._path, name=settings.name, dtype=dtype, store=self._kept) as path:
                placement = place(settings.device, path, dtype, name=settings.name)
                weights = load(
                    path,
                    name=settings.name,
                    device=placement.device,
                    dtype=dtype,
                    room=placement.room,
                    adapter=self._adapter,
                )
            engine = Engine(
                weights.model,
                name=settings.name,
                dtype=dtype,
                scorer=settings.scorer,
                most_tokens=settings.batch_tokens,
            )
            writer = Writer(
                weights.model,
                weights.tokenizer.decode,
                weights.ends,
                name=settings.name,
                dtype=dtype,
                share=settings.scorer != "plain",
                most_tokens=engine.most_tokens,
            )
            self._loaded = _Loaded(Encoder(weights.tokenizer, weights.window), engine, writer, placement.note)
            self._seconds_load += time.perf_counter() - started
        return self._loaded
