"""What a model's name means: a folder, a .gguf file, a file inside a package, a name on the hub, a Python handler.

Nothing is loaded or imported here, and nothing is asked of a network before `weights_path`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from truthguard.backends import adapter
from truthguard.errors import ModelError, UsageError, nearest
from truthguard.records import ModelSettings

FORMS = (
    "a name on the hub (ORG/NAME@REVISION), a folder, a .gguf file, package:MODULE/FILE, openai:MODEL,"
    " or http://HOST:PORT/v1#MODEL"
)

# What decides a model's answers, all at the top of its folder. Weights saved with pickle can run code when they are
# loaded: they are neither downloaded nor read.
_WEIGHTS = "*.safetensors"
_OTHERS = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
_DUPLICATES = "consolidated*.safetensors"  # the same weights again, in their authors' own form
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model is to be had. `path` is its folder or file; `reference` the hub's name, or MODULE:NAME.

    `adapter` is the folder of what is merged into its weights.
    """

    name: str
    kind: Literal["folder", "gguf", "hub", "scripted"]
    path: Path | None = None
    reference: str = ""
    revision: str | None = None
    adapter: Path | None = None


def find_source(settings: ModelSettings, *, allow_scripted: bool = False) -> ModelSource:
    """Read a model's name. `scripted:MODULE:NAME` runs code, so only a person at the command line may name it.

    Raises UsageError for a name of no known form, a file that is not there, a revision or an adapter where there can
    be none.
    """
    source = _source(settings, allow_scripted)
    if settings.adapter is not None and source.kind == "scripted":
        raise UsageError(f"model {source.name!r} has no weights: adapter = {settings.adapter!r} is for models that do")
    return replace(source, adapter=adapter.find_adapter(settings))


def _source(settings: ModelSettings, allow_scripted: bool) -> ModelSource:
    name = settings.name
    if name.startswith("scripted:"):
        source = _scripted(name, allow_scripted)
    elif name.startswith("package:"):
        source = _local(name, _inside_package(name))
    elif "://" in name:
        raise UsageError(f"model {name!r} is no address that can be asked; expected {FORMS}")
    elif name.endswith(".gguf") or name.startswith(("/", ".", "~")) or os.path.exists(name):
        source = _local(name, Path(name).expanduser())
    else:
        return _hub(name, settings.revision)
    if settings.revision is not None:
        raise UsageError(f"model {name!r} has no revisions: revision = {settings.revision!r} is for names on the hub")
    return source


def weights_path(source: ModelSource) -> tuple[Path, str | None]:
    """The model's folder or file on this machine, and the hub's commit where it comes from there.

    Downloads what is not here yet. Raises ModelError when the hub does not give it.
    """
    if source.path is not None:
        return source.path, None
    folder = _download(source)
    _require_weights(source.name, folder)
    return folder, folder.name


def model_files(path: Path) -> list[Path]:
    """The files that decide a model's answers, in the order of their names."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.is_file() and _matters(file.name))


def _matters(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in (_WEIGHTS, *_OTHERS)) and not fnmatch(name, _DUPLICATES)


def _scripted(name: str, allowed: bool) -> ModelSource:
    module, _, attribute = name.removeprefix("scripted:").partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or not attribute.isidentifier():
        raise UsageError(f"model {name!r}: expected scripted:MODULE:NAME")
    if not allowed:
        raise UsageError(
            f"model {name!r} runs code: only --truthguard-model or TRUTHGUARD_MODEL may name it"
            " (a judge: --truthguard-judge or TRUTHGUARD_JUDGE)"
        )
    return ModelSource(name, "scripted", reference=f"{module}:{attribute}")


def _inside_package(name: str) -> Path:
    """The file that a package carries. The package is found, never imported."""
    module, _, file = name.removeprefix("package:").partition("/")
    if not module.isidentifier() or not file:
        raise UsageError(f"model {name!r}: expected package:MODULE/FILE, MODULE being a top-level module")
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(
            f"model {name!r}: no package {module!r} is installed here; try `pip install {module.replace('_', '-')}`"
        )
    folders = [Path(location).resolve() for location in spec.submodule_search_locations]
    for folder in folders:
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            raise UsageError(f"model {name!r}: {file!r} lies outside the package's folder {folder}")
        if os.path.exists(path):
            return path
    return folders[0] / file


def _local(name: str, path: Path) -> ModelSource:
    if path.suffix == ".gguf" and os.path.isfile(path):
        _require_no_adapter(name, path.parent)
        return ModelSource(name, "gguf", path)
    if os.path.isdir(path):
        _require_weights(name, path)
        return ModelSource(name, "folder", path)
    if os.path.exists(path):
        raise UsageError(f"model {name!r}: {path} is neither a folder nor a .gguf file; expected {FORMS}")
    beside = [file.name for file in path.parent.iterdir()] if os.path.isdir(path.parent) else []
    hint = nearest(path.name, [file for file in beside if not file.startswith((".", "_"))])
    raise UsageError(f"model {name!r}: there is no {path}{hint}")


def _require_no_adapter(name: str, folder: Path) -> None:
    """transformers would take an adapter in a model's folder for a part of the model, and its base from elsewhere."""
    if not (folder / adapter.CONFIG).is_file():
        return
    if (folder / "config.json").is_file() or name.endswith(".gguf"):
        way_out = "keep it in a folder of its own, and name that as adapter if it is to be merged into the model"
    else:
        base = adapter.base_of(folder)
        way_out = f"name its base{f' {base!r}' if base else ''} as the model and this folder as adapter"
    raise UsageError(f"model {name!r}: {folder} has a LoRA adapter ({adapter.CONFIG}): {way_out}")


def _require_weights(name: str, folder: Path) -> None:
    _require_no_adapter(name, folder)
    names = sorted(file.name for file in folder.iterdir())
    if not any(fnmatch(file, _WEIGHTS) for file in names):
        pickled = [file for file in names if any(fnmatch(file, pattern) for pattern in _PICKLED)]
        gguf = [file for file in names if file.endswith(".gguf")]
        if gguf:
            way_out = f"; it has {gguf[0]}: name that file itself"
        elif pickled:
            way_out = (
                f", only {', '.join(pickled)}: pickled weights can run code and are refused; save it as safetensors"
            )
        else:
            way_out = "; weights are read as .safetensors or .gguf only, since pickled ones can run code"
        raise UsageError(f"model {name!r}: {folder} has no .safetensors weights{way_out}")
    if "config.json" not in names:
        raise UsageError(f"model {name!r}: {folder} has no config.json, which says what the weights are")


def _hub(name: str, revision: str | None) -> ModelSource:
    reference, _, written = name.partition("@")
    if not _HUB_NAME.fullmatch(reference) or (not written and "@" in name):
        raise UsageError(f"model {name!r} is no model's name; expected {FORMS}")
    if written and revision and written != revision:
        raise UsageError(f"model {name!r} names the revision {written!r}, revision = {revision!r} another: drop one")
    return ModelSource(name, "hub", reference=reference, revision=written or revision)


def _download(source: ModelSource) -> Path:
    from huggingface_hub import errors, snapshot_download

    where = f"model {source.name!r}"
    try:
        folder = snapshot_download(
            source.reference,
            revision=source.revision,
            allow_patterns=[_WEIGHTS, *_OTHERS],
            ignore_patterns=["*/*", _DUPLICATES],
        )
    except errors.GatedRepoError as error:
        raise ModelError(
            f"{where} asks for consent: accept its terms on the hub and log in (`hf auth login`)"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelError(f"{where}: the hub has no revision {source.revision!r} of it") from error
    except errors.RepositoryNotFoundError as error:
        raise ModelError(
            f"{where} is neither a folder here nor a public model on the hub; check the name, or log in for a "
            "private one (`hf auth login`)"
        ) from error
    except errors.LocalEntryNotFoundError as error:
        raise ModelError(
            f"{where} is not on this machine and the hub cannot be reached; check the connection (and "
            "HF_HUB_OFFLINE), or name a local folder"
        ) from error
    except (errors.HfHubHTTPError, OSError) as error:
        raise ModelError(f"{where} could not be downloaded: {error}") from error
    return Path(folder)
