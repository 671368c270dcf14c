"""What a session leaves for people elsewhere: a page of Markdown in a file, and what GitHub Actions shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from truthguard.plan import Plan
from truthguard.records import Baseline, RowResult, Run
from truthguard.report.changed import changed_items
from truthguard.report.github import append_summary, benchmark_errors, in_repository
from truthguard.report.markdown import markdown, public_benchmarks
from truthguard.store.atomic import write_atomically


def page_of(
    results: Sequence[RowResult], runs: Sequence[Run], plans: Iterable[Plan], baselines: Sequence[Baseline]
) -> str:
    """The page of a session; of two baselines the first is the one that items are shown beside."""
    trust = [
        f"{plan.path.name} requires {name} of at least {least:g}"
        for plan in plans
        for name, least in plan.requires.items()
    ]
    if not baselines:
        return markdown(results, runs, trust=trust)
    changed = changed_items(results, runs, baselines[0])
    return markdown(results, runs, changed, baseline=baselines[0].name, trust=trust)


def write_page(page: str, path: Path) -> list[str]:
    """Write the page to the file of --truthguard-markdown; problems that must fail the session."""
    try:
        write_atomically(path.resolve(), page.encode("utf-8"))
    except OSError as error:
        return [f"--truthguard-markdown {path}: the page was not written: {error}"]
    return []


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
