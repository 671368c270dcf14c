"""Keys of [judge] that would change nothing: who wrote them believes otherwise, so they are not passed over."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from truthguard.catalogue import CORRECTNESS, GRADING_KINDS, decided_by
from truthguard.records import BenchmarkKind, JudgeSettings
from truthguard.thresholds.spec import JudgeSpec

# A row of the file: its metric, and what it is a metric of.
Asked = tuple[str, BenchmarkKind]

# Correctness, grades and choices are drawn by chance; a rubric's verdict is one greedy reply, a logprob judge's one
# probability.
_SAMPLED = frozenset(["temperature", "seed"])
# What the judge must have reached is for those who take its word.
_TRUST = frozenset(["requires", "trust"])


def unused(spec: JudgeSpec, judge: JudgeSettings, rows: Collection[Asked] | None) -> Iterator[tuple[str, str]]:
    """The keys of the file's [judge] that nothing reads, each with the reason.

    `judge` are the settings as they stand after every source, `rows` all rows of the file, whichever are selected;
    None where they are not all known. A file without any judged row may keep the table for tests that ask through the
    fixture: then only what no metric at all could use is named.

    >>> list(unused(JudgeSpec(lines={"samples": 2}), JudgeSettings(), [("truthful", "questions")]))
    [('samples', "it is for a judge's model, and none is named: give [judge] a model, or leave it out")]
    """
    for key in spec.lines:
        reason = _without_model(key, judge)
        if reason is None and rows is not None and any(decided_by(*row) for row in rows):
            reason = _without_row(key, judge, rows)
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
    if judge.model is not None or key in ("kind", "measure", *_TRUST):
        return None
    return "it is for a judge's model, and none is named: give [judge] a model, or leave it out"


def _without_row(key: str, judge: JudgeSettings, rows: Collection[Asked]) -> str | None:
    """Why none of these rows reads the key; None when one does."""
    correctness = any(metric == CORRECTNESS for metric, _ in rows)
    graded = any(items in GRADING_KINDS for _, items in rows)
    if key == "kind" or key in _TRUST:
        return None
    if key == "measure":
        decides = judge.kind != "similarity" or any(decided_by(*row) == "kind" for row in rows)
        return None if decides else "it decides truthful, informative and both, and no row is one of them"
    if key == "samples" and not correctness:
        return f"it is for correctness, and no row is one: {_ONCE[graded]}"
    if key == "runs" and not graded:
        return "it is for graded responses (pearson, consistency, ...), and no row is of them"
    if correctness or graded:
        return None
    if judge.kind == "similarity":
        return "kind = 'similarity' asks no model, and no row is correctness, which always does"
    if key in _SAMPLED:
        return f"it is for correctness, grades and choices, and no row is one: {_ONCE[False]}"
    if key == "max_tokens" and judge.kind == "logprob":
        return "the logprob judge writes nothing, and no row is correctness"
    return None


_ONCE = {
    False: "every other verdict is asked for once, without chance",
    True: "a grade is asked for in `runs`",
}
