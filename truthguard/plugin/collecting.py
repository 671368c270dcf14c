"""Which thresholds files are collected, and the checks that come before anything loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from truthguard.errors import UsageError
from truthguard.plugin.state import STATE, State

if TYPE_CHECKING:
    from truthguard.plan import Plan
    from truthguard.plugin.items import ThresholdsFile


def named_files(config: pytest.Config) -> list[Path]:
    """The TOML files that were named on the command line or in testpaths: nothing else is ever collected."""
    here = config.invocation_params.dir
    paths = (here / arg.partition("::")[0] for arg in map(str, config.args))
    return list(dict.fromkeys(path.resolve() for path in paths if path.suffix == ".toml" and path.is_file()))


def prepare(config: pytest.Config, paths: Sequence[Path]) -> None:
    """Read every named file; raises pytest.UsageError with the mistakes of all of them."""
    from truthguard.plugin.results import Results

    state = config.stash[STATE]
    problems = []
    for path in paths:
        try:
            state.prepare(path)
        except UsageError as error:
            problems.append(str(error))
    problems += _outputs(state)
    if not problems and config.pluginmanager.hasplugin("dsession") and not config.option.collectonly:
        # Under xdist this process collects nothing: what its workers would say of the model must be said here.
        problems += _models(list(state.plans.values()))
    if problems:
        raise pytest.UsageError("\n".join(dict.fromkeys(problems)))
    config.pluginmanager.register(Results(state), "truthguard-results")
    if config.pluginmanager.hasplugin("dsession"):
        from truthguard.plugin.workers import Watcher

        config.pluginmanager.register(Watcher(config, state.folder), "truthguard-watcher")


def _outputs(state: State) -> list[str]:
    """An output that cannot be written is found before the work, not after it."""
    try:
        path = state.options.get("json")
    except UsageError:
        return []  # said already, by the first file that was read
    if path is None:
        return []
    if path.is_dir():
        return [f"--truthguard-json {path}: this is a folder; name a file"]
    if not path.absolute().parent.is_dir():
        return [f"--truthguard-json {path}: the folder {path.absolute().parent} does not exist"]
    return []


def collect(path: Path, parent: pytest.Collector) -> ThresholdsFile | None:
    """The collector of a file that was prepared; None for any other TOML file."""
    from truthguard.plugin.items import ThresholdsFile

    plan = parent.config.stash[STATE].plans.get(path.resolve())
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

    plans = {id(item.plan): item.plan for item in session.items if isinstance(item, GateRow)}
    if problems := _models(list(plans.values())):
        raise pytest.UsageError("\n".join(dict.fromkeys(problems)))


def _models(plans: Sequence[Plan]) -> list[str]:
    """What keeps each plan's model from being asked, as far as it can be seen without loading it."""
    from truthguard.backends.loading import missing_extra
    from truthguard.plugin.measuring import NO_MODEL

    problems = []
    for plan in plans:
        try:
            problem = NO_MODEL if plan.model is None else missing_extra(plan.model)
        except UsageError as error:
            problem = str(error)
        if problem:
            problems.append(f"{plan.path}: {problem}")
    return problems
