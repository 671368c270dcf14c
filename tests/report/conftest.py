"""A real browser for the pages, and what was made of them once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The system's Chromium, driven by Playwright."""
    # The root's conftest module: this one bears its name.
    root = request.config.pluginmanager.get_plugin(str(request.config.rootpath / "conftest.py"))
    assert root is not None
    absent = root.absent
    if find_spec("playwright") is None:
        absent("playwright is not installed", "pip install playwright")
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(which, BROWSERS)), None)
    if found is None:
        absent("no Chromium on the path", "apt-get install chromium, or what your system calls it")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages are kept: the folder that TRUTHGUARD_SCREENSHOTS names, else a temporary one."""
    named = os.environ.get("TRUTHGUARD_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
