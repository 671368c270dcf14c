"""A rerun whose answers are all kept loads no model, and none of the libraries that could."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.projects import gate, requests, run
from truthguard.backends.loading import identify
from truthguard.backends.scripted import ScriptedBackend
from truthguard.plugin import measuring
from truthguard.records import ModelSettings

ROWS = "".join(f"[faq.{name}]\nmin = 0\n" for name in ("mc1", "mc2", "mc2_mass", "mc3"))
HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "gguf", "accelerate", "huggingface_hub", "openai")
PROBE = f"""
import sys


def pytest_unconfigure():
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    print("LOADED", len(loaded), *loaded)
"""


def checkpoint(folder: Path) -> str:
    """A model of this machine from outside; nothing could load it."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text("no weights")
    return str(folder)


def test_a_cached_rerun_imports_nothing_that_loads_a_model(project: pytest.Pytester) -> None:
    """mc1, mc2, mc2_mass and mc3 of a model on this machine, from the answers of an earlier session."""
    gate(project, ROWS)
    model = checkpoint(project.path / "checkpoint")
    chosen = ("--truthguard-cache", str(project.path / "cache"), "--truthguard-device", "cpu")

    def answering(settings: ModelSettings, *, memo: Any, **_: Any) -> ScriptedBackend:
        return ScriptedBackend(import_module("model").answer, identify(settings, memo))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "open_backend", answering)
        assert run(project, *chosen, model=model).ret == pytest.ExitCode.OK
    asked = len(requests(project))
    assert asked > 4

    project.makeconftest(PROBE)
    again = run(project, *chosen, model=model, in_process=False)
    assert again.ret == pytest.ExitCode.OK
    again.stdout.fnmatch_lines(["LOADED 0"])
    assert len(requests(project)) == asked
