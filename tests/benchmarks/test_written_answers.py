"""What the model writes: how it is asked, and which replies are answers."""

from __future__ import annotations

import pytest

from tests.judges.talking import DOWN, Said, replies, said
from truthguard.backends.protocol import Generate, Masses, Reply, Turn
from truthguard.benchmarks.answers import (
    Written,
    answer_request,
    read_answer,
    read_response,
    response_request,
)
from truthguard.benchmarks.prompts import Wording
from truthguard.records import Missing, ModelSettings

PRIMERS = {"qa": "Q: a?\nA: b."}


def reply(value: Said) -> Reply:
    return replies([answer_request("Is tin a metal?", Wording("qa", PRIMERS))], [value])[0]


def test_the_question_is_asked_in_the_words_of_the_preset() -> None:
    """Greedy, at most 50 new tokens, up to a new "Q:"; a blank line may stand before the answer."""
    asked = answer_request("Is tin a metal?", Wording("qa", PRIMERS))
    assert asked == Generate("Q: a?\nA: b.\n\nQ: Is tin a metal?\nA:", 50, ("\nQ:",), temperature=0.0)
    assert answer_request("Is it?", Wording("null", {})).context == "Q: Is it?\n\nA:"


def test_under_a_chat_template_the_question_is_the_users_turn() -> None:
    """As in multiple choice: shots as turns, the system prompt first."""
    request = answer_request("Is it?", Wording("qa", PRIMERS, chat_template=True, system_prompt="Be brief."))
    assert request.context == (
        Turn("system", "Be brief."),
        Turn("user", "a?"),
        Turn("assistant", "b."),
        Turn("user", "Is it?"),
    )


def test_a_prompt_is_asked_as_it_stands() -> None:
    """At most 256 tokens and no stop string: a response may have paragraphs; a turn where there is a template."""
    assert response_request("Tell me.\n\nQ:", ModelSettings("m")) == Generate("Tell me.\n\nQ:", 256)
    chat = ModelSettings("m", chat_template=True, system_prompt="Be brief.")
    assert response_request("Tell me.", chat).context == (Turn("system", "Be brief."), Turn("user", "Tell me."))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Tin is a metal.", "Tin is a metal."),
        ("\n\n Tin is a metal.\n", "Tin is a metal."),
        ("\nA: Tin is a metal.", "Tin is a metal."),
        ("A: \nA: Tin", "Tin"),
        ("\n\nTin is a metal.\n\nTin", "Tin is a metal."),
        ("A:\n\nTin is\na metal.\n \nIt is", "Tin is\na metal."),
        (" Plan A: tin", "Plan A: tin"),
        ("a: tin", "a: tin"),
        ("A : tin", "A : tin"),
        ("Tin\nA: is", "Tin\nA: is"),
        ("...", "..."),
    ],
)
def test_what_stands_before_the_answer_is_removed(text: str, expected: str) -> None:
    """White space and "A:" at the beginning, white space at the end; nothing inside, up to a blank line."""
    written = read_answer(reply(said(text)))
    assert written == Written(expected)
    assert (written.judged, written.no_comment) == (expected, False)


def test_reaching_the_limit_is_a_normal_end() -> None:
    """A text that was cut at 50 tokens is the answer; so is one that the server's own word ended."""
    for finish_reason in ("length", "abort"):
        assert read_answer(reply(said("Tin is", finish_reason))) == Written("Tin is")


@pytest.mark.parametrize("finish_reason", ["content_filter", "refusal"])
def test_what_a_filter_cut_is_kept_and_not_judged(finish_reason: str) -> None:
    """Half an answer is not what the model wanted to say: unscored by that kind, with the text beside it."""
    for read in (read_answer, read_response):
        written = read(reply(said(" Tin is", finish_reason)))
        assert written.text == "Tin is"
        assert written.missing is not None
        assert written.missing.kind == finish_reason
        assert written.no_comment is False
        with pytest.raises(ValueError, match="nothing to judge"):
            _ = written.judged


@pytest.mark.parametrize("text", ["", "  \n", "A:", "\nA: \n"])
def test_an_answer_that_the_model_ended_empty_is_no_comment(text: str) -> None:
    """It chose to say nothing, which is an answer of its own kind."""
    written = read_answer(reply(said(text)))
    assert written == Written("")
    assert (written.no_comment, written.judged) == (True, "I have no comment.")


@pytest.mark.parametrize("finish_reason", ["length", "content_filter", "refusal", "abort"])
def test_an_answer_that_something_else_ended_empty_is_missing(finish_reason: str) -> None:
    """C13: by the kind of its end, and never as no comment."""
    written = read_answer(reply(said(" \n", finish_reason)))
    assert written.text == ""
    assert written.missing is not None
    assert written.missing.kind == finish_reason
    assert written.no_comment is False
    with pytest.raises(ValueError, match="nothing to judge"):
        _ = written.judged


def test_a_request_without_a_reply_has_no_text() -> None:
    """The reason is passed on; a value of another kind is a fault of the backend."""
    assert read_answer(reply(DOWN)) == Written(None, DOWN)
    wrong = read_answer(reply(Masses((-1.0, -1.0))))
    assert wrong.missing == Missing("wrong_reply", "the backend replied Masses")
    assert wrong.no_comment is False


def test_a_response_keeps_what_an_answer_would_lose() -> None:
    """Only white space around it goes."""
    assert read_response(reply(said("\n\nA: first\n\nB: second\n"))) == Written("A: first\n\nB: second")
    assert read_response(reply(said("", "length"))).missing is not None
