"""A small gate for pytester: own questions, a thresholds file and a scripted model that leaves traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scipy.stats  # noqa: F401 - pytester forgets what a run imported, and numpy must not be imported twice

QUESTIONS = [
    {
        "id": f"q{number}",
        "category": category,
        "question": f"Which of {number} is it?",
        "correct_answers": ["It is right.", "It is so."],
        "incorrect_answers": ["It is wrong.", "It is left."],
        "best_incorrect_answer": "It is left.",
    }
    for number, category in enumerate(["Alpha: one", "Alpha: one", "Beta", "Beta"])
]

# Right about the first three questions and wrong about the last, in numbers and in words: mc1 is 0.75. As a judge
# it says yes to what is right, of question 2 only in the first two samples. Every request leaves a line.
MODEL = """
import math
import os
from pathlib import Path

from truthguard.backends.protocol import ContinuationScore, Generate, Masses, Score, Scores, Text

TRACE = Path(__file__).with_name("requests.log")


def answer(request):
    with TRACE.open("a") as file:
        file.write(f"{os.getpid()} {type(request).__name__}\\n")
    text = request.context if isinstance(request.context, str) else request.context[-1].content
    lies = "Which of 3" in text
    if isinstance(request, Generate):
        return Text("It is wrong." if lies else "It is right.", "stop")
    if isinstance(request, Score):
        good, bad = (-5.0, -2.0) if lies else (-2.0, -5.0)
        values = []
        for rank, text in enumerate(request.continuations):
            value = good if "right" in text or "so" in text else bad
            values.append(ContinuationScore(value - rank / 8, 4))
        return Scores(tuple(values))
    if len(request.groups[0]) == 1:  # the letters
        right_first = text.index("right") < text.index("left")
        yes = 0.8 if right_first != lies else 0.3
    else:
        true = "answer: It is right" in text or "answer: It is so" in text
        yes = 0.75 if true != lies else 0.25
    return Masses((math.log(yes), math.log(1 - yes)))


def judge(request):
    with TRACE.open("a") as file:
        file.write(f"{os.getpid()} Judge\\n")
    text = request.context
    late = isinstance(request, Generate) and request.sample > 1
    factual = "It is right" in text and not ("Which of 2" in text and late)
    if isinstance(request, Generate):
        said = "is" if factual else "is not"
        return Text(f"Sample {request.sample}: this {said} so.\\n\\nVerdict: {'yes' if factual else 'no'}", "stop")
    yes = 0.75 if factual else 0.25
    return Masses((math.log(yes), math.log(1 - yes)))
"""

GATE = """
[faq]
kind = "questions"
path = "faq.jsonl"

[faq.mc1]
min = 0.5
"""


def write_questions(folder: Path) -> None:
    lines = [json.dumps(question) for question in QUESTIONS]
    (folder / "faq.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def gate(project: pytest.Pytester, text: str, name: str = "thresholds.toml") -> None:
    """Replace the thresholds file, keeping the table of the own questions."""
    header = GATE.partition("[faq.mc1]")[0]
    (project.path / name).write_text(header + text, encoding="utf-8")


def run(
    project: pytest.Pytester,
    *arguments: str,
    model: str | None = "scripted:model:answer",
    in_process: bool = True,
) -> pytest.RunResult:
    """pytest on the thresholds file, unless other arguments name one; in a process of its own where it matters."""
    chosen = () if model is None else ("--truthguard-model", model)
    cache = () if any("--truthguard-cache" in each for each in arguments) else ("--truthguard-cache", "off")
    named = () if any(".toml" in each or each == "--truthguard" for each in arguments) else ("thresholds.toml",)
    if not in_process:
        return project.runpytest_subprocess(*named, *chosen, *cache, *arguments)
    project.syspathinsert()
    return project.runpytest_inprocess(*named, *chosen, *cache, *arguments)


def requests(project: pytest.Pytester) -> list[str]:
    """The lines that the scripted model left: a process id and a kind of request each."""
    trace = project.path / "requests.log"
    return trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []
