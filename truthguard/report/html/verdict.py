"""The first screen: what came of it, who was asked, what failed and by how much; and every row of the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from truthguard.catalogue import SIMILARITY_AGREEMENT
from truthguard.records import RowResult, Run, Verdict
from truthguard.report.html.drops import missed_drop
from truthguard.report.html.restored import name_of, other_keys
from truthguard.report.html.writing import block, interval, line, number
from truthguard.report.terminal import WORDS, bars_text, margin, slice_name
from truthguard.report.words import NOUNS, counted
from truthguard.store.record import RecordedRow
from truthguard.text import named, visible

# How many failed rows the first screen has room for, and of a file that passed how many of the nearest.
MOST_FAILED, MOST_NEAR = 8, 3
_TITLES: dict[Verdict, str] = {"fail": "Failed", "error": "Could not be measured", "pass": "Passed"}
_BLOCKING: tuple[Verdict, ...] = ("fail", "error")


@dataclass(frozen=True, slots=True)
class RowView:
    """One row as the page shows it; `missed` is how far it is on the wrong `side` of its bar.

    `plain` says that the reason adds nothing to the numbers.
    """

    name: str
    benchmark: str
    slice: str
    score: str
    interval: str
    n: str
    bar: str
    margin: str
    missed: str
    side: str
    verdict: Verdict
    word: str
    reason: str
    plain: bool


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict of all rows, those to look at first, and the facts beside them."""

    verdict: Verdict
    title: str
    sentence: str
    shown: tuple[RowView, ...]
    more: tuple[RowView, ...]
    models: tuple[str, ...]
    judges: tuple[str, ...]
    trust: tuple[str, ...]
    questions: tuple[str, ...]


def headline(rows: Sequence[tuple[RecordedRow, RowResult]], runs: Sequence[Run], trust: str | None) -> Headline:
    """What the release manager must know; `trust` is what is known of the judge, in words."""
    results = [result for _, result in rows]
    counts = Counter(result.verdict for result in results)
    verdict: Verdict = next((each for each in (*_BLOCKING, "pass") if counts[each]), "not_gated")
    failed = [pair for kind in _BLOCKING for pair in _ordered(rows) if pair[1].verdict == kind]
    shown = failed or _nearest(rows)
    of = {run.benchmark: run for run in runs}
    views = tuple(row_view(row, result, of.get(row.benchmark)) for row, result in shown)
    parts = [f"{counts[each]} {word}" for each, word in WORDS.items() if counts[each]]
    return Headline(
        verdict=verdict,
        title=_TITLES.get(verdict, "Nothing was gated"),
        sentence=f"Of {counted(len(rows), 'bar')} {', '.join(parts)}." if rows else "The record has no rows.",
        shown=views[:MOST_FAILED] if failed else views,
        more=views[MOST_FAILED:] if failed else (),
        models=_distinct(_model(run) for run in runs),
        judges=_distinct(_judge(run) for run in runs if run.judge is not None),
        trust=(block(trust),) if trust else _distinct(text for run in runs for text in _agreement(run)),
        questions=_distinct(map(_questions, runs)),
    )


def row_view(row: RecordedRow, result: RowResult, run: Run | None) -> RowView:
    """A row of the gate in words."""
    summary, distance = result.summary, margin(result)
    n = "–"
    if summary is not None:
        n = f"{summary.n:,}" + (f" of {summary.n + summary.n_unscored:,}" if summary.n_unscored else "")
    bars = [text for text in (bars_text(result.row), *other_keys(row.bar)) if text != "-"]
    missed, side = _missed(result)
    return RowView(
        name=name_of(row.metric, run),
        benchmark=line(row.benchmark),
        slice=line(slice_name(result)),
        score=number(None if summary is None else summary.estimate),
        interval=interval(summary.low, summary.high) if summary is not None else "–",
        n=n,
        bar=", ".join(bars) or "–",
        margin=f"{distance:+.4f}".replace("-", "−") if distance is not None else "–",
        missed=missed,
        side=side,
        verdict=row.verdict,
        word=WORDS[row.verdict],
        reason=block(row.reason),
        plain=_adds_nothing(result),
    )


def _missed(result: RowResult) -> tuple[str, str]:
    """How far a row is from its bar, and on which side of which end: of the score's, else of the drop's."""
    bar, summary, distance = result.row.bar, result.summary, margin(result)
    if summary is not None and summary.estimate is not None and distance is not None and distance < 0:
        return number(-distance), "below" if bar.min is not None and summary.estimate < bar.min else "above"
    if (drop := missed_drop(result)) is not None:
        return number(drop.estimate), f"lower than {line(drop.baseline)}"
    return "–", ""


def _adds_nothing(result: RowResult) -> bool:
    """Whether the reason says no more than the numbers beside it: the score alone missed its bar, by the number."""
    distance = margin(result)
    by_number = result.row.bar.block_on == "estimate" and distance is not None and distance < 0
    return by_number and result.verdict == "fail" and ";" not in result.reason


def _ordered(rows: Sequence[tuple[RecordedRow, RowResult]]) -> list[tuple[RecordedRow, RowResult]]:
    """Whole rows before their slices, the furthest from its bar first."""
    return sorted(rows, key=lambda pair: (pair[0].slice is not None, _distance(pair[1])))


def _nearest(rows: Sequence[tuple[RecordedRow, RowResult]]) -> list[tuple[RecordedRow, RowResult]]:
    """Of rows that passed, those that were nearest to failing."""
    passed = [pair for pair in rows if pair[1].verdict == "pass" and margin(pair[1]) is not None]
    return sorted(passed, key=lambda pair: _distance(pair[1]))[:MOST_NEAR]


def _distance(result: RowResult) -> float:
    found = margin(result)
    return 0.0 if found is None else found


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))


def _model(run: Run) -> str:
    return "" if run.model is None else line(named(run.model.name, run.model.dtype, run.model.device))


def _judge(run: Run) -> str:
    judge = run.judge
    if judge is None:
        return ""
    if judge.identity is None:
        return f"{judge.kind} ({visible(str(judge.settings.get('measure', 'rouge1')))}), asks no model"
    return line(named(judge.identity.name, judge.kind, judge.identity.dtype))


def _agreement(run: Run) -> list[str]:
    """What the judge without a model is worth."""
    if run.judge is None or run.judge.kind != "similarity":
        return []
    measure = str(run.judge.settings.get("measure"))
    found = [
        f"on {dimension} in {measured[measure].accuracy:.1%}"
        for dimension, measured in SIMILARITY_AGREEMENT.items()
        if measure in measured and any(dimension in item.values for item in run.items)
    ]
    return [f"agrees with people {', '.join(found)} of public answers"] if found else []


def _questions(run: Run) -> str:
    name = f"{line(run.benchmark)} {line(run.version)}" if run.version else line(run.benchmark)
    whole = "" if run.complete else ", stopped before everything was asked"
    return f"{name}: {counted(len(run.items), NOUNS[run.kind])}{whole}"
