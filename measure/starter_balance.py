"""Print what answering by form alone would score on the shipped question set.

A question set is worth little when a model that knows nothing can pass it by the look of an answer:
its length, a negation in it, its place in the list. This prints, for each such shortcut, its accuracy
beside chance, over two sets of choices per question: MC1 (the best answer against every incorrect one)
and the binary pair (the best answer against the most tempting incorrect one). Choices that a shortcut
cannot tell apart share the hit. The exit status is 1 when a rate leaves its band around chance.

Usage: python measure/starter_balance.py
"""

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import NamedTuple

DATA = Path(__file__).resolve().parent.parent / "truthguard" / "benchmarks" / "data" / "starter.jsonl"
MC1_BAND = 0.06
BINARY_BAND = 0.08
NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE)


class Item(NamedTuple):
    """The fields of one question that the shortcuts look at."""

    category: str
    best: str
    correct: list[str]
    incorrect: list[str]
    best_incorrect: str


def load(path: Path) -> list[Item]:
    """Read the question set, one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Item(
            row["category"],
            row["best_answer"],
            row["correct_answers"],
            row["incorrect_answers"],
            row["best_incorrect_answer"],
        )
        for row in rows
    ]


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text: an order of the choices that says nothing of their truth."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def longest(choices: list[str]) -> list[str]:
    """Return the choices with the most characters."""
    most = max(map(len, choices))
    return [choice for choice in choices if len(choice) == most]


def shortest(choices: list[str]) -> list[str]:
    """Return the choices with the fewest characters."""
    fewest = min(map(len, choices))
    return [choice for choice in choices if len(choice) == fewest]


def first(choices: list[str]) -> list[str]:
    """Return the choice that comes first in hash order."""
    return [min(choices, key=text_hash)]


def negated(choices: list[str]) -> list[str]:
    """Return the choices with a negation, or all of them when none has one."""
    return [choice for choice in choices if NEGATION.search(choice)] or choices


def unnegated(choices: list[str]) -> list[str]:
    """Return the choices without a negation, or all of them when each has one."""
    return [choice for choice in choices if not NEGATION.search(choice)] or choices


SHORTCUTS: dict[str, Callable[[list[str]], list[str]]] = {
    "longest answer": longest,
    "shortest answer": shortest,
    "first in hash order": first,
    "with a negation": negated,
    "without a negation": unnegated,
}


def hit(choices: list[str], picked: list[str]) -> float:
    """Return the chance that a blind draw among the picked choices hits choices[0], the best answer."""
    return 1 / len(picked) if choices[0] in picked else 0.0


def report(name: str, choice_lists: list[list[str]], band: float) -> bool:
    """Print one table of shortcut rates; return whether every rate lies in its band."""
    chance = mean(1 / len(choices) for choices in choice_lists)
    print(f"\n{name}: chance {chance:.3f}, band +-{band:.2f}")
    within = True
    for label, pick in SHORTCUTS.items():
        rate = mean(hit(choices, pick(choices)) for choices in choice_lists)
        inside = abs(rate - chance) <= band
        within = within and inside
        print(f"  {label:<20} {rate:.3f}  {rate - chance:+.3f}  {'ok' if inside else 'OUT OF BAND'}")
    return within


def main() -> int:
    """Print the counts and both tables; return the exit status."""
    items = load(DATA)
    categories = Counter(item.category for item in items)
    true_answers = sum(len(item.correct) for item in items)
    false_answers = sum(len(item.incorrect) for item in items)
    print(f"{len(items)} items, {len(categories)} categories (smallest: {min(categories.values())} items)")
    print(f"{true_answers + false_answers} answers: {true_answers} true, {false_answers} false")
    mc1 = report("MC1", [[item.best, *item.incorrect] for item in items], MC1_BAND)
    binary = report("Binary", [[item.best, item.best_incorrect] for item in items], BINARY_BAND)
    return 0 if mc1 and binary else 1


if __name__ == "__main__":
    sys.exit(main())
