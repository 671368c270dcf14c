"""The log-probabilities of prompts' tokens: each prompt once, several in one call where the server keeps them apart.

vLLM does not use its prefix cache for such requests: what is sent is computed. So a prompt that another one begins
with is not sent; the longer one tells its numbers, since a token's probability depends on what stands before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import COMPLETIONS, Features
from truthguard.backends.openai_prompt_tokens import WAYS, Token, Way
from truthguard.backends.openai_sending import Sender
from truthguard.records import Missing

# Text, or token ids.
Prompt = str | list[int]
Ids = tuple[int, ...]
# A prompt's tokens, or why it has none (it does not fit).
Told = list[Token] | Missing

# A call's answer comes when its last prompt is computed: more of them gain nothing, and may take too long.
_MOST_PROMPTS = 64
_MOST_TOKENS = 4096
# What a call of several prompts may fail of though each alone would not; the first two are about one of them.
_OF_ONE = frozenset({"does_not_fit", "content_filter"})
_OF_SEVERAL = _OF_ONE | {"bad_request", "bad_reply", "bad_logprobs", "timeout"}


class Prompts:
    """Asks one model for the log-probabilities of prompts, in the way that the probe proved."""

    def __init__(self, sender: Sender, features: Features, model: str) -> None:
        self._sender = sender
        self._features = features
        self._model = model

    async def tokens(self, prompt: Prompt) -> list[Token]:
        """The tokens of one prompt. Raises Unanswered."""
        way = self._way()
        tokens = way.read(await self.ask(way, prompt))
        if tokens is None:
            detail = f"POST {COMPLETIONS} with {way.name} brought no log-probabilities, though it did in the probe"
            raise Unanswered(Missing("no_logprobs", detail))
        return tokens

    async def all(self, prompts: Iterable[Ids]) -> dict[Ids, Told]:
        """The tokens of each prompt. Raises Unanswered where one has none for another reason than its length."""
        cover = covering(prompts)
        found = await self._each(dict.fromkeys(cover.values()))
        # What is too long by itself says nothing of its beginning.
        short = [ids for ids, longer in cover.items() if ids != longer and isinstance(found[longer], Missing)]
        found |= await self._each(short)
        return {ids: found[ids] if ids in found else _beginning(found[longer], ids) for ids, longer in cover.items()}

    async def ask(self, way: Way, prompt: Prompt) -> dict[str, Any]:
        """The reply to one prompt."""
        return await self._sender.post(COMPLETIONS, self._body(way, prompt))

    async def ask_together(self, way: Way, prompts: Sequence[Ids]) -> list[list[Token]]:
        """The tokens of several prompts by one call. Raises Unanswered; what is refused is so for several alone."""
        data = await self._sender.post(COMPLETIONS, self._body(way, list(map(list, prompts))), teaches=False)
        found = way.read_together(data, [len(ids) for ids in prompts])
        if found is None:
            detail = f"POST {COMPLETIONS} did not bring the log-probabilities of each of {len(prompts)} prompts"
            raise Unanswered(Missing("bad_logprobs", detail))
        return found

    async def _each(self, prompts: Iterable[Ids]) -> dict[Ids, Told]:
        most = _MOST_PROMPTS if self._features.together else 1
        answered = await asyncio.gather(*(self._call(call) for call in calls(prompts, most, _MOST_TOKENS)))
        return {ids: told for call in answered for ids, told in call.items()}

    async def _call(self, prompts: Sequence[Ids]) -> Mapping[Ids, Told]:
        """Several prompts together; where that fails and they may succeed alone, each alone."""
        if len(prompts) > 1:
            try:
                return dict(zip(prompts, await self.ask_together(self._way(), prompts), strict=True))
            except Unanswered as error:
                if error.missing.kind not in _OF_SEVERAL:
                    raise
                if error.missing.kind not in _OF_ONE:
                    self._features.together = False
                    self._features.note("prompts a call", f"one prompt a call: several failed ({error.missing.detail})")
        return dict(zip(prompts, await asyncio.gather(*map(self._alone, prompts)), strict=True))

    async def _alone(self, ids: Ids) -> Told:
        try:
            tokens = await self.tokens(list(ids))
        except Unanswered as error:
            if error.missing.kind != "does_not_fit":
                raise
            return error.missing
        if len(tokens) != len(ids):
            detail = f"POST {COMPLETIONS} brought {len(tokens)} numbers for a prompt of {len(ids)} token ids"
            raise Unanswered(Missing("bad_logprobs", detail))
        return tokens

    def _way(self) -> Way:
        return next(way for way in WAYS if way.name == self._features.scoring)

    def _body(self, way: Way, prompt: Prompt | list[list[int]]) -> dict[str, Any]:
        # One token is the fewest that every server takes: 0 is an error to some and no limit to others.
        body = {"model": self._model, "prompt": prompt, "max_tokens": 1, "temperature": 0.0, "stream": False}
        return body | way.parameters


def covering(prompts: Iterable[Ids]) -> dict[Ids, Ids]:
    """For each prompt the one that is sent for it: the longest that begins with it, itself where none does.

    >>> covering([(1, 2), (1, 2, 3), (1, 4), (1, 4)])
    {(1, 4): (1, 4), (1, 2, 3): (1, 2, 3), (1, 2): (1, 2, 3)}
    """
    sent: dict[Ids, Ids] = {}
    last: Ids = ()
    # Downwards, whatever begins with a prompt stands right before it.
    for ids in sorted(set(prompts), reverse=True):
        if last[: len(ids)] != ids:
            last = ids
        sent[ids] = last
    return sent


def calls(prompts: Iterable[Ids], most_prompts: int, most_tokens: int) -> list[list[Ids]]:
    """The prompts in their order, cut into calls of so many prompts and tokens; one that is too long goes alone.

    >>> calls([(1, 2), (3,), (4, 5, 6, 7), (8,)], 2, 3)
    [[(1, 2), (3,)], [(4, 5, 6, 7)], [(8,)]]
    """
    found: list[list[Ids]] = []
    tokens = 0
    for ids in prompts:
        if not found or len(found[-1]) >= most_prompts or tokens + len(ids) > most_tokens:
            found.append([])
            tokens = 0
        found[-1].append(ids)
        tokens += len(ids)
    return found


def calls_for(lengths: Iterable[int]) -> int:
    """How many calls take prompts of so many tokens each.

    >>> calls_for([3000, 1000, 97])
    2
    """
    return len(calls((tuple(range(length)) for length in lengths), _MOST_PROMPTS, _MOST_TOKENS))


def _beginning(told: Told, ids: Ids) -> Told:
    return told if isinstance(told, Missing) else told[: len(ids)]
