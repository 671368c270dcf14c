"""Baselines: small, reviewable, deterministic, and read back with care; records serve as well."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.strategies import judges
from truthguard import __version__
from truthguard.errors import DataError, StoreError
from truthguard.records import Identity, ItemScores, JudgeRun, Missing, Run, Sample, ScoredChoice
from truthguard.store.baseline import read_baseline, write_baseline
from truthguard.store.record import write_record

JUDGE = JudgeRun(Identity("j", "openai", None), "rubric", {"samples": 5}, "p", prompts={"truthful": "t"}, seconds=3.0)


def run_of(items: list[ItemScores], **changes: object) -> Run:
    from tests.store.test_record import RUN

    return replace(RUN, items=tuple(items), **changes)  # type: ignore[arg-type]


def item(name: str, category: str = "Law", **values: float | None) -> ItemScores:
    reasons = {metric: Missing("nan", "a NaN") for metric, value in values.items() if value is None}
    choices = (ScoredChoice("a secret answer", True, True, -1.5, 3),)
    sample = Sample(0, 0, "yes", "yes", "a secret reason", "stop")
    return ItemScores(name, category, "a secret question", values, reasons, choices, "a secret", (sample,))


RUN = run_of([item("q2", mc1=1.0, mc2=-0.1), item("q0", "Art", mc1=0.0, mc2=None), item("q1", mc1=1.0, mc2=0.25)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "base.json"


def test_the_file_is_sorted_with_one_item_a_line(path: Path) -> None:
    """Items by id, values in shortest form, null for what could not be scored, categories once, no text at all."""
    write_baseline(path, [run_of([item("s1", with_ties=1.0)], benchmark="zoo", kind="pairwise"), RUN])
    lines = path.read_text("utf-8").splitlines()
    assert lines[:3] == ["{", '"schema": 1,', f'"truthguard": "{__version__}",']
    assert re.fullmatch(r'"created": "\d{4}-\d\d-\d\dT[\d:.]+Z",', lines[3])
    at = lines.index('"categories": ["Art","Law"],')
    assert lines[at : at + 6] == [
        '"categories": ["Art","Law"],',
        '"columns": ["id","category","mc1","mc2"],',
        '"items": [',
        '["q0",0,0,null],',
        '["q1",1,1,0.25],',
        '["q2",1,1,-0.1]',
    ]
    assert lines.index('"benchmark": "truthfulqa",') < lines.index('"benchmark": "zoo",')
    assert "secret" not in path.read_text("utf-8")


def test_it_comes_back_with_all_that_a_comparison_needs(path: Path) -> None:
    """Values, categories, digests, model, judge and settings; of the judge only who it was and how it was asked."""
    write_baseline(path, [replace(RUN, judge=JUDGE)])
    baseline = read_baseline(path)
    assert (baseline.name, baseline.truthguard) == ("base.json", __version__)
    run = baseline.runs["truthfulqa"]
    assert (run.version, run.kind, run.data_sha256, run.complete) == (RUN.version, RUN.kind, RUN.data_sha256, True)
    assert (run.model, run.settings) == (RUN.model, RUN.settings)
    assert run.judge == replace(JUDGE, seconds=0.0)
    assert [(each.id, each.category, dict(each.values)) for each in run.items] == [
        ("q0", "Art", {"mc1": 0.0, "mc2": None}),
        ("q1", "Law", {"mc1": 1.0, "mc2": 0.25}),
        ("q2", "Law", {"mc1": 1.0, "mc2": -0.1}),
    ]


def test_equal_runs_make_equal_bytes_but_for_the_time(path: Path) -> None:
    """The order of the runs, of their items and of their values changes nothing; only one line says when."""
    other = run_of([item("q9", mc1=1.0)], benchmark="faq")

    def bytes_of(*runs: Run) -> list[str]:
        write_baseline(path, runs)
        return [line for line in path.read_text("utf-8").splitlines() if not line.startswith('"created"')]

    turned = [replace(each, values=dict(reversed(list(each.values.items())))) for each in reversed(RUN.items)]
    assert bytes_of(RUN, other) == bytes_of(other, replace(RUN, items=tuple(turned)))
    assert len(path.read_text("utf-8").splitlines()) == len(bytes_of(RUN, other)) + 1


def test_five_metrics_of_all_questions_fit_into_150_kb(path: Path) -> None:
    """817 questions with the longest of values that real runs have."""
    drawn = random.Random(0)
    names = ("bleu_diff", "rouge1_diff", "rouge2_diff", "rougeL_diff", "mc2")
    items = [
        item(f"tqa-{drawn.getrandbits(32):08x}", f"Category {n % 38}", **{name: drawn.uniform(-1, 1) for name in names})
        for n in range(817)
    ]
    write_baseline(path, [replace(run_of(items), judge=JUDGE)])
    assert len(path.read_bytes()) <= 150_000
    read = {each.id: dict(each.values) for each in read_baseline(path).runs["truthfulqa"].items}
    assert read == {each.id: dict(each.values) for each in items}


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
            st.dictionaries(st.sampled_from(["mc2", "mc3", "grade", "grade_run1"]), st.none() | st.floats(0, 1)),
        ),
        max_size=6,
    ),
    st.none() | judges,
)
def test_any_values_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    made: dict[str, tuple[str, dict[str, float | None]]],
    judge: JudgeRun | None,
) -> None:
    """Hostile ids and categories, values that some items lack, and any judge."""
    if judge is not None and re.search(r"\\ud[89a-f]", repr(judge)):
        judge = None  # lone surrogates become U+FFFD
    path = tmp_path_factory.mktemp("baseline") / "base.json"
    items = [ItemScores(name, category, "", values) for name, (category, values) in made.items()]
    write_baseline(path, [run_of(items, judge=judge)])
    run = read_baseline(path).runs["truthfulqa"]
    assert {each.id: (each.category, dict(each.values)) for each in run.items} == made
    assert (run.judge is None) == (judge is None)


def test_what_nothing_is_compared_by_is_left_out(path: Path) -> None:
    """Letter bias stands beside a metric and is none itself."""
    write_baseline(path, [run_of([item("q0", mc_binary=0.5, letter_bias=-1.0)])])
    assert dict(read_baseline(path).runs["truthfulqa"].items[0].values) == {"mc_binary": 0.5}


def test_a_record_serves_as_a_baseline(path: Path, tmp_path: Path) -> None:
    """The same runs written either way are the same baseline, but for the order of the items."""
    record = tmp_path / "record.json"
    judged = replace(RUN, judge=JUDGE)
    write_record(record, [], [judged])
    write_baseline(path, [judged])
    ours, whole = (read_baseline(each).runs["truthfulqa"] for each in (path, record))
    assert {each.id: each for each in whole.items} == {each.id: each for each in ours.items}
    assert whole.judge == JUDGE
    assert replace(whole, items=(), judge=None) == replace(ours, items=(), judge=None)


def test_a_record_of_an_older_version_serves_too(path: Path) -> None:
    """A record of schema 2, without what came later, is read as it is."""
    write_record(path, [], [replace(RUN, judge=JUDGE)])
    content = json.loads(path.read_text("utf-8"))
    content["schema"] = 2
    for run in content["runs"]:
        for name in ("kind", "reference_agreement", "below_half"):
            del run[name]
        del run["judge"]["prompts"]
        for each in run["items"]:
            del each["group"]
    path.write_text(json.dumps(content), "utf-8")
    run = read_baseline(path).runs["truthfulqa"]
    assert run.kind == "questions"
    assert run.judge is not None
    assert run.judge.prompts == {}


def test_a_stopped_run_and_two_of_a_benchmark_are_not_written(path: Path) -> None:
    """Neither is a baseline; the file is not touched."""
    for runs in ([replace(RUN, complete=False)], [RUN, RUN]):
        with pytest.raises(ValueError, match=r"stopped|one run"):
            write_baseline(path, runs)
    assert not path.exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """Writing fails as a record's does, with the option to change."""
    with pytest.raises(StoreError, match=r"the baseline cannot be written.*--truthguard-save-baseline FILE"):
        write_baseline(tmp_path / "none" / "base.json", [RUN])


def refused(path: Path, text: str) -> tuple[int | None, str]:
    path.write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        read_baseline(path)
    (mistake,) = caught.value.mistakes
    assert mistake.file == path
    return mistake.line, mistake.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["q1",1,1,0.25]', '["q1",1,1]', r"items\[1\]: expected 4 values, one for each of the columns, got 3"),
        ('["q1",1,1,0.25]', '["q1",2,1,0.25]', "expected the number of a category, 0 to 1, got 2"),
        ('["q1",1,1,0.25]', '["q1",true,1,0.25]', "expected the number of a category"),
        ('["q1",1,1,0.25]', '["q1",1,true,0.25]', "mc1: expected a number.* got True"),
        ('["q1",1,1,0.25]', '["q1",1,1,"x"]', "mc2: expected a number"),
        ('["q1",1,1,0.25]', f'["q1",1,1,1{"0" * 400}]', "mc2: expected a number within the range of a float"),
        ('["q1",1,1,0.25]', '["q1",1,0.5,0.25]', "q1 has mc1 = 0.5, expected 0 or 1"),
        ('["q1",1,1,0.25]', '["q1",1,1,1.5]', "q1 has mc2 = 1.5, expected -1 to 1"),
        ('["q1",1,1,0.25]', '["q1",1,1,"nan"]', "q1 has mc2 = nan"),
        ('["q2",1,1,-0.1]', '["q1",1,1,-0.1]', "the item q1 occurs twice"),
    ],
)
def test_a_damaged_item_is_shown_with_its_line(path: Path, old: str, new: str, message: str) -> None:
    """File, line and what was expected there."""
    write_baseline(path, [RUN])
    text = path.read_text("utf-8")
    line, found = refused(path, text.replace(old, new))
    assert re.search(message, found)
    assert line == text.splitlines().index('["q1",1,1,0.25],') + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(schema=99), "a baseline of schema 99"),
        (lambda c: c["baseline"][0].pop("data_sha256"), r"baseline\[0\].data_sha256 is missing"),
        (lambda c: c["baseline"][0].update(columns=["id", "mc1"]), r"baseline\[0\].columns: expected"),
        (lambda c: c["baseline"].append(c["baseline"][0]), "two runs of truthfulqa: expected one of each"),
        (lambda c: c["baseline"][0].update(benchmrk=1), "benchmrk is not known here; did you mean 'benchmark'"),
        (lambda c: c["baseline"][0]["items"].__setitem__(0, [3, 0, 0, 0]), "expected an id first, got 3"),
        (lambda c: c.pop("schema"), 'an object with "schema" and "baseline", or a record with'),
    ],
)
def test_other_damage_is_told(path: Path, change: Any, message: str) -> None:
    """The place inside the file, and the nearest valid name."""
    write_baseline(path, [RUN])
    content = json.loads(path.read_text("utf-8"))
    change(content)
    assert re.search(message, refused(path, json.dumps(content))[1])


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", "nonsense", '{"schema": 1, "baseline": NaN}'])
def test_what_is_no_baseline_is_refused(path: Path, text: str) -> None:
    """Other content is no baseline, and the message names the file."""
    refused(path, text)


def test_a_key_that_stands_twice_is_refused(path: Path) -> None:
    """As a merge of two versions leaves it: the last one would win, and nobody would know."""
    write_baseline(path, [RUN])
    text = path.read_text("utf-8").replace('"items": [', '"items": [],\n"items": [')
    assert "an object has 'items' twice" in refused(path, text)[1]


def test_no_file_is_said(path: Path) -> None:
    """A path without a file is told as the system tells it."""
    with pytest.raises(DataError, match=r"the baseline cannot be read \(No such file"):
        read_baseline(path)


def test_a_flood_of_mistakes_is_cut(path: Path) -> None:
    """A file of another tool does not fill the screen."""
    write_baseline(path, [run_of([item(f"q{n}", mc1=1.0) for n in range(50)])])
    path.write_text(re.sub(r",1\]", ",7]", path.read_text("utf-8")), "utf-8")
    with pytest.raises(DataError) as caught:
        read_baseline(path)
    assert len(caught.value.mistakes) == 10
