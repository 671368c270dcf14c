"""The agreement that is printed is the agreement that is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from truthguard.catalogue import SIMILARITY_AGREEMENT

SCRIPT = Path(__file__).parent.parent / "measure" / "judge_agreement.py"


@pytest.mark.slow
@pytest.mark.parametrize("dimension", list(SIMILARITY_AGREEMENT))
def test_the_stated_agreement_is_measured(real_data: Path, dimension: str) -> None:
    """measure/judge_agreement.py prints the numbers of the catalogue for the default measure."""
    stated = SIMILARITY_AGREEMENT[dimension]["rouge1"]
    command = [sys.executable, str(SCRIPT), "--measure", "rouge1", "--dimension", dimension]
    environment = {**os.environ, "TRUTHGUARD_DATA": str(real_data)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    line = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("accuracy  "))
    assert f"{stated.accuracy:.4f}" in line
    assert f"n = {stated.n:,}" in line
    assert f"by questions [{stated.low:.4f}, {stated.high:.4f}]" in line
