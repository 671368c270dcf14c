"""Files are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from truthguard.store.atomic import write_atomically


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """The new content stands in the place of the old one, and nothing is left beside it."""
    path = tmp_path / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old content stays and no half file lies around."""
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_umask_decides_who_may_read(tmp_path: Path) -> None:
    """A record written for others to read is not the owner's alone."""
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
