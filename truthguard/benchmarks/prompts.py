"""The words in which a question is asked: part of the contract, since another prompt is another number.

A preset is a primer and the way the question follows it. As a text, or with `chat_template` as turns: the
primer's shots become turns, the last question is the user's, and the reply starts where the model's would.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from truthguard.backends.protocol import Context, Turn
from truthguard.benchmarks.files import Faults, Pairs, read_json, read_text, unusable
from truthguard.errors import UsageError, nearest
from truthguard.records import BenchmarkSettings, ModelSettings

# Presets whose primer goes before the question; those whose primer holds the question in its placeholder; and
# `null`, which has no primer. Only the presets with question and answer pairs, and null, can become turns.
BEFORE = ("qa", "help")
AROUND = ("chat", "long", "harm")
TURNS = ("qa", "help", "null", "harm")
PLACEHOLDER = "{0}"

_SHOT = re.compile(r"Q: ([^\n]*)\nA: (.*?)(?:\n\n(?=Q: )|\Z)", re.DOTALL)
_OPEN_SHOT = f"Q: {PLACEHOLDER}\nA:"


@dataclass(frozen=True, slots=True)
class Wording:
    """One preset, as text or as turns, behind a system prompt or none."""

    preset: str
    primers: Mapping[str, str] = field(repr=False)
    chat_template: bool = False
    system_prompt: str | None = None

    def __post_init__(self) -> None:
        mistake = refusal(self.preset, chat_template=self.chat_template, system_prompt=self.system_prompt)
        if mistake:
            raise UsageError(mistake)

    @classmethod
    def of(cls, primers: Mapping[str, str], settings: BenchmarkSettings, model: ModelSettings) -> Wording:
        """The wording that the settings ask for. Raises UsageError where they contradict each other."""
        return cls(settings.prompt, primers, model.chat_template, model.system_prompt)

    def question(self, question: str) -> Context:
        """The question, open for an answer."""
        if self.chat_template:
            return self._turns("" if self.preset == "null" else self.primers[self.preset], question)
        if self.preset == "null":
            return f"Q: {question}\n\nA:"
        primer = self.primers[self.preset]
        if self.preset in AROUND:
            return primer.replace(PLACEHOLDER, question)
        return f"{primer}\n\nQ: {question}\nA:"

    def answer(self, choice: str) -> str:
        """An answer as the continuation of its question: after a space, or at the start of the reply."""
        return choice if self.chat_template else f" {choice}"

    def verdict(self, question: str, choice: str) -> Context:
        """Whether a proposed answer is true, open for yes or no."""
        ask = f"{question}\nProposed answer: {choice}\nIs the proposed answer true? Reply Yes or No."
        if self.chat_template:
            return self._turns(self._shots_primer, ask)
        return f"{self._shots_primer}\n\nQ: {ask}\nA:"

    def letters(self, question: str, first: str, second: str) -> Context:
        """Which of two answers is true, open for the letter A or B."""
        ask = f"{question}\n(A) {first}\n(B) {second}\nWhich one is true?"
        if self.chat_template:
            return self._turns(self._shots_primer, ask)
        return f"{self._shots_primer}\n\nQ: {ask}\nA: ("

    @property
    def _shots_primer(self) -> str:
        """The primer of the yes/no and the letter form: the preset's for qa and help, qa's for the others."""
        return self.primers[self.preset if self.preset in BEFORE else "qa"]

    def _turns(self, primer: str, ask: str) -> tuple[Turn, ...]:
        instruction, shots = split_shots(primer)
        turns = [] if self.system_prompt is None else [Turn("system", self.system_prompt)]
        for user, assistant in (*shots, (ask, None)):
            turns.append(Turn("user", instruction + user))
            instruction = ""
            if assistant is not None:
                turns.append(Turn("assistant", assistant))
        return tuple(turns)


def refusal(preset: str, *, chat_template: bool, system_prompt: str | None) -> str | None:
    """Why this combination cannot be asked, and what to do; None when it can."""
    if chat_template and preset not in TURNS:
        return (
            f"prompt {preset!r} has no question and answer pairs that could become turns of a chat template; "
            f"with chat_template = true use one of: {', '.join(TURNS)}"
        )
    if system_prompt is not None and not chat_template:
        return "system_prompt is a turn of a chat template: set chat_template = true, or leave it out"
    return None


@cache
def split_shots(primer: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    r"""What stands before the first question (with its blank line), and the question and answer pairs.

    >>> split_shots("Be exact.\n\nQ: Is ice wet?\nA: When it melts.\n\nQ: {0}\nA:")
    ('Be exact.\n\n', (('Is ice wet?', 'When it melts.'),))

    Raises ValueError where the text is not made of such pairs.
    """
    text = primer.removesuffix(_OPEN_SHOT).removesuffix("\n\n")
    start = 0 if text.startswith("Q: ") else text.find("\n\nQ: ") + 2
    if not text:
        return "", ()
    if not text.startswith("Q: ", start):
        raise ValueError("no 'Q: ' at the beginning of a paragraph")
    position, shots = start, []
    while position < len(text):
        shot = _SHOT.match(text, position)
        if shot is None or shot.end() == position:
            raise ValueError(f"no question and answer pair at {text[position : position + 40]!r}")
        shots.append((shot[1], shot[2]))
        position = shot.end()
    return text[:start], tuple(shots)


def read_primers(path: Path, presets: Collection[str]) -> dict[str, str]:
    """The primers of `presets` from a JSON file `{"primers": {"qa": ...}}`, source and license beside them.

    Raises DataError for a primer that is missing, unknown, no text, or not of its preset's form.
    """
    faults = Faults(path)
    value = read_json(read_text(path))
    top = dict(value) if isinstance(value, Pairs) else {}
    found = top.get("primers")
    if not isinstance(found, Pairs):
        faults.fail('expected an object with "primers": an object of preset names and texts')
    for key in top.keys() - {"primers", "source", "license"}:
        faults.add(f"unknown key {key!r}{nearest(key, ('primers', 'source', 'license'))}")
    primers: dict[str, str] = {}
    for preset, text in found:
        mistake = _primer_mistake(preset, text, presets) or ("stands there twice" if preset in primers else None)
        if mistake:
            faults.add(f"primer {preset!r} {mistake}")
        else:
            primers[preset] = str(text)
    for preset in presets:
        if preset not in dict(found):
            faults.add(f"primer {preset!r} is missing")
    faults.raise_any()
    return primers


def _primer_mistake(preset: str, text: object, presets: Collection[str]) -> str | None:
    if preset not in presets:
        return f"is unknown{nearest(preset, presets)}"
    if not isinstance(text, str) or not text.strip():
        return f"is no text: found {text!r}"
    if fault := unusable(text):
        return fault
    if preset in AROUND and text.count(PLACEHOLDER) != 1:
        return f"must hold the placeholder {PLACEHOLDER} once, found {text.count(PLACEHOLDER)}"
    if preset in (*BEFORE, "harm"):
        try:
            split_shots(text)
        except ValueError as error:
            return f"is not made of paragraphs 'Q: ...' and 'A: ...': {error}"
    return None
