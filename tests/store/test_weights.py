"""Converted weights are kept whole, checked when they are used, and bounded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from truthguard.store.weights import MANIFEST, Origin, WeightsStore, kept_copies, remove, unfinished_copies

ORIGIN = Origin("tiny.gguf", "a" * 64, "float32", {"gguf": "1"})
OTHER = Origin("other.gguf", "b" * 64, "float32", {"gguf": "1"})


def compute(path: Path, computed: Callable[[Path], str]) -> str:
    """A memory that remembers nothing."""
    return computed(path)


def write(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"w" * 1000)
    (folder / "config.json").write_bytes(b"{}")


def keep(store: WeightsStore, origin: Origin = ORIGIN, files: Callable[[Path], None] = write) -> Path | None:
    with store.claim(origin) as claimed:
        assert claimed
        return store.keep(origin, files)


def find(store: WeightsStore, origin: Origin = ORIGIN) -> Path | None:
    with store.claim(origin):
        return store.find(origin)


def test_a_copy_is_found_by_what_decides_it(tmp_path: Path) -> None:
    """The file's digest, the dtype and the versions; not the file's name."""
    store = WeightsStore(tmp_path / "weights", compute)
    path = keep(store)
    assert path is not None
    assert find(store) == path
    assert find(store, Origin("renamed.gguf", "a" * 64, "float32", {"gguf": "1"})) == path
    for other in (
        Origin("tiny.gguf", "c" * 64, "float32", {"gguf": "1"}),
        Origin("tiny.gguf", "a" * 64, "bfloat16", {"gguf": "1"}),
        Origin("tiny.gguf", "a" * 64, "float32", {"gguf": "2"}),
    ):
        assert find(store, other) is None
    assert not store.warnings


def test_a_copy_that_was_checked_is_not_read_again(tmp_path: Path) -> None:
    """The digests are remembered from the making on."""
    known: dict[Path, str] = {}
    read: list[Path] = []

    def remember(path: Path, computed: Callable[[Path], str]) -> str:
        if path not in known:
            known[path] = computed(path)
            read.append(path)
        return known[path]

    store = WeightsStore(tmp_path / "weights", remember)
    path = keep(store)
    read.clear()
    assert find(store) == path
    assert read == []


def cut(path: Path) -> None:
    (path / "model.safetensors").write_bytes(b"w" * 999)


def flip(path: Path) -> None:
    (path / "model.safetensors").write_bytes(b"w" * 999 + b"v")


def lose(path: Path) -> None:
    (path / "config.json").unlink()


def add(path: Path) -> None:
    (path / "model-2.safetensors").write_bytes(b"w")


def garble(path: Path) -> None:
    (path / MANIFEST).write_bytes(b'{"origin": 7}')


def bare(path: Path) -> None:
    (path / MANIFEST).unlink()


@pytest.mark.parametrize("damage", [cut, flip, lose, add, garble, bare])
def test_a_damaged_copy_is_removed_and_never_used(damage: Callable[[Path], None], tmp_path: Path) -> None:
    """A warning says what was wrong, and the copy is made anew."""
    store = WeightsStore(tmp_path / "weights", compute)
    path = keep(store)
    assert path is not None
    damage(path)
    assert find(store) is None
    assert not path.exists()
    assert [line for line in store.warnings if "the converted weights of tiny.gguf were removed" in line]
    assert keep(store) == path == find(store)


def test_a_copy_in_the_place_of_another_is_not_used(tmp_path: Path) -> None:
    """Its manifest says what it was made of."""
    store = WeightsStore(tmp_path / "weights", compute)
    path = keep(store, OTHER)
    assert path is not None
    shutil.move(path, path.with_name(ORIGIN.key))
    assert find(store) is None
    assert "made of another file" in store.warnings[0]


def failing(error: Exception) -> Callable[[Path], None]:
    def fail(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"w")
        raise error

    return fail


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("I/O error: disk full")])
def test_a_full_disk_is_a_warning(error: Exception, tmp_path: Path) -> None:
    """Whatever the writer raises, nothing half made is left and the run goes on."""
    store = WeightsStore(tmp_path / "weights", compute)
    assert keep(store, files=failing(error)) is None
    assert "tiny.gguf (float32) are not kept, so every run converts them" in store.warnings[0]
    assert str(error) in store.warnings[0]
    assert [path.name for path in (tmp_path / "weights").iterdir()] == [f"{ORIGIN.key}.lock"]


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    """Nothing is claimed, so nothing is looked for or made."""
    (tmp_path / "weights").write_text("a file in its place")
    store = WeightsStore(tmp_path / "weights", compute)
    with store.claim(ORIGIN) as claimed:
        assert not claimed
    assert "are not kept" in store.warnings[0]


def test_too_little_room_is_known_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the disk, and of the limit; a copy that turns out larger than the limit is not kept either."""
    store = WeightsStore(tmp_path / "weights", compute, limit=500)
    with store.claim(ORIGIN):
        assert store.fits(ORIGIN, 500)
        assert not store.fits(ORIGIN, 501)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=400))
        assert not store.fits(ORIGIN, 400)
    assert keep(store) is None
    assert [line.rpartition(": ")[2] for line in store.warnings] == [
        "they take 501 B, and at most 500 B are kept",
        "they take 400 B, and the disk has 400 B left",
        "they take 1,002 B, and at most 500 B are kept",
    ]


def test_a_limit_of_nothing_keeps_nothing_and_says_nothing(tmp_path: Path) -> None:
    """Whoever set it knows."""
    store = WeightsStore(tmp_path / "weights", compute, limit=0)
    with store.claim(ORIGIN) as claimed:
        assert not claimed
    assert not store.warnings
    assert list(tmp_path.iterdir()) == []


def test_the_longest_unused_copies_leave_beyond_the_limit(tmp_path: Path) -> None:
    """By their last use, not their making; the new one stays, and one that is in use."""
    folder = tmp_path / "weights"
    store = WeightsStore(folder, compute, limit=4000)  # a copy takes between 1,000 and 2,000 bytes
    origins = [Origin("m.gguf", digit * 64, "float32", {}) for digit in "abc"]
    paths = [keep(store, origin) for origin in origins[:2]]
    for age, path in zip((100, 200), paths, strict=True):
        assert path is not None
        os.utime(path / MANIFEST, (1e9 + age, 1e9 + age))
    assert find(store, origins[0])  # used now: the second is the oldest
    assert keep(store, origins[2])
    assert {copy.path.name for copy in kept_copies(folder)} == {origins[0].key, origins[2].key}
    with store.claim(origins[0]):
        assert keep(WeightsStore(folder, compute, limit=2000), origins[1])
    assert {copy.path.name for copy in kept_copies(folder)} == {origins[0].key, origins[1].key}


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    """The next one that makes the copy removes it; another one's is left alone."""
    folder = tmp_path / "weights"
    store = WeightsStore(folder, compute)
    for key in (ORIGIN.key, OTHER.key):
        (folder / f".{key}.0123abcd.part").mkdir(parents=True)
    keep(store)
    (left,) = unfinished_copies(folder)
    assert left.path.name.startswith(f".{OTHER.key}")
    assert remove(left)
    assert unfinished_copies(folder) == []


def test_a_copy_in_use_is_not_removed(tmp_path: Path) -> None:
    """Whoever reads it holds its lock."""
    store = WeightsStore(tmp_path / "weights", compute)
    keep(store)
    (copy,) = kept_copies(tmp_path / "weights")
    with store.claim(ORIGIN):
        assert not remove(copy)
    assert remove(copy)
    assert kept_copies(tmp_path / "weights") == []


def test_of_two_processes_one_makes_the_copy(tmp_path: Path) -> None:
    """The other waits and uses it."""
    code = f"""
import os, sys, time
from pathlib import Path
from truthguard.store.weights import Origin, WeightsStore
store = WeightsStore(Path({str(tmp_path / "weights")!r}), lambda path, compute: compute(path))
origin = Origin("tiny.gguf", "a" * 64, "float32", {{"gguf": "1"}})

def write(folder):
    with open({str(tmp_path / "made")!r}, "a") as log:
        log.write(f"{{os.getpid()}}\\n")
    (folder / "model.safetensors").write_bytes(b"w" * 1000)
    time.sleep(0.5)

print("ready", flush=True)
sys.stdin.readline()
with store.claim(origin):
    path = store.find(origin) or store.keep(origin, write)
print((path / "model.safetensors").stat().st_size, *store.warnings)
"""
    command = [sys.executable, "-c", code]
    pair = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in pair:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = []
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in pair:
        said.append(process.communicate(timeout=60)[0])
    assert said == ["1000\n", "1000\n"]
    assert len((tmp_path / "made").read_text().splitlines()) == 1
