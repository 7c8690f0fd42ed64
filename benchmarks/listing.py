"""How long a page of a hundred sessions takes where there are a hundred thousand, by what is asked for.

Sessions wait for everything there is in turn; a few are of one user, one in seven is claimed. The first page, and one from
the middle. Run it with `python -m benchmarks.listing`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

import apsw
import psycopg
from tests.postgres import some_server, with_schema

import suture
from suture.stores.base import Status, Store, status_of
from suture.stores.postgres.rows import pairs as hashes_of_pairs

SESSIONS = 100_000
ROUNDS = 15
SCHEMA = "suture_bench_listing"
MARKS = ("", "approval:1:0", "started:1:0", "inbox:1", "run:1")


class Row(NamedTuple):
    """Milliseconds for the first page and one from the middle, and how many are on the first."""

    asked: str
    first: float
    middle: float
    found: int


def rows(store: Store) -> Iterator[Row]:
    """One row for each thing that can be asked for."""
    for asked, ask in (
        ("all", partial(store.sessions)),
        *((status, partial(store.sessions, status=status)) for status in get_args(Status)),
        ("of one user", partial(store.sessions, meta={"user": "ada"})),
    ):
        yield Row(asked, _best(ask), _best(partial(ask, after=f"s{SESSIONS // 2:07}")), len(ask()))


def _best(page: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        page()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


# Many sessions, made at once ------------------------------------------------------------------


def _each() -> Iterator[tuple[str, str, str | None, str]]:
    """Id, mark, owner and meta of each session."""
    for number in range(SESSIONS):
        owner = "elsewhere:0" if number % 7 == 0 else None
        yield f"s{number:07}", MARKS[number % 5], owner, '{"user":"ada"}' if number % 5_000 == 0 else "{}"


def _waits(mark: str) -> Status:
    return status_of({mark: 1} if mark else {}, running=False)


def fill_sqlite(path: Path) -> None:
    """The rows that a store would have written."""
    expires = time.time() + 3_600
    with closing(apsw.Connection(str(path))) as db, db:
        for key, (id, mark, owner, meta) in enumerate(_each(), 1):
            session = key, id, owner, expires, meta.encode(), _waits(mark)
            db.execute(
                "INSERT INTO sessions (key, id, owner, expires, meta, waits, head, epoch, created, updated)"
                " VALUES (?, ?, ?, ?, ?, ?, 1, 1, 0, 0)",
                session,
            )
            if mark:
                db.execute("INSERT INTO marks VALUES (?, ?, 1)", (key, mark))


def fill_postgres(url: str) -> None:
    """The rows that a store would have written."""
    expires = time.time() + 3_600
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"SET search_path = {SCHEMA}")
        columns = "(id, seal, head, epoch, owner, expires, meta, marks, pairs, waits, created, updated)"
        with db.cursor() as cursor, cursor.copy(f"COPY sessions {columns} FROM STDIN") as copy:
            for id, mark, owner, meta in _each():
                marks = f'{{"{mark}":1}}' if mark else "{}"
                named = None if owner is None else owner.encode()
                texts = id.encode(), b"", 1, 1, named, expires, meta.encode(), marks.encode()
                copy.write_row((*texts, hashes_of_pairs(meta.encode()), _waits(mark), 0.0, 0.0))
        db.execute("VACUUM ANALYZE sessions")


def main() -> None:
    print(f"{'':>10}{'asked for':>20}{'first ms':>10}{'middle ms':>11}{'found':>7}")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "store.db"
        with closing(suture.open_store(f"sqlite:///{path}")) as store:
            fill_sqlite(path)
            _tell("sqlite", store)
    with some_server() as url, closing(suture.open_store(with_schema(url, SCHEMA))) as store:
        fill_postgres(url)
        _tell("postgres", store)


def _tell(name: str, store: Store) -> None:
    for row in rows(store):
        print(f"{name:>10}{row.asked:>20}{row.first:>10.1f}{row.middle:>11.1f}{row.found:>7}")


if __name__ == "__main__":
    main()
