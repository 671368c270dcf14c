"""The public labels of TruthfulQA's answers, from which judges of truth were trained and on which they are measured.

People labelled models' answers as true or not and as informative or not; the files hold the reference answers too,
under the label that they were written for. A judge that sees references knows those by heart, so a row whose answer
equals a reference of its question in any version (stripped, in lower case, without a closing full stop) is left out.
Equal prompts are one item, and none where their labels contradict each other. Questions that are not in 2021-10 are
left out: that version gives the references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from truthguard.benchmarks import truthfulqa
from truthguard.benchmarks.files import Faults, TextFile
from truthguard.catalogue import VERSIONS
from truthguard.errors import DataError
from truthguard.judges.prompts import Dimension
from truthguard.records import Question

VERSION = "2021-10"
FILES: Mapping[Dimension, str] = {"truthful": "finetune_truth.jsonl", "informative": "finetune_info.jsonl"}
# SHA-256 of the published files, uncompressed.
PUBLISHED: Mapping[Dimension, str] = {
    "truthful": "8e81d9f0dc592e26fb0d37106126e489d39ac75099828b1f2c8142f3ede60c6b",
    "informative": "b8e00e379f3aefcdb01b93886e67e0991ca90b5fdd389c0be4be2f5f00c07ec3",
}

_FOLDER = "judge"
_LABELS = {" yes": True, " no": False}
_PROMPT = re.compile(r"Q: (?P<question>.*?)\nA: ?(?P<answer>.*)\n(?:True|Helpful):", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One answer to a question, what its label says, and whether it is a reference of the question."""

    question: str
    answer: str
    label: bool
    leaked: bool


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is left of rows: `items` in file order, each prompt once, and how many were left out and why.

    `known` are the rows whose question is asked, leaked ones among them. `n_unasked`, `n_leaked` and `n_repeated`
    count rows, `n_contradicting` prompts.
    """

    items: tuple[Labelled, ...]
    known: tuple[Labelled, ...]
    n_unasked: int
    n_leaked: int
    n_repeated: int
    n_contradicting: int


def labels_path(data: Path, dimension: Dimension) -> Path:
    """The file of a dimension's labels under `data`/truthfulqa/judge, as it is or gzipped. Raises DataError."""
    folder = data / truthfulqa.FOLDER / _FOLDER
    for path in (folder / FILES[dimension], folder / f"{FILES[dimension]}.gz"):
        if path.is_file():
            return path
    raise DataError(
        f"no labelled answers: looked for {FILES[dimension]} (or {FILES[dimension]}.gz) in {folder}; get the files with"
        " `truthguard fetch truthfulqa`, or name the folder that holds truthfulqa/ with --truthguard-data or"
        " TRUTHGUARD_DATA"
    )


def load_versions(data: Path) -> dict[str, dict[str, Question]]:
    """The questions of every version by their text. Raises DataError."""
    return {
        version: {question.question: question for question in truthfulqa.load(data, version).questions}
        for version in VERSIONS[truthfulqa.FOLDER]
    }


def all_references(versions: Mapping[str, Mapping[str, Question]]) -> frozenset[tuple[str, str]]:
    """Every question with each of its reference answers in any version, in the form in which they are compared."""
    return frozenset(
        (text, bare(choice.text))
        for questions in versions.values()
        for text, question in questions.items()
        for choice in question.choices
    )


def read_labels(file: TextFile, references: Set[tuple[str, str]]) -> list[Labelled]:
    """Every row of a file of labels, in file order. Raises DataError for rows of another form."""
    faults, rows = Faults(file.path), list[Labelled]()
    for number, line in enumerate(file.text.rstrip("\n").split("\n"), start=1):
        try:
            row = json.loads(line)
            prompt, label = _PROMPT.fullmatch(row["prompt"]), _LABELS[row["completion"]]
        except (ValueError, KeyError, TypeError):
            prompt, label = None, False
        if prompt is None:
            faults.add('expected "Q: ...\\nA: ...\\nTrue:" or "Helpful:", and " yes" or " no" to complete it', number)
        else:
            question, answer = prompt["question"].strip(), prompt["answer"]
            rows.append(Labelled(question, answer, label, (question, bare(answer)) in references))
    faults.raise_any()
    return rows


def clean(rows: Sequence[Labelled], asked: Collection[str] | None = None) -> Cleaned:
    """Leave out questions that are not `asked` (None = all are), references and contradictions; merge equal prompts."""
    known = [row for row in rows if asked is None or row.question in asked]
    kept = [row for row in known if not row.leaked]
    by_prompt: dict[tuple[str, str], set[Labelled]] = {}
    for row in kept:
        by_prompt.setdefault((row.question, row.answer), set()).add(row)
    items = tuple(item for item, *others in by_prompt.values() if not others)
    return Cleaned(
        items=items,
        known=tuple(known),
        n_unasked=len(rows) - len(known),
        n_leaked=len(known) - len(kept),
        n_repeated=len(kept) - len(by_prompt),
        n_contradicting=len(by_prompt) - len(items),
    )


def bare(answer: str) -> str:
    """An answer in the form in which it is compared with a reference.

    >>> bare(" Ice floats. "), bare("ICE floats")
    ('ice floats', 'ice floats')
    """
    return answer.strip().lower().removesuffix(".")
