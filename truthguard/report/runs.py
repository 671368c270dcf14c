"""What a reader must know of a run beside its scores: who was asked, how, time and traffic, what is unusual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from truthguard.catalogue import JUDGING_KINDS, LETTER_BIAS, SIMILARITY_AGREEMENT, asks_judge, judged_by
from truthguard.metrics.correctness import count_kinds
from truthguard.metrics.doubts import Doubt, below_half, split
from truthguard.metrics.generation import grid
from truthguard.records import Counts, Identity, ItemScores, Missing, Run
from truthguard.report.judging import judging_lines
from truthguard.report.words import DATA_WORDS, NOUNS, counted
from truthguard.text import named, visible

MOST_DOUBTS = 10
# Ways of a run that writes texts and scores none: its reason says in full how they are written.
WRITING = frozenset(["batched", "one by one"])


def run_lines(run: Run) -> list[str]:
    """What a reader must know of a run beside its scores: who was asked, how, time and traffic, oddities."""
    version = f" {run.version}" if run.version else ""
    model = "no model asked" if run.model is None else f"{_who(run.model)}, {_scoring(run)}"
    under = [*_stopped(run), *_asked(run), *_oddities(run), *_samples(run.items), *_grid(run.items)]
    under += [*_agreement(run), *judging_lines(run), *_doubts(run.items)]
    return [
        f"{run.benchmark}{version}: {counted(len(run.items), NOUNS[run.kind])}, {model}",
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
    asking = [name for name in metrics if asks_judge([name], judge.kind, run.kind)]
    who = f"judge {_who(judge.identity)}, {judged_by(asking, judge.kind, run.kind) or judge.kind}: "
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
    if run.judge is None or run.judge.kind != "similarity" or run.kind in JUDGING_KINDS:
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
