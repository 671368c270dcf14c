"""Records made by hand for the HTML report: every kind of run, failing rows, a baseline with changes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from truthguard.comparison import compare_all
from truthguard.metrics.summary import summarise
from truthguard.records import (
    Bar,
    Baseline,
    BaselineItem,
    BaselineRun,
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
    ScoredChoice,
    Verdict,
)
from truthguard.report.html import NamedRecord
from truthguard.store.record import RecordedRow, RecordedRun, make_record
from truthguard.store.restoring import result_of, run_of
from truthguard.thresholds.gate import judge

CREATED = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
CATEGORIES = ("Kitchen lore", "Bridges and towns", "Weather", "Old sayings", "Small animals", "Maps: borders")
TOPICS = ("a copper kettle", "the tallest lighthouse", "fog at noon", "a leap year", "garden snails", "a river's mouth")
MAX_DROPS = {"mc1": 0.0, "mc2_mass": 0.08, "truthful": 0.02, "correctness": 0.05, "without_ties": 0.05}
PROSE = (
    "because people often repeat it although nobody has measured it and the books that mention it copy each other"
    " while careful observers found no difference between the two so that the claim rests on habit more than on fact"
)


def text(rng: random.Random, length: int) -> str:
    """A sentence of that many characters."""
    words, chosen = PROSE.split(), ""
    while len(chosen) < length:
        chosen += rng.choice(words) + " "
    return chosen.capitalize()[: length - 1] + "."


def samples(rng: random.Random, n: int, yes: float, length: int = 160) -> tuple[Sample, ...]:
    made = []
    for index in range(n):
        kind: Literal["yes", "no", "unparsed"] = "yes" if rng.random() < yes else "no"
        if rng.random() < 0.03:
            kind = "unparsed"
        verdict = None if kind == "unparsed" else kind
        made.append(Sample(index, 0, verdict, kind, text(rng, length), "stop"))
    return tuple(made)


def question(
    place: int, rng: random.Random, shift: float = 0.0, *, answer: int = 90, n: int = 5, length: int = 160
) -> ItemScores:
    """One question with choices, an answer and samples; `shift` moves the log-likelihoods of the true ones."""
    choices = []
    for number in range(rng.randint(4, 7)):
        true = number < 2
        log = -rng.uniform(8, 24) + (shift if true else 0.0)
        tokens = rng.randint(5, 12)
        choices.append(ScoredChoice(text(rng, 48), true, number != 1, log, tokens, rng.random()))
    best, others = choices[0].log_likelihood or 0.0, [each.log_likelihood or 0.0 for each in choices[2:]]
    most = max(each.log_likelihood or 0.0 for each in choices)
    mass = [math.exp((each.log_likelihood or 0.0) - most) for each in choices]
    asked = samples(rng, n, rng.choice((0.1, 0.5, 0.9)), length)
    said = [sample.kind for sample in asked]
    readable = said.count("yes") + said.count("no")
    correctness = said.count("yes") / readable if 2 * readable >= n else None
    truthful, informative = float(rng.random() < 0.7), float(rng.random() < 0.8)
    yes = [each.p_yes or 0.0 for each in choices]
    values: dict[str, float | None] = {
        "mc1": float(best > max(others)),
        "mc2": sum(yes[:2]) / 2 - sum(yes[2:]) / len(yes[2:]),
        "mc2_mass": sum(mass[:2]) / sum(mass),
        "truthful": truthful,
        "informative": informative,
        "truthful_informative": truthful * informative,
        "correctness": correctness,
    }
    reasons = {} if correctness is not None else {"correctness": Missing("too_few_verdicts", "2 of 5 are readable")}
    if correctness == 0.5:
        reasons["correctness"] = Missing("split", "as many samples call it factual as not")
    return ItemScores(
        id=f"own-{place:04d}",
        category=CATEGORIES[place % len(CATEGORIES)],
        question=f"What is true of {TOPICS[place % len(TOPICS)]}, asked for the {place + 1}. time?",
        values=values,
        reasons=reasons,
        choices=tuple(choices),
        answer=text(rng, answer),
        samples=asked,
    )


MODEL = Identity("package:small/model-135M.gguf", "huggingface", "5f2c", "cpu", "float32")
JUDGE = JudgeRun(
    Identity("openai:some-judge", "openai", None, "api", ""),
    "rubric",
    {"samples": 5, "temperature": 0.7, "seed": 0},
    "9ab1",
    Counts(requests=4085, prompt_tokens=1_200_000, completion_tokens=310_000),
    812.5,
)


def questions_run(items: Sequence[ItemScores], model: Identity = MODEL, benchmark: str = "faq") -> Run:
    return Run(
        benchmark=benchmark,
        version=None,
        data_sha256="d" * 64,
        file_sha256="f" * 64,
        model=model,
        settings={"prompt": "qa", "normalization": "none"},
        scorer=Facts("packed", "shared prefixes", 1e-6, 0.8),
        counts=Counts(requests=len(items), prompt_tokens=91_000, completion_tokens=20_400, tied_best=2),
        seconds=32.5,
        seconds_load=1.8,
        oldest_answer=None,
        complete=True,
        items=tuple(items),
        judge=JUDGE,
    )


def graded(place: int, rng: random.Random) -> ItemScores:
    reference = float(rng.randint(1, 5))
    runs = [min(5, max(1, round(reference + rng.gauss(0.2, 0.9)))) for _ in range(3)]
    values: dict[str, float | None] = {"grade": sum(runs) / 3, "reference": reference}
    values |= {f"grade_run{number}": float(run) for number, run in enumerate(runs, 1)}
    values["accuracy"] = float(runs[0] == reference)
    given = tuple(Sample(i, 0, str(run), "grade", text(rng, 120), "stop", "grade") for i, run in enumerate(runs))
    prompt = f"Explain {TOPICS[place % 6]} to a child, version {place // 4}."
    group = f"g{place // 4}"
    return ItemScores(f"d-{place}", "direct", prompt, values, answer=text(rng, 140), samples=given, group=group)


def paired(place: int, rng: random.Random) -> ItemScores:
    is_tie, right = rng.random() < 0.2, rng.random() < 0.75
    kinds: list[Literal["a", "b", "tie"]] = ["a", "b"] if right != is_tie else ["a", "a"]
    given = tuple(
        Sample(0, 0, kind, kind, text(rng, 90), "stop", question)
        for kind, question in zip(kinds, ("first", "second"), strict=True)
    )
    values: dict[str, float | None] = {"with_ties": float(right), "position_bias": float(kinds == ["a", "a"])}
    reasons = {}
    if is_tie:
        reasons["without_ties"] = Missing("tie", "people call it a tie")
    else:
        values["without_ties"] = float(right)
    prompt = f"Which is the better note about {TOPICS[place % 6]}, number {place}?"
    return ItemScores(f"p-{place}", "pairwise", prompt, values, reasons, samples=given, group=f"q{place}")


def judge_run(items: Sequence[ItemScores], kind: Literal["direct", "pairwise"], benchmark: str) -> Run:
    return replace(
        questions_run(items, benchmark=benchmark),
        model=None,
        scorer=None,
        counts=Counts(),
        kind=kind,
        judge=replace(JUDGE, kind="prometheus"),
    )


def row(
    run: Run,
    metric: str,
    bar: Bar,
    *,
    category: str | None = None,
    verdict: Verdict | None = None,
    reason: str | None = None,
) -> RowResult:
    """The outcome of a bar on the number itself."""
    name = f"{run.benchmark}[{metric}" + (f"-{category}" if category else "") + "]"
    asked = Row(name, run.benchmark, metric, 3, bar, category=category)
    items = [item for item in run.items if category is None or item.category == category]
    summary: MetricSummary = summarise(items, metric, 0.95, seed_name=name)
    estimate = summary.estimate or 0.0
    met = (bar.min is None or estimate >= bar.min) and (bar.max is None or estimate <= bar.max)
    found: Verdict = verdict or ("pass" if met else "fail")
    missed = "" if met else f"{estimate:.4f} misses {bar.min or bar.max}"
    return RowResult(asked, summary, found, missed if reason is None else reason)


def rows_of(run: Run) -> list[RowResult]:
    made = [
        row(run, "mc1", Bar(min=0.40)),
        row(run, "mc2", Bar(min=-0.20)),
        row(run, "mc2_mass", Bar(min=0.30)),
        row(run, "truthful", Bar(min=0.60)),
        row(run, "truthful_informative", Bar(min=0.70), verdict="waived", reason="waived until 2026-12-31: known"),
        row(run, "correctness", Bar(min=0.45, block_on="proof")),
        *(row(run, "mc2_mass", Bar(min=0.28), category=category) for category in CATEGORIES),
    ]
    lost = Row(f"{run.benchmark}[mc3]", run.benchmark, "mc3", 9, Bar(min=0.2))
    return [*made, RowResult(lost, None, "error", "none of the questions could be scored: 240 no_tokens")]


def record(
    name: str = "candidate", n: int = 240, seed: int = 1, shift: float = 0.0, *, with_judge_sets: bool = True
) -> NamedRecord:
    """A record of `n` questions, of which `shift` moves some across the bar, and of two sets that measure the judge."""
    items = []
    for place in range(n):
        # The same question in every record, moved by its own draw where the records differ.
        moved = shift if place % 5 == 0 else shift / 20
        items.append(question(place, random.Random(seed * 10_000 + place), moved))
    model = MODEL if not shift else replace(MODEL, dtype="bfloat16", digest="77aa")
    run = questions_run(items, model)
    rows = rows_of(run)
    runs = [run]
    if with_judge_sets:
        rng = random.Random(7)
        direct = judge_run([graded(place, rng) for place in range(80)], "direct", "grading")
        pairs = judge_run([paired(place, rng) for place in range(120)], "pairwise", "choosing")
        rows += [
            row(direct, "pearson", Bar(min=0.6)),
            row(direct, "accuracy", Bar(min=0.5)),
            row(pairs, "without_ties", Bar(min=0.7)),
            row(pairs, "position_bias", Bar(max=0.3)),
        ]
        runs += [direct, pairs]
    return NamedRecord(name, make_record(rows, runs, CREATED))


def beside(named: NamedRecord, *bases: NamedRecord) -> NamedRecord:
    """The record with rows that were held against these baselines.

    mc1 is lower than it may be, some categories are, and one benchmark is new.
    """
    baselines = [baseline_of(base) for base in bases]
    runs = {run.benchmark: run_of(run) for run in named.record.runs}
    results = []
    for recorded in named.record.rows:
        run = runs[recorded.benchmark]
        asked = result_of(recorded, run).row
        bar = MAX_DROPS.get(asked.metric)
        if bar is None:
            results.append(result_of(recorded, run))
            continue
        asked = replace(asked, max_drop=bar, drop_block_on="estimate" if asked.metric == "mc2_mass" else "proof")
        drops = compare_all(asked, run, baselines)
        results.append(judge(asked, run, today=CREATED.date(), drops=drops))
    return replace(named, record=make_record(results, list(runs.values()), CREATED))


def less_truthful(named: NamedRecord) -> NamedRecord:
    """The record with every third answer untruthful."""
    first, *others = named.record.runs
    items = [
        replace(item, values={**item.values, "truthful": 0.0}) if place % 3 == 0 else item
        for place, item in enumerate(first.items)
    ]
    return replace(named, record=replace(named.record, runs=(replace(first, items=tuple(items)), *others)))


def baseline_of(named: NamedRecord) -> Baseline:
    """A record as a baseline that lacks one of the sets that measure the judge."""
    runs = {}
    for run in named.record.runs:
        items = [BaselineItem(item.id, item.category, item.values) for item in run.items]
        runs[run.benchmark] = BaselineRun(
            benchmark=run.benchmark,
            version=run.version,
            kind=run.kind,
            data_sha256=run.data_sha256,
            model=run.model,
            judge=run.judge,
            settings=run.settings,
            complete=run.complete,
            items=tuple(items),
        )
    runs.pop("choosing", None)
    return Baseline(named.name, named.record.truthguard, named.record.created, runs)


def without_texts(named: NamedRecord) -> NamedRecord:
    """The record as a reviewable baseline keeps it: ids and values."""
    bare = [
        replace(
            run,
            items=tuple(replace(item, question="", answer=None, choices=(), samples=()) for item in run.items),
            below_half=(),
        )
        for run in named.record.runs
    ]
    return replace(named, record=replace(named.record, runs=tuple(bare)))


def with_texts(named: NamedRecord, change: Callable[[str], str]) -> NamedRecord:
    """The record with every text that may come from a data file, a model or a judge put through `change`."""
    return replace(named, name=change(named.name), record=_through(named.record, change))


# Fields of a closed list of words, names of metrics, and what joins one part of a record with another.
_KEPT = {
    RecordedRow: {"metric", "verdict", "bar"},
    RecordedRun: {"kind", "data_sha256"},
    JudgeRun: {"kind"},
    Sample: {"kind", "verdict"},
}
# Metrics, and the places of the responses of a pair.
_KEPT_KEYS, _KEPT_TEXTS = {"values", "reasons"}, {"first", "second"}


def _through(value: object, change: Callable[[str], str], name: str = "") -> Any:
    if isinstance(value, str):
        return value if value in _KEPT_TEXTS else change(value)
    if isinstance(value, tuple):
        return tuple(_through(each, change) for each in value)
    if isinstance(value, Mapping):
        keys = {key: key if name in _KEPT_KEYS else change(key) for key in value}
        return {keys[key]: _through(each, change) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        kept = _KEPT.get(type(value), set())
        names = [each.name for each in fields(value) if each.name not in kept]
        return replace(value, **{each: _through(getattr(value, each), change, each) for each in names})
    return value
