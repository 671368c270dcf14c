"""One session measures each run once, in whatever process, and nobody waits for the dead."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from multiprocessing import get_context
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from tests.store import fakes
from tests.store.fakes import KEY, reply_to, requests, run_of
from truthguard.errors import DataError, Mistake, ModelError, StoreError, TruthguardError, UsageError
from truthguard.records import Run
from truthguard.store.session import Progress, SessionStore

RUN = run_of([reply_to(request) for request in requests(2)])
CONTEXT = get_context("spawn")


def never() -> Run:
    raise AssertionError("computed a second time")


def test_a_run_is_computed_once(tmp_path: Path) -> None:
    """Whoever asks later, here or in another process, reads the run that the first one computed."""
    session = SessionStore(tmp_path / "session")
    assert session.run_once(KEY, lambda: RUN) == RUN
    assert session.run_once(KEY, never) == RUN
    other = SessionStore(tmp_path / "session")
    assert other.read_run(KEY) == other.run_once(KEY, never) == RUN


def test_runs_of_other_keys_are_others(tmp_path: Path) -> None:
    """A key that nobody measured has no run."""
    session = SessionStore(tmp_path)
    session.run_once(KEY, lambda: RUN)
    assert session.read_run("cd" * 32) is None


@pytest.mark.parametrize(
    "error",
    [
        ModelError("no such model: m\nset --truthguard-model"),
        StoreError("disk full"),
        UsageError([Mistake("bad", Path("thresholds.toml"), 3), Mistake("worse")]),
        DataError([Mistake("no column", Path("data.csv"))]),
        TruthguardError("lone \ud800"),
    ],
)
def test_an_error_is_everyones(tmp_path: Path, error: TruthguardError) -> None:
    """An error of the run is raised again, same class and words, for whoever asks later: nothing is retried."""

    def fail() -> Run:
        raise error

    for compute in (fail, never):
        with pytest.raises(TruthguardError) as raised:
            SessionStore(tmp_path).run_once(KEY, compute)
        assert type(raised.value) is type(error)
        assert str(raised.value) == str(error)


def test_an_error_of_an_unknown_class_is_its_base(tmp_path: Path) -> None:
    """A subclass that other processes may not know is raised there as the class that they do know."""

    class Peculiar(ModelError):
        pass

    def fail() -> Run:
        raise Peculiar("odd")

    with pytest.raises(Peculiar):
        SessionStore(tmp_path).run_once(KEY, fail)
    with pytest.raises(ModelError, match=r"^odd$"):
        SessionStore(tmp_path).run_once(KEY, never)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("bug")])
def test_an_interrupted_run_is_computed_again(tmp_path: Path, error: BaseException) -> None:
    """An interrupt or a bug is not the run's result: the claim is free and the next one computes."""
    session = SessionStore(tmp_path)

    def fail() -> Run:
        raise error

    with pytest.raises(type(error)):
        session.run_once(KEY, fail)
    assert session.run_once(KEY, lambda: RUN) == RUN


def test_a_claim_is_one_holders(tmp_path: Path) -> None:
    """While a run is claimed nobody else gets it, in a session with another folder neither; others are free."""
    here = SessionStore(tmp_path / "here", claims=tmp_path / "claims")
    there = SessionStore(tmp_path / "there", claims=tmp_path / "claims")
    with here.claim(KEY):
        with pytest.raises(Timeout):
            FileLock(tmp_path / "claims" / f"{KEY}.lock", timeout=0).acquire()
        with there.claim("cd" * 32):
            pass
    with there.claim(KEY):
        pass


@pytest.mark.parametrize("content", [b"", b'{"run": {"benchm', b"[]", b"{}", b'{"run": {}}', b"\xff"])
def test_a_damaged_run_is_told(tmp_path: Path, content: bytes) -> None:
    """A file that is no run is an error with its path, never an empty run."""
    (tmp_path / f"run-{KEY}.json").write_bytes(content)
    with pytest.raises(StoreError, match=f"run-{KEY}.json: a run of this session cannot be read"):
        SessionStore(tmp_path).run_once(KEY, never)


def test_claims_in_an_impossible_place_are_told(tmp_path: Path) -> None:
    """Where no lock can be made the error says which options lead out."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="--truthguard-cache DIR"):
        SessionStore(tmp_path, claims=tmp_path / "file").run_once(KEY, never)


def test_a_disk_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that would outlive its process is not taken instead: the error names the way out."""

    def no_flock(self: FileLock, **options: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(FileLock, "acquire", no_flock)
    with pytest.raises(StoreError, match="on a disk that locks files"):
        SessionStore(tmp_path).run_once(KEY, never)


def test_a_run_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A session folder that cannot hold the run is an error with its path."""
    (tmp_path / "file").touch()
    session = SessionStore(tmp_path / "file", claims=tmp_path / "claims")
    with pytest.raises(StoreError, match=str(tmp_path / "file")):
        session.run_once(KEY, lambda: RUN)


def test_progress_is_read_elsewhere(tmp_path: Path) -> None:
    """The controller reads how far each worker's run is; the last note stands."""
    worker = SessionStore(tmp_path)
    worker.progress("a").write(1, 10, "loading")
    worker.progress("a").write(2, 10, "truthfulqa \ud800")
    worker.progress("b").write(0, 5, "starter")
    notes = SessionStore(tmp_path).read_progress()
    assert notes == (Progress("a", 2, 10, "truthfulqa \ud800"), Progress("b", 0, 5, "starter"))


def test_progress_never_ends_a_run(tmp_path: Path) -> None:
    """A note that cannot be written or read is none: nobody measures for the notes' sake."""
    session = SessionStore(tmp_path / "gone")
    session.progress("a").write(1, 2, "x")
    assert session.read_progress() == ()
    (tmp_path / "progress-a.json").write_bytes(b"{}")
    (tmp_path / "progress-b.json").mkdir()
    assert SessionStore(tmp_path).read_progress() == ()


def test_warnings_are_gathered_once(tmp_path: Path) -> None:
    """A line that several processes leave stands once in the summary."""
    SessionStore(tmp_path / "session").warn(["the cache was set aside", "odd \ud800"])
    SessionStore(tmp_path / "session").warn(["the cache was set aside"])
    assert SessionStore(tmp_path / "session").warnings() == ["odd \ud800", "the cache was set aside"]
    assert SessionStore(tmp_path / "none").warnings() == []


@pytest.mark.slow
def test_four_processes_measure_once(tmp_path: Path) -> None:
    """Of four processes that want one run at once one asks, each request once, and all have the whole run."""
    processes = [CONTEXT.Process(target=fakes.measure, args=(tmp_path, 12, 0.01)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert fakes.asked(tmp_path / "log") == [str(request.context) for request in requests(12)]
    assert [done.read_text() for done in tmp_path.glob("done-*")] == ["12"] * 4


@pytest.mark.slow
def test_a_killed_holder_is_taken_over(tmp_path: Path) -> None:
    """After kill -9 of the process that measures the waiting one gets the claim and asks only for the rest."""
    holder = CONTEXT.Process(target=fakes.measure, args=(tmp_path, 40, 0.2))
    holder.start()
    deadline = time.monotonic() + 60
    while len(fakes.asked(tmp_path / "log")) < 3:
        assert time.monotonic() < deadline, "the holder never began"
        time.sleep(0.01)
    heir = CONTEXT.Process(target=fakes.measure, args=(tmp_path, 40, 0.0))
    heir.start()
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join(60)
    heir.join(60)
    assert (holder.exitcode, heir.exitcode) == (-signal.SIGKILL, 0)
    asked = fakes.asked(tmp_path / "log")
    assert set(asked) == {str(request.context) for request in requests(40)}
    # The request that was under way when the holder died may have been answered and not yet kept.
    assert len(asked) - len(set(asked)) <= 1
    run = SessionStore(tmp_path / "session").read_run(KEY)
    assert run == run_of([reply_to(request) for request in requests(40)])


def test_who_would_wait_does_other_things_first(tmp_path: Path) -> None:
    """As long as there are any; then the run is read, or claimed once its process lets go."""
    mine, other = SessionStore(tmp_path), SessionStore(tmp_path)
    left = ["one", "two"]

    with contextlib.ExitStack() as held:
        held.enter_context(other.claim(KEY))

        def meanwhile() -> bool:
            left.pop()
            if not left:
                held.close()
            return bool(left)

        assert mine.run_once(KEY, lambda: RUN, meanwhile) == RUN
    assert left == []


def test_a_free_run_is_computed_and_no_other(tmp_path: Path) -> None:
    """Neither one that is finished nor one that another process computes; its error is kept for who asks."""
    session = SessionStore(tmp_path)

    def fail() -> Run:
        raise ModelError("no such model")

    with SessionStore(tmp_path).claim(KEY):
        assert not session.run_if_free(KEY, never)
    assert session.run_if_free(KEY, fail)
    assert not session.run_if_free(KEY, never)
    with pytest.raises(ModelError, match="no such model"):
        session.run_once(KEY, never)
