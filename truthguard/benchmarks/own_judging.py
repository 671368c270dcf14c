"""A team's own graded responses and pairs, on which a judge is measured. These are the documented forms.

Graded responses (`kind = "direct"`):

| field | | |
| --- | --- | --- |
| id | optional, all or none | ASCII letters, digits, - and _; else `g-` and a hash of the texts and source |
| category | optional | `uncategorised` where it is absent or empty |
| instruction | | responses to an equal one are one group |
| response | | |
| score | | a number from 1 to 5; of several runs a list, or one text with ";" between them |
| reference | optional | an answer that deserves a 5 |
| rubric | optional | see below |
| source | optional | who wrote the response: tells equal rows apart |

Pairs (`kind = "pairwise"`):

| field | | |
| --- | --- | --- |
| id | optional, all or none | as above; else `p-` and a hash in which a and b may be swapped |
| category | optional | `uncategorised` where it is absent or empty |
| instruction | | pairs with an equal one are one group |
| a, b | | the two responses |
| winner | | a, b or tie, in any case |
| rubric | optional | see below |
| source | optional | tells equal rows apart |

A rubric is one text: the criterion, in brackets or not, then nothing or the five lines `Score 1: ...` to
`Score 5: ...`. Without one our own is taken (counted). CSV or JSON Lines as in truthguard.benchmarks.table. Texts are
stripped.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from truthguard.benchmarks import oddities
from truthguard.benchmarks.base import QuestionSet, data_digest
from truthguard.benchmarks.files import Faults, TextFile, read_text
from truthguard.benchmarks.judge_prompt import read_rubric
from truthguard.benchmarks.scores import read_scores, split_scores
from truthguard.benchmarks.table import UNCATEGORISED, Form, Row, read_rows, row_ids, shown
from truthguard.judges.grading_prompts import DEFAULT_RUBRIC
from truthguard.records import GradedResponse, ResponsePair, Rubric

DIRECT = Form(
    "own graded responses",
    ("id", "category", "instruction", "response", "score", "reference", "rubric", "source"),
    required=("instruction", "response", "score"),
)
PAIRWISE = Form(
    "own pairs",
    ("id", "category", "instruction", "a", "b", "winner", "rubric", "source"),
    required=("instruction", "a", "b", "winner"),
)
_WINNERS: dict[str, Literal["a", "b", "tie"]] = {"a": "a", "b": "b", "tie": "tie"}


def load_direct(path: Path, name: str) -> QuestionSet:
    """The graded responses of one file. Raises DataError with all mistakes of the file, each with its line."""
    file = read_text(path)
    faults = Faults(path)
    rows = read_rows(file, DIRECT, faults)
    counts: Counter[str] = Counter()
    ids, counts["repeated_ids"] = row_ids(rows, _response_content, "g", faults)
    read = [_response(row, row_id, faults, counts) for row, row_id in zip(rows, ids, strict=True)]
    faults.raise_any()
    items = tuple(item for item in read if item is not None)
    return _question_set(name, file, "direct", items, counts + oddities.of_responses(items))


def load_pairwise(path: Path, name: str) -> QuestionSet:
    """The pairs of one file. Raises DataError with all mistakes of the file, each with its line."""
    file = read_text(path)
    faults = Faults(path)
    rows = read_rows(file, PAIRWISE, faults)
    counts: Counter[str] = Counter()
    ids, counts["repeated_ids"] = row_ids(rows, _pair_content, "p", faults)
    read = [_pair(row, row_id, faults, counts) for row, row_id in zip(rows, ids, strict=True)]
    faults.raise_any()
    items = tuple(item for item in read if item is not None)
    return _question_set(name, file, "pairwise", items, counts + oddities.of_pairs(items))


def _question_set(
    name: str,
    file: TextFile,
    kind: Literal["direct", "pairwise"],
    items: tuple[GradedResponse, ...] | tuple[ResponsePair, ...],
    counts: Counter[str],
) -> QuestionSet:
    return QuestionSet(
        name=name,
        version=None,
        items=items,
        primers={},
        data_sha256=data_digest(items),
        file_sha256=file.sha256,
        counts={"dropped_choices": 0, **{key: count for key, count in sorted(counts.items()) if count}},
        path=file.path,
        kind=kind,
    )


def _stripped(row: Row, *names: str) -> list[str]:
    return [str(row.values.get(name, "")).strip() for name in names]


def _response_content(row: Row) -> str:
    """What the id is made of, told apart by a character that no file may hold."""
    return "\0".join(_stripped(row, "instruction", "response", "source"))


def _pair_content(row: Row) -> str:
    instruction, source = _stripped(row, "instruction", "source")
    return "\0".join([instruction, *sorted(_stripped(row, "a", "b")), source])


def _response(row: Row, row_id: str, faults: Faults, counts: Counter[str]) -> GradedResponse | None:
    instruction = row.text("instruction", faults, required=True)
    response = row.text("response", faults, required=True)
    category = row.text("category", faults) or UNCATEGORISED
    reference = row.text("reference", faults)
    row.text("source", faults)
    rubric, scores = _rubric(row, faults, counts), _scores(row, faults)
    if instruction is None or response is None:
        return None
    return GradedResponse(row_id, category, instruction, instruction, response, rubric, scores, reference)


def _pair(row: Row, row_id: str, faults: Faults, counts: Counter[str]) -> ResponsePair | None:
    instruction, first, second, named = (
        row.text(name, faults, required=True) for name in ("instruction", "a", "b", "winner")
    )
    category = row.text("category", faults) or UNCATEGORISED
    row.text("source", faults)
    rubric = _rubric(row, faults, counts)
    winner = None if named is None else _WINNERS.get(named.lower())
    if named is not None and winner is None:
        faults.add(f"expected a, b or tie as 'winner', found {shown(named)}", row.line)
    if instruction is None or first is None or second is None or winner is None:
        return None
    return ResponsePair(row_id, category, instruction, instruction, (first, second), winner, rubric)


def _rubric(row: Row, faults: Faults, counts: Counter[str]) -> Rubric:
    """The rubric of a row; ours where it has none, and where it is at fault."""
    text = row.text("rubric", faults)
    if text is None:
        counts["default_rubrics"] += 1
        return DEFAULT_RUBRIC
    try:
        return read_rubric(text)
    except ValueError as error:
        faults.add(f"'rubric': {error}", row.line)
        return DEFAULT_RUBRIC


def _scores(row: Row, faults: Faults) -> tuple[float, ...]:
    """The reference grades of a row; none where they are at fault."""
    value = row.values.get("score")
    try:
        if value is None:
            raise ValueError("no grade")
        return split_scores(value) if isinstance(value, str) else read_scores(value)
    except ValueError as error:
        faults.add(f"'score': {error}", row.line)
        return ()
