"""Whether a judge has earned the trust that a gate requires: from its trust record, the requirements, and itself."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from truthguard.changes import changed, changes, weight_changes
from truthguard.records import Missing, TrustedJudge, TrustedMetric, TrustedSet, TrustEntry, TrustRecord
from truthguard.text import visible
from truthguard.thresholds.comparing import at_least, digits_that_differ

_JUDGE = "the judge"
# The metrics of truthful_judge by which a share of truthful answers is corrected.
RATES = ("sensitivity", "specificity")


@dataclass(frozen=True, slots=True)
class Current:
    """A judge as it would be asked about a benchmark's items now.

    `asked` is how the benchmark puts them and `data_sha256` their digest; None = not known here.
    """

    judge: TrustedJudge
    asked: TrustedSet | None = None
    data_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the requirements and the record stand, for what a person is told to do.

    `measured` are the rows of the thresholds file that measure a judge, as "SET.METRIC".
    """

    thresholds: Path
    trust: Path
    measured: Collection[str]

    def remedy(self, required: str) -> str:
        """How to come by a record of "SET.METRIC"."""
        benchmark, _, metric = required.rpartition(".")
        row = "" if required in self.measured else f", with a row [{benchmark}.{metric}] in that file"
        thresholds, trust = (shlex.quote(str(path)) for path in (self.thresholds, self.trust))
        return (
            f"measure it with the same judge: pytest {thresholds} -k {benchmark} --truthguard-save-trust {trust}{row}"
        )


def unmet(
    requires: Mapping[str, float],
    record: TrustRecord | Missing,
    now: Mapping[str, Current | Missing],
    place: Place,
) -> list[str]:
    """Why the judge has not earned trust, a reason for each requirement that is not met; empty when it has.

    `requires` has "SET.METRIC" and the least estimate, `record` is the trust file or why there is none, `now` the
    judge as it is for each benchmark in `requires` that the record has, or why that cannot be told here.
    """
    return [
        f"{required}: {reason}"
        for required, least in requires.items()
        if (reason := _unmet(required, least, record, now, place))
    ]


def staleness(entry: TrustEntry, now: Current) -> list[str]:
    """What has changed since a benchmark was measured, each with both values; empty when its numbers still hold."""
    return [
        *weight_changes(_JUDGE, entry.judge, now.judge),
        *changed("the judge's kind", entry.judge.kind, now.judge.kind),
        *changes("the judge's ", entry.judge.settings, now.judge.settings),
        *changed("the judge's prompt", entry.judge.prompt_digest, now.judge.prompt_digest),
        *([] if now.asked is None else changes("", _settings(entry.asked), _settings(now.asked))),
        *([] if now.data_sha256 is None else changed("the data", entry.data_sha256, now.data_sha256)),
    ]


def merged(old: TrustRecord, new: TrustRecord) -> tuple[TrustRecord, tuple[str, ...]]:
    """`new` with what `old` says besides, and the benchmarks of `old` that are left out.

    A benchmark of `new` replaces its older self, with all of its metrics. One that only `old` has stays where it is of
    a judge that `new` speaks of, or of one without a model; of another judge it is left out, so that a file is about
    one judge. In whatever words and settings it was measured: who goes by it compares these with the judge as it is.
    """
    judges = [entry.judge for entry in new.benchmarks.values()]
    others = {name: entry for name, entry in old.benchmarks.items() if name not in new.benchmarks}
    kept = {
        name: entry
        for name, entry in others.items()
        if entry.judge.name is None or not all(any(weight_changes(_JUDGE, entry.judge, judge)) for judge in judges)
    }
    return replace(new, benchmarks={**kept, **new.benchmarks}), tuple(name for name in others if name not in kept)


def _unmet(
    required: str, least: float, record: TrustRecord | Missing, now: Mapping[str, Current | Missing], place: Place
) -> str | None:
    benchmark, _, metric = required.rpartition(".")
    if isinstance(record, Missing):
        return f"no trust record: {visible(record.detail, 1000)}; {place.remedy(required)}"
    entry = record.benchmarks.get(benchmark)
    if entry is None or metric not in entry.metrics:
        return f"{place.trust} does not have it; {place.remedy(required)}"
    current = now[benchmark]
    if isinstance(current, Missing):
        return f"{place.trust} cannot be compared with the judge as it is: {visible(current.detail, 1000)}"
    if changes := staleness(entry, current):
        return f"{place.trust} is stale: {'; '.join(changes)}; {place.remedy(required)}"
    found = entry.metrics[metric]
    if at_least(found.estimate, least):
        return None
    reached, bar = digits_that_differ(found.estimate, least)
    return f"{reached} < {bar} ({measured_text(found)}, in {place.trust}): use a judge that reaches it"


def measured_text(metric: TrustedMetric) -> str:
    """On how many items a number rests, and its interval."""
    interval = "" if metric.low is None or metric.high is None else f", {metric.low:.4f} to {metric.high:.4f}"
    unscored = f", {metric.n_unscored} unscored" if metric.n_unscored else ""
    return f"n = {metric.n}{interval} at confidence {metric.confidence:g}{unscored}"


def _settings(asked: TrustedSet | None) -> dict[str, object]:
    return {} if asked is None else asdict(asked)
