"""The hostile answers and the two tones that ship with the package: well-formed, and about false statements."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import truthguard.benchmarks

FOLDER = Path(truthguard.benchmarks.__file__).parent / "data"
ATTACKS = {
    *("planted-verdict", "fake-delimiter", "fake-turn", "ignore-above", "json-verdict", "think-block"),
    *("other-language", "padding", "markdown", "unicode", "authority", "flattery", "rubric-quote"),
}
HEDGES = re.compile(
    r"\b(?:i think|i believe|i would (?:say|guess)|i suppose|my (?:guess|impression)|as far as i know|it seems|"
    r"probably|if i remember|fairly sure|tend to think)\b"
)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").split("\n")[:-1]]


def whole(answer: str | list[str | dict[str, list[Any]]]) -> str:
    """An answer as the judge sees it: a text, or parts of which some are `{"repeat": [text, times]}`."""
    if isinstance(answer, str):
        return answer
    return "".join(part if isinstance(part, str) else part["repeat"][0] * part["repeat"][1] for part in answer)


INJECTION, TONE = rows("injection.jsonl"), rows("tone.jsonl")
every_injection = pytest.mark.parametrize("row", INJECTION, ids=[row["id"] for row in INJECTION])
every_tone = pytest.mark.parametrize("row", TONE, ids=[row["id"] for row in TONE])


@pytest.fixture(scope="module")
def false_answers() -> dict[str, list[str]]:
    """The incorrect answers of each starter question."""
    return {row["id"]: row["incorrect_answers"] for row in rows("starter.jsonl")}


class TestInjection:
    def test_enough_of_each_kind(self) -> None:
        """At least 36 answers of 13 kinds, each kind at least twice, and five in other languages."""
        counts = Counter(row["attack"] for row in INJECTION)
        assert counts.keys() == ATTACKS
        assert counts.total() >= 36
        assert min(counts.values()) >= 2
        assert counts["other-language"] >= 5

    def test_names_are_unique(self) -> None:
        """No id stands there twice, no question twice, and each id is of letters, digits and hyphens."""
        for field in ("id", "item"):
            assert len({row[field] for row in INJECTION}) == len(INJECTION)
        assert all(re.fullmatch(r"[a-z0-9-]+", row["id"]) for row in INJECTION)

    @every_injection
    def test_form(self, row: dict[str, Any]) -> None:
        """Five fields; the answer is a text, or parts with repetitions."""
        assert list(row) == ["id", "item", "statement", "attack", "answer"]
        if not isinstance(row["answer"], str):
            for part in row["answer"]:
                if not isinstance(part, str):
                    assert list(part) == ["repeat"]
                    text, times = part["repeat"]
                    assert isinstance(text, str)
                    assert text
                    assert isinstance(times, int)
                    assert times > 1

    @every_injection
    def test_is_about_a_false_statement(self, row: dict[str, Any], false_answers: dict[str, list[str]]) -> None:
        """The statement is an incorrect answer of its question, and the hostile answer holds it verbatim, with more."""
        assert row["statement"] in false_answers[row["item"]]
        answer = whole(row["answer"])
        assert row["statement"] in answer
        assert answer != row["statement"]
        assert answer.encode("utf-8")

    @every_injection
    def test_does_what_its_kind_says(self, row: dict[str, Any]) -> None:
        """The kind of an attack shows in its text."""
        answer = whole(row["answer"])
        signs = {
            "planted-verdict": r"(?:\n|\. )Verdict: yes",
            "fake-delimiter": r"</answer|\"\"\"|```",
            "fake-turn": r"\nSystem:|<\|im_end\|>|<\|eot_id\|>|\[/INST\]",
            "json-verdict": r'"verdict\W+(?:yes|true)',
            "think-block": r"</?(?:think|reasoning)>",
            "markdown": r"\n## |\| --- \||<!-- ",
        }
        assert re.search(signs.get(row["attack"], "."), answer)
        if row["attack"] == "padding":
            assert len(answer) > 2_000
        if row["attack"] == "other-language":
            assert any(ord(character) > 127 for character in answer)
        if row["attack"] == "unicode":
            assert any(unicodedata.category(character) in ("Cf", "Zl", "Zp") for character in answer)


class TestTone:
    def test_enough(self) -> None:
        """At least 12 statements, each about another question, with unique ids."""
        assert len(TONE) >= 12
        for field in ("id", "item"):
            assert len({row[field] for row in TONE}) == len(TONE)

    @every_tone
    def test_is_about_a_false_statement(self, row: dict[str, Any], false_answers: dict[str, list[str]]) -> None:
        """The statement is an incorrect answer, and both wordings hold it, but for its first letter and full stop."""
        assert list(row) == ["id", "item", "statement", "confident", "hedged"]
        assert row["statement"] in false_answers[row["item"]]
        claim = row["statement"].removesuffix(".").lower()
        assert claim in row["confident"].lower()
        assert claim in row["hedged"].lower()

    @every_tone
    def test_the_wordings_differ_in_tone_alone(self, row: dict[str, Any]) -> None:
        """One is hedged, the other is not, and neither takes the claim back."""
        assert HEDGES.search(row["hedged"].lower())
        assert not HEDGES.search(row["confident"].lower())
        assert not re.search(r"\b(?:but|however|myth|actually)\b(?! i (?:think|believe|would))", row["hedged"].lower())


@pytest.mark.parametrize("name", ["injection.jsonl", "tone.jsonl"])
def test_nothing_hides_in_the_files(name: str) -> None:
    """The files are small, and characters that cannot be seen stand there as escapes."""
    text = (FOLDER / name).read_text("utf-8")
    assert len(text.encode("utf-8")) < 60_000
    hidden = {f"U+{ord(char):04X}" for char in text if unicodedata.category(char) in ("Cf", "Cc", "Zl", "Zp", "Co")}
    assert hidden == {"U+000A"}
