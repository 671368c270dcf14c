"""Keys of [judge] that would change nothing: who wrote them believes otherwise, so they are not passed over."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from truthguard.catalogue import CORRECTNESS, DECIDED_BY_KIND, judged
from truthguard.records import JudgeSettings
from truthguard.thresholds.spec import JudgeSpec

# Only correctness draws samples; a rubric's verdict is one greedy reply, a logprob judge's one probability.
_SAMPLED = frozenset(["samples", "temperature", "seed"])


def unused(spec: JudgeSpec, judge: JudgeSettings, metrics: Collection[str] | None) -> Iterator[tuple[str, str]]:
    """The keys of the file's [judge] that nothing reads, each with the reason.

    `judge` are the settings as they stand after every source, `metrics` those of all rows of the file, whichever
    are selected; None where they are not all known. A file without any judged row may keep the table for tests
    that ask through the fixture: then only what no metric at all could use is named.

    >>> list(unused(JudgeSpec(lines={"samples": 2}), JudgeSettings(), ["truthful"]))
    [('samples', "it is for a judge's model, and none is named: give [judge] a model, or leave it out")]
    """
    for key in spec.lines:
        reason = _without_model(key, judge)
        if reason is None and metrics is not None and judged(metrics):
            reason = _without_row(key, judge, metrics)
        if reason is not None:
            yield key, reason


def overruled(spec: JudgeSpec, judge: JudgeSettings) -> str | None:
    """Why the file's measure does not decide although the file alone would have it so: a model was named elsewhere."""
    if "measure" not in spec.settings or judge.kind == "similarity" or judge.model is None:
        return None
    return (
        f"[judge] measure does not decide here: {judge.model.name}, named outside the file, makes the kind"
        f" {judge.kind!r}; kind = 'similarity' in the file would keep it"
    )


def _without_model(key: str, judge: JudgeSettings) -> str | None:
    if judge.model is not None or key in ("kind", "measure"):
        return None
    return "it is for a judge's model, and none is named: give [judge] a model, or leave it out"


def _without_row(key: str, judge: JudgeSettings, metrics: Collection[str]) -> str | None:
    """Why no row with one of these metrics reads the key; None when one does."""
    if key == "kind":
        return None
    if key == "measure":
        decides = judge.kind != "similarity" or not DECIDED_BY_KIND.isdisjoint(metrics)
        return None if decides else "it decides truthful, informative and both, and no row is one of them"
    if CORRECTNESS in metrics:
        return None
    if judge.kind == "similarity":
        return "kind = 'similarity' asks no model, and no row is correctness, which always does"
    if key in _SAMPLED:
        return f"it is for correctness, and no row is one: the {judge.kind} judge is asked once, without chance"
    if key == "max_tokens" and judge.kind == "logprob":
        return "the logprob judge writes nothing, and no row is correctness"
    return None
