"""One file after the other: kept where it is there, refused where another is in its place, else fetched whole."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from truthguard.benchmarks.files import git_blob, has_digest, read_content
from truthguard.errors import DataError, Mistake, UsageError
from truthguard.store.atomic import write_atomically

RETRIES = 2
TIMEOUT_SECONDS = 30.0

_WAY_OUT = "move it away, or fetch into another folder"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to have: where it belongs and where it comes from.

    `digests` are those of its published contents, as SHA-256 or as git blob; the first is the one behind `url`.
    """

    path: Path
    url: str
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextsFile:
    """A JSON file made of texts that upstream keeps in its code: what they are called, their digest, how to get them.

    The file holds `head` and `fields`. The digest is that of texts_sha256 over `fields`, or over the one of them
    where there is one.
    """

    path: Path
    name: str
    sha256: str
    head: Mapping[str, str]
    fields: tuple[str, ...]
    read: Callable[[], Mapping[str, object]]

    def digest(self, content: Mapping[str, object]) -> str:
        texts = {field: content[field] for field in self.fields}
        return texts_sha256(texts if len(texts) > 1 else texts[self.fields[0]])

    def published(self) -> bool:
        """Whether the file that is there holds the published texts."""
        try:
            return self.digest(json.loads(self.path.read_bytes())) == self.sha256
        except (OSError, ValueError, LookupError, TypeError):
            return False

    def made(self) -> bytes:
        """The content of the file, from upstream. Raises DataError."""
        texts = self.read()
        if (found := self.digest(texts)) != self.sha256:
            raise DataError(f"upstream does not hold the published {self.name}: {_differs(self.sha256, found)}")
        return (json.dumps({**self.head, **texts}, indent=1, ensure_ascii=False) + "\n").encode()


def fetch_all(files: Sequence[DataFile], texts: TextsFile) -> list[Path]:
    """Have all of them; the paths at which they lie, which may end in .gz where they were there before.

    What is there and published is kept without a download, anything else that is there is never overwritten. Each
    file is written whole or not at all. Raises DataError for a file that cannot be had, is not the published one, or
    stands in the way.
    """
    _refuse_to_overwrite(files, texts)
    for file in files:
        if _lies_at(file.path) is None:
            _put(file.path, _published(download(file.url), file))
    if not texts.path.exists():
        _put(texts.path, texts.made())
    return [*(_lies_at(file.path) or file.path for file in files), texts.path]


def checked_url(url: str) -> str:
    """The address without a slash at its end. Raises UsageError unless it is https, or this machine's loopback."""
    parts = urlsplit(url)
    loopback = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme != "https" and not loopback:
        raise UsageError(f"{url}: data is fetched over https only")
    return url.rstrip("/")


def download(url: str) -> bytes:
    """The content behind an address, unchecked. Raises DataError."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        store = pooch.create(
            path=folder, base_url="", registry={"file": None}, urls={"file": url}, retry_if_failed=RETRIES
        )
        try:
            return Path(store.fetch("file", downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS))).read_bytes()
        except (OSError, ValueError) as error:
            raise DataError(f"cannot fetch {url}: {error}") from error


def texts_sha256(texts: object) -> str:
    """The digest of texts as canonical JSON: sorted keys, no spaces, ASCII."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _lies_at(path: Path) -> Path | None:
    """The file that a loader would read, compressed or not; None where there is none."""
    return next((each for each in (path, path.with_name(f"{path.name}.gz")) if each.exists()), None)


def _refuse_to_overwrite(files: Sequence[DataFile], texts: TextsFile) -> None:
    """What is there and is not the published file is somebody's own, or damaged: its owner decides."""
    mistakes = []
    for file in files:
        path = _lies_at(file.path)
        if path is not None and not has_digest(content := read_content(path), file.digests):
            mistakes.append(Mistake(f"is not the published file ({_unlike(file, content)}); {_WAY_OUT}", path))
    if texts.path.exists() and not texts.published():
        mistakes.append(Mistake(f"does not hold the published {texts.name}; {_WAY_OUT}", texts.path))
    if mistakes:
        raise DataError(mistakes)


def _published(content: bytes, file: DataFile) -> bytes:
    if not has_digest(content, file.digests[:1]):
        raise DataError(f"{file.url} is not the published file, nothing was kept: {_unlike(file, content)}")
    return content


def _unlike(file: DataFile, content: bytes) -> str:
    """The digest that was expected of a content, and its own of the same kind."""
    expected = file.digests[0]
    if len(expected) == hashlib.sha1(usedforsecurity=False).digest_size * 2:
        return _differs(expected, git_blob(content), "git blob")
    return _differs(expected, hashlib.sha256(content).hexdigest())


def _differs(expected: str, found: str, kind: str = "sha256") -> str:
    return f"{kind} expected {expected}, got {found}"


def _put(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        raise DataError([Mistake(f"cannot be written: {error.strerror or error}", path)]) from error
