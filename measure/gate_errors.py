"""Simulate the gate of paired comparisons: how often it blocks an unchanged model, and how often a worse one.

A file has a row for all 817 questions, and then rows for the largest of 37 categories; every row allows no drop at all
(max_drop = 0), so an unchanged model stands exactly on the bar, where false alarms are most frequent. A file blocks
when any of its rows does: under proof when a one-sided test at 0.05 over the number of rows shows a drop, under
estimate when the number itself is a drop. Two metrics: one of 0/1 items, of which a share flips, half up and half
down (Tango's test); and a mean, of which as many items move to another value of the same distribution and the others
jitter as those of another number format do (t). A true drop comes on top: that many more items lose what they had.
Every p is one of truthguard's own functions, or has been compared with it.

Printed beside each share is the simulation's own standard error. Tango's test is an approximation that swings around
its level as the counts are whole; its exact level for one row is printed as well. The exit status is 1 when more than
0.05 of the unchanged models block under proof, by more than three standard errors.

Usage: python measure/gate_errors.py [--files 40000] [--seed 0]
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import binom

from truthguard.metrics.paired import paired_t_p, tango_p
from truthguard.metrics.power import changed_spread, detectable_drop
from truthguard.metrics.statistics import Interval

ALPHA = 0.05
# The category sizes of a set like TruthfulQA, 37 of them; one more of 4 questions has no row of its own.
CATEGORIES = (
    *(100, 64, 55, 55, 31, 30, 26, 25, 24, 24, 23, 22, 21, 21, 21, 19, 18, 17, 16),
    *(16, 16, 15, 15, 14, 14, 13, 12, 11, 10, 10, 9, 9, 9, 9, 8, 6, 5),
)
QUESTIONS = 817
SIZES = np.array([QUESTIONS, *CATEGORIES])
ROWS = (1, 2, 5, 10, 38)
FLIPS = (0.05, 0.10, 0.20)
DROPS = (0.0, 0.02, 0.05, 0.10)
# The mean's values lie between 0 and 1, as mc2_mass does, around 0.45.
SHAPE = (1.8, 2.2)
JITTER = 0.002
BATCH = 1_000

Floats = NDArray[np.float64]
# For each file and row: the one-sided p that there is a drop, and the drop.
Tested = tuple[Floats, Floats]


def starts() -> NDArray[np.intp]:
    """Return where each category begins among the questions, the one without a row of its own last."""
    return np.concatenate([[0], np.cumsum(CATEGORIES)])


@cache
def share_p(b: int, c: int, n: int) -> float:
    """Return Tango's p that the true drop is above 0."""
    return tango_p(b, c, n, 0.0, "greater")


def shares(generator: np.random.Generator, files: int, flips: float, drop: float) -> Tested:
    """Draw 0/1 metrics: each question is lost, won or kept, independently."""
    sizes = [*CATEGORIES, QUESTIONS - sum(CATEGORIES)]
    chances = [flips / 2 + drop, flips / 2, 1 - flips - drop]
    counts = np.stack([generator.multinomial(size, chances, size=files) for size in sizes], axis=1)[:, :, :2]
    counts = np.concatenate([counts.sum(axis=1, keepdims=True), counts[:, : len(CATEGORIES)]], axis=1)
    p = np.empty(counts.shape[:2])
    for row, n in enumerate(SIZES.tolist()):
        pairs, where = np.unique(counts[:, row], axis=0, return_inverse=True)
        p[:, row] = np.array([share_p(b, c, n) for b, c in pairs.tolist()])[where.ravel()]
    return p, (counts[:, :, 0] - counts[:, :, 1]) / SIZES


def means(generator: np.random.Generator, files: int, flips: float, drop: float) -> Tested:
    """Draw a mean metric: each question keeps its value but for the jitter, moves, or loses all that it had."""
    batches = [_means(generator, min(BATCH, files - done), flips, drop) for done in range(0, files, BATCH)]
    return np.concatenate([p for p, _ in batches]), np.concatenate([drops for _, drops in batches])


def _means(generator: np.random.Generator, files: int, flips: float, drop: float) -> Tested:
    shape = (files, QUESTIONS)
    fate = generator.random(shape)
    lost = fate < drop * sum(SHAPE) / SHAPE[0]
    moved = (fate > 1.0 - flips) & ~lost
    differences = generator.normal(0.0, JITTER, shape)
    differences[lost] = generator.beta(*SHAPE, size=int(lost.sum()))
    differences[moved] = np.subtract(*generator.beta(*SHAPE, size=(2, int(moved.sum()))))
    return t_test(differences)


def t_test(differences: Floats) -> Tested:
    """Return the p of paired_t_p for every row of every file at once, after comparing the first file's."""
    ends = starts()
    sums, squares = (
        np.concatenate([x.sum(axis=1, keepdims=True), np.add.reduceat(x, ends, axis=1)[:, :-1]], axis=1)
        for x in (differences, differences**2)
    )
    centres = sums / SIZES
    errors = np.sqrt((squares - sums * centres) / (SIZES - 1) / SIZES)
    p = stdtr(SIZES - 1, -centres / errors)
    first = [differences[0], *np.split(differences[0], ends[1:])[:-1]]
    for values, found in zip(first, p[0], strict=True):
        expected = paired_t_p(values.tolist(), range(len(values)), 0.0, "greater", Interval(0.0, 1.0))
        if expected is None or not math.isclose(expected, found, rel_tol=1e-6, abs_tol=1e-12):
            raise SystemExit(f"the simulation's p {found!r} is not the gate's {expected!r}")
    return p, centres


def blocked(tested: Tested) -> Iterator[tuple[float, float]]:
    """Yield for each number of rows the share of files that block, under proof and under estimate."""
    p, drops = tested
    for rows in ROWS:
        proof = (p[:, :rows] < ALPHA / rows).any(axis=1).mean()
        yield float(proof), float((drops[:, :rows] > 1e-9).any(axis=1).mean())


def cell(share: float, files: int) -> str:
    """Return a share in per cent with its standard error."""
    return f"{100 * share:6.2f} ({100 * math.sqrt(share * (1 - share) / files):.2f})"


def exact_level(flips: float, alpha: float) -> float:
    """Return the chance that Tango's test blocks one row of all questions although the model is unchanged.

    Summed over the number of questions that flip and how many of them are lost.
    """
    counts = np.arange(QUESTIONS + 1)
    level = 0.0
    for flipped, chance in zip(counts.tolist(), binom.pmf(counts, QUESTIONS, flips).tolist(), strict=True):
        if chance > 1e-12:
            blocks = [share_p(b, flipped - b, QUESTIONS) < alpha for b in range(flipped + 1)]
            level += chance * float(binom.pmf(np.flatnonzero(blocks), flipped, 0.5).sum())
    return level


def found_at_stated_power(generator: np.random.Generator, files: int) -> None:
    """Print how often the drop that `detectable_drop` states is found, which should be 80 %."""
    print("\nthe smallest drop that the row of all questions (0/1 items) states, and how often it is shown")
    for flips in FLIPS:
        cells = []
        for rows in (1, 38):
            drop = detectable_drop(changed_spread(flips), QUESTIONS, ALPHA / rows)
            # The stated share is all that changes: the drop is a part of it.
            p, _ = shares(generator, files, flips - drop, drop)
            found = float((p[:, 0] < ALPHA / rows).mean())
            cells.append(f"alpha / {rows:<2}  {100 * drop:.2f} points, {cell(found, files)}")
        print(f"  {100 * flips:2.0f} % changed   " + "   ".join(cells))


def main() -> int:
    """Print the tables; return 1 when the false alarms are too many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=40_000, help="simulated files of each kind (default 40,000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files, generator, began = options.files, np.random.default_rng(options.seed), time.perf_counter()
    alarms: list[tuple[float, str]] = []
    print(f"files that block, in per cent (standard error), of {files:,}; max_drop = 0, alpha {ALPHA:g} / rows")
    for name, draw in (("0/1 items", shares), ("mean", means)):
        for drop in DROPS:
            print(f"\n{name}, " + (f"true drop of {100 * drop:g} points" if drop else "unchanged model: false alarms"))
            print("  changed  block_on " + "".join(f"{rows:8} row{'s' * (rows > 1):3}" for rows in ROWS))
            for flips in FLIPS:
                proof, estimate = zip(*blocked(draw(generator, files, flips, drop)), strict=True)
                for block_on, found in (("proof", proof), ("estimate", estimate)):
                    print(f"  {100 * flips:5.0f} %  {block_on:8} ", *(cell(share, files) for share in found), sep=" ")
                if drop == 0.0:
                    files_of = (f"{name}, {flips:.0%} changed, rows: {rows}" for rows in ROWS)
                    alarms += zip(proof, files_of, strict=True)
    exact = ", ".join(f"{100 * exact_level(flips, ALPHA):.2f}" for flips in FLIPS)
    print(f"\nexact false alarms of one row of 0/1 items under proof: {exact} % at 5, 10, 20 % changed")
    found_at_stated_power(generator, files)
    most, where = max(alarms)
    above = (most - ALPHA) / math.sqrt(ALPHA * (1 - ALPHA) / files)
    print(f"\nmost false alarms under proof: {cell(most, files).strip()} %, {where}")
    print(f"that is {above:+.1f} standard errors from {100 * ALPHA:g} %")
    print(f"{time.perf_counter() - began:.0f} seconds")
    return 1 if above > 3 else 0


if __name__ == "__main__":
    sys.exit(main())
