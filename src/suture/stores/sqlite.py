"""Sessions in one SQLite file: an append that returned is on disk, whole, and survives kill -9 and the power.

Made for one machine and many processes: write-ahead log, full sync, every append one immediate transaction
that reads the session's row, adds its entries, and writes the row back.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import apsw
import msgspec

import suture.stores.rules as rules
from suture.canonical import canonical
from suture.entries import Draft, Entry
from suture.errors import Conflict
from suture.stores.base import STATUS_KINDS, Claim, Meta, SessionInfo, Status, boundary_of, link, seal, status_of
from suture.stores.database import Database

VERSIONS = (
    """
    CREATE TABLE deleted (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        entries INTEGER NOT NULL,            -- how many were deleted with their sessions
        epoch INTEGER NOT NULL               -- the latest of theirs; a session made anew begins behind it
    ) STRICT;
    INSERT INTO deleted VALUES (1, 0, 0);

    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL DEFAULT 0,
        chain BLOB NOT NULL DEFAULT x'',
        epoch INTEGER NOT NULL DEFAULT 0,
        owner TEXT,                          -- of the last epoch; null when it was released
        ttl REAL NOT NULL DEFAULT 0,
        expires REAL NOT NULL DEFAULT 0,
        meta BLOB NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL
    ) STRICT;

    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        opens BLOB,                          -- a JSON list; null when empty, as for closes
        closes BLOB,
        chain BLOB NOT NULL,
        erased BLOB,                         -- the hash of the body that was erased
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX entries_by_id ON entries (session, id);

    CREATE TABLE marks (
        session INTEGER NOT NULL,
        mark TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (session, mark)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX marks_by_mark ON marks (mark);
    """,
    """
    -- Of id, head and chain, under the key of the store; blank without one.
    ALTER TABLE sessions ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
    """,
    """
    -- The status that the open marks make of a session while nobody runs it.
    ALTER TABLE sessions ADD COLUMN waits TEXT NOT NULL DEFAULT 'idle';
    UPDATE sessions SET waits = coalesce((
        SELECT CASE min(CASE substr(mark, 1, instr(mark || ':', ':') - 1)
                WHEN 'run' THEN 1 WHEN 'approval' THEN 2 WHEN 'started' THEN 3
                WHEN 'inbox' THEN 4 WHEN 'decided' THEN 4 WHEN 'settled' THEN 4 ELSE 5 END)
            WHEN 1 THEN 'abandoned' WHEN 2 THEN 'awaiting_approval' WHEN 3 THEN 'unknown_outcome'
            WHEN 4 THEN 'inbox_waiting' ELSE 'idle' END
        FROM marks WHERE session = sessions.key), 'idle');
    CREATE INDEX sessions_by_waits ON sessions (waits, id);
    CREATE INDEX sessions_claimed ON sessions (id) WHERE owner IS NOT NULL;
    DROP INDEX marks_by_mark;

    -- With rowids, since a row without one leaves its page when it is longer than a quarter of that.
    DROP INDEX entries_by_id;
    ALTER TABLE entries RENAME TO former;
    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        opens BLOB,
        closes BLOB,
        chain BLOB NOT NULL,
        erased BLOB,
        PRIMARY KEY (session, seq)
    ) STRICT;
    INSERT INTO entries SELECT * FROM former ORDER BY session, seq;
    DROP TABLE former;
    CREATE UNIQUE INDEX entries_by_id ON entries (session, id);
    """,
)

_ROW = "SELECT key, head, chain, epoch, owner, ttl, expires, meta, seal, waits FROM sessions WHERE id = ?"
_NEW_ROW = "INSERT INTO sessions (id, meta, created, updated, seal) VALUES (?, ?, ?, ?, ?)"
_WRITE_ROW = "UPDATE sessions SET head = ?, chain = ?, expires = ?, meta = ?, updated = ?, seal = ? WHERE key = ?"
_NEW_ENTRY = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)"
_NEW_MARK = "INSERT OR REPLACE INTO marks VALUES (?, ?, ?)"
# The status goes by which kinds of marks are open, so an append looks at one of each, however many there are.
_ONE_OF_EACH = " UNION ALL ".join(
    f"SELECT * FROM (SELECT mark FROM marks WHERE session = :key AND mark >= '{kind}:' AND mark < '{kind};' LIMIT 1)"
    f" UNION ALL SELECT mark FROM marks WHERE session = :key AND mark = '{kind}'"
    for kind in STATUS_KINDS
)
_HEAD = "SELECT head FROM sessions WHERE id = ?"
_ALL_ENTRIES = "SELECT (SELECT entries FROM deleted) + (SELECT coalesce(sum(head), 0) FROM sessions)"
_ENTRIES = """
    SELECT seq, e.id, kind, at, body, e.epoch, opens, closes, e.chain, erased
    FROM sessions AS s JOIN entries AS e ON e.session = s.key
    WHERE s.id = ? AND seq > ? ORDER BY seq LIMIT ?"""
_INFOS = """
    SELECT s.id, head, chain, epoch, owner, expires, meta, created, updated, seal, mark, seq
    FROM ({sessions}) AS s LEFT JOIN marks AS m ON m.session = s.key ORDER BY s.id, seq, mark"""
_ONE_INFO = _INFOS.format(sessions="SELECT * FROM sessions WHERE id = ?")

_FIRST_PAUSE, _LAST_PAUSE = 0.02, 0.1

Binding: TypeAlias = str | bytes | int | None


class _Row(NamedTuple):
    """A session as an append sees it. `key` is 0 when there is none yet."""

    key: int = 0
    head: int = 0
    chain: bytes = b""
    epoch: int = 0
    owner: str | None = None
    ttl: float = 0.0
    expires: float = 0.0
    meta: bytes = rules.NO_META
    seal: bytes = b""
    waits: Status = "idle"


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
        self._database = Database(Path(path).absolute(), VERSIONS, busy_timeout)

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
        return self._database.write(lambda db: _append(db, self.key, session_id, drafts, expect, epoch, meta))

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        wanted = session_id, after, -1 if limit is None else limit
        return self._database.read(lambda db: [_entry(*row) for row in db.execute(_ENTRIES, wanted)])

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        return self._database.read(lambda db: next(_infos(db.execute(_ONE_INFO, (session_id,)).fetchall()), None))

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
        query, bindings = _listing(status, meta, after)
        return self._database.read(lambda db: list(_infos(db.execute(query, {**bindings, "size": size}).fetchall())))

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        rules.require_text(session_id)
        return self._database.write(lambda db: _claim(db, self.key, session_id, owner, ttl), undo=self.release)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""

        def work(db: apsw.Connection) -> None:
            held = "UPDATE sessions SET ttl = ?, expires = ? WHERE id = ? AND epoch = ? AND owner IS NOT NULL"
            db.execute(held, (ttl, time.time() + ttl, claim.session_id, claim.epoch))
            if not db.changes():
                raise rules.claim_lost(claim)

        self._database.write(work)

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        free = "UPDATE sessions SET owner = NULL WHERE id = ? AND epoch = ?"
        self._database.write(lambda db: db.execute(free, (claim.session_id, claim.epoch)))

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says.

        The bytes leave the file and its WAL as well; while somebody reads an older state they stay in the WAL, and a
        repeat, or the last close, takes them out.
        """
        self._database.write(lambda db: _erase(db, session_id, entry_id))
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
        query, bindings = (_ALL_ENTRIES, ()) if session_id is None else (_HEAD, (session_id,))
        position: int | None = self._database.read(lambda db: db.execute(query, bindings).get)
        return position or 0

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self._database.write(lambda db: _delete(db, session_id))

    def close(self) -> None:
        """Close the file. A repeat does nothing."""
        self._database.close()


# Transactions ---------------------------------------------------------------------------------


def _row(db: apsw.Connection, session_id: str) -> _Row:
    row = db.execute(_ROW, (session_id,)).get
    return _Row(*row) if row else _Row()


def _append(
    db: apsw.Connection,
    key: bytes | None,
    session_id: str,
    drafts: Sequence[Draft],
    expect: int | None,
    epoch: int | None,
    meta: Meta | None,
) -> int:
    row = _own_row(db, key, session_id)
    rules.require_epoch(session_id, epoch, row.epoch)
    if expect is not None and expect != row.head:
        return _repeated(db, row, drafts, otherwise=rules.wrong_head(session_id, row.head, expect))
    now = time.time()
    expires = now + row.ttl if epoch is not None and row.owner is not None else row.expires
    if not drafts and not meta and expires == row.expires:
        return row.head
    if not row.key:
        row = _new_row(db, key, session_id, now)
    try:
        chain = _insert(db, key, row, session_id, drafts, epoch or 0)
    except apsw.ConstraintError as error:
        if getattr(error, "extendedresult", 0) != apsw.SQLITE_CONSTRAINT_UNIQUE:  # missing in the stubs
            raise
        return _repeated(db, row, drafts, otherwise=rules.ids_taken(session_id, drafts))
    head = row.head + len(drafts)
    sealed = seal(session_id, head, chain, key)
    db.execute(_WRITE_ROW, (head, chain, expires, rules.merged_meta(row.meta, meta), now, sealed, row.key))
    _move_marks(db, row, drafts)
    return head


def _own_row(db: apsw.Connection, key: bytes | None, session_id: str) -> _Row:
    """The row, of a session that a store of that key may go on with."""
    row = _row(db, session_id)
    if row.key:
        rules.require_seal(session_id, row.head, row.chain, row.seal, key)
    return row


def _new_row(db: apsw.Connection, key: bytes | None, session_id: str, now: float) -> _Row:
    sealed = seal(session_id, 0, b"", key)
    db.execute(_NEW_ROW, (session_id, rules.NO_META, now, now, sealed))
    return _Row(db.last_insert_rowid(), seal=sealed)


def _insert(
    db: apsw.Connection, key: bytes | None, row: _Row, session_id: str, drafts: Sequence[Draft], epoch: int
) -> bytes:
    """Write the entries; return the chain value of the last."""
    chain = row.chain
    for seq, draft in enumerate(drafts, row.head + 1):
        chain = link(chain, session_id, seq, draft, key)
        marks = _packed(draft.opens), _packed(draft.closes)
        db.execute(_NEW_ENTRY, (row.key, seq, draft.id, draft.kind, draft.at, draft.body, epoch, *marks, chain))
    return chain


def _move_marks(db: apsw.Connection, row: _Row, drafts: Sequence[Draft]) -> None:
    if not any(draft.opens or draft.closes for draft in drafts):
        return
    for seq, draft in enumerate(drafts, row.head + 1):
        for mark in draft.closes:
            db.execute("DELETE FROM marks WHERE session = ? AND mark = ?", (row.key, mark))
        for mark in draft.opens:
            db.execute(_NEW_MARK, (row.key, mark, seq))
    waits = status_of({mark: 0 for (mark,) in db.execute(_ONE_OF_EACH, {"key": row.key})}, running=False)
    if waits != row.waits:
        db.execute("UPDATE sessions SET waits = ? WHERE key = ?", (waits, row.key))


def _repeated(db: apsw.Connection, row: _Row, drafts: Sequence[Draft], otherwise: Conflict) -> int:
    """The last seq of the batch when it is there already, whole and in this order; otherwise that error is raised."""
    find = "SELECT seq FROM entries WHERE session = ? AND id = ?"
    last = rules.last_of_run([db.execute(find, (row.key, draft.id)).get for draft in drafts])
    if last is None:
        raise otherwise
    return last


def _claim(db: apsw.Connection, key: bytes | None, session_id: str, owner: str, ttl: float) -> Claim:
    now = time.time()
    row = _own_row(db, key, session_id)
    rules.require_free(_claim_of(session_id, row.owner, row.epoch, row.expires), owner, now)
    if not row.key:
        row = _new_row(db, key, session_id, now)
    epoch = (row.epoch or db.execute("SELECT epoch FROM deleted").get) + 1
    take = "UPDATE sessions SET epoch = ?, owner = ?, ttl = ?, expires = ? WHERE key = ?"
    db.execute(take, (epoch, owner, ttl, now + ttl, row.key))
    return Claim(session_id, owner, epoch, now + ttl)


def _erase(db: apsw.Connection, session_id: str, entry_id: str) -> None:
    row = _row(db, session_id)
    if not row.key:
        raise rules.no_such_session(session_id)
    found = db.execute("SELECT seq, body, erased FROM entries WHERE session = ? AND id = ?", (row.key, entry_id)).get
    if found is None:
        raise rules.no_such_entry(session_id, entry_id)
    seq, body, erased = found
    if erased is None:
        blank = "UPDATE entries SET body = x'', erased = ? WHERE session = ? AND seq = ?"
        db.execute(blank, (hashlib.sha256(body).digest(), row.key, seq))


def _delete(db: apsw.Connection, session_id: str) -> None:
    row = _row(db, session_id)
    if row.key:
        db.execute("DELETE FROM entries WHERE session = ?", (row.key,))
        db.execute("DELETE FROM marks WHERE session = ?", (row.key,))
        db.execute("DELETE FROM sessions WHERE key = ?", (row.key,))
        db.execute("UPDATE deleted SET entries = entries + ?, epoch = max(epoch, ?)", (row.head, row.epoch))


def _listing(status: Status | None, meta: Meta | None, after: str | None) -> tuple[str, dict[str, Binding]]:
    """A query for `size` sessions, that finds all that are to be listed and few others, and what it binds.

    The order of an index is that of ids, so that a page costs what is on it, however many sessions there are.
    """
    bindings: dict[str, Binding] = {"after": after or ""}
    wanted = ["id >= :after" if after is None else "id > :after"]
    table = "sessions"
    if status == "running":
        table = "sessions INDEXED BY sessions_claimed"
        wanted.append("owner IS NOT NULL")
    elif status is not None:
        table = "sessions INDEXED BY sessions_by_waits"
        wanted.append("waits = :waits")
        bindings["waits"] = status
    # Meta is kept as canonical JSON, in which a pair has one text.
    for index, (key, value) in enumerate((meta or {}).items()):
        wanted.append(f"instr(meta, :pair{index})")
        bindings[f"pair{index}"] = canonical({key: value})[1:-1]
    return _INFOS.format(sessions=f"SELECT * FROM {table} WHERE {' AND '.join(wanted)} ORDER BY id LIMIT :size"), bindings


# Rows -----------------------------------------------------------------------------------------


def _packed(marks: Sequence[str]) -> bytes | None:
    return msgspec.json.encode(marks) if marks else None


def _entry(
    seq: int,
    id: str,
    kind: str,
    at: str,
    body: bytes,
    epoch: int,
    opens: bytes | None,
    closes: bytes | None,
    chain: bytes,
    erased: bytes | None,
) -> Entry:
    marks = rules.marks_of(opens), rules.marks_of(closes)
    return Entry(seq, id, kind, at, body, epoch, *marks, chain, erased or b"")


def _claim_of(session_id: str, owner: str | None, epoch: int, expires: float) -> Claim | None:
    return None if owner is None else Claim(session_id, owner, epoch, expires)


def _infos(rows: Iterable[tuple[Any, ...]]) -> Iterator[SessionInfo]:
    """One per session from its rows, of which it has one per mark, or one without a mark."""
    now = time.time()
    for row, group in groupby(rows, lambda row: row[:10]):
        id, head, chain, epoch, owner, expires, meta, created, updated, sealed = row
        marks = {mark: seq for *_, mark, seq in group if mark is not None}
        yield SessionInfo(
            id=id,
            head=head,
            chain=chain,
            boundary=boundary_of(marks),
            epoch=epoch,
            marks=marks,
            claim=rules.claim_in_force(_claim_of(id, owner, epoch, expires), now),
            meta=rules.meta_of(meta),
            damage=() if rules.read_meta(meta) is not None else rules.UNREADABLE_META,
            created_at=rules.utc(created),
            updated_at=rules.utc(updated),
            seal=sealed,
        )
