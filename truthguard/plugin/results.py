"""Results ride the test reports to the process that prints and writes them: this one, or xdist's controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from truthguard.errors import TruthguardError
from truthguard.plugin.estimating import Estimate
from truthguard.plugin.items import GateRow
from truthguard.plugin.state import State
from truthguard.records import Row, RowResult
from truthguard.report.terminal import Line, summary_lines

_RESULT = TypeAdapter(RowResult)
_ESTIMATE = TypeAdapter(tuple[str, tuple[Estimate, ...]])


class Results:
    """A plugin of its own, registered once a thresholds file is collected."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._problems: list[str] = []
        self._notes: list[str] = []

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
        path, _, name = nodeid.partition("::")
        plan = self._state.plans.get(self._state.config.rootpath / path)
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
        self._problems += self._ungated()
        self._problems += self._write()
        self._problems += self._save_trust()
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
        if path is None or self._state.dry_run:
            return []
        from truthguard.plugin.saving import save

        self._notes, problems = save(path, self._state.measured())
        return problems

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table."""
        if not self._state.results:
            return
        results = self._named()
        verbosity = terminalreporter.config.get_verbosity()
        terminalreporter.section("truthguard")
        lines = summary_lines(results, self._state.runs(), verbose=verbosity, width=terminalreporter._tw.fullwidth)
        lines += [Line(text) for text in self._notes]
        lines += [Line(f"warning: {text}", "yellow") for text in self._state.warnings()]
        lines += [Line(text, "red") for text in self._problems]
        for line in lines:
            terminalreporter.write_line(line.text, **({line.colour: True} if line.colour else {}))
