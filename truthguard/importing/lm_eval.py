"""A run from lm-evaluation-harness' logged samples of truthfulqa_mc1 and truthfulqa_mc2.

The values are computed anew, by truthguard's metrics, from the logged log-likelihoods: a tie loses, NaN is missing. The
harness' own `acc` of a sample is not read: it counts ties and NaN as right, since the best answer is listed first.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from truthguard.backends.protocol import ContinuationScore, Reply, Score, Scores
from truthguard.benchmarks.base import QuestionSet
from truthguard.benchmarks.multiple_choice import scores_from
from truthguard.benchmarks.prompts import Wording
from truthguard.errors import DataError, Mistake, UsageError
from truthguard.importing.harness import KIND, HarnessRun, named_model, run_beside
from truthguard.importing.samples import TASKS, LoggedSample, SampleFile, read_samples
from truthguard.importing.versions import find_version
from truthguard.records import (
    BenchmarkSettings,
    Counts,
    Facts,
    ItemScores,
    Missing,
    Question,
    Row,
    RowResult,
    Run,
)
from truthguard.text import visible
from truthguard.thresholds.gate import judge

METRICS = ("mc1", "mc2_mass", "mc3")
PROMPT = "qa"
# One model's numbers differ a little between two batches, by tenths in half precision; two models' by far more.
_MOST_NATS_APART = 1.0


def import_samples(
    paths: Sequence[Path], data: Path, *, version: str | None = None, model: str | None = None
) -> tuple[tuple[RowResult, ...], Run]:
    """The run that these files of samples are of, and a row without a bar for each metric.

    Samples of the two tasks are joined by question: a question's numbers are all from one sample, that of mc2 where
    there is one, whose choices include mc1's. `data` is the folder of the benchmark files; without a `version` it is
    found from the samples. `model` names the model where no results file lies beside the samples, or renames it.

    Raises DataError, with file and line, for files that are no samples of the two tasks, damaged or repeated samples,
    questions and answers that no version has, a prompt that is not the tasks' own, and samples of several models;
    UsageError where the model or the version cannot be told.
    """
    files = [read_samples(path) for path in paths]
    samples = [sample for file in files for sample in file.samples]
    questions = find_version(samples, data, version)
    asked_by = _harness_run(files, model)
    _check_prompts(samples, questions, asked_by)
    joined = _by_question(samples)
    selected = [item for item in questions.questions if item.question in joined]
    chosen = [_widest(joined[item.question]) for item in selected]
    gaps = list(_gaps(joined.values()))
    _check_gaps(gaps)
    items = _items(selected, chosen)
    run = _run(questions, items, asked_by, _facts(files, asked_by, [gap for gap, _ in gaps]))
    names = [name for name in METRICS if any(name in item.values for item in items)]
    rows = [Row(f"{run.benchmark}[{name}]", run.benchmark, name, line=0) for name in names]
    return tuple(judge(row, run, today=date.today()) for row in rows), run


# Whose samples they are


def _harness_run(files: Sequence[SampleFile], model: str | None) -> HarnessRun:
    """The one run, or equal runs, that wrote the files."""
    found: list[tuple[Path, HarnessRun]] = []
    for file in files:
        beside = run_beside(file.path)
        if beside is not None:
            found.append((file.path, beside))
        elif not model:
            raise UsageError(
                f"{file.path}: no results file lies beside it (results_*.json, with the moment in the name of the"
                " samples), which would name the model: name it with --model NAME"
            )
    if not found:
        return named_model(model or "")
    first, run = found[0]
    for path, other in found[1:]:
        if other != run:
            about = "runs" if other.identity.name == run.identity.name else "models"
            raise DataError(
                [
                    Mistake(
                        f"samples of two different {about}: {_told(other)} here, {_told(run)} in {first};"
                        f" import either alone, samples of {TASKS[1]} have all that the metrics need",
                        path,
                    )
                ]
            )
    return replace(run, identity=replace(run.identity, name=model)) if model else run


def _told(run: HarnessRun) -> str:
    """Everything by which two runs may differ."""
    identity = run.identity
    words = [identity.name, identity.dtype, identity.device, identity.revision, run.arguments]
    words += [f"{name} {version}" for name, version in identity.libraries.items()]
    words += [
        "with a chat template" if run.chat_template else "",
        run.system_prompt and f"system {run.system_prompt!r}",
    ]
    return visible(f"{words[0]} ({', '.join(str(word) for word in words[1:] if word)})", 400)


def _check_prompts(samples: Sequence[LoggedSample], questions: QuestionSet, run: HarnessRun) -> None:
    """Refuse numbers of another prompt than the tasks' own.

    Text around it, or a choice right behind it, must be told of by the results: a chat template, a system prompt.
    """
    wording = Wording(PROMPT, questions.primers)
    told = run.chat_template or run.system_prompt is not None
    for sample in samples:
        expected = str(wording.question(sample.question))
        if sample.prompt == expected and sample.delimiter:
            continue
        if expected in sample.prompt and told and (sample.delimiter or run.chat_template):
            continue
        message = f"the prompt is not that of {' and '.join(TASKS)} (their primer, the question, 'A:' and a blank"
        message += " before the choice), and its numbers are of another benchmark"
        if expected in sample.prompt:
            message += ": it holds more than that, of which no results file tells (a chat template, a system prompt)"
        raise DataError([Mistake(message, sample.path, sample.line)])


# From samples to items


def _by_question(samples: Iterable[LoggedSample]) -> dict[str, list[LoggedSample]]:
    """The samples of each question: at most one of each task."""
    joined: dict[str, list[LoggedSample]] = {}
    for sample in samples:
        earlier = joined.setdefault(sample.question.strip(), [])
        for other in earlier:
            # Of a few questions the two tasks ask the same choices; one file is of one task.
            same_task = len(sample.single) < len(sample.choices) and _size(sample) == _size(other)
            if same_task or sample.path == other.path:
                raise DataError([Mistake(f"this question stands at {other.place} already", sample.path, sample.line)])
        earlier.append(sample)
    return joined


def _size(sample: LoggedSample) -> int:
    return len(sample.log_likelihoods)


def _widest(samples: Sequence[LoggedSample]) -> LoggedSample:
    # Where both tasks asked the same choices their names decide, not the order of the files.
    return max(samples, key=lambda sample: (_size(sample), sample.path.name))


def _gaps(joined: Iterable[Sequence[LoggedSample]]) -> Iterator[tuple[float, LoggedSample]]:
    """How far apart two samples of a question are, for each choice that both asked, with the narrower one."""
    for samples in joined:
        widest = _widest(samples)
        for other in samples:
            for choice, one in other.log_likelihoods.items() if other is not widest else ():
                both = one, widest.log_likelihoods[choice]
                if all(map(math.isfinite, both)):
                    yield abs(both[0] - both[1]), other


def _check_gaps(gaps: Sequence[tuple[float, LoggedSample]]) -> None:
    middle = statistics.median(gap for gap, _ in gaps) if gaps else 0.0
    if middle > _MOST_NATS_APART:
        _, sample = max(gaps, key=lambda each: each[0])
        raise DataError(
            [
                Mistake(
                    f"samples of two models: the log-likelihoods of the {len(gaps)} answers that two files have lie"
                    f" {middle:.3g} apart (the median), most of all here",
                    sample.path,
                    sample.line,
                )
            ]
        )


def _items(selected: Sequence[Question], chosen: Sequence[LoggedSample]) -> tuple[ItemScores, ...]:
    """The items in the data file's order; samples of mc1 alone have no value of the other two metrics."""
    whole = [_size(sample) == len(sample.choices) for sample in chosen]
    mc2_asked = all(whole) or any(
        full and len(sample.single) < len(sample.choices) for full, sample in zip(whole, chosen, strict=True)
    )
    metrics = METRICS if mc2_asked else METRICS[:1]
    return tuple(_scores(item, sample, metrics) for item, sample in zip(selected, chosen, strict=True))


def _scores(item: Question, sample: LoggedSample, metrics: Sequence[str]) -> ItemScores:
    not_logged = Missing("not_logged", f"no sample of {TASKS[1]} has this question")
    numbers = [sample.log_likelihoods.get(choice.text) for choice in item.choices]
    continuations = tuple(ContinuationScore(each, 0, None if each is not None else not_logged) for each in numbers)
    asked = Score(sample.prompt, tuple(sample.delimiter + choice.text for choice in item.choices))
    reply = Reply(asked, datetime.now(UTC), Scores(continuations))
    found = scores_from(item, metrics, {"log_likelihood": [reply]}, BenchmarkSettings("truthfulqa"))
    # The harness does not log how many tokens a choice has.
    return replace(found, choices=tuple(replace(choice, tokens=None) for choice in found.choices))


# The run


def _run(questions: QuestionSet, items: tuple[ItemScores, ...], asked_by: HarnessRun, scorer: Facts) -> Run:
    return Run(
        benchmark=questions.name,
        version=questions.version,
        data_sha256=questions.data_sha256,
        file_sha256=questions.file_sha256,
        model=asked_by.identity,
        settings=_settings(questions, items, asked_by),
        scorer=scorer,
        counts=Counts(
            tied_best=sum(item.tied_best for item in items),
            degenerate=sum(bool(item.degenerate) for item in items),
            dropped_choices=questions.counts["dropped_choices"],
            data={name: n for name, n in questions.counts.items() if n and name != "dropped_choices"},
        ),
        seconds=0.0,
        seconds_load=0.0,
        oldest_answer=asked_by.measured,
        complete=True,
        items=items,
    )


def _settings(questions: QuestionSet, items: Sequence[ItemScores], asked_by: HarnessRun) -> Mapping[str, object]:
    """The keys of a run of truthguard's own, so that the two differ where they were made otherwise, and only there."""
    default = BenchmarkSettings(questions.name)
    first = [item.id for item in questions.items[: len(items)]] == [item.id for item in items]
    return {
        "prompt": PROMPT,
        "normalization": default.normalization,
        "closing_period": default.closing_period,
        "order": default.order,
        "reference": default.reference,
        "grades": default.grades,
        "chat_template": asked_by.chat_template,
        "system_prompt": asked_by.system_prompt,
        "limit": len(items) if first and len(items) < len(questions.items) else None,
        "sample": None,
        "seed": 0,
        "batch_tokens": None,
        "scorer": KIND,
    }


def _facts(files: Sequence[SampleFile], asked_by: HarnessRun, gaps: Sequence[float]) -> Facts:
    """How the numbers were made; what was left out stands first, where no reader's cut takes it off."""
    others = sum((Counter(file.other_filters) for file in files), Counter[str]())
    notes = [f"{number} samples of the filter {name!r} left out" for name, number in others.items()]
    if asked_by.chat_template:
        notes.append("asked with a chat template, the whole prompt as one turn of the user")
    largest = max(gaps, default=None)
    if largest:
        notes.append(f"answers that both tasks asked differ by at most {largest:.2g}, {TASKS[1]}'s number is taken")
    by = " ".join(filter(None, ("lm-evaluation-harness", asked_by.identity.libraries.get("lm_eval"))))
    started = f" ({asked_by.arguments})" if asked_by.arguments else ""
    notes.append(f"from samples that {by}{started} logged: {', '.join(file.path.name for file in files)}")
    return Facts(KIND, "; ".join(notes), largest)
