"""What a backend is asked, what it replies, and the one narrow interface between it and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from truthguard.records import Facts, Identity, Missing


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation; the backend renders turns with the model's own chat template."""

    role: Literal["system", "user", "assistant"]
    content: str


# A text, or the turns of a conversation that ends with the user's: the reply starts where the model's would.
Context = str | tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """The log-likelihood of each continuation after one context."""

    context: Context
    continuations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NextToken:
    """The probability that the next token is one of each group's forms (yes forms and no forms, say)."""

    context: Context
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Generate:
    """A text that the model writes after one context, of at most `max_tokens` tokens, cut before a stop string.

    Greedy at temperature 0. `sample` is the index of an independent sample and has its own `seed`; a retry of it
    keeps both and raises `attempt`, from which a backend draws other random numbers.
    """

    context: Context
    max_tokens: int
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    sample: int = 0
    attempt: int = 0


Request = Score | NextToken | Generate


@dataclass(frozen=True, slots=True)
class ContinuationScore:
    """Natural-log probability of one continuation, summed over its `tokens`; may be NaN or -inf as computed.

    None where it could not be computed, with the reason in `missing`. `truncated`: the context was cut from the
    left to fit the window. `merged`: the prompt's tokens are no prefix of the joint encoding.
    """

    log_likelihood: float | None
    tokens: int
    missing: Missing | None = None
    truncated: bool = False
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Scores:
    """One entry per continuation, in the request's order."""

    continuations: tuple[ContinuationScore, ...]


@dataclass(frozen=True, slots=True)
class Masses:
    """Natural log of the probability of each group, forms added up; None for a group that was not seen.

    `unlisted` is the probability that the backend did not show (0 when it knows the whole distribution): what
    bounds a group that is None. `truncated`: the context was cut from the left.
    """

    log_masses: tuple[float | None, ...]
    unlisted: float = 0.0
    truncated: bool = False


# The end of a text that no model wrote, as in a dry run: whatever it reads as, nobody asks again.
PLACEHOLDER = "placeholder"


@dataclass(frozen=True, slots=True)
class Text:
    """What the model wrote, without the stop string, and why it ended.

    `finish_reason` is `stop` (ended by itself or at a stop string), `length`, `content_filter`, `refusal`,
    `placeholder`, or the server's own word.
    """

    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took: tokens as a server would bill them, how often a request was sent again, and how many were.

    Of several replies to one request (five samples asked for at once) the first has all of it, the others nothing.
    A reply may also take several requests (a log-likelihood for each continuation), or none where nothing was sent.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    retries: int = 0
    requests: int = 1

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.retries + other.retries,
            self.requests + other.requests,
        )


NO_USAGE = Usage(requests=0)


@dataclass(frozen=True, slots=True)
class Reply:
    """A value or a reason why there is none: exactly one of the two."""

    request: Request
    answered_at: datetime
    value: Scores | Masses | Text | None = None
    missing: Missing | None = None
    usage: Usage = field(default_factory=Usage)
    cached: bool = False

    def __post_init__(self) -> None:
        if (self.value is None) == (self.missing is None):
            raise ValueError("a reply has a value or a reason why there is none, exactly one of them")


class Backend(Protocol):
    """A model that answers requests."""

    def identity(self) -> Identity:
        """What decides its answers. Loads nothing."""
        ...

    def refuses(self, kind: type[Request]) -> str | None:
        """Why this backend cannot answer requests of this kind and what to use instead; None when it can."""
        ...

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request, in order of completion. Loads the model when the first one is needed."""
        ...

    def facts(self) -> Facts | None:
        """What was learnt while answering; None before anything was."""
        ...

    def close(self) -> None:
        """Free the model's memory. Answering again loads it anew."""
        ...
