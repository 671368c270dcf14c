"""What a dry run prints: one line for each model, of what rows of thresholds files and people's own tests would ask.

A row brings its estimate; a test brings only what it asked for, since two tests may ask for the same. What they and
the rows ask of one benchmark is estimated together, here, where the session ends (xdist's controller).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from truthguard.errors import TruthguardError
from truthguard.plugin.state import State

_NOTE = "a test is skipped at the first score that it asks for: what it would ask after that is not counted"


class DryRun:
    """A plugin of its own, registered where a dry run is asked for."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._asked: dict[str, set[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what was asked for since the last report, in a test or in what it is set up with."""
        report = yield
        if self._state.asked:
            vars(report)["truthguard_asked"] = list(self._state.asked)
            self._state.asked.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report brings: a benchmark and a metric each."""
        for benchmark, metric in getattr(report, "truthguard_asked", ()):
            self._asked.setdefault(benchmark, set()).add(metric)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The lines, behind the table where there is one."""
        from truthguard.text import visible

        lines = list(self._lines())
        if lines and not self._state.results:
            terminalreporter.section("truthguard")
        for line in lines:
            terminalreporter.write_line(visible(f"dry run: {line}", 400))

    def _lines(self) -> Iterator[str]:
        from truthguard.plugin.estimating import estimate, estimate_lines
        from truthguard.plugin.fixture import plan_of

        estimates, problems = dict(self._state.estimates), []
        for benchmark, metrics in self._asked.items():
            try:
                plan = plan_of(self._state, benchmark)
                name = self._state.estimate_name(plan, benchmark)
                estimates[name] = estimate(plan, benchmark, frozenset(metrics | self._gated(plan.path, benchmark)))
            except TruthguardError as error:
                problems.append(f"{benchmark}: {error}")
        yield from estimate_lines(each for found in estimates.values() for each in found)
        yield from problems
        if self._asked:
            yield _NOTE

    def _gated(self, path: Path, benchmark: str) -> set[str]:
        """The metrics of the benchmark that rows of this thresholds file asked for."""
        from truthguard.catalogue import metric_of

        return {
            metric_of(result.row.metric).name
            for nodeid, (result, _) in self._state.results.items()
            if result.row.benchmark == benchmark and self._state.config.rootpath / nodeid.partition("::")[0] == path
        }
