"""The scripts that measure precision and GPUs run to their end, on models that are small enough for a CPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.families import MakeModel

MEASURE = Path(__file__).parent.parent.parent / "measure"
TOY = {"layers": 2, "hidden": 64, "intermediate": 128, "heads": 4, "kv-heads": 2, "vocabulary": 5000}

pytestmark = pytest.mark.slow


def output(script: str, *arguments: str) -> str:
    command = [sys.executable, str(MEASURE / script), "--device", "cpu", "--repeats", "1", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_packed_and_plain_are_compared_on_a_model_of_any_shape() -> None:
    """measure/gpu.py: three ways in each precision, with tokens a second and the difference from one at a time."""
    shape = [part for name, value in TOY.items() for part in (f"--{name}", str(value))]
    text = output("gpu.py", "--questions", "6", "--plain-tokens", "1024", *shape)
    assert re.findall(r"^(\w+), weights 0\.00 GiB$", text, re.MULTILINE) == ["float32", "bfloat16"]
    for way in ("packed", "plain", "one at a time"):
        line = rf"^  {way} +[\d.]+ s +[\d,]+ tokens/s +[\d.]+ times, differs by"
        assert len(re.findall(line, text, re.MULTILINE)) == 2
    assert text.count("packed scoring agrees with one at a time") == 2


def test_half_precision_is_held_against_float32(make_model: MakeModel) -> None:
    """measure/precision.py: seconds, differences and metrics side by side; float32 differs from itself by nothing."""
    text = output("precision.py", "--model", str(make_model("llama")), "--questions", "3")
    numbers = r" +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+)(?: +-?[\d.]+ \([+-][\d.]+\)){4}$"
    float32, bfloat16 = (re.search(f"^{dtype}{numbers}", text, re.MULTILINE) for dtype in ("float32", "bfloat16"))
    assert float32 is not None
    assert bfloat16 is not None
    assert float(float32[1]) == float(float32[2]) == 0
    assert float(bfloat16[1]) >= float(bfloat16[2]) > 0
    assert "float16" not in re.sub("bfloat16", "", text)
