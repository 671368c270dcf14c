"""Which questions a benchmark's settings name, and where its files are."""

from __future__ import annotations

import os
from pathlib import Path

from truthguard.benchmarks import own, truthfulqa
from truthguard.benchmarks.base import QuestionSet
from truthguard.catalogue import BENCHMARKS, DEFAULT_VERSION, OWN_PROMPTS, PROMPTS, VERSIONS
from truthguard.errors import DataError, Mistake, UsageError, nearest
from truthguard.records import BenchmarkSettings


def default_data() -> Path:
    """The folder of the benchmark files when nobody named one: in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("truthguard") / "data"


def load(settings: BenchmarkSettings, *, data: Path | None, base: Path) -> QuestionSet:
    """The questions that `settings` name.

    `data` is the folder of the benchmark files (default: the user's cache), `base` the one that a relative
    `path` of own questions starts from. Raises UsageError for settings that fit no set, DataError for files.
    """
    _check(settings)
    if settings.name == truthfulqa.FOLDER:
        version = settings.version or DEFAULT_VERSION[settings.name]
        folder = default_data() if data is None else data
        return truthfulqa.load(folder, version, closing_period=settings.closing_period)
    if settings.name == own.STARTER:
        return own.load_starter(closing_period=settings.closing_period)
    path = base / Path(settings.path or "").expanduser()
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no such file"
        raise DataError([Mistake(f"{what}: the path of [{settings.name}]", path)])
    return own.load(path, settings.name, closing_period=settings.closing_period)


def _check(settings: BenchmarkSettings) -> None:
    name = settings.name
    if name in BENCHMARKS and settings.path is not None:
        raise UsageError(f"[{name}] has its own questions: path is for other names")
    if name not in BENCHMARKS and not settings.path:
        raise UsageError(f"unknown benchmark {name!r}{nearest(name, BENCHMARKS)} (own questions need a path)")
    versions = VERSIONS.get(name, ())
    if settings.version is not None and settings.version not in versions:
        known = f"expected one of: {', '.join(versions)}" if versions else "these questions have no versions"
        raise UsageError(f"[{name}] version {settings.version!r}; {known}")
    prompts = PROMPTS.get(name, OWN_PROMPTS)
    if settings.prompt not in prompts:
        raise UsageError(f"[{name}] prompt {settings.prompt!r}{nearest(settings.prompt, prompts)}")
