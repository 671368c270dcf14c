"""The log-probabilities of a prompt's tokens: how servers are asked for them, and where they stand in a reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Token:
    """A prompt's token as the server tells it apart from others, and its natural-log probability (None: not given)."""

    text: str
    log_probability: float | None


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask for the log-probabilities of a prompt's tokens, and to read them (None: not in the reply).

    `read` takes a reply to one prompt, `listed` one choice of a reply. `echoes`: what the server wrote stands there
    behind the prompt.
    """

    name: str
    parameters: dict[str, Any]
    read: Callable[[dict[str, Any]], list[Token] | None]
    listed: Callable[[dict[str, Any]], list[Token] | None]
    echoes: bool

    def read_together(self, data: dict[str, Any], lengths: Sequence[int]) -> list[list[Token]] | None:
        """The tokens of each prompt of one call, whose lengths in tokens are known.

        Choices may stand in any order. None unless there is one for each prompt, with as many tokens and at most
        the one that was written: a first token that lacks must not pass for it.
        """
        choices = data.get("choices")
        if not isinstance(choices, list) or len(choices) != len(lengths):
            return None
        placed = {_index(choice): choice for choice in choices}
        if placed.keys() != set(range(len(lengths))):
            return None
        found = [self.listed(placed[place]) or [] for place in range(len(lengths))]
        behind = [len(tokens) - length for tokens, length in zip(found, lengths, strict=True)]
        written = _written(data, len(lengths)) if self.echoes else 0
        if not set(behind) <= {0, 1} or sum(behind) != written:
            return None
        return [tokens[:length] for tokens, length in zip(found, lengths, strict=True)]


def written_tokens(data: dict[str, Any]) -> list[Token]:
    """The tokens that make up a completion's text: an end-of-sequence token is listed, but is no text."""
    choice = _choice(data)
    text = choice.get("text")
    kept: list[Token] = []
    length = 0
    for token in _listed(choice):
        if not isinstance(text, str) or not token.text or not text.startswith(token.text, length):
            break
        kept.append(token)
        length += len(token.text)
    return kept


def read_echo(data: dict[str, Any]) -> list[Token] | None:
    """The prompt's tokens of a reply to echo: all but those written after it, which the usage counts."""
    tokens = _listed(_choice(data))
    kept = tokens[: len(tokens) - _written(data, 1)]
    return kept or None


def read_prompt_logprobs(data: dict[str, Any]) -> list[Token] | None:
    """The prompt's tokens of a reply to prompt_logprobs: a mapping of an id to its entry each; null for the first."""
    return _prompt_listed(_choice(data))


def _prompt_listed(choice: dict[str, Any]) -> list[Token] | None:
    entries = choice.get("prompt_logprobs")
    if not isinstance(entries, list) or not entries:
        return None
    tokens = []
    for entry in entries:
        first = next(iter(entry.values()), None) if isinstance(entry, dict) else None
        first = first if isinstance(first, dict) else {}
        tokens.append(Token(str(first.get("decoded_token", "")), _number(first.get("logprob"))))
    return tokens


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


def _choice(data: dict[str, Any]) -> dict[str, Any]:
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _written(data: dict[str, Any], otherwise: int) -> int:
    """How many tokens were written, as the usage counts them."""
    usage = data.get("usage")
    written = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return written if isinstance(written, int) else otherwise


def _index(choice: Any) -> int | None:
    index = choice.get("index") if isinstance(choice, dict) else None
    return index if isinstance(index, int) and not isinstance(index, bool) else None


ECHO = Way("echo", {"echo": True, "logprobs": 1}, read_echo, _listed, echoes=True)
PROMPT_LOGPROBS = Way("prompt_logprobs", {"prompt_logprobs": 0}, read_prompt_logprobs, _prompt_listed, echoes=False)
WAYS = (ECHO, PROMPT_LOGPROBS)
