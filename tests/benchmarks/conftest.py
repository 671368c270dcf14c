"""A stand-in for the packaged starter questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truthguard.benchmarks import own


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the folder of the packaged starter questions."""
    folder = tmp_path / "packaged"
    folder.mkdir()
    (folder / "starter_primers.json").write_text(
        json.dumps({"primers": {"qa": "Q: Is ice cold?\nA: Ice is cold."}}), "utf-8"
    )
    monkeypatch.setattr(own, "_PACKAGED", folder)
    return folder
