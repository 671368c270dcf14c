"""Where a model's weights go: onto one device, or over several GPUs where one has too little memory for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from truthguard.backends.huggingface_weights import choose_device
from truthguard.backends.sources import model_files
from truthguard.errors import ModelError

_GIB = 2**30
# What a GPU needs besides its weights: CUDA's own memory, the logits of a pass (256 MiB), keys, values, activations.
HEADROOM = 2 * _GIB


@dataclass(frozen=True, slots=True)
class Placement:
    """The device of the weights; or, in `room`, the bytes that each of several GPUs may take of them.

    `note` says what was decided where there was anything to decide.
    """

    device: str
    room: Mapping[int, int] = field(default_factory=dict)
    note: str = ""


def place(requested: str, path: Path, dtype: str, *, name: str) -> Placement:
    """Decide for the model at `path`. Only device = "auto" goes anywhere but to the requested or the first device."""
    import torch

    device = choose_device(requested)
    if requested != "auto" or not device.startswith("cuda") or torch.cuda.device_count() < 2:
        return Placement(device)
    free = {number: int(torch.cuda.mem_get_info(number)[0]) for number in range(torch.cuda.device_count())}
    return decide(weight_bytes(path, getattr(torch, dtype).itemsize), free, name=name)


def decide(needed: int, free: Mapping[int, int], *, name: str) -> Placement:
    """The first GPU that has room for the weights (bytes); all of them together where none has.

    `free` are the free bytes of each GPU by its number, `HEADROOM` of which the weights may not take. Raises
    ModelError where all of them have too little.

    >>> decide(10 * 2**30, {0: 20 * 2**30, 1: 20 * 2**30}, name="m").device
    'cuda:0'
    >>> decide(30 * 2**30, {0: 20 * 2**30, 1: 20 * 2**30}, name="m").note
    'weights of 30.0 GiB are spread over cuda:0 and cuda:1 (20.0 and 20.0 GiB free)'
    """
    room = {number: amount - HEADROOM for number, amount in free.items() if amount > HEADROOM}
    numbers = sorted(free)
    single = next((number for number in numbers if room.get(number, 0) >= needed), None)
    if single == numbers[0]:
        return Placement(f"cuda:{single}")
    sizes = f"{_listed([f'{free[number] / _GIB:.1f}' for number in numbers])} GiB free"
    if single is not None:
        why = f"weights of {needed / _GIB:.1f} GiB went to cuda:{single}, the first GPU with room"
        return Placement(f"cuda:{single}", note=f"{why} ({sizes})")
    if sum(room.values()) < needed:
        raise ModelError(
            f"{name}: the weights take {needed / _GIB:.1f} GiB, and {_listed(_names(numbers))} have too little room "
            f'({sizes}, {HEADROOM / _GIB:.0f} of each needed besides); try dtype = "bfloat16", device = "cpu" or a '
            "smaller model"
        )
    note = f"weights of {needed / _GIB:.1f} GiB are spread over {_listed(_names(sorted(room)))} ({sizes})"
    return Placement(f"cuda:{min(room)}", room, note)


def weight_bytes(path: Path, item_size: int) -> int:
    """How many bytes the weights at `path` take, at so many bytes a number. Reads the files' headers only."""
    if path.is_file():
        from gguf import GGUFReader

        return item_size * sum(int(tensor.n_elements) for tensor in GGUFReader(path).tensors)
    from safetensors import safe_open

    total = 0
    for file in model_files(path):
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as tensors:
                total += sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118
    return item_size * total


def _names(numbers: list[int]) -> list[str]:
    return [f"cuda:{number}" for number in numbers]


def _listed(words: list[str]) -> str:
    """The words with commas and a last "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
