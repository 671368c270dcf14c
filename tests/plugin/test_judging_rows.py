"""Rows that measure the judge as pytest items: grades and choices, what is printed and recorded, what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.projects import requests, run
from truthguard.benchmarks import judge_starter
from truthguard.records import GradedResponse, ResponsePair

# A judge that knows the labels of its own file: it finds the material in the prompt. Of every third response it gives
# a grade that is one off, every fifth reply of a grade is unreadable, and of pairs it always takes the first shown
# where people see a tie.
JUDGE = """
import json
from pathlib import Path

from truthguard.backends.protocol import Text

HERE = Path(__file__).parent
GRADED = [json.loads(line) for line in (HERE / "graded.jsonl").read_text().splitlines()]
PAIRED = [json.loads(line) for line in (HERE / "paired.jsonl").read_text().splitlines()]


def judge(request):
    with (HERE / "requests.log").open("a") as file:
        file.write("0 Judge\\n")
    text = request.context
    for place, row in enumerate(PAIRED):
        if row["a"] in text and row["b"] in text:
            if row["winner"].lower() == "tie":
                return Text("Alike. [RESULT] A", "stop")
            first = text.index(row["a"]) < text.index(row["b"])
            return Text("Better. [RESULT] " + ("A" if first == (row["winner"].lower() == "a") else "B"), "stop")
    for place, row in enumerate(GRADED):
        if row["response"] in text:
            if place % 5 == 4:
                return Text("I would rather not put a number on it.", "stop")
            grade = row["score"] if place % 3 else min(5, row["score"] + 1)
            return Text(f"Some feedback. [RESULT] {grade}", "stop")
    raise AssertionError(text)
"""
GRADED = [
    {"id": f"g{place}", "instruction": f"Say what {place // 2} is.", "response": f"It is <{place}>.", "score": score}
    for place, score in enumerate([1, 2, 3, 4, 5, 4, 3, 2, 1, 5])
]
PAIRED = [
    {
        "id": f"p{place}",
        "category": "even" if place % 2 == 0 else "odd",
        "instruction": f"Which is {place}?",
        "a": f"This is (a{place}).",
        "b": f"That is (b{place}).",
        "winner": winner,
    }
    for place, winner in enumerate(["a", "b", "tie", "A", "Tie", "b"])
]
ARGUMENTS = ("--truthguard-judge", "scripted:knowing:judge", "--truthguard-json", "out.json")


@pytest.fixture
def judging(project: pytest.Pytester) -> pytest.Pytester:
    """A project with own graded responses and pairs, and a judge that knows their labels."""
    (project.path / "knowing.py").write_text(JUDGE)
    for name, rows in (("graded", GRADED), ("paired", PAIRED)):
        (project.path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return project


def gate(project: pytest.Pytester, text: str) -> None:
    (project.path / "thresholds.toml").write_text(text)


def record_of(project: pytest.Pytester) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project.path / "out.json").read_text(encoding="utf-8"))
    return content


DIRECT = '[graded]\nkind = "direct"\npath = "graded.jsonl"\n'
PAIRWISE = '[paired]\nkind = "pairwise"\npath = "paired.jsonl"\n'


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_grades_are_held_against_the_reference(judging: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """8 of 10 responses are graded, 5 of them right: the correlation, its coverage and every reply's kind are told."""
    rows = "".join(
        f"[graded.{name}]\nmin = 0.5\nmax_unscored = 0.2\n" for name in ("pearson", "accuracy", "consistency")
    )
    gate(judging, DIRECT + rows)
    result = run(judging, *ARGUMENTS, *workers, model=None, in_process=not workers)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines_random(
        [
            "graded *pearson (scripted:knowing:judge) *8 of 10*pass*",
            "graded *accuracy (scripted:knowing:judge) *0.6250*",
            "graded *consistency (scripted:knowing:judge) *1.0000*",
            "graded: 10 responses, no model asked",
            "*judge scripted:knowing:judge (float32, cpu), grades and choices: *",
            "*the judge's samples: 24 grade, 6 unparsed",
            "*mean grade * the reference's * on the 8 responses that have both",
        ]
    )
    # Two are unreadable, in each of three runs, each asked three times; the other eight once a run.
    assert Counter(requests(judging)) == {"0 Judge": 8 * 3 + 2 * 3 * 3}
    (measured,) = record_of(judging)["runs"]
    assert (measured["kind"], measured["judge"]["kind"]) == ("direct", "prometheus")
    assert measured["judge"]["settings"]["runs"] == 3
    assert measured["judge"]["settings"]["temperature"] == 1.0
    graded = {item["id"]: item for item in measured["items"]}
    assert graded["g4"]["values"]["grade"] is None
    assert graded["g4"]["reasons"]["grade"]["kind"] == "unparsed"
    assert [sample["verdict"] for sample in graded["g0"]["samples"]] == ["2", "2", "2"]
    assert {item["group"] for item in measured["items"]} == {row["instruction"] for row in GRADED}


def test_too_few_readable_grades_are_an_error(judging: pytest.Pytester) -> None:
    """C14: coverage stands beside the number and is gated: two of ten unread are more than 5 %."""
    gate(judging, DIRECT + "[graded.pearson]\nmin = 0.5\n")
    result = run(judging, *ARGUMENTS, model=None)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*2 of 10 items could not be scored, 0.2000 > 0.0500 (max_unscored): unparsed 2*"])
    assert record_of(judging)["rows"][0]["verdict"] == "error"


def test_pairs_are_ranked_with_and_without_ties(judging: pytest.Pytester) -> None:
    """The four decided pairs are right in both orders; of a tie the first shown is taken: tie by disagreement."""
    rows = "".join(f"[paired.{name}]\nmin = 0.1\n" for name in ("without_ties", "with_ties", "position_bias"))
    gate(judging, PAIRWISE + rows + 'by = "category"\n')
    result = run(judging, *ARGUMENTS, "-v", model=None)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "paired *without_ties (scripted:knowing:judge) *all *1.0000*4 *",
            "paired *with_ties *all *1.0000*6 *",
            "paired *position_bias *all *0.3333*6 *",
            "*without_ties by category: even 1.0000 (1), odd 1.0000 (3); all pairs (micro average) 1.0000 (4)",
        ]
    )
    assert Counter(requests(judging)) == {"0 Judge": 12}
    dropped = {row["metric"]: row["n_dropped"] for row in record_of(judging)["rows"] if row["slice"] is None}
    assert dropped == {"without_ties": 2, "with_ties": 0, "position_bias": 0}


def test_a_single_order_asks_once(judging: pytest.Pytester) -> None:
    """The published way: one order, drawn by seed, and a judge that takes the first of a tie is wrong there."""
    gate(judging, PAIRWISE + 'order = "single"\n[paired.without_ties]\nmin = 1\n[paired.with_ties]\nmin = 0.6\n')
    result = run(judging, *ARGUMENTS, model=None)
    result.stdout.fnmatch_lines(["paired *without_ties *1.0000*4 *", "paired *with_ties *0.6667*6 *"])
    assert Counter(requests(judging)) == {"0 Judge": 6}


def test_position_bias_needs_both_orders(judging: pytest.Pytester) -> None:
    """What cannot be measured is refused before anything is asked."""
    gate(judging, PAIRWISE + 'order = "single"\n[paired.position_bias]\nmax = 0.6\n')
    result = run(judging, *ARGUMENTS, model=None)
    assert result.ret == 4
    assert not requests(judging)


def test_a_judge_is_needed_to_measure_one(judging: pytest.Pytester) -> None:
    """Similarity grades nothing: the message says where a model is named."""
    gate(judging, DIRECT + "[graded.pearson]\nmin = 0.5\n")
    result = run(judging, model=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*[[]graded.pearson[]]*--truthguard-judge*"])


def test_a_dry_run_counts_every_run_and_order_once(judging: pytest.Pytester) -> None:
    """10 responses in 3 runs, 6 pairs in 2 orders, and nothing is asked."""
    gate(judging, DIRECT + "[graded.pearson]\nmin = 0.5\n" + PAIRWISE + "[paired.with_ties]\nmin = 0.5\n")
    result = run(judging, *ARGUMENTS[:2], "--truthguard-dry-run", model=None)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["dry run: scripted:knowing:judge: 42 requests, about *"])
    assert not requests(judging)


def test_a_second_run_asks_nothing(judging: pytest.Pytester) -> None:
    """Grades and choices are kept like every answer, run by run; what was unreadable is asked again."""
    gate(judging, PAIRWISE + "[paired.with_ties]\nmin = 0.5\n")
    kept = ("--truthguard-cache", str(judging.path / "kept"))
    run(judging, *ARGUMENTS, *kept, model=None)
    (judging.path / "requests.log").unlink()
    run(judging, *ARGUMENTS, *kept, model=None).assert_outcomes(passed=1)
    assert not requests(judging)


def test_the_starter_set_measures_a_judge_at_once(judging: pytest.Pytester) -> None:
    """The set that ships has both kinds of item; a judge that knows its labels reaches the top of every metric."""
    items = judge_starter.load().items
    graded = [
        {"response": item.response, "score": int(item.scores[0])} for item in items if isinstance(item, GradedResponse)
    ]
    paired = [
        {"a": item.responses[0], "b": item.responses[1], "winner": item.winner}
        for item in items
        if isinstance(item, ResponsePair)
    ]
    for name, rows in (("graded", graded), ("paired", paired)):
        (judging.path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    knowing = Path(judging.path / "knowing.py")
    knowing.write_text(
        knowing.read_text().replace("place % 5 == 4", "False").replace("if place % 3 else", "if True else")
    )
    metrics = ("pearson", "spearman", "kendall", "accuracy", "consistency", "without_ties", "with_ties")
    gate(judging, "".join(f"[judge_starter.{name}]\nmin = 1\n" for name in metrics))
    result = run(judging, *ARGUMENTS, model=None)
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines([f"judge_starter: {len(items)} responses and pairs, no model asked"])
