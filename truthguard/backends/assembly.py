"""From requests to rows of tokens, and from the rows' log-probabilities back to replies. Pure bookkeeping."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from truthguard.backends.packing import Row
from truthguard.backends.protocol import (
    ContinuationScore,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Usage,
)
from truthguard.backends.tokens import Encoder, Pair
from truthguard.records import Missing

# Rows whose tokens are in memory at the same time: 8,192 rows of 2,000 tokens are 128 MiB. What one slice shares
# with the next, a prefix, is kept between them.
_SLICE = 8192

# The natural-log probabilities of a row's wanted ids, in the shape of `Row.wanted`.
Values = tuple[tuple[float, ...], ...]


@dataclass
class _Entry:
    """One request on its way: its pairs, the rows that it waits for and what came back, by place."""

    request: Request
    pairs: tuple[Pair, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    waiting: int = 0
    values: dict[int, Values] = field(default_factory=dict)


class Assembly:
    """The rows that answer some requests. Equal rows are computed once, whoever asked for them.

    `groups[i]` is the request that row i belongs to; `truncated[i]` says that its context was cut, so that it does
    not begin like the others.
    """

    def __init__(self, encoder: Encoder, requests: Sequence[Request]) -> None:
        self.rows: list[Row] = []
        self.groups: list[int] = []
        self.truncated: list[bool] = []
        self._numbers: dict[Row, int] = {}
        self._owners: list[list[tuple[_Entry, int]]] = []
        self._settled: list[Reply] = []
        for group, request in enumerate(requests):
            entry = self._score(encoder, request, group) if isinstance(request, Score) else None
            if isinstance(request, NextToken):
                entry = self._next_token(encoder, request, group)
            if entry is not None and not entry.waiting:
                self._settled.append(_reply(entry))

    def settled(self) -> Iterator[Reply]:
        """The replies of requests that need no model: nothing of theirs can be scored."""
        yield from self._settled

    def settle(self, number: int, values: Values) -> Iterator[Reply]:
        """Take the values of one row; yield the reply of every request that waited for nothing else."""
        for entry, place in self._owners[number]:
            entry.values[place] = values
            entry.waiting -= 1
            if not entry.waiting:
                yield _reply(entry)

    def _score(self, encoder: Encoder, request: Score, group: int) -> _Entry:
        entry = _Entry(request, encoder.pairs(request.context, request.continuations))
        for place, pair in enumerate(entry.pairs):
            if pair.missing is None:
                seen = pair.context + pair.continuation[:-1]
                row = Row(seen, tuple((token,) for token in pair.continuation))
                self._wait(entry, place, row, group, pair.truncated)
        return entry

    def _next_token(self, encoder: Encoder, request: NextToken, group: int) -> _Entry | None:
        pair, groups = encoder.forms(request.context, request.groups)
        formless = [forms for forms, ids in zip(request.groups, groups, strict=True) if not ids]
        if formless or pair.missing:
            missing = pair.missing or Missing(
                "no_single_token_form",
                f"none of {', '.join(map(repr, formless[0]))} is a single token of this tokenizer after this context",
            )
            usage = Usage(prompt_tokens=len(pair.context))
            self._settled.append(Reply(request, datetime.now(UTC), missing=missing, usage=usage))
            return None
        entry = _Entry(request, (pair,), groups)
        wanted = tuple(token for ids in groups for token in ids)
        self._wait(entry, 0, Row(pair.context, (wanted,)), group, pair.truncated)
        return entry

    def _wait(self, entry: _Entry, place: int, row: Row, group: int, truncated: bool) -> None:
        number = self._numbers.setdefault(row, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
            self.groups.append(group)
            self.truncated.append(truncated)
            self._owners.append([])
        self._owners[number].append((entry, place))
        entry.waiting += 1


def slices(requests: Sequence[Request]) -> Iterator[Sequence[Request]]:
    """The requests in their order, in parts whose rows may all be in memory; one request alone may be more."""
    part: list[Request] = []
    rows = 0
    for request in requests:
        size = len(request.continuations) if isinstance(request, Score) else 1
        if part and rows + size > _SLICE:
            yield part
            part, rows = [], 0
        part.append(request)
        rows += size
    if part:
        yield part


def _reply(entry: _Entry) -> Reply:
    contexts = [len(pair.context) for pair in entry.pairs]
    usage = Usage(
        prompt_tokens=max(contexts, default=0),
        completion_tokens=sum(len(pair.continuation) for pair in entry.pairs),
    )
    value = _masses(entry) if isinstance(entry.request, NextToken) else _scores(entry)
    return Reply(entry.request, datetime.now(UTC), value=value, usage=usage)


def _scores(entry: _Entry) -> Scores:
    scores = []
    for place, pair in enumerate(entry.pairs):
        values = entry.values.get(place)
        total = None if values is None else math.fsum(value for (value,) in values)
        scores.append(ContinuationScore(total, len(pair.continuation), pair.missing, pair.truncated, pair.merged))
    return Scores(tuple(scores))


def _masses(entry: _Entry) -> Masses:
    (values,) = entry.values[0]
    masses, start = [], 0
    for ids in entry.groups:
        masses.append(log_sum(values[start : start + len(ids)]))
        start += len(ids)
    return Masses(tuple(masses), truncated=entry.pairs[0].truncated)


def log_sum(log_probabilities: Sequence[float]) -> float:
    """ln of the sum of the probabilities; -inf where all are zero, NaN where any is NaN.

    >>> round(log_sum([math.log(0.25), math.log(0.5)]), 12) == round(math.log(0.75), 12)
    True
    >>> log_sum([-math.inf, -math.inf])
    -inf
    """
    top = max(log_probabilities)
    if any(map(math.isnan, log_probabilities)):
        return math.nan
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in log_probabilities))
