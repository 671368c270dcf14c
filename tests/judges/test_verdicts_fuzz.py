"""What must hold for every reply, not for the ones that somebody thought of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from truthguard.judges.verdicts import (
    Grade,
    Preference,
    Verdict,
    read_choice,
    read_grade,
    read_json_verdict,
    read_verdict,
)
from truthguard.metrics.correctness import KINDS

Reader = Callable[[str | None, str], Verdict | Grade | Preference]

READERS: tuple[Reader, ...] = (read_verdict, read_json_verdict, read_grade, read_choice)
PIECES = (
    *("Verdict:", "verdict :", "VERDICT：", "\nVerdict: yes", ". Verdict: no", "yes", "No", "unsure", "maybe"),
    *(" ", "\n", ". ", ".", "\r", "\u2028", "\u200b", "\u202e", "**", "_", "#", "- ", "1) ", "'", "é"),
    *("<think>", "</think>", "<THINK>", "<think", "think>"),
    *("{", "}", "[", "]", '"', "\\", ",", ":", '{"verdict": "yes"}', '"verdict": false', '"explanation": "', "null"),
    *("[RESULT]", "[RESULT] 4", "[result] b", "4", "/5", ".5", "-3", "A", "tie", "("),
)
replies = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=14).map("".join)
thoughts = replies.filter(lambda thought: "</think>" not in shown(thought))
untagged = replies.filter(lambda reply: not re.search("</?think>", shown(reply)))


def shown(text: str) -> str:
    """The text as the readers compare it: without format characters, in lower case."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf").lower()


@given(text=replies, finish_reason=st.sampled_from(["stop", "length", "content_filter", "refusal", "", "eos"]))
def test_no_reply_raises(text: str, finish_reason: str) -> None:
    """Every reader names one of the kinds for every text, and a cut reply is of the kind that the server says."""
    for read in READERS:
        kind = read(text, finish_reason).kind
        assert kind in (*KINDS, "grade", "a", "b", "tie")
        assert kind != "failed"
        if finish_reason in ("length", "content_filter", "refusal"):
            assert kind == finish_reason


@given(text=replies)
def test_yes_is_written_after_a_marker(text: str) -> None:
    """A yes is read only where the word follows a marker, in JSON only where it is the value of the key."""
    plain = re.sub("[*_`~#>]", "", re.sub("(?s)<think>.*?</think>", "", shown(text)))
    if read_verdict(text, "stop").kind == "yes":
        assert re.search(r"verdict\s*[:：]\s*yes\b", plain)
    if read_json_verdict(text, "stop").kind == "yes":
        assert re.search(r'"\s*verdict\s*"\s*:\s*("\s*(yes|true)\s*"|true)', shown(text))


@given(text=replies)
def test_a_grade_is_written_after_a_marker(text: str) -> None:
    """A grade is the digit, and a preference the word, that follows a marker."""
    plain = re.sub("[*_`~#>]", "", shown(text))
    grade = read_grade(text, "stop")
    if grade.grade is not None:
        assert re.search(rf"\[result\][\s:.()\[\]{{}}]*{grade.grade}(?![0-9])", plain)
    preference = read_choice(text, "stop").kind
    if preference in ("a", "b", "tie"):
        assert re.search(rf"\[result\][\s:.()\[\]{{}}]*{preference}\b", plain)


@given(text=st.text())
def test_arbitrary_text_is_never_yes_without_the_word(text: str) -> None:
    """Text without a yes or a true in it is never a yes."""
    assume(not re.search("yes|true", shown(re.sub("[*_`~#>]", "", text))))
    assert read_verdict(text, "stop").kind != "yes"
    assert read_json_verdict(text, "stop").kind != "yes"


@pytest.mark.parametrize("read", READERS)
@given(thought=thoughts, reply=untagged, planted=thoughts)
def test_reasoning_around_a_reply_changes_nothing(read: Reader, thought: str, reply: str, planted: str) -> None:
    """Reasoning before a reply, and a verdict planted in a block after it, change neither kind nor explanation."""
    alone = read(reply, "stop")
    assert read(f"<think>{thought}</think>{reply}", "stop") == alone
    assert read(f"{reply}<think>{planted}\nVerdict: yes [RESULT] 5</think>", "stop") == alone
    assert read(f"<think>{thought}</think>{reply}<think>{planted}</think>", "stop") == alone


@pytest.mark.parametrize("read", [read_verdict, read_grade, read_choice])
@given(reply=untagged, planted=thoughts, data=st.data())
def test_reasoning_within_a_reply_changes_nothing(read: Reader, reply: str, planted: str, data: st.DataObject) -> None:
    """A block of reasoning at any place of a reply in prose leaves what is read as it was."""
    at = data.draw(st.integers(0, len(reply)))
    assert read(f"{reply[:at]}<think>{planted}</think>{reply[at:]}", "stop") == read(reply, "stop")


@given(reply=untagged, word=st.sampled_from(["yes", "no", "unsure"]), decoration=st.sampled_from(["", "**", "_", "`"]))
def test_the_last_verdict_wins(reply: str, word: str, decoration: str) -> None:
    """Whatever the reply said before, a verdict on its last line is the one that is read."""
    last = f"\n{decoration}Verdict: {word}{decoration}"
    assert read_verdict(reply + last, "stop").kind == word


@given(reply=untagged)
def test_an_unreadable_last_verdict_is_none(reply: str) -> None:
    """After an unreadable marker no earlier verdict is taken."""
    assert read_verdict(f"{reply}\nVerdict: yes or no", "stop").kind == "unparsed"
    assert read_grade(f"{reply}\n[RESULT] 3 or 4", "stop").kind == "unparsed"
    assert read_choice(f"{reply}\n[RESULT] A and B", "stop").kind == "unparsed"


@pytest.mark.parametrize("read", [read_verdict, read_grade, read_choice])
@given(parts=st.lists(untagged, min_size=1, max_size=4), closing=st.sampled_from(["", "</think>"]))
def test_explanations_hold_no_reasoning(read: Reader, parts: list[str], closing: str) -> None:
    """Nothing of any block of reasoning is in an explanation, the last block closed or not."""
    text = "<think>s3cret</think>".join(parts) + f"<think>s3cret{closing}"
    assert "s3cret" not in read(text, "stop").explanation


HOSTILE = (
    *("<think>", "</think>", "<think></think>", "<think", "Verdict:", "Verdict: yes ", ". Verdict: yes. "),
    *("verdict" + " " * 50, ". ", ".)", "- ", "1. ", "\n", " ", "*", "\u200b", "yes ", "'yes"),
    *("{", "}", "{}", '{"a":', "[", '"', '\\"', '{"\\"', ', "', "{,", ", ", '{"a":1,}'),
    *("[RESULT]", "[RESULT] 4 ", "4", "(", "/5"),
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), ("Verdict: no\n", "\n[RESULT] 9"), ("Verdict:", ""), ("[RESULT] ", ""), ('{"a":"', "")],
)
def test_a_megabyte_is_read_in_one_pass(piece: str, before: str, after: str) -> None:
    """Endless tags, markers, braces and nesting neither raise nor take more than linear time, and are never yes."""
    text = before + piece * (400_000 // len(piece)) + after
    for read in READERS:
        found = read(text, "stop")
        assert found.kind in (*KINDS, "grade", "a", "b", "tie")
        assert found.kind != "yes" or "yes" in piece
