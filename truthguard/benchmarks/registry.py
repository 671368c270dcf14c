"""Which items a benchmark's settings name, and where their files are."""

from __future__ import annotations

import os
from pathlib import Path

from truthguard.benchmarks import injection, own, responses, truthfulqa
from truthguard.benchmarks.base import QuestionSet
from truthguard.catalogue import BENCHMARKS, DEFAULT_VERSION, OWN_PROMPTS, PROMPTS, VERSIONS
from truthguard.errors import DataError, Mistake, UsageError, nearest
from truthguard.records import BenchmarkSettings


def default_data() -> Path:
    """The folder of the benchmark files when nobody named one: in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("truthguard") / "data"


def load(settings: BenchmarkSettings, *, data: Path | None, base: Path) -> QuestionSet:
    """The items that `settings` name: questions, a prompts file, or the self-test of the judge.

    `data` is the folder of the benchmark files (default: the user's cache), `base` the one that a relative
    `path` of an own file starts from. Raises UsageError for settings that fit no set, DataError for files.
    """
    _check(settings)
    if settings.name == truthfulqa.FOLDER:
        version = settings.version or DEFAULT_VERSION[settings.name]
        folder = default_data() if data is None else data
        return truthfulqa.load(folder, version, closing_period=settings.closing_period)
    if settings.name == own.STARTER:
        return own.load_starter(closing_period=settings.closing_period)
    if settings.name == injection.NAME:
        return injection.load()
    path = base / Path(settings.path or "").expanduser()
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise DataError([Mistake(f"{what}: the path of [{settings.name}]", path)])
    if settings.kind == "correctness":
        return responses.load(path, settings.name)
    return own.load(path, settings.name, closing_period=settings.closing_period)


def _check(settings: BenchmarkSettings) -> None:
    name = settings.name
    if name in BENCHMARKS and settings.kind != "questions":
        raise UsageError(f"[{name}] is a set of its own kind: kind is for other names")
    if name in BENCHMARKS and settings.path is not None:
        raise UsageError(f"[{name}] has its own items: path is for other names")
    if name not in BENCHMARKS and not settings.path:
        raise UsageError(f"unknown benchmark {name!r}{nearest(name, BENCHMARKS)} (own questions need a path)")
    versions = VERSIONS.get(name, ())
    if settings.version is not None and settings.version not in versions:
        known = f"expected one of: {', '.join(versions)}" if versions else "these questions have no versions"
        raise UsageError(f"[{name}] version {settings.version!r}; {known}")
    if settings.kind == "correctness" or name == injection.NAME:
        _check_unworded(settings)
        return
    prompts = PROMPTS.get(name, OWN_PROMPTS)
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
