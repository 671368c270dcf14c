"""From a model's settings to its identity, and to a backend that loads it when it is needed."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from truthguard.backends.openai_keys import api_identity, is_api
from truthguard.backends.openai_traffic import Budget, Slots
from truthguard.backends.protocol import Backend
from truthguard.backends.scripted import Handler, ScriptedBackend
from truthguard.backends.sources import ModelSource, find_source, model_files, weights_path
from truthguard.errors import ModelError, UsageError, nearest
from truthguard.records import Identity, ModelSettings
from truthguard.store.weights import WeightsStore

DTYPES = ("auto", "float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
# The driver's files that some accelerator has on Linux: CUDA, CUDA on boards and under WSL, ROCm.
_DRIVERS = ("/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/dxg", "/dev/kfd")
_LIBRARIES = ("torch", "transformers", "tokenizers")


class DigestMemo(Protocol):
    """Remembers the digest of a file until its size or its time of change differs."""

    def digest(self, path: Path, compute: Callable[[Path], str]) -> str: ...


def identify(settings: ModelSettings, memo: DigestMemo | None = None) -> Identity:
    """What decides the model's answers. Loads no model; imports torch only where an accelerator may be.

    The digest covers every file that decides an answer, each with its name. A scripted model has none, nor has
    one behind a server.
    """
    if is_api(settings.name):
        return api_identity(settings)
    source = find_source(settings, allow_scripted=True)
    if source.kind == "scripted":
        return Identity(settings.name, "scripted", None, scorer=settings.scorer)
    return _local_identity(settings, source, memo)[0]


def _local_identity(settings: ModelSettings, source: ModelSource, memo: DigestMemo | None) -> tuple[Identity, Path]:
    """The identity and the very files that it is of: a name on the hub may mean others a moment later."""
    device = device_class(settings.device)
    path, commit = weights_path(source)
    identity = Identity(
        name=settings.label,
        kind="huggingface",
        digest=_digest(path, source.adapter, memo),
        device=device,
        dtype=_dtype(settings, device, path),
        revision=commit,
        scorer=settings.scorer,
        libraries=_versions(source),
    )
    return identity, path


def open_backend(
    settings: ModelSettings,
    *,
    memo: DigestMemo | None = None,
    allow_scripted: bool = False,
    allowed_hosts: tuple[str, ...] = (),
    budget: Budget | None = None,
    slots: Slots | None = None,
    kept: WeightsStore | None = None,
) -> Backend:
    """A backend that loads the model at its first answer. `kept` holds what .gguf files were converted to.

    `allowed_hosts` are the servers besides OpenAI's own that may be sent the key which `api_key_env` names. Where
    several processes ask a model behind an API, `budget` is what they share of its `max_requests`, `slots` of its
    `concurrency`.
    """
    if is_api(settings.name):
        if message := missing_extra(settings):
            raise UsageError(message)
        from truthguard.backends.openai import OpenAIBackend

        identity = api_identity(settings)
        return OpenAIBackend(settings, identity, allowed_hosts=allowed_hosts, budget=budget, slots=slots)
    source = find_source(settings, allow_scripted=allow_scripted)
    if source.kind == "scripted":
        return ScriptedBackend(_handler(source), identify(settings, memo))
    if message := missing_extra(settings):
        raise UsageError(message)
    from truthguard.backends.huggingface import HuggingFaceBackend

    identity, path = _local_identity(settings, source, memo)
    return HuggingFaceBackend(settings, path, identity, adapter=source.adapter, kept=kept)


def missing_extra(settings: ModelSettings) -> str | None:
    """What must be installed before this model can answer; None when nothing lacks. Loads and imports nothing.

    Raises UsageError for a name of no known form.
    """
    if is_api(settings.name):
        api_identity(settings)
        needed: tuple[str, ...] = ("openai",)
        extra = "api"
    else:
        needed, extra = _needed(find_source(settings, allow_scripted=True)), "local"
    absent = [module for module in needed if find_spec(module) is None]
    if not absent:
        return None
    return f'model {settings.name!r} needs {", ".join(absent)}: run `pip install "truthguard[{extra}]"`'


def _needed(source: ModelSource) -> tuple[str, ...]:
    if source.kind == "scripted":
        return ()
    gguf, adapter = source.kind == "gguf", source.adapter is not None
    return (*_LIBRARIES, *(["gguf"] if gguf else []), *(["peft"] if adapter else []))


def device_class(requested: str) -> str:
    """cpu, cuda or mps. An accelerator that cannot be there is an error, never a silent fallback."""
    if not _DEVICE.fullmatch(requested):
        hint = nearest(requested, ["auto", "cpu", "cuda", "cuda:0", "mps"])
        raise UsageError(f"device = {requested!r} is no device{hint}")
    name = requested.partition(":")[0]
    if name == "cpu":
        return name
    if name != "auto":
        if not _may_have(name):
            raise UsageError(f'device = {requested!r}, but this machine has none: use "cpu" or "auto"')
        return name
    if not (_may_have("cuda") or _may_have("mps")):
        return "cpu"
    from truthguard.backends.huggingface_weights import present_devices

    return present_devices()[0].partition(":")[0]


def _may_have(accelerator: str) -> bool:
    """False only where the accelerator cannot be there: torch takes a second to import and need not be asked."""
    if sys.platform == "darwin":
        return accelerator == "mps"
    if accelerator == "mps":
        return False
    return sys.platform != "linux" or any(Path(driver).exists() for driver in _DRIVERS)


def _dtype(settings: ModelSettings, device: str, path: Path) -> str:
    """ "auto": float32 on the CPU; elsewhere the checkpoint's own, and float16 for .gguf, which has none."""
    if settings.dtype not in DTYPES:
        raise UsageError(f"dtype = {settings.dtype!r} is no dtype{nearest(settings.dtype, DTYPES)}")
    if settings.dtype != "auto":
        return settings.dtype
    if device == "cpu":
        return "float32"
    if path.is_file():
        return "float16"
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"model {settings.name!r}: cannot read {path / 'config.json'}: {error}") from error
    text = config.get("text_config") or {}
    own = (place.get(key) for place in (config, text) for key in ("dtype", "torch_dtype"))
    return next((dtype for dtype in own if dtype in DTYPES), "float32")


def _digest(path: Path, adapter: Path | None, memo: DigestMemo | None) -> str:
    if adapter is not None:
        both = _digest(path, None, memo), _digest(adapter, None, memo)
        return hashlib.sha256("\n".join(both).encode()).hexdigest()
    digest = memo.digest if memo else lambda file, compute: compute(file)
    if path.is_file():
        return digest(path, _sha256)
    total = hashlib.sha256()
    for file in model_files(path):
        # On the hub's disk cache a file is a link into a store of contents, which is what has a size and a time.
        total.update(f"{file.name}\0{digest(file.resolve(), _sha256)}\n".encode())
    return total.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions(source: ModelSource) -> dict[str, str]:
    versions = {}
    for library in _needed(source):
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "absent"
    return versions


def _handler(source: ModelSource) -> Handler:
    module, _, attribute = source.reference.partition(":")
    try:
        handler = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise UsageError(f"model {source.name!r}: cannot import {module}: {error}") from error
    except AttributeError as error:
        raise UsageError(f"model {source.name!r}: {module} has no {attribute}") from error
    if not callable(handler):
        raise UsageError(f"model {source.name!r}: {attribute} is no callable that takes a request")
    return lambda request: handler(request)
