"""Rows beside their baselines on the HTML page: what each comparison comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.pages import baseline_of, beside, record, with_texts
from tests.report.test_drop_lines import DROP, compared
from truthguard.records import BlockOn, Drop, RowResult, Verdict
from truthguard.report.html import html_report
from truthguard.report.html.drops import DropView, drop_views, missed_drop

IMPROVED = replace(
    DROP, estimate=-0.06, low=-0.109, high=-0.0179, p_greater=0.99635, p_less=0.00365, p_improved=0.00365
)
CHANCE = replace(DROP, estimate=0.01, p_greater=0.4, p_less=0.6, p_improved=0.6)


def held(drop: Drop, max_drop: float | None, block_on: BlockOn = "proof", verdict: Verdict = "fail") -> RowResult:
    made = compared(drop, max_drop=max_drop)
    return replace(made, row=replace(made.row, drop_block_on=block_on), verdict=verdict)


def view(result: RowResult) -> DropView:
    (found,) = drop_views([(result, None)])
    return found


@pytest.mark.parametrize(
    ("result", "standing", "kind"),
    [
        (held(DROP, 0.0), "beyond the bar", "fail"),
        (held(DROP, 0.0, verdict="waived"), "beyond the bar", "waived"),
        (held(DROP, 0.05, "estimate"), "beyond the bar", "fail"),
        (held(replace(DROP, estimate=0.05), 0.05, "estimate"), "within the bar", "pass"),
        (held(IMPROVED, 0.0), "improved", "pass"),
        (held(IMPROVED, None), "improved", "pass"),
        (held(CHANCE, 0.0), "undecided", "open"),
        (held(CHANCE, 0.0, "doubt"), "undecided", "fail"),
        (held(replace(CHANCE, p_less=0.01), 0.05, "doubt"), "within the bar", "pass"),
        (held(DROP, None), "no bar", "open"),
    ],
)
def test_each_comparison_has_an_outcome(result: RowResult, standing: str, kind: str) -> None:
    """By the number, by proof, by doubt; waived, improved, or without a bar."""
    found = view(result)
    assert (found.standing, found.kind) == (standing, kind)


def test_a_drop_has_its_numbers_and_its_bar() -> None:
    """Drop, interval, p of what the bar asks, items, pairs, McNemar and power."""
    found = view(held(DROP, 0.02))
    assert (found.drop, found.interval, found.bar) == ("+0.0600", "[0.0179, 0.1090]", "0.02")
    assert found.p == "0.00365 that it is above 0.02"
    assert found.items == "16 worse, 4 better"
    assert found.note == (
        "beside last.json, n = 200; exact McNemar p = 0.0118; could show a drop of 0.0747 with 80 % power"
    )


def test_an_improvement_has_the_p_of_an_improvement() -> None:
    """Not that of a drop, which is near 1."""
    found = view(held(IMPROVED, 0.0))
    assert (found.drop, found.p) == ("−0.0600", "0.00365 that it improved")


def test_without_a_test_the_reason_stands_in_its_place() -> None:
    """One prompt is no sample."""
    untested = replace(DROP, low=None, high=None, p_greater=None, p_less=None, p_improved=None, untested="one cluster")
    found = view(held(untested, 0.0, "estimate"))
    assert (found.interval, found.p) == ("–", "one cluster")


def test_a_refused_comparison_is_a_line_of_its_own() -> None:
    """Beside one baseline a drop, beside the other the reason why there is none."""
    reason = "max_drop: not comparable with anchor.json: the data changed"
    error = replace(held(DROP, 0.05, verdict="error"), reason=reason)
    drop, refused = drop_views([(error, None)])
    assert drop.drop == "+0.0600"
    assert (refused.drop, refused.note, refused.standing, refused.kind) == ("–", reason, "not compared", "error")


def test_an_error_of_a_row_without_max_drop_is_no_comparison() -> None:
    """It was not to be compared."""
    assert drop_views([(replace(held(DROP, None, verdict="error"), drops=()), None)]) == ()


def test_categories_without_a_word_are_folded() -> None:
    """Those that got worse beyond their bar or improved are not, nor is any whole row."""
    of_one = [replace(each, row=replace(each.row, category="Law")) for each in (held(CHANCE, 0.0), held(DROP, 0.0))]
    of_one.append(replace(of_one[0], drops=(IMPROVED,)))
    views = drop_views([(each, None) for each in (held(CHANCE, 0.0), *of_one)])
    assert [each.minor for each in views] == [False, True, False, False]


def test_the_furthest_drop_is_the_one_that_is_missed_by() -> None:
    """Of two baselines; none where both hold."""
    far = replace(DROP, baseline="anchor.json", estimate=0.08)
    made = held(DROP, 0.0)
    assert missed_drop(replace(made, drops=(DROP, far))) == far
    assert missed_drop(held(IMPROVED, 0.0)) is None
    assert missed_drop(held(DROP, None)) is None


def test_the_page_shows_what_a_gate_made_of_a_baseline() -> None:
    """A record held against a baseline: lower than it may be, and a benchmark that the baseline lacks."""
    before = record("released.json", 60)
    now = beside(record("candidate.json", 60, shift=-4.0), before)
    assert "choosing" not in baseline_of(before).runs
    page = html_report([now, before])
    section = page[page.index('<section id="comparison"') : page.index('<section id="answers"')]
    for words in ("beside released.json, n = 60", "beyond the bar", "not compared", "released.json has no choosing"):
        assert words in section


def test_words_of_a_baseline_are_text() -> None:
    """Its name, the ids that only it has, the reason of a refusal."""
    before = record("released.json", 60)
    now = beside(record("candidate.json", 60, shift=-4.0), before)
    attack = "<script>window.owned = 1</script>"
    page = html_report([with_texts(now, lambda text: text and text + attack), before])
    section = page[page.index('<section id="comparison"') : page.index('<section id="answers"')]
    assert attack not in section
    assert "released.json&lt;script&gt;" in section
