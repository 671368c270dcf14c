"""The plan of token trees: what is shared, what is seen, what fits."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.backends import packing
from truthguard.backends.packing import ROOT, Pass, Row, families, plan, shared_tokens


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Few distinct tokens, so that rows share beginnings; some want one id at each step, some several at the last."""
    tokens = draw(st.lists(st.integers(0, 2), min_size=1, max_size=8))
    ids = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
    if draw(st.booleans()):
        return Row(tuple(tokens), (draw(ids),))
    steps = draw(st.integers(1, len(tokens)))
    return Row(tuple(tokens), tuple((draw(st.integers(0, 9)),) for _ in range(steps)))


many_rows = st.lists(rows(), min_size=1, max_size=12)


def planned(chosen: Sequence[Row], groups: Sequence[int], tokens: int = 99, reads: int = 99) -> list[Pass]:
    return plan(chosen, groups, most_tokens=tokens, most_reads=reads)


@pytest.fixture(autouse=True)
def every_prefix_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """These rows are short: a prefix that saves one token has to be worth it for them to have any."""
    monkeypatch.setattr(packing, "_WORTH", 1)


def path(tree: Pass, node: int) -> list[int]:
    """The tokens from the prefix to a node, by its parents."""
    tokens: list[int] = []
    while node != ROOT:
        tokens.append(int(tree.tokens[node]))
        node = int(tree.parents[node])
    return tokens[::-1]


@given(many_rows, st.integers(1, 20), st.integers(1, 8), st.data())
def test_every_read_of_every_row_is_planned_once(
    chosen: list[Row], most_tokens: int, most_reads: int, data: st.DataObject
) -> None:
    """Each row stands in exactly one pass, and each read at the end of exactly the row's own tokens."""
    groups = [data.draw(st.integers(0, 3)) for _ in chosen]
    passes = planned(chosen, groups, most_tokens, most_reads)
    assert sorted(row for tree in passes for row in tree.rows) == list(range(len(chosen)))
    for tree in passes:
        for number, nodes in zip(tree.rows, tree.reads, strict=True):
            row = chosen[number]
            assert len(nodes) == len(row.wanted)
            for step, node in enumerate(nodes):
                assert [*tree.prefix, *path(tree, node)] == list(row.tokens[: row.first_read + step + 1])


@given(many_rows, st.integers(1, 20))
def test_a_family_has_what_it_says_in_common(chosen: list[Row], most_tokens: int) -> None:
    """Every row is in one family; its prefix is shared and unread, its tree has as many tokens as are said."""
    found = families(chosen, most_tokens)
    assert sorted(number for family in found for number in family.rows) == list(range(len(chosen)))
    for family in found:
        rows_ = [chosen[number] for number in family.rows]
        assert len({row.tokens[: family.prefix] for row in rows_}) == 1
        assert all(family.prefix <= row.first_read for row in rows_)
        beyond = {row.tokens[:end] for row in rows_ for end in range(family.prefix + 1, len(row.tokens) + 1)}
        assert family.beyond == len(beyond)
    prefixes = [chosen[family.rows[0]].tokens[: family.prefix] for family in found]
    assert prefixes == sorted(prefixes)


@given(many_rows, st.integers(1, 20), st.data())
def test_a_prefix_never_costs_more_than_it_saves(chosen: list[Row], most_tokens: int, data: st.DataObject) -> None:
    """The tokens computed, each prefix once, are at most those of every row by itself."""
    groups = [data.draw(st.integers(0, 3)) for _ in chosen]
    passes = planned(chosen, groups, most_tokens)
    kept: tuple[int, ...] = ()
    computed = 0
    for tree in passes:
        computed += len(tree.tokens) + len(tree.prefix) - shared_tokens(kept, tree.prefix)
        kept = tree.prefix or kept
    assert computed <= sum(len(row.tokens) for row in chosen)


@given(many_rows, st.integers(1, 12))
def test_a_node_sees_its_ancestors_and_nothing_else(chosen: list[Row], most_tokens: int) -> None:
    """No branch sees another: a node's keys are the prefix and the tokens on its own path, at their depths."""
    for tree in planned(chosen, [0] * len(chosen), most_tokens):
        mask, prefix = tree.mask(), len(tree.prefix)
        for node in range(len(tree.tokens)):
            seen = [int(key) for key in mask[node].nonzero()[0]]
            assert seen[:prefix] == list(range(prefix))
            own = [key - prefix for key in seen[prefix:]]
            assert [int(tree.tokens[key]) for key in own] == path(tree, node)
            assert [int(tree.positions[key]) for key in own] == list(range(len(own)))
            assert own[-1] == node


@given(many_rows, st.integers(1, 20), st.integers(1, 8))
def test_only_one_row_alone_exceeds_a_limit(chosen: list[Row], most_tokens: int, most_reads: int) -> None:
    """A pass above its tokens or its reads holds a single row."""
    for tree in planned(chosen, list(range(len(chosen))), tokens=most_tokens, reads=most_reads):
        read = {node for nodes in tree.reads for node in nodes}
        assert len(tree.rows) == 1 or (len(tree.tokens) <= most_tokens and len(read) <= most_reads)


@given(many_rows, st.randoms())
def test_the_order_of_the_rows_changes_no_tree(chosen: list[Row], random: Random) -> None:
    """The trees depend on the rows, not on who asked first."""
    shuffled = list(chosen)
    random.shuffle(shuffled)
    trees = [
        [(tree.tokens.tolist(), tree.parents.tolist()) for tree in planned(some, [0] * len(some))]
        for some in (chosen, shuffled)
    ]
    assert trees[0] == trees[1]


@given(many_rows)
def test_no_two_nodes_are_the_same_path(chosen: list[Row]) -> None:
    """What two rows of a pass have in common is computed once."""
    (tree,) = planned(chosen, [0] * len(chosen))
    paths = [tuple(path(tree, node)) for node in range(len(tree.tokens))]
    assert len(set(paths)) == len(paths)


def test_a_group_stays_together_where_it_fits() -> None:
    """A question's continuations share one pass although the one before still had room for some of them."""
    chosen = [Row((1, 1, 1), ((0,),)), Row((2, 1), ((0,),)), Row((2, 2), ((0,),)), Row((2, 3), ((0,),))]
    passes = planned(chosen, [0, 1, 1, 1], tokens=5)
    assert [tree.rows for tree in passes] == [(0,), (1, 2, 3)]


def test_a_group_above_the_limit_is_split_by_row() -> None:
    """Three continuations of two tokens each, in passes of at most four tokens."""
    chosen = [Row((7, 1), ((0,),)), Row((8, 2), ((0,),)), Row((9, 3), ((0,),))]
    passes = planned(chosen, [0, 0, 0], tokens=4)
    assert [tree.rows for tree in passes] == [(0, 1), (2,)]


def test_a_prefix_ends_before_the_first_read() -> None:
    """The token after which a continuation is read belongs to the trees, however much the rows share."""
    chosen = [Row((4, 5, 6, 7, i), ((1,), (2,), (3,))) for i in range(4)]
    assert {tree.prefix for tree in planned(chosen, [0, 1, 2, 3], tokens=3)} == {(4, 5)}


def test_prompts_of_two_kinds_have_a_prefix_each() -> None:
    """Rows with two different long beginnings share what they can: each beginning is computed once, and first."""
    one, two = (1,) * 50, (1,) * 20 + (2,) * 30
    chosen = [Row((*start, i, j), ((0,),)) for i in range(3, 9) for j in range(9) for start in (one, two)]
    found = families(chosen, 40)
    assert [(family.prefix, len(family.rows)) for family in found] == [(50, 54), (50, 54)]
    computed = sum(len(tree.tokens) for tree in planned(chosen, [0] * len(chosen), tokens=40))
    assert computed < 2 * 6 * 10 + 40


def test_a_long_question_is_computed_once() -> None:
    """The choices of a question that fills a pass by itself stand behind it, not each behind a copy of it."""
    primer, question = (7,) * 30, (1, 2) * 100
    chosen = [Row((*primer, *question, i, i, i), ((0,), (0,))) for i in range(3, 20)]
    chosen += [Row((*primer, i, i), ((0,),)) for i in range(3, 60)]
    passes = planned(chosen, [0] * 17 + [1] * 57, tokens=64)
    assert {len(tree.prefix) for tree in passes} == {30, 230}
    assert sum(len(tree.tokens) for tree in passes) == 17 * 2 + 17 + 57 * 2


def test_passes_are_alike_in_length() -> None:
    """What does not fill one pass more is spread over all of them."""
    chosen = [Row((i, j), ((0,),)) for i in range(55) for j in range(3)]
    sizes = [len(tree.tokens) for tree in planned(chosen, [row.tokens[0] for row in chosen], tokens=100)]
    assert len(sizes) == 3
    assert min(sizes) >= 65


def test_beginnings_may_be_nested_as_deep_as_rows_are_many() -> None:
    """Rows of which each begins with the one before are planned without recursion."""
    chosen = [Row(tuple(range(end)), ((0,),)) for end in range(1, 3000, 2)]
    passes = planned(chosen, list(range(len(chosen))), tokens=16)
    assert sorted(row for tree in passes for row in tree.rows) == list(range(len(chosen)))


def test_a_row_without_a_token_of_its_own_is_refused() -> None:
    """Nothing can be read where nothing stands."""
    for tokens, wanted in [((), ()), ((1,), ()), ((1,), ((1,), (2,))), ((1,), ((),))]:
        with pytest.raises(ValueError, match="at least one id"):
            Row(tokens, wanted)


def test_a_pass_of_nothing_is_refused() -> None:
    """A limit below one token is a mistake, not an empty plan."""
    with pytest.raises(ValueError, match="at least one token"):
        planned([Row((1,), ((1,),))], [0], tokens=0)


def test_the_examples_of_the_module_hold() -> None:
    """The doctests say what the functions do."""
    assert doctest.testmod(packing).failed == 0
