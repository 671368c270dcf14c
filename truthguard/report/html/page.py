"""The page: sections from a record, a template with autoescape, and a content security policy that allows ours only."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from truthguard.catalogue import CORRECTNESS
from truthguard.comparison import differences
from truthguard.errors import UsageError
from truthguard.metrics.doubts import below_half, split
from truthguard.records import RowResult, Run
from truthguard.report.html import figures, questions
from truthguard.report.html.drops import drop_views
from truthguard.report.html.figures import Figure
from truthguard.report.html.measures import Measure, measures
from truthguard.report.html.pairing import Moved, Pairing, incomparable, moves
from truthguard.report.html.sheet import house_style
from truthguard.report.html.verdict import headline, row_view
from truthguard.report.html.writing import block, line
from truthguard.report.runs import run_lines
from truthguard.report.trust import corrected_lines
from truthguard.store.record import Record
from truthguard.store.restoring import result_of, run_of

# More rows than this are folded behind one line.
MOST_ROWS = 12
_STYLE, _SCRIPTS = "page.css", ("making.js", "detail.js", "questions.js")


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record and what it is called: its file, a release, a model."""

    name: str
    record: Record


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of the newest record with what belongs to it."""

    run: Run
    measures: Sequence[Measure]
    pairing: Pairing | None
    moved: Sequence[Moved] = ()


def missing_extra() -> str | None:
    """What is not installed that the page is made with, and how to get it; None when all is there."""
    absent = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if not absent:
        return None
    return f'an HTML report needs {" and ".join(absent)}: pip install "truthguard[report]"'


def html_report(records: Sequence[NamedRecord], *, trust: str | None = None) -> str:
    """One self-contained page about the first record, the newest, that opens without a network.

    The second record is the baseline that it is compared with; all of them together, when there are more, show
    each metric over time. `trust` says what is known of the judge. The same records make the same bytes. Raises
    UsageError without the `report` extra, ValueError for no records.
    """
    if not records:
        raise ValueError("a report needs a record")
    if (absent := missing_extra()) is not None:
        raise UsageError(absent)
    newest = records[0].record
    runs = [run_of(run) for run in newest.runs]
    of = {run.benchmark: run for run in runs}
    rows = [(row, result_of(row, of.get(row.benchmark))) for row in newest.rows]
    baseline = records[1] if len(records) > 1 else None
    parts = _parts(runs, [result for _, result in rows], baseline)
    return _render(
        head=headline(rows, runs, trust),
        rows=[row_view(row, result, of.get(row.benchmark)) for row, result in rows],
        folded=len(rows) > MOST_ROWS,
        name=line(records[0].name),
        created=f"{newest.created:%Y-%m-%d %H:%M} UTC",
        version=line(newest.truthguard),
        baseline=None if baseline is None else line(baseline.name),
        baseline_created=None if baseline is None else f"{baseline.record.created:%Y-%m-%d}",
        drops=drop_views([(result, of.get(row.benchmark)) for row, result in rows]),
        comparison=[_comparison(part) for part in parts if part.pairing is not None],
        sections=_sections(records, parts, [result for _, result in rows]),
        doubts=_doubts(parts),
        notes=[_notes(run) for run in runs],
        corrected=[block(text.strip()) for text in corrected_lines([result for _, result in rows])],
        records=[line(each.name) for each in reversed(records)],
        data=questions.packed([(part.run, part.measures, part.pairing) for part in parts]),
    )


def _parts(runs: Sequence[Run], results: Sequence[RowResult], baseline: NamedRecord | None) -> list[_Part]:
    before = {} if baseline is None else {run.benchmark: run_of(run) for run in baseline.record.runs}
    parts = []
    for run in runs:
        ways = measures(run, results)
        if run.benchmark in before:
            pairing = Pairing(run, before[run.benchmark])
            parts.append(_Part(run, ways, pairing, moves(pairing, ways)))
        else:
            parts.append(_Part(run, ways, None))
    return parts


def _sections(
    records: Sequence[NamedRecord], parts: Sequence[_Part], results: Sequence[RowResult]
) -> dict[str, list[Figure]]:
    """The pictures of each section, by its id; a section without any is left out."""
    found: dict[str, list[Figure]] = {
        name: [] for name in ("scores", "categories", "comparison", "answers", "agreement", "history")
    }
    before = {each.row.id: each for _, rows in _results(records[1:2]) for each in rows}
    with house_style():
        found["scores"] += figures.scores([part.run for part in parts], results)
        for place, part in enumerate(parts):
            run = part.run
            mine = [result for result in results if result.row.benchmark == run.benchmark]
            found["categories"] += figures.categories(run, part.measures, mine, f"categories{place}")
            if part.pairing is not None:
                both = [(before[each.row.id], each) for each in mine if each.row.id in before]
                found["comparison"] += figures.comparison(run, part.moved, both, f"comparison{place}")
            other = None if part.pairing is None else part.pairing.before
            found["answers"] += figures.answers(run, other, f"answers{place}")
            found["agreement"] += figures.agreement(run, f"agreement{place}")
        if len(records) > 2:
            found["history"] += figures.history(_results(records), [part.run for part in parts])
    return found


def _results(records: Sequence[NamedRecord]) -> list[tuple[str, list[RowResult]]]:
    """The rows of each record."""
    return [(each.name, [result_of(row, None) for row in each.record.rows]) for each in records]


def _comparison(part: _Part) -> dict[str, Any]:
    assert part.pairing is not None, "only a run with a baseline is compared"
    return {
        "name": line(part.run.benchmark),
        "differences": differences(part.run, part.pairing.before),
        "warnings": incomparable(part.pairing),
        "unchanged": [each.measure.printed for each in part.moved if not figures.has_changed(each)],
    }


def _doubts(parts: Sequence[_Part]) -> dict[str, int]:
    """How many answers a person should read, over all runs."""
    items = [item for part in parts for item in part.run.items]
    return {"low": len(below_half(items)), "split": len(split(items))}


def _notes(run: Run) -> dict[str, Any]:
    """What the summary says beside the scores; the answers to read stand in the table."""
    without = [
        changed(item, values={name: value for name, value in item.values.items() if name != CORRECTNESS})
        for item in run.items
    ]
    # Ages are of the day on which a page is read, so that it says the day itself.
    judge = None if run.judge is None else changed(run.judge, oldest_answer=None)
    first, *others = run_lines(changed(run, items=tuple(without), oldest_answer=None, judge=judge))
    if run.oldest_answer is not None:
        others.append(f"the oldest answer is of {run.oldest_answer:%Y-%m-%d %H:%M} UTC")
    return {"title": block(first), "lines": [block(text.strip()) for text in others]}


def _render(**page: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__ or "", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = files(__package__ or "") / "assets"
    style, *scripts = ((folder / name).read_text(encoding="utf-8") for name in (_STYLE, *_SCRIPTS))
    # One scope of its own, so that no name of ours meets one of the browser's.
    script = "\n".join(['"use strict";', "(() => {", *scripts, "})();"])
    policy = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return environment.get_template("page.html").render(
        **page,
        style=style,
        script=script,
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
    )


def _hash(text: str) -> str:
    """What the policy calls an inline script or style by: its digest."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
