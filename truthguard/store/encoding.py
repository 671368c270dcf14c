"""Frozen values as JSON-able data and back, led by their type hints. Nothing is lost on the way.

JSON has no NaN and no infinities: they travel as the strings "nan", "inf" and "-inf". Texts may hold lone
surrogates (a tokenizer or a damaged file can produce them), which UTF-8 refuses: `to_bytes` lets them pass.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from truthguard.errors import nearest

T = TypeVar("T")

_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class FormError(ValueError):
    """Data that are not of the form that was expected; the message names the place inside them."""


def encode(value: object) -> Any:
    """A value of plain types, mappings with text keys, sequences and dataclasses as JSON-able data."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list):
        return [encode(member) for member in value]
    kind: Any = type(value)
    names = _names(kind)
    if names is not None:
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, Mapping):
        return {key: encode(member) for key, member in value.items()}
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def decode(kind: type[T], data: object, place: str = "") -> T:
    """The value of type `kind` that `encode` made `data` of; `place` is where they stand, for messages.

    Fields without a default must be there and no other keys may be: FormError names the first offence.
    """
    hint: Any = kind
    value: T = _reader(hint)(data, place)
    return value


def to_bytes(data: object, *, sort_keys: bool = False) -> bytes:
    """JSON without spaces, in UTF-8 in which lone surrogates pass."""
    text = json.dumps(data, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def from_bytes(data: bytes) -> Any:
    """What `to_bytes` wrote. Raises ValueError when the bytes are no JSON."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def digest(value: object) -> str:
    """The SHA-256 of the canonical JSON (keys sorted) of a value, in hex."""
    return hashlib.sha256(to_bytes(encode(value), sort_keys=True)).hexdigest()


def _timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError(f"the time {value} has no time zone: which moment was it?")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The names of a dataclass's fields; None for any other type."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None


# Makes a value of data, or raises FormError with the place. Looked up once for each type hint: a run is a hundred
# thousand values.
_Reader = Callable[[Any, str], Any]


@cache
def _reader(hint: Any) -> _Reader:
    if hint is object:
        return lambda data, place: data
    if is_dataclass(hint):
        return _record_reader(hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        (member,) = (each for each in get_args(hint) if each is not type(None))
        return _optional_reader(_reader(member))
    if origin is Literal:
        return _literal_reader(get_args(hint))
    if origin is tuple:
        return _tuple_reader(_reader(get_args(hint)[0]))
    if origin is Mapping:
        return _mapping_reader(_reader(get_args(hint)[1]))
    return _SCALARS.get(hint) or _no_reader(hint)


def _no_reader(hint: Any) -> _Reader:
    def refuse(data: Any, place: str) -> NoReturn:
        raise TypeError(f"{place}: a {hint.__name__} cannot be kept as JSON")

    return refuse


def _optional_reader(read: _Reader) -> _Reader:
    return lambda data, place: None if data is None else read(data, place)


def _literal_reader(words: tuple[Any, ...]) -> _Reader:
    return lambda data, place: data if data in words else _refuse(place, f"one of {', '.join(words)}", data)


def _tuple_reader(read: _Reader) -> _Reader:
    def members(data: Any, place: str) -> tuple[Any, ...]:
        given = _of(list, "a list", data, place)
        return tuple([read(member, f"{place}[{index}]") for index, member in enumerate(given)])

    return members


def _mapping_reader(read: _Reader) -> _Reader:
    def members(data: Any, place: str) -> dict[str, Any]:
        given = _of(dict, "an object", data, place)
        return {key: read(member, _join(place, key)) for key, member in given.items()}

    return members


def _record_reader(kind: Any) -> _Reader:
    hints = get_type_hints(kind)
    readers: dict[str, _Reader] = {}
    required = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]

    def record(data: Any, place: str) -> Any:
        given = _of(dict, "an object", data, place)
        # Not before the first use: a class may hold others of its own.
        if not readers:
            readers.update((name, _reader(hints[name])) for name in _names(kind) or ())
        for name in given:
            if name not in readers:
                raise FormError(f"{_join(place, name)} is not known here{nearest(name, list(readers))}")
        for name in required:
            if name not in given:
                raise FormError(f"{_join(place, name)} is missing")
        before = f"{place}." if place else ""
        return kind(**{name: readers[name](value, before + name) for name, value in given.items()})

    return record


def _scalar_reader(kind: type, name: str) -> _Reader:
    return lambda data, place: data if type(data) is kind else _refuse(place, name, data)


def _read_time(data: Any, place: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_of(str, "an ISO 8601 time", data, place))
    except ValueError:
        _refuse(place, "an ISO 8601 time", data)
    return moment if moment.tzinfo else _refuse(place, "an ISO 8601 time with its zone", data)


def _read_float(data: Any, place: str) -> float:
    if type(data) is float and math.isfinite(data):
        return data
    if isinstance(data, str) and data in _NON_FINITE:
        return _NON_FINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        _refuse(place, 'a number, "nan", "inf" or "-inf"', data)
    try:
        number = float(data)
    except OverflowError:
        number = math.inf
    return number if math.isfinite(number) else _refuse(place, "a number within the range of a float", data)


_SCALARS: Mapping[Any, _Reader] = {
    float: _read_float,
    datetime: _read_time,
    bool: _scalar_reader(bool, "true or false"),
    int: _scalar_reader(int, "a whole number"),
    str: _scalar_reader(str, "a text"),
}


def _of(kind: type[T], name: str, data: Any, place: str) -> T:
    return data if isinstance(data, kind) else _refuse(place, name, data)


def _refuse(place: str, expected: str, data: object) -> NoReturn:
    shown = repr(data)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    raise FormError(f"{place or 'the whole'}: expected {expected}, got {shown}")


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
