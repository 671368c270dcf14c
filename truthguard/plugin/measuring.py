"""The runs of one pytest session: each is computed once, by whichever process asks first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from truthguard.backends.cached import CachedBackend
from truthguard.backends.loading import identify, open_backend
from truthguard.errors import UsageError
from truthguard.plan import Plan
from truthguard.records import Identity, ModelSettings, Run
from truthguard.runner import run, run_key
from truthguard.store.answers import FILE_NAME, AnswerStore
from truthguard.store.session import SessionStore

# Given a run's key and its benchmark, where to say how many of how many requests are answered.
Announce = Callable[[str, str], Callable[[int, int], None]]

NO_MODEL = "no model is named: set name in [model] of the thresholds file, --truthguard-model SPEC or TRUTHGUARD_MODEL"


class Measurement:
    """Runs benchmarks, keeps their results in the session's folder and the model open between them.

    `folder` belongs to the session and is shared with its xdist workers; `cache` keeps the answers beyond it
    (None: they live and die with the session).
    """

    def __init__(self, folder: Path, cache: Path | None, *, allow_scripted: bool = False) -> None:
        home = folder if cache is None else cache
        self.answers = AnswerStore(home / FILE_NAME, durable=cache is not None)
        self.session = SessionStore(folder, claims=home / "claims")
        self._allow_scripted = allow_scripted
        self._open: tuple[Identity, CachedBackend] | None = None

    def run(self, plan: Plan, benchmark: str, metrics: frozenset[str], announce: Announce) -> tuple[str, Run]:
        """The key and the run of one benchmark of a plan; `metrics` are catalogue names.

        Raises TruthguardError when the model cannot be loaded or asked; every later call for the same run
        raises it again without trying anew.
        """
        if plan.model is None:
            raise UsageError(NO_MODEL)
        identity = identify(plan.model, self.answers)
        questions, selected = plan.questions[benchmark], plan.selected[benchmark]
        settings, model = plan.settings[benchmark], plan.model
        key = run_key(identity, questions, selected, metrics, settings, model, plan.selection)

        def compute() -> Run:
            return run(
                questions,
                selected,
                metrics,
                self._backend(identity, model),
                settings,
                model,
                plan.selection,
                announce(key, benchmark),
            )

        try:
            return key, self.session.run_once(key, compute)
        finally:
            # Damage deep in the file shows only when the file is used.
            self.session.warn(self.answers.warnings)

    def _backend(self, identity: Identity, model: ModelSettings) -> CachedBackend:
        """The open backend when it is this model's; else the other one is closed first, so that both fit."""
        if self._open and self._open[0] == identity:
            return self._open[1]
        self.close()
        backend = CachedBackend(
            identity,
            lambda: open_backend(model, memo=self.answers, allow_scripted=self._allow_scripted),
            self.answers,
        )
        self._open = identity, backend
        return backend

    def close(self) -> None:
        """Free the model that is open, if any."""
        if self._open:
            self._open[1].close()
            self._open = None

    def end(self) -> None:
        """Close what the session had open."""
        self.close()
        self.answers.close()
