"""What changed from one value, one run or one set of values to another, in words for a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from truthguard.catalogue import metric_of
from truthguard.records import Drop, Identity, Row, TrustedJudge
from truthguard.text import visible

# SHA-256: its first digits tell two of them apart.
_DIGEST = re.compile("[0-9a-f]{64}")


def changed(what: str, was: object, now: object) -> Iterator[str]:
    """One line where the two differ, none where they are equal.

    >>> list(changed("the dtype", "float32", "bfloat16")), list(changed("the limit", 40, 40))
    (["the dtype changed from 'float32' to 'bfloat16'"], [])
    """
    if was != now:
        yield f"{what} changed from {_shown(was)} to {_shown(now)}"


def changes(
    whose: str, was: Mapping[str, object], now: Mapping[str, object], names: Iterable[str] | None = None
) -> Iterator[str]:
    """One line for each value that differs, of the `names` alone where they are given; a missing one is none.

    >>> list(changes("the ", {"seed": 0, "limit": 40}, {"seed": 0}))
    ['the limit changed from 40 to none']
    """
    for name in dict.fromkeys([*was, *now]) if names is None else names:
        yield from changed(f"{whose}{visible(name)}", was.get(name), now.get(name))


def weight_changes(who: str, was: Identity | TrustedJudge | None, now: Identity | TrustedJudge | None) -> Iterator[str]:
    """Whether it is another model than it was, in other weights, or in another dtype; None where none is asked."""
    digests = [None if each is None else each.digest for each in (was, now)]
    if None not in digests:
        # The weights are the model; the path of the same file differs from machine to machine.
        name = "" if now is None else visible(now.name or "")
        yield from changed(f"{who}'s weights ({name})", *digests)
    else:
        for field, what in (("name", "name"), ("digest", "weights"), ("revision", "revision")):
            yield from changed(f"{who}'s {what}", getattr(was, field, None), getattr(now, field, None))
    yield from changed(f"{who}'s dtype", getattr(was, "dtype", None), getattr(now, "dtype", None))


def improved(drop: Drop) -> bool:
    """Whether the test shows that the metric improved."""
    return drop.p_improved is not None and drop.p_improved <= drop.alpha


def improvement_text(drop: Drop) -> str:
    """An improvement, for a reader. `estimate` is a change: of what is better the smaller a drop is one."""
    return f"improved by {abs(drop.estimate):.4f} against {visible(drop.baseline)}, one-sided p = {drop.p_improved:.3g}"


def changes_text(metric: str, drop: Drop) -> str:
    """How many items changed which way, and which could not be paired.

    >>> drop = Drop("base.json", 200, 0.06, None, None, 0.95, None, None, None, worse=16, better=4, lost=1)
    >>> changes_text("mc1", drop)
    '16 worse, 4 better; 1 no longer scored, counted with the worst value'
    """
    text = f"{drop.worse} worse, {drop.better} better"
    if drop.lost:
        statistic = metric_of(metric).scale == "statistic"
        counted = "left out, as a statistic has no worst value" if statistic else "counted with the worst value"
        text += f"; {drop.lost} no longer scored, {counted}"
    if drop.gained:
        text += f"; {drop.gained} scored only now, left out"
    for ids, where in ((drop.only_baseline, "only in the baseline"), (drop.only_candidate, "only in this run")):
        if ids:
            text += f"; {len(ids)} {where}: {', '.join(map(visible, ids))}"
    return text


def power_text(row: Row, drop: Drop) -> str:
    """The smallest drop that the comparison would have shown to be above the bar, 80 times of 100; '' without a test.

    >>> drop = Drop("base.json", 200, 0.0, None, None, 0.95, None, None, None, worse=0, better=0, detectable=0.03)
    >>> power_text(Row("faq[mc1]", "faq", "mc1", 1, max_drop=0.02), drop)
    'could show a drop of 0.0500 with 80 % power'
    """
    if drop.detectable is None:
        return ""
    least, metric = (row.max_drop or 0.0) + drop.detectable, metric_of(row.metric)
    if least > metric.high - metric.low:
        return f"could show no drop at all with 80 % power: {drop.n} {'pairs are' if drop.n > 1 else 'pair is'} too few"
    return f"could show a drop of {least:.4f} with 80 % power"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value[:12] if _DIGEST.fullmatch(value) else repr(visible(value))
    return str(value).lower()
