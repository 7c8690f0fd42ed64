"""What a child process of `ConcurrentStoreContract` does: `python -m suture.testing.store_child WORK OPENER ADDRESS ...`.

It opens the store by calling OPENER, `module:name`, with ADDRESS; it speaks by lines and waits for lines.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module

from suture.entries import Draft
from suture.errors import Conflict, Fenced, SessionBusy
from suture.stores import Store
from suture.stores.owner import this_owner

Opener = Callable[[str], Store]


def opener_of(name: str) -> Opener:
    """The callable at `module:name`."""
    module, _, attribute = name.partition(":")
    found: Opener = getattr(import_module(module), attribute)
    return found


def _say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _hear() -> str:
    return sys.stdin.readline().strip()


def _batch(name: str, size: int = 1) -> list[Draft]:
    body = b'{"text":"%s"}' % os.urandom(200).hex().encode()
    return [Draft(f"{name}.{index}", "note", "2026-01-02T03:04:05.000Z", body) for index in range(size)]


def open_each(open_store: Opener, _address: str) -> None:
    """Open every store named, append to it, close it."""
    while address := _hear():
        store = open_store(address)
        store.append("s", _batch(str(os.getpid())))
        store.close()
        _say("done")


def append(open_store: Opener, address: str, session_id: str, count: str) -> None:
    """Append batches of three when told to begin, each with a key of meta."""
    store = open_store(address)
    _say("ready")
    _hear()
    for index in range(int(count)):
        store.append(session_id, _batch(f"{os.getpid()}-{index}", 3), meta={f"{os.getpid()}-{index}": index})
    store.close()


def append_over(open_store: Opener, address: str, sessions: str, rounds: str) -> None:
    """Append batches of three to so many sessions in turn when told to begin."""
    store = open_store(address)
    _say("ready")
    _hear()
    for index in range(int(rounds)):
        for session in range(int(sessions)):
            store.append(f"s{session:03}", _batch(f"{os.getpid()}-{index}", 3))
    store.close()


def append_for_ever(open_store: Opener, address: str) -> None:
    """Append batches of three until killed; say each last seq once it is on disk."""
    store = open_store(address)
    index = 0
    while True:
        index += 1
        _say(store.append("s", _batch(f"{os.getpid()}-{index}", 3)))


def expect(open_store: Opener, address: str) -> None:
    """Append behind each head that is told; say whether this process won."""
    store = open_store(address)
    _say("ready")
    while head := _hear():
        try:
            store.append("s", _batch(f"{os.getpid()}-{head}"), expect=int(head))
        except Conflict:
            _say("lost")
        else:
            _say("won")


def claim(open_store: Opener, address: str) -> None:
    """Claim each session that is told; say the epoch, blank when somebody else has it. Release it when told."""
    store = open_store(address)
    _say("ready")
    while session_id := _hear():
        try:
            held = store.claim(session_id, this_owner(), 300)
        except SessionBusy:
            _say("busy")
            _hear()
        else:
            _say(held.epoch)
            _hear()
            store.release(held)


def claim_for_ever(open_store: Opener, address: str) -> None:
    """Claim and release, and at times delete the session, until killed; say each epoch once it is given."""
    store = open_store(address)
    owner = this_owner()
    while True:
        for is_last in (False, False, True):
            held = store.claim("s", owner, 300)
            _say(held.epoch)
            store.append("s", _batch(f"{held.epoch}"), epoch=held.epoch)
            if is_last:
                store.delete("s")
            else:
                store.release(held)


def hold(open_store: Opener, address: str, ttl: str) -> None:
    """Claim for so many seconds, and say the epoch; then, when told, append under it and say what came of it."""
    store = open_store(address)
    held = store.claim("s", this_owner(), float(ttl))
    _say(held.epoch)
    _hear()
    for work in (
        lambda: store.append("s", _batch("late"), epoch=held.epoch),
        lambda: store.renew(held, 300),
    ):
        try:
            work()
        except Fenced:
            _say("fenced")
        else:
            _say("done")


def erase(open_store: Opener, address: str, first: str = "0", step: str = "1") -> None:
    """Erase the bodies of the session, the last first, or every so many from one on; say each id once that is on disk."""
    store = open_store(address)
    for entry in reversed(store.read("s")[int(first) :: int(step)]):
        store.erase("s", entry.id)
        _say(entry.id)
    _hear()


def listen(open_store: Opener, address: str, session_id: str, after: str) -> None:
    """Say whether news came to the session, or to any for a blank id, and again when told."""
    store = open_store(address)
    _say("ready")
    while True:
        _say(store.news(session_id or None, int(after), 30))
        after = _hear()


def fork_and_go_on(open_store: Opener, address: str) -> None:
    """Fork with the store open: both sides append, and what the parent closes must stay open for the child."""
    store = open_store(address)
    store.append("s", _batch("before"))
    closed_r, closed_w = os.pipe()
    opened_r, opened_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        store.append("s", _batch("child-1"))
        os.write(opened_w, b"x")
        os.read(closed_r, 1)
        store.append("s", _batch("child-2"))
        os._exit(0)
    os.read(opened_r, 1)
    store.append("s", _batch("parent"))
    store.close()
    os.write(closed_w, b"x")
    _say(os.waitpid(pid, 0)[1])


def fork_among_threads(open_store: Opener, address: str, forks: str, appends: str) -> None:
    """Fork again and again while threads append; every child appends as well."""
    store = open_store(address)

    def write(name: str) -> None:
        for index in range(int(appends)):
            store.append("s", _batch(f"{name}-{index}"))

    threads = [threading.Thread(target=write, args=(f"thread-{index}",)) for index in range(3)]
    for thread in threads:
        thread.start()
    pids = []
    for index in range(int(forks)):
        pid = os.fork()
        if pid == 0:
            store.append("s", _batch(f"child-{index}"))
            os._exit(0)
        pids.append(pid)
    for thread in threads:
        thread.join()
    _say(sum(os.waitpid(pid, 0)[1] == 0 for pid in pids))


WORKS: dict[str, Callable[..., None]] = {
    work.__name__: work
    for work in (
        open_each,
        append,
        append_over,
        append_for_ever,
        expect,
        claim,
        claim_for_ever,
        hold,
        erase,
        listen,
        fork_and_go_on,
        fork_among_threads,
    )
}

if __name__ == "__main__":
    WORKS[sys.argv[1]](opener_of(sys.argv[2]), *sys.argv[3:])
