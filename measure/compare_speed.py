"""What a comparison and a page cost, and how large a baseline and a page are, for 817 questions and five metrics.

    python measure/compare_speed.py [--runs 3] [--seed 0]

Makes two records (values drawn from the seed, texts made up: six choices, an answer and five judge samples a question)
and a thresholds file with max_drop for each metric, one of them by category. Times `truthguard compare` and
`truthguard report --html` as whole processes and prints the medians. Exit status 1 above 2 s or 5 s, or for a baseline
above 150 KB or a page above 3 MB.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from truthguard.records import Counts, Facts, Identity, ItemScores, JudgeRun, Run, Sample, ScoredChoice
from truthguard.store.baseline import write_baseline
from truthguard.store.record import make_record, save_record

QUESTIONS, CATEGORIES = 817, 38
COMPARE_SECONDS, HTML_SECONDS = 2.0, 5.0
BASELINE_BYTES, HTML_BYTES = 150_000, 3_000_000
METRICS = ("mc1", "mc2_mass", "truthful", "informative", "correctness")
SENTENCE = "people often repeat what nobody has measured while careful observers found no difference between them"
WORDS = SENTENCE.split()
CREATED = datetime(2026, 3, 1, tzinfo=UTC)
MODEL = Identity("made/up", "huggingface", "a" * 64)
JUDGE = JudgeRun(Identity("openai:made-up", "openai", None, "api", ""), "rubric", {"samples": 5, "seed": 0}, "b" * 64)


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def question(place: int, seed: int, changed: float) -> ItemScores:
    """One question; of two records with other `changed` a share of the values differs, the texts of choices do not."""
    rng, now = random.Random(f"{seed} {place}"), random.Random(f"{seed} {place} {changed}")
    choices = tuple(
        ScoredChoice(text(rng, 9), rank < 3, rank != 1, -rng.uniform(8, 40) + now.gauss(0, changed), rng.randint(6, 14))
        for rank in range(6)
    )
    values: dict[str, float | None] = {}
    for name in METRICS:
        drawn = rng.random()
        drawn = now.random() if now.random() < changed else drawn
        values[name] = round(5 * drawn) / 5 if name == "correctness" else drawn
        if name not in ("mc2_mass", "correctness"):
            values[name] = float(drawn < 0.6)
    samples = tuple(Sample(index, 0, "yes", "yes", text(now, 40), "stop") for index in range(5))
    return ItemScores(
        id=f"tqa-{rng.getrandbits(32):08x}",
        category=f"Category {place % CATEGORIES}",
        question=text(rng, 12),
        values=values,
        choices=choices,
        answer=text(now, 25),
        samples=samples,
    )


def run_of(seed: int, changed: float) -> Run:
    return Run(
        benchmark="truthfulqa",
        version="2021-10",
        data_sha256="c" * 64,
        file_sha256="d" * 64,
        model=replace(MODEL, dtype="bfloat16" if changed else "float32"),
        settings={"prompt": "qa", "normalization": "none"},
        scorer=Facts("packed", "shared prefixes"),
        counts=Counts(requests=QUESTIONS),
        seconds=100.0,
        seconds_load=1.0,
        oldest_answer=None,
        complete=True,
        items=tuple(question(place, seed, changed) for place in range(QUESTIONS)),
        judge=JUDGE,
    )


def make(folder: Path, seed: int) -> None:
    """The files that are compared."""
    before, now = run_of(seed, 0.0), run_of(seed, 0.1)
    save_record(folder / "base.json", make_record([], [before], CREATED))
    save_record(folder / "candidate.json", make_record([], [now], CREATED + timedelta(days=7)))
    write_baseline(folder / "baseline.json", [before])
    rows = [f"[truthfulqa.{name}]\nmax_drop = 0.02\nblock_on = 'proof'\n" for name in METRICS]
    head = "[truthfulqa]\nversion = '2021-10'\n[judge]\nmodel = 'openai:made-up'\n"
    (folder / "thresholds.toml").write_text(head + "".join(rows) + "by = 'category'\n", "utf-8")


def seconds(folder: Path, runs: int, arguments: Sequence[str]) -> float:
    """The median wall time of a whole command."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "truthguard", *arguments], cwd=folder, capture_output=True)
        found.append(time.perf_counter() - start)
        if done.returncode:
            raise SystemExit(done.stderr.decode())
    return statistics.median(found)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, options.seed)
        comparing = ["compare", "base.json", "candidate.json", "--thresholds", "thresholds.toml", "--json", "out.json"]
        compare = seconds(folder, options.runs, comparing)
        html = seconds(folder, options.runs, ["report", "out.json", "base.json", "--html", "page.html"])
        baseline, page = ((folder / each).stat().st_size for each in ("baseline.json", "page.html"))
    print(f"{QUESTIONS} questions, {len(METRICS)} metrics, {CATEGORIES} categories; median of {options.runs} runs")
    print(f"truthguard compare: {compare:.2f} s (at most {COMPARE_SECONDS:g})")
    print(f"truthguard report --html: {html:.2f} s (at most {HTML_SECONDS:g})")
    print(f"baseline: {baseline / 1000:.0f} KB (at most {BASELINE_BYTES / 1000:.0f})")
    print(f"page: {page / 1e6:.2f} MB (at most {HTML_BYTES / 1e6:g})")
    fits = compare <= COMPARE_SECONDS and html <= HTML_SECONDS and baseline <= BASELINE_BYTES and page <= HTML_BYTES
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
