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
