"""A set of items: its form, its digest, its ids, and which of them are asked."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from truthguard.backends.protocol import Reply, Request
from truthguard.records import (
    BenchmarkKind,
    GradedResponse,
    Item,
    ItemScores,
    LabelledAnswer,
    Probe,
    Question,
    Response,
    ResponsePair,
    Selection,
)

Role = Literal["model", "judge"]
ItemT = TypeVar("ItemT", bound=Item)

# Yields what it wants to ask of whom, is sent the replies in the order of the requests, returns the scores.
Dialogue = Generator[tuple[Role, Sequence[Request]], Sequence[Reply], ItemScores]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Items in file order, all of one kind, with the primers that stand before questions.

    `data_sha256` is the digest of the loaded items, `file_sha256` that of the data file's bytes after
    decompression. `counts` holds whatever was dropped or unusual; `dropped_choices` always stands there:

    - dropped_choices: empty pieces and repeats that became no choice; repeated_choices: only the repeats
    - repeated_ids: items whose content hash was taken already, told apart by -2, -3
    - overlapping_choices: answers that stand among the true and the false ones (kept as labelled)
    - added_answers: a best or best incorrect answer that its own list lacked
    - unpublished_file: files that are not byte for byte a published one
    - differing_best, differing_best_incorrect, unmatched_rows: where TruthfulQA's two files disagree
    - generated_responses: prompts without a response, which the model under test writes

    Of items that a judge is measured on:

    - identical_responses: pairs of two equal responses; identical_decided: those of them that people decided
    - contradicting_labels: pairs that another one with the same prompt and responses contradicts
    - repeated_responses: responses that another item has for the same prompt and rubric
    - empty_responses: items with a response without a word; empty_references: reference answers without one (none)
    - wide_scores: responses whose reference grades lie 2 or more apart
    - missing_human_scores: responses of FLASK without people's grades
    - default_rubrics: items that come without a rubric and get ours
    - unused_references: pairs with a reference answer, which no judge of pairs is shown
    - stripped_texts: Auto-J's rows with blanks around a text; trimmed_prompts: judge prompts with Prometheus 1's tail
    - marked_texts: judge prompts with ### inside a text, where upstream's own reader would cut it (kept whole)
    - unread_fields: fields of the rows that no loader knows
    - unasked_labels: labelled answers to questions that are not in the version that gives the references (left out)
    - leaked_labels: labelled answers that are a reference answer of their question (left out)
    - repeated_labels: rows with the prompt of another one, which are one item with it
    - contradicting_prompts: answers to one prompt whose labels contradict each other (left out)
    """

    name: str
    version: str | None
    items: tuple[Item, ...] = field(repr=False)
    primers: Mapping[str, str] = field(repr=False)
    data_sha256: str
    file_sha256: str
    counts: Mapping[str, int]
    path: Path
    kind: BenchmarkKind = "questions"

    @property
    def questions(self) -> tuple[Question, ...]:
        """The items of a set of questions; none of another kind."""
        return tuple(item for item in self.items if isinstance(item, Question))


def content_hash(text: str) -> str:
    """8 hex digits of the SHA-256 of the stripped text: the part of an id that depends on content alone."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:8]


def question_ids(questions: Iterable[str], prefix: str) -> tuple[list[str], int]:
    """`PREFIX-` and the content hash for each question; equal ones get -2, -3 in order. Also how many did."""
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for question in questions:
        stem = f"{prefix}-{content_hash(question)}"
        seen[stem] += 1
        ids.append(stem if seen[stem] == 1 else f"{stem}-{seen[stem]}")
    return ids, seen.total() - len(seen)


def data_digest(items: Iterable[Item]) -> str:
    """SHA-256 of the items as canonical JSON, sorted by id.

    The byte order mark, line ends, compression and row order of the file do not change it.
    """
    rows = [_canonical(item) for item in sorted(items, key=lambda item: item.id)]
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(item: Item) -> dict[str, object]:
    own: dict[str, object] = {"id": item.id, "category": item.category}
    match item:
        case Response():
            return {**own, "prompt": item.prompt, "response": item.response}
        case Question():
            choices = [[choice.text, choice.true, choice.in_mc1] for choice in item.choices]
            own.update(choices=choices, best=item.best, best_incorrect=item.best_incorrect)
            return {**own, "question": item.question}
        case Probe():
            return {**own, "question": item.question, "metric": item.metric, "wordings": list(item.wordings)}
        case LabelledAnswer():
            references = None if item.references is None else _canonical(item.references)
            own.update(answer=item.answer, truthful=item.truthful, references=references)
            return {**own, "question": item.question}
        case GradedResponse():
            own.update(response=item.response, reference=item.reference, judge_prompt=item.judge_prompt)
            own.update(scores=list(item.scores), human_scores=list(item.human_scores))
        case ResponsePair():
            # In an order of their own, so that it does not matter which of the two the file gives first.
            own["responses"] = sorted(
                [response, prompt, item.winner == letter]
                for response, prompt, letter in zip(item.responses, item.judge_prompts or ("", ""), "ab", strict=True)
            )
    rubric = {"criterion": item.rubric.criterion, "anchors": list(item.rubric.anchors)}
    return {**own, "group": item.group, "instruction": item.instruction, "rubric": rubric}


# A full stop, or its like in other scripts, with whatever closes a quotation or a bracket after it.
_CLOSED = re.compile(r"""[.!?…。！？।]["'”’»)\]]*\Z""")


def closed(text: str) -> str:
    """The text with a full stop added where closing punctuation is lacking.

    >>> closed("It sinks"), closed("It sinks!"), closed('He said "no."'), closed('The word "no"')
    ('It sinks.', 'It sinks!', 'He said "no."', 'The word "no".')
    """
    return text if _CLOSED.search(text) else text + "."


def select(items: Sequence[ItemT], selection: Selection) -> tuple[ItemT, ...]:
    """The items that are asked, in file order: the first `limit`, or `sample` of them drawn by category.

    Of labelled answers, of which a file gives all to one question in a row, `limit` are drawn, with `seed` from the
    sorted ids. A sample is shared out over the categories in proportion to their sizes (largest remainder), at least
    one to each when there are enough; within a category it is drawn from the sorted ids with `seed`, so the order of
    the file does not matter. A sample as large as the set, or larger, is the set.
    """
    if selection.limit is not None:
        return _limited(items, selection.limit, selection.seed)
    if selection.sample is None or selection.sample >= len(items):
        return tuple(items)
    by_category: dict[str, list[str]] = {}
    for item in items:
        by_category.setdefault(item.category, []).append(item.id)
    draw = random.Random(selection.seed)
    chosen: set[str] = set()
    for category, count in _shares({name: len(ids) for name, ids in by_category.items()}, selection.sample):
        chosen.update(draw.sample(sorted(by_category[category]), count))
    return tuple(item for item in items if item.id in chosen)


def _limited(items: Sequence[ItemT], limit: int, seed: int) -> tuple[ItemT, ...]:
    if limit >= len(items) or not isinstance(items[0], LabelledAnswer):
        return tuple(items[:limit])
    chosen = set(random.Random(seed).sample(sorted(item.id for item in items), limit))
    return tuple(item for item in items if item.id in chosen)


def _shares(sizes: Mapping[str, int], sample: int) -> list[tuple[str, int]]:
    """How many of `sample` fall to each category, sorted by name; the counts add up to `sample`."""
    total = sum(sizes.values())
    least = 1 if sample >= len(sizes) else 0
    counts = {name: max(least, sample * sizes[name] // total) for name in sorted(sizes)}

    def lacking(name: str) -> int:
        """How far the count is below the exact quota, in units of 1/total; equal ones go by name."""
        return sample * sizes[name] - counts[name] * total

    while sum(counts.values()) < sample:
        counts[max(counts, key=lacking)] += 1
    while sum(counts.values()) > sample:
        counts[min((name for name in counts if counts[name] > least), key=lacking)] -= 1
    return list(counts.items())
