"""What is written to a PostgreSQL store: appends, by one statement or with the row locked; claims, erasing, deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

import suture.stores.rules as rules
from suture.entries import Draft
from suture.errors import Conflict
from suture.stores.base import Claim, Meta, link, marked, seal, status_of
from suture.stores.postgres.heads import Head
from suture.stores.postgres.news import CHANNEL
from suture.stores.postgres.rows import CLOCK, HEAD, Values, as_bytes, as_text, fetched, marks_in, packed, pairs
from suture.stores.postgres.server import Db

_ROW = f"""
    SELECT key, head, chain, marks, epoch, owner, expires, meta, seal, {CLOCK}
    FROM sessions WHERE id = %b FOR UPDATE"""
_NEW_ROW = f"""
    INSERT INTO sessions (id, seal, created, updated) VALUES (%b, %b, {CLOCK}, {CLOCK}) ON CONFLICT (id) DO NOTHING"""
_MOVE = f"""
    WITH session AS (
        UPDATE sessions SET head = %(head)s::bigint, chain = %(chain)b, marks = coalesce(%(marks)b, marks),
            waits = %(waits)s, seal = %(seal)b, updated = {CLOCK},
            expires = CASE WHEN %(epoch)s::bigint > 0 AND owner IS NOT NULL THEN {CLOCK} + ttl ELSE expires END
        WHERE key = %(key)s::bigint AND head = %(seen)s::bigint AND chain = %(previous)b
            AND %(epoch)s::bigint IN (0, epoch)
        RETURNING key
    )"""
_TELL = f" SELECT CASE WHEN %(topic)s <> '' THEN pg_notify('{CHANNEL}', %(topic)s) END FROM session"
_NONE = _MOVE + _TELL
_ONE = f"""{_MOVE}, added AS (
        INSERT INTO entries SELECT key, %(head)s::bigint, %(ids)b, %(kinds)b, %(ats)b, %(bodies)b, %(epoch)s::bigint,
            nullif(%(opens)b, ''), nullif(%(closes)b, ''), %(chain)b FROM session
    ) {_TELL}"""
_MANY = f"""{_MOVE}, added AS (
        INSERT INTO entries SELECT key, d.seq, d.id, d.kind, d.at, d.body, %(epoch)s::bigint,
            nullif(d.opens, ''), nullif(d.closes, ''), d.chain
        FROM session, unnest(
            %(seqs)b::bigint[], %(ids)b::bytea[], %(kinds)b::bytea[], %(ats)b::bytea[], %(bodies)b::bytea[],
            %(opens)b::bytea[], %(closes)b::bytea[], %(chains)b::bytea[]
        ) AS d (seq, id, kind, at, body, opens, closes, chain)
    ) {_TELL}"""
_SEQS = "SELECT id, seq FROM entries WHERE session = %s AND id = ANY(%b)"
_TAKE = f"""
    UPDATE sessions SET epoch = CASE epoch WHEN 0 THEN (SELECT epoch FROM deleted) ELSE epoch END + 1,
        owner = %b, ttl = %s::float8, expires = {CLOCK} + %s::float8
    WHERE key = %s RETURNING epoch, expires"""
_RENEW = f"""
    UPDATE sessions SET ttl = %s::float8, expires = {CLOCK} + %s::float8
    WHERE id = %b AND epoch = %s AND owner IS NOT NULL RETURNING key"""
_RELEASE = "UPDATE sessions SET owner = NULL WHERE id = %b AND epoch = %s AND owner IS NOT NULL"
_ERASE = """
    UPDATE entries AS e SET body = '', erased = coalesce(erased, sha256(body)) FROM sessions AS s
    WHERE s.id = %b AND e.session = s.key AND e.id = %b RETURNING seq"""
_DELETE = """
    WITH session AS (
        DELETE FROM sessions WHERE key = %s RETURNING key, head, epoch
    ), gone AS (
        DELETE FROM entries USING session WHERE entries.session = session.key
    )
    UPDATE deleted SET entries = deleted.entries + head, epoch = greatest(deleted.epoch, session.epoch) FROM session"""


class _Row(NamedTuple):
    """A session as it is while its row is locked. `now` is the server's clock."""

    head: Head = Head()
    epoch: int = 0
    owner: str | None = None
    expires: float = 0.0
    meta: bytes = rules.NO_META
    seal: bytes = b""
    now: float = 0.0


class Batch(NamedTuple):
    """What is to be appended."""

    session_id: str
    drafts: tuple[Draft, ...]
    expect: int | None
    epoch: int | None
    meta: Meta | None
    key: bytes | None
    topic: str

    def may_go_to(self, known: Head) -> bool:
        """Whether nothing has to be looked at but what the statement itself checks."""
        is_seen = self.expect is None or self.expect == known.head
        return bool(self.drafts) and not self.meta and is_seen and (self.epoch is None or self.epoch > 0)

    @property
    def is_told(self) -> bool:
        """Whether others are woken. A notice makes commits wait for one another, so a runner tells of its end only."""
        return bool(self.drafts) and (self.epoch is None or any(draft.kind == "run_finished" for draft in self.drafts))


def append_at(db: Db, batch: Batch, known: Head) -> Head | None:
    """Append if the session still stands there and the epoch is the latest; where it stands then, None when neither."""
    seqs = range(known.head + 1, known.head + 1 + len(batch.drafts))
    chains, marks = [known.chain], known.marks
    for seq, draft in zip(seqs, batch.drafts, strict=True):
        chains.append(link(chains[-1], batch.session_id, seq, draft, batch.key))
        marks = marked(marks, seq, draft) if draft.opens or draft.closes else marks
    after = Head(known.key, known.head + len(batch.drafts), chains[-1], marks)
    values = {
        "key": known.key,
        "seen": known.head,
        "previous": known.chain,
        "head": after.head,
        "chain": after.chain,
        "seal": seal(batch.session_id, after.head, after.chain, batch.key),
        "marks": None if marks is known.marks else msgspec.json.encode(marks),
        "waits": status_of(marks, running=False),
        "epoch": batch.epoch or 0,
        "topic": batch.topic if batch.is_told else "",
    }
    statement, entries = _entries_of(batch.drafts, seqs, chains[1:])
    return after if db.execute(statement, {**values, **entries}).rowcount else None


def _entries_of(drafts: Sequence[Draft], seqs: Iterable[int], chains: list[bytes]) -> tuple[str, Values]:
    """The statement for so many entries, and what they fill into it."""
    if not drafts:
        return _NONE, {}
    names = "ids", "kinds", "ats", "bodies", "opens", "closes"
    rows = [(as_bytes(d.id), as_bytes(d.kind), as_bytes(d.at), d.body, packed(d.opens), packed(d.closes)) for d in drafts]
    if len(rows) == 1:
        return _ONE, dict(zip(names, rows[0], strict=True))
    columns = map(list, zip(*rows, strict=True))
    return _MANY, {"seqs": list(seqs), "chains": chains, **dict(zip(names, columns, strict=True))}


def append_locked(db: Db, batch: Batch) -> tuple[int, Head]:
    """Append while nobody else can; the last seq of the batch, and where the session stands then."""
    with db.transaction():
        row = _own(db, batch.session_id, batch.key, make=bool(batch.drafts or batch.meta))
        rules.require_epoch(batch.session_id, batch.epoch, row.epoch)
        if batch.expect is not None and batch.expect != row.head.head:
            otherwise = rules.wrong_head(batch.session_id, row.head.head, batch.expect)
            return _last_of(db, batch, row, otherwise), row.head
        if not batch.drafts and not batch.meta and batch.epoch is None:
            return row.head.head, row.head
        if batch.meta:
            meta = rules.merged_meta(row.meta, batch.meta)
            db.execute(
                "UPDATE sessions SET meta = %b, pairs = %b::bigint[] WHERE key = %s", (meta, pairs(meta), row.head.key)
            )
        after = append_at(db, batch, row.head)
        return (after or row.head).head, after or row.head


def repeated(db: Db, batch: Batch) -> tuple[int, Head]:
    """The last seq of a batch whose ids are taken by the batch itself, and where the session stands."""
    with db.transaction():
        row = _own(db, batch.session_id, batch.key, make=False)
        return _last_of(db, batch, row, rules.ids_taken(batch.session_id, batch.drafts)), row.head


def _last_of(db: Db, batch: Batch, row: _Row, otherwise: Conflict) -> int:
    """The last seq of the batch when it is there already, whole and in this order; otherwise that error is raised."""
    seqs = dict(fetched(db, _SEQS, (row.head.key, [as_bytes(draft.id) for draft in batch.drafts])))
    last = rules.last_of_run([seqs.get(as_bytes(draft.id)) for draft in batch.drafts])
    if last is None:
        raise otherwise
    return last


def _own(db: Db, session_id: str, key: bytes | None, *, make: bool) -> _Row:
    """The session's row, locked until the transaction ends, if a store of that key may go on with it.

    A blank one when there is none, unless it is to be made.
    """
    row = _locked(db, session_id)
    if not row.head.key and make:
        db.execute(_NEW_ROW, (as_bytes(session_id), seal(session_id, 0, b"", key)))
        row = _locked(db, session_id)
    if row.head.key:
        rules.require_seal(session_id, row.head.head, row.head.chain, row.seal, key)
    return row


def _locked(db: Db, session_id: str) -> _Row:
    found = fetched(db, _ROW, (as_bytes(session_id),))
    if not found:
        return _Row()
    key, head, chain, marks, epoch, owner, expires, meta, sealed, now = found[0]
    return _Row(Head(key, head, chain, marks_in(marks)), epoch, as_text(owner), expires, meta, sealed, now)


def claim(db: Db, key: bytes | None, session_id: str, owner: str, ttl: float) -> Claim:
    """Claim the session under a new epoch, made when it is not there."""
    with db.transaction():
        row = _own(db, session_id, key, make=True)
        rules.require_free(rules.claim_of(session_id, row.owner, row.epoch, row.expires), owner, row.now)
        ((epoch, expires),) = fetched(db, _TAKE, (as_bytes(owner), ttl, ttl, row.head.key))
    return Claim(session_id, owner, epoch, expires)


def renew(db: Db, claim: Claim, ttl: float) -> None:
    """Extend the lease, if no later epoch was given out."""
    if not fetched(db, _RENEW, (ttl, ttl, as_bytes(claim.session_id), claim.epoch)):
        raise rules.claim_lost(claim)


def release(db: Db, claim: Claim) -> None:
    """Give the claim back, if it is in force."""
    db.execute(_RELEASE, (as_bytes(claim.session_id), claim.epoch))


def erase(db: Db, session_id: str, entry_id: str) -> None:
    """Replace the entry's body by its hash."""
    if not fetched(db, _ERASE, (as_bytes(session_id), as_bytes(entry_id))):
        has_session = fetched(db, HEAD, (as_bytes(session_id),))
        raise rules.no_such_entry(session_id, entry_id) if has_session else rules.no_such_session(session_id)


def delete(db: Db, session_id: str) -> None:
    """Remove the session; what was deleted is counted, and its epochs do not come again."""
    # The row is locked first: the statement behind it sees all that was appended until then.
    with db.transaction():
        db.execute(_DELETE, (_locked(db, session_id).head.key,))
