"""A model behind any OpenAI-compatible server: OpenAI, vLLM, llama.cpp's server, transformers serve, LiteLLM.

Written answers are asked at /chat/completions. Next-token probabilities come from the server's list of likeliest
tokens, at /completions for text prompts where it has that. Log-likelihoods are given where a probe proves them.
What a server refuses is learnt once and stands in the facts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from truthguard.backends.openai_chat import Emit, Writer, sample_groups
from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import Features
from truthguard.backends.openai_keys import Secret, api_identity, find_endpoint, find_key, is_api
from truthguard.backends.openai_loop import BackgroundLoop, Job
from truthguard.backends.openai_masses import Asker
from truthguard.backends.openai_retry import Patience
from truthguard.backends.openai_scoring import NO_TURNS, Scorer
from truthguard.backends.openai_sending import Sender, make_client
from truthguard.backends.openai_tokenizer import ServerTokenizer
from truthguard.backends.openai_tokens import VllmForms
from truthguard.backends.openai_traffic import Budget, OwnBudget, Slots, Traffic
from truthguard.backends.protocol import Generate, NextToken, Reply, Request, Score, Text
from truthguard.errors import ModelError
from truthguard.records import Facts, Identity, ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIBackend", "api_identity", "is_api"]


class OpenAIBackend:
    """Asks a server, `concurrency` requests at a time, in an event loop of its own.

    `allowed_hosts` are the hosts besides OpenAI's own that may get the key that `api_key_env` names; they come
    from the person at the command line, never from a file. Making the backend sends nothing. Prompts for
    log-likelihoods go as token ids where the server's tokenizer is known, unless `by_ids` is False.

    What was learnt belongs to this object and outlives `close`: whoever wants it to hold for a session keeps the
    object and asks it again. So does what was spent of `max_requests`, unless a `budget` of that many is given,
    which others may spend as well. `slots` are what bounds the requests under way of all who share them.
    """

    def __init__(
        self,
        settings: ModelSettings,
        identity: Identity,
        *,
        allowed_hosts: tuple[str, ...] = (),
        patience: Patience | None = None,
        by_ids: bool = True,
        budget: Budget | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._settings = settings
        self._identity = identity
        self._allowed_hosts = allowed_hosts
        self._patience = patience or Patience()
        self._by_ids = by_ids
        self._endpoint = find_endpoint(settings.name, os.environ)
        self._features = Features(self._endpoint.base_url)
        self._slots = slots
        self._traffic = Traffic(budget or OwnBudget(settings.max_requests))
        self._connection: _Connection | None = None
        self._key: Secret | None = None
        self._replied = False

    def identity(self) -> Identity:
        return self._identity

    def refuses(self, kind: type[Request]) -> str | None:
        """Log-likelihoods are refused unless the server proves that it gives them; this sends a probe, once."""
        if kind is not Score:
            return None
        if self._settings.chat_template:
            return NO_TURNS
        connection = self._connected()
        return connection.loop.run(connection.scorer.refusal())

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request, as they arrive.

        Raises UsageError where a key is lacking, ModelError where the server is not there or refuses everything.
        """
        asked = list(requests)
        if not asked:
            return
        connection = self._connected()
        try:
            for reply in connection.loop.stream(connection.jobs(asked), self._settings.concurrency):
                self._replied = True
                yield self._scrubbed(reply)
        except ModelError:
            self.close()
            raise

    def facts(self) -> Facts | None:
        """Which way log-likelihoods came, if any, and what the server was found unable to do."""
        if not self._replied:
            return None
        told = "; ".join(self._features.notes()) or "the server took every parameter"
        return Facts(self._features.scoring or "api", self._key.scrub(told) if self._key else told)

    def close(self) -> None:
        """End the connections, the loop and its thread. What was learnt and what was spent are kept."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connected(self) -> _Connection:
        if self._connection is None:
            self._key = find_key(self._endpoint, self._settings, self._allowed_hosts, os.environ)
            loop = BackgroundLoop()
            try:
                self._connection = loop.run(self._connect(loop))
            except BaseException:
                loop.close()
                raise
        return self._connection

    async def _connect(self, loop: BackgroundLoop) -> _Connection:
        """Make what lives in the loop, and ask once which models there are."""
        settings, endpoint, features = self._settings, self._endpoint, self._features
        client = make_client(endpoint, self._key, settings.timeout_seconds, settings.concurrency)
        sender = Sender(
            client,
            endpoint,
            features,
            self._traffic,
            key=self._key,
            concurrency=settings.concurrency,
            timeout_seconds=settings.timeout_seconds,
            patience=self._patience,
            shared=self._slots,
        )
        if not self._traffic.listed:
            self._traffic.listed = True
            try:
                features.read_models(await sender.list_models(), endpoint.model)
            except Unanswered:
                features.note("models", "the server gives no list of models")
        tokenizer = ServerTokenizer(sender, endpoint.model, endpoint.base_url)
        return _Connection(
            loop,
            client,
            Writer(sender, features, endpoint.model),
            Asker(sender, features, endpoint.model, VllmForms(tokenizer, features)),
            Scorer(sender, features, endpoint.model, tokenizer if self._by_ids else None),
        )

    def _scrubbed(self, reply: Reply) -> Reply:
        """A model can be made to repeat what its server was sent: no reply leaves with the key in it."""
        if self._key is None:
            return reply
        scrub = self._key.scrub
        if reply.missing is not None:
            return replace(reply, missing=replace(reply.missing, detail=scrub(reply.missing.detail)))
        if isinstance(reply.value, Text):
            value = replace(reply.value, text=scrub(reply.value.text), finish_reason=scrub(reply.value.finish_reason))
            return replace(reply, value=value)
        return reply


@dataclass(frozen=True, slots=True)
class _Connection:
    """A loop, the client in it and the three who ask through it."""

    loop: BackgroundLoop
    client: AsyncOpenAI
    writer: Writer
    asker: Asker
    scorer: Scorer

    def jobs(self, requests: Sequence[Request]) -> list[Job[Reply]]:
        """What is to be done, in the requests' order; samples of one prompt are one job."""
        jobs: list[Job[Reply]] = []
        for request in requests:
            if isinstance(request, Score):
                jobs.append(_job(self.scorer.score, request))
            elif isinstance(request, NextToken):
                jobs.append(_job(self.asker.ask, request))
        written = [request for request in requests if isinstance(request, Generate)]
        return jobs + [_job(self.writer.write, group) for group in sample_groups(written)]

    def close(self) -> None:
        try:
            self.loop.run(self.client.close())
        finally:
            self.loop.close()


def _job(ask: Callable[..., object], request: object) -> Job[Reply]:
    async def job(emit: Emit) -> None:
        await ask(request, emit)  # type: ignore[misc]

    return job
