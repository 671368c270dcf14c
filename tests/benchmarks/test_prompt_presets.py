"""The words of every preset, letter by letter: they are part of the contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truthguard.backends.protocol import Turn
from truthguard.benchmarks.prompts import Wording, refusal, split_shots
from truthguard.catalogue import PROMPTS
from truthguard.errors import UsageError
from truthguard.records import BenchmarkSettings, ModelSettings

SHOTS = "Q: Is ice cold?\nA: Ice is cold.\n\nQ: Who wrote this?\nA: A tester.\nIn two lines."
PRIMERS = {
    "qa": SHOTS,
    "help": f"Be exact: no\n\nmyths.\n\n{SHOTS}",
    "null": "Q: ",
    "chat": "Ann: Hello.\n\nBob: {0}\n\nAnn:",
    "long": "A post.\n\nToday's question: {0}\n\nMy answer:",
    "harm": "Q: What is best?\nA: Nothing is.\n\nQ: {0}\nA:",
}
QUESTION = "What is {0} or {question}?"
SHOT_TURNS = (
    Turn("user", "Is ice cold?"),
    Turn("assistant", "Ice is cold."),
    Turn("user", "Who wrote this?"),
    Turn("assistant", "A tester.\nIn two lines."),
)


def wording(preset: str, *, chat_template: bool = False, system_prompt: str | None = None) -> Wording:
    return Wording(preset, PRIMERS, chat_template, system_prompt)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("qa", f"{SHOTS}\n\nQ: {QUESTION}\nA:"),
        ("help", f"{PRIMERS['help']}\n\nQ: {QUESTION}\nA:"),
        ("null", f"Q: {QUESTION}\n\nA:"),
        ("chat", f"Ann: Hello.\n\nBob: {QUESTION}\n\nAnn:"),
        ("long", f"A post.\n\nToday's question: {QUESTION}\n\nMy answer:"),
        ("harm", f"Q: What is best?\nA: Nothing is.\n\nQ: {QUESTION}\nA:"),
    ],
)
def test_the_question_in_each_preset(preset: str, expected: str) -> None:
    """C10: braces in the question are text; the answer follows after one space."""
    assert wording(preset).question(QUESTION) == expected
    assert wording(preset).answer("{0} is") == " {0} is"


@pytest.mark.parametrize(
    ("preset", "primer"),
    [("qa", "qa"), ("help", "help"), ("null", "qa"), ("chat", "qa"), ("long", "qa"), ("harm", "qa")],
)
def test_the_yes_no_and_the_letter_question_in_each_preset(preset: str, primer: str) -> None:
    """The primer is the preset's for qa and help, qa's for the others; braces in the answers are text."""
    assert wording(preset).verdict(QUESTION, "{0} is") == (
        f"{PRIMERS[primer]}\n\nQ: {QUESTION}\nProposed answer: {{0}} is\n"
        "Is the proposed answer true? Reply Yes or No.\nA:"
    )
    assert wording(preset).letters(QUESTION, "{0} is", "{1} is") == (
        f"{PRIMERS[primer]}\n\nQ: {QUESTION}\n(A) {{0}} is\n(B) {{1}} is\nWhich one is true?\nA: ("
    )


@pytest.mark.parametrize(
    ("preset", "shots"),
    [
        ("qa", SHOT_TURNS),
        ("help", (Turn("user", "Be exact: no\n\nmyths.\n\nIs ice cold?"), *SHOT_TURNS[1:])),
        ("null", ()),
        ("harm", (Turn("user", "What is best?"), Turn("assistant", "Nothing is."))),
    ],
)
def test_the_shots_become_turns(preset: str, shots: tuple[Turn, ...]) -> None:
    """An instruction goes before the first question, the last question is the user's, no answer begins with a space."""
    words = wording(preset, chat_template=True)
    assert words.question(QUESTION) == (*shots, Turn("user", QUESTION))
    assert words.answer("ice") == "ice"


def test_the_yes_no_and_the_letter_question_as_turns() -> None:
    """Without `Q:` and `A:`, and without the open bracket; the shots are qa's where the preset has none."""
    words = wording("null", chat_template=True)
    ask = f"{QUESTION}\nProposed answer: ice\nIs the proposed answer true? Reply Yes or No."
    assert words.verdict(QUESTION, "ice") == (*SHOT_TURNS, Turn("user", ask))
    ask = f"{QUESTION}\n(A) ice\n(B) steam\nWhich one is true?"
    assert words.letters(QUESTION, "ice", "steam") == (*SHOT_TURNS, Turn("user", ask))


def test_a_system_prompt_is_the_first_turn() -> None:
    """As given, and an empty one is a turn too."""
    for text in ("Be brief.\n", ""):
        turns = wording("qa", chat_template=True, system_prompt=text).question("x?")
        assert turns == (Turn("system", text), *SHOT_TURNS, Turn("user", "x?"))


@pytest.mark.parametrize("preset", ["chat", "long"])
def test_presets_without_pairs_are_refused_under_a_chat_template(preset: str) -> None:
    """The presets that can be used are named."""
    with pytest.raises(UsageError, match=f"{preset}.*chat_template.*qa, help, null, harm"):
        wording(preset, chat_template=True)


def test_a_system_prompt_without_a_chat_template_is_refused() -> None:
    """It would be ignored silently otherwise."""
    settings, model = BenchmarkSettings("starter"), ModelSettings("m", system_prompt="Be brief.")
    with pytest.raises(UsageError, match="chat_template = true"):
        Wording.of(PRIMERS, settings, model)


def test_settings_that_fit_are_not_refused() -> None:
    """Every preset as text, and those with turns under a template."""
    for preset in PROMPTS["truthfulqa"]:
        assert refusal(preset, chat_template=False, system_prompt=None) is None
    model = ModelSettings("m", chat_template=True, system_prompt="x")
    assert Wording.of(PRIMERS, BenchmarkSettings("truthfulqa", prompt="harm"), model).chat_template


@pytest.mark.parametrize("primer", ["Hello", "Q: a", "Q: a\n\nQ: b\nA: c", "A: b\n\nQ: a", "x\nQ: a\nA: b"])
def test_a_primer_that_is_not_made_of_pairs_is_refused(primer: str) -> None:
    """Half a pair must not become a turn."""
    with pytest.raises(ValueError, match="Q: "):
        split_shots(primer)


def test_the_published_primers_become_turns(real_data: Path) -> None:
    """qa and help have six shots, harm three; joined again they are the primers themselves."""
    primers = json.loads((real_data / "truthfulqa" / "primers.json").read_text("utf-8"))["primers"]
    for preset, count in (("qa", 6), ("help", 6), ("harm", 3)):
        instruction, shots = split_shots(primers[preset])
        assert len(shots) == count
        pairs = "\n\n".join(f"Q: {question}\nA: {answer}" for question, answer in shots)
        assert f"{instruction}{pairs}" == primers[preset].removesuffix("\n\nQ: {0}\nA:")
        assert bool(instruction) == (preset == "help")
