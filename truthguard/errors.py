"""One tree of errors: each says what was read, where, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path


class TruthguardError(Exception):
    """Base of every error that truthguard raises on purpose."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong in a file or an option, with the place where a person can mend it."""

    message: str
    file: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}" + (f":{self.line}" if self.line else "") + ": "
        return place + self.message


class UsageError(TruthguardError):
    """Mistakes in files or options, found before anything loads: all of them in one message."""

    def __init__(self, mistakes: str | Sequence[Mistake]) -> None:
        self.mistakes = (Mistake(mistakes),) if isinstance(mistakes, str) else tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class DataError(UsageError):
    """A data file that is missing, damaged or not of the documented form."""


class ModelError(TruthguardError):
    """A model that cannot be loaded, or cannot answer at all."""


class TrustError(TruthguardError):
    """A judge that has not earned the trust that a thresholds file requires of it."""


class GateError(TruthguardError):
    """Finished runs that do not meet their bars, or of which nothing could be said."""


class StoreError(TruthguardError):
    """A store on disk that cannot be read or written."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for a mistyped name: `; did you mean 'mc2'?`, or the valid names when none is near."""
    names = sorted(valid)
    close = get_close_matches(name.lower(), names, n=1) or get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; expected one of: {', '.join(names)}" if names else ""
