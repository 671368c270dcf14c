"""The table at the end of a session, as lines of plain text with a colour each; from finished results only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from truthguard.catalogue import printed_name
from truthguard.records import Bar, Compared, Row, RowResult, Run, Verdict
from truthguard.report.drops import drop_lines
from truthguard.report.runs import run_lines
from truthguard.report.trust import corrected_lines
from truthguard.report.words import counted
from truthguard.text import visible

COLOURS: dict[Verdict, str] = {
    "pass": "green",
    "fail": "red",
    "error": "red",
    "not_gated": "yellow",
    "waived": "yellow",
}
WORDS: dict[Verdict, str] = {
    "pass": "passed",
    "fail": "failed",
    "error": "could not be measured",
    "not_gated": "not gated",
    "waived": "waived",
}
HEADINGS = (
    "benchmark",
    "metric",
    "slice",
    "score",
    "interval",
    "n",
    "bar",
    "margin",
    "verdict",
    "chance",
)
NUMERIC = frozenset(["score", "n", "margin", "chance"])


@dataclass(frozen=True, slots=True)
class Line:
    """One line to print; `colour` None = as it comes."""

    text: str
    colour: str | None = None


def slice_name(result: RowResult) -> str:
    """`all`, the category's full name, or the item's id."""
    return result.row.category or result.row.item or "all"


def margin(result: RowResult) -> float | None:
    """Distance from the nearer bar, positive on the passing side; None without a score or a bar."""
    estimate = result.summary.estimate if result.summary else None
    if estimate is None:
        return None
    bar = result.row.bar
    distances = []
    if bar.min is not None:
        distances.append(estimate - bar.min)
    if bar.max is not None:
        distances.append(bar.max - estimate)
    return min(distances, default=None)


def summary_lines(
    results: Sequence[RowResult],
    runs: Sequence[Run],
    *,
    verbose: int = 0,
    width: int = 120,
    compared: Sequence[Compared] = (),
) -> list[Line]:
    """The whole summary. `verbose` below 0 leaves what did not pass and the count; above 0 folds nothing.

    `compared` says what differs between the runs and the baselines of their rows.
    """
    shown, folded = _fold(results, verbose)
    lines = _table(shown, width)
    lines += [Line(text) for text in folded]
    lines += [Line("  " + text) for result in results for text in _reason(result)]
    lines += [Line(text) for text in corrected_lines(results, verbose=verbose)]
    lines += [Line(text) for text in drop_lines(results, compared, verbose=verbose)]
    if verbose >= 0:
        lines += [Line(text) for run in runs for text in run_lines(run)]
    lines.append(_count(results))
    return lines


def _fold(results: Sequence[RowResult], verbose: int) -> tuple[list[RowResult], list[str]]:
    """Passing slices become one line a metric unless asked for; with -q passing rows go altogether."""
    if verbose > 0:
        return list(results), []
    shown: list[RowResult] = []
    passing: dict[tuple[str, str, str | None, str], list[RowResult]] = {}
    for result in results:
        kind = "item" if result.row.item else "category" if result.row.category else ""
        if result.verdict == "pass" and kind:
            passing.setdefault((result.row.benchmark, result.row.metric, result.row.judge, kind), []).append(result)
        elif verbose == 0 or result.verdict != "pass":
            shown.append(result)
    folded = []
    for (benchmark, metric, judge, kind), group in passing.items() if verbose == 0 else ():
        least = min(group, key=lambda result: margin(result) or 0.0)
        nearest = f", the nearest: {visible(slice_name(least))} at {_signed(margin(least))}"
        folded.append(
            f"{benchmark} {_name(metric, judge)}: {counted(len(group), kind)} passed{nearest} (-v lists them)"
        )
    return shown, folded


def _table(results: Sequence[RowResult], width: int) -> list[Line]:
    if not results:
        return []
    cells = [_cells(result) for result in results]
    widths = {name: max(len(name), *(len(row[name]) for row in cells)) for name in HEADINGS}
    excess = sum(widths.values()) + 2 * (len(HEADINGS) - 1) - width
    if excess > 0:
        # Categories have the longest names and stand in full in the failure text and the record.
        widths["slice"] = max(12, widths["slice"] - excess)
    heading = "  ".join(_align(name, name, widths[name]) for name in HEADINGS)
    lines = [Line(heading.rstrip())]
    for result, row in zip(results, cells, strict=True):
        text = "  ".join(_align(name, row[name], widths[name]) for name in HEADINGS)
        lines.append(Line(text.rstrip(), COLOURS[result.verdict]))
    return lines


def _align(name: str, text: str, width: int) -> str:
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.rjust(width) if name in NUMERIC else text.ljust(width)


def _cells(result: RowResult) -> dict[str, str]:
    summary = result.summary
    scored = summary is not None and summary.estimate is not None
    interval = "-"
    if summary is not None and summary.low is not None and summary.high is not None:
        interval = f"[{summary.low:.4f}, {summary.high:.4f}]"
    n = "-" if summary is None else str(summary.n)
    if summary is not None and summary.n_unscored:
        n += f" of {summary.n + summary.n_unscored}"
    return {
        "benchmark": result.row.benchmark,
        "metric": _name(result.row.metric, result.row.judge),
        "slice": visible(slice_name(result)),
        "score": f"{summary.estimate:.4f}" if scored and summary else "-",
        "interval": interval,
        "n": n,
        "bar": bars_text(result.row),
        "margin": _signed(margin(result)),
        "verdict": result.verdict.replace("_", " "),
        "chance": "-" if summary is None or summary.chance is None else f"{summary.chance:.4f}",
    }


def bar_text(bar: Bar) -> str:
    """The bar as the file has it.

    >>> bar_text(Bar(min=0.22)), bar_text(Bar(min=0.1, max=0.9, block_on="proof"))
    ('min 0.22', 'min 0.1, max 0.9 (proof)')
    """
    parts = [f"{name} {value}" for name, value in (("min", bar.min), ("max", bar.max)) if value is not None]
    if not parts:
        return "-"
    return ", ".join(parts) + ("" if bar.block_on == "estimate" else f" ({bar.block_on})")


def bars_text(row: Row) -> str:
    """The bars of score and drop as the file has them; a drop blocks by proof unless the file says otherwise.

    >>> bars_text(Row("faq[mc1]", "faq", "mc1", 1, Bar(min=0.22), max_drop=0.02))
    'min 0.22, max_drop 0.02'
    """
    if row.max_drop is None:
        return bar_text(row.bar)
    other = "" if row.drop_block_on == "proof" else f" ({row.drop_block_on})"
    return ", ".join([bar_text(row.bar)] * bool(row.bar) + [f"max_drop {row.max_drop}{other}"])


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"


def _reason(result: RowResult) -> list[str]:
    """Failed rows and errors have their text above the table; what else needs a word has it here."""
    if result.reason and result.verdict in ("not_gated", "waived", "pass"):
        return [f"{visible(result.row.id, 200)}: {result.verdict.replace('_', ' ')}: {visible(result.reason, 400)}"]
    return []


def _name(metric: str, judge: str | None) -> str:
    return printed_name(metric, None if judge is None else visible(judge, 60))


def _count(results: Sequence[RowResult]) -> Line:
    numbers = Counter(result.verdict for result in results)
    parts = [f"{numbers[verdict]} {word}" for verdict, word in WORDS.items() if numbers[verdict]]
    colour = "red" if numbers["fail"] or numbers["error"] else "green" if numbers["pass"] else "yellow"
    return Line(f"truthguard: {', '.join(parts) or 'no rows'}", colour)
