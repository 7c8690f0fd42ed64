"""What is written to a SQLite store, each in the transaction that is on: append, claim, renew, release, erase, delete."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import NamedTuple

import apsw

import suture.stores.rules as rules
from suture.entries import Draft
from suture.errors import Conflict
from suture.stores.base import STATUS_KINDS, Append, Claim, Status, link, seal, status_of
from suture.stores.sqlite.rows import packed

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


def _row(db: apsw.Connection, session_id: str) -> _Row:
    row = db.execute(_ROW, (session_id,)).get
    return _Row(*row) if row else _Row()


def append(db: apsw.Connection, key: bytes | None, wanted: Append) -> int:
    """Append a batch whole; its last seq."""
    session_id, drafts, expect, epoch, meta = wanted
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
        marks = packed(draft.opens), packed(draft.closes)
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


def claim(db: apsw.Connection, key: bytes | None, session_id: str, owner: str, ttl: float) -> Claim:
    """Claim the session under a new epoch, made when it is not there."""
    now = time.time()
    row = _own_row(db, key, session_id)
    rules.require_free(rules.claim_of(session_id, row.owner, row.epoch, row.expires), owner, now)
    if not row.key:
        row = _new_row(db, key, session_id, now)
    epoch = (row.epoch or db.execute("SELECT epoch FROM deleted").get) + 1
    take = "UPDATE sessions SET epoch = ?, owner = ?, ttl = ?, expires = ? WHERE key = ?"
    db.execute(take, (epoch, owner, ttl, now + ttl, row.key))
    return Claim(session_id, owner, epoch, now + ttl)


def renew(db: apsw.Connection, claim: Claim, ttl: float) -> None:
    """Extend the lease, if no later epoch was given out."""
    held = "UPDATE sessions SET ttl = ?, expires = ? WHERE id = ? AND epoch = ? AND owner IS NOT NULL"
    db.execute(held, (ttl, time.time() + ttl, claim.session_id, claim.epoch))
    if not db.changes():
        raise rules.claim_lost(claim)


def release(db: apsw.Connection, claim: Claim) -> None:
    """Give the claim back, if it is in force."""
    db.execute("UPDATE sessions SET owner = NULL WHERE id = ? AND epoch = ?", (claim.session_id, claim.epoch))


def erase(db: apsw.Connection, session_id: str, entry_id: str) -> None:
    """Replace the entry's body by its hash."""
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


def delete(db: apsw.Connection, session_id: str) -> None:
    """Remove the session; what was deleted is counted, and its epochs do not come again."""
    row = _row(db, session_id)
    if row.key:
        db.execute("DELETE FROM entries WHERE session = ?", (row.key,))
        db.execute("DELETE FROM marks WHERE session = ?", (row.key,))
        db.execute("DELETE FROM sessions WHERE key = ?", (row.key,))
        db.execute("UPDATE deleted SET entries = entries + ?, epoch = max(epoch, ?)", (row.head, row.epoch))
