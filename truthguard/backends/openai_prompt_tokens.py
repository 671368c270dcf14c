"""The log-probabilities of a prompt's tokens: how servers are asked for them, and where they stand in a reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
