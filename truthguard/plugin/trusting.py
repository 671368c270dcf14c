"""Whether the judge of a plan has earned the word that the gate gives it; asked before any judged row is."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

from truthguard.backends.loading import DigestMemo, identify
from truthguard.benchmarks import judge_starter, prometheus
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.judging import prompt_digests
from truthguard.benchmarks.registry import default_data
from truthguard.catalogue import (
    BENCHMARKS,
    GRADING_KINDS,
    GRADING_PROMPTS,
    JUDGE_STARTER,
    TRUTHFUL_JUDGE,
    asks_judge,
    decided_by,
    metric_of,
    temperature,
)
from truthguard.errors import DataError, UsageError
from truthguard.metrics.correction import corrected
from truthguard.plan import Plan
from truthguard.records import (
    BenchmarkKind,
    BenchmarkSettings,
    Identity,
    JudgeSettings,
    Missing,
    RowResult,
    TrustedJudge,
    TrustedSet,
    TrustEntry,
    TrustRecord,
)
from truthguard.store.encoding import digest
from truthguard.store.trust import read_trust
from truthguard.text import visible
from truthguard.thresholds.trust import RATES, Current, Place, staleness, unmet

# The items whose judged metrics are about a model: the others measure the judge itself.
OF_A_MODEL: frozenset[BenchmarkKind] = frozenset(["questions", "correctness"])


def trusted_judge(
    identity: Identity | None, judge: JudgeSettings, items: BenchmarkKind, prompt_digest: str | None
) -> TrustedJudge:
    """The judge of items of a kind, as far as a change of it makes another judge."""
    return TrustedJudge(
        kind="prometheus" if items in GRADING_KINDS else judge.kind,
        name=None if identity is None else identity.name,
        digest=None if identity is None else identity.digest,
        revision=None if identity is None else identity.revision,
        dtype=None if identity is None else identity.dtype,
        settings=_deciding(judge, items),
        prompt_digest=prompt_digest,
    )


def asked_as(settings: BenchmarkSettings, kind: BenchmarkKind) -> TrustedSet | None:
    """How a benchmark puts its items to the judge; None where there is one way only."""
    if kind not in ("direct", "pairwise", "judge_starter"):
        return None
    words = cast("Literal['default', 'paper', 'library']", settings.prompt)
    return TrustedSet(kind, words, settings.order, settings.reference, settings.grades)


def _deciding(judge: JudgeSettings, items: BenchmarkKind) -> dict[str, object]:
    """The settings that decide the judge's verdicts on these items."""
    turns: dict[str, object] = {}
    if judge.model is not None:
        turns = {"chat_template": judge.model.chat_template, "system_prompt": judge.model.system_prompt}
    if items in GRADING_KINDS:
        warmth = temperature(judge, items)
        return {"runs": judge.runs, "temperature": warmth, "max_tokens": judge.max_tokens, "seed": judge.seed, **turns}
    if judge.kind == "similarity":
        return {"measure": judge.measure}
    # The logprob judge reads one token after a bare text.
    return {"max_tokens": judge.max_tokens, **turns} if judge.kind == "rubric" else {}


class Trust:
    """What the judge of a plan has earned, by its trust file. Reads and identifies nothing before it must.

    `memo` remembers the digests of weights, `data` is the folder of the benchmark files. `notes` are lines for the
    summary: why a trust file that nobody requires goes unused.
    """

    def __init__(self, plan: Plan, memo: DigestMemo, data: Path | None) -> None:
        self._plan = plan
        self._memo = memo
        self._data = default_data() if data is None else data
        self.notes: list[str] = []

    def refused(self, benchmark: str, metrics: Collection[str]) -> frozenset[str]:
        """Those of a benchmark's metrics (by catalogue name) that the judge must not decide."""
        kind = self._plan.questions[benchmark].kind
        if not self._plan.requires or kind not in OF_A_MODEL:
            return frozenset()
        decided = frozenset(metric for metric in metrics if decided_by(metric, kind))
        return decided if decided and self.refusal else frozenset()

    @cached_property
    def refusal(self) -> str | None:
        """Why the judge has not earned what the thresholds file requires; None when it has."""
        plan = self._plan
        rows = {f"{row.benchmark}.{metric_of(row.metric).name}" for row in plan.rows}
        required = {name.rpartition(".")[0] for name in plan.requires}
        known = {} if isinstance(self._record, Missing) else self._record.benchmarks
        now = {name: self._comparable(name, known[name]) for name in required if name in known}
        reasons = unmet(plan.requires, self._record, now, Place(plan.path, plan.trust_path, rows))
        if not reasons:
            return None
        model = plan.judge.model
        who = plan.judge.kind if model is None else f"{plan.judge.kind}, {visible(model.label)}"
        lines = "".join(f"\n  {reason}" for reason in reasons)
        return f"the judge ({who}) has not earned the trust that {plan.path} requires:{lines}"

    def with_correction(self, result: RowResult, items: BenchmarkKind) -> RowResult:
        """The result of a row of `truthful` with the rate corrected for the judge's errors, where these are known."""
        summary = result.summary
        if result.row.metric != "truthful" or items not in OF_A_MODEL or result.verdict == "error":
            return result
        if summary is None or summary.estimate is None or self._rates is None:
            return result
        sensitivity, specificity = (self._rates.metrics[name] for name in RATES)
        rate = corrected(
            summary.estimate,
            summary.n,
            sensitivity.estimate,
            sensitivity.n,
            specificity.estimate,
            specificity.n,
            result.row.confidence,
        )
        return replace(result, corrected=rate)

    @cached_property
    def _rates(self) -> TrustEntry | None:
        """The entry of truthful_judge with the judge's errors, if there is one that still holds."""
        record, path = self._record, self._plan.trust_path
        if isinstance(record, Missing):
            if record.kind != "no_file":
                self.notes.append(f"no share is corrected for the judge's errors: {record.detail}")
            return None
        entry = record.benchmarks.get(TRUTHFUL_JUDGE)
        if entry is None or not set(RATES) <= entry.metrics.keys():
            return None
        changes = staleness(entry, self._current(TRUTHFUL_JUDGE, entry))
        if changes:
            self.notes.append(f"no share is corrected for the judge's errors: {path} is stale: {'; '.join(changes)}")
        return None if changes else entry

    @cached_property
    def _record(self) -> TrustRecord | Missing:
        path = self._plan.trust_path
        if not os.path.lexists(path):
            return Missing("no_file", f"there is no {path}")
        try:
            return read_trust(path)
        except DataError as error:
            return Missing("unreadable", str(error))

    @cached_property
    def _identity(self) -> Identity | None:
        model = self._plan.judge.model
        return None if model is None else identify(model, self._memo)

    def _comparable(self, benchmark: str, entry: TrustEntry) -> Current | Missing:
        """The judge as it is; a reason where a file is lacking, which must not stop rows that nobody judges."""
        try:
            return self._current(benchmark, entry)
        except UsageError as error:
            return Missing("no_comparison", str(error))

    def _current(self, benchmark: str, entry: TrustEntry) -> Current:
        """The judge as it would be asked about the items of a benchmark that the trust file has."""
        plan, judge = self._plan, self._plan.judge
        asked: TrustedSet | None = None
        data: str | None = None
        if benchmark in plan.questions:
            questions, settings = plan.questions[benchmark], plan.settings[benchmark]
            asked, data = asked_as(settings, questions.kind), questions.data_sha256
        else:
            questions, settings = self._as_measured(benchmark, entry)
            data = judge_starter.load().data_sha256 if benchmark == JUDGE_STARTER else None
        prompts = prompt_digests(entry.metrics, judge, questions, settings)
        identity = self._identity if asks_judge(entry.metrics, judge.kind, questions.kind) else None
        return Current(
            trusted_judge(identity, judge, questions.kind, digest(prompts) if prompts else None), asked, data
        )

    def _as_measured(self, benchmark: str, entry: TrustEntry) -> tuple[QuestionSet, BenchmarkSettings]:
        """A set that is not in the plan, without its items: the words in which its judge was asked, as they are now.

        Raises DataError where they are published ones that are not there.
        """
        kind: BenchmarkKind = BENCHMARKS.get(benchmark, "direct")
        prompt = GRADING_PROMPTS[0]
        if entry.asked is not None:
            kind, prompt = entry.asked.kind, entry.asked.prompt
        primers = {} if prompt == GRADING_PROMPTS[0] else prometheus.read_wordings(self._data)[prompt]
        questions = QuestionSet(benchmark, None, (), primers, "", "", {}, Path(), kind)
        return questions, BenchmarkSettings(benchmark, prompt=prompt)
