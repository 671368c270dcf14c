"""The pytest plugin. Each hook is a few lines: what it does lives in the modules beside it.

A project that has truthguard installed and does not use it pays for this module and `options`: pytest and the
standard library.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from truthguard.plugin.options import add_options

if TYPE_CHECKING:
    from truthguard.plugin.fixture import Truthguard
    from truthguard.plugin.items import ThresholdsFile


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    from truthguard.plugin.state import STATE, State

    config.addinivalue_line("markers", "truthguard: a row of a thresholds file (select with -m truthguard)")
    state = config.stash[STATE] = State(config)
    if config.getoption("truthguard_dry_run") or os.environ.get("TRUTHGUARD_DRY_RUN"):
        from truthguard.plugin.dry_run import DryRun

        config.pluginmanager.register(DryRun(state), "truthguard-dry-run")
    if config.getoption("truthguard"):
        path = str(config.rootpath / "thresholds.toml")
        if path not in config.args:
            config.args.append(path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Find every mistake before anything is collected: a UsageError here exits with 4."""
    if not any(".toml" in str(argument) for argument in session.config.args):
        return
    from truthguard.plugin.collecting import named_files, prepare

    if paths := named_files(session.config):
        prepare(session.config, paths)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ThresholdsFile | None:
    from truthguard.plugin.state import STATE

    if file_path.suffix != ".toml" or not parent.config.stash[STATE].plans:
        return None
    from truthguard.plugin.collecting import collect

    return collect(file_path, parent)


def pytest_collection_finish(session: pytest.Session) -> None:
    from truthguard.plugin.state import STATE

    if session.config.stash[STATE].plans:
        from truthguard.plugin.collecting import check_model

        check_model(session)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    from truthguard.plugin.state import STATE

    if config.stash[STATE].file_named:
        return
    for name in ("json", "html", "markdown", "update-thresholds", "baseline", "save-baseline"):
        if config.getoption(f"truthguard_{name.replace('-', '_')}"):
            terminalreporter.write_line(
                f"truthguard: --truthguard-{name} did nothing: it is about the rows of a thresholds file, and no"
                " thresholds file was named",
                yellow=True,
            )


def pytest_unconfigure(config: pytest.Config) -> None:
    from truthguard.plugin.state import STATE

    if state := config.stash.get(STATE, None):
        state.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the session keeps its runs."""
    from truthguard.plugin.state import STATE, WORKER_KEY

    node.workerinput[WORKER_KEY] = node.config.stash[STATE].folder.name


@pytest.fixture(scope="session")
def truthguard(request: pytest.FixtureRequest) -> Truthguard:
    """Scores of the configured model: `truthguard.score(...)` and `truthguard.check(..., min=0.3)`."""
    from truthguard.plugin.fixture import Truthguard
    from truthguard.plugin.state import STATE

    return Truthguard(request.config.stash[STATE])
