"""A text that grows token by token: when it ends and where it is cut, and which texts are written through one cache.

Rules only: no model and no torch. What writes is `huggingface_generation`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from truthguard.backends.protocol import Generate, Reply, Text, Usage
from truthguard.backends.tokens import Prompt
from truthguard.records import Missing

Decode = Callable[[Sequence[int]], str]

# A character of several bytes may be spread over tokens; until its last byte is there, it decodes to this.
_UNFINISHED = "�"
# Some tokenizers drop the space that begins a text: decoded behind the prompt's last tokens it is kept.
_LEAD = 4


@dataclass(frozen=True, slots=True)
class TextRow:
    """One text to write: how, and after which tokens."""

    request: Generate
    prompt: Prompt

    def __post_init__(self) -> None:
        if self.request.max_tokens < 1 or not self.prompt.tokens:
            raise ValueError("a text has at least one token, and follows one")
        if "" in self.request.stop:
            raise ValueError("a stop string has at least one character")

    @property
    def tokens(self) -> tuple[int, ...]:
        """The prompt's tokens."""
        return self.prompt.tokens

    @property
    def slots(self) -> int:
        """The most tokens that prompt and text come to."""
        return len(self.tokens) + self.request.max_tokens

    @property
    def seed(self) -> int:
        """Decides the random numbers of a sampled text, whatever is written beside it.

        The prompt takes part. Otherwise sample i of every prompt would be drawn with the same numbers, and the error
        of a mean over prompts would not shrink with their number.
        """
        decisive = (self.request.seed, self.request.attempt, self.tokens)
        return int.from_bytes(hashlib.sha256(repr(decisive).encode()).digest()[:8], "big") >> 1


class GrowingText:
    """The text of some tokens, decoded as they come; what is there never changes by what follows."""

    def __init__(self, decode: Decode, before: Sequence[int]) -> None:
        self._decode = decode
        self._tokens = list(before[-_LEAD:])
        # A token's text may depend on the one before it: what is new is decoded together with what was new before.
        self._first, self._read = 0, len(self._tokens)
        self.text = ""

    def add(self, token: int) -> None:
        """Take a token. Its text is held back while it ends inside a character."""
        self._tokens.append(token)
        new = self._new()
        if not new.endswith(_UNFINISHED):
            self.text += new
            self._first, self._read = self._read, len(self._tokens)

    def close(self) -> None:
        """No token follows: a character that lacks bytes never becomes one, what stands before it is text."""
        self.text += self._new().rstrip(_UNFINISHED)
        self._read = len(self._tokens)

    def cut(self, end: int) -> None:
        """Leave out what stands at `end` and behind."""
        self.text = self.text[:end]

    def _new(self) -> str:
        known = self._decode(self._tokens[self._first : self._read])
        return self._decode(self._tokens[self._first :])[len(known) :]


class Draft:
    """One text on its way: its tokens, the log-probability of each, and why it ended (None: it has not).

    It ends at a token of `ends`, at a stop string, or after the tokens that it may have.
    """

    def __init__(self, row: TextRow, decode: Decode, ends: frozenset[int]) -> None:
        self.row = row
        self.tokens: list[int] = []
        self.log_probabilities: list[float] = []
        self.finish_reason: str | None = None
        self.missing: Missing | None = None
        self._ends = ends
        self._growing = GrowingText(decode, row.tokens)
        self._searched = 0

    @property
    def finished(self) -> bool:
        return self.finish_reason is not None or self.missing is not None

    def add(self, token: int) -> None:
        """Take the token that the model wrote next."""
        self.tokens.append(token)
        ended, last = token in self._ends, len(self.tokens) == self.row.request.max_tokens
        if not ended:
            self._growing.add(token)
        if ended or last:
            self._growing.close()  # what was held back may hold a stop string, too
        if self._cut() or ended:
            self.finish_reason = "stop"
        elif last:
            self.finish_reason = "length"

    def fail(self, missing: Missing) -> None:
        """End without a text."""
        self.missing = missing

    @property
    def text(self) -> str:
        """What was written so far, cut before the earliest stop string."""
        return self._growing.text.removeprefix(self.row.prompt.spaces)

    def reply(self) -> Reply:
        """The reply to the request: a text, or why there is none."""
        usage = Usage(prompt_tokens=len(self.row.tokens), completion_tokens=len(self.tokens))
        value = None if self.missing else Text(self.text, self.finish_reason or "")
        return Reply(self.row.request, datetime.now(UTC), value=value, missing=self.missing, usage=usage)

    def _cut(self) -> bool:
        """Look for a stop string in what is new, and for one that began before and ends there."""
        text, stops = self._growing.text, self.row.request.stop
        start = max(0, self._searched - max(map(len, stops), default=0))
        self._searched = len(text)
        place = earliest(text, stops, start)
        if place is None:
            return False
        self._growing.cut(place)
        return True


def earliest(text: str, stops: Sequence[str], start: int = 0) -> int | None:
    """Where the first of the stop strings begins in the text, at or behind `start`; None where there is none.

    >>> earliest("Paris.\\n\\nQ: Who?", ("Q:", "\\n\\n"))
    6
    """
    return min((place for stop in stops if (place := text.find(stop, start)) >= 0), default=None)


@dataclass(frozen=True, slots=True)
class Family:
    """Rows, by number, whose prompts begin with the same `opening` tokens."""

    opening: int
    numbers: tuple[int, ...]


@dataclass(slots=True)
class _Node:
    """A place in the trie of all prompts: how deep it lies, and who is below it, `prompts` distinct ones."""

    depth: int
    numbers: list[int]
    prompts: int


def families(rows: Sequence[TextRow], *, pass_tokens: int) -> list[Family]:
    """Which rows are written behind an opening of their own, one family after another.

    Prompts that have more in common than all have become a family where it saves more tokens than its passes cost:
    one for each token of a text, each at `pass_tokens`, which a pass takes for itself however few its rows are. So of
    two rubrics each is put in once, while questions that begin with the same word are no family. A prompt's last token
    is no part of an opening: it is what a text starts from.
    """
    found: list[Family] = []
    path = [_Node(0, [], 0)]  # from the root to the prompt at hand, where it branches

    def leave(depth: int) -> None:
        while path[-1].depth > depth:
            node = path.pop()
            if path[-1].depth < depth:
                path.append(_Node(depth, [], 0))
            price = pass_tokens * max((rows[number].request.max_tokens for number in node.numbers), default=0)
            if (node.prompts - 1) * (node.depth - path[-1].depth) > price:
                found.append(Family(node.depth, tuple(node.numbers)))
            else:
                path[-1].numbers += node.numbers
                path[-1].prompts += node.prompts

    before: tuple[int, ...] = ()
    for number in sorted(range(len(rows)), key=lambda number: rows[number].tokens):
        chain = rows[number].tokens[:-1]
        leave(_in_common(before, chain))
        if path[-1].depth < len(chain):
            path.append(_Node(len(chain), [], 1))
        path[-1].numbers.append(number)
        before = chain
    leave(0)
    if rest := tuple(path[0].numbers):
        found.append(Family(shared_opening([rows[number] for number in rest]), rest))
    return found


def shared_opening(rows: Sequence[TextRow]) -> int:
    """How many leading tokens all prompts have in common, the last of each left out."""
    chains = [row.tokens[:-1] for row in rows]
    # What the least and the greatest of a sorted list share, all between them share.
    return _in_common(min(chains), max(chains)) if chains else 0


def _in_common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((i for i, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), min(len(a), len(b)))


def queues(rows: Sequence[TextRow], *, shared: int, most_slots: int, most_rows: int) -> list[tuple[int, ...]]:
    """Which rows are written through one cache, one after another; each queue's first row has the most slots.

    A cache has room for the queue's longest row in each of its own, but for the first `shared` slots. So where shorter
    ones wait, of which it could hold twice as many in its `most_slots` slots and `most_rows` rows, those go to another.
    Samples of one prompt follow each other, and the longest come first, so that memory ends early if it ends.
    """
    found: list[list[int]] = []
    longest = most = 0
    for number in sorted(range(len(rows)), key=lambda number: (-rows[number].slots, rows[number].tokens, number)):
        slots = rows[number].slots - shared
        if not found or (len(found[-1]) >= most and most < most_rows and 2 * slots <= longest):
            longest, most = slots, rows_at_once(slots, most_slots=most_slots, most_rows=most_rows)
            found.append([])
        found[-1].append(number)
    return [tuple(queue) for queue in found]


def rows_at_once(slots: int, *, most_slots: int, most_rows: int) -> int:
    """How many rows of so many slots a cache holds: at least one."""
    return max(1, min(most_rows, most_slots // slots))
