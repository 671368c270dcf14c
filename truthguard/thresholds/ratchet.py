"""Bars raised to what was just measured, in the text of the thresholds file itself (`--truthguard-update-thresholds`).

A `min` stands in the file at one place: a row's table, its `each`, or a single category. Every row that takes its bar
from the place must allow it to rise, so the new bar is the lowest of the lower ends of their intervals.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from truthguard.catalogue import METRICS, metric_of
from truthguard.errors import StoreError
from truthguard.records import Row, RowResult
from truthguard.text import visible
from truthguard.thresholds.lines import KeyPath, locate
from truthguard.thresholds.wording import place as written_at

_MARK = b"\xef\xbb\xbf"
_STEP = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Ratcheted:
    """A thresholds file with its bars raised.

    `data` are its bytes, the same as before where nothing is `raised`; `raised` says of each bar from where to where,
    `left` why each of the others stays, and `unmoved` counts those whose interval begins no higher than they stand.
    """

    data: bytes
    raised: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    unmoved: int = 0


@dataclass(slots=True)
class _Place:
    """Where a `min` stands, the rows that take their bar from it, and the `max` that it must not pass."""

    path: KeyPath
    value: float
    max: float | None = None
    rows: list[Row] = field(default_factory=list)


def ratchet(
    data: bytes, rows: Sequence[Row], results: Mapping[str, RowResult], limited: Collection[str] = ()
) -> Ratcheted:
    """The file with each `min` at the lower end of the interval just measured, where that is higher.

    `data` are the bytes that `rows`, all of the file's, were read from; `results` are this session's by the row's id;
    of the benchmarks in `limited` only a part of the items was asked. A bar is rounded down to four digits, so that it
    never exceeds the measurement. It stays where a row that takes it failed, could not be measured, was waived, has an
    interval without width or was not measured at all; a slice that is too small to be gated is not held to it and does
    not hold it back. Comments, order, a byte order mark and line ends are kept. Raises StoreError when the file cannot
    be written with all else as it is.
    """
    raised: dict[KeyPath, str] = {}
    told: list[str] = []
    left: list[str] = []
    unmoved = 0
    for place in _places(data, rows):
        try:
            new = _new_bar(place, results, limited)
        except _Stays as why:
            left.append(f"{visible(written_at(place.path), 200)} stays at {place.value:g}: {why}")
            continue
        if new <= place.value:
            unmoved += 1
            continue
        raised[place.path] = _text(new)
        told.append(f"{visible(written_at(place.path), 200)} raised from {place.value:g} to {_text(new)}")
    return Ratcheted(_written(data, raised) if raised else data, tuple(told), tuple(left), unmoved)


def diff(before: bytes, after: bytes, name: str) -> list[str]:
    """The unified diff of two versions of a file, without line ends and byte order marks."""
    old, new = ([line.rstrip("\r") for line in _decoded(data).split("\n")] for data in (before, after))
    return list(difflib.unified_diff(old, new, name, name, lineterm=""))


class _Stays(Exception):
    """Why a bar is left where it is."""


def _new_bar(place: _Place, results: Mapping[str, RowResult], limited: Collection[str]) -> float:
    """The bar that the measurements allow, which may be lower than the present one. Raises _Stays."""
    benchmark, metric = place.path[:2]
    if METRICS[metric].smaller_is_better:
        raise _Stays(f"{metric} is the better the smaller it is")
    if benchmark in limited:
        raise _Stays("only a part of the items was asked (--truthguard-limit, --truthguard-sample)")
    if not place.rows:
        raise _Stays("no row takes its bar from it")
    lows = [low for row in place.rows if (low := _allowed(row, results.get(row.id))) is not None]
    if not lows:
        raise _Stays("what it is for was not gated")
    new = float(Decimal(repr(min(lows))).quantize(_STEP, ROUND_FLOOR))
    if place.max is not None and new > place.max:
        raise _Stays(f"the interval begins at {new:g}, above max = {place.max:g}")
    return new


def _allowed(row: Row, result: RowResult | None) -> float | None:
    """Up to where a row lets its bar rise; None for one that is too small to be held to it. Raises _Stays."""
    name = visible(row.id, 200)
    if result is None:
        raise _Stays(f"{name} was not measured")
    if result.verdict == "not_gated":
        return None
    if result.verdict != "pass":
        what = {"fail": "failed", "error": "could not be measured", "waived": "is waived"}[result.verdict]
        raise _Stays(f"{name} {what}")
    summary = result.summary
    if summary is None or summary.low is None:
        raise _Stays(f"{name} has no interval")
    if summary.low == summary.high:
        # No variance among a few items is no proof that the next ones have none.
        raise _Stays(f"{name} has an interval without width: all of its items are alike")
    return summary.low


def _places(data: bytes, rows: Sequence[Row]) -> list[_Place]:
    """Every place with a `min`, in the order of the rows."""
    tables = tomllib.loads(_decoded(data).replace("\r\n", "\n"))
    found: dict[KeyPath, _Place] = {}
    for row in rows:
        if row.item is not None:
            continue  # item_min is nobody's measurement
        at = (row.benchmark, metric_of(row.metric).name)
        table = tables[at[0]][at[1]]
        if row.category is None:
            for chain in _chains(table, at):
                _note(found, chain)
        taken = _taken(_chain(table, at, row.category), "min")
        if taken is not None:
            found[taken[0]].rows.append(row)
    return list(found.values())


_Chain = list[tuple[KeyPath, Mapping[str, Any]]]


def _chain(table: Mapping[str, Any], at: KeyPath, category: str | None) -> _Chain:
    """The tables from which the limits of a row or of a category come, the nearest first."""
    whole: _Chain = [(at, table)]
    if category is None:
        return whole
    single = table.get("categories", {}).get(category, {})
    return [((*at, "categories", category), single), ((*at, "each"), table.get("each", {})), *whole]


def _chains(table: Mapping[str, Any], at: KeyPath) -> Iterator[_Chain]:
    """Those of the row, of `each` and of the single categories."""
    yield _chain(table, at, None)
    if "each" in table:
        yield [((*at, "each"), table["each"]), (at, table)]
    for category in table.get("categories", {}):
        yield _chain(table, at, category)


def _taken(chain: _Chain, key: str) -> tuple[KeyPath, float] | None:
    """Where a key's value comes from, and the value."""
    return next((((*at, key), float(table[key])) for at, table in chain if key in table), None)


def _note(found: dict[KeyPath, _Place], chain: _Chain) -> None:
    """The place from which a chain takes its `min`, with the lowest `max` that goes with it."""
    least, most = _taken(chain, "min"), _taken(chain, "max")
    if least is None:
        return
    place = found.setdefault(least[0], _Place(*least))
    if most is not None:
        place.max = most[1] if place.max is None else min(place.max, most[1])


def _text(value: float) -> str:
    """A bar as it is written: up to four digits, at least one.

    >>> _text(0.4123), _text(0.5), _text(-0.01), _text(0.0)
    ('0.4123', '0.5', '-0.01', '0.0')
    """
    text = f"{value + 0.0:.4f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _written(data: bytes, raised: Mapping[KeyPath, str]) -> bytes:
    """The file with these values in their places and every other byte as it was."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    before = _decoded(data)
    try:
        document: Any = tomlkit.parse(before)
        for path, text in raised.items():
            table = document
            for key in path[:-1]:
                table = table[key]
            table[path[-1]] = tomlkit.float_(text)
        after = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise StoreError(f"its form does not let it be edited in place ({error}): {_by_hand(raised)}") from None
    if not _only_these(before, after, raised):
        raise StoreError(f"its form does not let these values be changed alone: {_by_hand(raised)}")
    mark = _MARK if data.startswith(_MARK) else b""
    return mark + after.encode("utf-8")


def _only_these(before: str, after: str, raised: Mapping[KeyPath, str]) -> bool:
    """Whether nothing else has changed, in what the file says and in every line without such a value."""
    text = before.replace("\r\n", "\n")
    expected = tomllib.loads(text)
    for path, value in raised.items():
        table = expected
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = float(value)
    lines = locate(text)
    touched = {lines[path] for path in raised}
    old, new = before.split("\n"), after.split("\n")
    changed = {number for number, (was, now) in enumerate(zip(old, new, strict=False), 1) if was != now}
    return len(old) == len(new) and changed <= touched and tomllib.loads(after.replace("\r\n", "\n")) == expected


def _by_hand(raised: Mapping[KeyPath, str]) -> str:
    values = ", ".join(f"{visible(written_at(path), 200)} = {text}" for path, text in raised.items())
    return f"raise them by hand: {values}"


def _decoded(data: bytes) -> str:
    return data.removeprefix(_MARK).decode("utf-8")
