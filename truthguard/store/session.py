"""What one pytest session shares: the controller and its xdist workers measure each run once.

Whoever asks for a run first claims it with a lock that dies with its process, and computes it; the others wait
and read it. After a kill the next one in the queue gets the lock and resumes from the answers that were kept.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from truthguard import errors
from truthguard.errors import StoreError, TruthguardError
from truthguard.records import Run
from truthguard.store.atomic import write_atomically
from truthguard.store.budget import RequestBudget
from truthguard.store.encoding import FormError, decode, encode, from_bytes, to_bytes
from truthguard.store.slots import RequestSlots

# The folder of the locks beside the kept answers.
CLAIMS = "claims"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run with this key is, as its measuring process last said."""

    key: str
    done: int
    total: int
    text: str


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error of a run, kept so that everyone who needs the run shows the same one."""

    error: str
    message: str

    @classmethod
    def of(cls, error: TruthguardError) -> _Failure:
        known = next(each for each in type(error).__mro__ if getattr(errors, each.__name__, None) is each)
        return cls(known.__name__, str(error))

    def as_error(self) -> TruthguardError:
        error: TruthguardError = getattr(errors, self.error)(self.message)
        return error


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a run ended with: exactly one of the two."""

    run: Run | None = None
    failure: _Failure | None = None

    def __post_init__(self) -> None:
        if (self.run is None) == (self.failure is None):
            raise FormError("expected a run or a failure, exactly one of them")


class ProgressNote:
    """Where the process that measures says how far it is. Write as often as people can read, not more."""

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key

    def write(self, done: int, total: int, text: str) -> None:
        """Replace the note."""
        # A note is for the eyes only: that it cannot be written is no reason to lose a run.
        with contextlib.suppress(OSError):
            write_atomically(self._path, to_bytes(encode(Progress(self._key, done, total, text))))


class SessionStore:
    """The runs of a session, in `folder`, by key (runner.run_key).

    `claims` is the folder of the locks. It belongs beside the kept answers, so that two sessions that want the
    same run take turns and the second finds every answer. Default: in the session's own folder.
    """

    def __init__(self, folder: Path, claims: Path | None = None) -> None:
        self._folder = folder
        self._claims = folder / CLAIMS if claims is None else claims
        self._read: dict[str, Run] = {}

    def run_once(self, key: str, compute: Callable[[], Run], meanwhile: Callable[[], bool] = lambda: False) -> Run:
        """The run with this key: read where it is finished, else computed here, by one process at a time.

        As long as another process computes it, `meanwhile` is called until it says that it found nothing to do.
        A TruthguardError of `compute` is kept like a run: it is raised here and, of the same class and with the
        same message, for everyone who asks later. Any other exception releases the claim and is not kept.
        """
        run = self.read_run(key)
        if run is not None:
            return run
        with self.claim(key, meanwhile):
            return self.read_run(key) or self._compute(key, compute)

    def run_if_free(self, key: str, compute: Callable[[], Run]) -> bool:
        """Compute the run unless it is finished or another process computes it; whether it was computed here.

        Its TruthguardError is kept and not raised: whoever asks for the run hears it.
        """
        lock = self._lock(key)
        if self._finished(key) or not self._acquire(lock, blocking=False):
            return False
        try:
            if self._finished(key):
                return False
            with contextlib.suppress(TruthguardError):
                self._compute(key, compute)
            return True
        finally:
            lock.release()

    def _finished(self, key: str) -> bool:
        try:
            return self.read_run(key) is not None
        except TruthguardError:
            return True

    def _compute(self, key: str, compute: Callable[[], Run]) -> Run:
        try:
            run = compute()
        except TruthguardError as error:
            self._keep(key, _Outcome(failure=_Failure.of(error)))
            raise
        self._keep(key, _Outcome(run=run))
        self._read[key] = run
        return run

    def read_run(self, key: str) -> Run | None:
        """The finished run with this key, None when there is none. Raises the error that the run ended with."""
        if key in self._read:
            return self._read[key]
        path = self._path(key)
        try:
            outcome = decode(_Outcome, from_bytes(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: a run of this session cannot be read ({error})") from error
        if outcome.failure is not None:
            raise outcome.failure.as_error()
        if outcome.run is not None:
            self._read[key] = outcome.run
        return outcome.run

    def warn(self, lines: Iterable[str]) -> None:
        """Leave lines for the session's summary; the same line from several processes stands there once."""
        for line in lines:
            content = line.encode("utf-8", "surrogatepass")
            self._write_file(f"warning-{hashlib.sha256(content).hexdigest()[:16]}.txt", content)

    def warnings(self) -> list[str]:
        """The lines that any process of the session left for the summary."""
        files = sorted(self._folder.glob("warning-*.txt"))
        return sorted(file.read_bytes().decode("utf-8", "surrogatepass") for file in files)

    @contextlib.contextmanager
    def claim(self, key: str, meanwhile: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Wait for the right to compute this run; it ends with the block, or with the process."""
        lock = self._lock(key)
        while not self._acquire(lock, blocking=False):
            if not meanwhile():
                self._acquire(lock, blocking=True)
                break
        try:
            yield
        finally:
            lock.release()

    def _lock(self, key: str) -> FileLock:
        # A file that merely exists would outlive a killed process: without flock there is no claim.
        return FileLock(self._claims / f"{key}.lock", fallback_to_soft=False)

    def _acquire(self, lock: FileLock, *, blocking: bool) -> bool:
        """Whether the claim was got; waits for it where `blocking`."""
        try:
            self._claims.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=blocking)
        except Timeout:
            return False
        except (OSError, NotImplementedError) as error:
            raise StoreError(
                f"{lock.lock_file}: the run cannot be claimed ({type(error).__name__}: {error})."
                " Name a folder on a disk that locks files with --truthguard-cache DIR, or keep none:"
                " --truthguard-cache off"
            ) from error
        return True

    def budget(self, name: str, most: int) -> RequestBudget:
        """The budget of this name, which all processes of the session spend together."""
        return RequestBudget(self._folder / f"requests-{name}", most)

    def slots(self, name: str, most: int) -> RequestSlots:
        """The requests of this name that may be under way, whichever processes of the session send them."""
        return RequestSlots(self._folder / f"slots-{name}", most)

    def progress(self, key: str) -> ProgressNote:
        """Where to say how far the run with this key is."""
        return ProgressNote(self._folder / f"progress-{key}.json", key)

    def read_progress(self) -> tuple[Progress, ...]:
        """How far each run is that someone measures or has measured."""
        notes = []
        for path in sorted(self._folder.glob("progress-*.json")):
            with contextlib.suppress(OSError, FormError):
                notes.append(decode(Progress, from_bytes(path.read_bytes())))
        return tuple(notes)

    def _path(self, key: str) -> Path:
        return self._folder / f"run-{key}.json"

    def _keep(self, key: str, outcome: _Outcome) -> None:
        self._write_file(self._path(key).name, to_bytes(encode(outcome)))

    def _write_file(self, name: str, content: bytes) -> None:
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise StoreError(f"{path}: what this session shares cannot be written ({error})") from error


@contextlib.contextmanager
def require_idle(claims: Path) -> Iterator[None]:
    """Hold every claim that was ever made in the folder. Raises StoreError where a run holds one."""
    with contextlib.ExitStack() as held:
        for path in sorted(claims.glob("*.lock")):
            try:
                held.enter_context(FileLock(path, fallback_to_soft=False).acquire(timeout=0))
            except Timeout as error:
                raise StoreError(f"{claims.parent}: a run is using the answers; try again when it has ended") from error
            except (OSError, NotImplementedError) as error:
                raise StoreError(f"{path}: cannot be locked ({type(error).__name__}: {error})") from error
        yield
