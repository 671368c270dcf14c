"""`judge_starter`: responses with grades and pairs with a winner, to measure a judge at once and offline.

Both files have the form of a team's own (truthguard.benchmarks.own_judging). What each grade stands for can be checked:
an anchor names the fact, the step or the demand that it takes. A decided pair differs in one such thing, a tie is of
two responses that are right, or wrong, alike. Neither length nor place tells which is better
(measure/judge_starter_balance.py).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import zip_longest
from pathlib import Path

from truthguard.benchmarks import own_judging
from truthguard.benchmarks.base import QuestionSet, data_digest
from truthguard.catalogue import JUDGE_STARTER

_FOLDER = Path(__file__).parent / "data"


def load() -> QuestionSet:
    """The responses and the pairs that ship with the package, in turns, each in its file's order.

    So the first N of them are of both kinds. They have categories in common: the kinds of instruction.
    """
    paths = [_FOLDER / "judge_starter_responses.jsonl", _FOLDER / "judge_starter_pairs.jsonl"]
    responses = own_judging.load_direct(paths[0], JUDGE_STARTER)
    pairs = own_judging.load_pairwise(paths[1], JUDGE_STARTER)
    turns = zip_longest(responses.items, pairs.items)
    items = tuple(item for turn in turns for item in turn if item is not None)
    counts = Counter(responses.counts) + Counter(pairs.counts)
    return QuestionSet(
        name=JUDGE_STARTER,
        version=None,
        items=items,
        primers={},
        data_sha256=data_digest(items),
        file_sha256=hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest(),
        counts={"dropped_choices": 0, **counts},
        path=paths[0],
        kind="judge_starter",
    )
