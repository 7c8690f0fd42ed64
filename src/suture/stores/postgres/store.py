"""Sessions in a PostgreSQL database, for any number of machines: an append that returned is on the server's disk.

A writer that knows where a session stands appends with one statement, which checks that it still stands there. One that
does not know, or was wrong, locks the session's row, looks, and then runs the same statement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

import msgspec

from suture.errors import Conflict, MissingExtra

try:
    import psycopg
    import psycopg_pool  # noqa: F401 - the modules below need it
except ImportError as error:
    raise MissingExtra(
        f"PostgreSQL stores need psycopg and its pool ({error}). Install them with: pip install 'suture[postgres]'"
    ) from error

import suture.stores.rules as rules
from suture.canonical import canonical
from suture.entries import Draft, Entry
from suture.stores.base import Claim, Meta, SessionInfo, Status, boundary_of, link, marked, seal, status_of
from suture.stores.postgres.news import CHANNEL, News, pauses
from suture.stores.postgres.schema import bring_up, look
from suture.stores.postgres.server import Db, Server, schema_of

_CLOCK = "extract(epoch FROM clock_timestamp())::float8"
_ROW = f"""
    SELECT key, head, chain, marks, epoch, owner, expires, meta, seal, {_CLOCK}
    FROM sessions WHERE id = %b FOR UPDATE"""
_NEW_ROW = f"""
    INSERT INTO sessions (id, seal, created, updated) VALUES (%b, %b, {_CLOCK}, {_CLOCK}) ON CONFLICT (id) DO NOTHING"""
_MOVE = f"""
    WITH session AS (
        UPDATE sessions SET head = %(head)s::bigint, chain = %(chain)b, marks = coalesce(%(marks)b, marks),
            waits = %(waits)s, seal = %(seal)b, updated = {_CLOCK},
            expires = CASE WHEN %(epoch)s::bigint > 0 AND owner IS NOT NULL THEN {_CLOCK} + ttl ELSE expires END
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
_ENTRIES = """
    SELECT seq, e.id, kind, at, body, e.epoch, opens, closes, e.chain, erased
    FROM sessions AS s JOIN entries AS e ON e.session = s.key
    WHERE s.id = %b AND seq > %s ORDER BY seq LIMIT %s"""
_HEAD = "SELECT head FROM sessions WHERE id = %b"
_ALL_ENTRIES = "SELECT ((SELECT entries FROM deleted) + (SELECT coalesce(sum(head), 0) FROM sessions))::bigint"
_INFOS = (
    f"SELECT id, head, chain, marks, epoch, owner, expires, meta, created, updated, seal, {_CLOCK} FROM sessions WHERE "
)
_TAKE = f"""
    UPDATE sessions SET epoch = CASE epoch WHEN 0 THEN (SELECT epoch FROM deleted) ELSE epoch END + 1,
        owner = %b, ttl = %s::float8, expires = {_CLOCK} + %s::float8
    WHERE key = %s RETURNING epoch, expires"""
_RENEW = f"""
    UPDATE sessions SET ttl = %s::float8, expires = {_CLOCK} + %s::float8
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

_ALL = 2**63 - 1
_PATIENCE = 30.0
_KNOWN = 1_000
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0

Values: TypeAlias = dict[str, Any]

_open_marks = msgspec.json.Decoder(dict[str, int])


class _Head(msgspec.Struct, frozen=True):
    """Where a session stands: all that an append has to know of it. `key` is 0 when there is none yet."""

    key: int = 0
    head: int = 0
    chain: bytes = b""
    marks: dict[str, int] = {}


class _Row(NamedTuple):
    """A session as it is while its row is locked. `now` is the server's clock."""

    head: _Head = _Head()
    epoch: int = 0
    owner: str | None = None
    expires: float = 0.0
    meta: bytes = rules.NO_META
    seal: bytes = b""
    now: float = 0.0


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
        self._heads = _Heads()
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
        batch = _Batch(session_id, tuple(drafts), expect, epoch, meta, self.key, self._topic(session_id))
        last = self._server.do(lambda db: self._append(db, batch))
        if drafts:
            self._news.tell(batch.topic)
        return last

    def _append(self, db: Db, batch: _Batch) -> int:
        known = self._heads.take(batch.session_id)
        try:
            after = _append_at(db, batch, known) if known is not None and batch.may_go_to(known) else None
            last, after = (after.head, after) if after is not None else _append_locked(db, batch)
        except psycopg.errors.UniqueViolation:
            last, after = _repeated(db, batch)
        self._heads.put(batch.session_id, after)
        return last

    # Reading ----------------------------------------------------------------------------------

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        wanted = _bytes(session_id), after, _ALL if limit is None else limit
        return [_entry(*row) for row in self._rows(_ENTRIES, wanted)]

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        return next(map(_info, self._rows(f"{_INFOS} id = %b", (_bytes(session_id),))), None)

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
        where, values = _candidates(status, meta, after)
        query = f"{_INFOS} {where} ORDER BY id LIMIT %(size)s"
        return [_info(row) for row in self._server.do(lambda db: _planned(db, query, {**values, "size": size}))]

    def _rows(self, query: str, values: tuple[Any, ...] | Values = ()) -> list[tuple[Any, ...]]:
        return self._server.do(lambda db: _fetched(db, query, values))

    # Claims -----------------------------------------------------------------------------------

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says. `expires` is on the server's clock."""
        rules.require_text(session_id)
        rules.require_lease(ttl)
        return self._server.do(lambda db: _claim(db, self.key, session_id, owner, ttl), undo=self.release)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        if not self._rows(_RENEW, (ttl, ttl, _bytes(claim.session_id), claim.epoch)):
            raise rules.claim_lost(claim)

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self._server.do(lambda db: db.execute(_RELEASE, (_bytes(claim.session_id), claim.epoch)))

    # Removing ---------------------------------------------------------------------------------

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says.

        The bytes leave the server's files when it next vacuums the table, and its write-ahead log and backups as those are
        recycled.
        """
        if not self._rows(_ERASE, (_bytes(session_id), _bytes(entry_id))):
            raise rules.no_such_entry(session_id, entry_id) if self.info(session_id) else rules.no_such_session(session_id)

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self._heads.take(session_id)
        self._server.do(lambda db: _delete(db, session_id))

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
        rows = self._rows(_ALL_ENTRIES) if session_id is None else self._rows(_HEAD, (_bytes(session_id),))
        return int(rows[0][0]) if rows else 0

    def _topic(self, session_id: str) -> str:
        """What a notice of an append to the session says."""
        return sha256(_bytes(f"{self._schema}\0{session_id}")).hexdigest()[:16]

    def close(self) -> None:
        """Close the connections. A repeat does nothing."""
        self._news.close()
        self._server.close()


class _Heads:
    """Where sessions stood when they were last written from here. A writer takes a head out, and puts the next one in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heads: dict[str, _Head] = {}

    def take(self, session_id: str) -> _Head | None:
        with self._lock:
            return self._heads.pop(session_id, None)

    def put(self, session_id: str, head: _Head) -> None:
        with self._lock:
            self._heads[session_id] = head
            if len(self._heads) > _KNOWN:
                del self._heads[next(iter(self._heads))]


# Appends --------------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """What is to be appended."""

    session_id: str
    drafts: tuple[Draft, ...]
    expect: int | None
    epoch: int | None
    meta: Meta | None
    key: bytes | None
    topic: str

    def may_go_to(self, known: _Head) -> bool:
        """Whether nothing has to be looked at but what the statement itself checks."""
        is_seen = self.expect is None or self.expect == known.head
        return bool(self.drafts) and not self.meta and is_seen and (self.epoch is None or self.epoch > 0)

    @property
    def is_told(self) -> bool:
        """Whether others are woken. A notice makes commits wait for one another, so a runner tells of its end only."""
        return bool(self.drafts) and (self.epoch is None or any(draft.kind == "run_finished" for draft in self.drafts))


def _append_at(db: Db, batch: _Batch, known: _Head) -> _Head | None:
    """Append if the session still stands there and the epoch is the latest; where it stands then, None when neither."""
    seqs = range(known.head + 1, known.head + 1 + len(batch.drafts))
    chains, marks = [known.chain], known.marks
    for seq, draft in zip(seqs, batch.drafts, strict=True):
        chains.append(link(chains[-1], batch.session_id, seq, draft, batch.key))
        marks = marked(marks, seq, draft) if draft.opens or draft.closes else marks
    after = _Head(known.key, known.head + len(batch.drafts), chains[-1], marks)
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
    rows = [(_bytes(d.id), _bytes(d.kind), _bytes(d.at), d.body, _packed(d.opens), _packed(d.closes)) for d in drafts]
    if len(rows) == 1:
        return _ONE, dict(zip(names, rows[0], strict=True))
    columns = map(list, zip(*rows, strict=True))
    return _MANY, {"seqs": list(seqs), "chains": chains, **dict(zip(names, columns, strict=True))}


def _append_locked(db: Db, batch: _Batch) -> tuple[int, _Head]:
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
                "UPDATE sessions SET meta = %b, pairs = %b::bigint[] WHERE key = %s", (meta, _pairs(meta), row.head.key)
            )
        after = _append_at(db, batch, row.head)
        return (after or row.head).head, after or row.head


def _repeated(db: Db, batch: _Batch) -> tuple[int, _Head]:
    """The last seq of a batch whose ids are taken by the batch itself, and where the session stands."""
    with db.transaction():
        row = _own(db, batch.session_id, batch.key, make=False)
        return _last_of(db, batch, row, rules.ids_taken(batch.session_id, batch.drafts)), row.head


def _last_of(db: Db, batch: _Batch, row: _Row, otherwise: Conflict) -> int:
    """The last seq of the batch when it is there already, whole and in this order; otherwise that error is raised."""
    seqs = dict(_fetched(db, _SEQS, (row.head.key, [_bytes(draft.id) for draft in batch.drafts])))
    last = rules.last_of_run([seqs.get(_bytes(draft.id)) for draft in batch.drafts])
    if last is None:
        raise otherwise
    return last


def _own(db: Db, session_id: str, key: bytes | None, *, make: bool) -> _Row:
    """The session's row, locked until the transaction ends, if a store of that key may go on with it.

    A blank one when there is none, unless it is to be made.
    """
    row = _locked(db, session_id)
    if not row.head.key and make:
        db.execute(_NEW_ROW, (_bytes(session_id), seal(session_id, 0, b"", key)))
        row = _locked(db, session_id)
    if row.head.key:
        rules.require_seal(session_id, row.head.head, row.head.chain, row.seal, key)
    return row


def _locked(db: Db, session_id: str) -> _Row:
    found = _fetched(db, _ROW, (_bytes(session_id),))
    if not found:
        return _Row()
    key, head, chain, marks, epoch, owner, expires, meta, sealed, now = found[0]
    return _Row(_Head(key, head, chain, _marks_in(marks)), epoch, _text(owner), expires, meta, sealed, now)


def _claim(db: Db, key: bytes | None, session_id: str, owner: str, ttl: float) -> Claim:
    with db.transaction():
        row = _own(db, session_id, key, make=True)
        rules.require_free(rules.claim_of(session_id, row.owner, row.epoch, row.expires), owner, row.now)
        ((epoch, expires),) = _fetched(db, _TAKE, (_bytes(owner), ttl, ttl, row.head.key))
    return Claim(session_id, owner, epoch, expires)


def _delete(db: Db, session_id: str) -> None:
    # The row is locked first: the statement behind it sees all that was appended until then.
    with db.transaction():
        db.execute(_DELETE, (_locked(db, session_id).head.key,))


def _planned(db: Db, query: str, values: Values) -> list[tuple[Any, ...]]:
    """The rows of a query that is planned for these values: a plan for any of them reads all sessions for a rare one."""
    return db.execute(query, values, prepare=False, binary=True).fetchall()


def _fetched(db: Db, query: str, values: tuple[Any, ...] | Values = ()) -> list[tuple[Any, ...]]:
    return db.execute(query, values, binary=True).fetchall()


# Listings -------------------------------------------------------------------------------------


def _candidates(status: Status | None, meta: Meta | None, after: str | None) -> tuple[str, Values]:
    """A condition that holds for every session that is to be listed, and for few others, and its values."""
    wanted = ["id >= ''" if after is None else "id > %(after)b"]
    if status == "running":
        wanted.append(f"owner IS NOT NULL AND expires > {_CLOCK}")
    elif status is not None:
        wanted.append("waits = %(waits)s")
    if meta:
        wanted.append("pairs @> %(pairs)b::bigint[]")
    values = {"after": _bytes(after or ""), "waits": status, "pairs": _pairs(canonical(meta or {}))}
    return " AND ".join(wanted), values


def _pairs(meta: bytes) -> list[int]:
    """A number for each pair of the meta: equal pairs have equal ones, and others hardly ever."""
    pairs = (canonical({key: value}) for key, value in rules.meta_of(meta).items())
    return [int.from_bytes(sha256(pair).digest()[:8], signed=True) for pair in pairs]


# Rows -----------------------------------------------------------------------------------------


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode("utf-8", "surrogatepass")


def _packed(marks: Sequence[str]) -> bytes:
    return msgspec.json.encode(marks) if marks else b""


def _entry(
    seq: int,
    id: bytes,
    kind: bytes,
    at: bytes,
    body: bytes,
    epoch: int,
    opens: bytes | None,
    closes: bytes | None,
    chain: bytes,
    erased: bytes | None,
) -> Entry:
    marks = rules.marks_of(opens), rules.marks_of(closes)
    return Entry(seq, id.decode(), kind.decode(), at.decode(), body, epoch, *marks, chain, erased or b"")


def _marks_in(stored: bytes) -> dict[str, int]:
    """The open marks of a session; none where somebody has changed them to what nobody can read."""
    try:
        return _open_marks.decode(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _info(row: tuple[Any, ...]) -> SessionInfo:
    stored, head, chain, packed, epoch, owner, expires, meta, created, updated, sealed, now = row
    id, marks = stored.decode(), _marks_in(packed)
    return SessionInfo(
        id=id,
        head=head,
        chain=chain,
        boundary=boundary_of(marks),
        epoch=epoch,
        marks=marks,
        claim=rules.claim_in_force(rules.claim_of(id, _text(owner), epoch, expires), now),
        meta=rules.meta_of(meta),
        damage=() if rules.read_meta(meta) is not None else rules.UNREADABLE_META,
        created_at=rules.utc(created),
        updated_at=rules.utc(updated),
        seal=sealed,
    )
