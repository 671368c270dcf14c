"""Correctness: the share of a judge's readable verdicts that say yes, and the explanations that go with it.

One judge is asked several times about one response. A sample that gave no verdict is neither a yes nor a no:
in public tools a judge that was cut off, or that refused, raised the score. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeVar, get_args

from truthguard.errors import nearest
from truthguard.records import Missing, VerdictKind

KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)
# The mark beside a value of exactly one half.
SPLIT = Missing("split", "as many samples call it factual as not")
_UNEXPLAINED: Mapping[VerdictKind, str] = MappingProxyType({})


class Opinion(Protocol):
    """One sample: the kind of its verdict, and the text that led to it."""

    @property
    def kind(self) -> VerdictKind: ...

    @property
    def explanation(self) -> str: ...


AnOpinion = TypeVar("AnOpinion", bound=Opinion)


def correctness(kinds: Sequence[VerdictKind], reasons: Mapping[VerdictKind, str] = _UNEXPLAINED) -> float | Missing:
    """yes / (yes + no) over the samples of one response.

    `kinds` has one entry for each sample asked for, those that failed included; `reasons` are repeated for the
    kinds that they explain where too few are readable. Range: 0 to 1. Ties: as many
    yes as no is 0.5. Missing: fewer than ceil(n / 2) of the n samples are readable. Raises ValueError without
    a sample and for an unknown kind. Source: this project's contract, after the chain-of-thought polling that
    Galileo documents as Correctness.

    >>> correctness(["yes", "no", "length", "yes", "yes"])
    0.75
    >>> str(correctness(["no", "yes", "failed", "failed", "failed"]))
    'too_few_verdicts: 2 of 5 samples are readable, at least 3 must be: 1 yes, 1 no, 3 failed'
    """
    counts = count_kinds(kinds)
    n = len(kinds)
    if not n:
        raise ValueError("correctness needs at least one sample")
    yes, readable = counts.get("yes", 0), counts.get("yes", 0) + counts.get("no", 0)
    needed = (n + 1) // 2
    if readable < needed:
        found = ", ".join(
            f"{count} {kind}" + (f" ({reasons[kind]})" if kind in reasons else "") for kind, count in counts.items()
        )
        are = "is" if readable == 1 else "are"
        detail = f"{readable} of {n} samples {are} readable, at least {needed} must be: {found}"
        return Missing("too_few_verdicts", detail)
    return yes / readable


def count_kinds(kinds: Iterable[VerdictKind]) -> dict[VerdictKind, int]:
    """How many samples there are of each kind that occurs, in the order of `KINDS`.

    Raises ValueError for an unknown kind, so that no sample goes uncounted.

    >>> count_kinds(["length", "yes", "length"])
    {'yes': 1, 'length': 2}
    """
    counts = Counter(kinds)
    if unknown := [kind for kind in counts if kind not in KINDS]:
        raise ValueError(f"unknown kind of verdict {unknown[0]!r}{nearest(unknown[0], KINDS)}")
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def representatives(opinions: Sequence[AnOpinion]) -> tuple[AnOpinion, ...] | Missing:
    """The samples whose explanations a person is shown: one of the majority; at exactly one half, one of each side.

    Two samples mark the item as split, and the one that says not factual comes first. Of a side, the first
    sample with an explanation stands for it, or its first where none gave any. Missing and errors: as
    `correctness`, so an item without a score shows no majority either.

    >>> from types import SimpleNamespace as Sample
    >>> samples = [Sample(kind="yes", explanation="a"), Sample(kind="no", explanation="b")]
    >>> [sample.explanation for sample in representatives(samples)]
    ['b', 'a']
    """
    score = correctness([opinion.kind for opinion in opinions])
    if isinstance(score, Missing):
        return score
    if score == 0.5:
        return (_first(opinions, "no"), _first(opinions, "yes"))
    return (_first(opinions, "yes" if score > 0.5 else "no"),)


def _first(opinions: Sequence[AnOpinion], kind: VerdictKind) -> AnOpinion:
    """The first sample of a side that says why; the first one at all where none does."""
    side = [opinion for opinion in opinions if opinion.kind == kind]
    return next((opinion for opinion in side if opinion.explanation.strip()), side[0])
