"""How many requests the processes of one session have under way together."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from truthguard.errors import StoreError


class RequestSlots:
    """At most `most` requests under way by all processes, and objects, that name the same folder.

    A slot is a file that is locked while a request is under way. The lock ends with its process: whoever is killed
    leaves the slots to the others.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        # A lock that is held here would be granted a second time: only those that are not are tried.
        # A file that merely exists would outlive a killed process: without flock there is no bound.
        self._idle = [
            FileLock(folder / f"{number}.lock", thread_local=False, fallback_to_soft=False) for number in range(most)
        ]

    def take(self) -> FileLock | None:
        """A slot that is free now, to be given back; None where there is none.

        Raises StoreError where nothing can be locked.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for place, lock in enumerate(self._idle):
                try:
                    lock.acquire(blocking=False)
                except Timeout:
                    continue
                # What was free is tried first the next time, what another process holds last.
                self._idle = self._idle[place + 1 :] + self._idle[:place]
                return lock
        except (OSError, NotImplementedError) as error:
            raise StoreError(
                f"{self._folder}: requests under way cannot be counted here ({type(error).__name__}: {error}), and"
                " concurrency bounds them: name a folder on a disk that locks files with TMPDIR"
            ) from error
        return None

    def give_back(self, slot: FileLock) -> None:
        """Free a slot that `take` gave."""
        slot.release()
        self._idle.insert(0, slot)
