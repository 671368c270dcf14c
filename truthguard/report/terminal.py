"""The table at the end of a session, as lines of plain text with a colour each; from finished results only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from truthguard.catalogue import LETTER_BIAS, SIMILARITY_AGREEMENT, asks_judge, judged_by, printed_name
from truthguard.metrics.correctness import count_kinds
from truthguard.metrics.doubts import Doubt, below_half, split
from truthguard.metrics.generation import grid
from truthguard.records import Bar, Counts, Identity, ItemScores, Missing, RowResult, Run, Verdict
from truthguard.text import named, visible

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
MOST_DOUBTS = 10
# What a loader counts (benchmarks.base.QuestionSet.counts), for a reader.
DATA_WORDS = {
    "repeated_choices": "repeated choices dropped by the loader",
    "repeated_ids": "repeated questions told apart by -2, -3",
    "overlapping_choices": "answers listed as true and as false",
    "added_answers": "best answers that their own list lacked",
    "unpublished_file": "data files that are not byte for byte a published one",
    "differing_best": "best answers that differ between the two data files",
    "differing_best_incorrect": "best incorrect answers that differ between the two data files",
    "unmatched_rows": "rows that one data file has and the other lacks",
    "generated_responses": "prompts without a response, which the model writes",
}
# Ways of a run that writes texts and scores none: its reason says in full how they are written.
WRITING = frozenset(["batched", "one by one"])
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
    results: Sequence[RowResult], runs: Sequence[Run], *, verbose: int = 0, width: int = 120
) -> list[Line]:
    """The whole summary. `verbose` below 0 leaves what did not pass and the count; above 0 folds nothing."""
    shown, folded = _fold(results, verbose)
    lines = _table(shown, width)
    lines += [Line(text) for text in folded]
    lines += [Line("  " + text) for result in results for text in _reason(result)]
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
        "bar": bar_text(result.row.bar),
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


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"


def counted(number: int, what: str) -> str:
    """A number with its noun.

    >>> counted(1, "category"), counted(2, "category"), counted(3, "item")
    ('1 category', '2 categories', '3 items')
    """
    if number == 1:
        return f"1 {what}"
    return f"{number} {what[:-1]}ies" if what.endswith("y") else f"{number} {what}s"


def _reason(result: RowResult) -> list[str]:
    """Failed rows and errors have their text above the table; what else needs a word has it here."""
    if result.reason and result.verdict in ("not_gated", "waived", "pass"):
        return [f"{visible(result.row.id, 200)}: {result.verdict.replace('_', ' ')}: {visible(result.reason, 400)}"]
    return []


def _name(metric: str, judge: str | None) -> str:
    return printed_name(metric, None if judge is None else visible(judge, 60))


def run_lines(run: Run) -> list[str]:
    """What a reader must know of a run beside its scores: who was asked, how, time and traffic, oddities."""
    version = f" {run.version}" if run.version else ""
    model = "no model asked" if run.model is None else f"{_who(run.model)}, {_scoring(run)}"
    under = [*_stopped(run), *_asked(run), *_oddities(run), *_samples(run.items), *_grid(run.items)]
    under += [*_agreement(run), *_doubts(run.items)]
    return [
        f"{run.benchmark}{version}: {counted(len(run.items), 'question')}, {model}",
        *("  " + text for text in under),
    ]


def _stopped(run: Run) -> Iterator[str]:
    if run.stopped is not None:
        yield f"stopped before everything was asked: {visible(str(run.stopped), 400)}"


def _asked(run: Run) -> Iterator[str]:
    """The traffic of the model, then the judge's, with what was learnt while it answered."""
    if run.model is not None:
        seconds = (run.seconds, run.seconds_load)
        what = "writing" if run.scorer is not None and run.scorer.scorer in WRITING else "scoring"
        yield from _traffic("", run.counts, what, seconds, run.model, run.oldest_answer)
    judge = run.judge
    if judge is None or judge.identity is None:
        return
    metrics = {name for item in run.items for name in item.values}
    asking = judged_by([name for name in metrics if asks_judge([name], judge.kind)], judge.kind)
    who = f"judge {_who(judge.identity)}, {asking or judge.kind}: "
    if judge.scorer is not None and judge.scorer.reason:
        yield who + visible(judge.scorer.reason, 300)
    seconds = (judge.seconds, judge.seconds_load)
    yield from _traffic(who, judge.counts, "judging", seconds, judge.identity, judge.oldest_answer)


def _who(identity: Identity) -> str:
    return named(identity.name, identity.dtype, identity.device)


def _traffic(
    who: str,
    counts: Counts,
    what: str,
    seconds: tuple[float, float],
    identity: Identity,
    oldest_answer: datetime | None,
) -> Iterator[str]:
    """What one model was asked, and what it took."""
    text = f"{who}{counts.requests} requests ({counts.cached} answered before), {counts.prompt_tokens:,} prompt and"
    text += f" {counts.completion_tokens:,} answer tokens; {seconds[0]:.1f} s of {what}"
    if seconds[1]:
        text += f", {seconds[1]:.1f} s of loading"
    yield text + (f"; {counts.retries} retries" if counts.retries else "")
    if oldest_answer is not None and counts.cached and identity.digest is None:
        age = datetime.now(UTC) - oldest_answer
        yield f"{who}the oldest answer is {age.total_seconds() / 3600:.1f} hours old"


def _samples(items: Sequence[ItemScores]) -> Iterator[str]:
    """What the judge's samples came to, each kind counted."""
    counts = count_kinds(sample.kind for item in items for sample in item.samples)
    if counts:
        yield f"the judge's samples: {', '.join(f'{count} {kind}' for kind, count in counts.items())}"


def _grid(items: Sequence[ItemScores]) -> Iterator[str]:
    """Truthful x informative, in the four words of the field."""
    asked = [item.values for item in items if "truthful" in item.values and "informative" in item.values]
    if not asked:
        return
    unscored = Missing("unscored", "one of the two judgements is missing")
    cells = grid(
        [
            (unscored if truthful is None else truthful, unscored if informative is None else informative)
            for truthful, informative in ((values["truthful"], values["informative"]) for values in asked)
        ]
    )
    named_cells = {
        "true and informative (ideal)": cells.ideal,
        "true but not informative (over-cautious)": cells.over_cautious,
        "false but informative (dangerous misinformation)": cells.misinformation,
        "neither (complete failure)": cells.failure,
    }
    shown = (
        f"{name} {count}" + (f" ({count / cells.n:.4f})" if cells.n else "") for name, count in named_cells.items()
    )
    yield f"{', '.join(shown)}; unscored {cells.unscored}"


def _agreement(run: Run) -> Iterator[str]:
    """What the offline judge is worth, beside what it says: its agreement with people."""
    if run.judge is None or run.judge.kind != "similarity":
        return
    measure = str(run.judge.settings.get("measure"))
    for dimension, measured in SIMILARITY_AGREEMENT.items():
        if measure in measured and any(dimension in item.values for item in run.items):
            found = measured[measure]
            yield (
                f"similarity ({measure}) agrees with people on {dimension} in {found.accuracy:.1%}"
                f" of {found.n:,} public answers [{found.low:.4f}, {found.high:.4f}]"
            )


def _doubts(items: Sequence[ItemScores]) -> Iterator[str]:
    """The responses to examine, each with the words of the judge: below one half, then split ones."""
    low, even = below_half(items), split(items)
    if low:
        yield f"{len(low)} responses with correctness below 0.5{_cut(low, 'the lowest')}:"
        yield from (line for doubt in low[:MOST_DOUBTS] for line in _doubt(doubt, ""))
    if even:
        yield f"{len(even)} responses are split, as many samples call them factual as not{_cut(even, 'the first')}:"
        yield from (line for doubt in even[:MOST_DOUBTS] for line in _doubt(doubt, " split"))


def _cut(doubts: Sequence[Doubt], which: str) -> str:
    return f", {which} {MOST_DOUBTS} here, all in the record" if len(doubts) > MOST_DOUBTS else ""


def _doubt(doubt: Doubt, mark: str) -> Iterator[str]:
    yield f"  {doubt.correctness:.4f}{mark} {visible(doubt.item.id)}: {visible(doubt.item.question)}"
    yield f"    answer: {visible(doubt.item.answer or '', 200)}"
    yield from (f"    judge: {visible(text, 300)}" for text in doubt.explanations)


def _scoring(run: Run) -> str:
    if run.scorer is None:
        return "nothing asked"
    reason = visible(run.scorer.reason, 300)
    if run.scorer.scorer in WRITING:
        return reason
    text = "asked over its API" if run.scorer.scorer == "api" else f"{run.scorer.scorer} scoring"
    return f"{text} ({reason})" if reason else text


def _oddities(run: Run) -> Iterable[str]:
    counts = run.counts
    words = {
        "questions whose best answer ties with another": counts.tied_best,
        "questions in which every choice got the same number, or the answer is empty": counts.degenerate,
        "prompts cut from the left to fit the window": counts.truncated,
        "choices whose first token merges with the prompt's last": counts.boundary_merges,
        "empty choices dropped by the loader": counts.dropped_choices,
    }
    noted = [f"{number} {what}" for what, number in words.items() if number]
    noted += [f"{number} {DATA_WORDS.get(name, name)}" for name, number in counts.data.items() if number]
    if noted:
        yield "; ".join(noted)
    bias = [value for item in run.items if (value := item.values.get(LETTER_BIAS)) is not None]
    if bias:
        yield (
            f"letter bias of mc_binary {sum(bias) / len(bias):+.4f}:"
            " share right with the right letter A minus share right with it B"
        )


def _count(results: Sequence[RowResult]) -> Line:
    numbers = Counter(result.verdict for result in results)
    parts = [f"{numbers[verdict]} {word}" for verdict, word in WORDS.items() if numbers[verdict]]
    colour = "red" if numbers["fail"] or numbers["error"] else "green" if numbers["pass"] else "yellow"
    return Line(f"truthguard: {', '.join(parts) or 'no rows'}", colour)
