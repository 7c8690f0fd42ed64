"""A store as somebody has it in hand who has its file, tables or directory and not its key: what is kept, changed in place.

What is changed is written past the store, as an editor or a client of the database would.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import apsw
import msgspec
import psycopg
from psycopg.sql import SQL, Identifier

import suture
from suture import Verified
from suture.entries import Draft, Entry
from suture.stores import Store, open_store
from suture.stores.base import link
from tests.rules.logs import AT

MANY = 8


@dataclass
class Row:
    """What a session's row says of where its log ends."""

    head: int
    chain: bytes
    seal: bytes


@dataclass
class Kept:
    """What is kept of each session. Whatever names none is done to the first."""

    entries: dict[str, list[Entry]]
    rows: dict[str, Row]

    def __post_init__(self) -> None:
        self.first = next(iter(self.entries))

    def at(self, seq: int, of: str | None = None) -> Entry:
        """The entry at a place."""
        return next(one for one in self.entries[of or self.first] if one.seq == seq)

    def set(self, seq: int, **values: Any) -> None:
        """Change an entry."""
        self.entries[self.first] = [
            msgspec.structs.replace(one, **values) if one.seq == seq else one for one in self.entries[self.first]
        ]

    def drop(self, *seqs: int, of: str | None = None) -> None:
        """Remove entries."""
        self.entries[of or self.first] = [one for one in self.entries[of or self.first] if one.seq not in seqs]

    def place(self, **places: int) -> None:
        """Give entries other places: `e3=4` says that entry 3 stands at place 4 now."""
        moved = {int(name[1:]): place for name, place in places.items()}
        self.entries[self.first] = [
            msgspec.structs.replace(one, seq=moved.get(one.seq, one.seq)) for one in self.entries[self.first]
        ]

    def shift(self, first: int, by: int) -> None:
        """Count the entries from one on anew."""
        self.place(**{f"e{one.seq}": one.seq + by for one in self.entries[self.first] if one.seq >= first})

    def put(self, entry: Entry, seq: int, of: str | None = None, **values: Any) -> None:
        """Put an entry at a place."""
        self.entries[of or self.first].append(msgspec.structs.replace(entry, seq=seq, **values))

    def end(self, head: int, chain: bytes | None = None) -> None:
        """Have the row say that the log ends there."""
        row = self.rows[self.first]
        self.rows[self.first] = Row(head, row.chain if chain is None else chain, row.seal)

    def chain_anew(self, first: int) -> None:
        """Chain the entries from one on anew, without the key, and have the row say so."""
        chain, entries = b"", sorted(self.entries[self.first], key=lambda one: one.seq)
        for entry in entries:
            chain = link(chain, self.first, entry.seq, entry) if entry.seq >= first else entry.chain
            self.set(entry.seq, chain=chain)
        self.end(entries[-1].seq, chain)


class Hand(Protocol):
    """How the things of a store are changed past it."""

    url: str

    def row(self, id: str) -> Row:
        """What the row of a session says."""
        ...

    def write(self, before: Kept, after: Kept) -> None:
        """Have the store hold what was made of what it held."""
        ...


class Keeping:
    """A store with sessions `s` and `t` in it, of `MANY` entries each, and the hand that changes them."""

    def __init__(self, hand: Hand, key: bytes | None) -> None:
        self.hand = hand
        self.key = key
        with closing(self.store()) as store:
            for id in "st":
                store.append(id, [Draft(f"{id}{n}", "note", AT, f'{{"n":"{id}{n}"}}'.encode()) for n in range(1, MANY + 1)])

    def store(self, **more: Any) -> Store:
        """The store, under its key or the one that is named."""
        return open_store(self.hand.url, **{"key": self.key, **more})

    def verified(self, id: str = "s") -> Verified:
        """What `verify` finds."""
        with closing(self.store()) as store:
            return suture.verify(store, id)

    @contextmanager
    def changing(self) -> Iterator[Kept]:
        """What is kept, to be changed; it is written behind that."""
        with changing(self.hand, "s", "t", key=self.key) as now:
            yield now


@contextmanager
def changing(hand: Hand, *ids: str, key: bytes | None = None) -> Iterator[Kept]:
    """What a store keeps of those sessions, to be changed; it is written behind that."""
    with closing(open_store(hand.url, key=key)) as store:
        before = Kept({id: store.read(id) for id in ids}, {id: hand.row(id) for id in ids})
    after = copy.deepcopy(before)
    yield after
    hand.write(before, after)


# SQL ------------------------------------------------------------------------------------------


def _packed(marks: tuple[str, ...]) -> bytes | None:
    return json.dumps(marks, separators=(",", ":")).encode() if marks else None


class Sqlite:
    """The file of a `SqliteStore`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._path = url.removeprefix("sqlite:///")

    def __call__(self, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(self._path)) as db:
            return db.execute(sql, bindings).fetchall()

    def row(self, id: str) -> Row:
        return Row(*self("SELECT head, chain, seal FROM sessions WHERE id = ?", id)[0])

    def write(self, before: Kept, after: Kept) -> None:
        for id in before.rows:
            if id not in after.rows:
                self("DELETE FROM sessions WHERE id = ?", id)
                continue
            row, key = after.rows[id], self("SELECT key FROM sessions WHERE id = ?", id)[0][0]
            self("UPDATE sessions SET head = ?, chain = ?, seal = ? WHERE id = ?", row.head, row.chain, row.seal, id)
            self("DELETE FROM entries WHERE session = ?", key)
            for one in after.entries[id]:
                marks = _packed(one.opens), _packed(one.closes)
                values = one.seq, one.id, one.kind, one.at, one.body, one.epoch, *marks, one.chain, one.erased or None
                self(f"INSERT INTO entries VALUES (?{', ?' * 10})", key, *values)


class Postgres:
    """The tables of a `PostgresStore`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._server = url.replace("?schema=", "&schema=").partition("&schema=")[0]
        self._schema = parse_qs(urlsplit(url).query)["schema"][0]

    def __call__(self, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._server, autocommit=True) as db:
            db.execute(SQL("SET search_path = {}").format(Identifier(self._schema)))
            found = db.execute(sql, bindings, binary=True)
            return found.fetchall() if found.description else []

    def row(self, id: str) -> Row:
        return Row(*self("SELECT head, chain, seal FROM sessions WHERE id = %s", id.encode())[0])

    def write(self, before: Kept, after: Kept) -> None:
        for id in before.rows:
            name = id.encode()
            if id not in after.rows:
                self("DELETE FROM sessions WHERE id = %s", name)
                continue
            row, key = after.rows[id], self("SELECT key FROM sessions WHERE id = %s", name)[0][0]
            self("UPDATE sessions SET head = %s, chain = %s, seal = %s WHERE id = %s", row.head, row.chain, row.seal, name)
            self("DELETE FROM entries WHERE session = %s", key)
            for one in after.entries[id]:
                texts = (text.encode() for text in (one.id, one.kind, one.at))
                marks = _packed(one.opens), _packed(one.closes)
                values = one.seq, *texts, one.body, one.epoch, *marks, one.chain, one.erased or None
                self(f"INSERT INTO entries VALUES (%s{', %s' * 10})", key, *values)


# Files ----------------------------------------------------------------------------------------


class Jsonl:
    """The files of a `JsonlStore`. Lines that are not touched stay byte for byte, and so does the state beside them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._path = Path(url.removeprefix("jsonl:///"))

    def _state(self, id: str) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self._path / f"{id}.state").read_bytes())
        return state

    def row(self, id: str) -> Row:
        state = self._state(id)
        return Row(state["head"], bytes.fromhex(state["chain"]), bytes.fromhex(state.get("seal", "")))

    def write(self, before: Kept, after: Kept) -> None:
        for id in before.rows:
            log, side = self._path / f"{id}.jsonl", self._path / f"{id}.state"
            if id not in after.rows:
                log.unlink()
                side.unlink()
                continue
            if after.entries[id] != before.entries[id]:
                header = log.read_bytes().splitlines(keepends=True)[0]
                lines = map(_line, sorted(after.entries[id], key=lambda one: one.seq))
                log.write_bytes(header + b"".join(lines))
            if after.rows[id] != before.rows[id]:
                row = after.rows[id]
                state = self._state(id) | {"head": row.head, "chain": row.chain.hex(), "seal": row.seal.hex()}
                side.write_text(json.dumps(state, separators=(",", ":")))


def _line(entry: Entry) -> bytes:
    line: dict[str, Any] = {name: getattr(entry, name) for name in ("seq", "id", "kind", "at", "epoch")}
    line |= {"chain": entry.chain.hex(), "opens": entry.opens, "closes": entry.closes}
    line |= {"erased": entry.erased.hex()} if entry.erased else _body(entry.body)
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _body(body: bytes) -> dict[str, Any]:
    try:
        return {"body": json.loads(body)}
    except ValueError:
        return {"base64": base64.b64encode(body).decode()}


def hand_at(url: str) -> Hand:
    """The hand on the store at a URL."""
    match url.partition(":")[0]:
        case "sqlite":
            return Sqlite(url)
        case "jsonl":
            return Jsonl(url)
        case _:
            return Postgres(url)
