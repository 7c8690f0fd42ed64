"""What is read out of a PostgreSQL store: the queries, and what their rows say."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

import suture.stores.rules as rules
from suture.canonical import canonical
from suture.entries import Entry
from suture.stores.base import Meta, SessionInfo, Status
from suture.stores.postgres.server import Db

CLOCK = "extract(epoch FROM clock_timestamp())::float8"
ENTRIES = """
    SELECT seq, e.id, kind, at, body, e.epoch, opens, closes, e.chain, erased
    FROM sessions AS s JOIN entries AS e ON e.session = s.key
    WHERE s.id = %b AND seq > %s ORDER BY seq LIMIT %s"""
HEAD = "SELECT head FROM sessions WHERE id = %b"
ALL_ENTRIES = "SELECT ((SELECT entries FROM deleted) + (SELECT coalesce(sum(head), 0) FROM sessions))::bigint"
INFOS = f"SELECT id, head, chain, marks, epoch, owner, expires, meta, created, updated, seal, {CLOCK} FROM sessions WHERE "

Values: TypeAlias = dict[str, Any]

_open_marks = msgspec.json.Decoder(dict[str, int])


def planned(db: Db, query: str, values: Values) -> list[tuple[Any, ...]]:
    """The rows of a query that is planned for these values: a plan for any of them reads all sessions for a rare one."""
    return db.execute(query, values, prepare=False, binary=True).fetchall()


def fetched(db: Db, query: str, values: tuple[Any, ...] | Values = ()) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    return db.execute(query, values, binary=True).fetchall()


def as_bytes(text: str) -> bytes:
    """A text as the tables keep it."""
    return text.encode("utf-8", "surrogatepass")


def as_text(stored: bytes | None) -> str | None:
    """A text as it was given, from what is kept."""
    return None if stored is None else stored.decode("utf-8", "surrogatepass")


def packed(marks: Sequence[str]) -> bytes:
    """Marks as a row of `entries` keeps them, blank for none; `rules.marks_of` reads them."""
    return msgspec.json.encode(marks) if marks else b""


def entry(
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
    """An entry from its row."""
    marks = rules.marks_of(opens), rules.marks_of(closes)
    return Entry(seq, id.decode(), kind.decode(), at.decode(), body, epoch, *marks, chain, erased or b"")


def marks_in(stored: bytes) -> dict[str, int]:
    """The open marks of a session; none where somebody has changed them to what nobody can read."""
    try:
        return _open_marks.decode(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def info(row: tuple[Any, ...]) -> SessionInfo:
    """A session from its row."""
    stored, head, chain, open_marks, epoch, owner, expires, meta, created, updated, sealed, now = row
    id, marks = stored.decode(), marks_in(open_marks)
    return rules.info_of(
        id=id,
        head=head,
        chain=chain,
        marks=marks,
        epoch=epoch,
        claim=rules.claim_of(id, as_text(owner), epoch, expires),
        meta=meta,
        created=created,
        updated=updated,
        sealed=sealed,
        now=now,
    )


def candidates(status: Status | None, meta: Meta | None, after: str | None) -> tuple[str, Values]:
    """A condition that holds for every session that is to be listed, and for few others, and its values."""
    wanted = ["id >= ''" if after is None else "id > %(after)b"]
    if status == "running":
        wanted.append(f"owner IS NOT NULL AND expires > {CLOCK}")
    elif status is not None:
        wanted.append("waits = %(waits)s")
    if meta:
        wanted.append("pairs @> %(pairs)b::bigint[]")
    values = {"after": as_bytes(after or ""), "waits": status, "pairs": pairs(canonical(meta or {}))}
    return " AND ".join(wanted), values


def pairs(meta: bytes) -> list[int]:
    """A number for each pair of the meta: equal pairs have equal ones, and others hardly ever."""
    texts = (canonical({key: value}) for key, value in rules.meta_of(meta).items())
    return [int.from_bytes(sha256(text).digest()[:8], signed=True) for text in texts]
