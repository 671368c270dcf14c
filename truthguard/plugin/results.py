"""Results ride the test reports to the process that prints and writes them: this one, or xdist's controller."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from truthguard.errors import TruthguardError, UsageError
from truthguard.plugin.estimating import Estimate
from truthguard.plugin.items import GateRow
from truthguard.plugin.state import State
from truthguard.records import Compared, Row, RowResult, Run
from truthguard.report.terminal import Line, summary_lines

_RESULT = TypeAdapter(RowResult)
_ESTIMATE = TypeAdapter(tuple[str, tuple[Estimate, ...]])


class Results:
    """A plugin of its own, registered once a thresholds file is collected."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._updated: list[Line] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the row's result to the report that decides its outcome."""
        report = yield
        if isinstance(item, GateRow) and item.result is not None:
            if report.when == "call" or (report.when == "setup" and not report.passed):
                encoded = _RESULT.dump_python(item.result, mode="json")
                sent = {"result": encoded, "run": item.run_key}
                if item.estimate is not None:
                    sent["estimate"] = _ESTIMATE.dump_python(item.estimate, mode="json")
                vars(report)["truthguard"] = sent
            if report.skipped and isinstance(report.longrepr, tuple):
                report.longrepr = (str(item.path), item.row.line, report.longrepr[2])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report brings; a row that is run again replaces its earlier result."""
        sent: dict[str, Any] | None = getattr(report, "truthguard", None)
        if sent is not None:
            self._state.results[report.nodeid] = (_RESULT.validate_python(sent["result"]), sent["run"])
            if "estimate" in sent:
                name, found = _ESTIMATE.validate_python(sent["estimate"])
                self._state.estimates[name] = found
        elif report.failed and report.nodeid not in self._state.results:
            # A worker that dies takes the row's own word with it; xdist reports the death in its place.
            row = self._row(report.nodeid)
            if row is not None:
                reason = str(report.longrepr).strip() or "the process that measured it died"
                self._state.results[report.nodeid] = (RowResult(row, None, "error", reason), None)

    def _row(self, nodeid: str) -> Row | None:
        name = nodeid.partition("::")[2]
        plan = self._state.plans.get(self._state.file_of(nodeid))
        return next((row for row in plan.rows if row.id == name), None) if plan else None

    def _named(self) -> list[RowResult]:
        """The results; where several files were collected each row's id is its whole node id."""
        several = len(self._state.plans) > 1
        return [
            replace(result, row=replace(result.row, id=nodeid)) if several else result
            for nodeid, (result, _) in self._state.results.items()
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write record and trust file, and fail a session in which no row of a file was held against its bar."""
        if self._state.is_worker or not self._state.results:
            return
        self._state.order_results()
        self._problems += self._ungated()
        self._problems += self._html()  # first of the files: a later one may take the place of a baseline
        self._problems += self._write()
        self._problems += self._save_trust()
        stopped = session.exitstatus == pytest.ExitCode.INTERRUPTED or session.shouldstop or session.shouldfail
        self._problems += self._save_baseline(whole=not stopped)
        self._problems += self._report()
        self._problems += self._update(interrupted=session.exitstatus == pytest.ExitCode.INTERRUPTED)
        if self._problems and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _ungated(self) -> list[str]:
        """The files whose rows were all left ungated: a gate that held nothing must not look like a pass."""
        if self._state.dry_run:
            return []
        gated: Counter[str] = Counter()
        for nodeid, (result, _) in self._state.results.items():
            gated[nodeid.partition("::")[0]] += result.verdict != "not_gated"
        return [f"{path}: no row was gated, so this run says nothing" for path, n in gated.items() if n == 0]

    def _write(self) -> list[str]:
        path = self._state.options.get("json")
        if path is None:
            return []
        from truthguard.store.record import write_record

        try:
            write_record(path, self._named(), self._state.runs())
        except (TruthguardError, OSError) as error:
            return [f"--truthguard-json {path}: the record was not written: {error}"]
        return []

    def _save_trust(self) -> list[str]:
        path = self._state.options.get("save-trust")
        if path is None:
            return []
        if self._state.dry_run:
            self._notes.append(f"--truthguard-save-trust {path} was not written: a dry run measures nothing")
            return []
        from truthguard.plugin.saving import save

        notes, problems = save(path, self._state.measured())
        self._notes += notes
        return problems

    def _save_baseline(self, *, whole: bool) -> list[str]:
        path = self._state.options.get("save-baseline")
        if path is None:
            return []
        if self._state.dry_run or not whole:
            why = "a dry run measures nothing" if self._state.dry_run else "the session was stopped before its end"
            self._notes.append(f"--truthguard-save-baseline {path} was not written: {why}")
            return []
        from truthguard.plugin.baselines import save

        unmeasured = [result for result, key in self._state.results.values() if key is None]
        notes, problems = save(path, self._state.measured(), unmeasured)
        self._notes += notes
        return problems

    def _report(self) -> list[str]:
        """The page for people elsewhere: nothing is said of what was not measured."""
        path, on_github = self._state.options.get("markdown"), self._on_github()
        if self._state.dry_run:
            self._notes += [f"--truthguard-markdown {path} was not written: a dry run measures nothing"] if path else []
            return []
        if path is None and not (on_github and os.environ.get("GITHUB_STEP_SUMMARY")):
            return []
        from truthguard.plugin.reporting import page_of, step_summary
        from truthguard.store.outputs import write_page

        plans, baselines = self._state.plans.values(), self._state.baselines
        page = page_of(self._named(), self._state.runs(), plans, baselines)
        if on_github:
            self._notes += step_summary(page, os.environ)
        try:
            if path is not None:
                write_page(path, page, "--truthguard-markdown")
        except TruthguardError as error:
            return [str(error)]
        return []

    def _html(self) -> list[str]:
        path = self._state.options.get("html")
        if path is None:
            return []
        if self._state.dry_run:
            self._notes.append(f"--truthguard-html {path} was not written: a dry run measures nothing")
            return []
        from truthguard.plugin.reporting import html_of
        from truthguard.store.outputs import write_page

        plans, baselines = self._state.plans.values(), self._state.options.get("baseline", ())
        try:
            write_page(path, html_of(self._named(), self._state.runs(), plans, baselines), "--truthguard-html")
        except UsageError as error:
            return [f"--truthguard-html {path}: the page was not written: {error}"]
        except TruthguardError as error:
            return [str(error)]
        return []

    def _compared(self, runs: list[Run]) -> tuple[Compared, ...]:
        if not self._state.baselines:
            return ()
        from truthguard.comparison import compared

        return compared(self._state.baselines, runs)

    def _on_github(self) -> bool:
        from truthguard.plugin.options import OFF

        return bool(self._state.options.get("github") != OFF)

    def _update(self, *, interrupted: bool) -> list[str]:
        """Raise the bars, where that was asked for."""
        if not self._state.options.get("update-thresholds"):
            return []
        if self._state.dry_run or interrupted:
            why = "a dry run measures nothing" if self._state.dry_run else "the session was interrupted"
            self._notes.append(f"--truthguard-update-thresholds: no bar was raised: {why}")
            return []
        from truthguard.plugin.ratcheting import update

        problems: list[str] = []
        results = self._state.by_file()
        for path, before in self._state.originals.items():
            of_file = {result.row.id: result for result in results.get(path, ())}
            if not of_file:
                continue  # none of its rows was selected
            lines, wrong = update(self._state.plans[path], before, of_file)
            self._updated += lines
            problems += wrong
        return problems

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table."""
        if not self._state.results:
            return
        results = self._named()
        verbosity = terminalreporter.config.get_verbosity()
        terminalreporter.section("truthguard")
        runs, width = self._state.runs(), terminalreporter._tw.fullwidth
        lines = summary_lines(results, runs, verbose=verbosity, width=width, compared=self._compared(runs))
        lines += self._updated
        lines += [Line(text) for text in self._notes]
        lines += [Line(f"warning: {text}", "yellow") for text in self._state.warnings()]
        lines += [Line(text, "red") for text in self._problems]
        for line in lines:
            terminalreporter.write_line(line.text, **({line.colour: True} if line.colour else {}))
        if self._on_github() and not self._state.dry_run:
            from truthguard.plugin.reporting import error_lines

            for text in error_lines(self._state.by_file(), self._state.runs(), os.environ):
                terminalreporter.write_line(text)
