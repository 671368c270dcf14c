"""Texts that grow token by token, asserted with toy tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.backends.generation import (
    Draft,
    Family,
    GrowingText,
    TextRow,
    earliest,
    families,
    queues,
    rows_at_once,
    shared_opening,
)
from truthguard.backends.protocol import Generate, Text
from truthguard.backends.tokens import Prompt
from truthguard.records import Missing

END = 256
UNFINISHED = "�"


def by_bytes(tokens: Sequence[int]) -> str:
    """A token a byte; the end token is special."""
    return bytes(token for token in tokens if token != END).decode("utf-8", errors="replace")


def by_words(tokens: Sequence[int]) -> str:
    """Words with the space before them, which a decoder of this kind drops at the start of a text."""
    words = [" The", " capital", " is", " Paris", ".", "\n", "\nQ", ":"]
    return "".join(words[token] for token in tokens if token < len(words)).removeprefix(" ")


def row(tokens: tuple[int, ...] = (1,), spaces: str = "", max_tokens: int = 50, **options: object) -> TextRow:
    return TextRow(Generate("", max_tokens, **options), Prompt(tokens, spaces))  # type: ignore[arg-type]


def written(come: Sequence[int], *, decode: object = by_bytes, **options: object) -> tuple[str, str | None, int]:
    """What becomes of these tokens: the text, the reason of its end and how many of them were taken."""
    draft = Draft(row(**options), decode, frozenset({END}))  # type: ignore[arg-type]
    for token in come:
        if draft.finished:
            break
        draft.add(token)
    return draft.text, draft.finish_reason, len(draft.tokens)


@given(st.text(), st.lists(st.integers(0, 255), max_size=4))
def test_a_text_grows_to_what_all_its_tokens_decode_to(text: str, before: list[int]) -> None:
    """Characters of several bytes arrive whole, whatever stands before them, and none is ever taken back."""
    tokens = text.encode()
    growing, seen = GrowingText(by_bytes, before=b"A:"), ""
    for token in tokens:
        growing.add(token)
        assert growing.text.startswith(seen)
        assert text.startswith(growing.text)
        seen = growing.text
    growing.close()
    assert growing.text == text


@given(st.lists(st.integers(0, 255), max_size=12))
def test_bytes_that_are_no_text_lose_nothing_before_them(tokens: list[int]) -> None:
    """Any bytes decode as all of them at once would; those at the end that are no character yet are left out."""
    growing = GrowingText(by_bytes, before=b"A:")
    for token in tokens:
        growing.add(token)
    growing.close()
    assert growing.text.rstrip(UNFINISHED) == by_bytes(tokens).rstrip(UNFINISHED)


def test_the_space_before_the_first_word_is_kept() -> None:
    """A decoder that drops the space at the start of a text does not drop it behind the prompt."""
    assert written([3, 4, END], decode=by_words, tokens=(0, 1, 2))[0] == " Paris."
    assert by_words([3, 4]) == "Paris."


def test_spaces_that_ended_the_context_are_not_repeated() -> None:
    """After "is " the text is "Paris.": the model writes the space that the tokens of the context lack."""
    assert written([3, 4, END], decode=by_words, tokens=(0, 1, 2), spaces=" ")[0] == "Paris."


@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("Paris.\n\nQ: Who?", ("\n\n", "Q:"), "Paris."),
        ("Paris.\n\nQ: Who?", ("Q:", "\n\n"), "Paris."),
        ("Q: Who?", ("Q:",), ""),
        ("A ÄÖ b", ("ÄÖ",), "A "),
        ("one two", ("three",), "one two"),
        ("aab", ("ab",), "a"),
        ("abc", (), "abc"),
    ],
)
def test_a_text_is_cut_before_the_earliest_stop_string(text: str, stop: tuple[str, ...], expected: str) -> None:
    """Also where the stop string, or a character of it, is spread over tokens, here one for each byte."""
    tokens = [*text.encode(), END]
    found, reason, taken = written(tokens, stop=stop)
    assert (found, reason) == (expected, "stop")
    assert (taken == len(tokens)) == (expected == text)


def test_of_stop_strings_in_one_token_the_first_in_the_text_cuts() -> None:
    """ "\\nQ" and ":" end in one step, the longer one begins earlier."""
    assert written([3, 6, 7], decode=by_words, stop=(":", "\nQ:"))[0] == " Paris"
    assert earliest("Paris\nQ:", (":", "\nQ:")) == 5
    assert earliest("Paris\nQ:", (":", "\nQ:"), start=6) == 7
    assert earliest("Paris", ("?",)) is None


def test_the_end_token_is_no_part_of_the_text() -> None:
    """It is counted as written, though."""
    assert written([*b"Paris", END]) == ("Paris", "stop", 6)
    assert written([END]) == ("", "stop", 1)


def test_a_text_that_reaches_its_limit_says_so() -> None:
    """What ends it on its last token counts as its end; half a character is left out."""
    assert written(b"Paris is", max_tokens=5) == ("Paris", "length", 5)
    assert written([*b"Pari", END], max_tokens=5) == ("Pari", "stop", 5)
    assert written(b"Paris", max_tokens=5, stop=("is",)) == ("Par", "stop", 5)
    assert written("café".encode(), max_tokens=4) == ("caf", "length", 4)


def test_a_stop_string_behind_half_a_character_is_found() -> None:
    """Text is held back while it ends inside a character; the end of the tokens lets it go, stop string and all."""
    assert written([*b"ab", 0xC3], max_tokens=3, stop=("b",))[:2] == ("a", "stop")
    both: Sequence[int] = [0, 1]
    parts = {0: "a", 1: "b" + UNFINISHED}

    def decode(tokens: Sequence[int]) -> str:
        return "".join(parts.get(token, "") for token in tokens)

    assert written(both, decode=decode, tokens=(9,), max_tokens=2, stop=("b",)) == ("a", "stop", 2)


def test_a_reply_counts_tokens_and_has_a_text_or_a_reason() -> None:
    """Completion tokens are all that were written, those that were cut off included."""
    draft = Draft(row((1, 2, 3), stop=("b",)), by_bytes, frozenset({END}))
    for token in b"ab":
        draft.add(token)
    reply = draft.reply()
    assert reply.value == Text("a", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (3, 2)
    draft = Draft(row(), by_bytes, frozenset({END}))
    draft.fail(Missing("nan", "no numbers"))
    assert draft.finished
    assert draft.reply().missing == Missing("nan", "no numbers")


def test_a_row_must_have_something_to_write() -> None:
    """No token to follow, none to write, and a stop string that is everywhere are mistakes of the caller."""
    for wrong in ({"tokens": ()}, {"max_tokens": 0}, {"stop": ("",)}):
        with pytest.raises(ValueError, match="at least one"):
            row(**wrong)


def test_a_seed_depends_on_seed_attempt_and_prompt_alone() -> None:
    """Neighbouring seeds and attempts do not meet; index, temperature and what else is asked for do not matter."""
    seeds = [row(seed=seed, attempt=attempt).seed for seed in (-1, 0, 1, 2**70) for attempt in (0, 1)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert row(seed=1, sample=3, temperature=0.7, stop=("x",)).seed == row(seed=1).seed
    assert row((1, 2)).seed != row((1, 3)).seed


def test_prompts_share_all_but_their_last_tokens() -> None:
    """The last token is what a text starts from, even where all prompts are one."""
    assert shared_opening([row((5, 6, 7, 8)), row((5, 6, 9))]) == 2
    assert shared_opening([row((5, 6, 7)), row((5, 6, 7))]) == 2
    assert shared_opening([row((5, 6)), row((5, 6, 7))]) == 1
    assert shared_opening([row((5,)), row((5, 6, 7))]) == 0
    assert shared_opening([]) == 0


def test_prompts_of_two_rubrics_are_two_families() -> None:
    """Three answers under each of two long rubrics: each rubric is put in once, if texts are short enough."""
    rows = [row((7, rubric, *[rubric] * 40, answer, 9), max_tokens=3) for answer in range(3) for rubric in (1, 2)]
    assert families(rows, pass_tokens=10) == [Family(42, (0, 2, 4)), Family(42, (1, 3, 5))]
    assert families(rows, pass_tokens=30) == [Family(1, (0, 2, 4, 1, 3, 5))]


def test_a_family_within_a_family_needs_its_own_gain() -> None:
    """Samples of one prompt save nothing by a family: they share its prefill anyway."""
    few = [row((*[1] * 30, answer, 9), max_tokens=1) for answer in range(4)]
    deep = [row((*[1] * 30, 5, *[2] * 30, answer, 9), max_tokens=1) for answer in range(4)]
    assert families([*few, *deep], pass_tokens=20) == [Family(61, (4, 5, 6, 7)), Family(30, (0, 1, 2, 3))]
    assert families([*few, *deep[:1] * 4], pass_tokens=20) == [Family(30, (0, 1, 2, 3, 4, 5, 6, 7))]
    assert families(deep[:1] * 4, pass_tokens=20) == [Family(62, (0, 1, 2, 3))]


def test_prompts_that_continue_each_other_are_no_families() -> None:
    """Two thousand prompts, each a token longer than the one before, do not exhaust the stack."""
    rows = [row((1,) * length) for length in range(1, 2001)]
    assert families(rows, pass_tokens=10**9) == [Family(0, tuple(range(2000)))]


ROWS = st.lists(
    st.builds(row, st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), max_tokens=st.integers(1, 9)),
    max_size=12,
)


@given(ROWS, st.integers(0, 3))
def test_families_hold_every_row_once_behind_what_it_begins_with(rows: list[TextRow], pass_tokens: int) -> None:
    """Whatever a pass costs; only the last family may be one that saves less than its passes."""
    found = families(rows, pass_tokens=pass_tokens)
    assert sorted(number for family in found for number in family.numbers) == list(range(len(rows)))
    for family in found:
        openings = {rows[number].tokens[:-1][: family.opening] for number in family.numbers}
        assert [len(opening) for opening in openings] == [family.opening]
    for family in found[:-1]:
        prompts = {rows[number].tokens[:-1] for number in family.numbers}
        longest = max(rows[number].request.max_tokens for number in family.numbers)
        assert (len(prompts) - 1) * family.opening > pass_tokens * longest


@given(ROWS, st.integers(1, 60), st.integers(1, 5))
def test_queues_hold_every_row_once_and_the_longest_first(rows: list[TextRow], most_slots: int, most_rows: int) -> None:
    """A queue ends only where its cache is filled and the next row is at most half as long as its longest."""
    found = queues(rows, shared=0, most_slots=most_slots, most_rows=most_rows)
    assert sorted(number for queue in found for number in queue) == list(range(len(rows)))
    slots = [[rows[number].slots for number in queue] for queue in found]
    assert list(chain(*slots)) == sorted(chain(*slots), reverse=True)
    for queue, after in pairwise(slots):
        assert 2 * after[0] <= queue[0]
        assert len(queue) >= rows_at_once(queue[0], most_slots=most_slots, most_rows=most_rows)


def test_short_rows_do_not_wait_in_long_ones() -> None:
    """In its rows a cache of long ones holds few; where rows are few anyway, it makes no difference."""
    rows = [row((1,) * 51, max_tokens=49), *(row((2, i), max_tokens=8) for i in range(6))]
    assert queues(rows, shared=0, most_slots=100, most_rows=10) == [(0,), (1, 2, 3, 4, 5, 6)]
    assert queues(rows, shared=0, most_slots=300, most_rows=3) == [(0, 1, 2, 3, 4, 5, 6)]
    assert rows_at_once(10, most_slots=100, most_rows=20) == 10
    assert rows_at_once(101, most_slots=100, most_rows=20) == 1


def test_samples_of_one_prompt_follow_each_other() -> None:
    """So that they are written at the same time, and their prompt is put in once."""
    rows = [row((1, prompt), seed=seed) for seed in range(3) for prompt in range(3)]
    assert queues(rows, shared=0, most_slots=1000, most_rows=4) == [(0, 3, 6, 1, 4, 7, 2, 5, 8)]
