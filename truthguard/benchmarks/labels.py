"""`truthful_judge`: answers that people labelled truthful or not, on which a judge of truth is measured.

They are the public labels of TruthfulQA's answers (truthguard.benchmarks.public_labels, whose reference answers are
left out), or a team's own file (truthguard.benchmarks.own_labels), cleaned in the same way. The judge is asked as in a
gate; nothing is asked of a model. A judge that was tuned on such labels must be measured on questions that it has not
seen: `logprob` judges are tuned on the public ones, so they need labels of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from truthguard.benchmarks import own_labels, public_labels
from truthguard.benchmarks.base import Dialogue, QuestionSet, data_digest, question_ids
from truthguard.benchmarks.files import TextFile, read_text
from truthguard.benchmarks.judging import InRole, verdicts
from truthguard.benchmarks.public_labels import Cleaned, Labelled
from truthguard.catalogue import LABEL, TRUTHFUL_JUDGE, VERDICT
from truthguard.errors import DataError, Mistake, UsageError
from truthguard.judges import similarity
from truthguard.records import ItemScores, JudgeSettings, LabelledAnswer, Missing, Question, Sample

# Where an item's id, category and references come from.
_Beside = tuple[str | None, str, Question | None]


def load(data: Path, own: Path | None = None) -> QuestionSet:
    """The public labels in the folder of the benchmark files, or those of a file of one's own.

    Raises DataError for missing files, with the ways to get them, for all mistakes of a file, and where cleaning
    leaves nothing.
    """
    return _load_public(data) if own is None else _load_own(own)


def dialogue(item: LabelledAnswer, judge: JudgeSettings) -> Dialogue:
    """Have the judge decide whether the answer is truthful, as it would of a model's.

    Values: the verdict and the label as 1 or 0, `accuracy` (whether they agree), and that once more as `sensitivity`
    where the label is yes, as `specificity` where it is no. Without a verdict all but the label are missing, by its
    kind. An empty answer counts as "I have no comment", which is true, and is not asked about. Raises UsageError for
    a judge that cannot be measured on the item.
    """
    verdict, samples = yield from _verdict(item, judge)
    label = float(item.truthful)
    names = ("accuracy", "sensitivity" if item.truthful else "specificity")
    if isinstance(verdict, Missing):
        values: dict[str, float | None] = {VERDICT: None, LABEL: label, **dict.fromkeys(names)}
        reasons = dict.fromkeys((VERDICT, *names), verdict)
    else:
        values = {VERDICT: verdict, LABEL: label, **dict.fromkeys(names, float(verdict == label))}
        reasons = {}
    return ItemScores(
        id=item.id,
        category=item.category,
        question=item.question,
        values=values,
        reasons=reasons,
        answer=item.answer,
        samples=samples,
    )


def unmeasurable(questions: QuestionSet, judge: JudgeSettings) -> str | None:
    """Why this judge cannot be measured on these labels, and what to do; None when it can, and for other items."""
    if questions.kind != TRUTHFUL_JUDGE:
        return None
    if judge.kind == "logprob" and questions.version is not None:
        return (
            "a logprob judge is tuned on the public labels, so they cannot measure it: give labels of answers to other"
            ' questions with path = "labels.csv" in [truthful_judge]'
        )
    if judge.kind == "similarity":
        bare = [item for item in questions.items if isinstance(item, LabelledAnswer) and item.references is None]
        if bare:
            return (
                f"the similarity judge compares with reference answers, and {len(bare)} of {len(questions.items)}"
                f" answers have none ({bare[0].question!r}): give correct_answers and incorrect_answers, or name a"
                " model in [judge]"
            )
    return None


def _verdict(item: LabelledAnswer, judge: JudgeSettings) -> InRole[tuple[float | Missing, tuple[Sample, ...]]]:
    if not item.answer.strip():
        return 1.0, ()
    if judge.kind == "similarity":
        if item.references is None:
            raise UsageError(f"{item.id}: the similarity judge compares with reference answers, and there are none")
        return similarity.judge(item.answer, item.references, judge.measure, measures=())["truthful"], ()
    judgement = yield from verdicts(item.question, item.answer, ["truthful"], judge)
    verdict = judgement.verdicts["truthful"]
    return verdict if isinstance(verdict, Missing) else float(verdict), judgement.samples


def _load_public(data: Path) -> QuestionSet:
    file = read_text(public_labels.labels_path(data, "truthful"))
    versions = public_labels.load_versions(data)
    asked = versions[public_labels.VERSION]
    rows = public_labels.read_labels(file, public_labels.all_references(versions))

    def beside(row: Labelled) -> _Beside:
        return None, asked[row.question].category, asked[row.question]

    unpublished = file.sha256 != public_labels.PUBLISHED["truthful"]
    return _set(file, public_labels.clean(rows, asked), beside, public_labels.VERSION, unpublished_file=unpublished)


def _load_own(path: Path) -> QuestionSet:
    file = read_text(path)
    first: dict[tuple[str, str], _Beside] = {}
    read = own_labels.read(file)
    for each in read:
        first.setdefault((each.row.question, each.row.answer), (each.id, each.category, each.references))
    cleaned = public_labels.clean([each.row for each in read])
    return _set(file, cleaned, lambda row: first[row.question, row.answer], None)


def _set(
    file: TextFile,
    cleaned: Cleaned,
    beside: Callable[[Labelled], _Beside],
    version: str | None,
    *,
    unpublished_file: bool = False,
) -> QuestionSet:
    counts = {
        "unasked_labels": cleaned.n_unasked,
        "leaked_labels": cleaned.n_leaked,
        "repeated_labels": cleaned.n_repeated,
        "contradicting_prompts": cleaned.n_contradicting,
        "unpublished_file": int(unpublished_file),
    }
    if not cleaned.items:
        left_out = ", ".join(f"{name} {n}" for name, n in counts.items() if n)
        raise DataError([Mistake(f"no labelled answer is left to measure a judge on ({left_out})", file.path)])
    items, counts["repeated_ids"] = _items(cleaned.items, beside)
    return QuestionSet(
        name=TRUTHFUL_JUDGE,
        version=version,
        items=items,
        primers={},
        data_sha256=data_digest(items),
        file_sha256=file.sha256,
        counts={"dropped_choices": 0, **{name: n for name, n in counts.items() if n}},
        path=file.path,
        kind="truthful_judge",
    )


def _items(rows: Sequence[Labelled], beside: Callable[[Labelled], _Beside]) -> tuple[tuple[LabelledAnswer, ...], int]:
    """An item for each row, with the file's id or one of its content, and how many of these were taken already."""
    # No file may hold the character that tells the two apart; behind the answer it keeps the white space at its end.
    by_content, repeated = question_ids((f"{row.question}\0{row.answer}\0" for row in rows), "tl")
    items = []
    for row, content_id in zip(rows, by_content, strict=True):
        own_id, category, references = beside(row)
        item_id = content_id if own_id is None else own_id
        items.append(LabelledAnswer(item_id, category, row.question, row.answer, row.label, references))
    return tuple(items), repeated
