"""What is read out of a SQLite store: the queries, and what their rows say."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

import suture.stores.rules as rules
from suture.canonical import canonical
from suture.entries import Entry
from suture.stores.base import Meta, SessionInfo, Status

HEAD = "SELECT head FROM sessions WHERE id = ?"
ALL_ENTRIES = "SELECT (SELECT entries FROM deleted) + (SELECT coalesce(sum(head), 0) FROM sessions)"
ENTRIES = """
    SELECT seq, e.id, kind, at, body, e.epoch, opens, closes, e.chain, erased
    FROM sessions AS s JOIN entries AS e ON e.session = s.key
    WHERE s.id = ? AND seq > ? ORDER BY seq LIMIT ?"""
_INFOS = """
    SELECT s.id, head, chain, epoch, owner, expires, meta, created, updated, seal, mark, seq
    FROM ({sessions}) AS s LEFT JOIN marks AS m ON m.session = s.key ORDER BY s.id, seq, mark"""
ONE_INFO = _INFOS.format(sessions="SELECT * FROM sessions WHERE id = ?")

Binding: TypeAlias = str | bytes | int | None


def packed(marks: Sequence[str]) -> bytes | None:
    """Marks as a row of `entries` keeps them; `rules.marks_of` reads them."""
    return msgspec.json.encode(marks) if marks else None


def entry(
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
    """An entry from its row."""
    if opens is closes is erased is None:
        return Entry(seq, id, kind, at, body, epoch, (), (), chain)
    return Entry(seq, id, kind, at, body, epoch, rules.marks_of(opens), rules.marks_of(closes), chain, erased or b"")


def infos(rows: Iterable[tuple[Any, ...]]) -> Iterator[SessionInfo]:
    """One per session from its rows, of which it has one per mark, or one without a mark."""
    now = time.time()
    for row, group in groupby(rows, lambda row: row[:10]):
        id, head, chain, epoch, owner, expires, meta, created, updated, sealed = row
        marks = {mark: seq for *_, mark, seq in group if mark is not None}
        yield rules.info_of(
            id=id,
            head=head,
            chain=chain,
            marks=marks,
            epoch=epoch,
            claim=rules.claim_of(id, owner, epoch, expires),
            meta=meta,
            created=created,
            updated=updated,
            sealed=sealed,
            now=now,
        )


def listing(status: Status | None, meta: Meta | None, after: str | None) -> tuple[str, dict[str, Binding]]:
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
