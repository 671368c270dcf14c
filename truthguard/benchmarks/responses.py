"""A team's own prompts, with or without responses, whose correctness is judged. This is the documented form:

| field | | |
| --- | --- | --- |
| id | optional, all or none | ASCII letters, digits, - and _; else `r-` and a hash of prompt and response |
| category | optional | `uncategorised` where it is absent or empty |
| prompt | | |
| response | optional | where it is absent or empty the model under test writes one (counted) |
| source | optional | for people, not read |

CSV or JSON Lines as in truthguard.benchmarks.table. Texts are stripped. An empty text as a response in JSON Lines is
a mistake, since nobody can tell whether a model said nothing or is still to be asked.
"""

from __future__ import annotations

from pathlib import Path

from truthguard.benchmarks.base import QuestionSet, data_digest
from truthguard.benchmarks.files import Faults, read_text
from truthguard.benchmarks.table import UNCATEGORISED, Form, Row, read_rows, row_ids
from truthguard.records import Response

FORM = Form("own prompts", ("id", "category", "prompt", "response", "source"), required=("prompt",))


def load(path: Path, name: str) -> QuestionSet:
    """The prompts of one file. Raises DataError with all mistakes of the file, each with its line."""
    file = read_text(path)
    faults = Faults(path)
    rows = read_rows(file, FORM, faults)
    ids, repeated = row_ids(rows, _content, "r", faults)
    read = [_response(row, row_id, faults) for row, row_id in zip(rows, ids, strict=True)]
    faults.raise_any()
    items = tuple(item for item in read if item is not None)
    counts = {"repeated_ids": repeated, "generated_responses": sum(item.response is None for item in items)}
    return QuestionSet(
        name=name,
        version=None,
        items=items,
        primers={},
        data_sha256=data_digest(items),
        file_sha256=file.sha256,
        counts={"dropped_choices": 0, **{key: count for key, count in counts.items() if count}},
        path=path,
        kind="correctness",
    )


def _content(row: Row) -> str:
    """Prompt and response, told apart by a character that no file may hold."""
    return "\0".join(str(row.values[name]).strip() for name in ("prompt", "response") if name in row.values)


def _response(row: Row, row_id: str, faults: Faults) -> Response | None:
    prompt = row.text("prompt", faults, required=True)
    category = row.text("category", faults) or UNCATEGORISED
    response = row.text("response", faults)
    return None if prompt is None else Response(row_id, category, prompt, response)
