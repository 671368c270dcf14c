"""Print what judging by form alone would score on the shipped responses and pairs.

A set that measures judges is worth little when a judge that reads nothing does well on it. This prints how the
grades are spread, how they go with the length of the response, and how often the better response of a decided pair is
the longer one or stands first; each beside the band that it has to lie in. The exit status is 1 when one does not.

Usage: python measure/judge_starter_balance.py
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import correlation, mean
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "truthguard" / "benchmarks" / "data"
CORRELATION_BAND = 0.35
SHARE_BAND = 0.10
GRADES = range(1, 6)

Row = dict[str, Any]


def load(name: str) -> list[Row]:
    """Read one of the two files, one JSON object a line."""
    with (DATA / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def words(text: str) -> int:
    """Return the number of words, told apart by blanks."""
    return len(text.split())


def show(label: str, value: float, aim: float, band: float) -> bool:
    """Print one number beside its band; return whether it lies in it."""
    inside = abs(value - aim) <= band
    print(f"  {label:<44} {value:+.3f}  {aim:.2f} +-{band:.2f}  {'ok' if inside else 'OUT OF BAND'}")
    return inside


def longer_is_better(responses: list[Row]) -> float:
    """Return the share of pairs of unequal grade to one instruction in which the longer response has the higher."""
    groups = defaultdict(list)
    for row in responses:
        groups[row["instruction"]].append((row["score"], len(row["response"])))
    wins = [
        (one[0] > other[0]) == (one[1] > other[1])
        for group in groups.values()
        for one, other in combinations(group, 2)
        if one[0] != other[0]
    ]
    return float(mean(wins))


def hit(row: Row, measure: Callable[[str], int]) -> float:
    """Return 1 if the better response is the one with more of something, 0 if less, a half if both have as much."""
    better, worse = (row["a"], row["b"]) if row["winner"] == "a" else (row["b"], row["a"])
    difference = measure(better) - measure(worse)
    return 0.5 if difference == 0 else float(difference > 0)


def grades(responses: list[Row]) -> bool:
    """Print how the grades are spread and how they go with length; return whether all is in its band."""
    counts = Counter(row["score"] for row in responses)
    instructions = {row["instruction"] for row in responses}
    spread = ", ".join(f"{grade}: {counts[grade]}" for grade in GRADES)
    print(f"{len(responses)} graded responses to {len(instructions)} instructions; grades {spread}")
    scores = [float(row["score"]) for row in responses]
    lengths: dict[str, Callable[[str], int]] = {"characters": len, "words": words}
    within = [
        show(
            f"pearson of grade and length in {unit}",
            correlation(scores, [float(length(row["response"])) for row in responses]),
            0.0,
            CORRELATION_BAND,
        )
        for unit, length in lengths.items()
    ]
    within.append(show("longer is better, within an instruction", longer_is_better(responses), 0.5, SHARE_BAND))
    within += [show(f"share of grade {grade}", counts[grade] / len(responses), 0.2, 0.05) for grade in GRADES]
    return all(within)


def choices(pairs: list[Row]) -> bool:
    """Print how often a choice by form would be right; return whether all is in its band."""
    decided = [row for row in pairs if row["winner"] != "tie"]
    ties = [row for row in pairs if row["winner"] == "tie"]
    print(f"\n{len(pairs)} pairs: {len(decided)} decided, {len(ties)} ties")
    measures: dict[str, Callable[[str], int]] = {
        "the longer (characters)": len,
        "the longer (words)": words,
        "the one with more digits": lambda text: sum(map(str.isdigit, text)),
    }
    within = [show("always A", mean(row["winner"] == "a" for row in decided), 0.5, SHARE_BAND)]
    within += [
        show(f"always {label}", mean(hit(row, measure) for row in decided), 0.5, SHARE_BAND)
        for label, measure in measures.items()
    ]
    longer = mean(len(row["a"]) > len(row["b"]) for row in pairs)
    within.append(show("A is the longer, ties included", longer, 0.5, SHARE_BAND))
    return all(within)


def main() -> int:
    """Print both tables; return the exit status."""
    graded = grades(load("judge_starter_responses.jsonl"))
    chosen = choices(load("judge_starter_pairs.jsonl"))
    return 0 if graded and chosen else 1


if __name__ == "__main__":
    sys.exit(main())
