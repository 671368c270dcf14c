"""An upstream of our own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.fetch.serving import Upstream
from truthguard.fetch import downloading


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """An empty server on the loopback, asked once: retries would only wait."""
    monkeypatch.setattr(downloading, "RETRIES", 0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
