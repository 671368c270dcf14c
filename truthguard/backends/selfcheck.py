"""Does packed scoring agree with plain scoring? Which rows to hold against each other, and how near is near."""

from __future__ import annotations

import math
from collections.abc import Sequence

from truthguard.backends.assembly import Values
from truthguard.backends.packing import Pass, Row

# The largest difference of a row's sum between two correct computations, in nats. Half precision rounds every
# logit to 8 (bfloat16) or 11 (float16) bits, in either direction, so it grows with the root of the tokens summed.
# Measured on a model of 135M parameters: up to 0.10 and 0.014 for one token.
FLOAT32_BOUND = 1e-3
ROOT_BOUND = {"bfloat16": 0.25, "float16": 0.03}


def bound(dtype: str, row: Row) -> float:
    """How much the two paths may differ on this row's sum, in nats."""
    return FLOAT32_BOUND if dtype == "float32" else ROOT_BOUND[dtype] * math.sqrt(len(row.wanted))


def difference(packed: Values, plain: Values) -> float:
    """The largest difference of the sums over a row's steps, in nats; infinite where only one path has a number.

    Equal infinities and two NaN agree: then it is the model that gives no number, whichever way it is asked.
    """
    sums = [[math.fsum(column) for column in zip(*values, strict=True)] for values in (packed, plain)]
    return max(_distance(a, b) for a, b in zip(*sums, strict=True))


def _distance(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


def detour(tree: Pass, row: int) -> int:
    """How much farther the end of a pass's row (by its place in the pass) stands than it would alone, in tokens."""
    end = tree.reads[row][-1]
    return end - int(tree.positions[end])


def largest_detour(tree: Pass) -> int:
    """The largest detour of any row of the pass."""
    return max(detour(tree, row) for row in range(len(tree.rows)))


def probes(rows: Sequence[Row], passes: Sequence[Pass]) -> dict[int, tuple[int, ...]]:
    """The passes to check, by number, each with the rows to compare.

    What goes wrong goes wrong with length (a window) or with detour (positions or distances that an architecture
    takes from the place in the sequence): so the pass that holds the longest row and the one with the largest
    detour, and in each of them the row that is longest and the row of the largest detour.
    """
    longest = max(range(len(passes)), key=lambda i: max(len(rows[number].tokens) for number in passes[i].rows))
    farthest = max(range(len(passes)), key=lambda i: largest_detour(passes[i]))
    chosen = {}
    for i in (longest, farthest):
        tree = passes[i]
        ends = (
            max(tree.rows, key=lambda number: len(rows[number].tokens)),
            tree.rows[max(range(len(tree.rows)), key=lambda row: detour(tree, row))],
        )
        chosen[i] = tuple(dict.fromkeys(ends))
    return chosen
