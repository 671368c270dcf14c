"""A .gguf file, dequantised once: what is loaded is the copy in safetensors, or the file itself where none is kept.

Converting takes 15 times as long as loading the copy. The copy is held against what the file gives, to the last bit
of every weight and every rule of the tokenizer, before it takes its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from truthguard.backends.huggingface_weights import Weights, load, save
from truthguard.errors import ModelError
from truthguard.store.weights import Origin, WeightsStore

_CONVERTERS = ("gguf", "tokenizers", "transformers")
_OF_SAVING = ("_name_or_path", "architectures", "transformers_version")


@contextmanager
def converted(path: Path, *, name: str, dtype: str, store: WeightsStore | None) -> Iterator[Path]:
    """What to load in the place of `path`; nothing removes it before the block ends.

    A copy that is not there yet is made. `path` itself where it is a folder, without a store, and where the store
    keeps no copy.
    """
    if store is None or path.is_dir():
        yield path
        return
    origin = Origin(path.name, store.digest(path, _sha256), dtype, {each: version(each) for each in _CONVERTERS})
    with store.claim(origin) as claimed:
        yield (store.find(origin) or _make(path, name, origin, store) or path) if claimed else path


def _make(path: Path, name: str, origin: Origin, store: WeightsStore) -> Path | None:
    """Convert on the CPU, whatever the device: the copy is the same for all."""
    try:
        size = _size(path, origin.dtype)
    except Exception:  # whoever loads the file says what is wrong with it
        return None
    if not store.fits(origin, size):
        return None
    weights = load(path, name=name, device="cpu", dtype=origin.dtype)

    def write(folder: Path) -> None:
        save(weights, folder)
        copy = load(folder, name=name, device="cpu", dtype=origin.dtype)
        if found := differences(weights, copy):
            raise ModelError(f"read again, they differ in {', '.join(found)}")

    return store.keep(origin, write)


def differences(first: Weights, second: Weights) -> list[str]:
    """What of two loaded models is not the same; empty where they give the same numbers and texts."""
    import torch

    ours, theirs = (weights.model.state_dict() for weights in (first, second))
    same_weights = ours.keys() == theirs.keys() and all(
        ours[name].dtype == theirs[name].dtype and torch.equal(ours[name], theirs[name]) for name in ours
    )
    checks = {
        "architecture": type(first.model) is type(second.model),
        "weights": same_weights,
        "config": _config(first.model.config) == _config(second.model.config),
        "generation settings": _config(first.model.generation_config) == _config(second.model.generation_config),
        "tokenizer": first.tokenizer.rules() == second.tokenizer.rules(),
        "window": first.window == second.window,
        "end tokens": first.ends == second.ends,
    }
    return [name for name, same in checks.items() if not same]


def _config(config: Any) -> dict[str, object]:
    """A configuration without what saving alone writes into it: where it lies, the name of the model's class."""
    values: dict[str, object] = config.to_dict()
    return {name: value for name, value in values.items() if name not in _OF_SAVING}


def _size(path: Path, dtype: str) -> int:
    """The bytes of the weights, dequantised."""
    import gguf
    import torch

    elements = sum(int(tensor.n_elements) for tensor in gguf.GGUFReader(path).tensors)
    item: int = getattr(torch, dtype).itemsize
    return elements * item


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
