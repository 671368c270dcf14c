"""The sections of pictures: what is drawn of a record, and the words above and below each picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truthguard.catalogue import JUDGING_KINDS
from truthguard.metrics.generation import Grid, grid
from truthguard.metrics.summary import summarise
from truthguard.records import Bar, Missing, RowResult, Run
from truthguard.report.html import judged
from truthguard.report.html.charts.comparison import Step, point_chart, sides_chart, step_chart
from truthguard.report.html.charts.history import Point, history_chart
from truthguard.report.html.charts.scores import Mark, category_chart, score_chart
from truthguard.report.html.charts.tables import confusion_chart, grades_chart, grid_chart, share_text
from truthguard.report.html.measures import Measure
from truthguard.report.html.pairing import Moved
from truthguard.report.html.restored import known, name_of
from truthguard.report.html.sheet import Role
from truthguard.report.html.writing import line, number, signed
from truthguard.report.terminal import slice_name
from truthguard.report.words import counted
from truthguard.text import visible

# Charts with more categories are folded but for the first.
MOST_CATEGORIES = 12
_UNKNOWN = Missing("unscored", "one of the two judgements is missing")


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its title and what to read in it; `folded` ones are opened by the reader."""

    title: str
    caption: str
    svg: str
    folded: bool = False


def scores(runs: Sequence[Run], results: Sequence[RowResult]) -> tuple[Figure, ...]:
    """The whole rows of each benchmark."""
    figures = []
    for place, run in enumerate(runs):
        rows = [result for result in results if result.row.benchmark == run.benchmark and slice_name(result) == "all"]
        marks = [mark for result in rows if (mark := _mark(result, run, name_of(result.row.metric, run)))]
        if marks:
            name = line(run.benchmark)
            text = "; ".join(_said(mark) for mark in marks)
            figures.append(Figure(name, "", score_chart(f"scores{place}", f"Scores of {name}: {text}", marks)))
    return tuple(figures)


def categories(run: Run, measures: Sequence[Measure], results: Sequence[RowResult], prefix: str) -> tuple[Figure, ...]:
    """Each metric by category, the lowest first; of many categories the first one and those that failed are open."""
    figures: list[Figure] = []
    rows: dict[tuple[str, str | None], RowResult] = {
        (result.row.metric, result.row.category): result for result in results if result.row.category
    }
    for measure in measures:
        marks = sorted(_by_category(run, measure, rows), key=lambda mark: mark.estimate)
        if len(marks) > 1:
            failed = [mark for mark in marks if mark.failed]
            title = f"{measure.printed} · {line(run.benchmark)}"
            below = counted(len(failed), "slice") + " below the bar" if failed else "the lowest first"
            text = f"{title} in {counted(len(marks), 'category')}: {'; '.join(map(_said, marks))}"
            svg = category_chart(f"{prefix}-{len(figures)}", text, marks)
            folded = bool(figures) and not failed and len(marks) > MOST_CATEGORIES
            figures.append(Figure(title, f"{counted(len(marks), 'category')}, {below}", svg, folded))
    return tuple(figures)


def _by_category(run: Run, measure: Measure, rows: Mapping[tuple[str, str | None], RowResult]) -> list[Mark]:
    metric = measure.metric
    if metric is None or metric.scale == "statistic":
        return []
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(run.items):
        if measure.name in item.values:
            groups.setdefault(item.category, []).append(place)
    marks = []
    for category, places in groups.items():
        row = rows.get((measure.name, category))
        mark = _mark(row, run, line(category)) if row is not None else None
        if mark is None:
            try:
                found = summarise([run.items[place] for place in places], measure.name, 0.95)
            except ValueError:  # a value that the metric cannot have: the table shows it
                continue
            if found.estimate is None:
                continue
            mark = Mark(line(category), found.estimate, found.low, found.high, Bar(), found.chance)
        marks.append(mark)
    return marks


def _mark(result: RowResult, run: Run, label: str) -> Mark | None:
    summary = result.summary
    if summary is None or summary.estimate is None:
        return None
    failed = result.verdict in ("fail", "error")
    word = {"fail": "fails", "error": "error", "waived": "waived"}.get(result.verdict, "")
    chance = _chance(result, run)
    return Mark(label, summary.estimate, summary.low, summary.high, result.row.bar, chance, failed, word)


def _chance(result: RowResult, run: Run) -> float | None:
    """The level of chance of a row's questions: no record says it."""
    row, metric = result.row, known(result.row.metric)
    if metric is None or metric.elicitation not in ("log_likelihood", "p_yes", "letters"):
        return None
    items = [
        item
        for item in run.items
        if (row.category is None or item.category == row.category) and row.metric in item.values
    ]
    if not any(item.choices for item in items):
        return None
    try:
        return summarise(items, row.metric, row.confidence).chance
    except ValueError:  # a value that the metric cannot have
        return None


def _said(mark: Mark) -> str:
    return f"{visible(mark.label)} {number(mark.estimate)}" + (f" {mark.word}" if mark.word else "")


def comparison(
    run: Run, moved: Sequence[Moved], rows: Sequence[tuple[RowResult, RowResult]], prefix: str
) -> tuple[Figure, ...]:
    """Every metric before and after, then the questions behind each that changed.

    `rows` are the rows of the run before and now: of what is no mean over questions they are all that there is.
    """
    steps = [Step(each.measure.printed, each.before, each.after, _is_worse(each)) for each in moved]
    steps += [step for before, now in rows if (step := _step(run, before, now)) is not None]
    if all(step.before == step.after for step in steps) and not any(map(has_changed, moved)):
        return ()
    text = "; ".join(f"{step.label} {number(step.before)} to {number(step.after)}" for step in steps)
    title = f"Baseline and now · {line(run.benchmark)}"
    first = Figure(title, "Over the questions that both scored", step_chart(f"{prefix}-steps", text, steps))
    return (first, *(_behind(each, f"{prefix}-{place}") for place, each in enumerate(moved) if has_changed(each)))


def _step(run: Run, before: RowResult, now: RowResult) -> Step | None:
    """A whole row of a metric that is no mean."""
    metric = known(now.row.metric)
    if metric is None or metric.scale != "statistic" or slice_name(now) != "all":
        return None
    then, found = (None if each.summary is None else each.summary.estimate for each in (before, now))
    if then is None or found is None:
        return None
    return Step(name_of(now.row.metric, run), then, found, found < then)


def has_changed(moved: Moved) -> bool:
    """Whether any question has another value than before."""
    return moved.worse + moved.better > 0


def _is_worse(moved: Moved) -> bool:
    return moved.after > moved.before if moved.measure.smaller_is_better else moved.after < moved.before


def _behind(moved: Moved, name: str) -> Figure:
    n = len(moved.pairs)
    caption = f"{number(moved.before)} → {number(moved.after)} ({signed(moved.after - moved.before)}) over {n:,}"
    worse, better = moved.worse, moved.better
    if moved.measure.is_share:
        both = moved.good_in_both
        counts: tuple[tuple[str, int, Role], ...] = (
            ("right in both", both, "good"),
            ("gained", better, "good"),
            ("lost", worse, "bad"),
            ("wrong in both", n - both - worse - better, "muted"),
        )
        text = f"{moved.measure.printed}: " + ", ".join(f"{count} {word}" for word, count, _ in counts)
        return Figure(moved.measure.printed, caption, sides_chart(name, text, counts))
    assert moved.measure.metric is not None, "only metrics of the catalogue are compared"
    points = [value for pair in moved.pairs for value in pair]
    low = 0.0 if min(points) >= 0.0 else min(-1.0, *points)
    text = f"{moved.measure.printed}: {worse} questions worse, {better} better, {n - worse - better} equal"
    svg = point_chart(name, text, moved.pairs, (low, max(1.0, *points)))
    below = "better" if moved.measure.smaller_is_better else "worse"
    caption += f"; {worse:,} worse, {better:,} better; below the diagonal is {below}"
    return Figure(moved.measure.printed, caption, svg)


def answers(run: Run, before: Run | None, prefix: str) -> tuple[Figure, ...]:
    """Truthful by informative, now and in the baseline."""
    figures = []
    for suffix, title, each in (("now", "Now", run), ("then", "Baseline", before)):
        cells = None if each is None else _grid(each)
        if cells is not None and cells.n:
            text = f"{title}: {share_text(cells)}; unscored {cells.unscored}"
            unscored = f"; {cells.unscored:,} unscored" if cells.unscored else ""
            caption = f"{cells.n:,} answers{unscored}"
            svg = grid_chart(f"{prefix}-{suffix}", text, cells)
            figures.append(Figure(f"{title} · {line(run.benchmark)}", caption, svg))
    return tuple(figures)


def _grid(run: Run) -> Grid | None:
    judgements = [
        (_judgement(item.values["truthful"]), _judgement(item.values["informative"]))
        for item in run.items
        if "truthful" in item.values and "informative" in item.values
    ]
    try:
        return grid(judgements) if judgements else None
    except ValueError:  # a judgement that is neither yes nor no
        return None


def _judgement(value: float | None) -> float | Missing:
    return _UNKNOWN if value is None else value


def agreement(run: Run, prefix: str) -> tuple[Figure, ...]:
    """Of a run that measures the judge: its grades against the reference's, its verdicts against people's."""
    if run.kind not in JUDGING_KINDS:
        return ()
    figures: list[Figure] = []
    name = line(run.benchmark)
    if pairs := judged.grade_pairs(run.items):
        equal = sum(round(grade) == round(reference) for reference, grade in pairs)
        text = f"{len(pairs):,} responses, {equal:,} ({equal / len(pairs):.0%}) with the same grade when rounded"
        svg = grades_chart(f"{prefix}-grades", f"Grades of the judge and of the reference: {text}", pairs)
        figures.append(Figure(f"Grades · {name}", text, svg))
    for kind, title, table in (
        ("pairs", "Choices", judged.pair_confusion(run.items)),
        ("labels", "Verdicts", judged.label_confusion(run.items)),
    ):
        if table is not None:
            total = sum(map(sum, table.counts))
            right = sum(table.counts[i][j] for i, j in table.agree)
            text = f"the judge agrees on {right:,} of {total:,} ({right / total:.1%})"
            figures.append(Figure(f"{title} · {name}", text, confusion_chart(f"{prefix}-{kind}", text, table)))
    return tuple(figures)


def history(records: Sequence[tuple[str, Sequence[RowResult]]], runs: Sequence[Run]) -> tuple[Figure, ...]:
    """Each whole row of the newest record over the records that have it; `records` are the newest first."""
    oldest_first = list(reversed(records))
    names = [line(name) for name, _ in oldest_first]
    of = {run.benchmark: run for run in runs}
    figures: list[Figure] = []
    for row in (result.row for result in records[0][1] if slice_name(result) == "all"):
        points = [
            Point(place, summary.estimate, summary.low, summary.high)
            for place, (_, results) in enumerate(oldest_first)
            for result in results
            if result.row.id == row.id and (summary := result.summary) is not None and summary.estimate is not None
        ]
        if len(points) > 1:
            title = f"{name_of(row.metric, of.get(row.benchmark))} · {line(row.benchmark)}"
            text = "; ".join(f"{names[point.place]} {number(point.estimate)}" for point in points)
            svg = history_chart(f"history{len(figures)}", f"{title}: {text}", points, names, row.bar)
            figures.append(Figure(title, "", svg))
    return tuple(figures)
