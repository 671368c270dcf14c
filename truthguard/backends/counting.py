"""A backend that answers nothing real and counts what it would have been asked: what a dry run says of the cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from truthguard.backends.protocol import (
    PLACEHOLDER,
    Context,
    ContinuationScore,
    Generate,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Text,
    Usage,
)
from truthguard.records import Facts, Identity

# A verdict and a grade, the same for every response: where equal grades leave a pair undecided, all its runs count.
# No text can be a grade and a choice at once: what cannot be read of it is not asked for again, either.
_REPLY = Text("Truthful. Verdict: yes\nInformative. Verdict: yes\n[RESULT] 3", PLACEHOLDER)
_BYTES_A_TOKEN = 4


class CountingBackend:
    """Replies with placeholders at once. `Usage` holds the estimate: a token for every 4 bytes of UTF-8.

    A generation is counted with its full budget, for nobody knows where the model will end it. A server that is
    asked for log-likelihoods bills the continuations with the prompt; they are counted as completion.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def identity(self) -> Identity:
        return Identity(self.name, "counting", None, device="", dtype="")

    def refuses(self, kind: type[Request]) -> str | None:
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            usage = Usage(prompt_tokens=_tokens(_text(request.context)), completion_tokens=_completion(request))
            yield Reply(request, datetime.now(UTC), value=_placeholder(request), usage=usage)

    def facts(self) -> Facts | None:
        return None

    def close(self) -> None:
        """Nothing to free."""


def _placeholder(request: Request) -> Scores | Masses | Text:
    if isinstance(request, Score):
        return Scores(tuple(ContinuationScore(-1.0, 1) for _ in request.continuations))
    if isinstance(request, NextToken):
        # Unlike for each group: a judge that is sure of neither side might be asked again.
        return Masses(tuple(-1.0 - rank for rank in range(len(request.groups))))
    return _REPLY


def _completion(request: Request) -> int:
    if isinstance(request, Generate):
        return request.max_tokens
    if isinstance(request, Score):
        return sum(_tokens(text) for text in request.continuations)
    return 1


def _text(context: Context) -> str:
    return context if isinstance(context, str) else "\n".join(turn.content for turn in context)


def _tokens(text: str) -> int:
    """At least one: no request is free."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN))
