"""The HTML report in a browser: it works from disk without a network, by keyboard, on a phone, under attack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.report.hostile import harmless, hostile
from tests.report.pages import beside, less_truthful, record, with_texts, without_texts
from truthguard.report.html import NamedRecord, html_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

    Theme = Literal["light", "dark"]

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

WIDE, NARROW = 1280, 390


@dataclass
class Opened:
    """A page that was opened from disk, and all that it complained about or asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def assert_quiet(self) -> None:
        assert self.complaints == []
        assert self.requests == []

    def rows(self) -> list[str]:
        return self.page.locator("#items .open").all_inner_texts()

    def count(self) -> str:
        return self.page.locator("#count").inner_text()


@dataclass
class Opener:
    """Opens pages without a network, and records what a strict page must not do."""

    browser: Browser
    folder: Path

    def __call__(self, html: str, width: int = WIDE, theme: Theme = "light") -> Opened:
        file = self.folder / f"page{len(list(self.folder.iterdir()))}.html"
        file.write_text(html, encoding="utf-8")
        context = self.browser.new_context(
            viewport={"width": width, "height": 844 if width == NARROW else 900},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        context.set_offline(True)
        opened = Opened(context.new_page())

        def refuse(route: Route) -> None:
            opened.requests.append(route.request.url)
            route.abort()

        context.route(re.compile(r"^(?!file:)"), refuse)
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.add_init_script(
            "document.addEventListener('securitypolicyviolation', (event) => console.error('CSP ' + event.blockedURI))"
        )
        opened.page.goto(file.as_uri())
        opened.page.locator("html[data-ready='yes']").wait_for()
        return opened


@pytest.fixture
def opener(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    folder = tmp_path / "pages"
    folder.mkdir()
    before = list(browser.contexts)
    yield Opener(browser, folder)
    for context in browser.contexts:
        if context not in before:
            context.close()


@pytest.fixture(scope="module")
def records() -> list[NamedRecord]:
    return [
        record("release-2.4-candidate.json", shift=-4.0),
        record("release-2.3.json"),
        record("release-2.2.json", shift=3.0),
        record("release-2.1.json", seed=2),
    ]


@pytest.fixture(scope="module")
def html(records: list[NamedRecord]) -> str:
    before = less_truthful(records[1])
    held = [beside(records[0], before), before, *records[2:]]
    return html_report(held, trust="agrees with people on 86.1 % of 1,204 answers; measured on 2026-03-02")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_opens_from_disk_without_a_network(
    opener: Opener, html: str, screenshots: Path, width: int, theme: Theme
) -> None:
    """No request, no console message, no violation of the policy, no sideways scrolling; pictures are kept."""
    opened = opener(html, width, theme)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(path=screenshots / f"{width}-{theme}-1-first-screen.png")
    page.locator("#items .open").first.click()
    page.locator(".detail").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # A bar that follows the reader would lie across a picture of the whole page.
    page.evaluate("document.querySelector('nav').style.position = 'static'")
    for place, section in enumerate(page.locator("section").all(), 2):
        name = section.get_attribute("id")
        if name != "questions":
            section.screenshot(path=screenshots / f"{width}-{theme}-{place}-{name}.png")
    page.locator("#questions").scroll_into_view_if_needed()
    page.locator("#questions").evaluate("element => element.scrollIntoView()")
    page.screenshot(path=screenshots / f"{width}-{theme}-9-questions.png")
    opened.assert_quiet()


def test_what_failed_has_room_for_its_name(opener: Opener, html: str) -> None:
    """On a phone the name of a row keeps half of its line, however long its bars and the baseline's name are."""
    page = opener(html, NARROW).page
    widths = page.evaluate(
        "[...document.querySelectorAll('.worst li')].map((each) => ["
        "each.querySelector('.what').clientWidth, each.querySelector('.against').scrollWidth, each.clientWidth])"
    )
    assert len(widths) == 8
    for name, bar, whole in widths:
        assert name > 0.4 * whole
        assert bar < 0.5 * whole


def test_light_and_dark_differ(opener: Opener, html: str) -> None:
    """The page follows the reader's scheme, charts included."""
    colours = []
    for theme in ("light", "dark"):
        page = opener(html, theme=theme).page
        body = page.locator("body").evaluate("element => getComputedStyle(element).backgroundColor")
        text = page.locator(".chart text").first.evaluate("element => getComputedStyle(element).fill")
        colours.append((body, text))
    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1]


def test_search_looks_into_questions_answers_and_explanations(
    opener: Opener, html: str, records: list[NamedRecord]
) -> None:
    """A word of any of them finds its question, and the filter is cleared by one button."""
    opened = opener(html)
    item = records[0].record.runs[0].items[7]
    for needle in (item.question, item.answer or "", item.samples[0].explanation, item.choices[1].text, item.id):
        opened.page.locator("#search").fill(needle.upper())
        assert item.question in opened.rows()
    opened.page.locator("#search").fill("no such words anywhere")
    assert opened.count() == "No question is left: clear a filter"
    opened.page.locator("#clear").click()
    assert opened.count() == "240 questions, 50 shown"
    opened.assert_quiet()


def test_filters_leave_what_they_name(opener: Opener, html: str, records: list[NamedRecord]) -> None:
    """By category, by verdict and by what changed since the baseline, together."""
    opened = opener(html)
    now, before = (named.record.runs[0].items for named in records[:2])
    lost = [
        item
        for item, other in zip(now, before, strict=True)
        if item.values["mc1"] == 0.0 and other.values["mc1"] == 1.0
    ]
    opened.page.locator("#change").select_option("worse")
    assert opened.rows() == [item.question for item in lost]
    opened.page.locator("#category").select_option(lost[0].category)
    assert opened.rows() == [item.question for item in lost if item.category == lost[0].category]
    opened.page.locator("#verdict").select_option("pass")
    assert opened.rows() == []
    opened.assert_quiet()


def test_sorting_by_margin(opener: Opener, html: str) -> None:
    """The lowest first, the highest first, the nearest to the bar first."""
    page = (opened := opener(html)).page

    def margins() -> list[float]:
        texts = page.locator("#items tr.item td:nth-child(4)").all_inner_texts()
        return [float(text.replace("−", "-")) for text in texts]

    page.locator("#sort").select_option("margin")
    assert margins() == sorted(margins())
    page.locator("#sort").select_option("margin-")
    assert margins() == sorted(margins(), reverse=True)
    page.locator("#sort").select_option("near")
    assert margins() == sorted(margins(), key=abs)
    opened.assert_quiet()


def test_another_metric_brings_its_own_values_and_verdicts(
    opener: Opener, html: str, records: list[NamedRecord]
) -> None:
    """The choice of the metric decides value, margin, verdict and change."""
    opened = opener(html)
    opened.page.locator("#measure").select_option(label="correctness (openai:some-judge) · min 0.45 (proof)")
    opened.page.locator("#sort").select_option("value")
    values = opened.page.locator("#items tr.item td:nth-child(3)").all_inner_texts()
    assert values[0] == "0"
    found = [item.values["correctness"] for item in records[0].record.runs[0].items]
    below = sum(value is not None and value < 0.45 for value in found)
    assert f"fail ({below})" in opened.page.locator("#verdict").inner_text()
    opened.assert_quiet()


def test_another_benchmark_brings_its_own_questions(opener: Opener, html: str) -> None:
    """Graded responses show what the judge and the reference gave."""
    opened = opener(html)
    opened.page.locator("#run").select_option(label="grading")
    assert opened.count() == "80 questions, 50 shown"
    opened.page.locator("#items .open").first.click()
    assert "the judge gave" in opened.page.locator(".detail").inner_text()
    opened.assert_quiet()


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_row_opens_by_keyboard(opener: Opener, html: str, records: list[NamedRecord], key: str) -> None:
    """Tab reaches the row, Enter or Space opens it with all that is known, and closes it again."""
    opened = opener(html)
    page = opened.page
    page.locator("#sort").focus()
    page.keyboard.press("Tab")
    button = page.locator("#items .open").first
    assert button.evaluate("element => element === document.activeElement")
    assert button.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
    page.keyboard.press(key)
    assert button.get_attribute("aria-expanded") == "true"
    text = page.locator(".detail").inner_text()
    item, before = (named.record.runs[0].items[0] for named in records[:2])
    assert item.answer is not None
    assert item.answer in text
    for choice in item.choices:
        assert choice.text in text
        assert f"{choice.log_likelihood:.3f}".replace("-", "−") in text
    assert f"{before.choices[0].log_likelihood:.3f}".replace("-", "−") in text
    for sample in item.samples:
        assert sample.explanation in text
    page.keyboard.press(key)
    assert page.locator(".detail").count() == 0
    opened.assert_quiet()


def test_probabilities_of_choices_add_up(opener: Opener, html: str) -> None:
    """The softmax over the choices of the question, as mc2_mass sums it."""
    page = opener(html).page
    page.locator("#items .open").first.click()
    texts = page.locator(".choices td[data-label='Probability among these']").all_inner_texts()
    shares = [0.0 if text.startswith("<") else float(text.removesuffix(" %")) for text in texts]
    assert sum(shares) == pytest.approx(100.0, abs=0.5)


def test_more_rows_come_when_asked_for(opener: Opener, html: str) -> None:
    """Thousands of rows are not drawn at once; the first new one has the focus."""
    opened = opener(html)
    opened.page.locator("#more").click()
    assert len(opened.rows()) == 100
    assert opened.count() == "240 questions, 100 shown"
    focused = opened.page.evaluate("document.activeElement.textContent")
    assert focused == opened.rows()[50]
    opened.assert_quiet()


def test_doubtful_answers_are_one_click_away(opener: Opener, html: str) -> None:
    """The button below the grid lists the answers by correctness, the lowest first."""
    opened = opener(html)
    opened.page.locator("#doubts").click()
    assert opened.page.locator("#measure option:checked").inner_text().startswith("correctness")
    assert opened.page.locator("#items tr.item td:nth-child(3)").first.inner_text() == "0"
    opened.assert_quiet()


def test_hostile_text_makes_no_element_and_runs_nothing(
    opener: Opener, records: list[NamedRecord], screenshots: Path
) -> None:
    """With every row open the elements are those of harmless text, in order; no script of a record has run."""
    found = []
    for change in (harmless, hostile):
        held = [beside(records[0], records[1]), *records[1:3]]
        html = html_report([with_texts(each, change) for each in held], trust=change("known"))
        opened = opener(html, NARROW)
        page = opened.page
        for button in page.locator("#items .open").all()[:20]:
            button.click()
        elements = page.evaluate("[...document.querySelectorAll('*')].map((element) => element.tagName)")
        found.append(elements)
        assert page.evaluate("window.owned === undefined")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        opened.assert_quiet()
        if change is hostile:
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=screenshots / "hostile-1-first-screen.png")
            page.locator("#questions").evaluate("element => element.scrollIntoView()")
            page.screenshot(path=screenshots / "hostile-2-questions.png")
    assert found[1] == found[0]


def test_a_baseline_without_texts_shows_values_before_and_after(opener: Opener, records: list[NamedRecord]) -> None:
    """The reviewable file has no words: nothing is said of them."""
    opened = opener(html_report([records[0], without_texts(records[1])]))
    opened.page.locator("#items .open").first.click()
    text = opened.page.locator(".detail").inner_text()
    assert "In the baseline" in text
    assert "Answer in the baseline" not in text
    opened.assert_quiet()


def test_a_record_without_runs_opens(opener: Opener, records: list[NamedRecord]) -> None:
    """There is no table to show, and no complaint."""
    empty = replace(records[0].record, runs=(), rows=())
    opened = opener(html_report([NamedRecord("empty", empty)]))
    assert opened.page.locator("#trouble").inner_text() == "The record has no questions."
    opened.assert_quiet()


def test_headings_are_in_order_and_controls_have_names(opener: Opener, html: str) -> None:
    """One h1, no level left out; each field and button says what it is."""
    page = opener(html).page
    page.locator("#items .open").first.click()
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.get_by_role("searchbox", name="Search", exact=True).count() == 1
    for name in ("Benchmark", "Metric", "Category", "Verdict", "Since baseline", "Sort by"):
        assert page.get_by_role("combobox", name=name, exact=True).count() == 1
    nameless = "[...document.querySelectorAll('button, summary, a')].filter((each) => !each.textContent.trim()).length"
    assert page.evaluate(nameless) == 0


def test_text_stands_out_from_its_ground(opener: Opener, html: str) -> None:
    """Every colour of text has a contrast of at least 4.5 with the grounds it stands on, in both themes."""
    pairs = [
        *((text, ground) for text in ("ink", "muted", "good", "bad") for ground in ("paper", "raised")),
        *((name, f"{name}-soft") for name in ("good", "bad", "warn")),
    ]
    for theme in ("light", "dark"):
        page = opener(html, theme=theme).page
        for text, ground in pairs:
            assert _contrast(_colour(page, text), _colour(page, ground)) >= 4.5, (theme, text, ground)


def _colour(page: Page, name: str) -> tuple[float, ...]:
    value = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')").strip("# ")
    digits = value if len(value) == 6 else "".join(2 * digit for digit in value)
    return tuple(int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines."""

    def luminance(colour: tuple[float, ...]) -> float:
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted(map(luminance, (one, other)))
    return (bright + 0.05) / (dark + 0.05)
