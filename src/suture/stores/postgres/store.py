"""Sessions in a PostgreSQL database, for any number of machines: an append that returned is on the server's disk.

A writer that knows where a session stands appends with one statement, which checks that it still stands there. One that
does not know, or was wrong, locks the session's row, looks, and then runs the same statement.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from typing import Any

from suture.errors import MissingExtra

try:
    import psycopg
    import psycopg_pool  # noqa: F401 - the modules below need it
except ImportError as error:
    raise MissingExtra(
        f"PostgreSQL stores need psycopg and its pool ({error}). Install them with: pip install 'suture[postgres]'"
    ) from error

import suture.stores.rules as rules
from suture.entries import Draft, Entry
from suture.stores.base import Claim, Meta, SessionInfo, Status
from suture.stores.postgres import rows, transactions
from suture.stores.postgres.heads import Heads
from suture.stores.postgres.news import News, pauses
from suture.stores.postgres.rows import as_bytes
from suture.stores.postgres.schema import bring_up, look
from suture.stores.postgres.server import Db, Server, schema_of
from suture.stores.postgres.transactions import Batch

_ALL = 2**63 - 1
_PATIENCE = 30.0
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0


class PostgresStore:
    """Sessions in the PostgreSQL database at a libpq URL, for any number of threads, processes and machines.

    The tables lie in the schema `suture`, or the one that the URL names with `?schema=...`; they are made when they are not
    there. PostgreSQL 12 or newer. At most `connections` are open at once, and one more for `news`. A server that goes away,
    a lock and a free connection are waited for, `timeout` seconds at most. Under a `key` (16 bytes at least) chains are
    HMACs, which nobody can forge who does not have it; it never leaves this process.

    Raises:
        MissingExtra: psycopg is not installed.
        ConfigurationError: the URL cannot be read, or the key is too short.
        StoreError: the server cannot be reached or refuses, or the schema is not ours; it was left as it is.
    """

    def __init__(self, url: str, *, timeout: float = _PATIENCE, connections: int = 8, key: bytes | None = None) -> None:
        self.key = rules.usable_key(key)
        url, self._schema = schema_of(url)
        self._server = Server(url, self._schema, timeout, connections, after_fork=self._start_afresh)
        self._start_afresh()
        self._server.open(lambda db: bring_up(db, self._schema, self._server.name))

    @staticmethod
    def exists(url: str) -> bool:
        """Whether sessions are kept at the URL; nothing is made.

        Raises:
            StoreError: as for opening it.
        """
        url, schema = schema_of(url)
        server = Server(url, schema, timeout=_PATIENCE, connections=1, after_fork=lambda: None)
        with closing(server):
            return server.open(lambda db: look(db, schema, server.name)).version > 0

    def _start_afresh(self) -> None:
        """Nothing known and nobody waiting: also what a forked child begins with."""
        self._heads = Heads()
        self._news = News(self._server.connect)

    # Appending --------------------------------------------------------------------------------

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch whole, as `Store.append` says; when it returns, the batch is on the server's disk."""
        rules.require_text(session_id, drafts)
        batch = Batch(session_id, tuple(drafts), expect, epoch, meta, self.key, self._topic(session_id))
        last = self._server.do(lambda db: self._append(db, batch))
        if drafts:
            self._news.tell(batch.topic)
        return last

    def _append(self, db: Db, batch: Batch) -> int:
        known = self._heads.take(batch.session_id)
        try:
            after = transactions.append_at(db, batch, known) if known is not None and batch.may_go_to(known) else None
            last, after = (after.head, after) if after is not None else transactions.append_locked(db, batch)
        except psycopg.errors.UniqueViolation:
            last, after = transactions.repeated(db, batch)
        self._heads.put(batch.session_id, after)
        return last

    # Reading ----------------------------------------------------------------------------------

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        wanted = as_bytes(session_id), after, _ALL if limit is None else limit
        return [rows.entry(*row) for row in self._rows(rows.ENTRIES, wanted)]

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        return next(map(rows.info, self._rows(f"{rows.INFOS} id = %b", (as_bytes(session_id),))), None)

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
        where, values = rows.candidates(status, meta, after)
        query = f"{rows.INFOS} {where} ORDER BY id LIMIT %(size)s"
        return [rows.info(row) for row in self._server.do(lambda db: rows.planned(db, query, {**values, "size": size}))]

    def _rows(self, query: str, values: tuple[Any, ...] | rows.Values = ()) -> list[tuple[Any, ...]]:
        return self._server.do(lambda db: rows.fetched(db, query, values))

    # Claims -----------------------------------------------------------------------------------

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says. `expires` is on the server's clock."""
        rules.require_text(session_id)
        rules.require_lease(ttl)
        return self._server.do(lambda db: transactions.claim(db, self.key, session_id, owner, ttl), undo=self.release)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        self._server.do(lambda db: transactions.renew(db, claim, ttl))

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self._server.do(lambda db: transactions.release(db, claim))

    # Removing ---------------------------------------------------------------------------------

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says.

        The bytes leave the server's files when it next vacuums the table, and its write-ahead log and backups as those are
        recycled.
        """
        self._server.do(lambda db: transactions.erase(db, session_id, entry_id))

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self._heads.take(session_id)
        self._server.do(lambda db: transactions.delete(db, session_id))

    # News -------------------------------------------------------------------------------------

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; for no session, until anything is appended anywhere.

        Appends without an epoch, and the end of a run, are heard of at once; a runner's others within a second.
        """
        deadline = time.monotonic() + timeout
        if session_id is None:
            after = self._position(None)
        elif self._position(session_id) > after:
            return True
        if timeout <= 0:
            return False
        with self._news.ear(None if session_id is None else self._topic(session_id)) as ear:
            for pause in pauses(_FIRST_PAUSE, _LAST_PAUSE, deadline):
                count, asked = ear.count, time.monotonic()
                if self._position(session_id) > after:
                    return True
                # Asking for all sessions costs by their number; it may take a tenth of the time.
                ear.wait(count, min(max(pause, 9 * (time.monotonic() - asked)), deadline - time.monotonic()))
        return self._position(session_id) > after

    def _position(self, session_id: str | None) -> int:
        """The head of the session; for none, how many entries were ever appended."""
        query, values = (rows.ALL_ENTRIES, ()) if session_id is None else (rows.HEAD, (as_bytes(session_id),))
        found = self._rows(query, values)
        return int(found[0][0]) if found else 0

    def _topic(self, session_id: str) -> str:
        """What a notice of an append to the session says."""
        return sha256(as_bytes(f"{self._schema}\0{session_id}")).hexdigest()[:16]

    def close(self) -> None:
        """Close the connections. A repeat does nothing."""
        self._news.close()
        self._server.close()
