"""The HTML report as a file: what stands in it, that nothing in a record can act on it, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.comparison.compared import before_and_now, c19
from tests.report.hostile import INVISIBLE, harmless, hostile
from tests.report.pages import (
    CREATED,
    JUDGE,
    question,
    questions_run,
    record,
    row,
    rows_of,
    with_texts,
    without_texts,
)
from tests.thresholds.made import row_of
from truthguard import UsageError
from truthguard.comparison import compare_all
from truthguard.records import Bar, ItemScores, Row, RowResult
from truthguard.report.html import NamedRecord, html_report, missing_extra, record_of
from truthguard.store.record import make_record
from truthguard.thresholds.gate import judge

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """A page taken apart: its elements in order, the text of each, and the contents of script, style and template."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style", "template"):
            self.inside.setdefault(self._open[-1], []).append(data)
        else:
            self.texts.append(data)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self) -> dict[str, Any]:
        """The questions that travel in the page."""
        (packed,) = self.inside["template"]
        found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
        return found


@pytest.fixture(scope="module")
def pair() -> list[NamedRecord]:
    return [record("candidate.json", 60, shift=-4.0), record("released.json", 60)]


def one(items: list[ItemScores], rows: list[RowResult] | None = None) -> NamedRecord:
    run = questions_run(items)
    return NamedRecord("made.json", make_record([] if rows is None else rows, [run], CREATED))


def test_the_first_screen_says_what_a_release_manager_asks(pair: list[NamedRecord]) -> None:
    """Verdict, model, judge and its trust, baseline, what failed and by how much stand before the first picture."""
    page = html_report(pair, trust="agrees with people on 86 % of 1,204 answers")
    top = Page(page[: page.index("<nav")] + "</body></html>").text
    assert "Failed" in top
    assert "package:small/model-135M.gguf (bfloat16, cpu)" in top
    assert "openai:some-judge (rubric)" in top
    assert "agrees with people on 86 % of 1,204 answers" in top
    assert "released.json" in top
    assert "0.1667 below" in top
    assert "could not be measured" in top


def test_a_record_that_passed_names_the_bars_nearest_to_failing() -> None:
    """Without a failure the first screen says what was near to one."""
    run = questions_run([question(place, random.Random(place)) for place in range(30)])
    rows = [row(run, "truthful", Bar(min=0.1)), row(run, "mc2_mass", Bar(min=0.05))]
    text = Page(html_report([NamedRecord("ok.json", make_record(rows, [run], CREATED))])).text
    assert "Passed Of 2 bars 2 passed." in text
    assert "Nearest to failing" in text
    assert "to spare" in text


def test_more_failures_than_the_first_screen_has_room_for_are_folded_not_lost() -> None:
    """Every failed row is in the page, the rest of them behind one line."""
    run = questions_run([question(place, random.Random(place)) for place in range(12)])
    rows = [replace(each, row=replace(each.row, id=f"{each.row.id}{n}")) for n in range(3) for each in rows_of(run)]
    text = Page(html_report([NamedRecord("bad.json", make_record(rows, [run], CREATED))])).text
    failed = sum(each.verdict in ("fail", "error") for each in rows)
    assert failed > 8
    assert f"{failed - 8} more" in text


def test_nothing_runs_or_loads_but_what_the_policy_names(pair: list[NamedRecord]) -> None:
    """One script and one style, both named by their digest; no handlers, no inline styles, nothing fetched."""
    page = Page(html_report(pair))
    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        (text,) = page.inside[tag]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert page.tags.count(tag) == 1
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "style" not in attributes
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")


def test_every_id_is_there_once_and_every_reference_has_its_target(pair: list[NamedRecord]) -> None:
    """Charts share a page: their ids, and those of headings, never meet."""
    page = Page(html_report([*pair, record("oldest.json", 60, seed=2)]))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("href", "aria-labelledby"):
            if name in attributes:
                assert (attributes[name] or "").removeprefix("#") in ids
        if "clip-path" in attributes:
            assert (attributes["clip-path"] or "").removeprefix("url(#").removesuffix(")") in ids


def test_colours_of_charts_are_the_pages(pair: list[NamedRecord]) -> None:
    """No colour of matplotlib's is left: dark and light decide."""
    for tag, attributes in Page(html_report(pair)).elements:
        for name in ("fill", "stroke"):
            assert attributes.get(name, "none") == "none", (tag, attributes)


def test_the_same_records_make_the_same_bytes(pair: list[NamedRecord]) -> None:
    """A page can be compared with another by its digest."""
    records = [*pair, record("oldest.json", 60, seed=2)]
    assert html_report(records) == html_report(records)


def test_pictures_say_in_words_what_they_show(pair: list[NamedRecord]) -> None:
    """Each chart has a label with its numbers, for who does not see it."""
    charts = [attributes for tag, attributes in Page(html_report(pair)).elements if tag == "svg"]
    assert charts
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in charts)
    assert any("mc1 0.2333 fails" in (attributes["aria-label"] or "") for attributes in charts)


def test_every_section_is_there(pair: list[NamedRecord]) -> None:
    """Scores, categories, baseline, answers, the judge, records over time, questions."""
    page = Page(html_report([*pair, record("oldest.json", 60, seed=2)]))
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    expected = ["scores", "categories", "comparison", "answers", "agreement", "history", "questions", "notes"]
    assert sections == expected


def test_a_section_without_anything_to_show_is_left_out() -> None:
    """A record of one multiple-choice run has no judge, no baseline and no history."""
    items = [
        replace(item, values={"mc1": item.values["mc1"]}, reasons={}, samples=(), answer=None)
        for item in (question(place, random.Random(place)) for place in range(20))
    ]
    run = replace(questions_run(items), judge=None)
    page = Page(html_report([NamedRecord("plain", make_record([row(run, "mc1", Bar(min=0.0))], [run], CREATED))]))
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert sections == ["scores", "categories", "questions", "notes"]
    assert "none: nothing is judged" in page.text


def test_the_questions_carry_all_that_is_known_of_them(pair: list[NamedRecord]) -> None:
    """Choices with their numbers, the answer, each sample with its explanation, now and before."""
    candidate, released = (named.record.runs[0] for named in pair)
    run = Page(html_report(pair)).data["runs"][0]
    assert [measure["name"] for measure in run["measures"]][:3] == ["mc1", "mc2", "mc2_mass"]
    shown, item, before = run["items"][0], candidate.items[0], released.items[0]
    assert shown["question"] == item.question
    assert shown["answer"] == item.answer
    assert [choice[0] for choice in shown["choices"]] == [choice.text for choice in item.choices]
    assert shown["choices"][0][3] == pytest.approx(item.choices[0].log_likelihood, abs=1e-4)
    assert shown["choices"][0][6] == pytest.approx(before.choices[0].log_likelihood, abs=1e-4)
    assert [sample[5] for sample in shown["samples"]] == [sample.explanation for sample in item.samples]
    value, _, _, was, _ = shown["seen"][2]
    assert (value, was) == pytest.approx((item.values["mc2_mass"], before.values["mc2_mass"]), abs=1e-6)


def test_817_questions_with_answers_and_samples_stay_below_3_megabytes() -> None:
    """Five metrics, answers of 200 characters, five samples of 300, and a baseline with as much."""
    made = []
    for name, shift in (("now", -1.0), ("then", 0.0)):
        items = [
            question(place, random.Random(place), shift, answer=200, length=300 if name == "now" else 299)
            for place in range(817)
        ]
        made.append(one(items, rows_of(questions_run(items))))
    assert len(html_report(made).encode()) < 3_000_000


def test_random_letters_instead_of_words_stay_below_3_megabytes() -> None:
    """The bound does not rest on how well made-up sentences deflate."""
    rng = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz     "
    items = []
    for place in range(817):
        item = question(place, rng, answer=200, length=300)
        said = tuple(replace(sample, explanation="".join(rng.choices(letters, k=300))) for sample in item.samples)
        items.append(replace(item, answer="".join(rng.choices(letters, k=200)), samples=said))
    assert len(html_report([one(items)]).encode()) < 3_000_000


def test_a_baseline_without_texts_is_compared_by_its_values(pair: list[NamedRecord]) -> None:
    """The reviewable file has ids and values only: the page shows the candidate's texts beside them."""
    with_words, without = (Page(html_report([pair[0], each])) for each in (pair[1], without_texts(pair[1])))
    assert "Since the baseline" in without.text
    shown = without.data["runs"][0]["items"][0]
    assert shown["seen"] == with_words.data["runs"][0]["items"][0]["seen"]
    assert shown["choices"][0][6] is None
    assert "samples_before" not in shown


def test_a_record_without_texts_can_be_shown_itself(pair: list[NamedRecord]) -> None:
    """Its questions go by their ids."""
    page = Page(html_report([without_texts(pair[1])]))
    assert page.data["runs"][0]["items"][0]["id"] == "own-0000"


def test_questions_that_one_side_lacks_are_listed_and_said() -> None:
    """What only the baseline has stands in the table too, and the digest that differs is a warning."""
    now, then = record("now", 20, with_judge_sets=False), record("then", 24, with_judge_sets=False)
    (run,) = then.record.runs
    then = replace(then, record=replace(then.record, runs=(replace(run, data_sha256="e" * 64),)))
    page = Page(html_report([now, then]))
    assert "0 only here, 4 only in the baseline" in page.text
    gone = page.data["runs"][0]["items"][20:]
    assert [item["id"] for item in gone] == [f"own-{place:04d}" for place in range(20, 24)]
    assert gone[0]["seen"][0][4] == "only in the baseline"


def test_another_judge_is_a_warning(pair: list[NamedRecord]) -> None:
    """Judged numbers of two judges do not compare."""
    first, *others = pair[1].record.runs
    other = replace(pair[1].record, runs=(replace(first, judge=replace(JUDGE, prompt_digest="new")), *others))
    text = Page(html_report([pair[0], replace(pair[1], record=other)])).text
    assert "the judge is not the same" in text
    assert "the judge's prompt changed from 'new' to '9ab1'" in text


def test_hostile_text_in_every_field_changes_no_element(pair: list[NamedRecord]) -> None:
    """Markup, control characters, long words: the same list of elements as for harmless text."""
    records = [*pair, record("oldest.json", 60, seed=2)]
    plain = Page(html_report([with_texts(each, harmless) for each in records], trust=harmless("known")))
    attacked = Page(html_report([with_texts(each, hostile) for each in records], trust=hostile("known")))
    assert attacked.tags == plain.tags
    names = [(tag, sorted(attributes)) for tag, attributes in plain.elements]
    assert [(tag, sorted(attributes)) for tag, attributes in attacked.elements] == names
    assert attacked.inside["script"] == plain.inside["script"]


def test_what_hides_or_acts_is_made_visible(pair: list[NamedRecord]) -> None:
    """No control, bidirectional or zero-width character and no lone surrogate is left, in the page or its data."""
    attacked = html_report([with_texts(each, hostile) for each in pair])
    data = json.dumps(Page(attacked).data, ensure_ascii=False)
    for character in INVISIBLE:
        assert character not in attacked
        assert character not in data
    assert "\\\\u202e" in data
    assert "\\\\x1b[31m" in data


def test_a_record_of_another_hand_is_shown_as_far_as_it_goes() -> None:
    """Unknown metrics, values out of range or not finite, a bar that is no number: a page, not an error."""
    items = [
        replace(
            question(0, random.Random(0)), values={"mc1": 7.0, "mc2_mass": float("inf"), "new": 0.5, "truthful": 3.0}
        ),
        replace(question(1, random.Random(1)), values={"mc1": 1.0, "mc2_mass": float("nan"), "informative": 1.0}),
    ]
    made = one(items)
    strange = make_record([RowResult(Row("faq[new]", "faq", "new", 1), None, "pass")], [], CREATED).rows[0]
    bar = {"min": "high", "max": float("nan"), "max_drop": 0.02}
    rows = (replace(strange, bar=bar, estimate=float("nan"), n=2), replace(strange, benchmark="absent"))
    page = Page(html_report([replace(made, record=replace(made.record, rows=rows))]))
    assert "max_drop 0.02" in page.text
    assert "min high" in page.text
    assert page.data["runs"][0]["items"][0]["seen"][2][:2] == [None, "unscored"]


def test_an_empty_record_is_a_page_that_says_so() -> None:
    """No rows and no runs."""
    assert "The record has no rows." in Page(html_report([NamedRecord("empty", make_record([], [], CREATED))])).text


def test_no_record_is_refused() -> None:
    """There is nothing to show."""
    with pytest.raises(ValueError, match="a report needs a record"):
        html_report([])


def test_a_missing_extra_is_said_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib and jinja2 are optional."""
    monkeypatch.setattr("truthguard.report.html.page.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'matplotlib and jinja2: pip install "truthguard\[report\]"'):
        html_report([NamedRecord("empty", make_record([], [], CREATED))])
    monkeypatch.setattr("truthguard.report.html.page.find_spec", lambda name: name != "jinja2" or None)
    assert missing_extra() == 'an HTML report needs jinja2: pip install "truthguard[report]"'


def test_importing_the_report_loads_no_optional_package() -> None:
    """A session that writes no page pays nothing for it."""
    code = "import sys, truthguard.report.html; print({'matplotlib', 'jinja2', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_a_correlation_is_compared_by_its_rows(pair: list[NamedRecord]) -> None:
    """What is no mean over questions has a step of its own beside the baseline's."""
    row_before = next(each for each in pair[1].record.rows if each.metric == "pearson")
    assert row_before.estimate is not None
    lower = replace(row_before, estimate=row_before.estimate - 0.2)
    rows = tuple(lower if each is row_before else each for each in pair[1].record.rows)
    released = replace(pair[1], record=replace(pair[1].record, rows=rows))
    labels = [attributes.get("aria-label") or "" for _, attributes in Page(html_report([pair[0], released])).elements]
    assert any(
        f"pearson (openai:some-judge) {lower.estimate:.4f} to {row_before.estimate:.4f}" in label for label in labels
    )


def compared(before: Sequence[float | None], now: Sequence[float | None], **limits: Any) -> list[NamedRecord]:
    """A record whose row was compared with a baseline, and the baseline."""
    baseline, run = before_and_now(before, now)
    row = row_of(**limits)
    result = judge(row, run, today=CREATED.date(), drops=compare_all(row, run, [baseline]))
    return [NamedRecord("now.json", make_record([result], [run], CREATED)), record_of(baseline)]


def test_a_drop_beyond_its_bar_is_what_failed() -> None:
    """C19 on the first screen and in the baseline's section: how much, how sure, on how many questions."""
    page = html_report(compared(*c19(), max_drop=0.0))
    top = Page(page[: page.index("<nav")] + "</body></html>").text
    assert "0.0600 lower than base.json" in top
    assert "max_drop 0.0" in top
    section = Page(page).text.partition("How much lower each row is")[2].partition("Baseline and now")[0]
    for words in (
        "0.0600",
        "[0.0179, 0.1090]",
        "0.00365 that it is above 0",
        "McNemar",
        "16 worse, 4 better",
        "beyond the bar",
    ):
        assert words in section


def test_an_improvement_is_said_as_one() -> None:
    """The mirror image of C19; without a bar, too."""
    before, now = c19()
    for limits in ({"max_drop": 0.0}, {}):
        text = Page(html_report(compared(now, before, **limits))).text
        assert "−0.0600" in text
        assert "improved" in text
        assert "lower than" not in text


def test_what_no_test_has_shown_is_undecided() -> None:
    """Neither failed nor within the bar."""
    text = Page(html_report(compared([1.0, 0.0, 1.0], [1.0, 0.0, 1.0], max_drop=0.1))).text
    assert "undecided" in text


def test_a_comparison_is_shown_without_the_baseline_itself() -> None:
    """The record keeps it: its section is there with the table alone."""
    text = Page(html_report(compared(*c19(), max_drop=0.0)[:1])).text
    assert "Since the baseline How much lower each row is" in text
    assert "16 worse, 4 better" in text
