"""Texts by chat completions: the requests, and the reading of replies of every shape that servers send.

A text context is asked as one user message, turns as they are. What is sampled is said explicitly: servers have
defaults of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import CHAT, Features
from truthguard.backends.openai_sending import Sender
from truthguard.backends.openai_traffic import billed_tokens
from truthguard.backends.protocol import Context, Generate, Reply, Text, Usage
from truthguard.records import Missing

Emit = Callable[[Reply], None]

# A retry draws other numbers than its sample's first attempt, and than its neighbours' attempts.
_ATTEMPT_STRIDE = 1_000_003
_SEEDS = 2**31
# Characters from which on samples that are equal by chance would be strange.
_TELLING = 40
# Servers' words, in any case, for the reasons that are named in Text.
_SYNONYMS = {
    "stop": ("stop", "eos", "eos_token", "stop_sequence", "end_turn"),
    "length": ("length", "max_tokens", "model_length", "max_output_tokens", "token_limit"),
    "content_filter": ("content_filter", "content-filter", "contentfilter", "safety"),
}
_REASONS = {word: reason for reason, words in _SYNONYMS.items() for word in words}


class Writer:
    """Answers Generate requests."""

    def __init__(self, sender: Sender, features: Features, model: str) -> None:
        self._sender = sender
        self._features = features
        self._model = model

    async def write(self, group: Sequence[Generate], emit: Emit) -> None:
        """Answer samples of one prompt (as `sample_groups` makes them): in one request where the server gives n.

        What the server does not give that way is asked for singly, each sample with its own seed.
        """
        texts: list[str] = []

        def keep(reply: Reply) -> None:
            if isinstance(reply.value, Text):
                texts.append(reply.value.text)
            emit(reply)

        rest = list(group)
        if len(rest) > 1 and not self._features.refuses(CHAT, "n"):
            rest = await self._together(rest, keep)
        await asyncio.gather(*(self._single(request, keep) for request in rest))
        if len(texts) > 1 and len(set(texts)) == 1 and len(texts[0]) >= _TELLING:
            self._features.note(
                "equal samples",
                "warning: samples of a prompt are equal: the server may ignore temperature or seed (transformers"
                " serve samples only where its generation_config says do_sample)",
            )

    async def _together(self, group: list[Generate], emit: Emit) -> list[Generate]:
        """Ask for all in one request; the samples that it did not bring. Surplus choices are dropped."""
        first = group[0]
        with self._sender.errand() as taken:
            try:
                data = await self._sender.post(CHAT, self._body(first) | {"n": len(group)})
            except Unanswered as error:
                for request in group:
                    emit(reply(request, error.missing, taken()))
                return []
            values = [read_text(choice, first) for choice in _choices(data)[: len(group)]]
            if len(values) < len(group):
                self._features.ignores_n()
            self._watch(first, values, data)
            for request, value in zip(group, values, strict=False):
                emit(reply(request, value, taken()))
        return group[len(values) :]

    async def _single(self, request: Generate, emit: Emit) -> None:
        with self._sender.errand() as taken:
            try:
                data = await self._sender.post(CHAT, self._body(request))
            except Unanswered as error:
                emit(reply(request, error.missing, taken()))
                return
            choices = _choices(data)
            value = read_text(choices[0], request) if choices else Missing("bad_reply", "the reply has no choices")
            self._watch(request, [value], data)
            emit(reply(request, value, taken()))

    def _watch(self, request: Generate, values: Sequence[Text | Missing], data: dict[str, Any]) -> None:
        """Note what the server does against the request's words, and who it says it is."""
        _, written = billed_tokens(data)
        if len(values) == 1 and written > request.max_tokens:
            self._features.note("max_tokens ignored", "max_tokens ignored: replies may be longer than asked")
        name = data.get("model")
        if isinstance(name, str) and name not in ("", self._model):
            self._features.note("answered by", f"replies come from the model {self._sender.shown(name)!r}")

    def _body(self, request: Generate) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages(request.context),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": (request.seed + _ATTEMPT_STRIDE * request.attempt) % _SEEDS,
            "stream": False,
        }
        return body | ({"stop": list(request.stop)} if request.stop else {})


def sample_groups(requests: Iterable[Generate]) -> list[tuple[Generate, ...]]:
    """Sampled requests that differ in sample and seed alone, together; each greedy one by itself."""
    groups: dict[object, list[Generate]] = {}
    for index, each in enumerate(requests):
        key: object = index
        if each.temperature > 0:
            key = (each.context, each.max_tokens, each.stop, each.temperature, each.top_p, each.attempt)
        groups.setdefault(key, []).append(each)
    return [tuple(group) for group in groups.values()]


def messages(context: Context) -> list[dict[str, str]]:
    if isinstance(context, str):
        return [{"role": "user", "content": context}]
    return [{"role": turn.role, "content": turn.content} for turn in context]


def read_text(choice: Any, request: Generate) -> Text | Missing:
    """The text of one choice and why it ended.

    A refusal is one whether the server says so in the field of that name or as the reason. Content that is null
    without a reason to be so is no empty answer: its reason is `no_content`. The text is cut before the first
    stop string, which some servers leave in or do not look for; one that a filter cut keeps that reason.
    """
    if not isinstance(choice, dict):
        return Missing("bad_reply", "the reply's choice is no object")
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    reason = choice.get("finish_reason")
    reason = _REASONS.get(reason.lower(), reason) if isinstance(reason, str) and reason else "stop"
    content = _content(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return Text(content or refusal, "refusal")
    if content is None:
        return Text("", "no_content" if reason == "stop" else reason)
    cut = min((place for stop in request.stop if (place := content.find(stop)) >= 0), default=None)
    if cut is None:
        return Text(content, reason)
    return Text(content[:cut], reason if reason == "content_filter" else "stop")


def _content(content: Any) -> str | None:
    """A message's text: a string, or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else None


def reply(request: Generate, value: Text | Missing, usage: Usage) -> Reply:
    if isinstance(value, Missing):
        return Reply(request, datetime.now(UTC), missing=value, usage=usage)
    return Reply(request, datetime.now(UTC), value=value, usage=usage)


def _choices(data: dict[str, Any]) -> list[Any]:
    choices = data.get("choices")
    return choices if isinstance(choices, list) else []
