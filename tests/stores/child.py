"""What a child process of the store tests does: `python child.py <what> ...`. It speaks by lines and waits for lines."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw

from suture.entries import Draft
from suture.errors import StoreError
from suture.stores.owner import this_owner
from suture.stores.sqlite import SqliteStore


def say(line: object) -> None:
    print(line, flush=True)


def hear() -> str:
    return sys.stdin.readline().strip()


def batch(name: str, size: int = 1) -> list[Draft]:
    return [Draft(f"{name}.{index}", "note", "2026-01-02T03:04:05.000Z", os.urandom(400)) for index in range(size)]


def open_each() -> None:
    """Open every file named, append to it, close it."""
    while path := hear():
        store = SqliteStore(path)
        store.append("s", batch(str(os.getpid())))
        store.close()
        say("done")


def append(path: str, count: str) -> None:
    """Append batches of three when told to begin."""
    store = SqliteStore(path)
    say("ready")
    hear()
    for index in range(int(count)):
        store.append("s", batch(f"{os.getpid()}-{index}", 3))
    store.close()


def append_for_ever(path: str) -> None:
    """Append batches of three until killed; say each last seq once it is on disk."""
    store = SqliteStore(path)
    index = 0
    while True:
        index += 1
        say(store.append("s", batch(f"{os.getpid()}-{index}", 3)))


def stop_at(path: str, statement: str) -> None:
    """Append a batch, then another one, and stop inside it, before its statement of that number."""
    store = SqliteStore(path)
    store.append("s", [Draft("a", "note", "", b"a", ("inbox:1",)), Draft("b", "note", "", b"b")])
    left = [int(statement)]

    def trace(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        left[0] -= 1
        if left[0] == 0:
            say(sql)
            hear()
        return True

    with store._database._loan() as db:
        db.set_exec_trace(trace)
    store.append("s", [Draft("c", "note", "", b"c", (), ("inbox:1",)), Draft("d", "note", "", b"d", ("run:1",))])
    say("appended")
    hear()


def read_only(path: str) -> None:
    """Open the file as a user who may only read it; say what is there and what an append answers."""
    if os.getuid() == 0:
        os.setuid(65534)
    store = SqliteStore(path)
    say(len(store.read("s")))
    try:
        store.append("s", batch("new"))
    except StoreError as error:
        say(str(error))
    store.close()


def refused(path: str) -> None:
    """Open the file as a user who may only read it; say why it cannot be opened."""
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        SqliteStore(path)
    except StoreError as error:
        say(str(error))


def fork_and_go_on(path: str) -> None:
    """Fork with the store open: both sides append, and what the parent closes must stay open for the child."""
    store = SqliteStore(path)
    store.append("s", batch("before"))
    closed_r, closed_w = os.pipe()
    opened_r, opened_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        store.append("s", batch("child-1"))
        os.write(opened_w, b"x")
        os.read(closed_r, 1)
        store.append("s", batch("child-2"))
        os._exit(0)
    os.read(opened_r, 1)
    store.append("s", batch("parent"))
    store.close()
    os.write(closed_w, b"x")
    say(os.waitpid(pid, 0)[1])


def fork_among_threads(path: str) -> None:
    """Fork again and again while threads append; every child appends as well."""
    store = SqliteStore(path)
    threads = [threading.Thread(target=_append_many, args=(store, f"thread-{index}")) for index in range(3)]
    for thread in threads:
        thread.start()
    pids = []
    for index in range(20):
        pid = os.fork()
        if pid == 0:
            store.append("s", batch(f"child-{index}"))
            os._exit(0)
        pids.append(pid)
    for thread in threads:
        thread.join()
    say([os.waitpid(pid, 0)[1] for pid in pids] == [0] * 20)


def _append_many(store: SqliteStore, name: str) -> None:
    for index in range(100):
        store.append("s", batch(f"{name}-{index}"))


def owner() -> None:
    """Under a name that looks like the fields of a stat line, say who this is, and live until told to end."""
    Path("/proc/self/comm").write_text(") Z 1 (")
    say(this_owner())
    hear()


def owners_over_a_fork() -> None:
    """Say the owner before a fork, in the child and in the parent."""
    say(this_owner())
    pid = os.fork()
    if pid == 0:
        say(this_owner())
        os._exit(0)
    os.waitpid(pid, 0)
    say(this_owner())


WHAT: dict[str, Callable[..., None]] = {
    work.__name__: work
    for work in (
        open_each,
        append,
        append_for_ever,
        stop_at,
        read_only,
        refused,
        fork_and_go_on,
        fork_among_threads,
        owner,
        owners_over_a_fork,
    )
}

if __name__ == "__main__":
    WHAT[sys.argv[1]](*sys.argv[2:])
