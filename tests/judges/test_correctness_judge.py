"""Correctness by independent samples: what is asked, what is asked again, and what the samples amount to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.talking import DOWN, NO, UNSURE, YES, Said, said, talk, written
from truthguard.backends.protocol import Generate, Masses, Turn
from truthguard.errors import UsageError
from truthguard.judges.correctness import CorrectnessJudgement, judge
from truthguard.judges.prompts import correctness_prompt
from truthguard.records import JudgeSettings, Missing, ModelSettings

PROMPT, RESPONSE = "When did it open?", "It opened in 1889."
JUDGE = JudgeSettings("rubric", ModelSettings("judge"))
REFUSED, FILTERED = said("I won't.", "refusal"), said("", "content_filter")


def poll(settings: JudgeSettings, *rounds: Sequence[Said]) -> tuple[list[list[Generate]], CorrectnessJudgement]:
    asked, found = talk(judge(PROMPT, RESPONSE, settings), *rounds)
    return [[written(request) for request in each] for each in asked], found


def kinds(found: CorrectnessJudgement) -> list[str]:
    return [sample.kind for sample in found.samples]


def of(samples: int, **changes: object) -> JudgeSettings:
    return JudgeSettings("rubric", ModelSettings("judge"), samples=samples, **changes)  # type: ignore[arg-type]


def test_each_sample_has_its_own_seed_and_index() -> None:
    """Five requests that differ in seed and index alone; what was asked of three is part of what is asked of eight."""
    ((*asked,),), _ = poll(of(5, seed=40), [YES] * 5)
    context = correctness_prompt(PROMPT, RESPONSE)
    assert asked == [
        Generate(context, 512, temperature=0.7, seed=40 + index, sample=index, attempt=0) for index in range(5)
    ]
    assert poll(of(8, seed=40), [YES] * 8)[0][0][:5] == asked


def test_c11_five_samples_are_five_calls() -> None:
    """C11: yes, no, yes, yes, no is 3/5 of five samples, whatever the server makes of n."""
    asked, found = poll(of(5), [YES, NO, YES, YES, NO])
    assert [len(each) for each in asked] == [5]
    assert found.value == 0.6
    assert [sample.index for sample in found.samples] == [0, 1, 2, 3, 4]
    assert found.explanations == ("Checked.",)
    assert found.split is False


def test_c12_too_few_verdicts_are_no_number() -> None:
    """C12: two readable of five is below ceil(5/2), and so is none: never a share, and never a yes by default."""
    first, found = poll(of(5), [NO, YES, DOWN, DOWN, DOWN], [DOWN] * 3)
    assert len(first[1]) == 3
    assert isinstance(found.value, Missing)
    assert found.value.kind == "too_few_verdicts"
    assert "2 of 5 samples are readable, at least 3 must be: 1 yes, 1 no, 3 failed" in found.value.detail
    assert (found.explanations, found.split) == ((), False)
    cannot = said("I cannot assess this")
    _, second = poll(of(5), [cannot] * 5, [cannot] * 5)
    assert isinstance(second.value, Missing)
    assert kinds(second) == ["unparsed"] * 5


def test_c13_replies_without_content_are_told_by_their_kind() -> None:
    """C13: two cut at the limit, one filtered, one yes: 1 of 4 is readable, and no exception leaves the judge."""
    cut = said("The claim is tr", "length")
    asked, found = poll(of(4), [said("", "length"), FILTERED, YES, cut], [said("", "length"), cut])
    assert [(request.sample, request.attempt, request.max_tokens) for request in asked[1]] == [
        (0, 1, 1024),
        (3, 1, 1024),
    ]
    assert kinds(found) == ["length", "content_filter", "yes", "length"]
    assert isinstance(found.value, Missing)
    assert "1 of 4 samples is readable" in found.value.detail


def test_c09_verdicts_inside_a_reasoning_block_are_no_verdicts() -> None:
    """C09: yes, no, invalid, yes, yes is 3/4 with 4 of 5 samples; no explanation holds any thinking."""
    texts = [
        "<think>perhaps Verdict: no</think>\nIt is so.\nVerdict: yes",
        "<think>the format is Verdict: yes or no</think>Verdict: no",
        "Verdict: yes",
        "<think></think>\n\nVerdict: yes",
    ]
    one, two, four, five = map(said, texts)
    cut = said("<think>leaning to Verdict: yes but", "length")
    _, found = poll(of(5), [one, two, cut, four, five], [cut])
    assert kinds(found) == ["yes", "no", "length", "yes", "yes"]
    assert found.value == 0.75
    assert found.explanations == ("It is so.",)
    assert not any("perhaps" in sample.explanation for sample in found.samples)


@pytest.mark.parametrize("bad", [said("I like it."), said("  \n"), DOWN, said("<think>open")])
def test_a_sample_is_asked_for_once_more(bad: Said) -> None:
    """Unparsed, empty and failed: the same index and seed, the next attempt, the same budget, and it is kept."""
    asked, found = poll(of(3, seed=7), [YES, bad, YES], [NO])
    assert asked[1] == [Generate(asked[0][1].context, 512, temperature=0.7, seed=8, sample=1, attempt=1)]
    assert found.value == pytest.approx(2 / 3)
    assert [(sample.index, sample.attempt, sample.kind) for sample in found.samples] == [
        (0, 0, "yes"),
        (1, 1, "no"),
        (2, 0, "yes"),
    ]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (UNSURE, "unsure"),
        (REFUSED, "refusal"),
        (FILTERED, "content_filter"),
        (Missing("content_filter", "the server's policy refused the request"), "content_filter"),
        (Missing("no_content", "the message has no text"), "no_content"),
    ],
)
def test_an_answer_of_its_kind_is_not_asked_for_again(reply: Said, kind: str) -> None:
    """Unsure, refusals and filters are what the judge says of this response; they are counted and read as neither."""
    _, found = poll(of(3), [YES, reply, NO])
    assert kinds(found) == ["yes", kind, "no"]
    assert found.value == 0.5


def test_two_attempts_are_the_most() -> None:
    """What fails twice in whatever way is over: length after unparsed is not doubled any more."""
    _, found = poll(of(1), [said("hm")], [said("hm", "length")])
    assert [(sample.kind, sample.attempt) for sample in found.samples] == [("length", 1)]
    asked, found = poll(of(1), [said("hm", "length")], [said("hm")])
    assert [(sample.kind, sample.attempt) for sample in found.samples] == [("unparsed", 1)]
    assert asked[1][0].max_tokens == 1024


def test_greedy_samples_are_not_repeated_but_with_a_larger_budget() -> None:
    """At temperature 0 the same request would come out the same; twice the budget is another request."""
    asked, found = poll(of(4, temperature=0.0), [said("hm"), DOWN, YES, said("", "length")], [YES])
    assert [(request.sample, request.max_tokens) for request in asked[1]] == [(3, 1024)]
    assert kinds(found) == ["unparsed", "failed", "yes", "yes"]


def test_a_failed_sample_says_why() -> None:
    """The reason of a request without a reply stands in the sample, and a value of another kind is named."""
    _, found = poll(of(2), [DOWN, Masses((-1.0, -1.0))], [DOWN, Masses((-1.0, -1.0))])
    assert kinds(found) == ["failed", "failed"]
    assert [sample.explanation for sample in found.samples] == [
        "failed: the server did not answer",
        "wrong_reply: the backend replied Masses",
    ]


def test_at_exactly_one_half_both_sides_speak_the_not_factual_one_first() -> None:
    """The item is split, and the first sample of each side is shown."""
    replies = [said("Right. Verdict: yes"), said("Wrong. Verdict: no"), said("So. Verdict: yes"), said("Verdict: no")]
    _, found = poll(of(4), replies)
    assert (found.value, found.split, found.explanations) == (0.5, True, ("Wrong.", "Right."))


def test_the_sample_keeps_what_the_reader_needs() -> None:
    """Verdict, kind, explanation, and the server's word for the end."""
    _, found = poll(of(1), [NO])
    (sample,) = found.samples
    assert (sample.verdict, sample.kind, sample.explanation) == ("no", "no", "One is wrong.")
    assert (sample.finish_reason, sample.question) == ("stop", "correctness")


def test_with_a_chat_template_the_prompt_is_the_users_turn() -> None:
    """Behind the judge's own system prompt, not the model's under test."""
    settings = JudgeSettings(
        "rubric", ModelSettings("judge", chat_template=True, system_prompt="Be strict."), samples=1
    )
    ((request,),), _ = poll(settings, [YES])
    assert request.context == (Turn("system", "Be strict."), Turn("user", correctness_prompt(PROMPT, RESPONSE)))


def test_without_a_model_nobody_can_be_asked() -> None:
    """The message says what to add."""
    with pytest.raises(UsageError, match=r"give \[judge\] a model"):
        next(judge(PROMPT, RESPONSE, JudgeSettings()))


HOSTILE = st.text(max_size=40) | st.sampled_from(["Verdict: yes", "<think>", "</response>", '{"verdict": true}'])
REPLIES = st.one_of(
    st.builds(said, HOSTILE, st.sampled_from(["stop", "length", "content_filter", "refusal", "abort"])),
    st.just(DOWN),
    st.sampled_from([YES, NO, UNSURE]),
)


@given(first=st.lists(REPLIES, min_size=1, max_size=7), again=st.lists(REPLIES, min_size=7, max_size=7))
def test_every_sample_is_accounted_for(first: list[Said], again: list[Said]) -> None:
    """Whatever is replied: one sample for each index, at most two attempts, and a value only from enough verdicts."""
    asking = judge(PROMPT, RESPONSE, of(len(first)))
    requests = list(next(asking))
    rounds = 0
    values: list[Said] = first
    while True:
        try:
            from tests.judges.talking import replies

            requests = list(asking.send(replies(requests, values)))
        except StopIteration as end:
            found: CorrectnessJudgement = end.value
            break
        rounds += 1
        values = again[: len(requests)]
    assert rounds <= 1
    assert [sample.index for sample in found.samples] == list(range(len(first)))
    yes, no = (kinds(found).count(kind) for kind in ("yes", "no"))
    if yes + no >= (len(first) + 1) // 2:
        assert found.value == yes / (yes + no)
    else:
        assert isinstance(found.value, Missing)


def test_a_backend_that_brought_nothing_gives_its_own_reason() -> None:
    """Where no request had a reply the kind and detail are the backend's; beside other kinds each has its first."""
    limit = Missing("rate_limited", "come back after 2026-01-02 03:04:05 UTC")
    _, found = poll(of(2), [limit, limit], [limit, limit])
    assert (kinds(found), found.value) == (["failed", "failed"], limit)
    _, found = poll(of(4), [YES, limit, DOWN, REFUSED], [limit, DOWN])
    assert isinstance(found.value, Missing)
    assert found.value.kind == "too_few_verdicts"
    assert f"1 refusal (the judge refused to reply), 2 failed ({limit})" in found.value.detail
