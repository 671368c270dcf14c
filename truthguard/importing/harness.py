"""What lm-evaluation-harness says of a run in the results file beside its samples: the model, and how it was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from truthguard.benchmarks.files import Faults, Pairs, read_json, read_text
from truthguard.records import Identity

KIND = "lm-eval"
_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<moment>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?")
_SECRET = re.compile(r"(hf_|api_|auth_|access_)?token|.*(api_?key|secret|password|auth|header).*", re.IGNORECASE)
# The names that the harness' own versions have among the results, and ours for them.
_LIBRARIES = {"lm_eval_version": "lm_eval", "transformers_version": "transformers"}


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """A model as the harness named it, what it was started with, and how its prompts were framed.

    `arguments` are the model arguments but for secrets, `measured` is when it started; None where it is not said.
    """

    identity: Identity
    arguments: str = ""
    chat_template: bool = False
    system_prompt: str | None = None
    measured: datetime | None = field(default=None, compare=False)


def run_beside(samples: Path) -> HarnessRun | None:
    """The run that wrote a file of samples, from its results file: both names end in the same moment.

    None where none lies beside it. Raises DataError where it is none, or says that examples stood before the questions.
    """
    named = _SAMPLES.fullmatch(samples.name)
    if named is None:
        return None
    # With --output_path NAME.json the results are NAME_MOMENT.json.
    beside = sorted(samples.parent.glob(f"*_{named['moment']}.json"))
    return _read_results(beside[0], named["task"]) if beside else None


def _read_results(path: Path, task: str) -> HarnessRun:
    faults = Faults(path)
    value = read_json(read_text(path))
    results = dict(value) if isinstance(value, Pairs) else {}
    config = results.get("config")
    name = results.get("model_name")
    if not isinstance(name, str) or not isinstance(config, Pairs):
        faults.fail("no results file of lm-evaluation-harness: expected an object with model_name and config")
    shots = results.get("n-shot")
    if isinstance(shots, Pairs) and dict(shots).get(task):
        examples = f"{dict(shots)[task]} few-shot examples before each question of {task}"
        faults.fail(f"asked with {examples}: expected the task's own primer alone (num_fewshot 0)")
    about = dict(config)
    arguments = _arguments(about.get("model_args"))
    dtype = _text(about.get("model_dtype")).removeprefix("torch.") or arguments.get("dtype", "")
    identity = Identity(
        name=name,
        kind=KIND,
        digest=None,
        device=(_text(about.get("device")) or arguments.get("device", "")).partition(":")[0],
        dtype=dtype.removeprefix("torch."),
        revision=_text(about.get("model_sha")) or _text(about.get("model_revision")) or arguments.get("revision"),
        scorer=KIND,
        libraries={ours: found for theirs, ours in _LIBRARIES.items() if (found := _text(results.get(theirs)))},
    )
    shown = [_text(results.get("model_source")), *(f"{key}={_hidden(key, text)}" for key, text in arguments.items())]
    return HarnessRun(
        identity=identity,
        arguments=", ".join(filter(None, shown)),
        chat_template=bool(results.get("chat_template")),
        system_prompt=_text(results.get("system_instruction")) or None,
        measured=_moment(results.get("date")),
    )


def named_model(name: str) -> HarnessRun:
    """A run of which nothing is known but the model's name."""
    return HarnessRun(Identity(name, KIND, None, device="", dtype="", scorer=KIND))


def _arguments(value: object) -> Mapping[str, str]:
    """The model arguments, which the harness keeps as it was given them: an object, or a text of k=v,k=v."""
    if isinstance(value, Pairs):
        return {key: str(each) for key, each in value}
    pairs = (each.partition("=") for each in _text(value).split(",") if each)
    return {key.strip(): text.strip() for key, _, text in pairs}


def _hidden(key: str, text: str) -> str:
    return "***" if _SECRET.fullmatch(key) else text


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    """Seconds since 1970, as the harness has them; None for what is no moment."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        return None
