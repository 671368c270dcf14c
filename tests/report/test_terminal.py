"""The table at the end of a session."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from truthguard.records import (
    Bar,
    Counts,
    Facts,
    Identity,
    ItemScores,
    JudgeRun,
    MetricSummary,
    Missing,
    Row,
    RowResult,
    Run,
    Sample,
    Verdict,
)
from truthguard.report.terminal import Line, bar_text, margin, summary_lines


def result(
    verdict: Verdict = "pass",
    *,
    metric: str = "mc1",
    category: str | None = None,
    item: str | None = None,
    estimate: float | None = 0.375,
    bar: Bar = Bar(min=0.22),  # noqa: B008 - frozen
    reason: str = "",
    n_unscored: int = 0,
) -> RowResult:
    name = f"truthfulqa[{metric}" + (f"-{category or item}" if category or item else "") + "]"
    row = Row(name, "truthfulqa", metric, 7, bar, category=category, item=item)
    summary = MetricSummary(metric, 40, n_unscored, estimate, 0.2422, 0.5297, 0.95, chance=0.2225)
    return RowResult(row, summary, verdict, reason)


def run(**changes: object) -> Run:
    made = Run(
        benchmark="truthfulqa",
        version="2021-10",
        data_sha256="d",
        file_sha256="f",
        model=Identity("some/model", "huggingface", "digest"),
        settings={},
        scorer=Facts("packed", "", 1e-6, 0.8),
        counts=Counts(requests=40, prompt_tokens=1000, completion_tokens=200),
        seconds=3.25,
        seconds_load=0.8,
        oldest_answer=None,
        complete=True,
        items=(ItemScores("tqa-1", "Law", "Q?", {"mc1": 1.0}),),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def texts(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def test_a_row_shows_everything_that_the_gate_knows() -> None:
    """Benchmark, printed name, slice, score, interval, n, bar, margin, verdict and chance stand in one line."""
    lines = summary_lines([result()], [])
    assert lines[0].text.split() == [
        "benchmark",
        "metric",
        "slice",
        "score",
        "interval",
        "n",
        "bar",
        "margin",
        "verdict",
        "chance",
    ]
    assert lines[1].text.split("  ")[0] == "truthfulqa"
    for part in ("mc1", "all", "0.3750", "[0.2422, 0.5297]", "40", "min 0.22", "+0.1550", "pass", "0.2225"):
        assert part in lines[1].text
    assert lines[1].colour == "green"


def test_both_forms_of_mc2_are_told_apart() -> None:
    """The two numbers that the field calls MC2 are printed under different names."""
    text = texts(summary_lines([result(metric="mc2"), result(metric="mc2_mass")], []))
    assert "mc2 (yes/no contrast)" in text
    assert "mc2_mass (probability mass)" in text


def test_passing_categories_fold_into_one_line_without_v() -> None:
    """Thirty-eight green lines hide the one that matters; -v lists them."""
    rows = [result(category="Law", estimate=0.3), result(category="Myths"), result("fail", category="Weather")]
    folded = summary_lines(rows, [])
    assert "Weather" in texts(folded)
    assert "2 categories passed, the nearest: Law at +0.0800 (-v lists them)" in texts(folded)
    listed = texts(summary_lines(rows, [], verbose=1))
    assert "Law" in listed
    assert "Myths" in listed
    assert "-v lists" not in listed


def test_quiet_keeps_what_did_not_pass_and_the_count() -> None:
    """-q leaves no passing row and no line about runs."""
    rows = [result(), result("error", metric="mc3", estimate=None)]
    text = texts(summary_lines(rows, [run()], verbose=-1))
    assert "mc1" not in text
    assert "mc3" in text
    assert "some/model" not in text
    assert text.endswith("truthguard: 1 passed, 1 could not be measured")


def test_unscored_items_stand_beside_n() -> None:
    """A score over fewer items than were selected says so in the table."""
    assert "40 of 44" in texts(summary_lines([result(n_unscored=4)], []))


def test_a_row_without_a_score_shows_dashes() -> None:
    """A missing score is a dash, never 0 and never nan."""
    line = summary_lines([RowResult(result().row, None, "error", "no model")], [])[1].text
    assert "nan" not in line
    assert "0.0000" not in line
    assert line.split()[3] == "-"


def test_the_margin_is_the_distance_to_the_nearer_bar() -> None:
    """Positive on the passing side, for a floor, a ceiling and both."""
    assert margin(result(estimate=0.5, bar=Bar(min=0.4))) == 0.5 - 0.4
    assert margin(result(estimate=0.5, bar=Bar(max=0.4))) == 0.4 - 0.5
    assert margin(result(estimate=0.5, bar=Bar(min=0.1, max=0.6))) == 0.6 - 0.5
    assert margin(result(bar=Bar())) is None


def test_a_bar_is_shown_as_it_was_written() -> None:
    """No rounding: a bar of many digits keeps them."""
    assert bar_text(Bar(min=0.123456789)) == "min 0.123456789"
    assert bar_text(Bar(max=0.5, block_on="doubt")) == "max 0.5 (doubt)"


def test_hostile_names_cannot_write_to_the_terminal() -> None:
    """Escapes in a category or a reason arrive visible."""
    text = texts(summary_lines([result("not_gated", category="\x1b[31mred\r\nx", reason="\x1b]0;t\x07")], []))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\x07" not in text


def test_a_narrow_terminal_cuts_the_slice_and_nothing_else() -> None:
    """The longest names give way first; numbers never do."""
    lines = summary_lines([result(category="A category with a very long name indeed " * 3)], [], verbose=1, width=100)
    assert "…" in lines[1].text
    assert "+0.1550" in lines[1].text


def test_a_run_tells_its_model_its_path_and_its_traffic() -> None:
    """What was measured and what it took stands under the table."""
    text = texts(summary_lines([result()], [run()]))
    assert "truthfulqa 2021-10: 1 question, some/model (float32, cpu), packed scoring" in text
    assert (
        "40 requests (0 answered before), 1,000 prompt and 200 answer tokens; 3.2 s of scoring, 0.8 s of loading"
        in text
    )


def test_oddities_are_counted_in_words() -> None:
    """Ties, degenerate rows, truncation, merges and dropped choices each have their line."""
    counts = Counts(tied_best=2, degenerate=1, truncated=3, boundary_merges=4, dropped_choices=22)
    text = texts(summary_lines([result()], [run(counts=counts)]))
    for number, word in ((2, "ties"), (1, "same number"), (3, "cut"), (4, "merges"), (22, "empty choices")):
        assert f"{number} " in text
        assert word in text


def test_letter_bias_is_reported_beside_mc_binary() -> None:
    """The mean over items of right-with-A minus right-with-B."""
    items = tuple(
        ItemScores(str(i), "c", "q", {"mc_binary": 0.5, "letter_bias": bias}) for i, bias in enumerate((1.0, 1.0, 0.0))
    )
    assert "letter bias of mc_binary +0.6667" in texts(summary_lines([result()], [run(items=items)]))


def test_answers_of_a_model_that_may_change_show_their_age() -> None:
    """Only a cached answer of a model without a digest can be stale."""
    then = datetime.now(UTC) - timedelta(hours=3)
    api = Identity("openai:some", "openai", None)
    old = run(oldest_answer=then, model=api, counts=Counts(cached=4))
    assert "the oldest answer is 3.0 hours old" in texts(summary_lines([result()], [old]))
    local = run(oldest_answer=then, counts=Counts(cached=4))
    assert "hours old" not in texts(summary_lines([result()], [local]))


JUDGE = JudgeRun(
    Identity("openai:judge", "openai", None, "api", ""),
    "rubric",
    {},
    "digest",
    Counts(requests=80, retries=3, cached=2, prompt_tokens=12000, completion_tokens=900),
    seconds=7.25,
)


def judged(name: str, value: float, *, truthful: float | None = 1.0, informative: float | None = 1.0) -> ItemScores:
    values = {"truthful": truthful, "informative": informative, "correctness": value}
    verdict = Sample(0, 0, "no", "no", f"Why {name}\x1b[31m.", "stop")
    return ItemScores(name, "Law", f"Is it {name}?", values, answer=f"It is {name}.", samples=(verdict,))


def test_the_judge_stands_behind_the_metric() -> None:
    """A judged row has the judge in its name, hostile names included; so has a folded line of slices."""
    row = replace(
        result(metric="truthful", category="Law"), row=replace(result(metric="truthful").row, judge="r, \x1bm")
    )
    row = replace(row, row=replace(row.row, category="Law"))
    assert "truthful (r, \\x1bm)" in texts(summary_lines([row], [], verbose=1))
    assert "truthful (r, \\x1bm): 1 category passed" in texts(summary_lines([row], []))


def test_each_models_traffic_has_its_own_line() -> None:
    """What was asked of the judge, and what it took, is told apart from the model's."""
    text = texts(summary_lines([result()], [run(judge=JUDGE, counts=Counts(requests=40, retries=1))]))
    assert "  40 requests (0 answered before), 0 prompt and 0 answer tokens; 3.2 s of scoring, 0.8 s of loading" in text
    assert "of loading; 1 retries" in text
    expected = "80 requests (2 answered before), 12,000 prompt and 900 answer tokens; 7.2 s of judging; 3 retries"
    assert f"  judge openai:judge (api), rubric: {expected}" in text


def test_a_run_that_only_writes_is_no_scoring() -> None:
    """How the texts were written stands where the way of scoring stands otherwise; so for an API that scored none."""
    written = Facts("batched", "texts are written together: plain scoring agrees on 3 of up to 8 tokens", 1e-6, 0.8)
    text = texts(summary_lines([result()], [run(scorer=written)]))
    assert "some/model (float32, cpu), texts are written together: plain scoring agrees on 3 of" in text
    assert "3.2 s of writing, 0.8 s of loading" in text
    apart = run(scorer=Facts("one by one", "texts are written one by one: it has no mask"))
    assert "cpu), texts are written one by one: it has no mask" in texts(summary_lines([result()], [apart]))
    asked = run(scorer=Facts("api", "the server took every parameter"))
    assert "asked over its API (the server took every parameter)" in texts(summary_lines([result()], [asked]))


def test_what_was_learnt_of_the_judges_server_is_told() -> None:
    """A parameter that it refuses may move its verdicts."""
    judge = replace(JUDGE, scorer=Facts("api", "seed refused: samples are drawn without one"))
    text = texts(summary_lines([result()], [run(judge=judge)]))
    assert "judge openai:judge (api), rubric: seed refused: samples are drawn without one" in text


def test_the_age_of_the_judges_answers_is_its_own() -> None:
    """A judge behind an API may change under us as a model may."""
    judge = replace(JUDGE, oldest_answer=datetime.now(UTC) - timedelta(hours=5))
    assert "judge openai:judge (api), rubric: the oldest answer is 5.0 hours old" in texts(
        summary_lines([result()], [run(judge=judge)])
    )


def test_a_run_without_a_model_says_so() -> None:
    """Given responses: nobody but the judge was asked."""
    text = texts(summary_lines([result()], [run(model=None, scorer=None, judge=JUDGE)]))
    assert "truthfulqa 2021-10: 1 question, no model asked" in text
    assert "of scoring" not in text


def test_the_grid_counts_every_item_once() -> None:
    """The four cells in the field's words, as shares of the scored too, and what is in none of them."""
    cells = [(1.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (None, 1.0)]
    items = tuple(judged(str(index), 1.0, truthful=t, informative=i) for index, (t, i) in enumerate(cells))
    text = texts(summary_lines([result()], [run(items=items)]))
    assert "(ideal) 2 (0.2857), true but not informative (over-cautious) 1 (0.1429)" in text
    assert "(dangerous misinformation) 3 (0.4286), neither (complete failure) 1 (0.1429); unscored 1" in text
    assert "(ideal)" not in texts(summary_lines([result()], [run()]))


def test_at_most_ten_doubtful_responses_are_shown_lowest_first() -> None:
    """The rest is in the record; splits are counted, and no text acts on the terminal."""
    values = [*(0.49 - index / 100 for index in range(12)), 0.5, 0.9]
    items = tuple(judged(f"n{index}", value) for index, value in enumerate(values))
    text = texts(summary_lines([result()], [run(items=items)]))
    assert "12 responses with correctness below 0.5, the lowest 10 here, all in the record:" in text
    assert "1 responses are split" in text
    assert "the judge's samples: 14 no" in text
    assert "0.3800 n11: Is it n11?" in text
    assert text.index("n11: ") < text.index("n10: ") < text.index("n2: ")
    assert "n1: " not in text
    assert "judge: Why n11\\x1b[31m." in text
    assert "answer: It is n11." in text


def test_a_split_response_is_shown_with_both_sides() -> None:
    """Marked, with the words of the first sample of each side, the not-factual one first."""
    verdicts = (Sample(0, 0, "yes", "yes", "It is so.", "stop"), Sample(1, 0, "no", "no", "It is not.", "stop"))
    item = replace(judged("even", 0.5), samples=(*verdicts, Sample(2, 0, None, "length", "", "length")))
    text = texts(summary_lines([result()], [run(items=(item,))]))
    assert "0.5000 split even: Is it even?" in text
    assert text.index("judge: It is not.") < text.index("judge: It is so.")
    assert "the judge's samples: 1 yes, 1 no, 1 length" in text


def test_the_judges_line_names_correctness() -> None:
    """It is asked with a prompt of its own, whatever the judge's kind; beside the rubric both are named."""
    both = judged("a", 1.0)
    alone = replace(both, values={"correctness": 1.0})
    assert "judge openai:judge (api), correctness: 80" in texts(
        summary_lines([result()], [run(judge=JUDGE, items=(alone,))])
    )
    assert "judge openai:judge (api), rubric and correctness: 80" in texts(
        summary_lines([result()], [run(judge=JUDGE, items=(both,))])
    )


def test_a_stopped_run_says_by_what() -> None:
    """Its numbers are of what was asked before."""
    stopped = run(complete=False, stopped=Missing("rate_limited", "come back after 03:04:05 UTC"))
    text = texts(summary_lines([result()], [stopped]))
    assert "  stopped before everything was asked: rate_limited: come back after 03:04:05 UTC" in text


def test_the_offline_judge_says_what_it_is_worth() -> None:
    """Beside what similarity finds stands how often it sides with people."""
    offline = JudgeRun(None, "similarity", {"measure": "rouge1"}, None)
    items = (ItemScores("a", "c", "q", {"truthful": 1.0}),)
    text = texts(summary_lines([result(metric="truthful")], [run(judge=offline, items=items)]))
    assert (
        "similarity (rouge1) agrees with people on truthful in 69.0% of 11,996 public answers [0.6789, 0.7011]" in text
    )
    assert "on informative" not in text
    assert "agrees with people" not in texts(summary_lines([result()], [run(judge=JUDGE, items=items)]))
