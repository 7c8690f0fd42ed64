"""What a runner's append to PostgreSQL costs, beside a bare psycopg statement that writes the same rows.

Both run in one process against one server and take turns, append by append. Run it with `python -m benchmarks.postgres`.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import psycopg
from tests.postgres import some_server, with_schema

from suture.entries import Draft
from suture.stores.postgres.store import PostgresStore

BODY = b"x" * 500
LENGTHS = (0, 10_000, 100_000)
ROUNDS = 1_000
SCHEMA = "suture_bench"

_BARE = """
    WITH session AS (
        UPDATE sessions SET head = %(head)s::bigint, chain = %(chain)b, seal = %(seal)b, waits = %(waits)s,
            updated = %(updated)s
        WHERE key = %(key)s::bigint RETURNING key
    )
    INSERT INTO entries SELECT key, %(head)s::bigint, %(id)b, %(kind)b, %(at)b, %(body)b, 0, NULL, NULL, %(chain)b, NULL
    FROM session"""

Db = psycopg.Connection[tuple[Any, ...]]


class Row(NamedTuple):
    """The median of an append to a log of that length: ours and the bare statement's, in microseconds."""

    length: int
    store: float
    bare: float

    @property
    def ratio(self) -> float:
        return self.bare / self.store


def rows(url: str, rounds: int = ROUNDS) -> list[Row]:
    """One row per log length."""
    with closing(PostgresStore(with_schema(url, SCHEMA))) as store, psycopg.connect(url, autocommit=True) as bare:
        bare.execute(f"SET search_path = {SCHEMA}")
        return [_measured(store, bare, length, rounds) for length in LENGTHS]


def _measured(store: PostgresStore, bare: Db, length: int, rounds: int) -> Row:
    ours, theirs = f"ours-{length}", f"bare-{length}"
    for session in (ours, theirs):
        for drafts in _batches(length):
            store.append(session, drafts)
        epoch = store.claim(session, "another:owner", 3_600).epoch
    ((key,),) = bare.execute("SELECT key FROM sessions WHERE id = %s", (theirs.encode(),)).fetchall()
    times: tuple[list[float], list[float]] = [], []
    for index in range(length, length + rounds):
        draft = _draft(index)
        times[0].append(_timed(partial(store.append, ours, [draft], epoch=epoch)))
        times[1].append(_timed(partial(bare_append, bare, key, index + 1, draft)))
    store_time, bare_time = (statistics.median(each) * 1e6 for each in times)
    return Row(length, store_time, bare_time)


def bare_append(db: Db, key: int, head: int, draft: Draft) -> None:
    """The least that an append can be: move the session's head and add the entry, in one statement."""
    values = {
        "key": key,
        "head": head,
        "chain": BODY[:32],
        "seal": b"",
        "waits": "idle",
        "updated": time.time(),
        "id": draft.id.encode(),
        "kind": draft.kind.encode(),
        "at": draft.at.encode(),
        "body": draft.body,
    }
    db.execute(_BARE, values)


def _batches(length: int) -> Iterator[list[Draft]]:
    for start in range(0, length, 500):
        yield [_draft(index) for index in range(start, min(start + 500, length))]


def _draft(index: int) -> Draft:
    return Draft(hashlib.md5(str(index).encode()).hexdigest(), "message", "2026-01-01T00:00:00.000Z", BODY)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    with some_server(syncs=True) as url:
        print(f"{'entries before':>15}{'PostgresStore µs':>18}{'bare µs':>10}{'bare/ours':>11}")
        for row in rows(url):
            print(f"{row.length:>15,}{row.store:>18.0f}{row.bare:>10.0f}{row.ratio:>11.2f}")


if __name__ == "__main__":
    main()
