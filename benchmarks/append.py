"""What a durable append costs, beside a bare SQLite transaction that reads and writes the same rows.

Both run in one process on one disk and take turns, append by append, over logs of all lengths, so that what slows the
disk slows all. Run it with `python -m benchmarks.append`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from suture.entries import Draft
from suture.session import new_id
from suture.stores.sqlite.store import SqliteStore

BODY = b"x" * 500
LENGTHS = (0, 1_000, 10_000, 100_000)
ROUNDS = 1_000


class Row(NamedTuple):
    """The median of an append to a log of that length: ours and the bare transaction's, in microseconds."""

    length: int
    store: float
    bare: float

    @property
    def ratio(self) -> float:
        """How much of the bare speed is left."""
        return self.bare / self.store


def rows(rounds: int = ROUNDS) -> list[Row]:
    """One row per log length."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as open_ones:
        pairs = [_filled(Path(place), length, open_ones) for length in LENGTHS]
        times = [_pair_times(pairs) for _ in range(rounds)]
    medians = [[statistics.median(column) * 1e6 for column in zip(*each, strict=True)] for each in zip(*times, strict=True)]
    return [Row(length, *median) for length, median in zip(LENGTHS, medians, strict=True)]


def _filled(place: Path, length: int, open_ones: ExitStack) -> tuple[SqliteStore, apsw.Connection]:
    store = open_ones.enter_context(closing(SqliteStore(place / f"store-{length}.db")))
    bare = open_ones.enter_context(closing(bare_store(place / f"bare-{length}.db")))
    for drafts in _batches(length):
        store.append("s", drafts)
        bare_append(bare, drafts)
    return store, bare


def _pair_times(pairs: list[tuple[SqliteStore, apsw.Connection]]) -> list[tuple[float, float]]:
    return [
        (_timed(partial(store.append, "s", [draft])), _timed(partial(bare_append, bare, [draft])))
        for store, bare in pairs
        for draft in (a_draft(),)
    ]


def _batches(length: int) -> Iterator[list[Draft]]:
    for start in range(0, length, 500):
        yield [a_draft() for _ in range(start, min(start + 500, length))]


def a_draft() -> Draft:
    """An entry of 500 bytes under a new id, as sessions make them."""
    return Draft(new_id(), "message", "2026-01-01T00:00:00.000Z", BODY)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_store(path: Path) -> apsw.Connection:
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
    found = rows()
    print(f"{'entries before':>15}{'SqliteStore µs':>16}{'bare µs':>10}{'bare/ours':>11}{'beside the first':>18}")
    for row in found:
        flat = row.store / found[0].store
        print(f"{row.length:>15,}{row.store:>16.0f}{row.bare:>10.0f}{row.ratio:>11.2f}{flat:>17.2f}x")


if __name__ == "__main__":
    main()
