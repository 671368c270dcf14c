"""Texts that grow side by side: one row of a key-value cache each, one token each at every step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from truthguard.backends.generation import Draft
from truthguard.backends.huggingface_cache import Cached
from truthguard.backends.huggingface_plain import quiet_inference
from truthguard.backends.huggingface_sampling import Sampler, extend

# Seats are given to others once this share of them is free: a pass for one newcomer costs half as much as one for ten.
_FREE_SHARE = 8


@dataclass(slots=True)
class Seat:
    """A row of the cache and the draft that grows in it: how wide its widest pass was, and how far it stood back there.

    The width is that of the longest row of the pass, in tokens; what a row lacks to it is padding behind the row.
    """

    draft: Draft
    sampler: Sampler
    width: int = 0
    padding: int = 0

    @property
    def column(self) -> int:
        """Where the next token goes in: all before it are in the cache. A finished draft's last one goes in again."""
        return len(self.draft.row.tokens) - 1 + len(self.draft.tokens)

    @property
    def token(self) -> int:
        """The token that goes in next."""
        return self.draft.tokens[-1] if self.draft.tokens else self.draft.row.tokens[-1]

    def saw(self, width: int) -> None:
        """Keep what the pass was like."""
        self.width = max(self.width, width)
        self.padding = max(self.padding, width - 1 - self.column)


class WritingBatch:
    """Drafts that are written together, in rows that begin with an opening that their prompts share.

    A row whose draft has ended is given to the next draft. Each prompt is put in once for all its samples that are
    written at the same time, and without its last token: that is the first token of its first step. A row sees its
    own prompt and text only, at the positions that it would have alone.
    """

    def __init__(self, cached: Cached, drafts: Iterable[Draft], *, opening: int, most_tokens: int) -> None:
        self._cached, self._opening, self._most_tokens = cached, opening, most_tokens
        self._waiting = deque(drafts)
        self._seats: list[Seat] = []

    @property
    def writing(self) -> bool:
        """Is any draft unfinished?"""
        return bool(self._waiting) or any(not seat.draft.finished for seat in self._seats)

    def step(self) -> list[Seat]:
        """Add a token to each draft at hand; those that it finished."""
        import torch

        self._change_seats()
        columns = [seat.column for seat in self._seats]
        ids = torch.tensor([[seat.token] for seat in self._seats])
        logits = self._cached.fill(ids, range(len(self._seats)), columns)
        going = [i for i, seat in enumerate(self._seats) if not seat.draft.finished]
        seats = [self._seats[i] for i in going]
        for seat in seats:
            seat.saw(max(columns) + 1)
        with quiet_inference():
            part = logits if len(going) == len(self._seats) else logits[going]
            extend([seat.draft for seat in seats], [seat.sampler for seat in seats], part)
        return [seat for seat in seats if seat.draft.finished]

    def _change_seats(self) -> None:
        """Seat who waits where a draft has ended; when nobody waits, let the rows without a draft go."""
        free = [i for i, seat in enumerate(self._seats) if seat.draft.finished]
        if _FREE_SHARE * len(free) < len(self._seats):
            return
        for i in free:
            if self._seats[i].draft.missing:
                self._cached.clear(i, self._opening)
        places = [*free, *range(len(self._seats), self._cached.rows)][: len(self._waiting)]
        self._admit(places)
        for i in reversed(free[len(places) :]):
            last = self._seats.pop()
            if i < len(self._seats):
                self._cached.copy(len(self._seats), i, self._opening, last.column)
                self._seats[i] = last

    def _admit(self, places: Sequence[int]) -> None:
        known = {seat.draft.row.tokens: i for i, seat in enumerate(self._seats) if not seat.draft.finished}
        copies: list[tuple[int, int]] = []
        fresh: list[int] = []
        for i in places:
            draft = self._waiting.popleft()
            self._seats[i : i + 1] = [Seat(draft, Sampler(draft.row))]
            if draft.row.tokens in known:
                copies.append((known[draft.row.tokens], i))
            else:
                known[draft.row.tokens] = i
                fresh.append(i)
        prompts = [self._seats[i].draft.row.tokens[self._opening : -1] for i in fresh]
        prefill(self._cached, fresh, prompts, self._opening, self._most_tokens)
        for source, target in copies:
            self._cached.copy(source, target, self._opening, self._seats[target].column)


def prefill(
    cached: Cached, rows: Sequence[int], chains: Sequence[tuple[int, ...]], start: int, most_tokens: int
) -> None:
    """Put one chain of tokens into each of the rows, from column `start` on, in passes of at most `most_tokens`.

    Shorter chains end in padding. It stands behind all that is real, so a causal model lets nothing real see it here,
    and later passes leave it out or write over it.
    """
    import torch

    order = sorted((i for i in range(len(rows)) if chains[i]), key=lambda i: (-len(chains[i]), i))
    while order:
        width = len(chains[order[0]])
        fit = max(1, most_tokens // width)
        group, order = order[:fit], order[fit:]
        ids = torch.zeros((len(group), width), dtype=torch.long)
        for line, i in zip(ids, group, strict=True):
            line[: len(chains[i])] = torch.tensor(chains[i], dtype=torch.long)
        for left in range(0, width, most_tokens):
            part = ids[:, left : left + most_tokens]
            cached.fill(part, [rows[i] for i in group], [start + left] * len(group))
