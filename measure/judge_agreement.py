"""How far a judge of written answers agrees with the public labels of TruthfulQA's answers.

    python measure/judge_agreement.py [--dimension informative] [--measure rouge1 ...]
    python measure/judge_agreement.py --judge rubric --model SPEC --chat-template [--limit 200 --seed 0]
    python measure/judge_agreement.py --judge rubric --model SPEC --chat-template --calls --limit 60

People labelled models' answers as true or not and as informative or not; the files hold the reference answers too,
under the label that they were written for. A judge that sees references knows those by heart, so a row whose answer
equals a reference of its question in any version (stripped, in lower case, without a closing full stop) is left
out. Equal prompts are one item, and none where their labels contradict each other. Intervals are at 95 %: Wilson's,
which takes the answers as independent, and by questions, with all answers to one as a cluster (t, and for kappa the
bootstrap). The similarity judge compares with the references of 2021-10. Needs the benchmark files ($TRUTHGUARD_DATA).

With --calls the answers that have both labels are judged twice: by a call for each dimension, as the package asks,
and by one call for both (combined_rubric.py). All of one way's calls are made together, each dimension by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import TypeVar, get_args

import combined_rubric
import numpy as np
from numpy.typing import NDArray

from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Backend
from truthguard.benchmarks.base import Dialogue
from truthguard.benchmarks.files import read_text
from truthguard.benchmarks.judging import put, undecidable, verdicts
from truthguard.benchmarks.public_labels import (
    VERSION,
    Cleaned,
    Labelled,
    all_references,
    bare,
    clean,
    labels_path,
    load_versions,
    read_labels,
)
from truthguard.errors import TruthguardError, UsageError
from truthguard.judges import similarity
from truthguard.judges.asking import decided
from truthguard.judges.judgement import DIMENSIONS
from truthguard.judges.prompts import Dimension
from truthguard.metrics.agreement import Confusion, Share, accuracy, kappa, sensitivity, specificity
from truthguard.metrics.resampling import bootstrap, row_generator
from truthguard.metrics.statistics import Interval, cluster_t, mean
from truthguard.records import ItemScores, JudgeSettings, Missing, ModelSettings, Question
from truthguard.runner.rounds import Part, hold

CONFIDENCE = 0.95
Verdicts = Mapping[Labelled, bool | Missing]
# One answer under its two labels, in the order of DIMENSIONS.
Pair = tuple[Labelled, Labelled]
T = TypeVar("T")


def main() -> int:
    """Clean the labels, ask the judge, print how far they agree."""
    options = parsed()
    versions = load_versions(options.data)
    asked, references = versions[VERSION], all_references(versions)
    labels = {
        dimension: cleaned(labels_path(options.data, dimension), references, asked)
        for dimension in (DIMENSIONS if options.calls else [options.dimension])
    }
    if options.judge != "similarity":
        backend = open_backend(options.settings.model)
        try:
            if options.calls:
                compare_calls(backend, drawn(with_both(*(each.items for each in labels.values())), options), options)
            else:
                items = drawn(labels[options.dimension].items, options)
                one_dimension(backend, items, options.settings, options.dimension)
        finally:
            backend.close()
        return 0
    rows, items = labels[options.dimension].known, drawn(labels[options.dimension].items, options)
    for measure in options.measure:
        verdicts_of = by_similarity(rows if options.limit is None else items, asked, measure, options.dimension)
        report(f"similarity, {measure}: {options.dimension}", items, verdicts_of)
        if options.limit is None:
            for leaked, which in ((True, "references"), (False, "the other answers")):
                right = [row.label == verdicts_of[row] for row in rows if row.leaked is leaked]
                print(f"  row by row, on {which}: right on {sum(right):,} of {len(right):,}, {mean(right):.1%}")
    return 0


def parsed() -> argparse.Namespace:
    """The options, with the folder of the data as `data`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", choices=["similarity", "rubric", "logprob"], default="similarity")
    parser.add_argument("--model", help="the judge's model, as in [judge] of a thresholds file")
    parser.add_argument("--chat-template", action="store_true", help="ask the model in the turns of its chat template")
    parser.add_argument("--measure", choices=similarity.MEASURES, nargs="+", default=similarity.MEASURES)
    parser.add_argument("--dimension", choices=get_args(Dimension), default="truthful")
    parser.add_argument("--calls", action="store_true", help="one call for each dimension against one for both")
    parser.add_argument("--max-tokens", type=int, default=JudgeSettings().max_tokens, help="of a rubric judge's reply")
    parser.add_argument("--batch-tokens", type=int, help="tokens of one pass of a local model")
    parser.add_argument("--limit", type=int, help="ask about this many items only, drawn with --seed")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.calls and options.judge != "rubric":
        parser.error("--calls goes with --judge rubric")
    if (options.model is None) != (options.judge == "similarity"):
        parser.error("--model goes with --judge rubric and --judge logprob, and they need it")
    if options.limit is not None and options.limit < 1:
        parser.error("--limit must be at least 1")
    if not os.environ.get("TRUTHGUARD_DATA"):
        parser.error("set TRUTHGUARD_DATA to the folder of the benchmark files (see `truthguard fetch`)")
    options.data = Path(os.environ["TRUTHGUARD_DATA"])
    keys = {} if options.batch_tokens is None else {"batch_tokens": options.batch_tokens}
    model = options.model and ModelSettings(options.model, chat_template=options.chat_template, **keys)
    options.settings = JudgeSettings(options.judge, model, max_tokens=options.max_tokens)
    return options


def drawn(items: Sequence[T], options: argparse.Namespace) -> Sequence[T]:
    """All items, or as many as --limit says."""
    if options.limit is None:
        return items
    chosen = random.Random(options.seed).sample(items, min(options.limit, len(items)))
    print(f"  {len(chosen):,} of them drawn with seed {options.seed}")
    return chosen


def cleaned(path: Path, references: Set[tuple[str, str]], asked: Collection[str]) -> Cleaned:
    """The rows whose question is asked, and the items left of them; prints what is left out and how much it is."""
    rows = read_labels(read_text(path), references)
    found = clean(rows, asked)
    n_rest, n_prompts = len(found.known) - found.n_leaked, len(found.items) + found.n_contradicting
    positive, silent = sum(item.label for item in found.items), sum(map(says_nothing, found.items))
    print(f"{path.name}: {len(rows):,} rows, {sum(row.label for row in rows):,} labelled yes")
    print(f"  {found.n_unasked:,} rows left out: their question is not in {VERSION}")
    print(f"  {found.n_leaked:,} rows left out: the answer is a reference of its question in some version")
    print(f"  {n_rest:,} rows left, of {n_prompts:,} prompts")
    print(f"  {found.n_contradicting:,} prompts left out: their labels contradict each other")
    print(f"  {len(found.items):,} items left: {positive:,} yes, {len(found.items) - positive:,} no")
    print(f"  {silent:,} of these are empty or {similarity.NO_COMMENT!r}")
    return found


def says_nothing(item: Labelled) -> bool:
    """Whether it is the sentence that the similarity judge has among the true references of every question."""
    return bare(item.answer) in ("", bare(similarity.NO_COMMENT))


def asked_of(item: Labelled) -> str:
    """The answer as a judge is asked about it: an empty one counts as the sentence that says nothing."""
    return item.answer or similarity.NO_COMMENT


def by_similarity(
    items: Sequence[Labelled], questions: Mapping[str, Question], measure: similarity.Measure, dimension: Dimension
) -> Verdicts:
    """The verdict on each item from the references of its question."""
    found: dict[Labelled, bool | Missing] = {}
    for item in dict.fromkeys(items):
        value = similarity.judge(item.answer, questions[item.question], measure, measures=())[dimension]
        found[item] = value if isinstance(value, Missing) else value == 1.0
    return found


def one_dimension(
    backend: Backend, items: Sequence[Labelled], settings: JudgeSettings, dimension: Dimension
) -> Verdicts:
    """Have the judge decide about each item as in a gate, and print what came of it."""
    if why := undecidable(dimension, settings, "questions"):
        raise UsageError(why)
    found: dict[Labelled, bool | Missing] = {}

    def dialogue(item: Labelled) -> Dialogue:
        judgement = yield from verdicts(item.question, asked_of(item), [dimension], settings)
        found[item] = judgement.verdicts[dimension]
        return ItemScores(item.question, "", item.question, values={})

    part = ask(backend, [dialogue(item) for item in items])
    report(f"{settings.kind}, {backend.identity().name}: {dimension}", items, found)
    print(f"  {taken(part)}")
    return found


def with_both(truthful: Sequence[Labelled], informative: Sequence[Labelled]) -> list[Pair]:
    """The items of both files, joined by question and answer."""
    others = {(item.question, item.answer): item for item in informative}
    pairs = [(item, others[key]) for item in truthful if (key := (item.question, item.answer)) in others]
    print(f"both: {len(pairs):,} items have both labels")
    return pairs


def compare_calls(backend: Backend, pairs: Sequence[Pair], options: argparse.Namespace) -> None:
    """Judge the same answers by a call for each dimension and by one for both; print each, and where they differ."""
    sides: dict[Dimension, list[Labelled]] = dict(zip(DIMENSIONS, map(list, zip(*pairs, strict=True)), strict=True))
    apart = {each: one_dimension(backend, sides[each], options.settings, each) for each in DIMENSIONS}
    found: dict[Labelled, bool | Missing] = {}

    def dialogue(pair: Pair) -> Dialogue:
        item = pair[0]
        kinds = yield from put(combined_rubric.judge(item.question, asked_of(item), options.settings))
        for dimension, side in zip(DIMENSIONS, pair, strict=True):
            verdict = decided(kinds[dimension])
            found[side] = verdict == "yes" if verdict else Missing(kinds[dimension], "in one call for both")
        return ItemScores(item.question, "", item.question, values={})

    part = ask(backend, [dialogue(pair) for pair in pairs])
    for dimension, side in sides.items():
        report(f"one call for both, {options.model}: {dimension}", side, found)
        read = [item for item in side if not {type(found[item]), type(apart[dimension][item])} & {Missing}]
        same = sum(found[item] == apart[dimension][item] for item in read)
        print(f"  the same verdict as in a call of its own: {same} of the {len(read)} that both read")
    print(f"  {taken(part)}")


def ask(backend: Backend, dialogues: Sequence[Dialogue]) -> Part:
    """Hold the dialogues with the judge; what it took."""

    def progress(done: int, total: int) -> None:
        print(f"\r{done} of {total} asked", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return hold(dialogues, None, progress, judge=backend).judge


def taken(part: Part) -> str:
    """What a judge's part of the dialogues took, without loading its model."""
    counts = part.tally.counts()
    tokens = f"{counts.prompt_tokens:,} prompt and {counts.completion_tokens:,} completion tokens"
    return f"took {counts.requests:,} requests, {tokens}, {part.seconds:.1f} s"


def report(title: str, items: Sequence[Labelled], found: Verdicts) -> None:
    """Print every measure of agreement, and how many items have no verdict."""
    judged = [(item, verdict) for item in items if not isinstance(verdict := found[item], Missing)]
    unscored = Counter(verdict.kind for item in items if isinstance(verdict := found[item], Missing))
    counts = Confusion.of((item.label, verdict) for item, verdict in judged)
    speaking = Confusion.of((item.label, verdict) for item, verdict in judged if not says_nothing(item))
    accuracy_by_question, kappa_by_question = by_questions(judged, title) if judged else (None, None)
    print(f"\n{title}")
    print(f"  accuracy      {shown(accuracy(counts, CONFIDENCE))}, by questions {ends(accuracy_by_question)}")
    print(f"  kappa         {shown(kappa(counts))}  n = {counts.n:,}, by questions {ends(kappa_by_question)}")
    print(f"  sensitivity   {shown(sensitivity(counts, CONFIDENCE))}")
    print(f"  specificity   {shown(specificity(counts, CONFIDENCE))}")
    print(f"  accuracy on answers that say something: {shown(accuracy(speaking, CONFIDENCE))}")
    yes = counts.true_positive + counts.false_positive
    print(f"  verdicts: {yes:,} yes, {counts.n - yes:,} no")
    print(f"  unscored: {', '.join(f'{n:,} {kind}' for kind, n in unscored.items()) or 'none'}")


def by_questions(judged: Sequence[tuple[Labelled, bool]], seed: str) -> tuple[Interval | None, Interval | None]:
    """The intervals of accuracy and kappa with all answers to a question as one cluster."""
    cells = np.array([2 * item.label + verdict for item, verdict in judged])
    questions = [item.question for item, _ in judged]

    def statistic(drawn: NDArray[np.intp]) -> float | None:
        no_no, no_yes, yes_no, yes_yes = np.bincount(cells[drawn], minlength=4).tolist()
        value = kappa(Confusion(yes_yes, no_yes, yes_no, no_no))
        return None if isinstance(value, Missing) else value

    of_kappa = bootstrap(statistic, len(judged), row_generator(0, seed), clusters=questions).interval(CONFIDENCE)
    return cluster_t([float(item.label == verdict) for item, verdict in judged], questions, CONFIDENCE), of_kappa


def shown(value: Share | float | Missing) -> str:
    """A number as it is printed, a share with its interval and n."""
    if isinstance(value, Share):
        return f"{value.estimate:.4f} {ends(value.interval)}  n = {value.n:,}"
    return f"undefined ({value})" if isinstance(value, Missing) else f"{value:.4f}"


def ends(interval: Interval | None) -> str:
    """An interval as it is printed."""
    return "undefined" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TruthguardError as error:
        sys.exit(str(error))
