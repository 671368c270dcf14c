"""Next-token probabilities: a server's list of the likeliest tokens, or vLLM's answer for chosen ones.

A text context is asked at the completions endpoint, where the prompt is the text itself. Where the server has none,
or gives no log-probabilities there, it is asked in chat as one user message: another prompt, so the facts say so.
Which of the two is decided by the first reply and holds for all.
"""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from typing import Any

from truthguard.backends.openai_chat import Emit, messages
from truthguard.backends.openai_failures import Refused, Unanswered
from truthguard.backends.openai_features import CHAT, COMPLETIONS, Features
from truthguard.backends.openai_sending import Sender
from truthguard.backends.openai_tokens import VllmForms
from truthguard.backends.protocol import Masses, NextToken, Reply
from truthguard.metrics.choice import listed_masses
from truthguard.records import Missing

# (token text, natural-log probability)
Listed = list[tuple[str, float]]


class Asker:
    """Answers NextToken requests."""

    def __init__(self, sender: Sender, features: Features, model: str, forms: VllmForms) -> None:
        self._sender = sender
        self._features = features
        self._model = model
        self._forms = forms
        self._deciding = asyncio.Lock()

    async def ask(self, request: NextToken, emit: Emit) -> None:
        """Answer one request."""
        with self._sender.errand() as taken:
            try:
                value = await self._answer(request)
            except Unanswered as error:
                value = error.missing
            now, usage = datetime.now(UTC), taken()
            if isinstance(value, Missing):
                emit(Reply(request, now, missing=value, usage=usage))
            else:
                emit(Reply(request, now, value=value, usage=usage))

    async def _answer(self, request: NextToken) -> Masses | Missing:
        if not isinstance(request.context, str):
            return await self._by_path(CHAT, request)
        if self._features.text_path is None:
            async with self._deciding:
                if self._features.text_path is None:
                    return await self._decide(request)
        return await self._by_path(self._features.text_path, request)

    async def _decide(self, request: NextToken) -> Masses | Missing:
        """Ask the first text context, and keep which endpoint gives log-probabilities for it."""
        try:
            value = await self._by_path(COMPLETIONS, request)
        except Refused as error:
            why = error.missing
        except Unanswered as error:
            if error.missing.kind != "bad_request":
                raise
            why = error.missing
        else:
            if not isinstance(value, Missing) or value.kind != "no_logprobs":
                self._features.text_path = COMPLETIONS
                return value
            why = value
        self._features.text_path = CHAT
        self._features.note("text", f"text prompts are asked in chat, as one user message ({why.detail})")
        return await self._by_path(CHAT, request)

    async def _by_path(self, path: str, request: NextToken) -> Masses | Missing:
        forms = await self._forms.find(path, request.groups)
        if forms is not None:
            try:
                data = await self._sender.post(path, self._body(path, request) | forms.parameters(path))
            except Refused:
                if not self._features.refuses(path, "logprob_token_ids"):
                    raise
            else:
                if (masses := forms.read(list_first(data))) is not None:
                    self._features.note("exact" + path, "probabilities of the forms are exact (logprob_token_ids)")
                    return masses
                self._features.refuse(path, "logprob_token_ids", "ignored")
        asked = self._listing(path)
        listed = list_first(await self._sender.post(path, self._body(path, request) | asked))
        if not listed:
            words = ", ".join(f"{name}={value}" for name, value in asked.items())
            return self._features.lacks_logprobs(path, words)
        self._features.sees_logprobs(path)
        return _masses(listed, request)

    def _listing(self, path: str) -> dict[str, Any]:
        length = self._features.list_length()
        return {"logprobs": True, "top_logprobs": length} if path == CHAT else {"logprobs": length}

    def _body(self, path: str, request: NextToken) -> dict[str, Any]:
        """At temperature 1 and top_p 1 the distribution is the model's own, wherever a server takes its numbers."""
        prompt = {"messages": messages(request.context)} if path == CHAT else {"prompt": request.context}
        return {"model": self._model, **prompt, "max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "stream": False}


def list_first(data: dict[str, Any]) -> Listed:
    """The likeliest first tokens of a reply's first choice; empty where the reply has none.

    Read in both shapes: chat's `content` entries, which some servers send from the completions endpoint too, and
    the legacy `top_logprobs`, one mapping of text to number for each token.
    """
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    if isinstance(content, list) and content and isinstance(content[0], dict):
        first = content[0]
        entries = [each for each in first.get("top_logprobs") or [] if isinstance(each, dict)]
        pairs = [(each.get("token"), each.get("logprob")) for each in entries]
        drawn = (first.get("token"), first.get("logprob"))
    else:
        top, token, number = (_head(logprobs.get(name)) for name in ("top_logprobs", "tokens", "token_logprobs"))
        pairs = list(top.items()) if isinstance(top, dict) else []
        drawn = (token, number)
    # The token that was drawn is a listed one, or one more that is known.
    if pairs and drawn[0] not in [token for token, _ in pairs]:
        pairs.append(drawn)
    return [
        (token, float(number))
        for token, number in pairs
        if isinstance(token, str) and isinstance(number, int | float) and not isinstance(number, bool)
    ]


def _head(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None


def _masses(listed: Listed, request: NextToken) -> Masses | Missing:
    try:
        masses, unlisted = listed_masses(listed, request.groups)
    except ValueError as error:
        return Missing("bad_logprobs", str(error))
    if math.isnan(unlisted):
        return Missing("nan", "the server's log-probabilities are NaN")
    return Masses(masses, min(unlisted, 1.0))
