"""Which keys each table of a thresholds file may have, and which values each key.

Strict: no boolean and no text stands for a number, a whole number may stand for a fraction, NaN and infinity
never do. What spans several tables is checked in reading.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from truthguard.catalogue import (
    BENCHMARKS,
    GRADING_KINDS,
    GRADING_PROMPTS,
    JUDGING_KINDS,
    METRICS,
    METRICS_OF,
    OWN_KINDS,
    OWN_PROMPTS,
    PROMPTS,
    TRUTHFUL_JUDGE,
    VERSIONS,
    Metric,
)
from truthguard.errors import nearest
from truthguard.records import BenchmarkKind

# Every metric's scale lies in it: the range for a table whose name is wrong.
WIDEST = (-1.0, 1.0)

NotBlank = Annotated[str, Field(pattern=r"\S")]

_HOURS = {"m": 1 / 60, "h": 1.0, "d": 24.0}
_AGE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([mhd])")
# Ten years: who wants more wants a model that cannot change.
_OLDEST_HOURS = 24.0 * 3653


@dataclass(frozen=True, slots=True)
class Around:
    """What a table's values are checked against: the benchmark, its kind and the metric, as far as they are known."""

    benchmark: str | None = None
    metric: Metric | None = None
    kind: BenchmarkKind | None = None

    @property
    def range(self) -> tuple[float, float]:
        return (self.metric.low, self.metric.high) if self.metric else WIDEST


NOWHERE = Around()


def refuse(message: str) -> NoReturn:
    """A value that breaks a rule of ours; the message is printed behind `key = value`."""
    raise PydanticCustomError("rule", "{message}", {"message": message})


class Table(BaseModel):
    """A table whose keys are all known. The fields that were set are those that the file has."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ModelKeys(Table):
    """How a model is run, the same for the one that is measured and the judge's."""

    device: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = None
    revision: NotBlank | None = None
    adapter: NotBlank | None = None
    scorer: Literal["auto", "packed", "plain"] | None = None
    batch_tokens: Annotated[int, Field(ge=1)] | None = None
    chat_template: bool | None = None
    system_prompt: str | None = None
    api_key_env: str | None = None
    concurrency: Annotated[int, Field(ge=1, le=1024)] | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=86400)] | None = None
    max_requests: Annotated[int, Field(ge=1)] | None = None
    cache_max_age: float | None = None

    @field_validator("device")
    @classmethod
    def _device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda|cuda:[0-9]{1,3}|mps", device):
            refuse("expected auto, cpu, cuda, cuda:N (cuda:0, cuda:1, ...) or mps")
        return device

    @field_validator("api_key_env")
    @classmethod
    def _variable(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name):
            refuse("expected the name of an environment variable, never the key itself")
        return name

    @field_validator("cache_max_age", mode="before")
    @classmethod
    def _hours(cls, age: object) -> object:
        """Hours as a number, or a text with its unit: 90m, 12h, 2d."""
        if isinstance(age, str):
            written = _AGE.fullmatch(age)
            if written is None:
                refuse('expected hours as a number, or a text such as "90m", "12h" or "2d"')
            age = float(written[1]) * _HOURS[written[2]]
        if isinstance(age, int | float) and not isinstance(age, bool) and not 0 <= age <= _OLDEST_HOURS:
            refuse(f"must lie between 0 and {_OLDEST_HOURS / 24:.0f} days")
        return age


class ModelTable(ModelKeys):
    """[model]: which model answers, and how it is run."""

    name: NotBlank | None = None

    @field_validator("name")
    @classmethod
    def _not_scripted(cls, name: str) -> str:
        return _no_code(name, "model")


class JudgeTable(ModelKeys):
    """[judge]: who decides whether an answer is truthful, how often it is asked, and how its model is run."""

    kind: Literal["rubric", "logprob", "similarity"] | None = None
    model: NotBlank | None = None
    samples: Annotated[int, Field(ge=1, le=1000)] | None = None
    runs: Annotated[int, Field(ge=1, le=100)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    measure: Literal["bleu", "rouge1", "rouge2", "rougeL"] | None = None
    requires: dict[str, float] | None = None
    trust: NotBlank | None = None

    @field_validator("requires", mode="before")
    @classmethod
    def _by_name(cls, requires: object) -> object:
        """Written `"truthful_judge.accuracy" = 0.85`; without the quotes it is a table in TOML, which says the same."""
        if not isinstance(requires, dict):
            return requires
        flat: dict[str, Any] = {}
        for name, value in requires.items():
            flat |= {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
        return flat

    @field_validator("requires")
    @classmethod
    def _measurable(cls, requires: dict[str, float]) -> dict[str, float]:
        if wrong := [problem for name, least in requires.items() if (problem := _requirement(name, least))]:
            refuse("; ".join(wrong))
        return requires

    @field_validator("model")
    @classmethod
    def _not_scripted(cls, name: str) -> str:
        return _no_code(name, "judge")


class BenchmarkKeys(Table):
    """The keys of a benchmark's table that are not rows."""

    kind: str | None = None
    path: NotBlank | None = None
    version: str | None = None
    prompt: str | None = None
    normalization: Literal["none", "per_token", "per_byte"] | None = None
    closing_period: bool | None = None
    order: Literal["both", "single"] | None = None
    reference: bool | None = None
    grades: bool | None = None

    @field_validator("kind")
    @classmethod
    def _kind(cls, kind: str, info: ValidationInfo) -> str:
        if kind not in OWN_KINDS:
            refuse("unknown kind" + nearest(kind, OWN_KINDS))
        return _own_only(kind, info)

    @field_validator("path")
    @classmethod
    def _path(cls, path: str, info: ValidationInfo) -> str:
        # The judge of truth is measured on the public labels, or on a team's own.
        return path if _around(info).benchmark == TRUTHFUL_JUDGE else _own_only(path, info)

    @field_validator("version")
    @classmethod
    def _version(cls, version: str, info: ValidationInfo) -> str:
        benchmark = _around(info).benchmark
        valid = VERSIONS.get(benchmark or "", ())
        if benchmark is not None and not valid:
            refuse(f"only {' and '.join(VERSIONS)} has versions, not {benchmark}")
        if valid and version not in valid:
            refuse("unknown version" + nearest(version, valid))
        return version

    @field_validator("prompt")
    @classmethod
    def _prompt(cls, prompt: str, info: ValidationInfo) -> str:
        around = _around(info)
        benchmark = around.benchmark
        usual = GRADING_PROMPTS if around.kind in GRADING_KINDS else OWN_PROMPTS
        valid = PROMPTS["truthfulqa"] if benchmark is None else PROMPTS.get(benchmark, usual)
        if not valid:
            refuse(f"has no effect on {benchmark}: its answers are given, and nothing is asked of a model")
        if prompt not in valid:
            refuse("unknown prompt" + (f" of {benchmark}" if benchmark else "") + nearest(prompt, valid))
        return prompt


class LimitKeys(Table):
    """What a score is held against: the keys that a row, `each` and a category share."""

    min: float | None = None
    max: float | None = None
    max_drop: Annotated[float, Field(ge=0)] | None = None
    block_on: Literal["estimate", "proof", "doubt"] | None = None
    confidence: float | None = None
    max_unscored: Annotated[float, Field(ge=0, le=1)] | None = None
    min_items: Annotated[int, Field(ge=1)] | None = None
    waive_until: date | None = None
    waive_reason: NotBlank | None = None

    @field_validator("min", "max")
    @classmethod
    def _in_range(cls, bar: float, info: ValidationInfo) -> float:
        return _bar(bar, info)

    @field_validator("max")
    @classmethod
    def _above_min(cls, bar: float, info: ValidationInfo) -> float:
        low = info.data.get("min")
        if low is not None and bar < low:
            refuse(f"lies below min = {low}: no score can meet both")
        return bar

    @field_validator("max_drop")
    @classmethod
    def _possible_drop(cls, drop: float, info: ValidationInfo) -> float:
        """No score can drop by more than the metric's range, and of what is better the smaller a drop is good."""
        around = _around(info)
        low, high = around.range
        if around.metric is not None and around.metric.smaller_is_better:
            refuse(f"{around.metric.name} is the better the smaller it is: hold it with max")
        if drop > high - low:
            hint = f"{drop:g} looks like per cent: " if 1 < drop <= 100 else ""
            refuse(f"{hint}no score here can drop by more than {high - low:g}")
        return drop

    @field_validator("confidence")
    @classmethod
    def _confidence(cls, confidence: float) -> float:
        if not 0.5 < confidence < 1:
            hint = f"; {confidence:g} looks like per cent" if 50 < confidence < 100 else ""
            refuse("must lie above 0.5 and below 1" + hint)
        return confidence


class RowKeys(LimitKeys):
    """A row: a benchmark's table of one metric."""

    item_min: float | None = None
    by: Literal["category"] | None = None
    each: LimitKeys | None = None
    categories: dict[str, LimitKeys] | None = None

    @field_validator("item_min")
    @classmethod
    def _item_in_range(cls, bar: float, info: ValidationInfo) -> float:
        return _bar(bar, info)


def _around(info: ValidationInfo) -> Around:
    return info.context if isinstance(info.context, Around) else NOWHERE


def _no_code(name: str, role: Literal["model", "judge"]) -> str:
    if name.startswith("scripted:"):
        refuse(
            "would run code that the file names; give it on the command line"
            f" (--truthguard-{role}) or in TRUTHGUARD_{role.upper()}"
        )
    return name


def _requirement(name: str, least: float) -> str | None:
    """Why no trust record could hold this, or why every judge would meet it or none."""
    sets = {benchmark: METRICS_OF[kind] for benchmark, kind in BENCHMARKS.items() if kind in JUDGING_KINDS}
    benchmark, _, metric = name.rpartition(".")
    # A team's own set has a name that only its own file knows; its metrics are those of the protocol.
    known = sets.get(benchmark, () if benchmark in BENCHMARKS else METRICS_OF["judge_starter"])
    if not benchmark or metric not in known:
        valid = [f"{each}.{metric}" for each, metrics in sets.items() for metric in metrics]
        return f"unknown requirement {name[:60]!r}{nearest(name[:60], valid)}"
    spec = METRICS[metric]
    if spec.smaller_is_better:
        return f"{name!r} is the better the smaller it is, and a requirement is what must be reached at least"
    if not spec.low <= least <= spec.high:
        return f"{name!r} = {least:g} lies outside the range of {metric}: scores run from {spec.low:g} to {spec.high:g}"
    return None


def _own_only(value: str, info: ValidationInfo) -> str:
    benchmark = _around(info).benchmark
    if benchmark in BENCHMARKS:
        refuse(f"is for files of your own questions; {benchmark} is built in")
    return value


def _bar(bar: float, info: ValidationInfo) -> float:
    """A bar that no score could miss, or none could meet, is a slip of the pen."""
    around = _around(info)
    low, high = around.range
    if low <= bar <= high:
        return bar
    scale = f"scores here run from {low:g} to {high:g}"
    if 1 < abs(bar) <= 100:
        refuse(f"{bar:g} looks like per cent: {scale}")
    whose = f"the range of {around.metric.name}" if around.metric else "the range of every metric"
    refuse(f"lies outside {whose}: {scale}")
