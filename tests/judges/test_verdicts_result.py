"""What follows [RESULT]: grades from 1 to 5, and the response preferred."""

from __future__ import annotations

import pytest

from truthguard.judges.verdicts import Grade, Preference, read_choice, read_grade


def grade(text: str) -> int | str:
    """The grade, or the kind of reply that has none."""
    found = read_grade(text, "stop")
    assert (found.kind == "grade") == (found.grade is not None)
    return found.kind if found.grade is None else found.grade


def choice(text: str, *, allow_tie: bool = True) -> str:
    return read_choice(text, "stop", allow_tie).kind


class TestGrade:
    @pytest.mark.parametrize(
        ("reply", "read"),
        [
            ("[RESULT] 4", 4),
            ("[RESULT] 4/5", 4),
            ("**[RESULT] 4**", 4),
            ("[RESULT] (4)", 4),
            ("[RESULT] 4.", 4),
            ("[RESULT]: 4.", 4),
            ("[RESULT] 4\n\nLet me know if you need more.", 4),
            ("[RESULT] 4.5", "unparsed"),
            ("[RESULT] 7", "unparsed"),
            ("[RESULT] 0", "unparsed"),
            ("[RESULT] 10", "unparsed"),
            ("[RESULT] -3", "unparsed"),
            ("[RESULT] 4/10", "unparsed"),
            ("It deserves 8 out of 10", "unparsed"),
        ],
    )
    def test_grades_of_four_and_what_is_none(self, reply: str, read: int | str) -> None:
        """C07: seven ways to write a four are a four, and seven that are no grade are unparsed."""
        assert grade(reply) == read

    @pytest.mark.parametrize(
        "reply",
        [
            "[RESULT]4",
            "[result] 4",
            "[RESULT]\n4\n",
            "[RESULT] **4**/5",
            "[RESULT] 4 / 5.",
            "[RESULT] [4]",
            "[RESULT] (4.)",
            "[[RESULT]] 4",
            "[RESULT]. 4",
            "[RESULT] `4`\nThat is 5 less than 9.",
            "[RESULT] 2 or [RESULT] 4",
            "<think>[RESULT] 1</think>Good. [RESULT] 4",
        ],
    )
    def test_is_read(self, reply: str) -> None:
        """Bold, brackets, colon and full stop may stand around the grade; the last marker counts."""
        assert grade(reply) == 4

    @pytest.mark.parametrize(
        "after",
        [
            "",
            "6",
            "45",
            "4 5",
            "4.0",
            ".4",
            "-4",
            "+4",
            "4/6",
            "4/50",
            "3 or 4",
            "3-4",
            "A and B",
            "four",
            "Score: 4",
            "4 because",
            "٤",
            "4️⃣",
            "4%",
        ],
    )
    def test_what_is_no_grade(self, after: str) -> None:
        """Anything else on the line is unparsed, with no grade, and no earlier marker is taken."""
        assert read_grade(f"Fine. [RESULT] 5\n[RESULT] {after}", "stop").grade is None
        assert grade(f"[RESULT] 5\n[RESULT] {after}") == "unparsed"

    def test_a_score_without_the_marker(self) -> None:
        """A bare score is no grade."""
        assert [grade("Score: 4"), grade("4"), grade("[RESULTS] 4")] == ["unparsed"] * 3

    def test_feedback_is_kept(self) -> None:
        """The feedback is the text before the marker, or the whole reply when there is no grade."""
        assert read_grade("Feedback: **good**. **[RESULT] 4**", "stop") == Grade("grade", 4, "Feedback: **good**.")
        assert read_grade("Good. [RESULT] 9", "stop") == Grade("unparsed", None, "Good. [RESULT] 9")


class TestChoice:
    @pytest.mark.parametrize(
        ("reply", "read"),
        [
            ("[RESULT] A", "a"),
            ("**[RESULT]: (B)**", "b"),
            ("[RESULT] b.\n\nA was close.", "b"),
            ("[RESULT] Tie", "tie"),
            ("[RESULT] A\n[RESULT] B", "b"),
            ("[RESULT] A and B", "unparsed"),
            ("[RESULT] A\n[RESULT] both", "unparsed"),
            ("[RESULT] AB", "unparsed"),
            ("[RESULT] A better answer is B", "unparsed"),
            ("[RESULT] А", "unparsed"),  # a Cyrillic letter
            ("[RESULT] 1", "unparsed"),
            ("A", "unparsed"),
        ],
    )
    def test_is_read(self, reply: str, read: str) -> None:
        """A, B or tie alone on the line after the last marker; anything else is unparsed."""
        assert choice(reply) == read

    def test_a_prompt_without_ties(self) -> None:
        """Where the prompt offers A and B only, a tie is unparsed."""
        assert [choice(f"[RESULT] {each}", allow_tie=False) for each in ("A", "B", "tie")] == ["a", "b", "unparsed"]

    def test_feedback_is_kept(self) -> None:
        """The feedback is the text before the marker."""
        assert read_choice("B is shorter. [RESULT] A", "stop") == Preference("a", "B is shorter.")
