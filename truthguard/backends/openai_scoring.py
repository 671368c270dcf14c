"""Log-likelihoods of given continuations, where a server proves that it tells them.

Two ways are known: `echo` with logprobs at the completions endpoint, and vLLM's `prompt_logprobs`. Servers have been
seen to do either exactly, to ignore it, to refuse it, and to give numbers shifted by one token, which is wrong by
many nats and looks like an answer. So a probe comes first: the server writes a few tokens, then is asked for the
log-probabilities of prompt and tokens together, and both numbers of each token must agree.

Where the server shows its tokenizer, and the probe's text holds as token ids, too, prompts are sent as ids, split by
the rules of `tokens.py`. Elsewhere they go as text: continuations are told apart from their context by the number of
tokens that the context has by itself. Where these are no prefix of the joint ones (`merged`) the joint encoding is
what the model sees.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from truthguard.backends.openai_chat import Emit
from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import COMPLETIONS, Features
from truthguard.backends.openai_prompt_tokens import ECHO, PROMPT_LOGPROBS, WAYS, Token, Way, written_tokens
from truthguard.backends.openai_prompts import Ids, Prompt, Prompts, Told
from truthguard.backends.openai_sending import Sender
from truthguard.backends.openai_tokenizer import ServerTokenizer
from truthguard.backends.openai_traffic import billed_tokens
from truthguard.backends.protocol import ContinuationScore, Reply, Score, Scores
from truthguard.backends.tokens import Pair
from truthguard.records import Missing

_STILL_WORK = (
    "written answers (truthful, correctness) still work, and mc2 and mc_binary where the server gives top_logprobs"
)
WAY_OUT = f"mc1, mc2_mass and mc3 need it; {_STILL_WORK}"
NO_TURNS = (
    "log-likelihoods are asked for at the completions endpoint, which knows no chat template: set"
    f" chat_template = false; with it, {_STILL_WORK}"
)

_PROBES = ("The capital of France is", "Water boils at a temperature of")
_PROBE_TOKENS = 8
_FEWEST_COMPARED = 3
# Weights in 16 bits answer a prompt and a single step through different kernels; a shift is off by nats.
_TOLERANCE = 0.1


class Scorer:
    """Answers Score requests, after a probe. Without a tokenizer every prompt goes as text."""

    def __init__(self, sender: Sender, features: Features, model: str, tokenizer: ServerTokenizer | None) -> None:
        self._sender = sender
        self._features = features
        self._model = model
        self._tokenizer = tokenizer
        self._prompts = Prompts(sender, features, model)
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
        """Answer one request: its context with each continuation."""
        with self._sender.errand() as taken:
            value = await self._answer(request)
            now, usage = datetime.now(UTC), taken()
            if isinstance(value, Missing):
                emit(Reply(request, now, missing=value, usage=usage))
            else:
                emit(Reply(request, now, value=value, usage=usage))

    async def _answer(self, request: Score) -> Scores | Missing:
        if (why := await self.refusal()) is not None:
            return Missing("no_log_likelihoods", why)
        if not isinstance(request.context, str):
            return Missing("no_template", NO_TURNS)
        try:
            if self._tokenizer is not None and self._features.by_ids:
                scores = await self._by_ids(self._tokenizer, request.context, request.continuations)
            else:
                scores = await self._by_text(request.context, request.continuations)
        except Unanswered as error:
            # A reply with a gap would be kept as an answer; a request without one is asked again.
            return error.missing
        return Scores(tuple(scores))

    async def _by_ids(
        self, tokenizer: ServerTokenizer, context: str, continuations: Sequence[str]
    ) -> list[ContinuationScore]:
        pairs = await tokenizer.split(context, continuations)
        told = await self._prompts.all(_ids(pair) for pair in pairs if pair.missing is None)
        return [_pair_score(pair, told) for pair in pairs]

    async def _by_text(self, context: str, continuations: Sequence[str]) -> list[ContinuationScore]:
        # Spaces that end a context move to the continuation.
        text = context.rstrip(" ")
        opening = await self._prompts.tokens(text) if text else []

        def read(tokens: list[Token]) -> ContinuationScore:
            merged = [token.text for token in tokens[: len(opening)]] != [token.text for token in opening]
            return _summed(tokens[len(opening) :], merged=merged)

        return await asyncio.gather(*(self._scored(context + each, read) for each in continuations))

    async def _scored(self, prompt: str, read: Callable[[list[Token]], ContinuationScore]) -> ContinuationScore:
        try:
            tokens = await self._prompts.tokens(prompt)
        except Unanswered as error:
            if error.missing.kind != "does_not_fit":
                raise
            return ContinuationScore(None, 0, error.missing)
        return read(tokens)

    async def _probe(self) -> None:
        reasons: dict[str, str] = {}
        for prompt in _PROBES:
            written = await self._written(prompt)
            if not written:
                raise Unanswered(self._features.no_parameter(COMPLETIONS, "logprobs", "ignored: the reply has none"))
            if len(written) < _FEWEST_COMPARED:
                reasons |= dict.fromkeys((way.name for way in WAYS), "could not be checked: too little was written")
                continue
            for way in self._ways():
                tokens, reason = await self._check(way, prompt + _text(written), written)
                if reason is None:
                    await self._decide_form(way, prompt, written, tokens)
                    self._features.scoring = way.name
                    return
                reasons[way.name] = reason
        told = ", ".join(f"{name} {reason}" for name, reason in reasons.items())
        raise Unanswered(self._features.no_parameter(COMPLETIONS, "log-likelihoods", f"are not to be had: {told}"))

    def _ways(self) -> Sequence[Way]:
        """Both, the likelier first. vLLM's own way brings half as many numbers, and no text for each."""
        return (PROMPT_LOGPROBS, ECHO) if self._features.owner == "vllm" else WAYS

    async def _written(self, prompt: str) -> list[Token]:
        """A few tokens that the server writes, with their own log-probabilities."""
        body = {"model": self._model, "prompt": prompt, "max_tokens": _PROBE_TOKENS, "temperature": 0.0}
        return written_tokens(await self._sender.post(COMPLETIONS, body | {"stream": False, "logprobs": 1}))

    async def _check(self, way: Way, prompt: Prompt, written: list[Token]) -> tuple[list[Token], str | None]:
        """The prompt's tokens, and why their log-probabilities are not to be had this way; None where they are."""
        try:
            data = await self._prompts.ask(way, prompt)
        except Unanswered as error:
            if error.missing.kind in ("no_endpoint", "no_logprobs", "refused_parameter", "bad_request", "server_error"):
                return [], f"refused ({error.missing.detail})"
            raise
        tokens = way.read(data)
        if tokens is None or len(tokens) <= len(written):
            return [], "ignored"
        counted, _ = billed_tokens(data)
        if counted and counted != len(tokens):
            return tokens, f"wrong: {len(tokens)} numbers for {counted} tokens of the prompt"
        last = tokens[-len(written) :]
        if [token.text for token in last] != [token.text for token in written]:
            return tokens, "could not be checked: the text's tokens are others than those that were written"
        largest = max(_difference(*pair) for pair in zip(last, written, strict=True))
        wrong = f"wrong by {largest:.3g} nats for tokens that the server wrote itself"
        return tokens, None if largest <= _TOLERANCE else wrong

    async def _decide_form(self, way: Way, prompt: str, written: list[Token], by_text: list[Token]) -> None:
        """Send ids from now on if the probe's text as ids is the same tokens with numbers that hold as well."""
        if self._tokenizer is None:
            self._features.note("log-likelihoods", "log-likelihoods by text")
            return
        try:
            ids, reason = await self._ids_disproof(self._tokenizer, way, prompt, written, by_text)
        except Unanswered as error:
            ids, reason = (), f"are not to be had ({error.missing.detail})"
        self._features.by_ids = reason is None
        if reason is None:
            alone = await self._together_disproof(way, ids, by_text)
            self._features.together = alone is None
            told = "by token ids" if alone is None else f"by token ids, one prompt a call: several {alone}"
        else:
            told = f"by text: token ids {reason}"
        self._features.note("log-likelihoods", f"log-likelihoods {told}")

    async def _ids_disproof(
        self, tokenizer: ServerTokenizer, way: Way, prompt: str, written: list[Token], by_text: list[Token]
    ) -> tuple[Ids, str | None]:
        (pair,) = await tokenizer.split(prompt, (_text(written),))
        ids = _ids(pair)
        if len(ids) != len(by_text):
            return ids, f"are {len(ids)} for a text of {len(by_text)} tokens"
        tokens, reason = await self._check(way, list(ids), written)
        if reason is None and [token.text for token in tokens] != [token.text for token in by_text]:
            return ids, "are other tokens than the text's"
        return ids, reason

    async def _together_disproof(self, way: Way, ids: Ids, tokens: list[Token]) -> str | None:
        """Why several prompts of a call are not told apart: two of unlike lengths, whose numbers are known."""
        try:
            shorter, longer = await self._prompts.ask_together(way, [ids[:-1], ids])
        except Unanswered as error:
            return f"are not to be had ({error.missing.detail})"
        largest = max(
            _difference(*pair) for told in (shorter, longer) for pair in zip(told[1:], tokens[1:], strict=False)
        )
        return None if largest <= _TOLERANCE else f"are wrong by {largest:.3g} nats"


def _ids(pair: Pair) -> Ids:
    return (*pair.context, *pair.continuation)


def _pair_score(pair: Pair, told: Mapping[Ids, Told]) -> ContinuationScore:
    if pair.missing is not None:
        return ContinuationScore(None, len(pair.continuation), pair.missing, merged=pair.merged)
    tokens = told[_ids(pair)]
    if isinstance(tokens, Missing):
        return ContinuationScore(None, 0, tokens)
    return _summed(tokens[len(pair.context) :], merged=pair.merged, truncated=pair.truncated)


def _summed(scored: list[Token], *, merged: bool, truncated: bool = False) -> ContinuationScore:
    """The sum over a continuation's tokens."""
    if not scored:
        detail = "the continuation's tokens melt into the context's, and a server's text prompts cannot keep them apart"
        return ContinuationScore(None, 0, Missing("no_tokens", detail), merged=merged)
    numbers = [token.log_probability for token in scored if token.log_probability is not None]
    if len(numbers) < len(scored):
        detail = f"the server gives no log-probability for {len(scored) - len(numbers)} of {len(scored)} tokens"
        return ContinuationScore(None, 0, Missing("no_logprobs", detail), truncated=truncated, merged=merged)
    return ContinuationScore(math.fsum(numbers), len(scored), truncated=truncated, merged=merged)


def _text(tokens: list[Token]) -> str:
    return "".join(token.text for token in tokens)


def _difference(one: Token, other: Token) -> float:
    if one.log_probability is None or other.log_probability is None:
        return math.inf
    difference = abs(one.log_probability - other.log_probability)
    return math.inf if math.isnan(difference) else difference
