"""Every reply of a model, kept from the moment it arrives; and what helps to find it again.

A reply is found by what decides it: the model's whole identity and the request. The texts themselves are not
stored, only their digest.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from truthguard.backends.protocol import Masses, Reply, Request, Scores, Text, Usage
from truthguard.errors import StoreError
from truthguard.records import Facts, Identity
from truthguard.store.database import Database
from truthguard.store.encoding import decode, digest, encode, from_bytes, to_bytes

FILE_NAME = "answers.sqlite3"
FILE_FORMAT = 1
# Raised whenever the same request to the same model would be answered otherwise: tokens, prompts, arithmetic.
ANSWER_FORMAT = 1

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answered_at TEXT NOT NULL, kind TEXT NOT NULL,"
    " value BLOB NOT NULL, usage BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS facts (identity TEXT PRIMARY KEY, facts BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS digests (path BLOB PRIMARY KEY, size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS unfinished (run TEXT PRIMARY KEY, begun TEXT NOT NULL) WITHOUT ROWID",
)
_TABLES = ("answers", "facts", "digests", "unfinished")
_KINDS: Mapping[str, type[Scores] | type[Masses] | type[Text]] = {"Scores": Scores, "Masses": Masses, "Text": Text}
_KEYS_A_SWEEP = 500


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What is kept of a reply; the request is the asker's own."""

    value: Scores | Masses | Text
    usage: Usage
    answered_at: datetime


def fingerprint(identity: Identity) -> str:
    """A digest of everything that decides a model's answers."""
    return digest(identity)


def request_key(identity: str, request: Request) -> bytes:
    """The key of a request to the model with this fingerprint: a SHA-256 of canonical JSON."""
    content = {
        "file_format": FILE_FORMAT,
        "answer_format": ANSWER_FORMAT,
        "identity": identity,
        "kind": type(request).__name__,
        "request": request,
    }
    return bytes.fromhex(digest(content))


class AnswerStore:
    """The answers in one SQLite file, shared by any number of processes.

    `warnings` are lines for the summary: a damaged file that was set aside, answers that could not be read.
    `durable` is for a file that outlives the session: each reply waits for the disk. Without it a killed process
    still loses nothing. Raises StoreError where nothing can be kept.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self._database = Database(path, version=FILE_FORMAT, schema=_SCHEMA, durable=durable)

    @property
    def warnings(self) -> list[str]:
        return self._database.warnings

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, KeptAnswer]:
        """The kept answers of those keys that have one."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, KeptAnswer] = {}
        unreadable = 0
        for start in range(0, len(wanted), _KEYS_A_SWEEP):
            sweep = wanted[start : start + _KEYS_A_SWEEP]
            marks = ",".join("?" * len(sweep))
            statement = f"SELECT key, answered_at, kind, value, usage FROM answers WHERE key IN ({marks})"
            for key, *columns in self._database.execute(statement, sweep):
                try:
                    found[key] = _answer(*columns)
                except (ValueError, KeyError):
                    unreadable += 1
        if unreadable:
            self.warnings.append(f"{self.path}: {unreadable} kept answers are damaged and are asked for again")
        return found

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply that has a value; it outlives this process from the moment this returns."""
        if reply.value is None:
            raise ValueError("only a reply with a value is kept: one without is asked for again")
        self._database.execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
            (
                key,
                encode(reply.answered_at),
                type(reply.value).__name__,
                to_bytes(encode(reply.value)),
                to_bytes(encode(reply.usage)),
            ),
        )

    def facts(self, identity: str) -> Facts | None:
        """What was learnt when the model with this fingerprint answered last."""
        rows = self._database.execute("SELECT facts FROM facts WHERE identity = ?", (identity,))
        try:
            return decode(Facts, from_bytes(rows[0][0])) if rows else None
        except ValueError:
            self.warnings.append(f"{self.path}: what was kept of the scoring path is damaged and left out")
            return None

    def put_facts(self, identity: str, facts: Facts) -> None:
        """Keep what was learnt while the model with this fingerprint answered."""
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (identity, to_bytes(encode(facts))))

    def begin(self, run: str) -> datetime:
        """When the run with this key was begun: now, unless it was begun before and never finished.

        A run that is resumed goes by its beginning: what it had asked is not too old for it, however long it lay.
        """
        rows = self._database.execute("SELECT begun FROM unfinished WHERE run = ?", (run,))
        try:
            if rows:
                return decode(datetime, rows[0][0])
        except ValueError:
            self.warnings.append(f"{self.path}: the beginning of an unfinished run is damaged: it begins anew")
        now = datetime.now(UTC)
        self._database.execute("INSERT OR REPLACE INTO unfinished VALUES (?, ?)", (run, encode(now)))
        return now

    def finish(self, run: str) -> None:
        """The run with this key is complete: the next one with it begins anew."""
        self._database.execute("DELETE FROM unfinished WHERE run = ?", (run,))

    def clear(self) -> int:
        """Forget everything, and give the space back; how many answers that were."""
        (count,) = self._database.execute("SELECT count(*) FROM answers")[0]
        for table in _TABLES:
            self._database.execute(f"DELETE FROM {table}")
        self._database.execute("VACUUM")
        return int(count)

    def digest(self, path: Path, compute: Callable[[Path], str]) -> str:
        """The digest of a file, computed again only when its size or its time of change differs."""
        name = os.fsencode(os.path.abspath(path))
        before = path.stat()
        rows = self._database.execute("SELECT size, mtime_ns, digest FROM digests WHERE path = ?", (name,))
        if rows and rows[0][:2] == (before.st_size, before.st_mtime_ns):
            return str(rows[0][2])
        computed = compute(path)
        after = path.stat()
        # A file that changed while it was read has a digest that belongs to neither state.
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            self._database.execute(
                "INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?)",
                (name, after.st_size, after.st_mtime_ns, computed),
            )
        return computed

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


def count_answers(path: Path) -> int:
    """How many answers a file holds, which is only read. Raises StoreError for one that is no store of ours."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreError(f"{path.name}: {error}; the next run sets it aside if it is damaged") from error


def _answer(answered_at: str, kind: str, value: bytes, usage: bytes) -> KeptAnswer:
    return KeptAnswer(
        decode(_KINDS[kind], from_bytes(value)),
        decode(Usage, from_bytes(usage)),
        decode(datetime, answered_at),
    )
