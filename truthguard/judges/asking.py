"""Asking a judge in writing: to whom a prompt is put, which replies are asked for again, what each came to.

A judge's dialogue yields requests and is sent the replies in the requests' order; it has no input or output of its
own, so a test drives it with a list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from truthguard.backends.protocol import PLACEHOLDER, Context, Generate, Reply, Request, Text, Turn
from truthguard.errors import UsageError
from truthguard.judges.verdicts import read_verdict
from truthguard.records import JudgeSettings, Missing, ModelSettings, Sample, VerdictKind

T = TypeVar("T")

# Yields what it wants to ask of the judge, is sent the replies in the order of the requests, returns what it found.
Asking = Generator[Sequence[Request], Sequence[Reply], T]

# How a reply reads: its kind, the verdict that stands in the sample (None where there is none), the explanation.
Reading = tuple[VerdictKind, str | None, str]
# From a reply's text and finish reason to how it reads.
Reader = Callable[[str, str], Reading]

ATTEMPTS = 2
# The same request, sampled once more, may come out better. Greedy, it would not; a larger budget is another request.
_RETRIED: frozenset[VerdictKind] = frozenset(["unparsed", "empty", "failed"])
# What a backend may say of a reply without a text; every other reason is a request that failed.
_TOLD: dict[str, VerdictKind] = {
    "no_content": "no_content",
    "refusal": "refusal",
    "content_filter": "content_filter",
}
_UNREAD = {
    "unsure": "the judge cannot tell",
    "unparsed": "the judge's reply does not end in a verdict of the agreed form",
    "refusal": "the judge refused to reply",
    "length": "the judge's reply was cut at its token limit, which was doubled once",
    "content_filter": "the judge's reply was withheld by a content filter",
    "no_content": "the judge's reply has no text",
    "empty": "the judge's reply is empty",
}


def model_of(settings: JudgeSettings) -> ModelSettings:
    """The judge's model. Raises UsageError where none is named."""
    if settings.model is None:
        raise UsageError("the judge is asked in writing, and no model is named: give [judge] a model")
    return settings.model


def addressed(prompt: str, model: ModelSettings) -> Context:
    """The prompt as the user's turn, behind the system prompt, where the model has a chat template; else the text."""
    if not model.chat_template:
        return prompt
    system = [] if model.system_prompt is None else [Turn("system", model.system_prompt)]
    return (*system, Turn("user", prompt))


def yes_or_no(text: str, finish_reason: str) -> Reading:
    """The reading of a reply that ends in `Verdict: yes`, no or unsure."""
    found = read_verdict(text, finish_reason)
    return found.kind, decided(found.kind), found.explanation


def samples(
    asked: Sequence[tuple[str, Generate]], read: Reader = yes_or_no, attempts: int = ATTEMPTS
) -> Asking[tuple[Sample, ...]]:
    """One sample for each request, given with the name of the question that it puts, in the same order.

    Asked for again, with the same index and seed and the next attempt, `attempts` times in all: replies that are
    unparsed or empty, requests that failed, and, once and with twice the budget, replies that were cut at their
    token limit. Of greedy requests only the last: the others would come out the same. The last attempt is the one
    that is kept.
    """
    found: dict[int, Sample] = {}
    open_requests = {place: request for place, (_, request) in enumerate(asked)}
    while open_requests:
        replies = yield list(open_requests.values())
        waiting, open_requests = open_requests, {}
        for (place, request), reply in zip(waiting.items(), replies, strict=True):
            question, first = asked[place]
            sample = found[place] = _read(question, request, reply, read)
            if request.attempt + 1 < attempts and _asked_again(sample, request, first):
                budget = request.max_tokens * (2 if sample.kind == "length" else 1)
                open_requests[place] = replace(request, attempt=request.attempt + 1, max_tokens=budget)
    return tuple(found[place] for place in range(len(asked)))


def unread(sample: Sample) -> Missing:
    """Why a sample without a verdict gives no judgement; where the backend gave no reply, its own reason."""
    if sample.missing is not None and sample.kind == "failed":
        return sample.missing
    return Missing(sample.kind, _UNREAD.get(sample.kind) or sample.explanation)


def no_reply(reply: Reply) -> Missing:
    """Why a reply has no usable value. A value of another kind than was asked for is a fault of the backend."""
    return reply.missing or Missing("wrong_reply", f"the backend replied {type(reply.value).__name__}")


def decided(kind: VerdictKind) -> Literal["yes", "no"] | None:
    """The verdict that a kind stands for: itself for yes and no, None for every other."""
    return "yes" if kind == "yes" else "no" if kind == "no" else None


def _asked_again(sample: Sample, request: Generate, first: Generate) -> bool:
    """Whether another attempt may bring what this one lacks; `first` is the first attempt's request."""
    if sample.finish_reason == PLACEHOLDER:
        return False
    if sample.kind == "length":
        return request.max_tokens == first.max_tokens
    return sample.kind in _RETRIED and request.temperature > 0.0


def _read(question: str, request: Generate, reply: Reply, read: Reader) -> Sample:
    if isinstance(reply.value, Text):
        kind, verdict, explanation = read(reply.value.text, reply.value.finish_reason)
        return Sample(request.sample, request.attempt, verdict, kind, explanation, reply.value.finish_reason, question)
    reason = no_reply(reply)
    kind = _TOLD.get(reason.kind, "failed")
    return Sample(request.sample, request.attempt, None, kind, str(reason), "", question, reason)
