"""What the plugin knows during one pytest session, in one place that the hooks hand things to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from truthguard.plugin.display import Display

if TYPE_CHECKING:
    from truthguard.plan import Plan
    from truthguard.plugin.estimating import Estimate
    from truthguard.plugin.items import GateRow
    from truthguard.plugin.measuring import Measurement
    from truthguard.plugin.options import Options
    from truthguard.plugin.saving import Measured
    from truthguard.plugin.trusting import Trust
    from truthguard.records import Baseline, Drop, Missing, Row, RowResult, Run
    from truthguard.store.session import SessionStore

STATE: pytest.StashKey[State] = pytest.StashKey()
WORKER_KEY = "truthguard_folder"


class State:
    """The session's plans, its measurement and the results as they come in.

    Nothing here costs anything until a thresholds file is collected or the fixture is used.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.plans: dict[Path, Plan] = {}
        self.file_named = False  # the fixture alone may have plans, too
        self.results: dict[str, tuple[RowResult, str | None]] = {}
        # What a dry run found, by plan and benchmark: every row of a benchmark brings the same.
        self.estimates: dict[str, tuple[Estimate, ...]] = {}
        # The benchmarks and metrics that tests asked for in a dry run, until a report carries them away.
        self.asked: list[tuple[str, str]] = []
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = worker is not None
        # The controller names the folder; it comes into being when the first run is kept in it.
        name = worker[WORKER_KEY] if worker else f"truthguard-{os.urandom(16).hex()}"
        self.folder = Path(tempfile.gettempdir(), name)
        # Of the files whose bars are to be raised, the bytes as they were read.
        self.originals: dict[Path, bytes] = {}
        self._options: Options | None = None
        self._measurement: Measurement | None = None
        self._trust: dict[int, Trust] = {}  # by the plan, which it keeps: one file may have several
        self._baselines: tuple[Baseline, ...] | None = None

    @property
    def options(self) -> Options:
        """The options, read once. Raises truthguard.errors.UsageError."""
        if self._options is None:
            from truthguard.plugin.options import read_options

            self._options = read_options(self.config)
        return self._options

    @property
    def dry_run(self) -> bool:
        """Whether rows only say what they would ask."""
        return bool(self.options.get("dry-run", False))

    @property
    def measurement(self) -> Measurement:
        """Opened when the first row asks for a number."""
        if self._measurement is None:
            from truthguard.plugin.measuring import Measurement
            from truthguard.store.weights import DEFAULT_LIMIT

            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._measurement = Measurement(
                self.folder,
                self.cache_folder(),
                scripted=self.scripted,
                allowed_hosts=self.options.get("allow-host", ()),
                weights_limit=self.options.get("weights-limit", DEFAULT_LIMIT),
            )
        return self._measurement

    @property
    def scripted(self) -> frozenset[str]:
        """The specs that may be code to run: those that a person named (command line, environment), never a file."""
        strong = self.options.strong
        return frozenset(strong[name] for name in ("model", "judge") if name in strong)

    def cache_folder(self) -> Path | None:
        """Where answers are kept; None when the cache is off."""
        from truthguard.plugin.options import OFF

        chosen = self.options.get("cache")
        if chosen == OFF:
            return None
        if chosen is not None:
            return Path(chosen)
        from platformdirs import user_cache_path

        return user_cache_path("truthguard")

    def prepare(self, path: Path) -> Plan:
        """Read a thresholds file and its data, once. Raises truthguard.errors.UsageError."""
        if path not in self.plans:
            from truthguard.plan import make_plan

            if self.options.get("update-thresholds") and not self.is_worker:
                with suppress(OSError):  # whoever reads it next tells why it cannot be read
                    self.originals[path] = path.read_bytes()
            self.plans[path] = make_plan(
                path,
                merge_model=self.options.model_settings,
                merge_judge=self.options.judge_settings,
                selection=self.options.selection(),
                data=self.options.get("data"),
            )
        return self.plans[path]

    def judge(self, item: GateRow) -> tuple[RowResult, str, Run]:
        """Measure what the item and its neighbours need, once, and hold the item's row to its bar.

        What a judge decides that has not earned the required trust is not asked, so that a neighbour's row can be
        measured. Raises TrustError where that is the item's own row.
        """
        from datetime import date

        from truthguard.catalogue import metric_of
        from truthguard.report.drops import unsaid
        from truthguard.thresholds.gate import judge

        asked, trust = self._asked(item), self.trust(item.plan)
        refused = trust.refused(item.row.benchmark, asked) - {metric_of(item.row.metric).name}
        key, run = self.run(item.plan, item.row.benchmark, asked - refused, self._others(item))
        drops = self._drops(item.row, run)
        result = trust.with_correction(judge(item.row, run, today=date.today(), drops=drops), run.kind)
        self.measurement.session.warn([*trust.notes, *unsaid(item.row, drops)])
        return result, key, run

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """What every row is compared with, read once. Raises truthguard.errors.UsageError."""
        if self._baselines is None:
            paths = self.options.get("baseline", ())
            if paths:
                from truthguard.plugin.baselines import read_baselines

                self._baselines = read_baselines(paths)
            else:
                self._baselines = ()
        return self._baselines

    def _drops(self, row: Row, run: Run) -> tuple[Drop | Missing, ...]:
        """The row beside each baseline."""
        if not self.baselines:
            return ()
        from truthguard.comparison import compare_all

        return compare_all(row, run, self.baselines)

    def trust(self, plan: Plan) -> Trust:
        """What the judge of a plan has earned."""
        if id(plan) not in self._trust:
            from truthguard.plugin.trusting import Trust

            self._trust[id(plan)] = Trust(plan, self.measurement.answers, self.options.get("data"))
        return self._trust[id(plan)]

    def estimate(self, item: GateRow) -> tuple[str, tuple[Estimate, ...]]:
        """What the item and its neighbours would ask, and the name under which it counts once."""
        from truthguard.plugin.estimating import estimate

        name = self.estimate_name(item.plan, item.row.benchmark)
        if name not in self.estimates:
            self.estimates[name] = estimate(item.plan, item.row.benchmark, self._asked(item))
        return name, self.estimates[name]

    @staticmethod
    def estimate_name(plan: Plan, benchmark: str) -> str:
        """The name under which what is asked of one benchmark of a plan counts once."""
        return f"{plan.path}:{benchmark}"

    def _others(self, item: GateRow) -> Iterator[tuple[Plan, str, frozenset[str]]]:
        """What the other rows of the session ask, for a worker that would only wait.

        Not where the first failure ends the session: what comes behind it may never be wanted.
        """
        from truthguard.plugin.items import GateRow

        if not self.is_worker or self.config.getoption("maxfail"):
            return
        seen = {(id(item.plan), item.row.benchmark)}
        for other in item.session.items:
            if isinstance(other, GateRow) and (place := (id(other.plan), other.row.benchmark)) not in seen:
                seen.add(place)
                asked = self._asked(other)
                if asked := asked - self.trust(other.plan).refused(other.row.benchmark, asked):
                    yield other.plan, other.row.benchmark, asked

    def run(
        self,
        plan: Plan,
        benchmark: str,
        metrics: frozenset[str],
        others: Iterable[tuple[Plan, str, frozenset[str]]] = (),
    ) -> tuple[str, Run]:
        """One run of the session, computed by whoever asks first.

        Raises TrustError for metrics of a judge that has not earned the trust which the thresholds file requires.
        """
        if plan.requires and self.trust(plan).refused(benchmark, metrics):
            from truthguard.errors import TrustError

            raise TrustError(self.trust(plan).refusal or "")
        return self.measurement.run(plan, benchmark, metrics, self._announce, others)

    def _announce(self, key: str, benchmark: str) -> Callable[[int, int], None]:
        """Show progress here; a worker has no terminal and leaves notes for the controller."""
        if self.is_worker:
            from truthguard.plugin.workers import note_taker

            return note_taker(self.measurement.session, key, benchmark)
        return Display(self.config, benchmark)

    def _asked(self, item: GateRow) -> frozenset[str]:
        """The metrics of the benchmark's rows that are left after deselection, the same in every worker."""
        from truthguard.catalogue import metric_of
        from truthguard.plugin.items import GateRow

        return frozenset(
            metric_of(other.row.metric).name
            for other in item.session.items
            if isinstance(other, GateRow) and other.plan is item.plan and other.row.benchmark == item.row.benchmark
        )

    def failure_text(self, result: RowResult, key: str | None) -> str:
        """What pytest prints for a row below its bar."""
        from truthguard.thresholds.gate import failure_text

        run = self.measurement.session.read_run(key) if key else None
        if run is None:
            return result.reason
        return failure_text(result, run)

    @cached_property
    def _session(self) -> SessionStore:
        """The finished runs, each of which is read once. xdist's controller opens no models to have it."""
        if self._measurement is not None:
            return self._measurement.session
        from truthguard.store.session import SessionStore

        return SessionStore(self.folder)

    def runs(self) -> list[Run]:
        """The runs behind the results, each once, in the order in which their rows came."""
        keys = dict.fromkeys(key for _, key in self.results.values() if key)
        return [run for key in keys if (run := self._session.read_run(key)) is not None]

    def order_results(self) -> None:
        """Put the results into the order of the files' rows, whichever process brought which first."""
        rows = [(path, row.id) for path, plan in self.plans.items() for row in plan.rows]
        place = {row: index for index, row in enumerate(rows)}
        last = len(rows)
        self.results = dict(
            sorted(
                self.results.items(),
                key=lambda each: place.get((self.file_of(each[0]), each[0].partition("::")[2]), last),
            )
        )

    def file_of(self, nodeid: str) -> Path:
        """The thresholds file of a row."""
        return Path(os.path.abspath(self.config.rootpath / nodeid.partition("::")[0]))

    def by_file(self) -> dict[Path, list[RowResult]]:
        """The results of each thresholds file, in the order in which they came."""
        found: dict[Path, list[RowResult]] = {}
        for nodeid, (result, _) in self.results.items():
            found.setdefault(self.file_of(nodeid), []).append(result)
        return found

    def measured(self) -> list[Measured]:
        """The runs behind the results, each with its plan and the results of its rows."""
        from truthguard.plugin.saving import Measured

        found: dict[tuple[Path, str], list[RowResult]] = {}
        for nodeid, (result, key) in self.results.items():
            if key is not None:
                found.setdefault((self.file_of(nodeid), key), []).append(result)
        return [
            Measured(self.plans[path], run, results)
            for (path, key), results in found.items()
            if path in self.plans and (run := self._session.read_run(key)) is not None
        ]

    def warnings(self) -> list[str]:
        """What the plans say, and what the stores had to put up with in any process: a damaged cache set aside, say."""
        of_plans = [text for plan in self.plans.values() for text in plan.warnings]
        return of_plans + (self._session.warnings() if self.folder.is_dir() else [])

    def close(self) -> None:
        """Free the model; the session's folder goes with the process that named it."""
        if self._measurement is not None:
            self._measurement.end()
        if not self.is_worker and self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)
