"""Judge prompts of the published layout, taken apart, and prompts that are none."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.judge_files import ANCHORS, CRITERION, judge_prompt
from truthguard.benchmarks import files, scores
from truthguard.benchmarks import judge_prompt as module
from truthguard.benchmarks.judge_prompt import read_judge_prompt, read_rubric
from truthguard.records import Rubric

RUBRIC = Rubric(CRITERION, ANCHORS)


@pytest.mark.parametrize("each", [files, module, scores])
def test_examples_of_the_readers_hold(each: object) -> None:
    """Every example runs and prints what its docstring says."""
    results = doctest.testmod(each)  # type: ignore[arg-type]
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("reference", [None, "Spring, summer,\n\nautumn, winter."])
def test_a_prompt_is_taken_apart(reference: str | None) -> None:
    """Instruction, response, reference answer where there is one, and the rubric, all stripped."""
    text = judge_prompt(" Name them.\n\nAll.", "\nSpring.\n", reference=reference)
    prompt = read_judge_prompt(f"\n{text}\n")
    assert (prompt.instruction, prompt.response, prompt.reference) == ("Name them.\n\nAll.", "Spring.", reference)
    assert prompt.rubric == RUBRIC
    assert prompt.text == text.strip()
    assert not prompt.had_tail
    assert not prompt.marked


def test_the_tail_of_prometheus_1_is_no_part_of_the_prompt() -> None:
    """A quote, a comma and a line end behind the last header are taken off, and it is said."""
    bare, tailed = (read_judge_prompt(judge_prompt(end=end)) for end in ("", '",\n'))
    assert tailed.had_tail
    assert tailed.text == bare.text
    assert tailed.text.endswith("###Feedback:")


def test_carriage_returns_are_line_ends_too() -> None:
    """A prompt with \\r\\n has the same parts."""
    windows = read_judge_prompt(judge_prompt(reference="All.").replace("\n", "\r\n"))
    assert (windows.instruction, windows.response, windows.reference) == (
        "Name the seasons.",
        "Spring and autumn.",
        "All.",
    )
    assert windows.rubric == RUBRIC


@pytest.mark.parametrize("stray", ["### A heading", "###Summary:\nspring", "say ###Feedback: here", "Score 3: no"])
def test_what_only_looks_like_a_header_stays_in_its_part(stray: str) -> None:
    """A response keeps its headings, and those at which upstream's reader would cut it are marked."""
    response = f"Spring.\n{stray}"
    prompt = read_judge_prompt(judge_prompt(response=response))
    assert prompt.response == response
    assert prompt.marked is ("###" in stray)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="#\0")),
    st.text(st.characters(codec="utf-8", exclude_characters="#\0")),
)
def test_any_texts_come_back_stripped(instruction: str, response: str) -> None:
    """Whatever stands between the headers is what is read."""
    text = judge_prompt(f"x{instruction}", response)
    prompt = read_judge_prompt(text)
    assert (prompt.instruction, prompt.response) == (f"x{instruction}".strip(), response.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no line begins with '###Task Description:'"),
        (judge_prompt().replace("###Response to evaluate:", "###Answer:"), "no line begins with '###Response to eval"),
        (judge_prompt().replace("\n###Feedback:", " ###Feedback:"), "no line begins with '###Feedback:'"),
        (
            judge_prompt(response="Yes.\n###Response to evaluate:\nNo."),
            "'###Response to evaluate:' stands there 2 times",
        ),
        ("Dear judge,\n" + judge_prompt(), "expected nothing before '###Task Description:', found 'Dear judge,'"),
        (judge_prompt(end="Good. [RESULT] 4"), "expected nothing behind '###Feedback:', found 'Good. [RESULT] 4'"),
        (judge_prompt("  "), "nothing stands under '###The instruction to evaluate:'"),
        (judge_prompt(criterion=" "), "the rubric has no criterion"),
        (judge_prompt().replace("Score 4:", "Score 6:"), "in this order, found those of 1, 2, 3, 6, 5"),
        (judge_prompt().replace(ANCHORS[2], " "), "does not say what 'Score 3:' stands for"),
        (judge_prompt().replace("\nScore ", "\nGrade "), "no line 'Score 1: ...' to 'Score 5: ...'"),
        (judge_prompt(response="a\0b"), "the judge prompt holds a NUL character"),
        (judge_prompt(response="\ud800"), "half of a surrogate pair"),
    ],
)
def test_a_prompt_of_another_form_is_told(text: str, expected: str) -> None:
    """What was expected, and what was found instead."""
    with pytest.raises(ValueError, match=r".") as caught:
        read_judge_prompt(text)
    assert expected in str(caught.value)


def test_headers_in_another_order_are_told() -> None:
    """Response and instruction may not change places."""
    first, second = "###The instruction to evaluate:", "###Response to evaluate:"
    swapped = judge_prompt().replace(first, "#").replace(second, first).replace("#\n", f"{second}\n", 1)
    with pytest.raises(ValueError, match="expected the headers in the order"):
        read_judge_prompt(swapped)


def test_a_rubric_of_ones_own_needs_no_anchors_and_no_brackets() -> None:
    """Any case, lines of several lines, and brackets within the criterion stay."""
    assert read_rubric(" Is it [fully] right? ") == Rubric("Is it [fully] right?")
    text = "Right?\n score 1 : no\n\nat all\n SCORE 2: a\nScore 3: b\nScore 4: c\nScore 5: d"
    assert read_rubric(text) == Rubric("Right?", ("no\n\nat all", "a", "b", "c", "d"))
