"""The eight sets of the Prometheus 2 protocol, read from upstream's files as they are.

Each stands under `data`/prometheus2 as NAME.json or NAME.json.gz and holds a JSON array or JSON Lines. Texts are
stripped, as upstream strips them before use. Groups are the responses to one prompt: by `idx` in MT Bench, elsewhere
by the prompt's text. Categories: `category` (Vicuna, MT Bench), `criteria` (FLASK: the skill), `source` (HHH),
`scenario` (Auto-J), else none. Of pairs the better response comes first where the file says so: what a judge is shown
first does not depend on it.

Vicuna, MT Bench, HHH and Auto-J were tried on the real files. FLASK, Feedback Bench, MT Bench Human Judgment and
Preference Bench could not be had: their loaders follow the fields that upstream's code reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from truthguard.benchmarks import oddities
from truthguard.benchmarks.base import QuestionSet, data_digest, question_ids
from truthguard.benchmarks.files import (
    Faults,
    Pairs,
    TextFile,
    decode,
    has_digest,
    read_content,
    read_entries,
    read_json,
    read_text,
    unusable,
)
from truthguard.benchmarks.judge_prompt import JudgePrompt, read_judge_prompt, read_rubric
from truthguard.benchmarks.prometheus_sets import (
    FOLDER,
    HUMAN_SCORE,
    PROMPTS_FILE,
    SETS,
    TIE,
    UNUSED,
    Layout,
    PublishedSet,
)
from truthguard.benchmarks.scores import read_scores
from truthguard.benchmarks.table import UNCATEGORISED, shown
from truthguard.catalogue import BENCHMARKS
from truthguard.errors import DataError, Mistake, nearest
from truthguard.judges.grading_prompts import DEFAULT_RUBRIC
from truthguard.records import GradedResponse, ResponsePair, Rubric

WORDINGS = ("paper", "library")
_PAIR_RUBRIC = "AUTOJ_COARSE_SCORE_RUBRIC"
_LABELS: Mapping[int, Literal["a", "b", "tie"]] = {0: "a", 1: "b", 2: "tie"}

# An item without its id, and the texts that its id is made of.
Drafted = tuple[GradedResponse | ResponsePair, str]


def load(name: str, data: Path, *, prompt: str = "default") -> QuestionSet:
    """One of the sets by its name in the catalogue.

    Pairs that come without a rubric (Auto-J) get ours, or in the published wordings `prompt` upstream's. Raises
    DataError for a missing file, with the ways to get it, and for one of another form, with all mistakes found.
    """
    chosen = SETS[name]
    path = find(data, chosen)
    content = read_content(path)
    file = decode(path, content)
    rubric = DEFAULT_RUBRIC if chosen.layout != "labelled" or prompt == "default" else _published_rubric(data)
    counts: Counter[str] = Counter(unpublished_file=int(not has_digest(content, chosen.digests)))
    drafted = _read(file, chosen, rubric, counts)
    ids, counts["repeated_ids"] = question_ids((content for _, content in drafted), chosen.prefix)
    items = tuple(replace(item, id=item_id) for (item, _), item_id in zip(drafted, ids, strict=True))
    counts += oddities.of_responses([item for item in items if isinstance(item, GradedResponse)])
    counts += oddities.of_pairs([item for item in items if isinstance(item, ResponsePair)])
    return QuestionSet(
        name=name,
        version=None,
        items=items,
        primers={},
        data_sha256=data_digest(items),
        file_sha256=file.sha256,
        counts={"dropped_choices": 0, **{key: count for key, count in sorted(counts.items()) if count}},
        path=path,
        kind=BENCHMARKS[name],
    )


def find(data: Path, chosen: PublishedSet) -> Path:
    """Where the file of a set is. Raises DataError, with the ways to get it, where it is not."""
    return _present(data, f"{chosen.file}.json")


def read_wordings(data: Path) -> Mapping[str, Mapping[str, str]]:
    """The published texts in which judges are asked, by their names upstream: those of the paper and the library.

    Raises DataError where prompts.json is missing or of another form.
    """
    file = read_text(_present(data, PROMPTS_FILE))
    faults = Faults(file.path)
    value = read_json(file)
    wordings: dict[str, Mapping[str, str]] = {}
    for name in WORDINGS:
        texts = dict(value).get(name) if isinstance(value, Pairs) else None
        if not isinstance(texts, Pairs) or not texts:
            faults.fail(f"expected an object of texts as {name!r}; get it again with `truthguard fetch prometheus`")
        wordings[name] = {key: text for key, text in texts if isinstance(text, str)}
        if len(wordings[name]) != len(texts):
            faults.fail(f"expected texts, each named once, in {name!r}")
    return wordings


def _present(data: Path, name: str) -> Path:
    folder = data / FOLDER
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DataError(
        f"no data of the Prometheus sets: looked for {name} (or {name}.gz) in {folder}; get the files with "
        f"`truthguard fetch prometheus`, or name the folder that holds {FOLDER}/ with --truthguard-data or "
        "TRUTHGUARD_DATA"
    )


def _published_rubric(data: Path) -> Rubric:
    path = _present(data, PROMPTS_FILE)
    text = read_wordings(data)["paper"].get(_PAIR_RUBRIC, "")
    try:
        return read_rubric(text)
    except ValueError as error:
        raise DataError([Mistake(f"{_PAIR_RUBRIC}: {error}", path)]) from None


def _read(file: TextFile, chosen: PublishedSet, rubric: Rubric, counts: Counter[str]) -> list[Drafted]:
    faults = Faults(file.path)
    read = _READERS[chosen.layout]
    drafted, unread = [], set[str]()
    rows = list(read_entries(file, faults))
    if rows and all(_ungraded(each) for _, _, each in rows):
        faults.fail("no row has a 'gpt4_score' (Prometheus 1 published MT Bench so): take the file of Prometheus 2")
    for place, line, entry in rows:
        try:
            row = _Row(_fields(entry, chosen), chosen, rubric, counts)
            drafted.append(read(row))
        except ValueError as error:
            faults.add(str(error) if line else f"{place}: {error}", line)
        else:
            unread |= row.fields.keys() - {*chosen.fields, *UNUSED}
    faults.raise_any()
    counts["unread_fields"] += len(unread)
    return drafted


def _ungraded(entry: object) -> bool:
    """Whether this would be a graded response, had it a grade."""
    return isinstance(entry, Pairs) and "instruction" in dict(entry) and "gpt4_score" not in dict(entry)


def _fields(entry: object, chosen: PublishedSet) -> dict[str, object]:
    if not isinstance(entry, Pairs):
        raise ValueError(f"expected an object, found {shown(entry)}")
    fields = dict(entry)
    if len(fields) != len(entry):
        raise ValueError("a field stands there twice")
    for name in chosen.fields:
        if name not in fields:
            raise ValueError(f"no {name!r}{nearest(name, fields)}")
    return fields


@dataclass(frozen=True, slots=True)
class _Row:
    """One row on its way to an item. All methods raise ValueError, in words, for what is not of the set's form."""

    fields: Mapping[str, object]
    chosen: PublishedSet
    rubric: Rubric
    counts: Counter[str]

    def text(self, name: str) -> str:
        """A field that holds a text, as it stands."""
        value = self.fields[name]
        if not isinstance(value, str):
            raise ValueError(f"expected a text as {name!r}, found {shown(value)}")
        if fault := unusable(value):
            raise ValueError(f"{name!r} {fault}")
        return value

    def one_of(self, name: str, allowed: tuple[int, ...]) -> int:
        """A field that holds one of a few whole numbers."""
        value = self.fields[name]
        if type(value) is not int or value not in allowed:
            expected = " or ".join(map(str, allowed))
            raise ValueError(f"expected {expected} as {name!r}, found {shown(value)}")
        return value

    def prompt(self, name: str) -> JudgePrompt:
        """A field that holds a judge prompt."""
        try:
            prompt = read_judge_prompt(self.text(name))
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
        self.counts["trimmed_prompts"] += prompt.had_tail
        self.counts["marked_texts"] += prompt.marked
        return prompt

    def scores(self, name: str) -> tuple[float, ...]:
        """A field that holds one grade or a list of them."""
        try:
            return read_scores(self.fields[name])
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None

    @property
    def category(self) -> str:
        if self.chosen.category is None:
            return UNCATEGORISED
        category = self.text(self.chosen.category).strip()
        if not category:
            raise ValueError(f"{self.chosen.category!r} is empty")
        return category

    def group(self, instruction: str) -> str:
        """What the responses to this row's prompt have in common."""
        if self.chosen.group is None:
            return instruction
        value = self.fields[self.chosen.group]
        if type(value) is not int:
            raise ValueError(f"expected a whole number as {self.chosen.group!r}, found {shown(value)}")
        return f"{self.chosen.group} {value}"

    def content(self, *texts: str) -> str:
        """What the id is made of, told apart by a character that no text may hold."""
        return "\0".join([*texts, *(self.text(name).strip() for name in self.chosen.sources)])


def _graded(row: _Row) -> Drafted:
    prompt = row.prompt("instruction")
    row.counts["empty_references"] += prompt.reference == ""
    item = GradedResponse(
        id="",
        category=row.category,
        group=row.group(prompt.instruction),
        instruction=prompt.instruction,
        response=prompt.response,
        rubric=prompt.rubric,
        scores=row.scores("gpt4_score"),
        reference=prompt.reference or None,
        human_scores=_human_scores(row),
        judge_prompt=prompt.text,
    )
    return item, row.content(prompt.instruction, prompt.response)


def _human_scores(row: _Row) -> tuple[float, ...]:
    """People's grades; none where the set has none, or the row an empty value (counted)."""
    if HUMAN_SCORE not in row.chosen.fields:
        return ()
    if row.fields[HUMAN_SCORE] in (None, []):
        row.counts["missing_human_scores"] += 1
        return ()
    return row.scores(HUMAN_SCORE)


def _chosen(row: _Row) -> Drafted:
    better, worse = row.prompt("chosen_instruction"), row.prompt("rejected_instruction")
    for part in ("instruction", "rubric", "reference"):
        if getattr(better, part) != getattr(worse, part):
            raise ValueError(f"the chosen and the rejected response are not to the same prompt: the {part} differs")
    tie = TIE in row.chosen.fields and row.one_of(TIE, (0, 1)) == 1
    row.counts["unused_references"] += bool(better.reference)
    responses = better.response, worse.response
    pair = _pair(row, better.instruction, responses, "tie" if tie else "a", better.rubric)
    return replace(pair, judge_prompts=(better.text, worse.text)), row.content(pair.instruction, *sorted(responses))


def _labelled(row: _Row) -> Drafted:
    given = [row.text(name) for name in ("prompt", "response 1", "response 2")]
    instruction, first, second = (text.strip() for text in given)
    if not instruction:
        raise ValueError("'prompt' is empty")
    row.counts["stripped_texts"] += given != [instruction, first, second]
    row.counts["default_rubrics"] += row.rubric == DEFAULT_RUBRIC
    winner = _LABELS[row.one_of("label", tuple(_LABELS))]
    pair = _pair(row, instruction, (first, second), winner, row.rubric)
    return pair, row.content(instruction, *sorted(pair.responses))


def _pair(
    row: _Row, instruction: str, responses: tuple[str, str], winner: Literal["a", "b", "tie"], rubric: Rubric
) -> ResponsePair:
    return ResponsePair("", row.category, row.group(instruction), instruction, responses, winner, rubric)


_READERS: Mapping[Layout, Callable[[_Row], Drafted]] = {"graded": _graded, "chosen": _chosen, "labelled": _labelled}
