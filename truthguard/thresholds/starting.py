"""A thresholds file to begin with (`truthguard init`): starting.toml beside this module, copied as it is.

In it a comment starts with "# ", and a setting that is switched off with "#" alone.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from truthguard.errors import Mistake, UsageError

FILE_NAME = "thresholds.toml"


def starting_text() -> str:
    """The text of the file."""
    return files("truthguard.thresholds").joinpath("starting.toml").read_text(encoding="utf-8")


def write_starting_file(path: Path) -> Path:
    """Write it to `path`, or as thresholds.toml into the folder `path`; the file's path.

    Raises UsageError where something is there already, and where it cannot be written.
    """
    if os.path.isdir(path):
        path = path / FILE_NAME
    if path.suffix != ".toml":
        raise UsageError(
            [Mistake("pytest collects thresholds files by their ending: name one that ends in .toml", path)]
        )
    try:
        # Exclusively: neither a file nor what a link points to is ever written over.
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(starting_text())
    except FileExistsError:
        raise UsageError([Mistake("there already, and not written over: name another file", path)]) from None
    except OSError as error:
        raise UsageError([Mistake(f"cannot be written: {error.strerror or error}", path)]) from None
    return path
