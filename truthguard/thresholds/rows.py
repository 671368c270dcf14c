"""Gate + questions -> rows: one for the table, one for each of its categories, one for each must-pass item.

A row's id is what pytest shows and takes: `truthfulqa[mc1]`, `truthfulqa[mc1-Confusion-People]`, `faq[mc1-ID]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from truthguard.catalogue import serves, variant
from truthguard.errors import Mistake, UsageError, nearest
from truthguard.records import Bar, BenchmarkSettings, Row
from truthguard.thresholds.spec import BenchmarkTable, Gate, Limits, RowSpec
from truthguard.thresholds.wording import header, quoted


class Named(Protocol):
    """The part of an item that decides in which rows it stands."""

    @property
    def id(self) -> str: ...

    @property
    def category(self) -> str: ...


class Questions(Protocol):
    """The part of a loaded question set that decides its rows."""

    @property
    def items(self) -> Sequence[Named]:
        """All items in file order, selected or not."""
        ...


QuestionsT = TypeVar("QuestionsT", bound=Questions)
# Whether an item is one of a metric's: a set may hold items of two kinds.
Fits = Callable[[Any, str], bool]


def expand(
    gate: Gate,
    questions: Mapping[str, QuestionsT],
    selected: Mapping[str, Sequence[Named]],
    unavailable: Callable[[str, QuestionsT, BenchmarkSettings], str | None],
    fits: Fits = serves,
) -> tuple[Row, ...]:
    """Every row of the gate in the file's order: each table's own, then its categories', then its items'.

    `questions` and `selected` are by benchmark: the whole set, and the items that are asked. Category rows come
    from the whole set in the order in which it names them, so that a row is there whatever is selected; item
    rows come from the selected ones. `unavailable(metric, questions, settings)` says why the data cannot give a metric,
    `fits(item, metric)` whether an item is one of a metric's.

    Under proof any row may block, so its alpha is (1 - confidence) / the number of rows under proof that have a
    bar, selected or not; under doubt every row must prove, and alpha is 1 - confidence.

    Raises UsageError with every unknown category and every metric that the data cannot give.
    """
    mistakes: list[Mistake] = []
    rows: list[Row] = []
    for table in gate.benchmarks:
        data = questions[table.settings.name]
        for spec in table.rows:
            names = _categories(item for item in data.items if fits(item, spec.metric))
            mistakes += _unknown_categories(gate.path, table, spec, names)
            reason = unavailable(spec.metric, data, table.settings)
            if reason is not None:
                mistakes.append(Mistake(f"{header((table.settings.name, spec.metric))} {reason}", gate.path, spec.line))
            fitting = [item for item in selected[table.settings.name] if fits(item, spec.metric)]
            rows += _rows(table.settings, spec, names, fitting)
    if mistakes:
        raise UsageError(sorted(mistakes, key=lambda mistake: mistake.line or 0))
    proofs = sum(_under_proof(row) for row in rows)
    return tuple(replace(row, alpha=row.alpha / proofs) if _under_proof(row) else row for row in rows)


def slug(text: str) -> str:
    """The text in ASCII letters, digits, - and _: runs of anything else become one -, trimmed at both ends.

    A text without any of them is `other`.

    >>> slug("Confusion: People"), slug("  Myths & Fairytales!"), slug("健康")
    ('Confusion-People', 'Myths-Fairytales', 'other')
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "other"


def slugs(texts: Iterable[str]) -> list[str]:
    """One slug for each text, all different: a slug that is taken gets -2, -3 in order.

    >>> slugs(["A b", "A: b", "A-b-2"])
    ['A-b', 'A-b-2', 'A-b-2-2']
    """
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for text in texts:
        stem = name = slug(text)
        while name in found:
            counts[stem] = counts.get(stem, 1) + 1
            name = f"{stem}-{counts[stem]}"
        found[name] = None
    return list(found)


def _categories(items: Iterable[Named]) -> dict[str, str]:
    """Full name -> slug, in the order in which the data name them."""
    names = list(dict.fromkeys(item.category for item in items))
    return dict(zip(names, slugs(names), strict=True))


def _unknown_categories(
    path: Path, table: BenchmarkTable, spec: RowSpec, names: Mapping[str, str]
) -> Iterator[Mistake]:
    for name, category in spec.categories.items():
        if name not in names:
            where = header((table.settings.name, spec.metric, "categories"))
            yield Mistake(f"{where} unknown category {quoted(name)}{nearest(name, names)}", path, category.line)


def _rows(
    settings: BenchmarkSettings, spec: RowSpec, names: Mapping[str, str], selected: Sequence[Named]
) -> Iterator[Row]:
    """The rows of one table. Items stand behind the categories and take no name from them."""
    metric = variant(spec.metric, settings.normalization)
    whole = _row(f"{settings.name}[{metric}]", settings.name, metric, spec.line, spec.limits)
    yield whole
    for category, name in names.items():
        single = spec.categories.get(category)
        if single is None and not spec.by_category:
            continue
        line, limits = (spec.line, spec.each) if single is None else (single.line, single.limits)
        row = _row(f"{settings.name}[{metric}-{name}]", settings.name, metric, line, limits)
        yield replace(row, category=category)
    if spec.item_min is None:
        return
    # The id of an item may be the slug of a category.
    identities = slugs([*names.values(), *(item.id for item in selected)])[len(names) :]
    for item, name in zip(selected, identities, strict=True):
        yield replace(
            whole,
            id=f"{settings.name}[{metric}-{name}]",
            item=item.id,
            # One question is no sample: nothing can be proved of it, and it is never too small a slice.
            bar=Bar(min=spec.item_min),
            min_items=1,
            max_drop=None,
        )


def _row(name: str, benchmark: str, metric: str, line: int, limits: Limits) -> Row:
    return Row(
        name,
        benchmark,
        metric,
        line,
        limits.bar,
        confidence=limits.confidence,
        alpha=1 - limits.confidence,
        max_unscored=limits.max_unscored,
        min_items=limits.min_items,
        waive_until=limits.waive_until,
        waive_reason=limits.waive_reason,
        max_drop=limits.max_drop,
        drop_block_on=limits.drop_block_on,
    )


def _under_proof(row: Row) -> bool:
    by_score = bool(row.bar) and row.bar.block_on == "proof"
    return by_score or (row.max_drop is not None and row.drop_block_on == "proof")
