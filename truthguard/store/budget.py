"""How many requests the processes of one session have sent together, and whether one more may follow."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from truthguard.errors import StoreError

# Another process holds the lock for some ten microseconds; the wait for it holds up every request of this one.
_SECONDS_BETWEEN_TRIES = 0.001


class RequestBudget:
    """At most `most` requests by all processes, and threads, that name the same file.

    The file has one byte for each request, written before it is sent: whoever is killed in between has spent it,
    and leaves a whole count.
    """

    def __init__(self, path: Path, most: int) -> None:
        self.most = most
        self._path = path
        # A file that merely exists would outlive a killed process: without flock there is no count.
        self._lock = FileLock(
            path.with_name(f"{path.name}.lock"), poll_interval=_SECONDS_BETWEEN_TRIES, fallback_to_soft=False
        )

    def take(self) -> bool:
        """Spend one request that is about to be sent; False, and nothing is spent, where none is left.

        Raises StoreError where it cannot be counted.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self._path.open("ab") as file:
                if file.tell() >= self.most:
                    return False
                file.write(b".")
                return True
        except (OSError, NotImplementedError) as error:
            raise StoreError(
                f"{self._path}: requests cannot be counted here ({type(error).__name__}: {error}), and max_requests"
                " bounds them: name a folder on a disk that locks files with TMPDIR, or leave max_requests out"
            ) from error
