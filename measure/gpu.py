"""Packed against plain scoring on a GPU, on a model of the shape of a 1B llama: the same numbers, and how fast.

    python measure/gpu.py [--device cuda] [--questions 105] [--repeats 3]

Makes a model of Llama 3.2 1B's shape with random weights, and a tokenizer, in a temporary folder (2.5 GB; nothing is
downloaded). Scores every choice of the first starter questions in float32 and in bfloat16: packed, plain (padded
batches) and one choice at a time. Prints for each the median seconds, tokens a second (each choice with its whole
prompt, as one at a time has it), peak memory beside the weights, and the largest difference from one at a time. Loading
and the self-check are not in the seconds. Exit status 1 where packed scoring differs by more than the self-check's
bound. The shape's options make it small enough for a CPU.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Backend, Score, Scores
from truthguard.backends.selfcheck import FLOAT32_BOUND, ROOT_BOUND
from truthguard.benchmarks import registry
from truthguard.benchmarks.multiple_choice import requests_for
from truthguard.benchmarks.prompts import Wording
from truthguard.errors import ModelError
from truthguard.records import BenchmarkSettings, ModelSettings

# Llama 3.2 1B, by its published config.json.
SHAPE = {
    "layers": 16,
    "hidden": 2048,
    "intermediate": 8192,
    "heads": 32,
    "kv_heads": 8,
    "vocabulary": 128256,
}
ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
WARM_UP = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of scoring: seconds of each repeat, the log-likelihoods by choice, tokens, peak bytes, what it says."""

    seconds: list[float]
    values: dict[tuple[str, str], tuple[float, int]]
    tokens: int
    peak: int | None
    reason: str


def main() -> int:
    """Make the model, measure each way in each precision, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"], choices=("float32", *ROOT_BOUND))
    parser.add_argument("--questions", type=int, default=105)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plain-tokens", type=int, default=8192, help="tokens of a padded batch")
    for name, value in SHAPE.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    options = parser.parse_args()
    fits = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        requests = requests_of(options.questions)
        make_tokenizer(folder, [text for each in requests for text in (str(each.context), *each.continuations)])
        size = make_model(folder, {key: getattr(options, key) for key in SHAPE}, options.device)
        print(f"{place(options.device)}: {size / 1e9:.2f}e9 parameters, {len(requests)} questions, ", end="")
        print(f"{sum(len(each.continuations) for each in requests)} choices; medians of {options.repeats}")
        for dtype in options.dtypes:
            ways = (("packed", None), ("plain", options.plain_tokens), ("one at a time", 1))
            found: dict[str, Measured] = {}
            for way, batch_tokens in ways:
                scorer: Any = "packed" if way == "packed" else "plain"
                settings = ModelSettings(str(folder), options.device, dtype, scorer=scorer, batch_tokens=batch_tokens)
                try:
                    found[way] = measure(open_backend(settings), requests, options.repeats)
                except ModelError as error:
                    print(f"{dtype}: {way} scoring failed: {error}")
                    fits = False
            fits = report(dtype, found, size) and fits
    return 0 if fits else 1


def requests_of(count: int) -> list[Score]:
    """What mc1 and mc2_mass ask of the first starter questions."""
    settings = BenchmarkSettings("starter")
    questions = registry.load(settings, data=None, base=Path())
    wording = Wording.of(questions.primers, settings, ModelSettings("made"))
    asked = (requests_for(question, ("mc1", "mc2_mass"), wording) for question in questions.questions[:count])
    return [request for each in asked for part in each.values() for request in part if isinstance(request, Score)]


def make_tokenizer(folder: Path, texts: Sequence[str]) -> None:
    """A byte-level BPE of at most 4,000 entries, of the very texts that it will split."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    specials = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=4000, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer: Any = PreTrainedTokenizerFast
    tokenizer(tokenizer_object=raw, bos_token="<s>", eos_token="</s>").save_pretrained(folder)


def make_model(folder: Path, shape: dict[str, int], device: str) -> int:
    """Save a llama with random weights of the size at which every layer keeps the scale of what it is given."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=shape["vocabulary"],
        hidden_size=shape["hidden"],
        intermediate_size=shape["intermediate"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["kv_heads"],
        max_position_embeddings=131072,
        rms_norm_eps=1e-5,
        rope_parameters=ROPE,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
    )
    config.dtype = torch.bfloat16
    with torch.device(device):
        model: Any = LlamaForCausalLM(config)
        model = model.to(torch.bfloat16)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 1 / math.sqrt(parameter.shape[-1]), generator=generator)
    model.save_pretrained(folder)
    return int(model.num_parameters())


def measure(backend: Backend, requests: Sequence[Score], repeats: int) -> Measured:
    """Score everything `repeats` times, after a few questions that load the model and warm the device."""
    list(backend.answer(requests[:WARM_UP]))
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    seconds: list[float] = []
    values: dict[tuple[str, str], tuple[float, int]] = {}
    tokens = 0
    for _ in range(repeats):
        loaded, started = loading(backend), time.perf_counter()
        replies = list(backend.answer(requests))
        # The self-check goes on when a row is longer than any before: it counts as loading.
        seconds.append(time.perf_counter() - started - (loading(backend) - loaded))
        tokens = 0
        for reply in replies:
            for choice, value, count in choices_of(reply.request, reply.value):
                values[str(getattr(reply.request, "context", "")), choice] = (value, count)
                tokens += reply.usage.prompt_tokens + count
    facts = backend.facts()
    peak = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None
    backend.close()
    return Measured(seconds, values, tokens, peak, "" if facts is None else facts.reason)


def loading(backend: Backend) -> float:
    """Seconds of loading and of the self-check so far."""
    facts = backend.facts()
    return 0.0 if facts is None else facts.seconds_load


def choices_of(request: object, value: object) -> Iterator[tuple[str, float, int]]:
    """Each choice with its log-likelihood and its tokens; nan where there is none."""
    if isinstance(request, Score) and isinstance(value, Scores):
        for choice, one in zip(request.continuations, value.continuations, strict=True):
            yield choice, math.nan if one.log_likelihood is None else one.log_likelihood, one.tokens


def report(dtype: str, found: dict[str, Measured], size: int) -> bool:
    """Print one line for each way; whether every difference of packed scoring is within the bound."""
    weights = size * getattr(torch, dtype).itemsize
    print(f"{dtype}, weights {weights / 2**30:.2f} GiB")
    alone = found.get("one at a time")
    fits = alone is not None and "packed" in found
    for way, measured in found.items():
        seconds = statistics.median(measured.seconds)
        line = f"  {way:14}{seconds:9.3f} s{measured.tokens / seconds:12,.0f} tokens/s"
        if alone is not None:
            line += f"{statistics.median(alone.seconds) / seconds:8.1f} times"
            pairs = [(measured.values[key], alone.values[key]) for key in alone.values]
            line += f", differs by {max(abs(a - b) for (a, _), (b, _) in pairs):.2g}"
            if way == "packed":
                fits = fits and all(abs(a - b) <= bound(dtype, count) for (a, count), (b, _) in pairs)
        if measured.peak is not None:
            line += f", peak weights + {(measured.peak - weights) / 2**30:.2f} GiB"
        print(f"{line}; {measured.reason}")
    print(f"  packed scoring {'agrees' if fits else 'DOES NOT AGREE'} with one at a time")
    return fits


def bound(dtype: str, tokens: int) -> float:
    """The self-check's, for a sum over so many tokens."""
    return FLOAT32_BOUND if dtype == "float32" else ROOT_BOUND[dtype] * math.sqrt(tokens)


def place(device: str) -> str:
    """What the device is called."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


if __name__ == "__main__":
    sys.exit(main())
