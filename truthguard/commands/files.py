"""The files that a command is given: what it would write is checked before the work, and written after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from truthguard.errors import Mistake, UsageError
from truthguard.report.html import NamedRecord, html_report, missing_extra
from truthguard.store.outputs import named_twice, unwritable, write_page
from truthguard.store.record import Record, save_record


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files that a command writes; None = not asked for."""

    html: Path | None = None
    markdown: Path | None = None
    json: Path | None = None

    def check(self, inputs: Sequence[Path]) -> None:
        """Raises UsageError for what cannot be written, would write over an input, or needs an extra."""
        if mistakes := [Mistake(problem) for problem in self._problems(inputs)]:
            raise UsageError(mistakes)

    def write(self, records: Sequence[NamedRecord], markdown: str, record: Record | None = None) -> Iterator[str]:
        """Write what was asked for, a line for each. Raises StoreError."""
        if self.json is not None and record is not None:
            save_record(self.json, record)
            yield f"record: {self.json}"
        if self.markdown is not None:
            write_page(self.markdown, markdown, "--markdown")
            yield f"page: {self.markdown}"
        if self.html is not None:
            write_page(self.html, html_report(records), "--html")
            yield f"page: {self.html}"

    def _problems(self, inputs: Sequence[Path]) -> Iterator[str]:
        given = (("--html", self.html), ("--markdown", self.markdown), ("--json", self.json))
        named = [(option, path) for option, path in given if path is not None]
        for option, path in named:
            if problem := unwritable(path):
                yield f"{option} {path}: {problem}"
            elif any(os.path.realpath(path) == os.path.realpath(other) for other in inputs):
                yield f"{option} {path}: this file is read here; name another file"
        yield from named_twice(named)
        if self.html is not None and (missing := missing_extra()):
            yield f"--html: {missing}"
