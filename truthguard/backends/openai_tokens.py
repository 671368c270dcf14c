"""vLLM's `logprob_token_ids`: the exact probabilities of chosen tokens, which need the ids of the forms.

vLLM tells them at `/tokenize`. Other servers know neither; nothing of this is sent to them.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_features import CHAT, Features
from truthguard.backends.openai_tokenizer import ServerTokenizer
from truthguard.backends.protocol import Masses

_ID = "token_id:"

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Forms:
    """The ids of each group's forms that are a single token; an id that two groups share belongs to neither."""

    ids: tuple[tuple[int, ...], ...]

    def parameters(self, path: str) -> dict[str, Any]:
        """What asks for exactly these tokens, named by their ids."""
        every = [token for group in self.ids for token in group]
        wanted = {"logprob_token_ids": every, "return_tokens_as_token_ids": True}
        return {"logprobs": True if path == CHAT else 1} | wanted

    def read(self, listed: list[tuple[str, float]]) -> Masses | None:
        """The mass of each group; None where the server did not give every one of the ids."""
        numbers = dict(listed)
        every = {token for group in self.ids for token in group}
        if not every or any(f"{_ID}{token}" not in numbers for token in every):
            return None
        return Masses(tuple(_mass([numbers[f"{_ID}{token}"] for token in group]) for group in self.ids))


class VllmForms:
    """Finds the ids of forms, once for each set of groups."""

    def __init__(self, tokenizer: ServerTokenizer, features: Features) -> None:
        self._tokenizer = tokenizer
        self._features = features
        self._lock = asyncio.Lock()
        self._found: dict[Groups, Forms | None] = {}

    async def find(self, path: str, groups: Groups) -> Forms | None:
        """The ids of the forms; None where the server does not take them."""
        if self._features.owner != "vllm" or self._features.refuses(path, "logprob_token_ids"):
            return None
        async with self._lock:
            if groups not in self._found:
                self._found[groups] = await self._ask(groups)
        return self._found[groups]

    async def _ask(self, groups: Groups) -> Forms | None:
        try:
            encoded = [[(await self._tokenizer.encode(form)).ids for form in group] for group in groups]
        except Unanswered:
            return None
        single = [list(dict.fromkeys(ids[0] for ids in group if len(ids) == 1)) for group in encoded]
        claims = Counter(token for group in single for token in group)
        return Forms(tuple(tuple(token for token in group if claims[token] == 1) for group in single))


def _mass(numbers: list[float]) -> float | None:
    if not numbers:
        return None
    largest = max(numbers)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(each - largest) for each in numbers))
