"""Progress under xdist: workers leave notes in the session's folder, the controller shows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from truthguard.plugin.display import Display
from truthguard.store.session import SessionStore

SECONDS_BETWEEN_NOTES = 0.5


def note_taker(store: SessionStore, key: str, benchmark: str) -> Callable[[int, int], None]:
    """A callback that leaves a note at most twice a second, and at the end."""
    note = store.progress(key)
    written = 0.0

    def take(done: int, total: int) -> None:
        nonlocal written
        now = time.monotonic()
        if done >= total or now - written >= SECONDS_BETWEEN_NOTES:
            written = now
            note.write(done, total, benchmark)

    return take


class Watcher:
    """Reads the workers' notes in a thread of its own while the controller waits for them."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._store = SessionStore(folder)
        self._finished: set[str] = set()
        self._displays: dict[str, Display] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="truthguard-progress", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(SECONDS_BETWEEN_NOTES):
            for progress in self._store.read_progress():
                if progress.key in self._finished:
                    continue
                display = self._displays.get(progress.key)
                if display is None:
                    display = self._displays[progress.key] = Display(self._config, progress.text)
                display(progress.done, progress.total)
                if progress.done >= progress.total:
                    self._finished.add(progress.key)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Nothing is measured any more."""
        self._stop.set()
        self._thread.join()
