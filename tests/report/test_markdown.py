"""The page of Markdown: short, what needs a person first, and inert whatever the texts are."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.report.hostile import HOSTILE, INVISIBLE
from truthguard.records import (
    Bar,
    Baseline,
    BaselineItem,
    BaselineRun,
    CorrectedRate,
    Counts,
    Drop,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    MetricSummary,
    Row,
    RowResult,
    Run,
    Sample,
    Verdict,
)
from truthguard.report import inert
from truthguard.report.changed import Changed, changed_items
from truthguard.report.inert import code
from truthguard.report.markdown import MAX_LINES, markdown

ACTING = (
    *HOSTILE,
    "a | b \\| c",
    "`` ` ``` ticks",
    "[a](https://example.com) ![b](x) <https://example.com> www.example.com",
    "@someone #123 owner/repo#7 me@example.com",
    "\n\n# Title\n- [ ] task\n> quote",
    "**bold** _it_ ~~gone~~ $x$",
)


def result(
    verdict: Verdict = "pass",
    *,
    benchmark: str = "starter",
    metric: str = "mc1",
    category: str | None = None,
    reason: str = "",
    **changes: object,
) -> RowResult:
    name = f"{benchmark}[{metric}" + (f"-{category}" if category else "") + "]"
    row = replace(Row(name, benchmark, metric, 7, Bar(min=0.22), category=category), **changes)  # type: ignore[arg-type]
    summary = MetricSummary(metric, 40, 0, 0.375, 0.2422, 0.5297, 0.95)
    return RowResult(row, None if verdict == "error" else summary, verdict, reason)


def item(name: str, correctness: float | None, text: str = "Is it so?", answer: str = "It is not.") -> ItemScores:
    samples = (Sample(0, 0, "no", "no", "Because.", "stop"),)
    return ItemScores(name, "Law", text, {"correctness": correctness}, answer=answer, samples=samples)


def run(*items: ItemScores, benchmark: str = "starter", **changes: object) -> Run:
    made = Run(
        benchmark=benchmark,
        version=None,
        data_sha256="d",
        file_sha256="f",
        model=Identity("some/model", "huggingface", "digest"),
        settings={},
        scorer=Facts("packed", ""),
        counts=Counts(),
        seconds=1.0,
        seconds_load=0.0,
        oldest_answer=None,
        complete=True,
        items=items,
        judge=JudgeRun(Identity("openai:judge", "openai", None, "api", ""), "rubric", {}, "p"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def changes(count: int, benchmark: str = "starter", text: str = "Is it so?") -> list[Changed]:
    return [Changed(benchmark, "mc1", f"q{number}", text, number / count, 0.0) for number in range(count)]


def parsed(page: str) -> list[Token]:
    """Every token of the page as CommonMark with GitHub's tables reads it, those inside lines too."""
    found: list[Token] = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page):
        found += [token, *(token.children or [])]
    return found


def rows_of(page: str) -> list[list[str]]:
    """The cells of each row of the table."""
    return [[cell.strip() for cell in line.split(" | ")] for line in page.splitlines() if line.startswith("| ")]


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    found = doctest.testmod(inert)
    assert found.attempted > 0
    assert found.failed == 0


def test_what_needs_a_person_comes_first() -> None:
    """Failed rows, then errors, waived, undecided and ungated ones; passes last, passed slices folded."""
    results = [
        result(metric="mc3"),
        result(category="Law"),
        result("not_gated", category="Rare", reason="too small a slice"),
        result(metric="mc2", reason="undecided: 0.3 against min 0.2"),
        result("waived", metric="truthful", reason="below; waived until 2030-01-01: known"),
        result("error", metric="mc_binary", reason="no letters"),
        result("fail", metric="mc2_mass", reason="0.3750 < 0.4000 (min)"),
    ]
    page = markdown(results, [run()])
    verdicts = [cells[-1].strip(" |").partition(":")[0] for cells in rows_of(page)[2:]]
    assert verdicts == ["**failed**", "**could not be measured**", "waived", "undecided", "not gated", "passed"]
    assert "Not shown: 1 slice that passed; the record" in page
    assert "Of 7 rows 1 failed, 1 could not be measured, 1 waived, 1 not gated, 3 passed." in page


def test_a_row_says_what_the_gate_knows() -> None:
    """Benchmark, metric with its judge, slice, score, interval, n, bar, drop with interval and p, verdict."""
    drop = Drop("last.json", 200, 0.06, 0.0179, 0.109, 0.95, 0.003652, 0.99, 0.99, 16, 4, alpha=0.05)
    failed = replace(result("fail", metric="truthful", judge="rubric, m", category="Law", max_drop=0.0), drops=(drop,))
    cells = rows_of(markdown([failed], [run()]))
    assert cells[0][-2:] == ["drop", "verdict |"]
    assert cells[2] == [
        "| `starter`",
        "`truthful (rubric, m)`",
        "`Law`",
        "0.3750",
        "[0.2422, 0.5297]",
        "40",
        "min 0.22, max_drop 0.0",
        "0.0600 [0.0179, 0.1090], p = 0.00365",
        "**failed** |",
    ]


def test_several_baselines_are_told_apart() -> None:
    """Each drop names its baseline, and one without a test says so."""
    drops = [Drop(name, 9, 0.1, None, None, 0.95, None, None, None, 1, 0) for name in ("last.json", "anchor.json")]
    page = markdown([replace(result("fail"), drops=tuple(drops))], [])
    assert "0.1000 –, no test against `last.json`; 0.1000 –, no test against `anchor.json`" in page


def test_a_page_without_baselines_has_no_drop() -> None:
    """A column that would be empty is left out."""
    assert "drop" not in markdown([result()], [run()])


@pytest.mark.parametrize("rows", [1, 12, 300])
def test_a_page_has_at_most_sixty_lines(rows: int) -> None:
    """However much went wrong; what is left out is counted."""
    results = [result("fail", category=f"c{number}", reason="x" * 300) for number in range(rows)]
    runs = [run(*(item(f"i{n}", n / 100) for n in range(40)), benchmark=f"set{number}") for number in range(20)]
    page = markdown(results, runs, changes(37), trust=["a", "b"])
    assert page.count("\n") <= MAX_LINES
    assert page.endswith("\n")
    assert len(page.encode()) < 64_000
    assert "Changed most against the baseline: 10 of 37 items" in page
    assert "correctness below 0.5: the lowest 10 of 800" in page
    if rows == 300:
        shown = len(rows_of(page)) - 2
        assert shown >= 10
        assert f"Not shown: {300 - shown} failed; the record (`--truthguard-json`) has all." in page


@given(st.lists(st.sampled_from(["pass", "fail", "error", "waived", "not_gated"]), max_size=70), st.booleans())
def test_the_page_always_fits(verdicts: Sequence[Verdict], sliced: bool) -> None:
    """Sixty lines, and no row is lost without a word."""
    results = [result(verdict, category=f"c{n}" if sliced else None) for n, verdict in enumerate(verdicts)]
    page = markdown(results, [run(item("a", 0.1))], changes(20))
    assert page.count("\n") <= MAX_LINES
    assert len(rows_of(page)) - 2 == len(results) or "Not shown: " in page


def baseline(values: dict[str, dict[str, float | None]], benchmark: str = "starter") -> Baseline:
    """A baseline with these values by item."""
    items = tuple(BaselineItem(name, "Law", each) for name, each in values.items())
    before = BaselineRun(benchmark, None, "questions", "d", None, None, {}, True, items)
    return Baseline("last.json", "0.1", datetime(2026, 1, 1, tzinfo=UTC), {benchmark: before})


def compared(metric: str) -> RowResult:
    return replace(result(metric=metric), drops=(Drop("last.json", 9, 0.1, 0.0, 0.2, 0.95, 0.1, 0.9, 0.9, 1, 0),))


def test_the_items_that_changed_most_come_first() -> None:
    """Each once, by the distance; what is no longer scored before all, of equal ones the worse before the better."""
    now: dict[str, dict[str, float | None]] = {
        "small": {"mc1": 1.0, "mc2": 0.4},
        "same": {"mc1": 1.0, "mc2": 0.5},
        "better": {"mc1": 1.0, "mc2": 0.5},
        "worse": {"mc1": 0.0, "mc2": 0.9},
        "lost": {"mc1": 1.0, "mc2": None},
        "new": {"mc1": 0.0, "mc2": 0.0},
        "gained": {"mc1": 0.0, "mc2": 0.3},
        "dropped": {"mc1": 1.0},
    }
    old: dict[str, dict[str, float | None]] = {
        "small": {"mc1": 1.0, "mc2": 0.5},
        "same": {"mc1": 1.0, "mc2": 0.5 + 1e-12},
        "better": {"mc1": 0.0, "mc2": 0.5},
        "worse": {"mc1": 1.0, "mc2": 0.5},
        "lost": {"mc1": 0.0, "mc2": 0.1},
        "gained": {"mc1": 0.0, "mc2": None},
        "dropped": {"mc1": 1.0, "mc2": 0.2},
    }
    measured = run(*(ItemScores(name, "Law", f"{name}?", values) for name, values in now.items()))
    results = [compared("mc1"), compared("mc2"), result(metric="mc3")]
    found = changed_items(results, [measured, run(benchmark="truthfulqa")], baseline(old))
    page = markdown(results, [measured], found, baseline="last.json")
    assert "### Changed most against `last.json`\n" in page
    assert [line for line in page.splitlines() if " → " in line] == [
        "- `lost`, `starter mc2 (yes/no contrast)`: 0.1000 → unscored: `lost?`",
        "- `worse`, `starter mc1`: 1.0000 → 0.0000: `worse?`",
        "- `better`, `starter mc1`: 0.0000 → 1.0000: `better?`",
        "- `small`, `starter mc2 (yes/no contrast)`: 0.5000 → 0.4000: `small?`",
    ]


def test_where_smaller_is_better_a_rise_is_worse() -> None:
    """Of two flips of the judge's self-test the one that an attack brought about comes first."""
    measured = run(*(ItemScores(name, "", "", {"flipped": value}) for name, value in (("a", 0.0), ("b", 1.0))))
    found = changed_items([compared("flipped")], [measured], baseline({"a": {"flipped": 1.0}, "b": {"flipped": 0.0}}))
    assert [item.id for item in found] == ["b", "a"]


def test_what_was_not_compared_did_not_change() -> None:
    """A row that was refused, or has another baseline, says nothing of the items."""
    measured = run(ItemScores("a", "", "", {"mc1": 0.0}))
    old = baseline({"a": {"mc1": 1.0}})
    assert changed_items([result()], [measured], old) == ()
    assert changed_items([compared("mc1")], [measured], replace(old, name="anchor.json")) == ()
    assert len(changed_items([compared("mc1")], [measured], old)) == 1


def test_an_improvement_is_said() -> None:
    """Beside the drop, which is below zero then."""
    drop = Drop("last.json", 200, -0.06, -0.109, -0.0179, 0.95, 0.99, 0.001, 0.003, 4, 16, alpha=0.05)
    page = markdown([replace(result(), drops=(drop,))], [])
    assert "-0.0600 [-0.1090, -0.0179], p = 0.99, an improvement |" in page


def test_doubted_responses_come_lowest_first() -> None:
    """Those below one half, over all runs, with question and answer where the set is public."""
    runs = [run(item("a", 0.4), item("b", 0.5), item("c", None)), run(item("d", 0.2), benchmark="truthfulqa")]
    lines = [line for line in markdown([result()], runs).splitlines() if line.startswith("- 0.")]
    assert lines == [
        "- 0.2000 `d`, `truthfulqa`: `Is it so?`, answered `It is not.`",
        "- 0.4000 `a`, `starter`: `Is it so?`, answered `It is not.`",
    ]


@pytest.mark.parametrize(
    ("benchmark", "version", "shown"),
    [
        ("faq", None, False),
        ("truthfulqa", "2021-10", True),
        ("flask", None, True),
        ("injection", None, True),
        ("truthful_judge", "2021-10", True),
        ("truthful_judge", None, False),
    ],
)
def test_texts_of_a_team_stay_at_home(benchmark: str, version: str | None, shown: bool) -> None:
    """Of own files ids and numbers are shown, and no question, answer, or detail that may quote one."""
    summary = MetricSummary(
        "mc1",
        3,
        1,
        0.3,
        0.1,
        0.5,
        0.95,
        unscored={"no_tokens": 1},
        details={"no_tokens": "the choice 'SECRET' is long"},
    )
    told = "0.3 < 0.4 (min); 1 of 4 questions could not be scored: no_tokens 1 (the choice 'SECRET' is long)"
    results = [
        replace(result("fail", benchmark=benchmark), reason=told, summary=summary),
        replace(result("error", benchmark=benchmark), reason=told, summary=summary),
        result("error", benchmark=benchmark, reason="the server said: SECRET"),
    ]
    measured = run(item("q1", 0.1, "SECRET?", "SECRET."), benchmark=benchmark, version=version)
    page = markdown(results, [measured], changes(1, benchmark, "SECRET"))
    assert ("SECRET" in page) == shown
    assert "`q0`" in page
    assert "0.1000 `q1`" in page
    assert "no_tokens 1" in page


def test_a_set_that_never_ran_is_judged_by_its_name() -> None:
    """Without a run a built-in set is public, and any other name is a team's own."""
    page = markdown([result("error", benchmark="truthfulqa", reason="KNOWN"), result("error", reason="KNOWN")], [])
    assert page.count("KNOWN") == 2
    page = markdown(
        [result("error", benchmark="faq", reason="KEPT"), result("error", benchmark="flasks", reason="KEPT")], []
    )
    assert "KEPT" not in page
    assert page.count("the log has the reason") == 2


@pytest.mark.parametrize("text", ACTING)
def test_no_text_acts_on_the_page(text: str) -> None:
    """Names, reasons, ids, questions and answers give the tokens that harmless ones give, each in a code span."""

    def page(text: str) -> str:
        judge = JudgeRun(Identity(text, "openai", None, "api", ""), "rubric", {}, "p")
        measured = run(item(text, 0.1, text, text), model=Identity(text, "huggingface", None), judge=judge)
        results = [
            result("fail", category=text, judge=text, reason=text),
            replace(result(), drops=tuple(Drop(text, 9, 0.1, 0.0, 0.2, 0.95, 0.1, 0.9, 0.9, 1, 0) for _ in "ab")),
        ]
        return markdown(
            results, [measured], [Changed("starter", "mc1", text, text, 1.0, 0.0)], baseline=text, trust=[text]
        )

    hostile, harmless = page(text), page("harmless")
    kinds = [token.type for token in parsed(hostile)]
    assert kinds == [token.type for token in parsed(harmless)]
    assert not {"html_inline", "html_block", "link_open", "image"} & set(kinds)
    outside = "".join(token.content for token in parsed(hostile) if token.type == "text")
    assert outside == "".join(token.content for token in parsed(harmless) if token.type == "text")
    assert not set(INVISIBLE) & set(hostile)
    assert not any(line.lstrip().startswith(("::", "##[")) for line in hostile.splitlines())
    assert max(map(len, hostile.split())) < 300
    hostile.encode("utf-8")


@given(st.text(st.characters(), max_size=30))
@example("  ")
@example(" a ")
def test_a_code_span_holds_any_text(text: str) -> None:
    """One span in a cell of a table and in a paragraph; what is printable in it is read as it stands."""
    span = code(text)
    for page, around in ((f"| a | b |\n| --- | --- |\n| x | {span} |\n", 2), (f"x {span} y", 1)):
        tokens = parsed(page)
        assert sum(token.type == "td_open" for token in tokens) == (2 if around == 2 else 0)
        spans = [token for token in tokens if token.type == "code_inline"]
        assert len(spans) == (1 if text else 0)
        if text and text.isprintable():
            assert spans[0].content == text.replace("|", "¦")


def test_model_judge_and_trust_are_named_once() -> None:
    """Whom the numbers are of, how the judge judges, what is known of its errors and what is required of it."""
    rate = CorrectedRate(0.9, 0.8, 120, 99, 0.95, 0.4, 0.3, 0.5, 0.4)
    runs = [run(item("a", 1.0)), run(item("b", 1.0), benchmark="truthfulqa", version="2021-10")]
    page = markdown([replace(result(metric="truthful"), corrected=rate)], runs, trust=["requires 0.85"])
    assert page.count("- Model: `some/model (float32, cpu)`\n") == 1
    assert page.count("- Judge: `openai:judge (rubric)`\n") == 1
    assert "- Questions: `truthfulqa 2021-10`, 1 question\n" in page
    assert "- Trust: `requires 0.85`\n" in page
    assert "corrected for the judge's errors is 0.4000 [0.3000, 0.5000] (sensitivity 0.9000 of 120" in page


def test_the_offline_judge_comes_with_what_it_is_worth() -> None:
    """Similarity stands there with its agreement with people."""
    judge = JudgeRun(None, "similarity", {"measure": "rouge1"}, None)
    answered = replace(item("a", None), values={"truthful": 1.0})
    page = markdown([result(metric="truthful")], [run(answered, judge=judge)])
    assert "- Judge: `similarity, rouge1`, which agrees with people on truthful in 69.0% of public answers\n" in page


def test_what_to_do_next_follows_from_the_verdicts() -> None:
    """A failure, an error, a waiver and an open test each have their advice; a clean pass has the ratchet's."""
    waived = result("waived", waive_until=date(2030, 1, 2))
    page = markdown([waived, result("waived", waive_until=date(2029, 1, 2)), result("fail"), result("error")], [])
    assert "The first waiver ends on 2029-01-02." in page
    assert "nearest to its bar" in page
    assert "mend the cause" in page
    assert "--truthguard-update-thresholds" not in page
    assert "needs more questions" in markdown([result(reason="undecided: 0.3 against min 0.2")], [])
    assert "--truthguard-update-thresholds" in markdown([result()], [])


@pytest.mark.parametrize(
    ("verdict", "headline"),
    [
        ("pass", "passed"),
        ("waived", "passed"),
        ("fail", "failed"),
        ("error", "failed"),
        ("not_gated", "nothing was gated"),
    ],
)
def test_the_headline_is_the_outcome(verdict: Verdict, headline: str) -> None:
    """The first line says whether the gate holds."""
    assert markdown([result(verdict)], []).splitlines()[0] == f"## truthguard: {headline}"


def test_a_category_may_be_called_all() -> None:
    """It is a slice like any other."""
    assert "Not shown: 1 slice that passed" in markdown([result(category="all")], [])
