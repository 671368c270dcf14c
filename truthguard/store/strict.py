"""Files for people and programs beyond this one: strict JSON with a schema, written whole and read back with care."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from truthguard import __version__
from truthguard.errors import DataError, Mistake, StoreError
from truthguard.store.atomic import write_atomically
from truthguard.store.encoding import FormError, decode, encode
from truthguard.text import visible

T = TypeVar("T")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: what it is called, the option that writes it, its newest schema, and its keys in words."""

    name: str
    flag: str
    schema: int
    keys: str


def write(path: Path, value: object, kind: Kind) -> None:
    """Write a value of the file's class to `path`, whole or not at all.

    UTF-8 without a byte order mark; -inf is the string "-inf"; lone surrogates become U+FFFD. Raises StoreError
    when the folder does not exist or the file cannot be written.
    """
    write_text(path, json.dumps(encode(value), ensure_ascii=False, allow_nan=False, indent=1), kind)


def write_text(path: Path, text: str, kind: Kind) -> None:
    """Write JSON that is laid out already, as `write` does."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise StoreError(
            f"{path}: the {kind.name} cannot be written, the folder {target.parent} does not exist:"
            f" make it, or name another file with {kind.flag} FILE"
        )
    if target.exists() and not target.is_file():
        raise StoreError(
            f"{path}: the {kind.name} cannot be written, this is no regular file:"
            f" name another one with {kind.flag} FILE"
        )
    try:
        write_atomically(target, (_LONE_SURROGATE.sub("\ufffd", text) + "\n").encode())
    except OSError as error:
        raise StoreError(
            f"{path}: the {kind.name} cannot be written ({error}): name another file with {kind.flag} FILE"
        ) from error


def read(path: Path, form: type[T], kind: Kind) -> T:
    """Read a file whose class is `form`, with or without a byte order mark.

    Raises DataError naming the file and what was expected: no such file, not UTF-8, not JSON, cut off, a NaN
    literal, an object with a key twice, a `schema` of another version, keys missing or unknown, values of the wrong
    type.
    """
    return of_form(path, document(path, kind), form, kind)


def document(path: Path, kind: Kind) -> dict[str, Any]:
    """The object that a file with a schema holds; raises DataError as `read`, as far as that shows here."""
    data = _parse(path, _text(path, kind), kind)
    if not isinstance(data, dict) or "schema" not in data:
        _refuse(path, f"expected a {kind.name} of truthguard: an object with {kind.keys}")
    return data


def of_form(path: Path, data: dict[str, Any], form: type[T], kind: Kind) -> T:
    """The value of class `form` that a file of this kind holds; raises DataError as `read`."""
    schema = data["schema"]
    if type(schema) is not int or schema < 1:
        _refuse(path, f'expected a whole number for "schema", got {schema!r}')
    if schema > kind.schema:
        written = f", written by truthguard {data['truthguard']}" if "truthguard" in data else ""
        _refuse(
            path,
            f"a {kind.name} of schema {schema}{written}; this truthguard {__version__} reads schema {kind.schema}:"
            f" install a newer one, or write the {kind.name} again with this one",
        )
    try:
        return decode(form, data)
    except FormError as error:
        _refuse(path, f"not a {kind.name} of schema {schema}: {error}")


def _text(path: Path, kind: Kind) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError([Mistake(f"the {kind.name} cannot be read ({error.strerror or error})", path)]) from error
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}: expected a {kind.name} as {kind.flag} writes it"
        raise DataError([Mistake(message, path)]) from error


def _parse(path: Path, text: str, kind: Kind) -> Any:
    def no_number(literal: str) -> NoReturn:
        _refuse(path, f'{literal} is not JSON: expected a number, null or the string "-inf"')

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            _refuse(path, f"an object has {visible(repr(twice), 60)} twice: keep one of them, or write the file again")
        return found

    try:
        return json.loads(text, parse_constant=no_number, object_pairs_hook=once)
    except RecursionError:
        _refuse(path, f"nested too deeply for a {kind.name}")
    except json.JSONDecodeError as error:
        # Such a file ends with its outermost bracket: anything else was cut off on the way.
        cut = "" if text.rstrip().endswith("}") and error.pos < len(text.rstrip()) else "cut off, "
        message = f"{cut}not JSON at character {error.pos} of {len(text)} (column {error.colno}): {error.msg}"
        raise DataError([Mistake(f"{message}; write or copy the {kind.name} again", path, error.lineno)]) from None


def _refuse(path: Path, message: str) -> NoReturn:
    raise DataError([Mistake(message, path)]) from None
