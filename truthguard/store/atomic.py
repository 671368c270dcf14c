"""Files that are there whole or not at all, whenever the writer dies."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside `path`, flush to the disk, and put the file in the place of `path` in one step.

    Raises OSError, in which case `path` is as it was.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        # Not tempfile.mkstemp: its files are the owner's alone, whatever the umask says.
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def put_folder(part: Path, folder: Path) -> None:
    """Flush the files of the folder `part` to the disk and give it the name `folder`, which none has, in one step.

    Raises OSError.
    """
    for path in (*part.iterdir(), part):
        _flush(path)
    os.rename(part, folder)
    _flush(folder.parent)


def _flush(path: Path) -> None:
    if path.is_dir() and os.name != "posix":  # elsewhere a folder cannot be opened, and its entries are flushed with it
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
