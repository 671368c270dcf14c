"""All mistakes of one thresholds file, gathered with their lines while its tables are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from truthguard.errors import Mistake, nearest
from truthguard.thresholds.lines import KeyPath, Lines
from truthguard.thresholds.schema import (
    NOWHERE,
    Around,
    LimitKeys,
    RowKeys,
    Table,
)
from truthguard.thresholds.wording import header, place, problem, quoted, shown

# A hint is a comparison with every valid name; a file with more mistakes than this has no typing mistakes.
MAX_HINTS = 500

TableT = TypeVar("TableT", bound=Table)


class Checker:
    """Checks tables against their schemas; what is wrong is kept in `mistakes`, and nothing is raised."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path = path
        self.lines = lines
        self.mistakes: list[Mistake] = []

    def add(self, at: KeyPath, message: str) -> None:
        """A mistake in the table or key at the path."""
        self.mistakes.append(Mistake(message, self.path, self.lines[at]))

    def hint(self, name: str, valid: Iterable[str]) -> str:
        """The nearest valid name, or all of them; nothing once the file has a flood of mistakes."""
        return nearest(name[:60], valid) if len(self.mistakes) < MAX_HINTS else ""

    def table(
        self, schema: type[TableT], raw: Mapping[str, Any], at: KeyPath, around: Around = NOWHERE
    ) -> TableT | None:
        """The table at the path as its schema has it, or None when anything in it is wrong."""
        try:
            return schema.model_validate(raw, context=around)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                self._explain(schema, each, at)
            return None

    def _explain(self, schema: type[Table], error: Mapping[str, Any], at: KeyPath) -> None:
        inside = tuple(str(part) for part in error["loc"])
        path, value = (*at, *inside), error["input"]
        if error["type"] != "extra_forbidden":
            # Who takes api_key_env for the place of the key itself must not find it in a log.
            given = "..." if path[-1] == "api_key_env" else shown(value)
            self.add(path, f"{place(path)} = {given}: {problem(error)}")
            return
        owner = schema if len(inside) == 1 else LimitKeys
        self.unknown_key(owner, path)
        self.sweep(value, path)

    def unknown_key(self, schema: type[Table], path: KeyPath, more: Iterable[str] = ()) -> None:
        """A key that the schema does not have; `more` are names that would be right in its place too."""
        table, key = header(path[:-1]), path[-1]
        if schema is LimitKeys and key in RowKeys.model_fields:
            self.add(path, f"{table} {key} is a key of the row itself: it stands in {header(path[:2])}")
        else:
            self.add(path, f"{table} unknown key {quoted(key)}{self.hint(key, {*schema.model_fields, *more})}")

    def sweep(self, value: object, at: KeyPath) -> None:
        """The values of keys that are known wherever they stand, inside a table whose name is wrong."""
        if isinstance(value, list):
            for inner in value:
                self.sweep(inner, at)
        elif isinstance(value, dict):
            limits = {key: inner for key, inner in value.items() if key in LimitKeys.model_fields}
            self.table(LimitKeys, limits, at)
            for key, inner in value.items():
                if key not in limits:
                    self.sweep(inner, (*at, key))
