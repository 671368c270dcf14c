"""The plan of shared-prefix scoring: many continuations as branches of one tree of tokens. No torch here.

A row is a chain of tokens. Rows that begin alike share the nodes of their beginning, so a question's text and the
common start of two answers are computed once. The nodes of a pass stand in one sequence; the mask lets each node
see its own ancestors only, and its position is its depth, so every branch is computed as if it stood alone.

What the rows of several passes have in common is their prefix, computed once, before them. There may be several, one
within the other: all prompts of a benchmark begin with its primer, all choices of a long question with its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

ROOT = -1

# A pass costs about so many tokens besides its own: a prefix that saves fewer is not worth one.
_WORTH = 32
# What does not fit evenly may make a pass longer, by this factor, than it were if all of a family's had one length.
_UNEVEN = 1.03
# How many passes are filled at the same time: with more of them they hardly become fuller.
_OPEN = 8


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
    """One forward pass: a tree of tokens behind a prefix, and where each row reads.

    `tokens`, `parents`, `positions` have one entry per node; a parent stands before its children, `ROOT` is the
    prefix, positions count from the end of the prefix. `reads[i]` are the nodes at which row `rows[i]` reads.
    """

    prefix: tuple[int, ...]
    tokens: NDArray[np.int64]
    parents: NDArray[np.int64]
    positions: NDArray[np.int64]
    rows: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]

    def mask(self) -> NDArray[np.bool_]:
        """Which keys a node sees: `[nodes, prefix + nodes]`, all of the prefix, its ancestors and itself."""
        size, prefix = len(self.tokens), len(self.prefix)
        sees = np.zeros((size, prefix + size), dtype=np.bool_)
        sees[:, :prefix] = True
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                sees[node] = sees[parent]
            sees[node, prefix + node] = True
        return sees


@dataclass(frozen=True, slots=True)
class Family:
    """Rows, by number, whose first `prefix` tokens are the same, and how many tokens their tree has beyond those."""

    prefix: int
    rows: tuple[int, ...]
    beyond: int


def plan(rows: Sequence[Row], groups: Sequence[int], *, most_tokens: int, most_reads: int) -> list[Pass]:
    """Passes that read every row exactly once, each of at most `most_tokens` nodes and `most_reads` nodes read.

    Rows of one group (a question's continuations) stay in one pass; a group above a limit is split by row, and one
    row alone may exceed it. Passes behind one prefix follow each other, and those behind one that begins with it.
    """
    if most_tokens < 1 or most_reads < 1:
        raise ValueError("a pass holds at least one token and one read")
    passes: list[Pass] = []
    for family in families(rows, most_tokens):
        alike = ceil(_UNEVEN * family.beyond / ceil(family.beyond / most_tokens))
        packer = _Packer(rows[family.rows[0]].tokens[: family.prefix], min(alike, most_tokens), most_reads)
        members: dict[int, dict[int, Row]] = {}
        for number in family.rows:
            members.setdefault(groups[number], {})[number] = rows[number]
        for group in members.values():
            packer.add(group)
        passes += packer.close()
    return passes


def families(rows: Sequence[Row], most_tokens: int) -> list[Family]:
    """Which rows share which prefix; each row is in one family.

    What some rows begin with is a prefix of theirs where they do not fit into one pass together with it, so that
    further passes would compute it again. The families come in the order of their prefixes, one that lies within
    another behind it, and their rows in the order of their tokens, where neighbours share most.

    >>> families([Row((5, 6, 7, 8), ((1,),)), Row((5, 6, 9), ((1,),))], most_tokens=100)
    [Family(prefix=0, rows=(0, 1), beyond=5)]
    """
    order = sorted(range(len(rows)), key=lambda number: (rows[number].tokens, rows[number].wanted))
    found: list[Family] = []
    # The beginnings that rows have in common are a tree. `path` leads to the row at hand; whichever beginning no
    # further row has is complete, and its rows become a family or go to the beginning that it lies in.
    path = [_Beginning(0)]
    for number, follower in zip(order, [*order[1:], None], strict=True):
        row = rows[number]
        shared = 0 if follower is None else shared_tokens(row.tokens, rows[follower].tokens)
        done = _Beginning(len(row.tokens), [number], row.first_read)
        while True:
            if path[-1].depth < shared:
                path.append(_Beginning(shared))
            if (family := done.within(path[-1], most_tokens)) is not None:
                found.append(family)
            if path[-1].depth == shared:
                break
            done = path.pop()
    if path[0].rows:
        found.append(Family(0, tuple(path[0].rows), path[0].beyond))
    return sorted(found, key=lambda family: rows[family.rows[0]].tokens[: family.prefix])


@dataclass(slots=True)
class _Beginning:
    """`depth` tokens that rows have in common, and how many tokens the tree of those rows has beyond them.

    Nothing is read within the first `unread` tokens of any of the rows.
    """

    depth: int
    rows: list[int] = field(default_factory=list)
    unread: float = inf
    beyond: int = 0

    def within(self, outer: _Beginning, most_tokens: int) -> Family | None:
        """A family of its own where it is worth one; otherwise its rows go to the beginning that it lies in."""
        if not self.rows:
            return None
        beyond_outer = self.beyond + self.depth - outer.depth
        prefix = int(min(self.depth, self.unread))
        if (between := prefix - outer.depth) > 0:
            beyond = beyond_outer - between
            room = most_tokens - between
            if room < 1 or (ceil(beyond / room) - 1) * between >= _WORTH:
                return Family(prefix, tuple(self.rows), beyond)
        outer.rows += self.rows
        outer.unread = min(outer.unread, self.unread)
        outer.beyond += beyond_outer
        return None


def shared_tokens(tokens: tuple[int, ...], others: tuple[int, ...]) -> int:
    """How many leading tokens two chains have in common.

    >>> shared_tokens((5, 6, 7, 8), (5, 6, 9))
    2
    """
    low, high = 0, min(len(tokens), len(others))
    # Slices are compared much faster than tokens one by one.
    while low < high:
        middle = (low + high + 1) // 2
        if tokens[low:middle] == others[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Tree:
    """The nodes of one pass as they come together."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], int] = {}  # (parent, token) -> node, in the order of the nodes
        self.reads: dict[int, tuple[int, ...]] = {}  # row -> its nodes read
        self.read: set[int] = set()

    def take(self, rows: Mapping[int, Row], prefix: int, most_tokens: float, most_reads: float) -> bool:
        """Put in rows, by number, without their prefix; where that breaks a limit, nothing is changed."""
        size = len(self.nodes)
        reads = {number: self._insert(row, prefix) for number, row in rows.items()}
        read = self.read.union(*reads.values())
        if len(self.nodes) > most_tokens or len(read) > most_reads:
            while len(self.nodes) > size:
                self.nodes.popitem()
            return False
        self.reads |= reads
        self.read = read
        return True

    def _insert(self, row: Row, prefix: int) -> tuple[int, ...]:
        node, path = ROOT, []
        for token in row.tokens[prefix:]:
            node = self.nodes.setdefault((node, token), len(self.nodes))
            path.append(node)
        return tuple(path[len(path) - len(row.wanted) :])

    def as_pass(self, prefix: tuple[int, ...]) -> Pass:
        positions: list[int] = []
        for parent, _ in self.nodes:
            positions.append(0 if parent == ROOT else positions[parent] + 1)
        parents, tokens = np.array(list(self.nodes), dtype=np.int64).T
        places = np.array(positions, dtype=np.int64)
        return Pass(prefix, tokens, parents, places, tuple(self.reads), tuple(self.reads.values()))


class _Packer:
    """Fills the passes behind one prefix, several at a time, so that what has no room in one fills another."""

    def __init__(self, prefix: tuple[int, ...], most_tokens: int, most_reads: int) -> None:
        self._prefix = prefix
        self._most_tokens, self._most_reads = most_tokens, most_reads
        self._open: list[_Tree] = []
        self._full: list[_Tree] = []

    def add(self, rows: Mapping[int, Row]) -> None:
        """Put a group's rows into one pass, or, where they are too many for one, into as few as they need."""
        if self._open and self._take(self._open[-1], rows):
            return
        alone = _Tree()
        if not self._take(alone, rows):
            self._split(rows)
            return
        for tree in self._open[:-1]:
            # Only neighbours share tokens worth the trial.
            if len(tree.nodes) + len(alone.nodes) <= self._most_tokens and self._take(tree, rows):
                return
        self._begin(alone)

    def close(self) -> list[Pass]:
        """All passes."""
        return [tree.as_pass(self._prefix) for tree in [*self._full, *self._open]]

    def _split(self, rows: Mapping[int, Row]) -> None:
        self._begin(_Tree())
        for number, row in rows.items():
            if not self._take(self._open[-1], {number: row}):
                if self._open[-1].nodes:
                    self._begin(_Tree())
                self._open[-1].take({number: row}, len(self._prefix), inf, inf)

    def _begin(self, tree: _Tree) -> None:
        if len(self._open) == _OPEN:
            self._full.append(self._open.pop(max(range(_OPEN), key=lambda i: len(self._open[i].nodes))))
        self._open.append(tree)

    def _take(self, tree: _Tree, rows: Mapping[int, Row]) -> bool:
        return tree.take(rows, len(self._prefix), self._most_tokens, self._most_reads)
