"""What a durable append costs, beside a bare SQLite transaction that reads and writes the same rows.

Both run in one process on one disk and take turns, append by append, so that what slows the disk slows both.
Run it with `python benchmarks/append.py`.
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from suture.entries import Draft
from suture.stores.sqlite import SqliteStore

BODY = b"x" * 500
LENGTHS = (0, 1_000, 10_000)
ROUNDS = 1_000


class Row(NamedTuple):
    """The median of an append to a log of that length: ours and the bare transaction's, in microseconds."""

    length: int
    store: float
    bare: float

    @property
    def ratio(self) -> float:
        return self.store / self.bare


def rows(rounds: int = ROUNDS) -> list[Row]:
    """One row per log length."""
    with tempfile.TemporaryDirectory() as place:
        return [_measured(Path(place), length, rounds) for length in LENGTHS]


def _measured(place: Path, length: int, rounds: int) -> Row:
    with closing(SqliteStore(place / f"store-{length}.db")) as store, closing(_bare(place / f"bare-{length}.db")) as bare:
        for drafts in _batches(length):
            store.append("s", drafts)
            bare_append(bare, drafts)
        ours, theirs = [], []
        for index in range(length, length + rounds):
            draft = _draft(index)
            ours.append(_timed(partial(store.append, "s", [draft])))
            theirs.append(_timed(partial(bare_append, bare, [draft])))
    return Row(length, statistics.median(ours) * 1e6, statistics.median(theirs) * 1e6)


def _batches(length: int) -> Iterator[list[Draft]]:
    for start in range(0, length, 500):
        yield [_draft(index) for index in range(start, min(start + 500, length))]


def _draft(index: int) -> Draft:
    return Draft(hashlib.md5(str(index).encode()).hexdigest(), "message", "2026-01-01T00:00:00.000Z", BODY)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _bare(path: Path) -> apsw.Connection:
    """A file of our schema with one session, and a connection to it that knows nothing of us."""
    with closing(SqliteStore(path)) as store:
        store.append("s", [], meta={"bare": True})
    db = apsw.Connection(str(path))
    db.execute("PRAGMA synchronous = FULL").fetchall()
    return db


def bare_append(db: apsw.Connection, drafts: list[Draft]) -> None:
    """The least that an append can be: read the session's row, add the entries, write the row back."""
    db.execute("BEGIN IMMEDIATE")
    read = "SELECT key, head, chain, epoch, owner, ttl, expires, meta FROM sessions WHERE id = ?"
    key, head, *_ = db.execute(read, ("s",)).get
    for seq, draft in enumerate(drafts, head + 1):
        entry = key, seq, draft.id, draft.kind, draft.at, draft.body, 0, None, None, BODY[:32]
        db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", entry)
    written = head + len(drafts), BODY[:32], 0.0, b"{}", time.time(), key
    db.execute("UPDATE sessions SET head = ?, chain = ?, expires = ?, meta = ?, updated = ? WHERE key = ?", written)
    db.execute("COMMIT")


def main() -> None:
    print(f"{'entries before':>15}{'SqliteStore µs':>16}{'bare µs':>10}{'ratio':>8}")
    for row in rows():
        print(f"{row.length:>15,}{row.store:>16.0f}{row.bare:>10.0f}{row.ratio:>8.2f}")


if __name__ == "__main__":
    main()
