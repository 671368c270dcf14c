"""What a session leaves for people elsewhere: a page of Markdown in a file, and what GitHub Actions shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from truthguard.plan import Plan
from truthguard.records import Baseline, RowResult, Run
from truthguard.report.changed import changed_items
from truthguard.report.github import append_summary, benchmark_errors, in_repository
from truthguard.report.markdown import markdown, public_benchmarks
from truthguard.store.record import make_record


def page_of(
    results: Sequence[RowResult], runs: Sequence[Run], plans: Iterable[Plan], baselines: Sequence[Baseline]
) -> str:
    """The page of a session; of two baselines the first is the one that items are shown beside."""
    trust = _requirements(plans)
    if not baselines:
        return markdown(results, runs, trust=trust)
    changed = changed_items(results, runs, baselines[0])
    return markdown(results, runs, changed, baseline=baselines[0].name, trust=trust)


def html_of(results: Sequence[RowResult], runs: Sequence[Run], plans: Iterable[Plan], baselines: Sequence[Path]) -> str:
    """The page of a session for a browser, beside the baselines of these files. Raises DataError for one of them."""
    from truthguard.report.html import NamedRecord, html_report, read_named

    plans = list(plans)
    name = ", ".join(dict.fromkeys(plan.path.name for plan in plans))
    session = NamedRecord(name, make_record(results, runs, datetime.now(UTC)))
    return html_report([session, *read_named(baselines)], trust="; ".join(_requirements(plans)) or None)


def _requirements(plans: Iterable[Plan]) -> list[str]:
    """What the thresholds files require of the judge, whose rows are errors until it has earned it."""
    return [
        f"{plan.path.name} requires {name} of at least {least:g}"
        for plan in plans
        for name, least in plan.requires.items()
    ]


def step_summary(page: str, environ: Mapping[str, str]) -> list[str]:
    """Append the page to the summary of a step of GitHub Actions, where there is one; lines to note.

    Nobody has asked for it by name, so what goes wrong there fails no session.
    """
    path = environ.get("GITHUB_STEP_SUMMARY")
    problem = append_summary(Path(path), page) if path else None
    return [f"nothing was added to the summary of the step ({path}): {problem}"] if problem else []


def error_lines(
    results: Mapping[Path, Sequence[RowResult]], runs: Sequence[Run], environ: Mapping[str, str]
) -> Iterator[str]:
    """The lines for standard output that annotate the failed benchmarks of each thresholds file on GitHub."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    for path, of_file in results.items():
        public = public_benchmarks([result.row.benchmark for result in of_file], runs)
        yield from benchmark_errors(in_repository(path, environ.get("GITHUB_WORKSPACE")), of_file, public)
