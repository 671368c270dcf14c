"""A metric over many items: its value with its interval, what is missing, and the items nearest to flipping."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from truthguard.catalogue import GRADE_RUN, NORMALIZATIONS, Metric, metric_of
from truthguard.metrics import judging
from truthguard.metrics.choice import chance, normalised
from truthguard.metrics.correctness import SPLIT
from truthguard.metrics.disagreement import said
from truthguard.metrics.participation import part_of, participants, reason_of
from truthguard.metrics.statistics import TOLERANCE, Interval, cluster_t, mean, wilson
from truthguard.records import Bar, ItemScores, MetricSummary, Missing


def summarise(items: Sequence[ItemScores], metric: str, confidence: float, *, seed_name: str = "") -> MetricSummary:
    """A metric over the scored items: its estimate, its two-sided interval, and what could not be scored.

    `metric` is the printed variant's name (mc1_per_token). Shares of 0/1 items have the mean with Wilson's interval,
    other means cluster t over the clusters of `clusters` (not clipped; None for one cluster); what is no mean has the
    bootstrap's, drawn by `seed_name`, and may be `undefined` although items are scored. Unscored items are counted by
    the kind of their reason, with the first detail of each kind, and never enter the estimate; the bounds of a mean
    give every one of them the metric's lowest or highest value. Items that the metric's definition drops are counted
    apart; those of another kind, in a set that measures a judge, have no part in it. `chance` is the mean over the
    selected items that have one, `inexact` counts the scored items with a reason beside their value other than that
    they are split. With nothing scored, estimate and interval are None. Raises ValueError for no items, and for an item
    that was not asked for the metric, is missing without a reason, or has a value that the metric cannot have.
    """
    items = participants(items, metric)
    if not items:
        raise ValueError(f"no items to summarise {metric} over")
    unscored = [reason_of(item, metric) for item in items if part_of(item, metric) == "unscored"]
    n_dropped = sum(part_of(item, metric) == "dropped" for item in items)
    found = MetricSummary(
        metric=metric,
        n=len(items) - len(unscored) - n_dropped,
        n_unscored=len(unscored),
        estimate=None,
        low=None,
        high=None,
        confidence=confidence,
        unscored=dict(Counter(reason.kind for reason in unscored)),
        details={reason.kind: reason.detail for reason in reversed(unscored)},
        n_dropped=n_dropped,
    )
    if metric_of(metric).scale == "statistic":
        return _statistic(items, found, seed_name)
    return _mean(items, found)


def _statistic(items: Sequence[ItemScores], found: MetricSummary, seed_name: str) -> MetricSummary:
    """The summary of what is no mean."""
    level = None if metric_of(found.metric).columns == (GRADE_RUN,) else 0.0
    if not found.n:
        return replace(found, chance=level)
    value = judging.value_of(items, found.metric)
    if isinstance(value, Missing):
        return replace(found, chance=level, undefined=value)
    drawn = judging.resamples(items, found.metric, seed_name)
    interval = drawn.interval(found.confidence)
    return replace(
        found,
        estimate=value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        chance=level,
        undefined_resamples=drawn.undefined,
    )


def _mean(items: Sequence[ItemScores], found: MetricSummary) -> MetricSummary:
    """The summary of a share or another mean."""
    spec = metric_of(found.metric)
    values = _values(items, found.metric, spec)
    interval = _interval(values, clusters(items, found.metric), spec, found.confidence)
    low, high = ([*values, *[end] * found.n_unscored] for end in (spec.low, spec.high))
    return replace(
        found,
        estimate=mean(values) if values else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        chance=_chance(items, spec),
        bound_low=mean(low) if low else None,
        bound_high=mean(high) if high else None,
        inexact=sum(_inexact(item, found.metric) for item in items),
    )


def clusters(items: Sequence[ItemScores], metric: str) -> tuple[str, ...]:
    """The cluster of each scored item, in order: its group, else its prompt without the space around it.

    A data file may ask one question twice, and give several responses to one prompt: these are not independent.
    """
    return tuple(judging.cluster_of(item) for item in items if part_of(item, metric) == "scored")


def nearest_to_flip(
    items: Sequence[ItemScores], metric: str, bar: Bar, count: int = 5
) -> tuple[tuple[ItemScores, str], ...]:
    """The scored items on the wrong side of a bar that are nearest to the right one, each with its distance.

    The side is the one on which the mean misses the bar (or comes nearest to missing it). mc1 is ordered by
    the margin l(best) minus the largest other l, smallest absolute margin first; other metrics by the item's
    value, nearest to the bar first. Verdicts of yes or no on an answer know no distance: these items come in their
    order, with the answer. Equal ones keep the order of the items; items whose log-likelihoods are not kept come
    last. Empty when nothing is scored. Raises ValueError for a bar without an end, and as `summarise`.
    """
    spec = metric_of(metric)
    values = _values(items, metric, spec)
    if not values:
        return ()
    scored = [item for item in items if part_of(item, metric) == "scored"]
    rise, limit = _side(mean(values), bar)
    wrong = [
        (item, value)
        for item, value in zip(scored, values, strict=True)
        if (value < limit - TOLERANCE if rise else value > limit + TOLERANCE)
    ]
    if spec.scale == "share" and spec.elicitation != "log_likelihood":
        ranked = [(0.0, said(item) if spec.elicitation == "judging" else _said(item), item) for item, _ in wrong]
    elif spec.scale == "share":
        ranked = [(*_margin(item, metric), item) for item, _ in wrong]
    else:
        ranked = [(*_distance(value, limit), item) for item, value in wrong]
    ranked.sort(key=lambda entry: entry[0])
    return tuple((item, text) for _, text, item in ranked[:count])


def _values(items: Sequence[ItemScores], metric: str, spec: Metric) -> list[float]:
    """The values of the scored items, in order."""
    values: list[float] = []
    for item in items:
        value = item.values.get(metric)
        if value is None:
            continue
        if not spec.low <= value <= spec.high or (spec.scale == "share" and value not in (0.0, 1.0)):
            expected = "0 or 1" if spec.scale == "share" else f"{spec.low:g} to {spec.high:g}"
            raise ValueError(f"item {item.id} has {metric} = {value!r}, expected {expected}")
        values.append(value)
    return values


def _inexact(item: ItemScores, metric: str) -> bool:
    return part_of(item, metric) == "scored" and metric in item.reasons and item.reasons[metric].kind != SPLIT.kind


def _interval(values: Sequence[float], clusters: Sequence[str], spec: Metric, confidence: float) -> Interval | None:
    if not values:
        return None
    if spec.scale == "share":
        return wilson(sum(value == 1.0 for value in values), len(values), confidence)
    return cluster_t(values, clusters, confidence)


def _chance(items: Sequence[ItemScores], spec: Metric) -> float | None:
    levels = [
        chance(
            spec.name,
            n_single=sum(choice.in_mc1 for choice in item.choices),
            n_true=sum(choice.true for choice in item.choices),
            n_false=sum(not choice.true for choice in item.choices),
        )
        for item in items
    ]
    known = [level for level in levels if level is not None]
    return mean(known) if known else None


def _side(estimate: float, bar: Bar) -> tuple[bool, float]:
    """Whether items must rise to meet the bar, and the end of it that they must reach."""
    ends = [(limit, sign) for limit, sign in ((bar.min, 1.0), (bar.max, -1.0)) if limit is not None]
    if not ends:
        raise ValueError("no item can be near to flipping: the bar has neither min nor max")
    limit, sign = max(ends, key=lambda end: end[1] * (end[0] - estimate))
    return sign > 0, limit


def _margin(item: ItemScores, metric: str) -> tuple[float, str]:
    """How far the best answer is from the strongest other one of the single-true set."""
    normalization = next((name for name in NORMALIZATIONS[1:] if metric.endswith(f"_{name}")), "none")
    best: list[float] = []
    others: list[float] = []
    for choice in item.choices:
        if choice.in_mc1 and choice.log_likelihood is not None and choice.tokens is not None:
            side = best if choice.true else others
            side.append(normalised(choice.log_likelihood, normalization, choice.text, choice.tokens))
    if not best or not others:
        return math.inf, "log-likelihoods not kept"
    if max(best) == max(others):
        return 0.0, "best answer level with another"
    margin = max(best) - max(others)
    unit = "nats" if normalization == "none" else f"nats {normalization.replace('_', ' ')}"
    where = "ahead of" if margin > 0 else "behind"
    return abs(margin), f"best answer {abs(margin):.4g} {unit} {where} the strongest other"


def _said(item: ItemScores) -> str:
    return "no answer kept" if item.answer is None else f"answered {item.answer!r}"


def _distance(value: float, limit: float) -> tuple[float, str]:
    distance = abs(value - limit)
    where = "below" if value < limit else "above"
    return distance, f"{value:.4f}, {distance:.4g} {where} the bar"
