"""The project that pytester runs the plugin in."""

from __future__ import annotations

import pytest

from tests.plugin.projects import GATE, MODEL, write_questions


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with `faq.jsonl`, `thresholds.toml` (one row: mc1 at least 0.5) and `model.py`."""
    write_questions(pytester.path)
    (pytester.path / "model.py").write_text(MODEL, encoding="utf-8")
    (pytester.path / "thresholds.toml").write_text(GATE, encoding="utf-8")
    return pytester
