"""lm-evaluation-harness' logged samples, as `--log_samples` leaves them: one JSON object a line, one question each.

What is read of a line: `doc` (the question with its mc1_targets and mc2_targets, each of choices and labels),
`arguments` (for each choice that was asked its prompt and its continuation), `filtered_resps` (for each of them the
log-likelihood, written as text, and whether it was the greedy one) and `filter`. A line names neither its task nor
its model: which of the two sets of choices was asked is seen from the continuations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from truthguard.benchmarks.files import BadJSON, Faults, Pairs, TextFile, parse_json, read_lines, read_text
from truthguard.text import visible

TASKS = ("truthfulqa_mc1", "truthfulqa_mc2")
TARGETS = ("mc1_targets", "mc2_targets")
FILTER = "none"
# Between prompt and choice: the harness' own blank, or nothing where a chat template ends the prompt.
_DELIMITERS = (" ", "")
_KEYS = ("doc", "arguments", "filtered_resps", "filter")
_EXPECTED = f"expected samples of {' or '.join(TASKS)}, as lm_eval --log_samples writes them"
# A log-probability may be above 0 by rounding alone.
_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One question with the log-likelihood of each choice that was asked of it.

    `single` and `choices` are the labelled answers of mc1_targets and mc2_targets; what was asked is one of the two.
    `delimiter` stood between `prompt` and each choice.
    """

    path: Path
    line: int
    question: str
    single: Mapping[str, bool]
    choices: Mapping[str, bool]
    prompt: str = field(repr=False)
    delimiter: str
    log_likelihoods: Mapping[str, float]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The samples of one file in file order, and how many lines are of each filter other than `none`."""

    path: Path
    samples: tuple[LoggedSample, ...]
    other_filters: Mapping[str, int]


def read_samples(path: Path) -> SampleFile:
    """The samples of one file (gunzipped when its name ends in .gz).

    Raises DataError, with file and line, for a file that holds no samples of the two tasks, or damaged ones.
    """
    file, faults = read_text(path), Faults(path)
    _check_first(file, faults)
    samples, other_filters = [], Counter[str]()
    for line, value in read_lines(file, faults):
        try:
            entry = _fields("a sample", value, _KEYS)
            if entry["filter"] == FILTER:
                samples.append(_sample(path, line, entry))
            else:
                other_filters[str(entry["filter"])] += 1
        except ValueError as error:
            faults.add(str(error), line)
    if not samples and not faults:
        faults.add(f"no sample of the filter {FILTER!r}, only of: {visible(', '.join(other_filters))}")
    faults.raise_any()
    return SampleFile(path, tuple(samples), dict(other_filters))


def _check_first(file: TextFile, faults: Faults) -> None:
    """Refuse at once what is no file of samples, or of another task: else each of its lines would be a fault."""
    first = next((text for text in file.text.split("\n") if text.strip()), None)
    if first is None:
        faults.fail(f"an empty file; {_EXPECTED}")
    try:
        value = parse_json(first)
    except BadJSON as error:
        faults.fail(f"no file of samples, its first line is {error}; {_EXPECTED}")
    try:
        _fields("the doc", _fields("the first line", value, _KEYS)["doc"], ("question", *TARGETS))
    except ValueError as error:
        faults.fail(f"{error}; {_EXPECTED}")


def _sample(path: Path, line: int, entry: Mapping[str, object]) -> LoggedSample:
    """One line. Raises ValueError, in words, where it is not of the form."""
    doc = _fields("the doc", entry["doc"], ("question", *TARGETS))
    single, choices = (_targets(name, doc[name]) for name in TARGETS)
    prompt, continuations = _asked(entry["arguments"])
    delimiter, asked = _choices_asked(continuations, single, choices)
    responses = entry["filtered_resps"]
    if not isinstance(responses, list) or len(responses) != len(asked):
        found = f"{len(responses)} responses" if isinstance(responses, list) else repr(responses)
        raise ValueError(f"filtered_resps: expected {len(asked)} responses, one for each choice asked, found {found}")
    numbers = [_log_likelihood(number, response) for number, response in enumerate(responses, start=1)]
    return LoggedSample(
        path=path,
        line=line,
        question=_text("question", doc["question"]),
        single=single,
        choices=choices,
        prompt=prompt,
        delimiter=delimiter,
        log_likelihoods=dict(zip(asked, numbers, strict=True)),
    )


def _targets(name: str, value: object) -> dict[str, bool]:
    """The labelled answers of one set, in file order."""
    fields = _fields(name, value, ("choices", "labels"))
    texts, labels = fields["choices"], fields["labels"]
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
        raise ValueError(f"{name}: expected a list of choices and as many labels")
    if wrong := [label for label in labels if type(label) is not int or label not in (0, 1)]:
        raise ValueError(f"{name}: the label {wrong[0]!r}, expected 0 or 1")
    found = {_text(name, text): label == 1 for text, label in zip(texts, labels, strict=True)}
    if len(found) != len(texts):
        repeated = next(text for text, number in Counter(map(str, texts)).items() if number > 1)
        raise ValueError(f"{name}: the choice {repeated!r} stands there twice")
    return found


def _asked(value: object) -> tuple[str, list[str]]:
    """The prompt of all choices and the continuation of each."""
    arguments = _fields("arguments", value, ())
    prompts, continuations = set(), []
    for number in range(len(arguments)):
        name = f"gen_args_{number}"
        one = _fields(f"arguments: {name}", _fields("arguments", value, (name,))[name], ("arg_0", "arg_1"))
        prompts.add(_text(name, one["arg_0"]))
        continuations.append(_text(name, one["arg_1"]))
    if len(prompts) != 1:
        raise ValueError(f"arguments: expected one prompt for all choices, found {len(prompts)}")
    return prompts.pop(), continuations


def _choices_asked(
    continuations: Sequence[str], single: Mapping[str, bool], choices: Mapping[str, bool]
) -> tuple[str, list[str]]:
    """What stood before each choice, and the choices: those of one of the two sets, in its order."""
    for asked in (list(choices), list(single)):
        for delimiter in _DELIMITERS:
            if continuations == [delimiter + choice for choice in asked]:
                return delimiter, asked
    raise ValueError(
        f"arguments: the {len(continuations)} choices that were asked are neither the {len(single)} of mc1_targets"
        f" nor the {len(choices)} of mc2_targets"
    )


def _log_likelihood(number: int, response: object) -> float:
    """The number of one response: a pair of the log-likelihood and whether the choice is the greedy continuation."""
    if not isinstance(response, list) or len(response) != 2:
        raise ValueError(f"response {number}: expected a log-likelihood and True or False, found {response!r}")
    given = response[0]
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(f"response {number}: expected a log-likelihood, found {given!r}")
    try:
        found = float(given)
    except (ValueError, OverflowError):
        raise ValueError(f"response {number}: expected a log-likelihood, found {given!r}") from None
    if _SLACK < found < float("inf"):
        raise ValueError(f"response {number}: {found!r} is no log-likelihood: above 0")
    return found


def _fields(what: str, value: object, keys: Sequence[str]) -> dict[str, object]:
    """A JSON object that has these keys, among others. Raises ValueError."""
    if not isinstance(value, Pairs):
        raise ValueError(f"{what}: expected an object, found {type(value).__name__}")
    found = dict(value)
    for key in keys:
        if key not in found:
            raise ValueError(f"{what}: no {key!r} among its keys ({', '.join(_shown(found))})")
    return found


def _shown(keys: Mapping[str, object], most: int = 12) -> Iterator[str]:
    yield from (visible(key, 40) for key in list(keys)[:most])
    if len(keys) > most:
        yield "..."


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what}: expected a text, found {value!r}")
    return value
