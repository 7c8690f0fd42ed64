"""Sessions in one SQLite file: an append that returned is on disk, whole, and survives kill -9 and the power.

Made for one machine and many processes: write-ahead log, full sync, every append one immediate transaction
that reads the session's row, adds its entries, and writes the row back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import apsw

import suture.stores.rules as rules
from suture.entries import Draft, Entry
from suture.stores.base import Append, Claim, Meta, SessionInfo, Status
from suture.stores.sqlite import rows, transactions
from suture.stores.sqlite.database import Database

_FIRST_PAUSE, _LAST_PAUSE = 0.02, 0.1


class SqliteStore:
    """Sessions in the SQLite file at `path`, for any number of threads and processes of one machine.

    A database that others keep locked is waited for, `busy_timeout` seconds at most. The file is made when it is
    not there; its directory is not. Under a `key` (16 bytes at least) chains are HMACs, which nobody can forge who
    does not have it.

    Raises:
        StoreError: the file cannot be opened, or is not ours; it was left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout: float = 30.0, key: bytes | None = None) -> None:
        self.key = rules.usable_key(key)
        self._database = Database(Path(path).absolute(), busy_timeout)

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch whole, as `Store.append` says; when it returns, the batch is on disk."""
        rules.require_text(session_id, drafts)
        wanted = Append(session_id, drafts, expect, epoch, meta)
        return self._database.write(lambda db: transactions.append(db, self.key, wanted))

    def append_each(self, appends: Sequence[Append]) -> list[int | Exception]:
        """Append what many append in one transaction, as `Together.append_each` says."""
        return self._database.write_each([partial(self._append_checked, each) for each in appends])

    def _append_checked(self, wanted: Append, db: apsw.Connection) -> int:
        rules.require_text(wanted.session_id, wanted.drafts)
        return transactions.append(db, self.key, wanted)

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        wanted = session_id, after, -1 if limit is None else limit
        return self._database.read(lambda db: [rows.entry(*row) for row in db.execute(rows.ENTRIES, wanted)])

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        return self._database.read(lambda db: next(rows.infos(db.execute(rows.ONE_INFO, (session_id,)).fetchall()), None))

    def sessions(
        self,
        *,
        status: Status | None = None,
        meta: Meta | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """Sessions by id behind the id `after`, as `Store.sessions` says."""
        return rules.listed(lambda after, size: self._page(status, meta, after, size), status, meta, after, limit)

    def _page(self, status: Status | None, meta: Meta | None, after: str | None, size: int) -> list[SessionInfo]:
        query, bindings = rows.listing(status, meta, after)
        return self._database.read(lambda db: list(rows.infos(db.execute(query, {**bindings, "size": size}).fetchall())))

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        rules.require_text(session_id)
        rules.require_lease(ttl)
        return self._database.write(lambda db: transactions.claim(db, self.key, session_id, owner, ttl), undo=self.release)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        self._database.write(lambda db: transactions.renew(db, claim, ttl))

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self._database.write(lambda db: transactions.release(db, claim))

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says.

        The bytes leave the file and its WAL as well; while somebody reads an older state they stay in the WAL, and a
        repeat, or the last close, takes them out.
        """
        self._database.write(lambda db: transactions.erase(db, session_id, entry_id))
        self._database.read(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; for no session, until anything is appended anywhere."""
        deadline = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        if session_id is None:
            after = self._position(None)
        while True:
            commits, asked = self._database.commits, time.monotonic()
            if self._position(session_id) > after:
                return True
            answered = time.monotonic()
            if answered >= deadline:
                return False
            # Asking for all sessions costs by their number; it may take a tenth of the time.
            pause = max(pause, 9 * (answered - asked))
            self._database.wait_for_commit(commits, min(pause, deadline - answered))
            pause = min(pause * 1.5, _LAST_PAUSE)

    def _position(self, session_id: str | None) -> int:
        """The head of the session; for none, how many entries were ever appended."""
        query, bindings = (rows.ALL_ENTRIES, ()) if session_id is None else (rows.HEAD, (session_id,))
        position: int | None = self._database.read(lambda db: db.execute(query, bindings).get)
        return position or 0

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self._database.write(lambda db: transactions.delete(db, session_id))

    def close(self) -> None:
        """Close the file. A repeat does nothing."""
        self._database.close()
