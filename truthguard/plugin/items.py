"""A thresholds file as a pytest collector, a row as a pytest item.

pytest tells "could not measure" from "worse": the run, its coverage and its health are checked in `setup()`
(shown as E), the bar in `runtest()` (shown as F).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from truthguard.plugin.state import STATE

if TYPE_CHECKING:
    from truthguard.plan import Plan
    from truthguard.plugin.estimating import Estimate
    from truthguard.plugin.state import State
    from truthguard.records import Row, RowResult, Run


# What JUnit XML carries of a comparison with a baseline; the second one's names begin with drop2.
_DROP = ("baseline", "estimate", "low", "high", "n", "p_greater", "alpha", "mcnemar", "worse", "better", "detectable")


class BarMissed(Exception):
    """A score on the wrong side of its bar; the message is the whole failure text."""


class ThresholdsFile(pytest.File):
    """A thresholds file that was named on the command line or in testpaths."""

    plan: Plan

    def collect(self) -> Iterator[pytest.Item]:
        for row in self.plan.rows:
            # Named as a text: pytest would otherwise take the brackets for a part of the function's name, and
            # --lf would not recognise its own record of the row.
            yield GateRow.from_parent(self, name=row.id, nodeid=f"{self.nodeid}::{row.id}", row=row)


class GateRow(pytest.Item):
    """One row of the file, or one slice of it."""

    parent: ThresholdsFile

    def __init__(self, *, row: Row, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = row
        self.result: RowResult | None = None
        self.run_key: str | None = None
        self.estimate: tuple[str, tuple[Estimate, ...]] | None = None
        self.add_marker("truthguard")
        if self.config.pluginmanager.hasplugin("timeout"):
            # The first row pays for the whole run: a limit meant for one test must not kill it.
            self.add_marker(pytest.mark.timeout(0))

    @property
    def plan(self) -> Plan:
        return self.parent.plan

    def setup(self) -> None:
        if self.config.getoption("setuponly") or self.config.getoption("setupplan"):
            return  # whoever looks at the plan of a session does not want a model loaded
        problem = self._measure()
        if problem is not None:
            # Outside the handler, so that the reader is told once and not by a chain of exceptions.
            pytest.fail(problem, pytrace=False)
        if self.result is not None and self.result.verdict == "not_gated":
            pytest.skip(self.result.reason)

    def _measure(self) -> str | None:
        """Measure and judge, or only say what would be asked; why that was not possible, or None."""
        from truthguard.errors import TruthguardError

        state = self.config.stash[STATE]
        try:
            if state.dry_run:
                self._estimate(state)
                return None
            self.result, self.run_key, run = state.judge(self)
        except TruthguardError as error:
            self.result = self._error(str(error))
            return str(error)
        except Exception as error:
            # A fault of ours or of a scripted model: pytest shows where, and the row is told like any other.
            self.result = self._error(f"{type(error).__name__}: {error}")
            raise
        self.user_properties.extend(junit_properties(self.result, run))
        return self.result.reason if self.result.verdict == "error" else None

    def runtest(self) -> None:
        if self.result is None:
            raise RuntimeError("runtest() without setup(): the row was not measured")
        if self.result.verdict == "waived":
            pytest.xfail(self.result.reason)  # does nothing under --runxfail: then the row fails
        if self.result.verdict in ("fail", "waived"):
            raise BarMissed(self.config.stash[STATE].failure_text(self.result, self.run_key))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BarMissed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.row.line - 1, self.name

    def _estimate(self, state: State) -> None:
        """A dry run: the row says what would be asked, and is skipped."""
        from truthguard.plugin.estimating import REASON
        from truthguard.records import RowResult

        self.estimate = state.estimate(self)
        self.result = RowResult(self.row, None, "not_gated", REASON)

    def _error(self, reason: str) -> RowResult:
        from truthguard.records import RowResult

        return RowResult(self.row, None, "error", reason)


def junit_properties(result: RowResult, run: Run) -> list[tuple[str, str]]:
    """What JUnit XML carries of a row: the score, its interval, the bar and the names in full."""
    from truthguard.catalogue import printed_name
    from truthguard.store.record import row_record

    record = row_record(result)
    names = {
        "benchmark": result.row.benchmark,
        "metric": result.row.metric,
        "metric_name": printed_name(result.row.metric, result.row.judge),
        "slice": record["slice"],
        "model": None if run.model is None else run.model.name,
        "judge": None if run.judge is None or run.judge.identity is None else run.judge.identity.name,
        "score": record["estimate"],
        "low": record["low"],
        "high": record["high"],
        "confidence": record["confidence"],
        "n": record["n"],
        "n_unscored": record["n_unscored"],
        "verdict": result.verdict,
        **{f"bar_{key}": value for key, value in record["bar"].items()},
        **{
            f"drop{number}_{key}".replace("drop1_", "drop_"): drop[key]
            for number, drop in enumerate(record["drops"], 1)
            for key in _DROP
        },
    }
    return [(f"truthguard_{name}", str(value)) for name, value in names.items() if value is not None]
