"""Downloading benchmark data: upstream's files at pinned commits, each held against its known digest.

Upstream's primers stand in a Python file. It is parsed, never executed: only string constants are taken, and
the six of them together must have a known digest as well.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from truthguard.benchmarks.truthfulqa import FOLDER, PRIMERS, PUBLISHED, TABLE, TASK
from truthguard.catalogue import PROMPTS
from truthguard.errors import DataError, Mistake, UsageError
from truthguard.store.atomic import write_atomically

REPOSITORY = "sylinrl/TruthfulQA"
BASE_URL = f"https://raw.githubusercontent.com/{REPOSITORY}"

# The commit whose tree holds the version, and the path of each file there.
UPSTREAM: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "2021-09": ("013686a06be7a7bde5bf8223943e106c7250123c", {TASK: "data/mc_task.json", TABLE: "TruthfulQA.csv"}),
    "2021-10": (
        "f6be04e52bbcb41d4d20daee6358231d4a5015d2",
        {TASK: "data/v1/mc_task.json", TABLE: "data/v1/TruthfulQA.csv"},
    ),
    "2025-01": ("f6be04e52bbcb41d4d20daee6358231d4a5015d2", {TASK: "data/mc_task.json", TABLE: "TruthfulQA.csv"}),
}
PRESETS_COMMIT = "d71c110897f5d31c5d7f309e7bc316c152f6f031"
PRESETS_PATH = "truthfulqa/presets.py"
PRESETS_NAME = "preset_map"

# SHA-256 of the six primers as canonical JSON (sorted keys, no spaces, ASCII).
PRIMERS_SHA256 = "5e9c808c27ea993e23708ed1b4502e2a5cebf5c50fc65ba1c190f315f230b482"

RETRIES = 2
TIMEOUT_SECONDS = 30.0


def fetch_truthfulqa(target: Path, *, base_url: str | None = None) -> list[Path]:
    """Put TruthfulQA's three versions and its primers under `target`/truthfulqa; the paths of all its files.

    Files that are there and have the known digest are kept without a download. Others that are there are
    never overwritten. Each file is written whole or not at all. `base_url` stands for
    https://raw.githubusercontent.com/sylinrl/TruthfulQA and is https (http on this machine's loopback only).

    Raises DataError for a file that cannot be had, is not the published one, or stands in the way.
    """
    base = _checked_url(BASE_URL if base_url is None else base_url)
    folder = target / FOLDER
    wanted = {
        folder / version / name: (f"{base}/{commit}/{path}", PUBLISHED[version][name])
        for version, (commit, paths) in UPSTREAM.items()
        for name, path in paths.items()
    }
    _refuse_to_overwrite({path: sha256 for path, (_, sha256) in wanted.items()}, folder / PRIMERS)
    for path, (url, sha256) in wanted.items():
        if not path.exists():
            _put(path, _download(url, sha256))
    if not (folder / PRIMERS).exists():
        _put(folder / PRIMERS, _primers_file(f"{base}/{PRESETS_COMMIT}/{PRESETS_PATH}"))
    return [*wanted, folder / PRIMERS]


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    loopback = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not loopback:
        raise UsageError(f"{url}: data is fetched over https only")
    return url.rstrip("/")


def _refuse_to_overwrite(known: Mapping[Path, str], primers: Path) -> None:
    """What is there and is not the published file is somebody's own, or damaged: its owner decides."""
    way_out = "move it away, or fetch into another folder"
    mistakes = []
    for path, expected in known.items():
        if path.exists() and (found := _sha256(path)) != expected:
            mistakes.append(Mistake(f"is not the published file ({_differs(expected, found)}); {way_out}", path))
    if primers.exists() and not _published_primers(primers):
        mistakes.append(Mistake(f"does not hold the published primers; {way_out}", primers))
    if mistakes:
        raise DataError(mistakes)


def _published_primers(path: Path) -> bool:
    try:
        return primers_sha256(json.loads(path.read_bytes())["primers"]) == PRIMERS_SHA256
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _download(url: str, sha256: str | None) -> bytes:
    """The content behind a URL, fetched and held against its digest by pooch."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        store = pooch.create(
            path=folder,
            base_url="",
            registry={"file": None if sha256 is None else f"sha256:{sha256}"},
            urls={"file": url},
            retry_if_failed=RETRIES,
        )
        try:
            return Path(store.fetch("file", downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS))).read_bytes()
        except OSError as error:
            raise DataError(f"cannot fetch {url}: {error}") from error
        except ValueError as error:
            raise DataError(f"{url} is not the published file, nothing was kept: {error}") from error


def _put(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        raise DataError([Mistake(f"cannot be written: {error.strerror or error}", path)]) from error


def _primers_file(url: str) -> bytes:
    """The content of primers.json, made from upstream's presets.py."""
    primers = read_presets(_download(url, None), url)
    if (found := primers_sha256(primers)) != PRIMERS_SHA256:
        raise DataError(f"{url} does not hold the published primers: {_differs(PRIMERS_SHA256, found)}")
    origin = f"{REPOSITORY}, {PRESETS_PATH} at {PRESETS_COMMIT}, string constants unchanged"
    content = {"source": origin, "license": "Apache-2.0", "primers": primers}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def read_presets(source: bytes, origin: str) -> dict[str, str]:
    """The six primers from the text of upstream's presets.py, which is parsed and never executed.

    The dictionary `preset_map` names them; its values are string constants, or names that the module gives a
    string constant, once. Raises DataError naming `origin` and the line of anything else.
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise DataError(f"{origin}: not a Python file: {error}") from None
    assigned = _assignments(module, origin)
    if PRESETS_NAME not in assigned:
        raise DataError(f"{origin}: no {PRESETS_NAME}, the dictionary that names the primers")
    presets = assigned[PRESETS_NAME]
    if not isinstance(presets, ast.Dict):
        raise _unexpected(origin, presets, f"a dictionary as {PRESETS_NAME}")
    entries = {
        key.value: value
        for key, value in zip(presets.keys, presets.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    primers = {}
    for name in PROMPTS[FOLDER]:
        if name not in entries:
            raise DataError(f"{origin}:{presets.lineno}: no {name!r} in {PRESETS_NAME}")
        primers[name] = _constant(entries[name], assigned, origin)
    return primers


def _assignments(module: ast.Module, origin: str) -> dict[str, ast.expr]:
    """What the module gives to each name; a second assignment would mean that the text had to be run."""
    assigned: dict[str, ast.expr] = {}
    for statement in module.body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            if not isinstance(target, ast.Name):
                continue
            if target.id in assigned:
                raise DataError(f"{origin}:{statement.lineno}: {target.id} is assigned a second time")
            assigned[target.id] = statement.value
    return assigned


def _constant(value: ast.expr, assigned: Mapping[str, ast.expr], origin: str) -> str:
    if isinstance(value, ast.Name) and value.id in assigned:
        value = assigned[value.id]
    if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        raise _unexpected(origin, value, "a string constant")
    return value.value


def _unexpected(origin: str, value: ast.expr, expected: str) -> DataError:
    return DataError(f"{origin}:{value.lineno}: expected {expected}, found: {ast.unparse(value)[:60]}")


def primers_sha256(primers: Mapping[str, str]) -> str:
    """The digest of the primers as canonical JSON: sorted keys, no spaces, ASCII."""
    return hashlib.sha256(json.dumps(primers, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError([Mistake(f"cannot be read: {error.strerror or error}", path)]) from None


def _differs(expected: str, found: str) -> str:
    return f"sha256 expected {expected}, got {found}"
