"""A LoRA adapter's folder, as peft saves one: what can be found wrong with it before anything loads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truthguard.errors import UsageError, nearest
from truthguard.records import ModelSettings

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PICKLED = "adapter_model.bin"
# What peft would do with these is no sum of weights, or is done by a module that the file names.
_UNMERGEABLE = {
    "alora_invocation_tokens": "an activated LoRA works behind certain tokens only",
    "megatron_config": "its layers are Megatron's",
}


def find_adapter(settings: ModelSettings) -> Path | None:
    """The folder of the model's adapter; None for a model without one. Imports nothing.

    Raises UsageError for a folder that is not there, is not peft's, holds a pickle, or no LoRA that can be merged.
    """
    if settings.adapter is None:
        return None
    folder = Path(settings.adapter).expanduser()
    where = f"model {settings.name!r}: adapter {settings.adapter!r}"
    if not os.path.isdir(folder):
        raise UsageError(f"{where}: {_no_folder(folder)}")
    names = {file.name for file in folder.iterdir()}
    if CONFIG not in names:
        whole = "config.json" in names and any(name.endswith(".safetensors") for name in names)
        way_out = "it holds a whole model: name it as the model" if whole else "expected a folder that peft saved"
        raise UsageError(f"{where}: {folder} has no {CONFIG}; {way_out}")
    if WEIGHTS not in names:
        pickled = f", only {_PICKLED}: pickled weights can run code and are refused; save it as safetensors"
        raise UsageError(f"{where}: {folder} has no {WEIGHTS}{pickled if _PICKLED in names else ''}")
    if problem := _no_lora(_config(folder, where)):
        raise UsageError(f"{where}: {folder / CONFIG}: {problem}")
    return folder


def base_of(folder: Path) -> str:
    """The model that the adapter was made for, as its own file has it; '' where that does not say."""
    try:
        name = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def has_tokenizer(folder: Path) -> bool:
    """Whether the tokenizer of the tuned model was saved beside the adapter."""
    return (folder / "tokenizer_config.json").is_file()


def _no_folder(folder: Path) -> str:
    if os.path.exists(folder):
        return f"{folder} is no folder; name the one with {CONFIG} and {WEIGHTS}"
    beside = [each.name for each in folder.parent.iterdir() if each.is_dir()] if folder.parent.is_dir() else []
    hint = nearest(folder.name, [name for name in beside if not name.startswith((".", "_"))])
    return f"there is no {folder}{hint}"


def _config(folder: Path, where: str) -> Mapping[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{where}: cannot read {folder / CONFIG}: {error}") from error
    if not isinstance(config, dict):
        raise UsageError(f"{where}: {folder / CONFIG} is no object of JSON")
    return config


def _no_lora(config: Mapping[str, Any]) -> str | None:
    """Why the adapter cannot be merged into the weights; None when nothing speaks against it."""
    if config.get("peft_type") != "LORA":
        return f"peft_type is {config.get('peft_type')!r}, and only LORA can be read"
    if config.get("task_type") not in (None, "CAUSAL_LM"):
        return f"task_type is {config['task_type']!r}: expected CAUSAL_LM, an adapter of a model that writes"
    found = next((key for key in _UNMERGEABLE if config.get(key)), None)
    return f"{found} is set: {_UNMERGEABLE[found]}, so it cannot be merged into the weights" if found else None
