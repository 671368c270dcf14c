"""Which thresholds files are collected, and the checks that come before anything loads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from truthguard.errors import UsageError
from truthguard.plugin.state import STATE, State
from truthguard.store.outputs import named_twice, unwritable

if TYPE_CHECKING:
    from truthguard.plan import Plan
    from truthguard.plugin.items import ThresholdsFile
    from truthguard.records import ModelSettings, Row

# The options that name a file to write.
_FILES = ("json", "save-trust", "save-baseline", "html", "markdown")


def named_files(config: pytest.Config) -> list[Path]:
    """The TOML files that were named on the command line or in testpaths: nothing else is ever collected.

    A link stays what it is: relative paths in the file start from where the user sees it.
    """
    here = config.invocation_params.dir
    paths = (here / arg.partition("::")[0] for arg in map(str, config.args))
    return list(dict.fromkeys(_as_pytest(path) for path in paths if path.suffix == ".toml" and os.path.isfile(path)))


def _as_pytest(path: Path) -> Path:
    """The path as a collector has it: absolute, with links left in place."""
    return Path(os.path.abspath(path))


def prepare(config: pytest.Config, paths: Sequence[Path]) -> None:
    """Read every named file; raises pytest.UsageError with the mistakes of all of them."""
    from truthguard.plugin.results import Results

    state = config.stash[STATE]
    state.file_named = True
    problems = []
    for path in paths:
        try:
            if not state.prepare(path).rows:
                problems.append(f"{path}: no row: expected at least one table [BENCHMARK.METRIC], as in [starter.mc1]")
        except UsageError as error:
            problems.append(str(error))
    try:
        state.baselines  # noqa: B018 - read here, before anything loads
    except UsageError as error:
        problems.append(str(error))
    if not problems:
        problems += _outputs(state)
    if not problems and config.pluginmanager.hasplugin("dsession") and _takes_all(config):
        # Under xdist this process collects nothing: what its workers would say of the model must be said here.
        problems += _models(state, [(plan, plan.rows) for plan in state.plans.values()])
    if problems:
        raise pytest.UsageError("\n".join(dict.fromkeys(problems)))
    config.pluginmanager.register(Results(state), "truthguard-results")
    if config.pluginmanager.hasplugin("dsession"):
        from truthguard.plugin.workers import Watcher

        config.pluginmanager.register(Watcher(config, state.folder), "truthguard-watcher")


def _takes_all(config: pytest.Config) -> bool:
    """Whether every row will run: a selection may leave none that needs a model."""
    option = config.option
    narrowed = (option.keyword, option.markexpr, option.deselect, getattr(option, "lf", False))
    return not option.collectonly and not any(narrowed)


def _outputs(state: State) -> Iterator[str]:
    """What would be written where it cannot be: found before the work, not after it."""
    named = [(f"--truthguard-{name}", path) for name in _FILES if (path := state.options.get(name)) is not None]
    for option, path in named:
        if problem := _unwritable(path, state):
            yield f"{option} {path}: {problem}"
        elif option == "--truthguard-save-trust" and os.path.isfile(path):
            yield from _no_trust_file(path)
        elif option == "--truthguard-html":
            yield from _no_html(option)
    yield from named_twice(named)
    for path in state.originals:
        if not os.access(path, os.W_OK) or not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
            yield f"--truthguard-update-thresholds: {path}: no permission to write there"
    cache = None if state.dry_run else state.cache_folder()
    if cache is not None and (problem := _unusable_folder(cache)):
        yield f"--truthguard-cache {cache}: {problem}; name another folder, or keep no answers: --truthguard-cache off"


def _unwritable(path: Path, state: State) -> str | None:
    """Why a file cannot be written there, or must not be."""
    if problem := unwritable(path):
        return problem
    if any(os.path.exists(path) and os.path.samefile(path, other) for other in state.plans):
        return "this is the thresholds file itself; name another file"
    return None


def _no_html(option: str) -> Iterator[str]:
    """What a page is made with is an extra."""
    from truthguard.report.html import missing_extra

    if missing := missing_extra():
        yield f"{option}: {missing}"


def _no_trust_file(path: Path) -> Iterator[str]:
    """A trust file keeps what its older self says: something else in its place is no file to write over."""
    from truthguard.store.trust import read_trust

    try:
        read_trust(path)
    except UsageError as error:
        yield f"--truthguard-save-trust: {error}; name another file, or remove this one"


def _unusable_folder(folder: Path) -> str | None:
    if os.path.exists(folder):
        if not os.path.isdir(folder):
            return "this is no folder"
        return None if os.access(folder, os.W_OK | os.X_OK) else "no permission to write there"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        return f"it cannot be made ({error.strerror})"
    return None


def collect(path: Path, parent: pytest.Collector) -> ThresholdsFile | None:
    """The collector of a file that was prepared; None for any other TOML file."""
    from truthguard.plugin.items import ThresholdsFile

    plan = parent.config.stash[STATE].plans.get(_as_pytest(path))
    if plan is None:
        return None
    file: ThresholdsFile = ThresholdsFile.from_parent(parent, path=path)
    file.plan = plan
    return file


def check_model(session: pytest.Session) -> None:
    """A file without a model is valid until something must be scored; a model needs its extra installed."""
    if session.config.option.collectonly:
        return
    from truthguard.plugin.items import GateRow

    asked: dict[int, tuple[Plan, list[Row]]] = {}
    for item in session.items:
        if isinstance(item, GateRow):
            asked.setdefault(id(item.plan), (item.plan, []))[1].append(item.row)
    if problems := _models(session.config.stash[STATE], asked.values()):
        raise pytest.UsageError("\n".join(dict.fromkeys(problems)))


def _models(state: State, asked: Iterable[tuple[Plan, Iterable[Row]]]) -> list[str]:
    """What keeps the models of these rows from being asked, as far as it can be seen without loading them."""
    from truthguard.catalogue import metric_of
    from truthguard.plugin.measuring import models

    problems = []
    for plan, rows in asked:
        metrics: dict[str, set[str]] = {}
        for row in rows:
            metrics.setdefault(row.benchmark, set()).add(metric_of(row.metric).name)
        for benchmark, names in metrics.items():
            try:
                named = [each for each in models(plan, benchmark, names) if each is not None]
            except UsageError as error:
                problems.append(f"{plan.path}: {error}")
                continue
            found = [misnamed(each) if state.dry_run else _obstacle(each, state.scripted) for each in named]
            problems += [f"{plan.path}: {problem}" for problem in found if problem]
    return problems


def misnamed(settings: ModelSettings) -> str | None:
    """Why no server can have this address. A dry run may estimate for a model that another machine has."""
    from truthguard.backends.openai import api_identity
    from truthguard.backends.openai_keys import is_api

    try:
        if is_api(settings.name):
            api_identity(settings)
    except UsageError as error:
        return str(error)
    return None


def _obstacle(settings: ModelSettings, scripted: frozenset[str]) -> str | None:
    """Why a model cannot be loaded here; None where nothing is in sight."""
    from truthguard.backends.loading import device_class, missing_extra
    from truthguard.backends.openai_keys import is_api
    from truthguard.backends.sources import find_source

    try:
        if is_api(settings.name):
            return missing_extra(settings)
        find_source(settings, allow_scripted=settings.name in scripted)
        if problem := missing_extra(settings):
            return problem
        if settings.device != "auto":
            device_class(settings.device)
    except UsageError as error:
        return str(error)
    return None
