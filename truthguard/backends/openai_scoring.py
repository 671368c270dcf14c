"""Log-likelihoods of given continuations, where a server proves that it tells them.

Two ways are known: `echo` with logprobs at the completions endpoint, and vLLM's `prompt_logprobs`. Servers have been
seen to do either exactly, to ignore it, to refuse it, and to give numbers shifted by one token, which is wrong by
many nats and looks like an answer. So a probe comes first: the server writes a few tokens, then is asked for the
log-probabilities of prompt and tokens together, and both numbers of each token must agree.

The server tokenizes: continuations are told apart from their context by the number of tokens that the context has
by itself. Where these are no prefix of the joint ones (`merged`) the joint encoding is what the model sees.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from truthguard.backends.openai_chat import Emit, read_usage
from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import COMPLETIONS, Features
from truthguard.backends.openai_sending import Received, Sender
from truthguard.backends.protocol import ContinuationScore, Reply, Score, Scores, Usage
from truthguard.records import Missing

WAY_OUT = "mc1, mc2_mass and mc3 need it; mc2, mc_binary and written answers (truthful, correctness) still work"

_PROBES = ("The capital of France is", "Water boils at a temperature of")
_PROBE_TOKENS = 8
_FEWEST_COMPARED = 3
# Weights in 16 bits answer a prompt and a single step through different kernels; a shift is off by nats.
_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Token:
    """A prompt's token as the server tells it apart from others, and its natural-log probability (None: not given)."""

    text: str
    log_probability: float | None


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask for the log-probabilities of a prompt's tokens, and to read them (None: not in the reply)."""

    name: str
    parameters: dict[str, Any]
    read: Callable[[dict[str, Any]], list[Token] | None]


class Scorer:
    """Answers Score requests, after a probe."""

    def __init__(self, sender: Sender, features: Features, model: str) -> None:
        self._sender = sender
        self._features = features
        self._model = model
        self._probing = asyncio.Lock()

    async def refusal(self) -> str | None:
        """Why log-likelihoods are not to be had from this server; None where the probe proved that they are."""
        async with self._probing:
            if self._features.scoring is None and self._features.scoring_refusal is None:
                try:
                    await self._probe()
                except Unanswered as error:
                    if error.missing.kind not in ("no_endpoint", "no_logprobs", "refused_parameter", "bad_request"):
                        return f"the probe for log-likelihoods got no reply ({error.missing.detail})"
                    self._features.scoring_refusal = f"{error.missing.detail}: {WAY_OUT}"
        return self._features.scoring_refusal

    async def score(self, request: Score, emit: Emit) -> None:
        """Answer one request: the context by itself, then with each continuation."""
        if (why := await self.refusal()) is not None:
            emit(_missing(request, Missing("no_log_likelihoods", why)))
            return
        if not isinstance(request.context, str):
            emit(_missing(request, Missing("no_template", NO_TURNS)))
            return
        text = request.context.rstrip(" ")
        spaces = request.context[len(text) :]
        joint = [text + spaces + continuation for continuation in request.continuations]
        try:
            opening, own = await self._tokens(text) if text else ([], Usage())
            read = await asyncio.gather(*(self._continuation(whole, opening) for whole in joint))
        except Unanswered as error:
            # A reply with a gap would be kept as an answer; a request without one is asked again.
            emit(_missing(request, error.missing))
            return
        usages = [own, *(usage for _, usage in read)]
        usage = Usage(
            sum(each.prompt_tokens for each in usages),
            sum(each.completion_tokens for each in usages),
            sum(each.retries for each in usages),
        )
        emit(Reply(request, datetime.now(UTC), value=Scores(tuple(score for score, _ in read)), usage=usage))

    async def _continuation(self, whole: str, opening: list[Token]) -> tuple[ContinuationScore, Usage]:
        try:
            tokens, usage = await self._tokens(whole)
        except Unanswered as error:
            if error.missing.kind != "does_not_fit":
                raise
            return ContinuationScore(None, 0, error.missing), Usage()
        return _summed(tokens, opening), usage

    async def _tokens(self, text: str) -> tuple[list[Token], Usage]:
        way = next(way for way in WAYS if way.name == self._features.scoring)
        received = await self._ask(way, text)
        tokens = way.read(received.data)
        if tokens is None:
            detail = f"POST {COMPLETIONS} with {way.name} brought no log-probabilities, though it did in the probe"
            raise Unanswered(Missing("no_logprobs", detail))
        return tokens, read_usage(received)

    async def _ask(self, way: Way, text: str) -> Received:
        body = {"model": self._model, "prompt": text, "max_tokens": 1, "temperature": 0.0, "stream": False}
        return await self._sender.post(COMPLETIONS, body | way.parameters)

    async def _probe(self) -> None:
        reasons: dict[str, str] = {}
        for prompt in _PROBES:
            written = await self._written(prompt)
            if not written:
                raise Unanswered(self._features.no_parameter(COMPLETIONS, "logprobs", "ignored: the reply has none"))
            if len(written) < _FEWEST_COMPARED:
                reasons |= dict.fromkeys((way.name for way in WAYS), "could not be checked: too little was written")
                continue
            for way in WAYS:
                reason = await self._disproof(way, prompt, written)
                if reason is None:
                    self._features.scoring = way.name
                    return
                reasons[way.name] = reason
        told = ", ".join(f"{name} {reason}" for name, reason in reasons.items())
        raise Unanswered(self._features.no_parameter(COMPLETIONS, "log-likelihoods", f"are not to be had: {told}"))

    async def _written(self, prompt: str) -> list[Token]:
        """A few tokens that the server writes, with their own log-probabilities."""
        body = {"model": self._model, "prompt": prompt, "max_tokens": _PROBE_TOKENS, "temperature": 0.0}
        received = await self._sender.post(COMPLETIONS, body | {"stream": False, "logprobs": 1})
        choice = _choice(received.data)
        return _shown(_listed(choice), choice.get("text"))

    async def _disproof(self, way: Way, prompt: str, written: list[Token]) -> str | None:
        """Why a way does not give the log-probabilities of prompts; None where it does."""
        try:
            received = await self._ask(way, prompt + "".join(token.text for token in written))
        except Unanswered as error:
            if error.missing.kind in ("no_endpoint", "no_logprobs", "refused_parameter", "bad_request", "server_error"):
                return f"refused ({error.missing.detail})"
            raise
        tokens = way.read(received.data)
        if tokens is None or len(tokens) <= len(written):
            return "ignored"
        counted = read_usage(received).prompt_tokens
        if counted and counted != len(tokens):
            return f"wrong: {len(tokens)} numbers for {counted} tokens of the prompt"
        last = tokens[-len(written) :]
        if [token.text for token in last] != [token.text for token in written]:
            return "could not be checked: the text's tokens are others than those that were written"
        largest = max(_difference(*pair) for pair in zip(last, written, strict=True))
        return None if largest <= _TOLERANCE else f"wrong by {largest:.3g} nats for tokens that the server wrote itself"


NO_TURNS = (
    "log-likelihoods are asked for at the completions endpoint, which knows no chat template: set"
    " chat_template = false; mc2, mc_binary and written answers (truthful, correctness) still work with it"
)


def read_echo(data: dict[str, Any]) -> list[Token] | None:
    """The prompt's tokens of a reply to echo: all but those written after it, which the usage counts."""
    tokens = _listed(_choice(data))
    usage = data.get("usage")
    written = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if not isinstance(written, int):
        written = 1
    kept = tokens[: len(tokens) - written]
    return kept or None


def read_prompt_logprobs(data: dict[str, Any]) -> list[Token] | None:
    """The prompt's tokens of a reply to prompt_logprobs: a mapping of an id to its entry each; null for the first."""
    entries = _choice(data).get("prompt_logprobs")
    if not isinstance(entries, list) or not entries:
        return None
    tokens = []
    for entry in entries:
        first = next(iter(entry.values()), None) if isinstance(entry, dict) else None
        first = first if isinstance(first, dict) else {}
        tokens.append(Token(str(first.get("decoded_token", "")), _number(first.get("logprob"))))
    return tokens


WAYS = (
    Way("echo", {"echo": True, "logprobs": 1}, read_echo),
    Way("prompt_logprobs", {"prompt_logprobs": 0}, read_prompt_logprobs),
)


def _summed(tokens: list[Token], opening: list[Token]) -> ContinuationScore:
    """The sum over the tokens past the context's."""
    merged = [token.text for token in tokens[: len(opening)]] != [token.text for token in opening]
    scored = tokens[len(opening) :]
    if not scored:
        detail = "the continuation's tokens melt into the context's, and a server's text prompts cannot keep them apart"
        return ContinuationScore(None, 0, Missing("no_tokens", detail), merged=merged)
    numbers = [token.log_probability for token in scored if token.log_probability is not None]
    if len(numbers) < len(scored):
        detail = f"the server gives no log-probability for {len(scored) - len(numbers)} of {len(scored)} tokens"
        return ContinuationScore(None, 0, Missing("no_logprobs", detail), merged=merged)
    return ContinuationScore(math.fsum(numbers), len(scored), merged=merged)


def _shown(tokens: list[Token], text: Any) -> list[Token]:
    """The tokens that make up the text's start: an end-of-sequence token is listed, but is no text."""
    kept: list[Token] = []
    length = 0
    for token in tokens:
        if not isinstance(text, str) or not token.text or not text.startswith(token.text, length):
            break
        kept.append(token)
        length += len(token.text)
    return kept


def _listed(choice: dict[str, Any]) -> list[Token]:
    """The tokens of a completion in either shape: legacy lists side by side, or chat's entries."""
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    if isinstance(content, list):
        entries = [entry for entry in content if isinstance(entry, dict)]
        return [Token(str(entry.get("token")), _number(entry.get("logprob"))) for entry in entries]
    tokens, numbers = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(numbers, list) or len(tokens) != len(numbers):
        return []
    return [Token(str(token), _number(number)) for token, number in zip(tokens, numbers, strict=True)]


def _difference(one: Token, other: Token) -> float:
    if one.log_probability is None or other.log_probability is None:
        return math.inf
    difference = abs(one.log_probability - other.log_probability)
    return math.inf if math.isnan(difference) else difference


def _choice(data: dict[str, Any]) -> dict[str, Any]:
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _missing(request: Score, missing: Missing) -> Reply:
    return Reply(request, datetime.now(UTC), missing=missing)
