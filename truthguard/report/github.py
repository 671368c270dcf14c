"""What GitHub Actions reads: annotations as lines on standard output, and the summary of a step as a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from truthguard.records import RowResult
from truthguard.report.markdown import reason
from truthguard.report.terminal import WORDS
from truthguard.text import visible

# A larger summary is not shown at all, whoever wrote the rest of it.
MAX_SUMMARY_BYTES = 1024 * 1024
# GitHub shows ten annotations of a step; one that lists every slice would be read by nobody.
MOST_ROWS = 5
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def error(file: str, line: int, title: str, message: str) -> str:
    """The line that makes GitHub show an error at a line of a file.

    >>> error("a,b.toml", 7, "faq: failed", "50% of 4\\nare wrong")
    '::error file=a%2Cb.toml,line=7,title=faq%3A failed::50%25 of 4%0Aare wrong'
    """
    shown, named = (_escaped(text, _PROPERTY) for text in (file, title))
    return f"::error file={shown},line={line},title={named}::{_escaped(message, _DATA)}"


def benchmark_errors(file: str, results: Iterable[RowResult], public: Iterable[str]) -> list[str]:
    """One error for each benchmark of a thresholds file with a row that failed or could not be measured.

    `file` is the path as the repository has it; the line is that of the first such row. `public` are the benchmarks
    whose texts may be shown.
    """
    failed: dict[str, list[RowResult]] = {}
    for result in results:
        if result.verdict in ("fail", "error"):
            failed.setdefault(result.row.benchmark, []).append(result)
    known = frozenset(public)
    return [
        error(file, rows[0].row.line, f"truthguard: {visible(benchmark)}", "\n".join(_lines(rows, known)))
        for benchmark, rows in failed.items()
    ]


def append_summary(path: Path, page: str) -> str | None:
    """Append a page to the summary of a step; why it was not, or None."""
    added = page.encode("utf-8")
    try:
        before = path.stat().st_size if path.exists() else 0
        if before + len(added) + 1 > MAX_SUMMARY_BYTES:
            return f"it would be larger than the {MAX_SUMMARY_BYTES:,} bytes that GitHub shows"
        with open(path, "ab") as file:
            file.write(b"\n" * bool(before) + added)
    except OSError as error:
        return error.strerror or str(error)
    return None


def in_repository(path: Path, workspace: str | None) -> str:
    """A file's path from the root of the checkout, with slashes; in full where it lies elsewhere."""
    real = path.resolve()
    root = Path(workspace).resolve() if workspace else real
    return (real.relative_to(root) if real != root and real.is_relative_to(root) else real).as_posix()


def _lines(rows: list[RowResult], public: frozenset[str]) -> list[str]:
    shown = [
        f"{visible(result.row.id, 200)} {WORDS[result.verdict]}: {visible(reason(result, public), 400)}"
        for result in rows[:MOST_ROWS]
    ]
    return [*shown, f"and {len(rows) - MOST_ROWS} more rows"] if len(rows) > MOST_ROWS else shown


def _escaped(text: str, mapping: tuple[tuple[str, str], ...]) -> str:
    for character, code in mapping:
        text = text.replace(character, code)
    return text
