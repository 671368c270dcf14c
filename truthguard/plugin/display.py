"""Progress while a run is computed: a bar on a terminal, a line every 30 seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tqdm import tqdm

SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_UPDATES = 0.2


class Display:
    """Shows how far one run has got, past pytest's capture. Quiet under -qq and without a terminal reporter."""

    def __init__(self, config: pytest.Config, name: str) -> None:
        self._name = name
        self._reporter = config.pluginmanager.getplugin("terminalreporter")
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._quiet = self._reporter is None or config.get_verbosity() < -1
        self._live = not self._quiet and sys.__stdout__ is not None and self._reporter.isatty
        self._bar: tqdm[Any] | None = None
        self._started = self._shown = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` requests are answered."""
        now = time.monotonic()
        finished = done >= total
        if self._quiet:
            return
        if self._live:
            if self._bar is None or finished or now - self._shown >= SECONDS_BETWEEN_UPDATES:
                self._shown = now
                self._draw(done, total, finished)
        elif now - self._shown >= SECONDS_BETWEEN_LINES:
            self._shown = now
            with self._uncaptured():
                self._reporter.ensure_newline()
                self._reporter.write_line(
                    f"truthguard: {self._name}: {done} of {total} requests, {now - self._started:.0f} s"
                )

    def _draw(self, done: int, total: int, finished: bool) -> None:
        from tqdm import tqdm

        with self._uncaptured():
            bar = self._bar
            if bar is None:
                self._reporter.ensure_newline()
                bar = tqdm(total=total, desc=self._name, unit="req", leave=False, file=sys.stdout, dynamic_ncols=True)
            bar.total = total
            bar.n = done
            bar.refresh()
            if finished:
                bar.close()
            self._bar = None if finished else bar

    @contextmanager
    def _uncaptured(self) -> Iterator[None]:
        if self._capture is None:
            yield
        else:
            with self._capture.global_and_fixture_disabled():
                yield
