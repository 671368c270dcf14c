"""Time scoring over a server against lm-evaluation-harness on the same server and questions, in turn.

    python measure/served.py --url http://127.0.0.1:8000/v1 --model NAME --tokenizer DIR
        [--questions 100] [--repeats 3] [--batch-sizes 1 16] [--concurrent 8 32] [--venv DIR]

Prints the seconds of the requests alone of the harness' tasks truthfulqa_mc1 and truthfulqa_mc2 through its model
local-completions with token ids, at each batch size and number of concurrent requests, the seconds of truthguard's
mc1, mc2_mass and mc3 (its probe and the server's tokenizer included), the ratio to the harness' fastest, and the
largest difference between their log-likelihoods. NAME is the served model, DIR the folder of its tokenizer, which
the harness reads. Needs the benchmark files ($TRUTHGUARD_DATA) and the package `truthguard[api]`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from against_lm_eval import VERSION, harness_python

# What the harness asks servers with.
API = "lm_eval[api]==0.4.13"

GATE = """
[model]
name = "{url}#{model}"
timeout_seconds = 1800
concurrency = {concurrency}

[truthfulqa]
version = "{version}"

[truthfulqa.mc1]
min = 0

[truthfulqa.mc2_mass]
min = 0

[truthfulqa.mc3]
min = 0
"""


@dataclass(frozen=True, slots=True)
class Served:
    """What is asked, where, and how many questions."""

    url: str
    model: str
    tokenizer: Path
    questions: int
    concurrency: int


def main() -> int:
    """Measure both in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--concurrent", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--concurrency", type=int, default=8, help="of truthguard")
    parser.add_argument("--venv", type=Path, default=Path(tempfile.gettempdir(), "truthguard-lm-eval-venv"))
    options = parser.parse_args()
    data = os.environ.get("TRUTHGUARD_DATA")
    if data is None:
        parser.error("set TRUTHGUARD_DATA to the folder of the benchmark files (see `truthguard fetch`)")
    python = harness_python(options.venv)
    subprocess.run([python, "-m", "pip", "install", "-q", API], check=True)
    served = Served(options.url, options.model, options.tokenizer, options.questions, options.concurrency)
    harness: dict[tuple[int, int], list[float]] = {
        each: [] for each in itertools.product(options.batch_sizes, options.concurrent)
    }
    ours: list[float] = []
    reference: list[float] = []
    mine: list[float] = []
    run_truthguard(served)  # whoever comes first would pay for what the server does once
    for _ in range(options.repeats):
        for each, times in harness.items():
            timed = run_harness(python, served, Path(data), *each)
            times.append(timed["seconds"])
            reference = timed["log_likelihoods"]
        seconds, mine = run_truthguard(served)
        ours.append(seconds)
    report(harness, ours, reference, mine, served.questions)
    return 0


def run_harness(python: Path, served: Served, data: Path, batch_size: int, concurrent: int) -> dict[str, Any]:
    """Seconds of the harness' requests and the log-likelihoods of the mc2 task, in request order."""
    driver = Path(__file__).with_name("served_driver.py")
    task = data / "truthfulqa" / VERSION / "mc_task.json"
    words = [served.url, served.model, served.tokenizer, task, served.questions, batch_size, concurrent]
    done = subprocess.run([python, driver, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    timed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return timed


def run_truthguard(served: Served) -> tuple[float, list[float]]:
    """Seconds of scoring and the log-likelihoods, as `pytest thresholds.toml` has them."""
    with tempfile.TemporaryDirectory() as folder:
        thresholds, record = Path(folder, "thresholds.toml"), Path(folder, "record.json")
        gate = GATE.format(url=served.url, model=served.model, concurrency=served.concurrency, version=VERSION)
        thresholds.write_text(gate, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", str(thresholds), "-p", "no:cacheprovider"]
        command += ["--truthguard-limit", str(served.questions), "--truthguard-cache", "off"]
        command += ["--truthguard-json", str(record)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        run = json.loads(record.read_text(encoding="utf-8"))["runs"][0]
    values = [choice["log_likelihood"] for item in run["items"] for choice in item["choices"]]
    return run["seconds"], values


def report(
    harness: dict[tuple[int, int], list[float]],
    ours: Sequence[float],
    reference: Sequence[float],
    mine: Sequence[float],
    questions: int,
) -> None:
    """Print medians, the ratio and the agreement."""
    print(f"{questions} questions of {VERSION} over the server; medians of {len(ours)}")
    for (size, concurrent), seconds in harness.items():
        print(
            f"  lm-evaluation-harness, batch size {size:2}, {concurrent:2} at once: {statistics.median(seconds):8.2f} s"
        )
    fastest = min(statistics.median(seconds) for seconds in harness.values())
    median = statistics.median(ours)
    print(f"  truthguard mc1 + mc2_mass + mc3: {median:20.2f} s   ({fastest / median:.2f} times as fast)")
    difference = max(abs(a - b) for a, b in zip(mine, reference, strict=True))
    print(f"  largest difference of {len(mine)} log-likelihoods: {difference:.1e}")


if __name__ == "__main__":
    sys.exit(main())
