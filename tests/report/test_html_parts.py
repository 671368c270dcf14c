"""The parts of the HTML report: what a question comes to, what a judge chose, how a chart becomes the page's own."""

from __future__ import annotations

import doctest
from dataclasses import replace
from importlib import import_module
from typing import Literal
from xml.etree import ElementTree

import pytest

from tests.report.hostile import HOSTILE
from tests.report.pages import judge_run, questions_run
from truthguard.records import Bar, ItemScores, Missing, Row, RowResult, Sample, ScoredChoice
from truthguard.report.html import figures
from truthguard.report.html.judged import choice_of, grade_pairs, label_confusion, pair_confusion
from truthguard.report.html.measures import Measure, changed, measures, seen
from truthguard.report.html.pairing import Pairing, incomparable, moves
from truthguard.report.html.restored import known, other_keys
from truthguard.report.html.sheet import Sheet, colour, dots, house_style
from truthguard.report.html.writing import block
from truthguard.text import visible


def measure(name: str, bar: Bar = Bar(), **bars: Bar) -> Measure:  # noqa: B008 - frozen
    of: dict[str | None, Bar] = {None: bar}
    return Measure(name, name, known(name), of | dict(bars.items()))


def item(values: dict[str, float | None], **more: object) -> ItemScores:
    made = ItemScores("i1", "Law", "Q?", values)
    return replace(made, **more)  # type: ignore[arg-type]


def choice(log: float, *, true: bool = False, text: str = "word", tokens: int = 2) -> ScoredChoice:
    return ScoredChoice(text, true, True, log, tokens)


# What a question comes to


def test_a_question_right_or_wrong_has_the_lead_of_its_best_answer_for_margin() -> None:
    """mc1: nats between the best answer and the strongest other one."""
    choices = (choice(-8.0, true=True), choice(-10.0), choice(-9.0))
    found = seen(measure("mc1"), item({"mc1": 1.0}, choices=choices))
    assert found is not None
    assert (found.value, found.verdict, found.margin) == (1.0, "pass", 1.0)


def test_a_normalised_metric_has_a_normalised_margin() -> None:
    """mc1_per_token divides before it compares; without tokens there is no margin."""
    choices = (choice(-8.0, true=True), choice(-10.0, tokens=5))
    found = seen(measure("mc1_per_token"), item({"mc1_per_token": 0.0}, choices=choices))
    assert found is not None
    assert found.margin == -2.0
    none = (choice(-8.0, true=True, tokens=0), choice(-10.0))
    found = seen(measure("mc1_per_token"), item({"mc1_per_token": 0.0}, choices=none))
    assert found is not None
    assert found.margin is None


def test_impossible_choices_leave_no_margin() -> None:
    """Two log-likelihoods of -inf are no distance apart that has a number."""
    choices = (choice(float("-inf"), true=True), choice(float("-inf")))
    found = seen(measure("mc1"), item({"mc1": 0.0}, choices=choices))
    assert found is not None
    assert found.margin is None


def test_the_nearest_bar_decides() -> None:
    """The item's own, else its category's, else that of all."""
    one = item({"mc3": 0.4})
    whole, category, own = Bar(min=0.1), Bar(min=0.3), Bar(min=0.5)
    for bars, margin in (({}, 0.3), ({"Law": category}, 0.1), ({"Law": category, "i1": own}, -0.1)):
        found = seen(measure("mc3", whole, **bars), one)
        assert found is not None
        assert found.margin == pytest.approx(margin)
        assert found.verdict == ("fail" if margin < 0 else "pass")


def test_what_has_no_value_is_unscored_left_out_or_none_of_the_metrics() -> None:
    """Never a fail."""
    unscored = seen(measure("mc3"), item({"mc3": None}, reasons={"mc3": Missing("nan", "")}))
    left_out = seen(measure("without_ties"), item({}, reasons={"without_ties": Missing("tie", "")}))
    assert unscored is not None
    assert left_out is not None
    assert (unscored.verdict, left_out.verdict) == ("unscored", "left out")
    assert seen(measure("mc3"), item({})) is None
    no_bar = seen(measure("mc2_mass"), item({"mc2_mass": 0.1}))
    assert no_bar is not None
    assert no_bar.verdict == "no bar"


@pytest.mark.parametrize(
    ("name", "bar", "before", "now", "expected"),
    [
        ("mc1", Bar(min=0.2), 1.0, 0.0, "worse"),
        ("mc1", Bar(min=0.2), 0.0, 1.0, "better"),
        ("mc2", Bar(), -0.5, -0.5 + 1e-12, "same"),
        ("position_bias", Bar(), 0.0, 1.0, "worse"),
        ("flipped", Bar(max=0.1), 1.0, 0.0, "better"),
        ("correctness", Bar(), 0.8, None, "worse"),
        ("correctness", Bar(), None, 0.2, "better"),
        ("correctness", Bar(), None, None, "same"),
    ],
)
def test_a_change_has_the_direction_of_its_metric(
    name: str, bar: Bar, before: float | None, now: float | None, expected: str
) -> None:
    """More is better, but where 1 is a fault; a value that went missing is worse."""
    by, found = measure(name, bar), item({name: now}, reasons={name: Missing("length", "")} if now is None else {})
    change = changed(by, seen(by, found), found, item({name: before}))
    assert change is not None
    assert (change.before, change.change) == (before, expected)


def test_a_grade_is_better_the_nearer_it_is_to_the_references() -> None:
    """Neither strict nor lenient is good by itself."""
    by = measure("grade")
    now, before = item({"grade": 4.0, "reference": 3.0}), item({"grade": 1.0, "reference": 3.0})
    found = changed(by, seen(by, now), now, before)
    assert found is not None
    assert (found.margin, found.change) == (-1.0, "better")


def test_metrics_with_rows_come_first_and_columns_of_statistics_not_at_all() -> None:
    """The table offers what has a value for each question."""
    run = questions_run([item({"mc2": 0.1, "mc1": 1.0, "letter_bias": 0.0, "grade_run1": 2.0, "grade": 2.0})])
    rows = [RowResult(Row("x", run.benchmark, "mc1", 1, Bar(min=0.2)), None, "pass")]
    found = measures(run, rows)
    assert [each.name for each in found] == ["mc1", "mc2", "grade"]
    assert found[0].bar_text == "min 0.2"


# Before and after


def test_pairs_are_of_questions_that_both_scored() -> None:
    """By id, whatever the order; counted both ways."""
    now = questions_run([ItemScores(f"i{n}", "", "", {"mc1": value}) for n, value in enumerate((1.0, 0.0, 1.0, None))])
    then = questions_run(
        [ItemScores(f"i{n}", "", "", {"mc1": value}) for n, value in ((2, 0.0), (1, 1.0), (0, 1.0), (3, 1.0), (9, 1.0))]
    )
    pairing = Pairing(now, then)
    (moved,) = moves(pairing, [measure("mc1")])
    assert (moved.better, moved.worse, moved.good_in_both) == (1, 1, 1)
    assert [moved.before, moved.after] == pytest.approx([2 / 3, 2 / 3])
    assert [gone.id for gone in pairing.only_before] == ["i9"]


def test_what_must_not_differ_is_a_warning() -> None:
    """Model and prompt are what is compared; questions must be the same."""
    now = questions_run([item({"mc1": 1.0})])
    assert now.model is not None
    other = replace(now, model=replace(now.model, dtype="bfloat16"), settings={**now.settings, "prompt": "help"})
    assert incomparable(Pairing(now, other)) == ()
    assert len(incomparable(Pairing(now, replace(other, data_sha256="e")))) == 1


# What a judge chose


def chosen(*verdicts: tuple[Literal["a", "b", "tie"], str]) -> tuple[Sample, ...]:
    return tuple(Sample(0, 0, verdict, verdict, "", "stop", shown) for verdict, shown in verdicts)


def given(*grades: tuple[int, str, int]) -> tuple[Sample, ...]:
    return tuple(Sample(run, 0, str(grade), "grade", "", "stop", which) for run, which, grade in grades)


def test_a_choice_is_told_in_the_letters_of_the_responses() -> None:
    """What was shown as A may have been the second one."""
    assert choice_of(chosen(("a", "second")), is_tie=False) == "b"
    assert choice_of(chosen(("a", "first"), ("b", "second")), is_tie=False) == "a"
    assert choice_of(chosen(("a", "first"), ("a", "second")), is_tie=False) == "tie"
    assert choice_of((), is_tie=False) is None


def test_grades_choose_by_the_first_run_that_decides() -> None:
    """Equal grades go on to the next run, unless people call the pair a tie."""
    grades = given((0, "first", 3), (0, "second", 3), (1, "first", 2), (1, "second", 5))
    assert choice_of(grades, is_tie=False) == "b"
    assert choice_of(grades, is_tie=True) == "tie"


def test_pairs_are_counted_by_what_people_choose() -> None:
    """The same, a tie, the other one: whichever response was called the first."""
    tie = {"without_ties": Missing("tie", "people call it a tie")}
    items = [
        item({"with_ties": 1.0, "without_ties": 1.0}, samples=chosen(("a", "first"))),
        item({"with_ties": 0.0, "without_ties": 0.0}, samples=chosen(("b", "first"))),
        item({"with_ties": 0.0, "without_ties": 0.0}, samples=chosen(("tie", "first"))),
        item({"with_ties": 1.0}, reasons=tie, samples=chosen(("tie", "first"))),
        item({"with_ties": 0.0}, reasons=tie, samples=chosen(("a", "first"))),
        item({"with_ties": None, "without_ties": None}),
    ]
    table = pair_confusion(items)
    assert table is not None
    assert table.counts == ((1, 1, 1), (0, 1, 1))
    assert pair_confusion(items[-1:]) is None


def test_verdicts_are_counted_by_label() -> None:
    """Only what the judge read."""
    values = [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (None, 1.0)]
    table = label_confusion([item({"verdict": verdict, "label": label}) for verdict, label in values])
    assert table is not None
    assert table.counts == ((1, 0), (1, 1))
    assert label_confusion([]) is None
    assert grade_pairs([item({"grade": 4.0, "reference": 5.0}), item({"grade": None, "reference": 1.0})]) == [
        (5.0, 4.0)
    ]


def test_the_agreement_of_each_kind_of_set_is_drawn() -> None:
    """Grades for graded responses, verdicts for labelled answers; nothing for a model's own questions."""
    direct = judge_run([item({"grade": 4.0, "reference": 4.0})], "direct", "grading")
    labelled = replace(
        judge_run([item({"verdict": 1.0, "label": 0.0})], "direct", "truthful_judge"), kind="truthful_judge"
    )
    with house_style():
        (grades,) = figures.agreement(direct, "a")
        (verdicts,) = figures.agreement(labelled, "b")
        assert figures.agreement(questions_run([item({"mc1": 1.0})]), "c") == ()
    assert grades.title == "Grades · grading"
    assert verdicts.caption == "the judge agrees on 0 of 1 (0.0%)"


def test_a_bar_keeps_what_this_version_does_not_know() -> None:
    """As text, so that nothing of the bar is left unsaid."""
    recorded = {"min": 0.2, "max": "much", "block_on": "proof", "max_drop": 0, "drop_block_on": "never", "newer": 0.02}
    assert other_keys(recorded) == ["max much", "drop_block_on never", "newer 0.02"]


# Charts


def drawn(words: str) -> ElementTree.Element:
    with house_style():
        sheet = Sheet("c", 40)
        axes = sheet.axes((0.0, 0.0, 300.0, 40.0), (0.0, 1.0), (0.0, 1.0))
        axes.barh([0.5], [0.5], color=colour("good"))
        dots(axes, [(0.2, 0.5), (0.4, 0.5)], "bad", size=5.0)
        sheet.words(axes, (0.5, 0.5), words, "muted")
        return ElementTree.fromstring(sheet.svg(words))


@pytest.mark.parametrize("words", HOSTILE)
def test_words_of_a_record_are_text_in_a_chart(words: str) -> None:
    """No mathematics, no markup, no font that lacks a letter: the same elements, the very words."""
    shown = visible(words, 500)
    svg = drawn(shown)
    assert [element.tag for element in svg.iter()] == [element.tag for element in drawn("plain").iter()]
    assert [element.text for element in svg.iter("text")] == [shown]


def test_a_chart_has_classes_instead_of_styles() -> None:
    """The page's style sheet fills it; ids are its own."""
    svg = drawn("x")
    classes = {name for element in svg.iter() for name in element.get("class", "").split()}
    assert classes == {"chart", "fill-good", "fill-bad", "fill-muted"}
    assert not [element for element in svg.iter() if "style" in element.attrib]
    assert all(element.get("id", "c-0").startswith("c-") for element in svg.iter())


def test_lines_of_a_text_stay_lines() -> None:
    """A judge's explanation has paragraphs; everything else that cannot be seen is shown."""
    assert block("one\r\n\ntwo\tthree\u202e") == "one\n\ntwo\\tthree\\u202e"


def test_examples_in_docstrings() -> None:
    """The examples are true."""
    for name in ("writing", "measures", "restored", "judged"):
        assert doctest.testmod(import_module(f"truthguard.report.html.{name}")).failed == 0
