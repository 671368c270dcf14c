"""Where a context ends and a choice begins, asserted on token ids with toy tokenizers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.backends.protocol import Turn
from truthguard.backends.tokens import Encoder, Pair
from truthguard.errors import ModelError


class Toy:
    """Longest piece first from a list of pieces, like a SentencePiece model without its dummy prefix."""

    def __init__(
        self, pieces: Sequence[str], *, bos: bool = False, eos: bool = False, ids: bool = True, unk: str | None = None
    ) -> None:
        self.pieces = ["<pad>", "<eos>", "<bos>", *pieces]
        self.bos_token_id = 2 if ids else None
        self.eos_token_id = 1 if ids else None
        self.unk_token_id = self.pieces.index(unk) if unk else None
        self._bos, self._eos = bos, eos
        self._pattern = re.compile("|".join(map(re.escape, sorted(self.pieces, key=len, reverse=True))) + "|.", re.S)

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        found = self._pattern.findall(text)
        unknown = self.unk_token_id
        ids = [self.pieces.index(piece) if piece in self.pieces or unknown is None else unknown for piece in found]
        if add_special_tokens:
            return [2] * self._bos + ids + [1] * self._eos
        return ids

    def render(self, turns: Sequence[Turn]) -> str:
        return "<bos>" + "".join(f"<{turn.role}>{turn.content}<end>" for turn in turns) + "<assistant>\n"

    def ids(self, *pieces: str) -> tuple[int, ...]:
        return tuple(map(self.pieces.index, pieces))


SENTENCE_PIECE = Toy(["A", ":", " ", " Yes", "Yes", " No", "a"])


class DummyPrefix(Toy):
    """A SentencePiece-style tokenizer: a text gets a space in front, so " Yes" alone is a lone space and " Yes"."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return super().encode(" " + text, add_special_tokens=add_special_tokens)


def test_c05_a_choice_is_what_follows_in_the_joint_encoding() -> None:
    """C05: " Yes" after "A:" is the one piece that the whole string has there, not a stray space and a piece."""
    toy = DummyPrefix(["A", ":", " ", " A", " Yes", " No", "a", " a"])
    assert toy.encode(" Yes", add_special_tokens=False) == list(toy.ids(" ", " Yes"))
    assert Encoder(toy, None).pairs("A:", (" Yes", " No")) == (
        Pair(toy.ids(" A", ":"), toy.ids(" Yes")),
        Pair(toy.ids(" A", ":"), toy.ids(" No")),
    )


def test_c05_spaces_that_end_a_context_move_to_the_choice() -> None:
    """C05: "A: " and "Yes" are scored as "A:" and " Yes"."""
    (pair,) = Encoder(SENTENCE_PIECE, None).pairs("A: ", ("Yes",))
    assert pair == Pair(SENTENCE_PIECE.ids("A", ":"), SENTENCE_PIECE.ids(" Yes"))


def test_c05_a_reply_to_a_chat_follows_the_template_without_a_space() -> None:
    """C05: after the generation marker "Yes" is scored as it stands."""
    toy = Toy(["<user>", "<end>", "<assistant>", "\n", "Hi", " Yes", "Yes", "a"], bos=True)
    (pair,) = Encoder(toy, None).pairs((Turn("user", "Hi"),), ("Yes",))
    assert pair == Pair(toy.ids("<bos>", "<user>", "Hi", "<end>", "<assistant>", "\n"), toy.ids("Yes"))


def test_c06_a_chat_template_gets_no_second_bos() -> None:
    """C06: the template begins with BOS and the tokenizer would add one: the ids begin with exactly one 2."""
    toy = Toy(["<user>", "<end>", "<assistant>", "\n", "Hi", "Yes", "a"], bos=True)
    (pair,) = Encoder(toy, None).pairs((Turn("user", "Hi"),), ("Yes",))
    assert pair.context.count(2) == 1
    assert pair.context[0] == 2


def test_c06_bos_is_added_once_to_a_text() -> None:
    """C06: as the tokenizer adds it, also where the text brings its own, and none where the tokenizer adds none."""
    pieces = ["A", ":", " Yes", "a"]
    with_bos, without = Toy(pieces, bos=True), Toy(pieces)
    for text in ("A:", "<bos>A:"):
        (pair,) = Encoder(with_bos, None).pairs(text, (" Yes",))
        assert pair == Pair(with_bos.ids("<bos>", "A", ":"), with_bos.ids(" Yes"))
    assert Encoder(without, None).pairs("A:", (" Yes",))[0].context == without.ids("A", ":")


def test_c06_an_eos_that_the_tokenizer_appends_stands_in_no_context() -> None:
    """C06: an end-of-sequence token between the question and the answer would end the text before the answer."""
    toy = Toy(["A", ":", " Yes", "a"], bos=True, eos=True)
    (pair,) = Encoder(toy, None).pairs("A:", (" Yes",))
    assert pair == Pair(toy.ids("<bos>", "A", ":"), toy.ids(" Yes"))


def test_c06_an_empty_context_is_conditioned_on_one_token() -> None:
    """C06: on BOS, else EOS, else it is an error; a context of spaces alone is empty too."""
    toy = Toy(["Yes", " Yes", "a"])
    assert Encoder(toy, None).pairs("", ("Yes",)) == (Pair((2,), toy.ids("Yes")),)
    assert Encoder(toy, None).pairs(" ", ("Yes",)) == (Pair((2,), toy.ids(" Yes")),)
    toy.bos_token_id = None
    assert Encoder(toy, None).pairs("", ("Yes",))[0].context == (1,)
    toy.eos_token_id = None
    with pytest.raises(ModelError, match="neither a beginning- nor an end-of-sequence token"):
        Encoder(toy, None).pairs("", ("Yes",))


def test_a_merge_across_the_border_is_counted() -> None:
    """Where the context's tokens are no prefix of the joint ones, the joint ones past its length are scored."""
    toy = Toy(["A", ":", ":)", "x", "y", "a"])
    (pair,) = Encoder(toy, None).pairs("A:", (")xy",))
    assert pair == Pair(toy.ids("A", ":"), toy.ids("x", "y"), merged=True)


def test_no_choice_is_scored_on_zero_tokens() -> None:
    """A merge that swallows the whole choice: the choice by itself; a choice without any token: missing."""
    toy = Toy(["A", ":", ":)", ")", "a"])
    swallowed, empty = Encoder(toy, None).pairs("A:", (")", ""))
    assert swallowed == Pair(toy.ids("A", ":"), toy.ids(")"), merged=True)
    assert empty.missing is not None
    assert empty.missing.kind == "no_tokens"


def test_the_context_is_cut_from_the_left_and_its_special_tokens_stay() -> None:
    """Prompt and choice may exceed the window by one token: the last one is never put in."""
    toy = Toy(["a", "b", "c", "d", "Y"], bos=True)
    exact, cut = (Encoder(toy, window).pairs("abcd", ("YY",))[0] for window in (6, 5))
    assert (exact.context, exact.truncated) == (toy.ids("<bos>", "a", "b", "c", "d"), False)
    assert (cut.context, cut.truncated) == (toy.ids("<bos>", "b", "c", "d"), True)
    assert cut.continuation == toy.ids("Y", "Y")


def test_the_bos_of_a_chat_template_survives_the_cut() -> None:
    """The tokenizer adds none itself, the template did: it is a special token all the same."""
    toy = Toy(["<user>", "<end>", "<assistant>", "\n", "a", "Y"])
    (pair,) = Encoder(toy, 4).pairs((Turn("user", "aaa"),), ("Y",))
    assert pair.context == toy.ids("<bos>", "<end>", "<assistant>", "\n")


def test_a_choice_is_never_cut() -> None:
    """A choice longer than the window is missing; one as long as it has room for a single token before it."""
    toy = Toy(["a", "Y"], bos=True)
    fits, too_long = Encoder(toy, 3).pairs("aaa", ("YYY", "YYYY"))
    assert (fits.context, fits.missing) == ((2,), None)
    assert too_long.missing is not None
    assert too_long.missing.kind == "does_not_fit"


FORMS = ("yes", "Yes", " yes", " Yes"), ("no", "No", " no", " No")


def test_forms_are_single_tokens_in_context_each_once() -> None:
    """After "A: " the form "Yes" is the piece " Yes"; what takes two pieces is no form."""
    toy = Toy(["A", ":", " ", "Yes", " Yes", " No", " yes", *"yesnNo", "a"])
    encoder = Encoder(toy, None)
    pair, groups = encoder.forms("A: ", FORMS)
    assert pair == Pair(toy.ids("A", ":"), ())
    assert groups == (toy.ids(" yes", " Yes"), toy.ids(" No"))
    assert encoder.forms("A:", FORMS)[1] == (toy.ids("Yes", " yes", " Yes"), toy.ids(" No"))


def test_a_form_swallowed_by_a_merge_counts_by_itself() -> None:
    """After "A: (" the letter A may merge with the bracket: then the letter alone is the form."""
    toy = Toy(["A", ":", " (", " (A", "B", "a"])
    _, groups = Encoder(toy, None).forms("A: (", (("A",), ("B",)))
    assert groups == (toy.ids("A"), toy.ids("B"))


def test_unknown_and_shared_tokens_are_no_forms() -> None:
    """The unknown token, and one that stands for both sides, say nothing about either."""
    toy = Toy(["A:", "Yes", "?", "a"], unk="?")
    _, groups = Encoder(toy, None).forms("A:", (("Yes", "Oui"), ("No", "Yes"), ("Yes",)))
    assert groups == ((), (), ())


def test_a_next_token_context_is_cut_to_the_window() -> None:
    """The whole window is the context's: the next token itself is not put in."""
    toy = Toy(["a", "b", "Y"])
    pair, _ = Encoder(toy, 2).forms("aab", (("Y",),))
    assert (pair.context, pair.truncated) == (toy.ids("a", "b"), True)


@given(st.text("ab :)", max_size=12), st.text("ab :)", max_size=6), st.integers(1, 12) | st.none())
def test_any_text_keeps_the_rules(context: str, choice: str, window: int | None) -> None:
    """What the model sees never exceeds the window, the choice is never cut, no scored choice is without tokens."""
    toy = Toy(["a", "b", " ", ":", ")", ":)", " a", "ab"], bos=True)
    (pair,) = Encoder(toy, window).pairs(context, (choice,))
    whole = Encoder(toy, None).pairs(context, (choice,))[0]
    assert pair.continuation == whole.continuation
    if pair.missing is None:
        assert pair.continuation
        assert pair.context[0] == 2
        assert whole.context[1:][len(whole.context) - len(pair.context) :] == pair.context[1:]
        assert window is None or len(pair.context) + len(pair.continuation) - 1 <= window
        assert pair.truncated == (len(pair.context) < len(whole.context))
