"""A metric over many items: the mean with its interval, what is missing, and the items nearest to flipping."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from truthguard.catalogue import NORMALIZATIONS, Metric, metric_of
from truthguard.metrics.choice import chance, normalised
from truthguard.metrics.correctness import SPLIT
from truthguard.metrics.statistics import TOLERANCE, Interval, cluster_t, mean, wilson
from truthguard.records import Bar, ItemScores, MetricSummary


def summarise(items: Sequence[ItemScores], metric: str, confidence: float) -> MetricSummary:
    """The mean of a metric over the scored items, its two-sided interval, and what could not be scored.

    `metric` is the printed variant's name (mc1_per_token). Shares of 0/1 items have Wilson's interval, other means
    cluster t over the clusters of `clusters` (not clipped; None for one cluster). Unscored items are counted by the
    kind of their reason, with the first detail of each kind, and never enter the estimate; the bounds give every
    one of them the metric's lowest or highest value. `chance` is the mean over the selected items that have one,
    `inexact` counts the scored items with a reason beside their value other than that they are split. With nothing
    scored, estimate and interval are None. Raises ValueError for no items, and for an item that was not asked for
    the metric, is missing without a reason, or has a value that the metric cannot have.
    """
    if not items:
        raise ValueError(f"no items to summarise {metric} over")
    spec = metric_of(metric)
    values, unscored = _split(items, metric, spec)
    interval = _interval(values, clusters(items, metric), spec, confidence)
    n_unscored = len(items) - len(values)
    return MetricSummary(
        metric=metric,
        n=len(values),
        n_unscored=n_unscored,
        estimate=mean(values) if values else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        confidence=confidence,
        chance=_chance(items, spec),
        bound_low=mean([*values, *[spec.low] * n_unscored]),
        bound_high=mean([*values, *[spec.high] * n_unscored]),
        unscored=unscored,
        details=_details(items, metric),
        inexact=sum(_inexact(item, metric) for item in items),
    )


def clusters(items: Sequence[ItemScores], metric: str) -> tuple[str, ...]:
    """The cluster of each scored item, in order: its prompt, without the space around it.

    A data file may ask one question twice, and give several responses to one prompt: these are not independent.
    """
    return tuple(item.question.strip() for item in items if item.values[metric] is not None)


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
    values, _ = _split(items, metric, spec)
    if not values:
        return ()
    scored = [item for item in items if item.values[metric] is not None]
    rise, limit = _side(mean(values), bar)
    wrong = [
        (item, value)
        for item, value in zip(scored, values, strict=True)
        if (value < limit - TOLERANCE if rise else value > limit + TOLERANCE)
    ]
    if spec.scale == "share" and spec.elicitation != "log_likelihood":
        ranked = [(0.0, _said(item), item) for item, _ in wrong]
    elif spec.scale == "share":
        ranked = [(*_margin(item, metric), item) for item, _ in wrong]
    else:
        ranked = [(*_distance(value, limit), item) for item, value in wrong]
    ranked.sort(key=lambda entry: entry[0])
    return tuple((item, text) for _, text, item in ranked[:count])


def _split(items: Sequence[ItemScores], metric: str, spec: Metric) -> tuple[list[float], dict[str, int]]:
    """The values of the scored items, in order, and how many have none for each kind of reason."""
    values: list[float] = []
    kinds: Counter[str] = Counter()
    for item in items:
        if metric not in item.values:
            raise ValueError(f"item {item.id} was not asked for {metric}; it has {', '.join(sorted(item.values))}")
        value = item.values[metric]
        if value is None:
            if metric not in item.reasons:
                raise ValueError(f"item {item.id} has neither a value of {metric} nor a reason why not")
            kinds[item.reasons[metric].kind] += 1
        elif not spec.low <= value <= spec.high or (spec.scale == "share" and value not in (0.0, 1.0)):
            expected = "0 or 1" if spec.scale == "share" else f"{spec.low:g} to {spec.high:g}"
            raise ValueError(f"item {item.id} has {metric} = {value!r}, expected {expected}")
        else:
            values.append(value)
    return values, dict(kinds)


def _details(items: Sequence[ItemScores], metric: str) -> dict[str, str]:
    """The first detail of each kind of reason why an item has no value."""
    details: dict[str, str] = {}
    for item in items:
        if item.values[metric] is None:
            details.setdefault(item.reasons[metric].kind, item.reasons[metric].detail)
    return details


def _inexact(item: ItemScores, metric: str) -> bool:
    return item.values[metric] is not None and metric in item.reasons and item.reasons[metric].kind != SPLIT.kind


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
