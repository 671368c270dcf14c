"""From texts to token ids: where a context ends, where a choice begins, what is cut. Rules only, no model.

The rules are those of lm-evaluation-harness, with its gaps closed: no choice is scored on zero tokens, no
beginning-of-sequence token is added twice, an end-of-sequence token that a tokenizer appends is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from truthguard.backends.protocol import Context, Turn
from truthguard.errors import ModelError
from truthguard.records import Missing

# Resolving the forms of an answer takes a dozen encodings. What a tokenizer merges across the border lies within
# this many characters of it, so contexts that end alike share the result.
_TAIL = 64


class Tokenizer(Protocol):
    """What the rules need of a tokenizer."""

    bos_token_id: int | None
    eos_token_id: int | None
    unk_token_id: int | None

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]: ...

    def render(self, turns: Sequence[Turn]) -> str:
        """The turns in the model's own chat template, up to where its reply starts."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """A context and one continuation as the model sees them, or the reason why it cannot."""

    context: tuple[int, ...]
    continuation: tuple[int, ...]
    truncated: bool = False
    merged: bool = False
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model sees before the text that it writes, or the reason why it cannot write.

    `spaces` ended the context and are not among its tokens: tokens begin with their spaces, so the model writes them.
    """

    tokens: tuple[int, ...]
    spaces: str = ""
    truncated: bool = False
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class _Opening:
    """A context's text without the spaces that end it, those spaces, its own tokens and what the model sees."""

    text: str
    spaces: str
    tokens: tuple[int, ...]
    seen: tuple[int, ...]
    templated: bool


class Encoder:
    """Splits contexts and continuations for one tokenizer and one window (None: no limit)."""

    def __init__(self, tokenizer: Tokenizer, window: int | None) -> None:
        self._tokenizer = tokenizer
        self._window = window
        self._prefix = self._special_prefix()
        self._forms: dict[tuple[bool, str, tuple[tuple[str, ...], ...]], tuple[tuple[int, ...], ...]] = {}

    def pairs(self, context: Context, continuations: Sequence[str]) -> tuple[Pair, ...]:
        """One pair for each continuation, cut to the window."""
        opening = self._open(context)
        return tuple(self._fit(self._split(opening, continuation)) for continuation in continuations)

    def forms(self, context: Context, groups: Sequence[Sequence[str]]) -> tuple[Pair, tuple[tuple[int, ...], ...]]:
        """The context, cut to the window, and each group's forms that are a single token behind it.

        An id stands once, however many forms lead to it. The unknown token is no form of an answer, and an id that
        forms of two groups share says nothing about either: both are left out.
        """
        opening = self._open(context)
        key = (opening.templated, opening.text[-_TAIL:] + opening.spaces, tuple(map(tuple, groups)))
        if key not in self._forms:
            self._forms[key] = self._single_tokens(opening, groups)
        # Any one token has to fit behind the context: its id does not matter here.
        pair = self._fit(Pair(opening.seen, (0,)))
        return replace(pair, continuation=()), self._forms[key]

    def prompt(self, context: Context, max_tokens: int) -> Prompt:
        """The context, cut to what the window leaves beside a text of `max_tokens` tokens."""
        opening = self._open(context)
        pair = self._fit(Pair(opening.seen, (0,) * max_tokens))
        missing = pair.missing and Missing(
            "does_not_fit",
            f"a text of {max_tokens} tokens leaves no room for its prompt in the model's window of {self._window}; "
            "lower max_tokens",
        )
        return Prompt(pair.context, opening.spaces, pair.truncated, missing)

    def _single_tokens(self, opening: _Opening, groups: Sequence[Sequence[str]]) -> tuple[tuple[int, ...], ...]:
        found = []
        for group in groups:
            splits = [self._split(opening, form).continuation for form in group]
            found.append(dict.fromkeys(split[0] for split in splits if len(split) == 1))
        claims = Counter(token for group in found for token in group)
        unknown = self._tokenizer.unk_token_id
        return tuple(tuple(token for token in group if claims[token] == 1 and token != unknown) for group in found)

    def _open(self, context: Context) -> _Opening:
        templated = not isinstance(context, str)
        full = context if isinstance(context, str) else self._tokenizer.render(context)
        text = full.rstrip(" ")
        tokens = self._encode(text)
        # A chat template writes its special tokens itself, and so may a text.
        bare = not templated and tokens[: len(self._prefix)] != self._prefix
        seen = (self._prefix if bare else ()) + tokens
        return _Opening(text, full[len(text) :], tokens, seen or self._condition(), templated)

    def _condition(self) -> tuple[int]:
        """What stands for an empty context: the first token of a choice must follow something."""
        for token in (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id):
            if token is not None:
                return (token,)
        raise ModelError(
            "the context is empty and the tokenizer has neither a beginning- nor an end-of-sequence token, so the "
            "first token of a choice has nothing to follow; put some text before the choices"
        )

    def _split(self, opening: _Opening, continuation: str) -> Pair:
        """The tokens past the context's in the joint encoding.

        Where the context's tokens are no prefix of the joint ones, the joint encoding minus the length of the
        context's; where that leaves nothing, the continuation by itself.
        """
        continuation = opening.spaces + continuation
        joint = self._encode(opening.text + continuation)
        merged = joint[: len(opening.tokens)] != opening.tokens
        tokens = joint[len(opening.tokens) :] or self._encode(continuation)
        if not tokens:
            empty = Missing("no_tokens", f"the choice {continuation!r} has no tokens")
            return Pair(opening.seen, (), merged=merged, missing=empty)
        return Pair(opening.seen, tokens, merged=merged)

    def _fit(self, pair: Pair) -> Pair:
        """Cut the context from the left; the special tokens at its start and the whole choice stay."""
        if self._window is None or pair.missing:
            return pair
        room = self._window + 1 - len(pair.continuation)  # the choice's last token is never put in
        if len(pair.context) <= room:
            return pair
        special = self._leading_specials(pair.context)
        if room < max(1, special):
            detail = f"a choice of {len(pair.continuation)} tokens does not fit the model's window of {self._window}"
            return replace(pair, missing=Missing("does_not_fit", detail))
        tail = room - special
        kept = pair.context[:special] + pair.context[len(pair.context) - tail :]
        return replace(pair, context=kept, truncated=True)

    def _leading_specials(self, context: tuple[int, ...]) -> int:
        if self._prefix and context[: len(self._prefix)] == self._prefix:
            return len(self._prefix)
        return int(context[0] == self._tokenizer.bos_token_id)

    def _special_prefix(self) -> tuple[int, ...]:
        """What the tokenizer itself puts before a text. What it puts behind one would stand inside ours."""
        bare = self._encode("a")
        full = tuple(self._tokenizer.encode("a", add_special_tokens=True))
        starts = (i for i in range(len(full) - len(bare) + 1) if full[i : i + len(bare)] == bare)
        return full[: next(starts, 0)]

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False)) if text else ()
