"""A gate and its questions become rows."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.thresholds.made import Questions, gate_of, question, refused, rows_of
from truthguard.errors import UsageError
from truthguard.records import Bar, BenchmarkSettings
from truthguard.thresholds.rows import expand, slug, slugs

ITEMS = (
    question("one", "Law"),
    question("two", "Confusion: People"),
    question("three", "Law"),
    question("four", "Health"),
)


def test_the_row_its_categories_its_items(tmp_path: Path) -> None:
    """Rows come in the file's order: each table's own, its categories by first appearance, its selected items."""
    gate = gate_of(
        tmp_path,
        '[truthfulqa.mc1]\nmin = 0.2\nby = "category"\nitem_min = 1\n[truthfulqa.mc2]\n[starter.mc3]\nmax = 0.9\n',
    )
    rows = rows_of(gate, ITEMS, ITEMS[:2])
    assert [row.id for row in rows] == [
        "truthfulqa[mc1]",
        "truthfulqa[mc1-Law]",
        "truthfulqa[mc1-Confusion-People]",
        "truthfulqa[mc1-Health]",
        "truthfulqa[mc1-one]",
        "truthfulqa[mc1-two]",
        "truthfulqa[mc2]",
        "starter[mc3]",
    ]
    assert [row.category for row in rows[:6]] == [None, "Law", "Confusion: People", "Health", None, None]
    assert [row.item for row in rows[:6]] == [None, None, None, None, "one", "two"]
    assert [row.line for row in rows] == [1, 1, 1, 1, 1, 1, 5, 6]
    assert {row.benchmark for row in rows[:7]} == {"truthfulqa"}


def test_a_normalised_metric_has_its_own_name_in_ids(tmp_path: Path) -> None:
    """Another number has another name: mc1_per_token, while mc2 stays as it is."""
    gate = gate_of(tmp_path, '[starter]\nnormalization = "per_token"\n[starter.mc1]\n[starter.mc2]\n')
    assert [(row.id, row.metric) for row in rows_of(gate, ITEMS)] == [
        ("starter[mc1_per_token]", "mc1_per_token"),
        ("starter[mc2]", "mc2"),
    ]


def test_single_categories_with_and_without_by(tmp_path: Path) -> None:
    """A named category has its own numbers and line; without `by` only the named ones become rows."""
    text = '[starter.mc1]\nmin = 0.5\n[starter.mc1.categories."Confusion: People"]\nmin = 0.2\n'
    rows = rows_of(gate_of(tmp_path, text), ITEMS)
    assert [(row.id, row.bar.min, row.line) for row in rows] == [
        ("starter[mc1]", 0.5, 1),
        ("starter[mc1-Confusion-People]", 0.2, 3),
    ]
    rows = rows_of(
        gate_of(tmp_path, text.replace("min = 0.5\n", 'min = 0.5\nby = "category"\neach.min = 0.4\n')), ITEMS
    )
    assert [(row.category, row.bar.min, row.line) for row in rows] == [
        (None, 0.5, 1),
        ("Law", 0.4, 1),
        ("Confusion: People", 0.2, 5),
        ("Health", 0.4, 1),
    ]


def test_every_limit_reaches_the_row(tmp_path: Path) -> None:
    """Bar, confidence, coverage, size and waiver of the file stand in the row."""
    text = (
        '[starter.mc1]\nmin = 0.2\nmax = 0.9\nblock_on = "doubt"\nconfidence = 0.9\nmax_unscored = 0.1\n'
        'min_items = 4\nwaive_until = 2026-12-31\nwaive_reason = "known"\n'
    )
    (row,) = rows_of(gate_of(tmp_path, text), ITEMS)
    assert row.bar == Bar(0.2, 0.9, "doubt")
    assert (row.confidence, row.max_unscored, row.min_items) == (0.9, 0.1, 4)
    assert row.alpha == pytest.approx(0.1)
    assert (row.waive_until, row.waive_reason) == (date(2026, 12, 31), "known")


def test_a_category_is_there_whatever_is_selected(tmp_path: Path) -> None:
    """Category rows come from the whole data, item rows from the selected items only."""
    gate = gate_of(tmp_path, '[starter.mc1]\nmin = 0.2\nby = "category"\nitem_min = 1\n')
    rows = rows_of(gate, ITEMS, [])
    assert [row.category for row in rows] == [None, "Law", "Confusion: People", "Health"]


def test_must_pass_items_are_held_by_the_number_alone(tmp_path: Path) -> None:
    """An item row has the bar item_min by estimate, no least size, and the row's own waiver."""
    text = (
        '[starter.mc1]\nmin = 0.2\nblock_on = "proof"\nmin_items = 3\nitem_min = 1\n'
        'waive_until = 2026-12-31\nwaive_reason = "known"\n'
    )
    whole, item = rows_of(gate_of(tmp_path, text), ITEMS, ITEMS[:1])
    assert whole.bar == Bar(min=0.2, block_on="proof")
    assert item.bar == Bar(min=1.0, block_on="estimate")
    assert (item.min_items, item.waive_reason) == (1, "known")


def test_alpha_is_divided_by_the_proof_rows_of_the_file(tmp_path: Path) -> None:
    """Under proof alpha is shared by every row of the file that may block; under doubt it is not divided."""
    text = (
        '[starter.mc1]\nmin = 0.2\nblock_on = "proof"\nby = "category"\n'
        '[starter.mc2]\nmin = 0.1\nblock_on = "doubt"\n'
        "[truthfulqa.mc1]\nmin = 0.2\n"
        '[truthfulqa.mc3]\nmin = 0.2\nblock_on = "proof"\nconfidence = 0.9\nitem_min = 1\n'
    )
    rows = rows_of(gate_of(tmp_path, text), ITEMS, ITEMS[:1])
    by_id = {row.id: row for row in rows}
    # Four of starter's mc1 (itself and three categories) and one of truthfulqa's mc3.
    for name in ("starter[mc1]", "starter[mc1-Law]", "starter[mc1-Health]"):
        assert by_id[name].alpha == pytest.approx(0.05 / 5)
    assert by_id["truthfulqa[mc3]"].alpha == pytest.approx(0.1 / 5)
    assert by_id["starter[mc2]"].alpha == pytest.approx(0.05)
    assert by_id["truthfulqa[mc1]"].alpha == pytest.approx(0.05)


def test_alpha_does_not_depend_on_what_is_selected(tmp_path: Path) -> None:
    """The rows of the file as written are counted: selecting one category proves no more easily."""
    gate = gate_of(tmp_path, '[starter.mc1]\nmin = 0.2\nblock_on = "proof"\nby = "category"\nitem_min = 1\n')
    alphas = {row.id: row.alpha for row in rows_of(gate, ITEMS, ITEMS[:1])}
    everything = {row.id: row.alpha for row in rows_of(gate, ITEMS)}
    assert alphas.items() <= everything.items()
    assert alphas["starter[mc1]"] == pytest.approx(0.05 / 4)


def test_a_row_without_a_bar_takes_no_share_of_alpha(tmp_path: Path) -> None:
    """What can never block by proof is not counted."""
    text = '[starter.mc1]\nby = "category"\neach = { min = 0.2, block_on = "proof" }\n'
    rows = rows_of(gate_of(tmp_path, text), ITEMS)
    assert [bool(row.bar) for row in rows] == [False, True, True, True]
    assert rows[1].alpha == pytest.approx(0.05 / 3)


def test_unknown_categories_are_told_with_line_and_nearest_name(tmp_path: Path) -> None:
    """A category that the data do not have is a usage error at its line, all of them at once."""
    text = (
        '[starter.mc1.categories."Confusion: Peple"]\nmin = 0.2\n[starter.mc1.categories]\n\n"health".min = 0.1\n'
        "[starter.mc2]\nmin = 0.1\ncategories.Lw = { min = 0.2 }\n"
    )
    gate = gate_of(tmp_path, text)
    found = [(mistake.line, mistake.message, mistake.file) for mistake in refused(gate, ITEMS)]
    assert [line for line, _, _ in found] == [1, 5, 8]
    assert found[0][1] == (
        "[starter.mc1.categories] unknown category 'Confusion: Peple'; did you mean 'Confusion: People'?"
    )
    assert "did you mean 'Health'?" in found[1][1]
    assert "did you mean 'Law'?" in found[2][1]
    assert {file for _, _, file in found} == {gate.path}


def test_a_metric_that_the_data_cannot_give_is_a_usage_error(tmp_path: Path) -> None:
    """mc_binary without best incorrect answers is refused at the row's line, with the data's reason."""
    gate = gate_of(tmp_path, "[starter.mc1]\n\n[starter.mc_binary]\nmin = 0.5\n")

    def unavailable(metric: str, questions: Questions, settings: BenchmarkSettings) -> str | None:
        return "needs the best incorrect answers" if metric == "mc_binary" else None

    with pytest.raises(UsageError) as caught:
        expand(gate, {"starter": Questions(ITEMS)}, {"starter": ITEMS}, unavailable)
    (mistake,) = caught.value.mistakes
    assert (mistake.file, mistake.line) == (gate.path, 3)
    assert mistake.message == "[starter.mc_binary] needs the best incorrect answers"


def test_equal_slugs_are_told_apart_in_file_order(tmp_path: Path) -> None:
    """Categories that differ only in what a slug drops get -2, -3, the same whichever of them have rows."""
    items = [question(str(number), name) for number, name in enumerate(["A b", "A: b", "A, b", "A-b-2"])]
    rows = rows_of(gate_of(tmp_path, '[starter.mc1]\nmin = 0.2\nby = "category"\n'), items)
    assert [row.id for row in rows[1:]] == [f"starter[mc1-{name}]" for name in ("A-b", "A-b-2", "A-b-3", "A-b-2-2")]
    rows = rows_of(gate_of(tmp_path, '[starter.mc1]\nmin = 0.2\n[starter.mc1.categories."A, b"]\n'), items)
    assert [row.id for row in rows[1:]] == ["starter[mc1-A-b-3]"]


def test_an_item_named_like_a_category_has_another_row_id(tmp_path: Path) -> None:
    """Two rows never share an id, even where an item's id is a category's slug."""
    gate = gate_of(tmp_path, '[starter.mc1]\nmin = 0.2\nby = "category"\nitem_min = 1\n')
    rows = rows_of(gate, [question("Law", "Law")])
    assert [(row.id, row.item) for row in rows[1:]] == [("starter[mc1-Law]", None), ("starter[mc1-Law-2]", "Law")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Confusion: People", "Confusion-People"),
        ("Indexical Error: Time", "Indexical-Error-Time"),
        ("Myths and Fairytales", "Myths-and-Fairytales"),
        ("under_score-dash", "under_score-dash"),
        ("  (x)  ", "x"),
        ("Gesundheit & Übel", "Gesundheit-bel"),
        ("a[b]::c/d", "a-b-c-d"),
        ("健康", "other"),
        ("", "other"),
    ],
)
def test_slugs(text: str, expected: str) -> None:
    """Runs of anything but ASCII letters, digits, - and _ become one -, trimmed."""
    assert slug(text) == expected


@given(st.lists(st.text("aA -_:é2", max_size=4), max_size=12))
def test_slugs_are_safe_and_different(texts: list[str]) -> None:
    """Whatever the names are, their slugs are of safe characters, never empty, and no two are equal."""
    made = slugs(texts)
    assert len(made) == len(texts) == len(set(made))
    assert all(name and set(name) <= set("abcdefghijklmnopqrstuvwxyzA0123456789-_") for name in made)


def test_max_drop_reaches_rows_and_slices_but_no_single_item(tmp_path: Path) -> None:
    """`each` and categories take the row's unless they say their own; one question has no drop to hold."""
    text = (
        '[starter.mc1]\nmax_drop = 0.02\nby = "category"\nitem_min = 1\neach = { max_drop = 0.1, block_on = "doubt" }\n'
    )
    items = [question("a"), question("b", "Art")]
    whole, law, art, *single = rows_of(gate_of(tmp_path, text), items)
    assert (whole.max_drop, whole.drop_block_on) == (0.02, "proof")
    assert whole.alpha == pytest.approx(0.05)
    assert [(row.max_drop, row.drop_block_on) for row in (law, art)] == [(0.1, "doubt")] * 2
    assert [row.max_drop for row in single] == [None, None]


def test_rows_whose_drop_must_be_proved_share_alpha(tmp_path: Path) -> None:
    """max_drop blocks by proof unless the file says otherwise, so such rows count among those that may block."""
    text = "[starter.mc1]\nmin = 0.1\nmax_drop = 0.02\n[starter.mc2]\nmax_drop = 0\n[starter.mc3]\nmin = 0.1\n"
    rows = rows_of(gate_of(tmp_path, text), [question("a")])
    assert [row.alpha for row in rows] == pytest.approx([0.025, 0.025, 0.05])
    assert [(row.bar.block_on, row.drop_block_on) for row in rows] == [("estimate", "proof")] * 3
