"""Weights that were converted once and are kept, each in a folder of its own, checked whenever they are used.

A copy is there whole or not at all; who makes or reads one holds its lock, which dies with its process. What goes
beyond the limit leaves in the order of its last use.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from truthguard.store.atomic import put_folder
from truthguard.store.encoding import decode, digest, encode, from_bytes, to_bytes
from truthguard.text import size_text

FOLDER = "weights"
MANIFEST = "manifest.json"
DEFAULT_LIMIT = 8 * 2**30
FORM = 1
_COPY = re.compile(r"[0-9a-f]{32}")
_UNFINISHED = re.compile(r"\.([0-9a-f]{32})\.[0-9a-f]{8}\.part")
# What the file system itself takes, and the tokenizer's files.
_SLACK = 64 * 2**20

# The digest of a file, and how to compute it where it is not remembered.
Digest = Callable[[Path, Callable[[Path], str]], str]


@dataclass(frozen=True, slots=True)
class Origin:
    """What decides a copy: the file it is made of, the weights' type, and the versions of what converts it."""

    model: str  # the file's name, for people
    sha256: str
    dtype: str
    libraries: Mapping[str, str]

    @property
    def key(self) -> str:
        """The name of the copy's folder. The same file under another name has the same copy."""
        return digest({"form": FORM, "sha256": self.sha256, "dtype": self.dtype, "libraries": self.libraries})[:32]


@dataclass(frozen=True, slots=True)
class _File:
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class _Manifest:
    origin: Origin
    files: Mapping[str, _File]


@dataclass(frozen=True, slots=True)
class KeptCopy:
    """A copy that is there: what it was made of (None: its manifest cannot be read), its bytes and its last use."""

    path: Path
    origin: Origin | None
    size: int
    used: datetime


class _Unfit(Exception):
    """Why a copy cannot be used, or not be kept."""


class WeightsStore:
    """The copies in `folder`, shared by any number of processes. `limit` bounds their bytes; 0 keeps none.

    `digest` remembers the digests of files, so that a copy which was checked costs a stat of each file. `warnings` are
    lines for the summary: nothing here is a reason to lose a run.
    """

    def __init__(self, folder: Path, digest: Digest, limit: int = DEFAULT_LIMIT) -> None:
        self.warnings: list[str] = []
        self._folder = folder
        self.digest = digest
        self._limit = limit

    @contextlib.contextmanager
    def claim(self, origin: Origin) -> Iterator[bool]:
        """Hold the copy of `origin`, waiting for whoever makes or reads it; False where nothing can be kept."""
        lock = _lock(self._folder, origin.key)
        try:
            if self._limit:
                self._folder.mkdir(parents=True, exist_ok=True)
                lock.acquire()
        except (OSError, NotImplementedError) as error:
            self._not_kept(origin, error)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def find(self, origin: Origin) -> Path | None:
        """The folder of the copy, every file of which is as it was made; None where there is none.

        A damaged one is removed and `warnings` says so. For the holder of `claim`.
        """
        path = self._folder / origin.key
        try:
            self._check(path, origin)
        except FileNotFoundError:
            return None
        except (_Unfit, OSError) as reason:
            shutil.rmtree(path, ignore_errors=True)
            self.warnings.append(f"{path}: the converted weights of {origin.model} were removed: {reason}")
            return None
        with contextlib.suppress(OSError):  # the time of the last use, on a disk that is read-only by now
            os.utime(path / MANIFEST)
        return path

    def fits(self, origin: Origin, size: int) -> bool:
        """Whether a copy whose weights take `size` bytes can be kept: asked before it is made."""
        try:
            self._require_limit(size)
            free = shutil.disk_usage(self._folder).free
            if free < size + _SLACK:
                raise _Unfit(f"they take {size_text(size)}, and the disk has {size_text(free)} left")
        except (OSError, _Unfit) as error:
            self._not_kept(origin, error)
            return False
        return True

    def keep(self, origin: Origin, write: Callable[[Path], None]) -> Path | None:
        """The folder of a new copy, whose files `write` makes in the folder that it is given; None: it is not kept.

        The longest unused copies make room for it. For the holder of `claim`.
        """
        path = self._folder / origin.key
        part = self._folder / f".{origin.key}.{secrets.token_hex(4)}.part"
        try:
            for dead in _unfinished(self._folder, origin.key):
                shutil.rmtree(dead)
            part.mkdir()
            write(part)
            files = {file.name: _File(_sha256(file), file.stat().st_size) for file in sorted(part.iterdir())}
            self._require_limit(sum(file.size for file in files.values()))
            (part / MANIFEST).write_bytes(to_bytes(encode(_Manifest(origin, files))))
            put_folder(part, path)
        except Exception as error:  # transformers and safetensors raise nearly everything where a disk is full
            self._not_kept(origin, error)
            return None
        finally:
            shutil.rmtree(part, ignore_errors=True)

        def known(file: Path) -> str:
            return files[file.name].sha256

        for name in files:
            self.digest(path / name, known)
        self._make_room(path)
        return path

    def _check(self, path: Path, origin: Origin) -> None:
        """Raises _Unfit, and FileNotFoundError where there is no copy."""
        names = sorted(os.listdir(path))
        try:
            manifest = _read_manifest(path)
        except (OSError, ValueError) as error:
            raise _Unfit(f"{MANIFEST} cannot be read ({error})") from error
        if manifest.origin.key != origin.key:
            raise _Unfit("they were made of another file")
        if names != sorted([MANIFEST, *manifest.files]):
            raise _Unfit("files are missing, or there are others")
        for name, file in manifest.files.items():
            size = (path / name).stat().st_size
            if size != file.size:
                raise _Unfit(f"{name} has {size:,} bytes instead of {file.size:,}")
            if self.digest(path / name, _sha256) != file.sha256:
                raise _Unfit(f"{name} is not the file that was written")

    def _require_limit(self, size: int) -> None:
        if size > self._limit:
            raise _Unfit(f"they take {size_text(size)}, and at most {size_text(self._limit)} are kept")

    def _make_room(self, newest: Path) -> None:
        """Remove the longest unused copies beyond the limit, but for those in use."""
        copies = sorted(kept_copies(self._folder), key=lambda copy: copy.used)
        total = sum(copy.size for copy in copies)
        for copy in copies:
            if total > self._limit and copy.path != newest and remove(copy):
                total -= copy.size

    def _not_kept(self, origin: Origin, error: Exception) -> None:
        reason = str(error) if isinstance(error, _Unfit) else f"{type(error).__name__}: {error}"
        self.warnings.append(
            f"{self._folder}: the converted weights of {origin.model} ({origin.dtype}) are not kept, so every run"
            f" converts them: {reason}"
        )


def kept_copies(folder: Path) -> list[KeptCopy]:
    """The copies in a folder, in no order; what else is in it is not looked at."""
    return [_kept(path) for path in _matching(folder, _COPY)]


def unfinished_copies(folder: Path) -> list[KeptCopy]:
    """What processes left behind, or are making at this moment."""
    return [_kept(path) for path in _matching(folder, _UNFINISHED)]


def remove(copy: KeptCopy) -> bool:
    """Remove a copy, finished or not; False where a process makes or reads it, or the disk refuses."""
    found = _UNFINISHED.fullmatch(copy.path.name)
    lock = _lock(copy.path.parent, found[1] if found else copy.path.name)
    try:
        with lock.acquire(timeout=0):
            shutil.rmtree(copy.path)
    except (Timeout, OSError):
        return False
    return True


def _lock(folder: Path, key: str) -> FileLock:
    # The file stays when the copy goes: who waits for a lock must wait for the same file as all others.
    return FileLock(folder / f"{key}.lock", fallback_to_soft=False)


def _matching(folder: Path, form: re.Pattern[str]) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if form.fullmatch(path.name) and path.is_dir()]
    except FileNotFoundError:
        return []


def _unfinished(folder: Path, key: str) -> list[Path]:
    return [path for path in _matching(folder, _UNFINISHED) if path.name.startswith(f".{key}.")]


def _kept(path: Path) -> KeptCopy:
    origin, used = None, 0.0
    with contextlib.suppress(OSError, ValueError):
        origin = _read_manifest(path).origin
        used = (path / MANIFEST).stat().st_mtime
    size = 0
    for file in path.iterdir() if path.is_dir() else ():
        with contextlib.suppress(OSError):
            size += file.stat().st_size
    return KeptCopy(path, origin, size, datetime.fromtimestamp(used, UTC))


def _read_manifest(path: Path) -> _Manifest:
    return decode(_Manifest, from_bytes((path / MANIFEST).read_bytes()))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
