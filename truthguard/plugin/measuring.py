"""The runs of one pytest session: each is computed once, by whichever process asks first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from truthguard.backends.cached import CachedBackend
from truthguard.backends.loading import identify, open_backend
from truthguard.backends.openai_keys import is_api
from truthguard.catalogue import asks_judge
from truthguard.errors import UsageError
from truthguard.plan import Plan
from truthguard.records import Identity, ModelSettings, Run
from truthguard.runner import run, run_key
from truthguard.store.answers import FILE_NAME, AnswerStore
from truthguard.store.budget import RequestBudget
from truthguard.store.encoding import digest
from truthguard.store.session import CLAIMS, SessionStore
from truthguard.store.slots import RequestSlots
from truthguard.store.weights import DEFAULT_LIMIT, FOLDER, WeightsStore

# Given a run's key and its benchmark, where to say how many of how many requests are answered.
Announce = Callable[[str, str], Callable[[int, int], None]]

NO_MODEL = "no model is named: set name in [model] of the thresholds file, --truthguard-model SPEC or TRUTHGUARD_MODEL"
NO_JUDGE = (
    "no judge's model is named: set model in [judge] of the thresholds file,"
    " --truthguard-judge SPEC or TRUTHGUARD_JUDGE"
)


def models(plan: Plan, benchmark: str, metrics: Iterable[str]) -> tuple[ModelSettings | None, ModelSettings | None]:
    """The model and the judge's model that these metrics of a benchmark ask; None for whom they do not.

    Raises UsageError where one is asked and none is named.
    """
    model = plan.model if plan.asks_model(benchmark) else None
    if model is None and plan.asks_model(benchmark):
        raise UsageError(NO_MODEL)
    judge = None
    if asks_judge(list(metrics), plan.judge.kind, plan.questions[benchmark].kind):
        judge = plan.judge.model
        if judge is None:
            raise UsageError(NO_JUDGE)
    return model, judge


@dataclass(frozen=True, slots=True)
class _Open:
    """A backend that is open, and what it was opened with."""

    settings: ModelSettings
    identity: Identity
    backend: CachedBackend

    def serves(self, settings: ModelSettings, identity: Identity) -> bool:
        """Whether it is the model of these settings: the same weights, or the same server asked in the same way."""
        return self.identity == identity and (identity.kind == "huggingface" or self.settings == settings)


class Measurement:
    """Runs benchmarks, keeps their results in the session's folder and the models open between them.

    `folder` belongs to the session and is shared with its xdist workers; `cache` keeps the answers beyond it
    (None: they live and die with the session). `scripted` are the specs that may be code: those that came from
    the command line or the environment. `allowed_hosts` may be sent a key. Of what .gguf files are converted to,
    `cache` keeps at most `weights_limit` bytes.
    """

    def __init__(
        self,
        folder: Path,
        cache: Path | None,
        *,
        scripted: frozenset[str] = frozenset(),
        allowed_hosts: tuple[str, ...] = (),
        weights_limit: int = DEFAULT_LIMIT,
    ) -> None:
        home = folder if cache is None else cache
        self.answers = AnswerStore(home / FILE_NAME, durable=cache is not None)
        self.session = SessionStore(folder, claims=home / CLAIMS)
        self._kept = None if cache is None else WeightsStore(cache / FOLDER, self.answers.digest, weights_limit)
        self._scripted = scripted
        self._allowed_hosts = allowed_hosts
        self._open: list[_Open] = []

    def run(
        self,
        plan: Plan,
        benchmark: str,
        metrics: frozenset[str],
        announce: Announce,
        others: Iterable[tuple[Plan, str, frozenset[str]]] = (),
    ) -> tuple[str, Run]:
        """The key and the run of one benchmark of a plan; `metrics` are catalogue names.

        Where another process measures it, this one begins with those of the `others` that only servers are asked
        for and nobody measures yet, instead of waiting.

        Raises TruthguardError when a model cannot be loaded or asked; every later call for the same run raises it
        again without trying anew.
        """
        key, compute = self._task(plan, benchmark, metrics, announce)
        left = iter(others)

        def meanwhile() -> bool:
            # What goes wrong with another run is told by the row that asks for it.
            with suppress(Exception):
                return any(self._begin(*other, announce) for other in left)
            return False

        try:
            return key, self.session.run_once(key, compute, meanwhile)
        finally:
            # Damage deep in the file shows only when the file is used.
            self.session.warn([*self.answers.warnings, *(self._kept.warnings if self._kept else ())])

    def _begin(self, plan: Plan, benchmark: str, metrics: frozenset[str], announce: Announce) -> bool:
        """Measure what takes neither memory nor processors here, unless somebody does; whether it was measured."""
        asked = [each for each in models(plan, benchmark, metrics) if each is not None]
        local = any(each.identity.kind == "huggingface" for each in self._open)
        if not asked or local or not all(is_api(each.name) for each in asked):
            return False
        return self.session.run_if_free(*self._task(plan, benchmark, metrics, announce))

    def _task(
        self, plan: Plan, benchmark: str, metrics: frozenset[str], announce: Announce
    ) -> tuple[str, Callable[[], Run]]:
        """The key of a run, and what computes it."""
        model, judge = models(plan, benchmark, metrics)
        identities = [None if each is None else identify(each, self.answers) for each in (model, judge)]
        questions, selected = plan.questions[benchmark], plan.selected[benchmark]
        settings = plan.settings[benchmark]
        key = run_key(
            identities[0],
            questions,
            selected,
            metrics,
            settings,
            model,
            plan.selection,
            judge=plan.judge,
            judge_identity=identities[1],
        )

        def compute() -> Run:
            backend, judge_backend = self._backends([(model, identities[0]), (judge, identities[1])])
            begun = self.answers.begin(key)
            for each in (backend, judge_backend):
                if each is not None:
                    each.begin(begun)
            measured = run(
                questions,
                selected,
                metrics,
                backend,
                settings,
                model,
                plan.selection,
                announce(key, benchmark),
                judge=plan.judge,
                judge_backend=judge_backend,
            )
            if measured.complete:
                self.answers.finish(key)
            return measured

        return key, compute

    def _backends(self, wanted: list[tuple[ModelSettings | None, Identity | None]]) -> list[CachedBackend | None]:
        """A backend for each, one for equal ones; a local model not among them is closed, so that they fit.

        A server takes no memory: what was learnt of it, and its budget of requests, go on for the session.
        """
        asked = [(settings, identity) for settings, identity in wanted if settings is not None and identity is not None]
        local = [other for other in self._open if other.identity.kind == "huggingface"]
        for other in [other for other in local if not any(other.serves(*each) for each in asked)]:
            other.backend.close()
            self._open.remove(other)
        return [
            None if settings is None or identity is None else self._backend(settings, identity)
            for settings, identity in wanted
        ]

    def _backend(self, settings: ModelSettings, identity: Identity) -> CachedBackend:
        for each in self._open:
            if each.serves(settings, identity):
                return each.backend
        backend = CachedBackend(
            identity,
            lambda: open_backend(
                settings,
                memo=self.answers,
                allow_scripted=settings.name in self._scripted,
                allowed_hosts=self._allowed_hosts,
                budget=self._budget(settings),
                slots=self._slots(settings),
                kept=self._kept,
            ),
            self.answers,
            max_age=timedelta(hours=settings.cache_max_age_hours),
        )
        self._open.append(_Open(settings, identity, backend))
        return backend

    def _budget(self, settings: ModelSettings) -> RequestBudget | None:
        """What all processes of the session may ask of one model (the same settings): the judge has its own."""
        if settings.max_requests is None:
            return None
        return self.session.budget(digest(settings), settings.max_requests)

    def _slots(self, settings: ModelSettings) -> RequestSlots | None:
        """What all processes of the session may have under way at one server, asked in the same way."""
        return self.session.slots(digest(settings), settings.concurrency) if is_api(settings.name) else None

    def close(self) -> None:
        """Free the models that are open."""
        while self._open:
            self._open.pop().backend.close()

    def end(self) -> None:
        """Close what the session had open."""
        self.close()
        self.answers.close()
