"""The outcome of a session as one short page of Markdown, for a pull request or the summary of a CI job.

At most MAX_LINES lines, what needs a person first. A benchmark that is public shows its texts; of a team's own files
only ids and numbers leave the machine. Every text is inert (`report.inert`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date

from truthguard.catalogue import BENCHMARKS, SIMILARITY_AGREEMENT, TRUTHFUL_JUDGE, printed_name
from truthguard.changes import improved
from truthguard.metrics.doubts import Doubt, below_half
from truthguard.records import Drop, RowResult, Run, Verdict
from truthguard.report.changed import Changed
from truthguard.report.inert import code
from truthguard.report.terminal import WORDS, bars_text, slice_name
from truthguard.report.words import NOUNS, counted
from truthguard.text import named, visible

MAX_LINES = 60
MOST_ITEMS = 10
MOST_FACTS = 8
# How much of a name, a reason and a text a line has room for.
NAME, REASON, TEXT = 60, 160, 120
# The order of the rows: a pass that a test has left open comes before the slices that were too small to gate.
_ORDER = ("fail", "error", "waived", "undecided", "not_gated", "pass")
_BLOCKING_FIRST: tuple[Verdict, ...] = ("fail", "error", "waived", "not_gated", "pass")


def markdown(
    results: Sequence[RowResult],
    runs: Sequence[Run],
    changed: Sequence[Changed] = (),
    *,
    baseline: str = "",
    trust: Sequence[str] = (),
) -> str:
    """The page. `changed` are the items that differ from the baseline of that name, those to show first.

    `trust` are further lines on the judge: what the thresholds file requires of it, say.
    """
    public = public_benchmarks([result.row.benchmark for result in results], runs)
    head = ["## truthguard: " + _headline(results), "", _sentence(results)]
    below = [*_changes(changed, baseline, public), *_doubts(runs, public)]
    below += [*_facts(results, runs, trust), *_next(results)]
    return "\n".join([*head, *_table(results, public, MAX_LINES - len(head) - len(below)), *below]) + "\n"


def public_benchmarks(names: Iterable[str], runs: Sequence[Run]) -> frozenset[str]:
    """Those whose texts are anybody's: they are published or ship with truthguard, and are no team's own."""
    # truthful_judge may be measured on labels of one's own; the public ones have a version.
    published = [run.version is not None for run in runs if run.benchmark == TRUTHFUL_JUDGE]
    own = set() if published and all(published) else {TRUTHFUL_JUDGE}
    return frozenset({*names, *(run.benchmark for run in runs)} & BENCHMARKS.keys() - own)


def reason(result: RowResult, public: Collection[str]) -> str:
    """Why the row came out as it did; of a team's own files without what may quote their texts."""
    summary = result.summary
    if result.row.benchmark in public:
        return result.reason
    if result.verdict == "error":
        if summary is None or not summary.unscored:
            return "the log has the reason"
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(summary.unscored.items()))
        return f"{summary.n_unscored} of {summary.n + summary.n_unscored} could not be scored: {kinds}"
    told = result.reason
    for detail in () if summary is None else summary.details.values():
        told = told.replace(f" ({visible(detail, 200)})", "")
    return told


def _headline(results: Iterable[RowResult]) -> str:
    verdicts = {result.verdict for result in results}
    if verdicts & {"fail", "error"}:
        return "failed"
    return "passed" if verdicts & {"pass", "waived"} else "nothing was gated"


def _sentence(results: Sequence[RowResult]) -> str:
    numbers = Counter(result.verdict for result in results)
    parts = [f"{numbers[verdict]} {WORDS[verdict]}" for verdict in _BLOCKING_FIRST if numbers[verdict]]
    return f"Of {counted(len(results), 'row')} {', '.join(parts)}."


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"### {title}", *lines] if lines else []


def _standing(result: RowResult) -> str:
    undecided = result.verdict == "pass" and "undecided:" in result.reason
    return "undecided" if undecided else result.verdict


def _table(results: Sequence[RowResult], public: Collection[str], room: int) -> list[str]:
    """The rows in as many lines as there is room for; slices that passed are counted only."""
    ordered = sorted(results, key=lambda result: (_ORDER.index(_standing(result)), _is_slice(result)))
    shown = [result for result in ordered if not (_is_slice(result) and _standing(result) == "pass")]
    folded = [result for result in ordered if _is_slice(result) and _standing(result) == "pass"]
    lines = 3 + (2 if folded or len(shown) > room - 3 else 0)
    shown, cut = shown[: room - lines], shown[room - lines :]
    headings = ["benchmark", "metric", "slice", "score", "interval", "n", "bar", "drop", "verdict"]
    cells = [_cells(result, public) for result in shown]
    if not any(row["drop"] for row in cells):
        headings.remove("drop")
    marks = ("---:" if name in ("score", "n") else "---" for name in headings)
    table = ["", _row(headings), _row(marks), *(_row(row[name] for name in headings) for row in cells)]
    left = Counter(WORDS[result.verdict] for result in cut)
    more = [f"{number} {word}" for word, number in left.items()]
    more += [f"{counted(len(folded), 'slice')} that passed"] if folded else []
    return [*table, *(["", f"Not shown: {', '.join(more)}; the record (`--truthguard-json`) has all."] if more else [])]


def _is_slice(result: RowResult) -> bool:
    return result.row.category is not None or result.row.item is not None


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(result: RowResult, public: Collection[str]) -> dict[str, str]:
    row, summary = result.row, result.summary
    estimate = None if summary is None else summary.estimate
    n = "–"
    if summary is not None:
        n = str(summary.n) + (f" of {summary.n + summary.n_unscored}" if summary.n_unscored else "")
    word = "undecided" if _standing(result) == "undecided" else WORDS[result.verdict]
    why = reason(result, public)
    return {
        "benchmark": code(row.benchmark, NAME),
        "metric": code(printed_name(row.metric, row.judge), NAME),
        "slice": code(slice_name(result), NAME) if _is_slice(result) else "all",
        "score": "–" if estimate is None else f"{estimate:.4f}",
        "interval": _interval(None if summary is None else summary.low, None if summary is None else summary.high),
        "n": n,
        "bar": "–" if bars_text(row) == "-" else bars_text(row),
        "drop": "; ".join(_drop(drop, len(result.drops) > 1) for drop in result.drops),
        "verdict": (f"**{word}**" if result.verdict in ("fail", "error") else word)
        + (f": {code(why, REASON)}" if why else ""),
    }


def _drop(drop: Drop, several: bool) -> str:
    test = "no test" if drop.p_greater is None else f"p = {drop.p_greater:.3g}"
    against = f" against {code(drop.baseline, NAME)}" if several else ""
    better = ", an improvement" if improved(drop) else ""
    return f"{drop.estimate:.4f} {_interval(drop.low, drop.high)}, {test}{better}{against}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _changes(changed: Sequence[Changed], baseline: str, public: Collection[str]) -> list[str]:
    of = f": {MOST_ITEMS} of {len(changed)} items" if len(changed) > MOST_ITEMS else ""
    lines = [
        f"- {code(item.id)}, {code(f'{item.benchmark} {printed_name(item.metric)}')}:"
        f" {_score(item.before)} → {_score(item.after)}{_question(item.question, item.benchmark in public)}"
        for item in changed[:MOST_ITEMS]
    ]
    return _section(f"Changed most against {code(baseline, NAME) if baseline else 'the baseline'}{of}", lines)


def _doubts(runs: Sequence[Run], public: Collection[str]) -> list[str]:
    found = [(run.benchmark, doubt) for run in runs for doubt in below_half(run.items)]
    found.sort(key=lambda pair: pair[1].correctness)
    of = f": the lowest {MOST_ITEMS} of {len(found)}" if len(found) > MOST_ITEMS else ""
    lines = [_doubt(benchmark, doubt, benchmark in public) for benchmark, doubt in found[:MOST_ITEMS]]
    return _section(f"Responses with correctness below 0.5{of}", lines)


def _doubt(benchmark: str, doubt: Doubt, public: bool) -> str:
    answer = f", answered {code(doubt.item.answer or '', TEXT)}" if public else ""
    question = _question(doubt.item.question, public)
    return f"- {doubt.correctness:.4f} {code(doubt.item.id)}, {code(benchmark, NAME)}{question}{answer}"


def _question(question: str, public: bool) -> str:
    return f": {code(question, TEXT)}" if public and question else ""


def _score(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.4f}"


def _facts(results: Sequence[RowResult], runs: Sequence[Run], trust: Sequence[str]) -> list[str]:
    """Whom the numbers are of, who judged and what the judge's word is worth."""
    lines = list(dict.fromkeys(f"- {fact}" for run in runs for fact in _who(run)))
    lines += [f"- Trust: {code(text, 2 * TEXT)}" for text in trust]
    lines += [f"- Trust: {fact}" for result in results if (fact := _corrected(result))]
    if len(lines) > MOST_FACTS:
        lines[MOST_FACTS - 1 :] = [f"- and {len(lines) - MOST_FACTS + 1} more, in the record"]
    return _section("Model and judge", lines)


def _who(run: Run) -> Iterator[str]:
    if run.model is not None:
        yield f"Model: {code(named(run.model.name, run.model.dtype, run.model.device), 2 * TEXT)}"
    judge = run.judge
    if judge is not None:
        measure = code(f"{judge.kind}, {judge.settings.get('measure')}", NAME)
        who = measure if judge.identity is None else code(named(judge.identity.name, judge.kind), 2 * TEXT)
        yield f"Judge: {who}{_agreement(run)}"
    version = f" {run.version}" if run.version else ""
    yield f"Questions: {code(run.benchmark + version, NAME)}, {counted(len(run.items), NOUNS[run.kind])}"


def _agreement(run: Run) -> str:
    """What the judge that asks no model is worth."""
    if run.judge is None or run.judge.kind != "similarity":
        return ""
    measure = str(run.judge.settings.get("measure"))
    found = [
        f"on {dimension} in {measured[measure].accuracy:.1%}"
        for dimension, measured in SIMILARITY_AGREEMENT.items()
        if measure in measured and any(dimension in item.values for item in run.items)
    ]
    return f", which agrees with people {' and '.join(found)} of public answers" if found else ""


def _corrected(result: RowResult) -> str:
    rate = result.corrected
    if rate is None or rate.estimate is None or _is_slice(result):
        return ""
    return (
        f"{code(result.row.id)} corrected for the judge's errors is {rate.estimate:.4f}"
        f" {_interval(rate.low, rate.high)} (sensitivity {rate.sensitivity:.4f} of {rate.n_positive},"
        f" specificity {rate.specificity:.4f} of {rate.n_negative})"
    )


def _next(results: Sequence[RowResult]) -> list[str]:
    """What to do, in the order of what keeps the gate from passing."""
    standing = {_standing(result) for result in results}
    waivers: list[date] = [
        result.row.waive_until
        for result in results
        if result.verdict == "waived" and result.row.waive_until is not None
    ]
    advice = {
        "fail": "A failed row names in the log the questions that are nearest to its bar.",
        "error": "A row that could not be measured says nothing of the model: mend the cause in the log and run again;"
        " the answers are kept.",
        "waived": f"The first waiver ends on {min(waivers)}." if waivers else "",
        "undecided": "An undecided row needs more questions: so few cannot show on which side of the bar it is.",
    }
    lines = [f"- {text}" for name, text in advice.items() if name in standing and text]
    if standing <= {"pass", "not_gated"} and "pass" in standing:
        lines.append("- `--truthguard-update-thresholds` raises each `min` to what this model was shown to reach.")
    return _section("What to do next", lines)
