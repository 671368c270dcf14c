"""The tokenizer of a server that shows it, at `POST /tokenize` beside /v1, as vLLM and SGLang do.

Where a context ends and a continuation begins is decided by the rules of `tokens.py`. They want encodings at once,
and a server takes its time: what they lack is asked for, then they are applied again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_sending import Sender
from truthguard.backends.protocol import Turn
from truthguard.backends.tokens import Encoder, Pair
from truthguard.errors import ModelError
from truthguard.records import Missing

T = TypeVar("T")

# A text, and whether the tokenizer adds its special tokens.
_Key = tuple[str, bool]

# The server puts in a choice's last token, too, and writes one token behind it: `Encoder` counts on neither.
_BEYOND = 2


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's token ids, and the model's window in tokens (None: not told)."""

    ids: tuple[int, ...]
    window: int | None


class ServerTokenizer:
    """Encodes texts as the server would, and splits contexts and continuations."""

    def __init__(self, sender: Sender, model: str, base_url: str) -> None:
        self._sender = sender
        self._model = model
        self._url = base_url.removesuffix("/v1") + "/tokenize"
        # What every split wants to know: which special tokens stand before a text.
        self._common: dict[_Key, Encoded] = {}

    async def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Raises Unanswered where there is no reply, or one of another form."""
        body = {"model": self._model, "prompt": text, "add_special_tokens": special}
        data = await self._sender.post(self._url, body)
        tokens, count, window = (data.get(name) for name in ("tokens", "count", "max_model_len"))
        if not isinstance(tokens, list) or not all(map(_is_count, tokens)):
            raise self._unfit(f"no list of token ids: {self._sender.shown(repr(data))}")
        if not _is_count(count) or count != len(tokens):
            raise self._unfit(f"{len(tokens)} token ids and count = {self._sender.shown(repr(count))}")
        return Encoded(tuple(tokens), window if _is_count(window) else None)

    async def split(self, context: str, continuations: Sequence[str]) -> tuple[Pair, ...]:
        """One pair for each continuation.

        Raises Unanswered as `encode` does, and for an empty context that nothing can stand for.
        """
        await self._complete(lambda tokenizer: Encoder(tokenizer, None), self._common)
        window = next(encoded.window for encoded in self._common.values())
        # These are sure to be wanted, so they are asked for side by side.
        texts = dict.fromkeys([context.rstrip(" "), *(context + continuation for continuation in continuations)])
        wanted: list[_Key] = [(text, False) for text in texts if text]
        fetched = await asyncio.gather(*(self.encode(text) for text, _ in wanted))
        found = self._common | dict(zip(wanted, fetched, strict=True))

        def rule(tokenizer: _Known) -> tuple[Pair, ...]:
            encoder = Encoder(tokenizer, None if window is None else window - _BEYOND)
            return encoder.pairs(context, continuations)

        return await self._complete(rule, found)

    async def _complete(self, rule: Callable[[_Known], T], found: dict[_Key, Encoded]) -> T:
        """What a rule makes of the encodings; `found` grows until it lacks none."""
        while True:
            try:
                return rule(_Known(found))
            except _Lacking as lacking:
                text, special = lacking.key
                found[lacking.key] = await self.encode(text, special=special)
            except ModelError:
                detail = (
                    "the context is empty and the server's tokenizer puts no token before a text, so the first token"
                    " of a choice has nothing to follow; put some text before the choices"
                )
                raise Unanswered(Missing("no_context", detail)) from None

    def _unfit(self, what: str) -> Unanswered:
        return Unanswered(Missing("bad_tokens", f"POST {self._url}: the reply has {what}"))


class _Lacking(Exception):
    """An encoding that a rule wants and that is not known yet."""

    def __init__(self, key: _Key) -> None:
        super().__init__(key)
        self.key = key


class _Known:
    """A tokenizer for those texts whose encodings are there.

    The server does not tell its special tokens' ids; those that it puts before every text show in an encoding.
    """

    bos_token_id: int | None = None
    eos_token_id: int | None = None
    unk_token_id: int | None = None

    def __init__(self, found: Mapping[_Key, Encoded]) -> None:
        self._found = found

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]:
        key = (text, add_special_tokens)
        if key not in self._found:
            raise _Lacking(key)
        return self._found[key].ids

    def render(self, turns: Sequence[Turn]) -> str:
        raise TypeError(f"only texts are split here, not {len(turns)} turns")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
