"""A backend that answers nothing real and counts what it would have been asked: what a dry run says of the cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from truthguard.backends.openai_chat import sample_groups
from truthguard.backends.openai_keys import is_api
from truthguard.backends.protocol import (
    NO_USAGE,
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

    A generation is counted with its full budget, for nobody knows where the model will end it. Of equal requests in
    one call one is counted.

    A model behind an API is counted as OpenAIBackend asks a server that can do all of it: samples of one prompt in one
    request, log-likelihoods with a question's continuations in as few calls as hold them, before them its tokenizer. A
    server that gives no n is asked for each sample, one that takes one prompt a call for each continuation. Probes are
    not counted.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def identity(self) -> Identity:
        return Identity(self.name, "counting", None, device="", dtype="")

    def refuses(self, kind: type[Request]) -> str | None:
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        asked = list(requests)
        usages = _over_http(asked) if is_api(self.name) else {request: _usage(request) for request in asked}
        for request in asked:
            usage = usages.pop(request, NO_USAGE)
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


def _usage(request: Request) -> Usage:
    prompt = _tokens(_text(request.context))
    if isinstance(request, Generate):
        return Usage(prompt, request.max_tokens)
    if isinstance(request, Score):
        return Usage(prompt, sum(map(_tokens, request.continuations)))
    return Usage(prompt, 1)


def _over_http(requests: Iterable[Request]) -> dict[Request, Usage]:
    """What a server would bill for each."""
    usages = {request: _scored(request) if isinstance(request, Score) else _usage(request) for request in requests}
    for _, *others in sample_groups(request for request in usages if isinstance(request, Generate)):
        # Prompt and request are the first sample's.
        usages.update((other, Usage(0, other.max_tokens, requests=0)) for other in others)
    return usages


def _scored(request: Score) -> Usage:
    """Each continuation behind the context is a prompt, after which one token is written and left unread."""
    from truthguard.backends.openai_prompts import calls_for

    count, context = len(request.continuations), _tokens(_text(request.context))
    prompts = [context + _tokens(continuation) for continuation in request.continuations]
    # The tokenizer is asked for the context, and for each continuation behind it.
    return Usage(sum(prompts), count, requests=calls_for(prompts) + (count + 1))


def _text(context: Context) -> str:
    return context if isinstance(context, str) else "\n".join(turn.content for turn in context)


def _tokens(text: str) -> int:
    """At least one: no request is free."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN))
