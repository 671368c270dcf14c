"""A judge that grades and chooses: what is asked, what is asked again, and what each reply comes to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.talking import DOWN, Said, said, talk, written
from truthguard.backends.protocol import PLACEHOLDER, Generate, Masses, Request, Text
from truthguard.judges.prometheus import choice_of, choices, grade_of, grades
from truthguard.records import JudgeSettings, Missing, ModelSettings, Sample

JUDGE = JudgeSettings("rubric", ModelSettings("judge"), max_tokens=100, seed=7)


def grade(*rounds: Sequence[Said], runs: int = 1, judge: JudgeSettings = JUDGE) -> tuple[list[list[Request]], Sample]:
    asked, samples = talk(grades([("grade", "prompt")], range(runs), judge), *rounds)
    return asked, samples[0]


def choose(*rounds: Sequence[Said], allow_tie: bool = True) -> tuple[list[list[Request]], Sample]:
    asked, samples = talk(choices([("first", "prompt")], JUDGE, allow_tie=allow_tie), *rounds)
    return asked, samples[0]


def test_a_grade_is_drawn_in_each_run_with_a_seed_of_its_own() -> None:
    """At temperature 1, all at once; the index is the run's, the feedback its explanation."""
    asked, samples = talk(
        grades([("grade", "prompt")], range(3), JUDGE),
        [said(f"It is so. [RESULT] {each}") for each in (4, 5, 1)],
    )
    assert asked == [
        [Generate("prompt", 100, temperature=1.0, seed=7 + run, sample=run) for run in range(3)],
    ]
    assert samples[1] == Sample(1, 0, "5", "grade", "It is so.", "stop", "grade")
    assert [grade_of(sample) for sample in samples] == [4, 5, 1]


def test_both_responses_are_graded_in_the_same_run() -> None:
    """Run by run, in the order in which they are named, each under its name."""
    asked, samples = talk(
        grades([("first", "p"), ("second", "q")], [1, 2], JUDGE), [said(f"[RESULT] {each}") for each in (1, 2, 3, 4)]
    )
    assert [(written(request).context, written(request).seed) for request in asked[0]] == [
        ("p", 8),
        ("q", 8),
        ("p", 9),
        ("q", 9),
    ]
    assert [(sample.question, sample.index, sample.verdict) for sample in samples] == [
        ("first", 1, "1"),
        ("second", 1, "2"),
        ("first", 2, "3"),
        ("second", 2, "4"),
    ]


def test_a_temperature_of_ones_own_holds_for_grades_and_choices() -> None:
    """0 is a temperature, not an absent one; greedy replies would come out the same and are not asked for again."""
    greedy = JudgeSettings("rubric", ModelSettings("judge"), temperature=0.0)
    asked, sample = grade([said("hm")], judge=greedy)
    assert (written(asked[0][0]).temperature, sample.kind, sample.attempt) == (0.0, "unparsed", 0)
    asked, samples = talk(choices([("first", "p")], greedy, allow_tie=True), [DOWN])
    assert (written(asked[0][0]).temperature, samples[0].kind) == (0.0, "failed")
    asked, sample = grade([said("", "length")], [said("[RESULT] 2")], judge=greedy)
    assert (written(asked[1][0]).max_tokens, sample.verdict) == (1024, "2")


CASES = {
    "[RESULT] 4": 4,
    "[RESULT] 4/5": 4,
    "**[RESULT] 4**": 4,
    "[RESULT] (4)": 4,
    "[RESULT] 4.": 4,
    "[RESULT]: 4.": 4,
    "[RESULT] 4\n\nLet me know if you need more.": 4,
    "[RESULT] 4.5": None,
    "[RESULT] 7": None,
    "[RESULT] 0": None,
    "[RESULT] 11": None,
    "[RESULT] 10": None,
    "[RESULT] -3": None,
    "[RESULT] 4/10": None,
    "It deserves 8 out of 10": None,
}


@pytest.mark.parametrize("text", CASES)
def test_what_is_a_grade(text: str) -> None:
    """C07: seven ways to write a four; what is none is asked for three times in all and then has no grade."""
    expected = CASES[text]
    asked, sample = grade(*[[said(text)]] * (3 if expected is None else 1))
    assert grade_of(sample) == expected
    assert (sample.kind, sample.attempt) == (("grade", 0) if expected else ("unparsed", 2))
    assert [written(request).attempt for (request,) in asked] == list(range(len(asked)))
    assert {(written(request).seed, written(request).sample, written(request).max_tokens) for (request,) in asked} == {
        (7, 0, 100)
    }


@pytest.mark.parametrize("bad", [said("hm"), said(" "), DOWN, said("<think>open"), Masses((-1.0,))])
def test_the_third_attempt_may_still_be_read(bad: Said) -> None:
    """Unparsed, empty and failed, twice; the last attempt is the one that is kept."""
    _, sample = grade([bad], [bad], [said("[RESULT] 3")])
    assert (sample.verdict, sample.attempt) == ("3", 2)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (said("No.", "refusal"), "refusal"),
        (said("", "content_filter"), "content_filter"),
        (Missing("refusal", "it refused"), "refusal"),
        (Missing("no_content", "no text"), "no_content"),
    ],
)
def test_refused_and_withheld_replies_are_answers_of_their_kind(reply: Said, kind: str) -> None:
    """Asked for once, and no grade."""
    _, sample = grade([reply])
    assert (sample.kind, sample.verdict, grade_of(sample)) == (kind, None, None)


def test_the_budget_is_doubled_once() -> None:
    """A reply that is cut again at the double is left; one that is unparsed there keeps the double for its retry."""
    cut, unread = said("It", "length"), said("hm")
    asked, sample = grade([cut], [cut])
    assert ([written(request).max_tokens for (request,) in asked], sample.kind) == ([100, 200], "length")
    asked, sample = grade([cut], [unread], [said("[RESULT] 1")])
    assert ([written(request).max_tokens for (request,) in asked], sample.verdict) == ([100, 200, 200], "1")
    asked, sample = grade([unread], [cut], [cut])
    assert ([written(request).max_tokens for (request,) in asked], sample.kind) == ([100, 100, 200], "length")
    asked, sample = grade([cut], [unread], [cut])
    assert ([written(request).attempt for (request,) in asked], sample.kind) == ([0, 1, 2], "length")


def test_only_the_runs_that_need_it_are_asked_again() -> None:
    """In a round of their own, under their own index and seed."""
    ok, bad = said("[RESULT] 5"), said("hm")
    asked, samples = talk(grades([("grade", "p")], range(3), JUDGE), [ok, bad, ok], [bad], [ok])
    assert [[written(request).sample for request in requests] for requests in asked] == [[0, 1, 2], [1], [1]]
    assert [(sample.index, sample.attempt, sample.verdict) for sample in samples] == [
        (0, 0, "5"),
        (1, 2, "5"),
        (2, 0, "5"),
    ]


def test_a_choice_is_drawn_once() -> None:
    """The letter as shown, with the feedback; the seed and the index are those of a first run."""
    asked, sample = choose([said("B says why. [RESULT] B")])
    assert asked == [[Generate("prompt", 100, temperature=1.0, seed=7)]]
    assert sample == Sample(0, 0, "b", "b", "B says why.", "stop", "first")
    assert choice_of(sample) == "b"
    assert choice_of(choose([said("[RESULT] tie")])[1]) == "tie"


def test_words_that_offer_no_tie_have_none() -> None:
    """A tie is then no reply to what was asked: asked for again, and unparsed in the end."""
    tie = said("[RESULT] Tie")
    _, sample = choose([tie], [tie], [tie], allow_tie=False)
    assert (sample.kind, sample.verdict, choice_of(sample)) == ("unparsed", None, None)
    assert choice_of(choose([tie], [said("[RESULT] A")], allow_tie=False)[1]) == "a"


@pytest.mark.parametrize("text", ["A is better", "[RESULT] A and B", "[RESULT] 4", "[RESULT] neither"])
def test_what_is_no_choice(text: str) -> None:
    """No letter is taken from prose, and a grade is none."""
    _, sample = choose(*[[said(text)]] * 3)
    assert (sample.kind, choice_of(sample)) == ("unparsed", None)


def test_a_grade_is_no_choice_and_a_choice_no_grade() -> None:
    """Each is read as what was asked for."""
    _, graded = grade([said("[RESULT] 4")])
    _, chosen = choose([said("[RESULT] A")])
    assert (choice_of(graded), grade_of(chosen)) == (None, None)


def test_a_dry_runs_reply_is_not_asked_for_again() -> None:
    """Whatever it reads as: no model wrote it."""
    _, sample = choose([Text("Verdict: yes", PLACEHOLDER)])
    assert (sample.kind, sample.attempt) == ("unparsed", 0)


REPLIES = st.one_of(
    st.builds(
        said,
        st.text(max_size=20)
        | st.sampled_from(["[RESULT] 3", "[RESULT] A", "<think>[RESULT] 5", "[RESULT] 5 [RESULT]"]),
        st.sampled_from(["stop", "length", "content_filter", "refusal", "abort"]),
    ),
    st.just(DOWN),
)


@given(rounds=st.lists(st.lists(REPLIES, min_size=4, max_size=4), min_size=3, max_size=3))
def test_every_run_is_accounted_for(rounds: list[list[Said]]) -> None:
    """Whatever is replied: one sample for each run, at most three attempts, and a grade only from a readable reply."""
    from tests.judges.talking import replies

    asking = grades([("grade", "p")], range(4), JUDGE)
    requests, asked = next(asking), 0
    while True:
        asked += 1
        try:
            requests = asking.send(replies(requests, rounds[asked - 1][: len(requests)]))
        except StopIteration as end:
            samples: tuple[Sample, ...] = end.value
            break
    assert asked <= 3
    assert [sample.index for sample in samples] == [0, 1, 2, 3]
    assert all((sample.kind == "grade") == (sample.verdict in tuple("12345")) for sample in samples)
