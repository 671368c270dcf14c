"""Texts from upstream's Python files, which are parsed and never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from truthguard.errors import DataError


class Constants:
    """What a module gives to its names at top level.

    A name that is needed must be given its value once, as a constant: anything else would have to be run. Every
    DataError names `origin` and the line.
    """

    def __init__(self, source: bytes, origin: str) -> None:
        try:
            module = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise DataError(f"{origin}: not a Python file: {error}") from None
        self.origin = origin
        self._assigned: dict[str, list[ast.Assign]] = {}
        for statement in module.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self._assigned.setdefault(target.id, []).append(statement)

    def texts(self, names: Iterable[str]) -> dict[str, str]:
        """The string constants of these names."""
        return {name: self._text(self._value(name, "a text that is needed")) for name in names}

    def dictionary(self, name: str, keys: Iterable[str], what: str) -> dict[str, str]:
        """The texts under `keys` in the dictionary `name`: string constants, or names of such."""
        found = self._value(name, what)
        if not isinstance(found, ast.Dict):
            raise self._unexpected(found, f"a dictionary as {name}")
        entries: Mapping[object, ast.expr] = {
            key.value: value
            for key, value in zip(found.keys, found.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        texts = {}
        for key in keys:
            if key not in entries:
                raise DataError(f"{self.origin}:{found.lineno}: no {key!r} in {name}")
            value = entries[key]
            if isinstance(value, ast.Name) and value.id in self._assigned:
                value = self._value(value.id, what)
            texts[key] = self._text(value)
        return texts

    def _value(self, name: str, what: str) -> ast.expr:
        if name not in self._assigned:
            raise DataError(f"{self.origin}: no {name}, {what}")
        first, *others = self._assigned[name]
        if others:
            raise DataError(f"{self.origin}:{others[0].lineno}: {name} is assigned a second time")
        return first.value

    def _text(self, value: ast.expr) -> str:
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            raise self._unexpected(value, "a string constant")
        return value.value

    def _unexpected(self, value: ast.expr, expected: str) -> DataError:
        return DataError(f"{self.origin}:{value.lineno}: expected {expected}, found: {ast.unparse(value)[:60]}")
