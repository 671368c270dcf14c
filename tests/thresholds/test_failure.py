"""What a person is told of a row that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from tests.thresholds.made import row_of, run_of, scored
from truthguard.records import Bar, Identity, ItemScores, JudgeRun, Missing, Row
from truthguard.thresholds.gate import failure_text, judge

TODAY = date(2026, 6, 15)


def text_of(row: Row, values: Sequence[float | None] | Sequence[ItemScores]) -> str:
    run = run_of(values, row.metric)
    result = judge(row, run, today=TODAY)
    assert result.verdict == "fail"
    return failure_text(result, run)


def test_the_whole_text() -> None:
    """Headline, score, bar, margin, n, interval, chance, unscored, the nearest questions and where to see more."""
    items = [scored(1.0, 0), scored(0.0, 1, margin=3.0), scored(0.0, 2, margin=0.25), scored(0.0, 3, margin=1.0)]
    assert text_of(row_of(Bar(min=0.4)), items) == (
        "truthfulqa: mc1 of all questions does not meet its bar: 0.2500 < 0.4000 (min)\n"
        "\n"
        "  score     0.2500\n"
        "  min       0.4000, margin -0.1500\n"
        "  questions 4 scored of 4\n"
        "  interval  0.0456 to 0.6994 at confidence 0.95\n"
        "  chance    0.5000\n"
        "  unscored  none\n"
        "\n"
        "  Nearest to flipping:\n"
        "    q2  best answer 0.25 nats behind the strongest other\n"
        "      Question 2?\n"
        "    q3  best answer 1 nats behind the strongest other\n"
        "      Question 3?\n"
        "    q1  best answer 3 nats behind the strongest other\n"
        "      Question 1?\n"
        "\n"
        "  model     some/model (float32, cpu)\n"
        "  More: -v lists every row that passed; --truthguard-json FILE keeps every question with all its numbers."
    )


def test_the_printed_name_and_the_category_in_full() -> None:
    """mc2 is never printed without saying which of the two it is, nor a category by its slug."""
    items = [scored(0.1, n, metric="mc2", category="Confusion: People") for n in range(2)]
    text = text_of(row_of(Bar(min=0.5), "mc2", category="Confusion: People"), items)
    assert text.startswith("truthfulqa: mc2 (yes/no contrast) of category 'Confusion: People' does not meet its bar")


def test_a_normalised_metric_keeps_its_name() -> None:
    """A normalised number is not printed under the plain metric's name."""
    items = [scored(0.0, n, metric="mc1_per_token") for n in range(2)]
    assert "truthfulqa: mc1_per_token of" in text_of(row_of(Bar(min=0.5), "mc1_per_token"), items)


def test_an_item_row_names_its_item() -> None:
    """A must-pass question is named by its id, with the question."""
    text = text_of(row_of(Bar(min=1.0), item="q1"), [1.0, 0.0])
    assert text.startswith("truthfulqa: mc1 of item q1 does not meet its bar: 0.0000 < 1.0000 (min)")
    assert "Question 1?" in text
    assert "Question 0?" not in text


def test_what_was_unscored_is_told_by_kind_with_bounds() -> None:
    """Unscored items within max_unscored are listed with what the score could be."""
    items = [scored(0.0, 0), scored(0.0, 1), scored(None, 2, kind="nan"), scored(None, 3, kind="too_long")]
    text = text_of(row_of(Bar(min=0.9), max_unscored=0.5), items)
    assert "questions 2 scored of 4" in text
    kinds = "unscored  nan 1 (made for a test), too_long 1 (made for a test)"
    assert f"{kinds}; over all questions the score lies between 0.0000 and 0.5000" in text


def test_inexact_items_are_counted() -> None:
    """Items that entered with the worse end of a bound are told apart from exact ones."""
    exact = scored(0.1, 0, metric="mc2")
    bounded = replace(scored(0.2, 1, metric="mc2"), reasons={"mc2": Missing("unlisted", "no form of no is listed")})
    text = text_of(row_of(Bar(min=0.5), "mc2"), [exact, bounded])
    assert "inexact   1, each with the end of its bounds that is worse for it" in text
    assert "inexact" not in text_of(row_of(Bar(min=0.5), "mc2"), [exact])


def test_a_failed_row_between_two_ends_shows_digits_for_the_missed_one() -> None:
    """With both ends set the score has the digits that tell it from the end it misses."""
    text = text_of(row_of(Bar(0.3, 0.7), "mc2"), [0.700001, 0.700001])
    assert "score     0.700001\n" in text
    text = text_of(row_of(Bar(0.3, 0.7), "mc2"), [0.299999, 0.299999])
    assert "score     0.299999\n" in text


def test_ties_of_the_best_answer_are_counted_for_mc1_only() -> None:
    """tied_best stands in mc1's text when there are any, and in no other metric's."""
    items = [scored(0.0, n, tied=n < 2) for n in range(3)]
    assert "tied best 2: the best answer ties with another" in text_of(row_of(Bar(min=0.5)), items)
    items = [scored(0.0, n, metric="mc3", tied=True) for n in range(3)]
    assert "tied best" not in text_of(row_of(Bar(min=0.5), "mc3"), items)
    assert "tied best" not in text_of(row_of(Bar(min=0.5)), [0.0, 0.0])


def test_both_ends_are_shown_with_their_margins() -> None:
    """A row with min and max shows how far the score is from each."""
    text = text_of(row_of(Bar(0.2, 0.4)), [1.0, 0.0])
    assert "min       0.2000, margin +0.3000" in text
    assert "max       0.4000, margin -0.1000" in text


def test_a_near_miss_shows_its_margin() -> None:
    """A margin that four decimals cannot show has more of them."""
    text = text_of(row_of(Bar(min=0.7), "mc2"), [0.699999, 0.699999])
    assert "score     0.699999\n" in text
    assert "min       0.700000, margin -0.000001\n" in text


def test_a_test_is_shown_with_its_alpha() -> None:
    """Under proof and doubt the text says how the bar is held, at which alpha."""
    text = text_of(row_of(Bar(min=0.9, block_on="doubt"), alpha=0.025), [1.0] * 9 + [0.0])
    assert 'block_on = "doubt", alpha = 0.025' in text
    assert "undecided" in text.splitlines()[0]


def test_one_scored_question_has_no_interval_of_a_mean() -> None:
    """Where there is no interval the text says why."""
    assert "interval  none: one scored question is too few" in text_of(row_of(Bar(min=0.5), "mc2"), [0.1])


def test_text_of_the_data_cannot_act_on_the_terminal() -> None:
    """Control, bidirectional and zero-width characters and lone surrogates in questions and categories are shown."""
    nasty = "bad\x00 \x1b[31mred\x0b \ud800 \u202ertl \u200bzero\nline"
    items = [scored(0.0, 0, category=nasty, text=nasty)]
    text = text_of(row_of(Bar(min=0.5), category=nasty), items)
    assert r"bad\x00 \x1b[31mred\x0b \ud800 \u202ertl \u200bzero\nline" in text
    assert all(line.isprintable() for line in text.splitlines())
    text.encode()


def test_an_endless_question_is_cut() -> None:
    """A long question takes one line."""
    text = text_of(row_of(Bar(min=0.5)), [scored(0.0, 0, text="long " * 1000)])
    assert max(map(len, text.splitlines())) < 130


def test_without_kept_numbers_there_is_still_a_text() -> None:
    """A row on the right side of its bar item by item has nothing to flip, and the text stands without it."""
    text = text_of(row_of(Bar(min=0.95, block_on="doubt"), "mc2"), [1.0, 0.96])
    assert "Nearest to flipping" not in text
    assert "score     0.9800" in text


def test_the_judges_line_says_how_it_decided_this_row() -> None:
    """Correctness is asked of the judge's model whatever its kind is; a row that nobody judges names no judge."""
    judged_by = JudgeRun(Identity("openai:j", "openai", None, "api", ""), "similarity", {}, None)
    items = [replace(scored(0.0, metric="correctness"), values={"correctness": 0.0, "truthful": 0.0, "mc1": 0.0})]
    run = replace(run_of(items), judge=judged_by)
    shown = {
        metric: [
            line.strip()
            for line in failure_text(judge(row_of(Bar(min=1.0), metric), run, today=TODAY), run).splitlines()
            if line.startswith("  judge ")
        ]
        for metric in ("correctness", "truthful", "mc1")
    }
    assert shown == {
        "correctness": ["judge     openai:j (api), correctness"],
        "truthful": ["judge     similarity"],
        "mc1": [],
    }
