"""The plan of shared-prefix scoring: many continuations as branches of one tree of tokens. No torch here.

A row is a chain of tokens. Rows that begin alike share the nodes of their beginning, so a question's text and the
common start of two answers are computed once. The nodes of a pass stand in one sequence; the mask lets each node
see its own ancestors only, and its position is its depth, so every branch is computed as if it stood alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROOT = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One chain of tokens that the model sees, and the token ids whose log-probability is read along its end.

    `wanted` belongs to the last `len(wanted)` tokens: `wanted[i]` are ids of the token that follows the i-th of
    them. A continuation wants one id at each of its steps; a next-token question wants several at the last one.
    """

    tokens: tuple[int, ...]
    wanted: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.wanted) <= len(self.tokens) or not all(self.wanted):
            raise ValueError("a row reads at least one id, after one of its own tokens at the earliest")

    @property
    def first_read(self) -> int:
        """The index of the first token after which something is read."""
        return len(self.tokens) - len(self.wanted)


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass behind a prefix: the tree's nodes, and where each row reads.

    `tokens`, `parents`, `positions` have one entry per node; a parent stands before its children, `ROOT` is the
    prefix, positions count from the end of the prefix. `reads[i]` are the nodes at which row `rows[i]` reads.
    """

    tokens: NDArray[np.int64]
    parents: NDArray[np.int64]
    positions: NDArray[np.int64]
    rows: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]

    def mask(self, prefix: int) -> NDArray[np.bool_]:
        """Which keys a node sees: `[nodes, prefix + nodes]`, all of the prefix, its ancestors and itself."""
        size = len(self.tokens)
        sees = np.zeros((size, prefix + size), dtype=np.bool_)
        sees[:, :prefix] = True
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                sees[node] = sees[parent]
            sees[node, prefix + node] = True
        return sees


def shared_prefix(rows: Sequence[Row]) -> int:
    """How many leading tokens all rows have in common, up to the first read of any.

    >>> shared_prefix([Row((5, 6, 7, 8), ((1,),)), Row((5, 6, 9), ((1,),))])
    2
    >>> shared_prefix([Row((5, 6), ((1,),)), Row((5, 6), ((2,),))])
    1
    """
    contexts = [row.tokens[: row.first_read] for row in rows]
    if not contexts:
        return 0
    # What the least and the greatest of a sorted list share, all between them share.
    low, high = min(contexts), max(contexts)
    return next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))


def plan(rows: Sequence[Row], groups: Sequence[int], *, prefix: int, most_tokens: int, most_reads: int) -> list[Pass]:
    """Passes that read every row exactly once, each of at most `most_tokens` nodes and `most_reads` nodes read.

    The rows' first `prefix` tokens are the same for all and no part of the trees. Rows of one group (a question's
    continuations) stay in one pass; a group above a limit is split by row, and one row alone may exceed it.
    """
    if most_tokens < 1 or most_reads < 1:
        raise ValueError("a pass holds at least one token and one read")
    packer = _Packer(rows, prefix, most_tokens, most_reads)
    members: dict[int, list[int]] = {}
    # In the order of their tokens, neighbours share most; whoever asked first does not matter.
    for number in sorted(range(len(rows)), key=lambda number: (rows[number].tokens, rows[number].wanted)):
        members.setdefault(groups[number], []).append(number)
    for group in members.values():
        packer.add(group)
    return packer.close()


class _Packer:
    """Fills one tree after another."""

    def __init__(self, rows: Sequence[Row], prefix: int, most_tokens: int, most_reads: int) -> None:
        self._rows, self._prefix = rows, prefix
        self._most_tokens, self._most_reads = most_tokens, most_reads
        self._passes: list[Pass] = []
        self._start()

    def _start(self) -> None:
        self._nodes: dict[tuple[int, int], int] = {}  # (parent, token) -> node, in the order of the nodes
        self._reads: dict[int, tuple[int, ...]] = {}  # row -> its nodes read
        self._read: set[int] = set()

    def add(self, group: Sequence[int]) -> None:
        if self._take(group):
            return
        self._finish()
        if self._take(group):
            return
        for number in group:
            if not self._take([number]):
                self._finish()
                self._take([number], alone=True)

    def close(self) -> list[Pass]:
        self._finish()
        return self._passes

    def _take(self, numbers: Sequence[int], *, alone: bool = False) -> bool:
        """Put rows into the tree; where that breaks a limit, leave the tree as it was."""
        size = len(self._nodes)
        reads = {number: self._insert(self._rows[number]) for number in numbers}
        read = self._read.union(*reads.values())
        if not alone and (len(self._nodes) > self._most_tokens or len(read) > self._most_reads):
            while len(self._nodes) > size:
                self._nodes.popitem()
            return False
        self._reads |= reads
        self._read = read
        return True

    def _insert(self, row: Row) -> tuple[int, ...]:
        node, path = ROOT, []
        for token in row.tokens[self._prefix :]:
            node = self._nodes.setdefault((node, token), len(self._nodes))
            path.append(node)
        return tuple(path[len(path) - len(row.wanted) :])

    def _finish(self) -> None:
        if not self._reads:
            return
        positions: list[int] = []
        for parent, _ in self._nodes:
            positions.append(0 if parent == ROOT else positions[parent] + 1)
        parents, tokens = np.array(list(self._nodes), dtype=np.int64).T
        self._passes.append(
            Pass(tokens, parents, np.array(positions, dtype=np.int64), tuple(self._reads), tuple(self._reads.values()))
        )
        self._start()
