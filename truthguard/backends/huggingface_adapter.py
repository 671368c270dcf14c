"""A LoRA adapter put into the weights of a loaded model, so that it scores and writes as any model does."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truthguard.backends.adapter import WEIGHTS, base_of, has_tokenizer
from truthguard.errors import ModelError

_PREFIX = "base_model.model."  # before the names of the base model's modules in what peft saves
_COPY = ".modules_to_save."
_MOST_SHOWN = 3


def merge(model: Any, folder: Path, *, name: str, tokens: int) -> Any:
    """The model with the adapter merged into its weights; `tokens` is how many its tokenizer has.

    Embeddings that the adapter brings whole, with tokens that were added in tuning, replace the model's. Raises
    ModelError when anything of the adapter finds no place in the model, or lacks, or has another shape.
    """
    import torch
    from peft import PeftModel

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = _shapes(folder / WEIGHTS)
            _resize(model, shapes)
            if has_tokenizer(folder) and tokens > (rows := model.get_input_embeddings().weight.shape[0]):
                raise ValueError(f"its tokenizer has {tokens} tokens and the model {rows}, and it brings no embeddings")
            adapted = PeftModel.from_pretrained(model, str(folder), torch_device="cpu")
            # The same again, for what this says and the first does not: which names found no counterpart.
            result = adapted.load_adapter(str(folder), "default", torch_device="cpu")
            unexpected = [key for key in result.unexpected_keys if not _saved_twice(key, shapes)]
            if problem := _mismatch(result.missing_keys, unexpected):
                raise ValueError(problem)
            _untie(adapted.get_base_model())
            return adapted.merge_and_unload(safe_merge=True)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # peft raises nearly everything, from KeyError to SafetensorError
        base = base_of(folder)
        made_for = f" (it was made for {base!r})" if base else ""
        raise ModelError(f"{name}: the adapter {folder} does not fit this model{made_for}: {_first(error)}") from error


def _shapes(path: Path) -> Mapping[str, Sequence[int]]:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return {key: file.get_slice(key).get_shape() for key in file.keys()}  # noqa: SIM118


def _resize(model: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    """Give the model as many tokens as the embeddings have that the adapter brings."""
    first, last = model.get_input_embeddings(), model.get_output_embeddings()
    distinct = [first] if last is None or last.weight is first.weight else [first, last]
    brought = [_rows(model, module, shapes) for module in distinct]
    rows = next((each for each in brought if each), None)
    if rows is None or rows == first.weight.shape[0]:
        return
    if brought != [rows] * len(distinct):
        raise ValueError(
            f"it brings embeddings of {rows} tokens, the model has {first.weight.shape[0]}, and its output layer is "
            "another one, which the adapter does not bring; save it with save_embedding_layers=True"
        )
    model.resize_token_embeddings(rows, mean_resizing=False)


def _rows(model: Any, module: Any, shapes: Mapping[str, Sequence[int]]) -> int | None:
    """How many tokens this layer has in the adapter; None where the adapter does not bring it whole."""
    own = next(name for name, each in model.named_modules() if each is module)
    found = (shapes.get(f"{_PREFIX}{own}.{tail}") for tail in ("weight", "base_layer.weight"))
    return next((shape[0] for shape in found if shape), None)


def _saved_twice(key: str, shapes: Mapping[str, Sequence[int]]) -> bool:
    """Of whole layers that are embeddings, too, peft saves a second copy under a name that it does not read."""
    return _COPY in key and key.replace(_COPY, ".") in shapes


def _untie(model: Any) -> None:
    """Part an adapted layer from one that shares its weights: merged, the sum would reach both."""
    import torch
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers: list[Any] = [model.get_input_embeddings(), model.get_output_embeddings()]
    if not any(isinstance(layer, BaseTunerLayer) for layer in layers):
        return
    first, last = (getattr(layer, "base_layer", layer) for layer in layers)
    if last is not None and last.weight is first.weight:
        last.weight = torch.nn.Parameter(first.weight.detach().clone(), requires_grad=False)
        model.config.tie_word_embeddings = False


def _mismatch(missing: Sequence[str], unexpected: Sequence[str]) -> str | None:
    """Which of the adapter's tensors the model has no place for, and which it has none of; None when all fit."""
    if unexpected:
        return f"the model has no place for {_some(unexpected)}"
    return f"{WEIGHTS} lacks {_some(missing)}" if missing else None


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(each.removeprefix(_PREFIX) for each in sorted(names)[:_MOST_SHOWN])
    return shown if len(names) <= _MOST_SHOWN else f"{shown} and {len(names) - _MOST_SHOWN} more"


def _first(error: Exception) -> str:
    """The error in a few lines: torch lists every tensor of the wrong shape."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join(lines[: _MOST_SHOWN + 1])
