"""A SQLite file that many processes and threads use at once: opened whole or refused untouched, never half written.

Before a fork every connection is closed, since SQLite's locks belong to a process: a child that kept a connection,
or opened one beside it, would believe that it holds its parent's locks.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

import suture.stores.at_fork as at_fork
from suture.errors import StoreError
from suture.stores.group_commit import GroupCommit, Write
from suture.stores.shield import Bell, pause, shielded
from suture.stores.sqlite import schema
from suture.stores.sqlite.refusals import REFUSALS, in_words

T = TypeVar("T")

# Of a new file: an entry of a few thousand bytes fills its page, and does not spill into another one.
_PAGE_SIZE = 8192

_OPENING_PAUSE = 0.005
_FORKING_PAUSE = 0.0002
_LOCKED_PAUSE = 0.0002, 0.002


class Database:
    """The file at `path`, made when it is not there.

    Raises:
        StoreError: the file is no SQLite database, not ours, of a newer schema, or cannot be opened. It is unchanged.
    """

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._name = str(path)
        self._busy_timeout = busy_timeout
        self._flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._is_closed = False
        self._is_frozen = False
        self._file: tuple[int, int] | None = None
        self._start_afresh()
        try:
            shielded(self._open, undo=lambda _: self.close())
        except REFUSALS as error:
            raise in_words(error, self.path, self._busy_timeout) from error

    def _start_afresh(self) -> None:
        """Locks that nobody holds, and nothing that waits: also what a forked child begins with."""
        self.commits = 0
        self._committed = Bell()
        self._writes = GroupCommit(self._commit)
        self._lending = threading.Lock()
        self._fork_ended = Bell()
        self._idle: list[apsw.Connection] = []
        self._lent = 0
        self._is_forking = False

    def close(self) -> None:
        """Close the connections; one that is in use closes when it is given back. A repeat does nothing."""
        shielded(self._close)

    def _close(self) -> None:
        with self._lending:
            self._is_closed = True
            self._close_idle()

    # Reading and writing ----------------------------------------------------------------------

    def read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Do the work with a connection that it has for itself; return its answer.

        Raises:
            StoreError: what SQLite refused, in words, with its error as the cause.
        """
        try:
            return shielded(lambda: self._read(work))
        except REFUSALS as error:
            raise in_words(error, self.path, self._busy_timeout) from error

    def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._loan() as db:
            self._require_same_file()
            return work(db)

    def write(self, work: Callable[[apsw.Connection], T], undo: Callable[[T], object] | None = None) -> T:
        """Do the work in a transaction; return its answer when that is on disk.

        `undo` is called with the answer when that is on disk and an interrupt keeps it from the caller.

        Raises:
            SutureError: what the work raised, or why it could not be written. Nothing of it was.
        """
        try:
            return shielded(lambda: self._writes.do(work), undo)
        except REFUSALS as error:
            raise in_words(error, self.path, self._busy_timeout) from error

    def write_each(self, works: Sequence[Callable[[apsw.Connection], T]]) -> list[T | Exception]:
        """Do each work in one transaction; the answer of each when that is on disk, or why nothing of it was written."""
        done = shielded(lambda: self._writes.do_each(works))
        return [in_words(one, self.path, self._busy_timeout) if isinstance(one, REFUSALS) else one for one in done]

    def _commit(self, writes: list[Write[apsw.Connection]]) -> None:
        db = self._borrow()
        try:
            _in_one_transaction(db, writes, self._require_same_file)
        finally:
            self._give_back(db)
        self.commits += 1
        self._committed.ring()

    def wait_for_commit(self, seen: int, timeout: float) -> None:
        """Return when this object has made more than `seen` commits, or after `timeout` seconds."""
        shielded(lambda: self._committed.wait_for(lambda: self.commits != seen, timeout))

    # Connections ------------------------------------------------------------------------------

    @contextmanager
    def _loan(self) -> Iterator[apsw.Connection]:
        db = self._borrow()
        try:
            yield db
        finally:
            self._give_back(db)

    def _borrow(self) -> apsw.Connection:
        while True:
            with self._lending:
                if self._is_closed:
                    raise StoreError(f"{self.path}: this store was closed. Open it again with open_store.")
                if not self._is_forking:
                    self._lent += 1
                    if self._idle:
                        return self._idle.pop()
                    break
            self._fork_ended.wait_for(lambda: not self._is_forking)
        try:
            return self._connect()
        except BaseException:
            self._give_back(None)
            raise

    def _give_back(self, db: apsw.Connection | None) -> None:
        with self._lending:
            self._lent -= 1
            if db is None:
                pass
            # A frozen connection never looks at the file again, so it serves once.
            elif self._is_closed or self._is_frozen or db.in_transaction:
                db.close()
            else:
                self._idle.append(db)

    def _connect(self) -> apsw.Connection:
        self._require_same_file()
        db = _frozen(self.path) if self._is_frozen else apsw.Connection(str(self.path), flags=self._flags)
        db.set_busy_handler(_Patience(self._busy_timeout))
        # FULL: a commit that returned survives the power. secure_delete: what is erased leaves the pages too.
        db.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON").fetchall()
        return db

    def _require_same_file(self) -> None:
        """Return when the path names the file that was opened; a frozen one may be exchanged, it is opened each time."""
        if self._file is not None and not self._is_frozen and _file_at(self._name) != self._file:
            raise StoreError(
                f"{self.path}: the file was removed or replaced while this store had it open, so nothing was written. "
                "Put it back, or close this store and open the path anew."
            )

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    # Opening ----------------------------------------------------------------------------------

    def _open(self) -> None:
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path}: the directory {self.path.parent} does not exist. Create it first.")
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a directory. Name a file in it.")
        with at_fork.registering(self):
            self._look()
        try:
            self._bring_up()
        except BaseException:
            self.close()
            raise
        self._flags = apsw.SQLITE_OPEN_READWRITE
        self._file = _file_at(self._name)

    def _look(self) -> None:
        """Refuse what is not ours before SQLite opens it for writing, which could leave files beside it.

        Through SQLite all the same: closing a plain file would drop every lock that this process holds on it. A look
        takes no locks, so it can see a file half made by another process; that has a journal then, or is made by now.
        """
        journal = self.path.with_name(self.path.name + "-journal")
        deadline = time.monotonic() + self._busy_timeout
        is_second_look = False
        while True:
            try:
                return self._require_ours_or_new()
            except (apsw.Error, StoreError):
                if (is_second_look and not journal.exists()) or time.monotonic() > deadline:
                    raise
                is_second_look = not journal.exists()
                pause(_OPENING_PAUSE)

    def _require_ours_or_new(self) -> None:
        if self.path.exists() and self.path.stat().st_size > 0:
            with contextlib.closing(_frozen(self.path)) as db:
                # Else a file that is shorter than it says is refused, and one whose checkpoint was cut off is: the WAL has
                # the rest. Whoever opens it with its WAL finds out.
                db.execute("PRAGMA writable_schema = ON").fetchall()
                schema.require_ours(db, self.path)

    def _bring_up(self) -> None:
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                with self._loan() as db:
                    return self._migrate(db)
            except (apsw.BusyError, apsw.ProtocolError):
                # Switching to WAL needs the file for itself, and fails at once when it is in use.
                if time.monotonic() > deadline:
                    raise
                pause(_OPENING_PAUSE)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                if self._is_frozen or not self._can_be_frozen():
                    raise
                self._is_frozen = True

    def _migrate(self, db: apsw.Connection) -> None:
        """Bring the file to our schema, and then to WAL: in this order its first page always tells whose it is."""
        if not schema.is_current(db):
            self._require_writable()
            db.execute(f"PRAGMA page_size = {_PAGE_SIZE}").fetchall()
            _in_one_transaction(db, [Write(lambda db: schema.bring_up(db, self.path))])
        if not db.readonly("main") and db.execute("PRAGMA journal_mode = WAL").get != "wal":
            raise StoreError(f"{self.path}: this file system cannot hold SQLite's WAL. Use a local disk.")

    def _require_writable(self) -> None:
        if self._is_frozen:
            raise StoreError(
                f"{self.path} was written by an older suture and cannot be brought up to this one, since it may only be "
                "read here. Open it once where it may be written."
            )

    def _can_be_frozen(self) -> bool:
        """Whether the file holds all there is to read and cannot be written from here."""
        wal = self.path.with_name(self.path.name + "-wal")
        return self.path.is_file() and not os.access(self.path, os.W_OK) and not wal.exists()

    # Forks ------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Lend no more, wait for the connections that are in use, and close all."""
        with self._lending:
            self._is_forking = True
        while self._lent:
            # No signals here: a fork cannot be called off.
            time.sleep(_FORKING_PAUSE)
        with self._lending:
            self._close_idle()

    def after_fork_in_parent(self) -> None:
        """Lend again."""
        self._is_forking = False
        self._fork_ended.ring()

    def after_fork_in_child(self) -> None:
        """Begin with new locks: whoever held the old ones does not live here."""
        self._start_afresh()


def _in_one_transaction(
    db: apsw.Connection, writes: list[Write[apsw.Connection]], require: Callable[[], None] = lambda: None
) -> None:
    """Commit the writes if all is as required. Alone, one that is refused ends the transaction; among others it is
    taken back alone.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        if len(writes) == 1:
            writes[0].answer, writes[0].error = writes[0].work(db), None
        else:
            _do_all(db, writes)
        require()
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _do_all(db: apsw.Connection, writes: list[Write[apsw.Connection]]) -> None:
    """Do them as they come; where one is refused, all again, each apart. Few are, and under a savepoint SQLite keeps a
    copy of every page that is written, which costs as much as the writing.
    """
    try:
        for write in writes:
            write.answer, write.error = write.work(db), None
    except Exception:
        if not db.in_transaction:
            raise
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")
        for write in writes:
            _do_apart(db, write)


def _do_apart(db: apsw.Connection, write: Write[apsw.Connection]) -> None:
    db.execute("SAVEPOINT apart")
    try:
        write.answer, write.error = write.work(db), None
    except Exception as error:
        if not db.in_transaction:
            raise
        write.error = error
        db.execute("ROLLBACK TO apart")
    db.execute("RELEASE apart")


class _Patience:
    """How a connection waits for a locked file: by short pauses of uneven length, until its time is over.

    SQLite's own waiting backs off to 100 ms, and so loses to whoever came later: with eight busy processes one
    of them waited 3.6 s for an append; so it waits 0.1 s at most, and all together append as fast.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0

    def __call__(self, attempt: int) -> bool:
        now = time.monotonic()
        if attempt == 0:
            self._deadline = now + self._seconds
        if now >= self._deadline:
            return False
        pause(random.uniform(*_LOCKED_PAUSE))
        return True


def _frozen(path: Path) -> apsw.Connection:
    """A connection that reads the file and nothing else, takes no locks, and leaves nothing beside it."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags)


def _file_at(path: str) -> tuple[int, int]:
    """Which file stands at the path: device and inode, which no other one has while this one is open; zeros for none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - every transaction pays it, and a Path costs twice as much
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
