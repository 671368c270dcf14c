"""Judges' replies as they are written, and what each of them says: rule by rule."""

from __future__ import annotations

import doctest

import pytest

from truthguard.judges import json_object, verdicts
from truthguard.judges.verdicts import (
    Verdict,
    read_choice,
    read_grade,
    read_json_verdict,
    read_verdict,
)
from truthguard.metrics.correctness import correctness
from truthguard.records import Missing


def kind(text: str | None, finish_reason: str = "stop") -> str:
    return read_verdict(text, finish_reason).kind


def test_examples_hold() -> None:
    """Every example of the readers' docstrings runs and prints what it says."""
    for module in (verdicts, json_object):
        results = doctest.testmod(module)
        assert results.attempted > 0
        assert results.failed == 0


class TestCases:
    def test_verdicts_inside_reasoning(self) -> None:
        """C09: five samples with reasoning are yes, no, invalid, yes, yes: 3/4 with 4 of 5 valid."""
        replies = [
            ("<think>perhaps Verdict: no</think>\nVerdict: yes", "stop"),
            ("<think>the format is Verdict: yes or no</think>Verdict: no", "stop"),
            ("<think>leaning to Verdict: yes but", "length"),
            ("Verdict: yes", "stop"),
            ("<think></think>\n\nVerdict: yes", "stop"),
        ]
        read = [read_verdict(text, finish_reason) for text, finish_reason in replies]
        assert [each.kind for each in read] == ["yes", "no", "length", "yes", "yes"]
        assert [each.explanation for each in read] == ["", "", "", "", ""]
        assert correctness([each.kind for each in read]) == 0.75

    def test_a_judge_that_cannot_assess(self) -> None:
        """C12: five samples without a verdict give no number, not 1."""
        read = [read_verdict("I cannot assess this", "stop").kind for _ in range(5)]
        assert read == ["unparsed"] * 5
        value = correctness(read)
        assert isinstance(value, Missing)
        assert value.detail == "0 of 5 samples are readable, at least 3 must be: 5 unparsed"

    def test_replies_without_content(self) -> None:
        """C13: one valid sample, length 2, content_filter 1: fewer than half are readable, so there is no number."""
        replies = [("", "length"), (None, "content_filter"), ("Verdict: yes", "stop"), ("The claim is tr", "length")]
        read = [read_verdict(text, finish_reason).kind for text, finish_reason in replies]
        assert read == ["length", "content_filter", "yes", "length"]
        value = correctness(read)
        assert isinstance(value, Missing)
        assert value.detail == "1 of 4 samples is readable, at least 2 must be: 1 yes, 2 length, 1 content_filter"


class TestKinds:
    @pytest.mark.parametrize("finish_reason", ["length", "content_filter", "refusal"])
    @pytest.mark.parametrize("text", [None, "", "Verdict: yes", '{"verdict": "yes"}', "[RESULT] 4", "[RESULT] A"])
    def test_what_the_server_says_goes_first(self, finish_reason: str, text: str | None) -> None:
        """A reply that was cut, filtered or refused holds no verdict, whatever its text."""
        for read in (read_verdict, read_json_verdict, read_grade, read_choice):
            assert read(text, finish_reason).kind == finish_reason

    @pytest.mark.parametrize(
        ("text", "read"),
        [
            (None, "no_content"),
            ("", "empty"),
            (" \n\t", "empty"),
            ("\u200b\ufeff", "empty"),
            ("<think>Verdict: yes</think>\n", "empty"),
            ("<think>Verdict: yes", "unparsed"),
            ("I cannot help with that.", "unparsed"),
        ],
    )
    def test_replies_with_nothing_to_read(self, text: str | None, read: str) -> None:
        """No text, no word and no verdict are three kinds, and a refusal in prose is none of its own."""
        assert [kind(text), read_json_verdict(text, "stop").kind] == [read, read]
        assert [read_grade(text, "stop").kind, read_choice(text, "stop").kind] == [read, read]

    def test_a_refusal_is_shown(self) -> None:
        """The text of a refusal is kept as the explanation."""
        assert read_verdict(" I must not. ", "refusal") == Verdict("refusal", "I must not.")


class TestReasoning:
    @pytest.mark.parametrize(
        "reply",
        [
            "<think>a <think> b</think>Verdict: no",
            "<THINK>Verdict: yes</Think>Verdict: no",
            "<th\u200bink>Verdict: yes</think>Verdict: no",
            "<think>Verdict: yes\n</think>\n<think>Verdict: yes</think>\nVerdict: no",
            "Verdict: no<think>Verdict: yes</think>",
            "Verdict: n<think>Verdict: yes</think>o",
            "The format is\nVerdict: yes\n</think>\nVerdict: no",
        ],
    )
    def test_is_not_read(self, reply: str) -> None:
        """Verdicts inside reasoning count for nothing, however its blocks are written."""
        assert read_verdict(reply, "stop") == Verdict("no", "")

    @pytest.mark.parametrize(
        "reply",
        [
            "Verdict: yes <think>",
            "<think>a</think>Verdict: yes<think>b",
            "<think>Verdict: yes",
            "Verdict: yes</think>",
            "<think>a</think>Verdict: yes</think>Well.",
        ],
    )
    def test_left_open_or_without_an_answer_is_no_verdict(self, reply: str) -> None:
        """A block left open, and a verdict before the tag that ends the reasoning, give none."""
        assert kind(reply) in ("unparsed", "empty")

    def test_other_tags_are_text(self) -> None:
        """Only the tag itself opens a block: no look-alike, no attribute."""
        for tag in ("<thinking>", "<thınk>", "<think a=1>", "< think>"):
            assert kind(f"{tag}\nVerdict: yes") == "yes"


class TestMarker:
    @pytest.mark.parametrize(
        "reply",
        [
            "Verdict: yes",
            "verdict: Yes.",
            "VERDICT:YES!",
            "It is so. Verdict: yes",
            "It is so! Verdict: yes",
            "Is it (so?) Verdict: yes",
            'They say "it is so." Verdict: yes',
            "是这样。Verdict：yes",
            "**Verdict:** yes",
            "**Verdict**: **Yes**",
            "### Verdict: `yes`",
            "> Verdict: yes",
            "- Verdict: yes",
            "* Verdict: yes",
            "3. Verdict: yes",
            "3) Verdict: yes",
            "__Verdict__ : _yes_",
            "  Verdict: yes, as the record shows",
            "Verdict: yes, yes",
            "Verdict:\u00a0yes",
            "Ver\u200bdict\u2060: y\u202ees",
            "Reason\rVerdict: yes\rno",
            "Reason\u2028Verdict: yes\u2029no",
            "Verdict: no\nVerdict: yes",
            "Verdict: no. Verdict: yes",
            "Verdict: maybe\nVerdict: yes\nno more to say",
        ],
    )
    def test_is_found(self, reply: str) -> None:
        """The last marker that begins a line or a sentence is found in Markdown, lists and other scripts."""
        assert kind(reply) == "yes"

    @pytest.mark.parametrize(
        "reply",
        [
            "yes",
            "Yes, it is true.",
            "My verdict: yes",
            "Final Verdict: yes",
            'The answer says "Verdict: yes" to trick me.',
            "The answer says: Verdict: yes",
            "Verdicts: yes",
            "Verdict yes",
            "Verdict - yes",
            "Vérdict: yes",
            "Verdıct: yes",
            "end.Verdict: yes",
        ],
    )
    def test_is_not_assumed(self, reply: str) -> None:
        """A verdict in the middle of a sentence, or in other words, is none."""
        assert read_verdict(reply, "stop") == Verdict("unparsed", reply)

    @pytest.mark.parametrize(
        "after",
        [
            "",
            " ",
            "\nyes",
            " maybe",
            " yes or no",
            " yes/no",
            " yes|no",
            " yes (no doubt)",
            " unsure, leaning yes",
            " no, unsure",
            " yes_no",
            " yesterday",
            " yesss",
            " yeś",
            " yeſ",
            " nothing",
            " no-one knows",
            " no’s",
            " not true",
            ' "yes"',
            " [yes]",
            " the answer is yes",
            " 1",
            " true",
        ],
    )
    def test_what_follows_must_be_one_verdict(self, after: str) -> None:
        """Anything but one whole word yes, no or unsure at the start is unparsed; no earlier verdict is taken."""
        assert kind(f"Verdict: yes\nVerdict:{after}") == "unparsed"

    @pytest.mark.parametrize("word", ["yes", "no", "unsure"])
    def test_each_word(self, word: str) -> None:
        """Each of the three words is a verdict of its kind."""
        assert read_verdict(f"Because.\nVerdict: {word.upper()}; so much is clear", "stop") == Verdict(
            read_verdict(f"Verdict: {word}", "stop").kind, "Because."
        )
        assert kind(f"Verdict: {word}") == word


class TestExplanation:
    @pytest.mark.parametrize(
        ("reply", "explanation"),
        [
            ("Lima is the capital.\nVerdict: yes", "Lima is the capital."),
            ("<think>Hm.</think>\n\nLima. <think>Yes?</think>\n\nVerdict: yes", "Lima."),
            ("It is **Lima**, see `a_b`.\n\n### **Verdict: yes**", "It is **Lima**, see `a_b`."),
            ("**It is Lima.** **Verdict:** yes", "**It is Lima.**"),
            ("It is Lima (so they say.) Verdict: yes\nGoodbye.", "It is Lima (so they say.)"),
            ("- It is Lima.\n- Verdict: yes", "- It is Lima."),
            ("Verdict: no. I changed my mind. Verdict: yes", "Verdict: no. I changed my mind."),
            ("It is Li\u200bma.\nVerdict: yes", "It is Lima."),
            ("**Verdict: yes**", ""),
            ("No marker **here**. ", "No marker **here**."),
            ("So far.<think>but", "So far."),
            ("Well.<think>Hm.</think>Hm.</think>So.\nVerdict: yes", "So."),
        ],
    )
    def test_is_the_text_before_the_verdict(self, reply: str, explanation: str) -> None:
        """The explanation is what stands before the verdict, Markdown kept, reasoning gone."""
        assert read_verdict(reply, "stop").explanation == explanation
