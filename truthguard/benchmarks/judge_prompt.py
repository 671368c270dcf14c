"""Whole judge prompts of the published layout, taken apart: what was asked, answered, and what it is judged by.

    ###Task Description:
    ...
    ###The instruction to evaluate:
    ...
    ###Response to evaluate:
    ...
    ###Reference Answer (Score 5):          (only where there is a reference)
    ...
    ###Score Rubrics:
    [criterion]
    Score 1: ...
    ...
    Score 5: ...
    ###Feedback:

Each header begins a line, stands there once and in this order. A part is all that stands between two headers,
stripped, so that a heading within a response stays in it. Behind the last header the files of Prometheus 1 have a
quote, a comma and a line end, which are no part of the prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from truthguard.benchmarks.files import unusable
from truthguard.records import Rubric

HEADERS = (
    "Task Description",
    "The instruction to evaluate",
    "Response to evaluate",
    "Reference Answer (Score 5)",
    "Score Rubrics",
    "Feedback",
)
_TASK, _INSTRUCTION, _RESPONSE, _REFERENCE, _RUBRIC, _FEEDBACK = HEADERS
_HEADER = re.compile(rf"^###({'|'.join(map(re.escape, HEADERS))}):", re.MULTILINE)
_MARK = "###"
_TAIL = re.compile(r'[\s",]*')
_ANCHOR = re.compile(r"^[ \t]*Score[ \t]*(\d+)[ \t]*:", re.MULTILINE | re.IGNORECASE)
GRADES = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """One prompt and its parts. `text` is the prompt as it stands, stripped and without a tail.

    `had_tail` says that a tail was taken off, `marked` that a part holds the mark of a header, at which upstream's
    own reader would cut it.
    """

    text: str
    instruction: str
    response: str
    reference: str | None
    rubric: Rubric
    had_tail: bool
    marked: bool


def read_judge_prompt(text: str) -> JudgePrompt:
    """The parts of a prompt. Raises ValueError, in words, for one of another form."""
    if fault := unusable(text):
        raise ValueError(f"the judge prompt {fault}")
    parts, end = _parts(text)
    tail = text[end:]
    if not _TAIL.fullmatch(tail):
        raise ValueError(f"expected nothing behind {_shown(_FEEDBACK)}, found {tail.strip()[:40]!r}")
    instruction, response = parts[_INSTRUCTION], parts[_RESPONSE]
    if not instruction:
        raise ValueError(f"nothing stands under {_shown(_INSTRUCTION)}")
    rubric = read_rubric(parts[_RUBRIC])
    if not rubric.anchors:
        raise ValueError(f"no line 'Score 1: ...' to 'Score 5: ...' under {_shown(_RUBRIC)}")
    return JudgePrompt(
        text=text[:end].strip(),
        instruction=instruction,
        response=response,
        reference=parts.get(_REFERENCE),
        rubric=rubric,
        had_tail=bool(tail.strip()),
        marked=any(_MARK in parts.get(name, "") for name in (_INSTRUCTION, _RESPONSE, _REFERENCE)),
    )


def read_rubric(text: str) -> Rubric:
    """A rubric from its text: the criterion, with or without brackets, and all five anchors or none.

    Raises ValueError, in words, for other anchors, and for a criterion or an anchor without a word.

    >>> read_rubric("Is it short?")
    Rubric(criterion='Is it short?', anchors=())
    >>> read_rubric("\\n".join(["[Is it short?]", *(f"Score {n}: {60 - 10 * n} words." for n in range(1, 6))])).anchors
    ('50 words.', '40 words.', '30 words.', '20 words.', '10 words.')
    """
    found = list(_ANCHOR.finditer(text))
    criterion = text[: found[0].start()].strip() if found else text.strip()
    if criterion.startswith("[") and criterion.endswith("]"):
        criterion = criterion[1:-1].strip()
    if not criterion:
        raise ValueError("the rubric has no criterion: expected it before the line 'Score 1: ...'")
    if found and tuple(each[1] for each in found) != GRADES:
        grades = ", ".join(each[1] for each in found)
        raise ValueError(f"expected the lines 'Score 1: ...' to 'Score 5: ...' in this order, found those of {grades}")
    ends = [each.start() for each in found[1:]] + [len(text)]
    anchors = tuple(text[each.end() : end].strip() for each, end in zip(found, ends, strict=False))
    for grade, anchor in zip(GRADES, anchors, strict=False):
        if not anchor:
            raise ValueError(f"the rubric does not say what 'Score {grade}:' stands for")
    return Rubric(criterion, anchors)


def _parts(text: str) -> tuple[dict[str, str], int]:
    """The text under each header, stripped, and where the last header ends. Raises ValueError."""
    found = list(_HEADER.finditer(text))
    names = [each[1] for each in found]
    for name in HEADERS:
        if names.count(name) > 1:
            raise ValueError(f"{_shown(name)} stands there {names.count(name)} times: which one is meant?")
        if name not in names and name != _REFERENCE:
            raise ValueError(f"no line begins with {_shown(name)}: expected a judge prompt of the published layout")
    if names != [name for name in HEADERS if name in names]:
        raise ValueError(f"expected the headers in the order {', '.join(map(_shown, HEADERS))}")
    if before := text[: found[0].start()].strip():
        raise ValueError(f"expected nothing before {_shown(_TASK)}, found {before[:40]!r}")
    parts = {each[1]: text[each.end() : after.start()].strip() for each, after in pairwise(found)}
    return parts, found[-1].end()


def _shown(name: str) -> str:
    return f"'{_MARK}{name}:'"
