"""What a project pays for having truthguard installed and not using it.

    python measure/startup.py [--runs 20]

Runs pytest on one empty test, with the plugin and with `-p no:truthguard`, in turn, and prints the medians and
the median of the paired differences. Prints too which heavy modules are imported when a thresholds file is only
collected. Exit status 1 above 20 ms or if numpy or torch is among them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ALLOWED_SECONDS = 0.020
HEAVY = ("numpy", "scipy", "torch", "transformers", "openai")
GATE = '[model]\nname = "none/needed"\n\n[starter.mc1]\nmin = 0.1\nby = "category"\n'
PROBE = f"""
import sys

def pytest_unconfigure():
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    print("LOADED", *loaded)
"""


def seconds_of(folder: Path, *arguments: str) -> float:
    """Wall time of one pytest run in a fresh process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def loaded_by_collecting(folder: Path) -> list[str]:
    """The heavy modules in memory after a thresholds file was collected."""
    (folder / "thresholds.toml").write_text(GATE, encoding="utf-8")
    (folder / "conftest.py").write_text(PROBE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-p", "no:cacheprovider", "thresholds.toml"]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    return line.split()[1:]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    os.environ.pop("PYTEST_ADDOPTS", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (folder / "test_nothing.py").write_text("def test_nothing():\n    assert True\n", encoding="utf-8")
        seconds_of(folder)
        pairs = [(seconds_of(folder), seconds_of(folder, "-p", "no:truthguard")) for _ in range(runs)]
        heavy = loaded_by_collecting(folder)
    with_it, without = (statistics.median(column) for column in zip(*pairs, strict=True))
    difference = statistics.median(a - b for a, b in pairs)
    print(f"pytest on one empty test, medians of {runs}: {with_it * 1000:.0f} ms with truthguard installed,")
    print(f"{without * 1000:.0f} ms without it; median difference {difference * 1000:.1f} ms (20 allowed)")
    print(f"heavy modules after collecting a thresholds file: {', '.join(heavy) or 'none'}")
    return 1 if difference > ALLOWED_SECONDS or heavy else 0


if __name__ == "__main__":
    sys.exit(main())
