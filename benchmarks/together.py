"""What many writers append together, beside one alone: threads and async sessions that share commits.

All take turns in one process on one disk, a slice of time each, so that what slows the disk slows all.
Run it with `python -m benchmarks.together`.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.append import BODY, a_draft, bare_append, bare_store

from suture.messages import User
from suture.session import AsyncSession
from suture.stores.sqlite.store import SqliteStore

SESSIONS = 64
ROUNDS = 9
SLICE = 0.7


class Rates(NamedTuple):
    """Appends a second: of a bare transaction, of one writer alone, of threads, and of async sessions."""

    bare: float
    alone: float
    threads: float
    tasks: float


def rates(rounds: int = ROUNDS, slice: float = SLICE) -> Rates:
    """The median of the rounds."""
    with tempfile.TemporaryDirectory() as place, closing(SqliteStore(Path(place) / "store.db")) as store:
        with closing(bare_store(Path(place) / "bare.db")) as bare:
            kinds: list[Callable[[float], int]] = [
                lambda end: _until(end, lambda: bare_append(bare, [a_draft()])),
                lambda end: _until(end, lambda: store.append("alone", [a_draft()])),
                lambda end: _threads(store, end),
                lambda end: asyncio.run(_tasks(store, end)),
            ]
            times = [[_rate(kind, slice) for kind in kinds] for _ in range(rounds)]
    return Rates(*(statistics.median(column) for column in zip(*times, strict=True)))


def _rate(kind: Callable[[float], int], slice: float) -> float:
    begun = time.perf_counter()
    done = kind(begun + slice)
    return done / (time.perf_counter() - begun)


def _until(end: float, work: Callable[[], object]) -> int:
    done = 0
    while time.perf_counter() < end:
        work()
        done += 1
    return done


def _threads(store: SqliteStore, end: float) -> int:
    """Threads with a session each, until then."""
    done = [0] * SESSIONS

    def write(index: int) -> None:
        done[index] = _until(end, lambda: store.append(f"thread-{index}", [a_draft()]))

    threads = [threading.Thread(target=write, args=(index,)) for index in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done)


async def _tasks(store: SqliteStore, end: float) -> int:
    """Async sessions, each in a task of its own, until then."""

    async def write(index: int) -> int:
        session, done = AsyncSession(store, f"task-{index}"), 0
        while time.perf_counter() < end:
            await session.add(User.of(BODY.decode()))
            done += 1
        return done

    return sum(await asyncio.gather(*map(write, range(SESSIONS))))


def main() -> None:
    found = rates()
    for name, rate, beside, what in (
        ("a bare transaction", found.bare, found.bare, "bare"),
        ("one writer alone", found.alone, found.bare, "bare"),
        (f"{SESSIONS} threads", found.threads, found.alone, "one writer alone"),
        (f"{SESSIONS} async sessions", found.tasks, found.bare, "bare"),
    ):
        print(f"{name:>20}{rate:>10,.0f} appends/s{rate / beside:>8.2f} x {what}")


if __name__ == "__main__":
    main()
