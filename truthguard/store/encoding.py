"""Frozen values as JSON-able data and back, led by their type hints. Nothing is lost on the way.

JSON has no NaN and no infinities: they travel as the strings "nan", "inf" and "-inf". Texts may hold lone
surrogates (a tokenizer or a damaged file can produce them), which UTF-8 refuses: `to_bytes` lets them pass.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
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
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, Mapping):
        return {key: encode(member) for key, member in value.items()}
    if isinstance(value, tuple | list):
        return [encode(member) for member in value]
    if is_dataclass(value):
        return {each.name: encode(getattr(value, each.name)) for each in fields(value)}
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def decode(kind: type[T], data: object, place: str = "") -> T:
    """The value of type `kind` that `encode` made `data` of; `place` is where they stand, for messages.

    Fields without a default must be there and no other keys may be: FormError names the first offence.
    """
    value: T = _decode(kind, data, place)
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


def _decode(hint: Any, data: Any, place: str) -> Any:
    if hint is object:
        return data
    if is_dataclass(hint):
        return _decode_fields(hint, data, place)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        if data is None:
            return None
        (member,) = (each for each in get_args(hint) if each is not type(None))
        return _decode(member, data, place)
    if origin is Literal:
        return data if data in get_args(hint) else _refuse(place, f"one of {', '.join(get_args(hint))}", data)
    if origin is tuple:
        return tuple(
            _decode(get_args(hint)[0], member, f"{place}[{index}]")
            for index, member in enumerate(_of(list, "a list", data, place))
        )
    if origin is Mapping:
        members = _of(dict, "an object", data, place).items()
        return {key: _decode(get_args(hint)[1], member, _join(place, key)) for key, member in members}
    return _decode_scalar(hint, data, place)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_fields(kind: Any, data: Any, place: str) -> Any:
    given = _of(dict, "an object", data, place)
    names = [each.name for each in fields(kind)]
    for name in given:
        if name not in names:
            raise FormError(f"{_join(place, name)} is not known here{nearest(name, names)}")
    for each in fields(kind):
        required = each.default is MISSING and each.default_factory is MISSING
        if required and each.name not in given:
            raise FormError(f"{_join(place, each.name)} is missing")
    return kind(**{name: _decode(_hints(kind)[name], given[name], _join(place, name)) for name in given})


def _decode_scalar(hint: Any, data: Any, place: str) -> Any:
    if hint is float:
        return _decode_float(data, place)
    if hint is datetime:
        try:
            moment = datetime.fromisoformat(_of(str, "an ISO 8601 time", data, place))
        except ValueError:
            _refuse(place, "an ISO 8601 time", data)
        return moment if moment.tzinfo else _refuse(place, "an ISO 8601 time with its zone", data)
    names = {bool: "true or false", int: "a whole number", str: "a text"}
    return data if type(data) is hint else _refuse(place, names[hint], data)


def _decode_float(data: Any, place: str) -> float:
    if isinstance(data, str) and data in _NON_FINITE:
        return _NON_FINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        _refuse(place, 'a number, "nan", "inf" or "-inf"', data)
    try:
        number = float(data)
    except OverflowError:
        number = math.inf
    return number if math.isfinite(number) else _refuse(place, "a number within the range of a float", data)


def _of(kind: type[T], name: str, data: Any, place: str) -> T:
    return data if isinstance(data, kind) else _refuse(place, name, data)


def _refuse(place: str, expected: str, data: object) -> NoReturn:
    shown = repr(data)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    raise FormError(f"{place or 'the whole'}: expected {expected}, got {shown}")


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
