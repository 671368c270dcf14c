"""`truthguard cache`: what is kept between runs, and how to be rid of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from truthguard.errors import StoreError
from truthguard.report.words import counted
from truthguard.store.answers import FILE_NAME, AnswerStore, count_answers
from truthguard.store.session import CLAIMS, require_idle
from truthguard.store.weights import FOLDER, KeptCopy, kept_copies, remove, unfinished_copies
from truthguard.text import named, size_text

What = Literal["answers", "weights", "all"]
DATA = "data"


def list_cache(folder: Path) -> Iterator[str]:
    """What the folder holds, line by line. Changes nothing."""
    yield f"{folder}:" if folder.is_dir() else f"{folder}: there is none yet"
    yield f"  {_answers_line(folder)}"
    yield from (f"    {path.name}  {size_text(_size(path))}  set aside, unreadable" for path in _aside(folder))
    copies = sorted(kept_copies(folder / FOLDER), key=lambda copy: copy.used, reverse=True)
    total = f", {size_text(sum(copy.size for copy in copies))}" if copies else ""
    yield f"  converted weights: {counted(len(copies), 'copy')}{total}"
    yield from (f"    {_copy_line(copy)}" for copy in copies)
    yield from (f"    {_copy_line(copy)}, unfinished" for copy in unfinished_copies(folder / FOLDER))
    files = [path for path in (folder / DATA).rglob("*") if path.is_file()]
    if files:
        size = size_text(sum(map(_size, files)))
        yield f"  benchmark files: {counted(len(files), 'file')}, {size} (of `truthguard fetch`; not cleared here)"


def clear_cache(folder: Path, what: What) -> Iterator[str]:
    """Remove answers, converted weights, or both, and say what that freed; nothing else is touched.

    Raises StoreError for what a run is using: it is left as it is.
    """
    if what in ("answers", "all"):
        yield from _clear_answers(folder)
    if what in ("weights", "all"):
        yield from _clear_weights(folder / FOLDER)


def _answers_line(folder: Path) -> str:
    path = folder / FILE_NAME
    if not path.is_file():
        return "answers: none"
    try:
        answers = f"{count_answers(path):,}"
    except StoreError as error:
        answers = f"cannot be counted ({error})"
    return f"answers: {answers}, {size_text(_size(path))}"


def _copy_line(copy: KeptCopy) -> str:
    if copy.origin is None:
        return f"{copy.path.name}  {size_text(copy.size)}"
    what = named(copy.origin.model, copy.origin.dtype)
    return f"{what}  {size_text(copy.size)}  last used {copy.used:%Y-%m-%d %H:%M} UTC"


def _clear_answers(folder: Path) -> Iterator[str]:
    path = folder / FILE_NAME
    freed, answers = 0, 0
    if path.is_file():
        with require_idle(folder / CLAIMS):
            before = _size(path)
            store = AnswerStore(path)
            try:
                answers = store.clear()
            finally:
                store.close()
            yield from store.warnings
            freed = before - _size(path)
    aside = _aside(folder)
    for file in aside:
        freed += _size(file)
        file.unlink()
    more = f" and {counted(len(aside), 'file')} that had been set aside" if aside else ""
    yield f"answers: {answers:,} cleared{more}, {size_text(max(0, freed))} freed"


def _clear_weights(folder: Path) -> Iterator[str]:
    copies = [*kept_copies(folder), *unfinished_copies(folder)]
    gone = [copy for copy in copies if remove(copy)]
    freed = size_text(sum(copy.size for copy in gone))
    yield f"converted weights: {counted(len(gone), 'copy')} cleared, {freed} freed"
    if left := [copy for copy in copies if copy not in gone]:
        names = ", ".join(copy.path.name for copy in left)
        raise StoreError(f"{folder}: {names} could not be removed: a run is using it, or the disk refuses; try again")


def _aside(folder: Path) -> list[Path]:
    """Files that a run found unusable and renamed."""
    prefix = f"{FILE_NAME}.aside-"
    return sorted(path for path in folder.glob(f"{prefix}*") if path.name.removeprefix(prefix).isdecimal())


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
