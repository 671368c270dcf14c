"""Which items a benchmark's settings name, and where their files are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from truthguard.benchmarks import injection, judge_starter, labels, own, own_judging, prometheus, responses, truthfulqa
from truthguard.benchmarks.base import QuestionSet
from truthguard.catalogue import (
    BENCHMARKS,
    DEFAULT_VERSION,
    GRADING_KINDS,
    GRADING_PROMPTS,
    JUDGE_STARTER,
    OWN_PROMPTS,
    PROMPTS,
    TRUTHFUL_JUDGE,
    VERSIONS,
    kind_of,
)
from truthguard.errors import DataError, Mistake, UsageError, nearest
from truthguard.records import BenchmarkSettings


def default_data() -> Path:
    """The folder of the benchmark files when nobody named one: in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("truthguard") / "data"


def load(settings: BenchmarkSettings, *, data: Path | None, base: Path) -> QuestionSet:
    """The items that `settings` name: questions, a prompts file, or what a judge is measured on.

    `data` is the folder of the benchmark files (default: the user's cache), `base` the one that a relative
    `path` of an own file starts from. Raises UsageError for settings that fit no set, DataError for files.
    """
    _check(settings)
    folder = default_data() if data is None else data
    if settings.name == truthfulqa.FOLDER:
        version = settings.version or DEFAULT_VERSION[settings.name]
        return truthfulqa.load(folder, version, closing_period=settings.closing_period)
    if settings.name == own.STARTER:
        return own.load_starter(closing_period=settings.closing_period)
    if settings.name == injection.NAME:
        return injection.load()
    if settings.name == TRUTHFUL_JUDGE:
        return labels.load(folder, None if settings.path is None else _own_file(settings, base))
    if kind_of(settings) in GRADING_KINDS:
        return _worded(_for_a_judge(settings, folder, base), settings, folder)
    path = _own_file(settings, base)
    if settings.kind == "correctness":
        return responses.load(path, settings.name)
    return own.load(path, settings.name, closing_period=settings.closing_period)


def _for_a_judge(settings: BenchmarkSettings, data: Path, base: Path) -> QuestionSet:
    """Responses and pairs that a judge grades and chooses between."""
    if settings.name == JUDGE_STARTER:
        return judge_starter.load()
    if settings.name in BENCHMARKS:
        return prometheus.load(settings.name, data, prompt=settings.prompt)
    read = own_judging.load_direct if settings.kind == "direct" else own_judging.load_pairwise
    return read(_own_file(settings, base), settings.name)


def _worded(items: QuestionSet, settings: BenchmarkSettings, data: Path) -> QuestionSet:
    """The set with the published words in which its judge is asked; ours ship with the judges."""
    if settings.prompt == GRADING_PROMPTS[0]:
        return items
    return replace(items, primers=prometheus.read_wordings(data)[settings.prompt])


def _own_file(settings: BenchmarkSettings, base: Path) -> Path:
    path = base / Path(settings.path or "").expanduser()
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise DataError([Mistake(f"{what}: the path of [{settings.name}]", path)])
    return path


def _check(settings: BenchmarkSettings) -> None:
    name = settings.name
    if name in BENCHMARKS and settings.kind != "questions":
        raise UsageError(f"[{name}] is a set of its own kind: kind is for other names")
    if name in BENCHMARKS and settings.path is not None and name != TRUTHFUL_JUDGE:
        raise UsageError(f"[{name}] has its own items: path is for other names")
    if name not in BENCHMARKS and not settings.path:
        raise UsageError(f"unknown benchmark {name!r}{nearest(name, BENCHMARKS)} (own questions need a path)")
    versions = VERSIONS.get(name, ())
    if settings.version is not None and settings.version not in versions:
        known = f"expected one of: {', '.join(versions)}" if versions else "these questions have no versions"
        raise UsageError(f"[{name}] version {settings.version!r}; {known}")
    if settings.kind == "correctness" or name in (injection.NAME, TRUTHFUL_JUDGE):
        _check_unworded(settings)
        return
    prompts = PROMPTS.get(name, GRADING_PROMPTS if kind_of(settings) in GRADING_KINDS else OWN_PROMPTS)
    if settings.prompt not in prompts:
        raise UsageError(f"[{name}] prompt {settings.prompt!r}{nearest(settings.prompt, prompts)}")


def _check_unworded(settings: BenchmarkSettings) -> None:
    """Refuse what is about the words of questions and their choices where there are none."""
    default = BenchmarkSettings(settings.name)
    for key in ("prompt", "normalization", "closing_period"):
        if getattr(settings, key) != getattr(default, key):
            raise UsageError(
                f"[{settings.name}] {key} has no effect on prompts that are given as they are: leave it out"
            )
