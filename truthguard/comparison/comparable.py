"""What must be equal for two numbers to be compared, and what may differ since it is what is compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from truthguard.catalogue import GRADING_KINDS, asks_judge, decided_by, metric_of
from truthguard.changes import changed, changes, weight_changes
from truthguard.metrics.participation import part_of
from truthguard.records import (
    Baseline,
    BaselineItem,
    BaselineRun,
    BenchmarkKind,
    Compared,
    Identity,
    ItemScores,
    JudgeRun,
    Run,
)
from truthguard.text import visible

_TURNS = ("chat_template", "system_prompt")
_SAMPLING = ("temperature", "max_tokens", "seed")
# What decides a judge's verdicts, by its kind, where the configured kind decides them.
_BY_KIND = {"similarity": ("measure",), "rubric": ("max_tokens", *_TURNS), "logprob": _TURNS}
# How pairs and graded responses are put to a judge.
_ASKED = ("prompt", "order", "reference", "grades")


def refusals(metric: str, run: Run, baseline: BaselineRun) -> Iterator[str]:
    """Why this metric of a run cannot be compared with that of a baseline, each with both values; none if it can.

    Compared must be equal: the data's digest; the metric by the name of its variant; and of a judged metric who judged,
    in which words and with which of the settings that decide its verdicts. Of a set that measures a judge that is also
    how its items are put to it.
    """
    if not baseline.complete:
        yield "its run was stopped before everything was asked"
    yield from changed("the kind of items", baseline.kind, run.kind)
    if baseline.data_sha256 != run.data_sha256:
        # The version says to a person what the digests say to a program; equal data of two versions are compared.
        yield from changed("the version", baseline.version, run.version)
        yield from changed("the data", baseline.data_sha256, run.data_sha256)
    if all(part_of(scores_of(item), metric) == "none" for item in baseline.items):
        names = dict.fromkeys(name for item in baseline.items for name in item.values)
        yield f"it has no {metric}, it has {', '.join(map(visible, names)) or 'nothing'}"
    decider = decided_by(metric_of(metric).name, run.kind)
    if decider is None or baseline.kind != run.kind:
        return
    if run.kind in GRADING_KINDS:
        yield from changes("the items' ", baseline.settings, run.settings, _ASKED)
    if run.judge is not None and baseline.judge is not None:
        yield from _judge_changes(metric_of(metric).name, run.kind, baseline.judge, run.judge)
    else:
        yield from changed("the judge", *(each and each.kind for each in (baseline.judge, run.judge)))


def differences(run: Run, baseline: BaselineRun | Run) -> tuple[str, ...]:
    """What differs between a run and an earlier one besides the values, each in words with both of its values.

    The model, its dtype, device and libraries, every setting (the primer and the chat template among them), and the
    judge, although its own metrics are refused then: the others are compared.
    """
    was, now = baseline.judge, run.judge
    lines = [
        *_model_changes("the model", baseline.model, run.model),
        *changes("", baseline.settings, run.settings),
    ]
    if was is not None and now is not None:
        lines += _model_changes("the judge", was.identity, now.identity)
        lines += changed("the judge's kind", was.kind, now.kind)
        lines += changes("the judge's ", was.settings, now.settings)
        lines += _prompt_changes(was, now)
    return tuple(lines)


def compared(baselines: Iterable[Baseline], runs: Iterable[Run]) -> tuple[Compared, ...]:
    """What differs besides the values between each run and each baseline that has its benchmark."""
    return tuple(
        Compared(run.benchmark, baseline.name, baseline.created, differences(run, before))
        for run in runs
        for baseline in baselines
        if (before := baseline.runs.get(run.benchmark)) is not None
    )


def _model_changes(who: str, was: Identity | None, now: Identity | None) -> Iterator[str]:
    yield from weight_changes(who, was, now)
    if was is not None and now is not None:
        yield from changed(f"{who}'s device", was.device, now.device)
        yield from changes(f"{who}'s library ", was.libraries, now.libraries)


def _judge_changes(metric: str, kind: BenchmarkKind, was: JudgeRun, now: JudgeRun) -> Iterator[str]:
    """What makes it another judge of the metric."""
    asked = asks_judge([metric], now.kind, kind)
    if asked:
        yield from weight_changes("the judge", was.identity, now.identity)
    if decided_by(metric, kind) == "kind":
        yield from changed("the judge's kind", was.kind, now.kind)
    yield from changes("the judge's ", was.settings, now.settings, _deciding(metric, kind, now))
    if asked:
        yield from _prompt_changes(was, now)


def _deciding(metric: str, kind: BenchmarkKind, judge: JudgeRun) -> tuple[str, ...]:
    """The names of the settings that decide what a judge says of the metric."""
    if kind in GRADING_KINDS:
        return ("runs", *_SAMPLING, *_TURNS)
    if decided_by(metric, kind) == "model":
        return ("samples", *_SAMPLING, *_TURNS)
    return _BY_KIND[judge.kind]


def _prompt_changes(was: JudgeRun, now: JudgeRun) -> Iterator[str]:
    """The words in which both were asked: the other prompts of a run are those of metrics that only it has."""
    if was.prompts and now.prompts:
        for name in now.prompts:
            if name in was.prompts:
                yield from changed(f"the judge's prompt {name}", was.prompts[name], now.prompts[name])
    else:
        yield from changed("the judge's prompt", was.prompt_digest, now.prompt_digest)


def scores_of(item: BaselineItem) -> ItemScores:
    """A baseline's item as the metrics take one; its texts are not known."""
    return ItemScores(item.id, item.category, "", item.values)
