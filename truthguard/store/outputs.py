"""Files that a person names to be written: what is wrong with a name is found before the work, not after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from truthguard.errors import StoreError
from truthguard.store.atomic import write_atomically


def unwritable(path: Path) -> str | None:
    """Why a file cannot be written there; None where nothing is in sight."""
    if os.path.isdir(path):
        return "this is a folder; name a file"
    if os.path.exists(path) and not os.path.isfile(path):
        return "this is no regular file; name one, or a new one"
    if not os.path.isdir(path.parent):
        return f"the folder {path.parent} does not exist"
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        return "no permission to write there"
    return None


def named_twice(outputs: Sequence[tuple[str, Path]]) -> Iterator[str]:
    """Options that would write over each other's file."""
    for (option, path), (other, second) in combinations(outputs, 2):
        if os.path.realpath(path) == os.path.realpath(second):
            yield f"{other} {second}: this is the file of {option} too; name another file"


def write_page(path: Path, page: str, option: str) -> None:
    """Write a page for people, whole or not at all. Raises StoreError that names the option."""
    try:
        write_atomically(path.resolve(), page.encode("utf-8"))
    except OSError as error:
        raise StoreError(f"{option} {path}: the page was not written: {error}") from error
