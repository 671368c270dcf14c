"""Ids, the digest, closing punctuation, and which items are asked."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.benchmarks.base import closed, data_digest, question_ids, select
from truthguard.records import Choice, Question, Selection

CHOICES = (Choice("yes", True, True), Choice("no", False, True))


def questions(*categories: str) -> list[Question]:
    return [Question(f"i{number:03}", name, f"q{number}?", CHOICES) for number, name in enumerate(categories)]


def test_ids_are_the_hash_of_the_stripped_question() -> None:
    """An id depends on the stripped question alone, and uses the characters that the contract allows."""
    ids, repeated = question_ids([" Is ice warm?\n", "Üben?"], "tqa")
    assert ids[0] == "tqa-" + hashlib.sha256(b"Is ice warm?").hexdigest()[:8]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", each) for each in ids)
    assert repeated == 0


def test_equal_questions_are_told_apart_in_file_order_and_counted() -> None:
    """The second and third of equal questions get -2 and -3."""
    ids, repeated = question_ids(["a", "b", "a ", "a"], "q")
    assert ids == [ids[0], ids[1], f"{ids[0]}-2", f"{ids[0]}-3"]
    assert repeated == 2


def test_the_digest_does_not_depend_on_the_order_of_the_rows() -> None:
    """Row order is not content."""
    items = questions("a", "b", "a")
    assert data_digest(items) == data_digest(reversed(items))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"category": "other"},
        {"question": "other?"},
        {"choices": CHOICES[:1]},
        {"choices": (replace(CHOICES[0], true=False), CHOICES[1])},
        {"choices": (replace(CHOICES[0], in_mc1=False), CHOICES[1])},
        {"best": "yes"},
        {"best_incorrect": "no"},
    ],
)
def test_every_part_of_an_item_changes_the_digest(change: dict[str, object]) -> None:
    """Nothing of an item is outside the digest."""
    items = questions("a")
    assert data_digest(items) != data_digest([replace(items[0], **change)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is", "It is."),
        ("It is.", "It is."),
        ("Is it?", "Is it?"),
        ("No way!", "No way!"),
        ("Who knows…", "Who knows…"),
        ('She said "never."', 'She said "never."'),
        ('The word "never"', 'The word "never".'),
        ("About 5%", "About 5%."),
        ("It is (mostly)", "It is (mostly)."),
        ("Say it (aloud!)", "Say it (aloud!)"),
        ("はい。", "はい。"),
    ],
)
def test_a_full_stop_is_added_only_where_closing_punctuation_is_lacking(text: str, expected: str) -> None:
    """Quotes and brackets after the punctuation do not hide it."""
    assert closed(text) == expected


def test_a_limit_takes_the_first_items_of_the_file() -> None:
    """A limit beyond the end takes all."""
    items = questions("b", "a", "c")
    assert select(items, Selection(limit=2)) == tuple(items[:2])
    assert select(items, Selection(limit=9)) == select(items, Selection()) == tuple(items)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    sample=st.integers(1, 200),
    seed=st.integers(0, 3),
)
def test_a_sample_is_shared_out_by_category(sizes: list[int], sample: int, seed: int) -> None:
    """It has the asked size, is in file order, misses no category when it can, and stays near the exact quota."""
    items = questions(*(f"c{number}" for number, size in enumerate(sizes) for _ in range(size)))
    chosen = select(items, Selection(sample=sample, seed=seed))
    total = len(items)
    assert len(chosen) == min(sample, total)
    assert list(chosen) == [item for item in items if item in chosen]
    counts = Counter(item.category for item in chosen)
    if sample >= len(sizes):
        assert len(counts) == len(sizes)
    for number, size in enumerate(sizes):
        exact = min(sample, total) * size / total
        if exact >= 1 and all(sample * other / total >= 1 for other in sizes):
            assert abs(counts[f"c{number}"] - exact) < 1


def test_the_largest_remainders_get_what_is_left_over() -> None:
    """Quotas 3.5, 1.05, 0.45 leave c its one place; 1.4, 0.42, 0.18 give the second place to b."""
    items = questions(*["a"] * 70, *["b"] * 21, *["c"] * 9)
    counts = Counter(item.category for item in select(items, Selection(sample=5)))
    assert counts == {"a": 3, "b": 1, "c": 1}
    assert Counter(item.category for item in select(items, Selection(sample=2))) == {"a": 1, "b": 1}


def test_a_sample_depends_on_the_seed_and_not_on_the_order_of_the_file() -> None:
    """The same seed draws the same ids from a shuffled file; another seed draws others."""
    items = questions(*["a"] * 30, *["b"] * 30)
    drawn = {item.id for item in select(items, Selection(sample=10, seed=1))}
    assert drawn == {item.id for item in select(items[::-1], Selection(sample=10, seed=1))}
    assert drawn != {item.id for item in select(items, Selection(sample=10, seed=2))}


def test_loading_and_selecting_imports_neither_numpy_nor_torch() -> None:
    """Collecting a thresholds file stays cheap."""
    code = (
        "import sys, truthguard.benchmarks.registry, truthguard.benchmarks.dialogues; "
        "from truthguard.benchmarks.base import select; from truthguard.records import Selection; "
        "select([], Selection(sample=1)); sys.exit(any(n in sys.modules for n in ('numpy', 'torch', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
