"""What a child process of the store tests does: `python child.py <what> ...`. It speaks by lines and waits for lines."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import apsw

from suture.entries import Draft
from suture.errors import StoreError
from suture.stores.jsonl.store import JsonlStore
from suture.stores.owner import this_owner
from suture.stores.sqlite.store import SqliteStore


def say(line: object) -> None:
    print(line, flush=True)


def hear() -> str:
    return sys.stdin.readline().strip()


def batch(name: str, size: int = 1) -> list[Draft]:
    return [Draft(f"{name}.{index}", "note", "2026-01-02T03:04:05.000Z", os.urandom(400)) for index in range(size)]


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


def stop_jsonl_at(path: str, step: str) -> None:
    """Append a batch, and stop inside it, before the call of that number that changes something on the disk."""
    store = JsonlStore(path)
    left = [int(step)]

    def stopping(name: str) -> Callable[..., object]:
        real: Callable[..., object] = getattr(os, name)

        def call(*args: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                say(name)
                hear()
            return real(*args, **named)

        return call

    for name in ("pwrite", "write", "fdatasync", "fsync", "rename", "utime", "unlink"):
        setattr(os, name, stopping(name))
    store.append("s", [Draft("c", "note", "", b"c", (), ("inbox:1",)), Draft("d", "note", "", b"d", ("run:1",))])
    left[0] = 0
    say("appended")
    hear()


def full(path: str, size: str) -> None:
    """Append more than files may be long here; say why that is refused, and how much is there then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    store = JsonlStore(path)
    try:
        store.append("s", batch("large", 20))
    except StoreError as error:
        say(str(error))
    say(len(store.read("s")))
    store.close()


def read_only_directory(path: str) -> None:
    """Open the directory as a user who may only read it; say what is there and what an append answers."""
    if os.getuid() == 0:
        os.setuid(65534)
    store = JsonlStore(path)
    say(len(store.read("s")))
    try:
        say(store.append("s", batch("new")))
    except StoreError as error:
        say(str(error))
    store.close()


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
        stop_at,
        read_only,
        refused,
        stop_jsonl_at,
        full,
        read_only_directory,
        owner,
        owners_over_a_fork,
    )
}

if __name__ == "__main__":
    WHAT[sys.argv[1]](*sys.argv[2:])
