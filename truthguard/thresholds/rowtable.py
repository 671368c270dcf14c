"""The table of one row -> RowSpec: what `each` and single categories leave out is filled from the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from truthguard.catalogue import (
    ITEMS_OF,
    METRICS,
    METRICS_OF,
    NORMALIZATIONS,
    Metric,
    variant,
)
from truthguard.records import BenchmarkKind
from truthguard.thresholds.checking import Checker
from truthguard.thresholds.lines import KeyPath
from truthguard.thresholds.schema import Around, LimitKeys, RowKeys
from truthguard.thresholds.spec import CategorySpec, Limits, RowSpec
from truthguard.thresholds.wording import header, quoted, shown

# mc1_per_token -> mc1: how a normalised metric is printed, never how it is written in a file.
NORMALIZED = {
    variant(metric, normalization): metric
    for metric in METRICS
    for normalization in NORMALIZATIONS[1:]
    if variant(metric, normalization) != metric
}
_LIMITS = frozenset(each.name for each in fields(Limits))


def row_of(checker: Checker, at: KeyPath, raw: Any, kind: BenchmarkKind | None) -> RowSpec | None:
    """The row at (benchmark, metric); None, with the mistakes noted, when anything about it is wrong.

    `kind` is that of the benchmark's items, which decides what can be measured of them; None when it is not known.
    """
    before = len(checker.mistakes)
    metric = _metric(checker, at, kind)
    if not isinstance(raw, dict):
        _no_table(checker, at, raw)
        return None
    for path, table in _limit_tables(raw, at):
        _check_waiver(checker, path, table)
    keys = checker.table(RowKeys, raw, at, Around(metric=metric))
    if keys is None or metric is None:
        return None
    limits = _filled(keys, Limits(metric.max_unscored))
    each = limits if keys.each is None else _filled(keys.each, limits)
    categories = {
        name: CategorySpec(checker.lines[(*at, "categories", name)], _filled(category, each))
        for name, category in (keys.categories or {}).items()
    }
    row = RowSpec(metric.name, checker.lines[at], limits, each, keys.by is not None, categories, keys.item_min)
    _check_sense(checker, at, keys, row)
    return row if len(checker.mistakes) == before else None


def _metric(checker: Checker, at: KeyPath, kind: BenchmarkKind | None) -> Metric | None:
    """The metric of that name. For a normalised name the metric behind it, so that its bars are checked too."""
    benchmark, name = at
    here = METRICS if kind is None else METRICS_OF[kind]
    if name in NORMALIZED:
        metric = NORMALIZED[name]
        normalization = name.removeprefix(f"{metric}_")
        checker.add(
            at,
            f'{name!r} is how a normalised metric is printed: set normalization = "{normalization}" in'
            f" {header((benchmark,))} and write {header((benchmark, metric))}",
        )
        return METRICS[metric]
    elif name not in METRICS:
        hint = checker.hint(name, here)
        checker.add(at, f"{header(at[:1])} unknown metric {quoted(name)}{hint}")
    elif kind is not None and name not in here:
        checker.add(at, f"{header(at[:1])} {name} is no metric of {ITEMS_OF[kind]}; they have {', '.join(here)}")
    return METRICS.get(name)


def _no_table(checker: Checker, at: KeyPath, raw: object) -> None:
    if isinstance(raw, list) and any(isinstance(inner, dict) for inner in raw):
        checker.add(at, f"[{header(at)}]: a row is written once, in single brackets")
        checker.sweep(raw, at)
    else:
        checker.add(
            at, f"{header(at[:1])} {at[1]} = {shown(raw)}: a row is a table: {header(at)} and below it min = ..."
        )


def _limit_tables(raw: Mapping[str, Any], at: KeyPath) -> list[tuple[KeyPath, Mapping[str, Any]]]:
    """The tables of a row that may hold limits: itself, `each` and the single categories."""
    found: list[tuple[KeyPath, Any]] = [(at, raw), ((*at, "each"), raw.get("each"))]
    categories = raw.get("categories")
    if isinstance(categories, dict):
        found += [((*at, "categories", name), table) for name, table in categories.items()]
    return [(path, table) for path, table in found if isinstance(table, dict)]


def _check_waiver(checker: Checker, at: KeyPath, raw: Mapping[str, Any]) -> None:
    """A waiver says until when and why, in one place."""
    for given, lacking in (("waive_until", "waive_reason"), ("waive_reason", "waive_until")):
        if given in raw and lacking not in raw:
            checker.add((*at, given), f"{header(at)} has {given} but no {lacking}: a waiver needs both")


def _filled(keys: LimitKeys, base: Limits) -> Limits:
    """The limits that the table sets, the others as they stand in `base`."""
    return replace(base, **{name: getattr(keys, name) for name in keys.model_fields_set & _LIMITS})


def _check_sense(checker: Checker, at: KeyPath, keys: RowKeys, row: RowSpec) -> None:
    """What is right key by key but would be ignored, or could not be met, as a whole."""
    if row.item_min is not None and METRICS[row.metric].scale == "statistic":
        checker.add((*at, "item_min"), f"{header(at)} item_min: {row.metric} is a number of many items, one has none")
    sliced = row.by_category or bool(row.categories)
    if keys.each is not None and not sliced:
        checker.add((*at, "each"), f'{header(at)} each is for the rows of categories: add by = "category"')
    slices = [row.each] if row.by_category else []
    slices += [category.limits for category in row.categories.values()]
    _check_effect(checker, at, keys, [row.limits, *slices], row.item_min is not None)
    if keys.each is not None:
        path = (*at, "each")
        _check_effect(checker, path, keys.each, [row.each, *slices], False)
        _check_order(checker, path, row.each)
    for name, category in (keys.categories or {}).items():
        path = (*at, "categories", name)
        _check_effect(checker, path, category, [row.categories[name].limits], False)
        _check_order(checker, path, row.categories[name].limits)


def _check_effect(checker: Checker, at: KeyPath, keys: LimitKeys, limits: list[Limits], items: bool) -> None:
    """`block_on` and a waiver say how a bar is held: without any bar they would be ignored."""
    barred = any(each.bar or each.max_drop is not None for each in limits)
    for key in ("block_on", "waive_until"):
        if key in keys.model_fields_set and not barred and not (items and key == "waive_until"):
            checker.add((*at, key), f"{header(at)} {key} has no bar to act on: there is no min, no max and no max_drop")


def _check_order(checker: Checker, at: KeyPath, limits: Limits) -> None:
    """One end from here, the other from the table around it."""
    if limits.min is not None and limits.max is not None and limits.min > limits.max:
        checker.add(
            at,
            f"{header(at)} min = {limits.min} and max = {limits.max}, one of them from the row around it:"
            " no score can meet both",
        )
