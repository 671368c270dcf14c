"""One SQLite file that several processes write at once, and what happens when it is damaged.

The rollback journal, not the write-ahead log: homes lie on network disks, where the latter's shared memory does
not work. Every statement is its own transaction, so a reply is safe as soon as `execute` returns.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from truthguard.errors import StoreError

# "tgst" in the file's header tells our files from another program's.
APPLICATION_ID = 0x74677374
BUSY_SECONDS = 120.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class _Unusable(Exception):
    """Why the file cannot be used as it is."""


class Database:
    """A file with the tables of `schema` in the form `version`.

    A file that is damaged, another program's or of another version is set aside: renamed, never deleted.
    A fresh one is begun in its place and `warnings` says so. One connection, guarded: any thread may use it.
    What is committed outlives the process in any case; without `durable` a failure of the machine's power may
    cost the file, and a commit does not wait for the disk.

    Raises StoreError where nothing can be kept.
    """

    def __init__(self, path: Path, *, version: int, schema: Sequence[str], durable: bool = True) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._version = version
        self._schema = schema
        self._durable = durable
        self._guard = threading.Lock()
        self._connection = self._open(thorough=False)

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement, committed when this returns, and fetch its rows."""
        with self._guard:
            try:
                return self._connection.execute(statement, parameters).fetchall()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise self._cannot(error) from error
            # Damage may lie deeper in the file than opening it looks.
            self._connection.close()
            self._connection = self._open(thorough=True)
            try:
                return self._connection.execute(statement, parameters).fetchall()
            except sqlite3.Error as error:
                raise self._cannot(error) from error

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._connection.close()

    def _open(self, *, thorough: bool) -> sqlite3.Connection:
        """Open under a lock: of several processes that meet a damaged file, one sets it aside."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path.with_name(self.path.name + ".lock"), fallback_to_soft=False)
            with lock:
                try:
                    return self._connect(thorough=thorough)
                except _Unusable as reason:
                    self._set_aside(str(reason))
                    return self._connect(thorough=False)
        except (OSError, NotImplementedError, sqlite3.Error, _Unusable) as error:
            raise self._cannot(error) from error

    def _connect(self, *, thorough: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection, thorough=thorough)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.DatabaseError) and _is_damage(error):
                raise _Unusable(f"is damaged ({error})") from error
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, *, thorough: bool) -> None:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA synchronous = {'NORMAL' if self._durable else 'OFF'}")
        # A write lock at once: a file that cannot be written is found now, not after the model has answered.
        connection.execute("BEGIN IMMEDIATE")
        owner = _number(connection, "PRAGMA application_id")
        version = _number(connection, "PRAGMA user_version")
        if owner == version == _number(connection, "SELECT count(*) FROM sqlite_master") == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {self._version}")
        elif owner != APPLICATION_ID:
            raise _Unusable("was not made by truthguard")
        elif version != self._version:
            age = "a newer" if version > self._version else "an older"
            raise _Unusable(f"was made by {age} truthguard (form {version}; this one uses {self._version})")
        for statement in self._schema:
            connection.execute(statement)
        if thorough:
            # Within the write lock: nobody is in the middle of a change to a file that is set aside.
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise _Unusable(f"is damaged ({' '.join(found.split())})")
        connection.execute("COMMIT")

    def _set_aside(self, reason: str) -> None:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.aside-{number}")).exists():
            number += 1
        os.replace(self.path, aside)
        self.warnings.append(
            f"{self.path} {reason}: it was set aside as {aside.name} and a fresh one begun,"
            " so answers are asked for again"
        )

    def _cannot(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: answers cannot be kept here ({type(error).__name__}: {error})."
            " Name a folder that can be written with --truthguard-cache DIR,"
            " or keep none: --truthguard-cache off"
        )


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    # The lowest byte is the primary result code; errors that sqlite3 raises by itself carry none.
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED
