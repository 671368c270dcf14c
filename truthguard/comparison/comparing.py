"""A row's metric in a run and in a baseline, item by item: how much lower it is, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Sequence

from truthguard.catalogue import metric_of
from truthguard.comparison.comparable import refusals
from truthguard.comparison.pairing import Pairing, pair
from truthguard.comparison.testing import Test, test_of
from truthguard.metrics.disagreement import distance_of
from truthguard.metrics.power import detectable_drop
from truthguard.metrics.statistics import TOLERANCE
from truthguard.records import Baseline, Drop, ItemChange, ItemScores, Missing, Row, Run
from truthguard.text import visible

MOST_CHANGES = 10
_SHOWN_IDS = 5
REMEDY = "make a new baseline: run the baseline's model once more, with --truthguard-save-baseline FILE"


def compare_all(row: Row, run: Run, baselines: Sequence[Baseline]) -> tuple[Drop | Missing, ...]:
    """The row beside each baseline. Under proof each may block, so each test has its share of the row's alpha.

    Empty for one item's row, of which nothing can be shown, and for a run that was not asked to the end.
    """
    if row.item is not None or not run.complete:
        return ()
    return tuple(compare(row, run, baseline, baselines=len(baselines)) for baseline in baselines)


def compare(row: Row, run: Run, baseline: Baseline, *, baselines: int = 1) -> Drop | Missing:
    """How much lower the row's metric is than in a baseline, over the row's slice; Missing where it cannot be compared.

    Missing says why by the baseline's name, and how to make a new one: it lacks the benchmark (`no_benchmark`); data,
    metric or judge are not the same (`not_comparable`); more than `max_unscored` of the items of either side are items
    of one side alone (`unequal_items`); no pair is left (`no_pairs`), or the statistic is undefined over them
    (`undefined`). Pairs of 0/1 items: Tango's score test and McNemar's; other means: t over clusters of items that
    share a prompt; what is no mean: the bootstrap of both sides jointly, drawn by the row's id. An item that the
    baseline scored and the run did not has the metric's worst value there; of what is no mean it leaves the pairs. The
    level of the tests is the row's alpha, divided by the number of `baselines` that are compared where proof blocks.
    """
    name = visible(baseline.name)
    before = baseline.runs.get(run.benchmark)
    if before is None:
        has = ", ".join(map(visible, baseline.runs)) or "nothing"
        return Missing("no_benchmark", f"{name} has no {run.benchmark}, it has {has}; {REMEDY}")
    if reasons := list(refusals(row.metric, run, before)):
        return Missing("not_comparable", f"not comparable with {name}: {'; '.join(reasons)}; {REMEDY}")
    pairing = pair(row, run, before)
    if reason := _unequal(row, pairing, name):
        return Missing("unequal_items", f"{reason}; {REMEDY}")
    n = len(pairing.both) + (0 if metric_of(row.metric).scale == "statistic" else len(pairing.lost))
    if not n:
        return Missing("no_pairs", f"{name} has scored none of the items of {row.metric} that were asked; {REMEDY}")
    test = test_of(row, pairing)
    if isinstance(test, Missing):
        return Missing("undefined", f"{row.metric} has no value to compare with {name}: {test.detail}")
    alpha = row.alpha / baselines if row.drop_block_on == "proof" else row.alpha
    return _drop(row, baseline.name, pairing, n, test, alpha)


def _drop(row: Row, name: str, pairing: Pairing, n: int, test: Test, alpha: float) -> Drop:
    bar = 0.0 if row.max_drop is None else row.max_drop
    improved = test.p(0.0, "greater" if metric_of(row.metric).smaller_is_better else "less")
    falls = _falls(row.metric, pairing)
    worse = sorted((fall for fall in falls if fall[0] > TOLERANCE), key=lambda fall: -fall[0])
    return Drop(
        baseline=name,
        n=n,
        estimate=test.estimate,
        low=None if test.interval is None else test.interval.low,
        high=None if test.interval is None else test.interval.high,
        confidence=row.confidence,
        p_greater=test.p(bar, "greater"),
        p_less=test.p(bar, "less"),
        p_improved=improved,
        worse=len(worse),
        better=sum(fall < -TOLERANCE for fall, _ in falls),
        lost=len(pairing.lost),
        gained=len(pairing.gained),
        only_baseline=pairing.only_baseline,
        only_candidate=pairing.only_candidate,
        mcnemar=test.mcnemar,
        detectable=None if test.spread is None else detectable_drop(test.spread, n, alpha),
        untested=test.untested,
        alpha=alpha,
        worst=tuple(change for _, change in worse[:MOST_CHANGES]),
    )


def _unequal(row: Row, pairing: Pairing, name: str) -> str | None:
    """Why too many items have no counterpart; None when few enough."""
    alone = len(pairing.only_baseline) + len(pairing.only_candidate)
    if alone <= (row.max_unscored + TOLERANCE) * pairing.union:
        return None
    sides = ((f"only in {name}", pairing.only_baseline), ("only in this run", pairing.only_candidate))
    listed = ", ".join(f"{len(ids)} {where} ({_some(ids)})" for where, ids in sides if ids)
    return (
        f"{alone} of {pairing.union} items of {row.metric} have no counterpart, more than"
        f" max_unscored = {row.max_unscored:g} allows: {listed}"
    )


def _some(ids: Sequence[str]) -> str:
    more = [f"and {len(ids) - _SHOWN_IDS} more"] if len(ids) > _SHOWN_IDS else []
    return ", ".join([*map(visible, ids[:_SHOWN_IDS]), *more])


def _falls(metric: str, pairing: Pairing) -> list[tuple[float, ItemChange]]:
    """How much worse each pair got: the item's value, or of a statistic how far its own values lie apart."""
    spec = metric_of(metric)
    if spec.scale == "statistic":
        changes = [_change(old, *(distance_of(side, metric) for side in (old, new))) for old, new in pairing.both]
        return [((change.candidate or 0.0) - change.baseline, change) for change in changes]
    sign, worst = (-1.0, spec.high) if spec.smaller_is_better else (1.0, spec.low)
    changes = [
        _change(old, *(side.values.get(metric) for side in (old, new))) for old, new in (*pairing.both, *pairing.lost)
    ]
    return [
        (sign * (change.baseline - (worst if change.candidate is None else change.candidate)), change)
        for change in changes
    ]


def _change(item: ItemScores, before: float | None, now: float | None) -> ItemChange:
    assert before is not None, "what the baseline did not score is in no pair"
    return ItemChange(item.id, before, now)
