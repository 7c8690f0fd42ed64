"""Ctrl-C in the middle of a store: it is raised, what was on is there whole or not at all, and the store goes on."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest
from tests.postgres import at_place

import suture.stores.shield as shield
from suture.errors import Conflict, SessionBusy
from suture.stores import JsonlStore, MemoryStore, PostgresStore, SqliteStore, Store
from suture.stores.base import Claim
from suture.testing.stores import drafts

LIMIT = 30
STORES = str(Path(shield.__file__).parent)

# A tracer made of C: called for a bytecode it reports a Ctrl-C, which Python handles where it would a real one.
_report_sigint = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object, ctypes.py_object)(
    ("PyErr_SetInterrupt", ctypes.pythonapi)
)


@pytest.fixture(params=["memory", "sqlite", "jsonl", "postgres"])
def store(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[Store]:
    stores: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(quick_folder / "sessions.db"),
        "jsonl": lambda: JsonlStore(quick_folder / "sessions"),
        "postgres": lambda: PostgresStore(at_place(request.getfixturevalue("postgres"), quick_folder)),
    }
    with closing(stores[request.param]()) as made:
        yield made


@contextmanager
def handling(number: int, handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    sys.settrace(None)
    raise KeyboardInterrupt


def interrupted(work: Callable[[], object], moment: int) -> bool | None:
    """Do the work, with a Ctrl-C at its bytecode of that number inside the stores.

    Whether it was interrupted; None when it has fewer bytecodes.
    """
    left = [moment]

    def trace(frame: FrameType, _event: str, _arg: object) -> Any:
        if not frame.f_code.co_filename.startswith((STORES, contextmanager.__code__.co_filename)):
            return None
        frame.f_trace_opcodes = True
        left[0] -= 1
        return trace if left[0] else _report_sigint

    with handling(signal.SIGINT, _stop):
        try:
            try:
                sys.settrace(trace)
                work()
            finally:
                # The last moment is handled behind this call.
                sys.settrace(None)
        except KeyboardInterrupt:
            return True
    return False if left[0] <= 0 else None


def require_free(store: Store) -> None:
    """Another thread can write at once, and this one too."""
    done: list[int] = []
    other = threading.Thread(target=lambda: done.append(store.append("free", [])), daemon=True)
    other.start()
    other.join(LIMIT)
    assert done
    if isinstance(store, SqliteStore):
        assert store._database._lent == 0
    if isinstance(store, JsonlStore):
        assert store._place.gate._inside == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def moments(work: Callable[[int], object], stride: int, prepare: Callable[[int], object] = int) -> Iterator[int]:
    """Every moment at which the work was interrupted, from its first bytecode to its last."""
    moment = 1
    while True:
        prepare(moment)
        was_interrupted = interrupted(lambda: work(moment), moment)  # noqa: B023 - called at once
        if was_interrupted is None:
            assert moment > 30
            return
        if was_interrupted:
            yield moment
        moment += stride


def stride(store: Store, least: int) -> int:
    """How far apart the moments are: an append to a file of lines has many times the bytecodes of another one."""
    return least * 7 if isinstance(store, JsonlStore) else least


def test_an_append_that_is_interrupted_anywhere(store: Store) -> None:
    """The batch is there whole or not at all, can be sent again, and nothing stays locked."""
    for moment in moments(
        lambda n: store.append(f"s{n}", drafts("1", "2", opens=["run:1"]), meta={"a": 1}), stride(store, 3)
    ):
        require_free(store)
        info = store.info(f"s{moment}")
        assert info is None or (info.head, info.marks, info.meta) == (2, {"run:1": 2}, {"a": 1})
        assert store.append(f"s{moment}", drafts("1", "2")) == 2


def test_a_claim_that_is_interrupted_anywhere(store: Store) -> None:
    """Nobody holds the session then whom nobody knows; and were it so, the owner can claim again and release."""
    known: list[Claim] = []
    lost: list[int] = []
    for moment in moments(lambda n: known.append(store.claim(f"s{n}", "another:owner", 300)), stride(store, 3)):
        require_free(store)
        info = store.info(f"s{moment}")
        if info is not None and info.claim is not None and info.claim not in known:
            lost.append(moment)
        store.release(store.claim(f"s{moment}", "another:owner", 300))
        assert store.claim(f"s{moment}", "somebody:else", 300).owner == "somebody:else"
    # The tracer itself is a place where Python looks for signals, so a return can lose an answer that it cannot in life.
    assert len(lost) <= 10


def test_a_release_that_is_interrupted_anywhere(store: Store) -> None:
    """It can be done again, and then the claim is gone."""
    claims: dict[int, Claim] = {}

    def prepared(moment: int) -> Claim:
        return claims.setdefault(moment, store.claim(f"s{moment}", "another:owner", 300))

    for moment in moments(lambda n: store.release(claims[n]), stride(store, 3), prepared):
        require_free(store)
        store.release(claims[moment])
        info = store.info(f"s{moment}")
        assert info is not None
        assert info.claim is None


@pytest.mark.parametrize("use", ["read", "info", "sessions", "news", "renew", "erase", "delete"])
def test_any_other_call_that_is_interrupted_anywhere(store: Store, use: str) -> None:
    """Nothing stays locked, nothing lent, and no handler of signals stays exchanged."""
    store.append("s", drafts("1"))
    claim = store.claim("s", "another:owner", 300)
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: store.read("s"),
        "info": lambda: store.info("s"),
        "sessions": lambda: store.sessions(),
        "news": lambda: store.news("s", 1, 0),
        "renew": lambda: store.renew(claim, 300),
        "erase": lambda: store.erase("s", "1"),
        "delete": lambda: store.delete("s"),
    }
    for _ in moments(lambda _: calls[use](), stride(store, 7)):
        require_free(store)


def test_opening_that_is_interrupted_anywhere(quick_folder: Path) -> None:
    """The file can be opened and written after each."""
    path = quick_folder / "sessions.db"
    for moment in moments(lambda _: SqliteStore(path).close(), 41):
        with closing(SqliteStore(path)) as store:
            store.append("s", drafts(str(moment)))
            require_free(store)


def test_interrupts_among_threads_lose_nothing(store: Store) -> None:
    """While two threads append, this one is interrupted hundreds of times: all that was acknowledged is there."""
    acknowledged: list[str] = []
    enough = threading.Event()

    def write(name: str) -> None:
        number = 0
        while not enough.is_set():
            number += 1
            store.append("s", drafts(f"{name}-{number}"))
            acknowledged.append(f"{name}-{number}")

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    others = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for other in others:
        other.start()
    hits = 0
    with handling(signal.SIGALRM, stop):
        for number in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, (number % 40 + 1) * 2e-5)
                store.append("s", drafts(f"main-{number}"))
                acknowledged.append(f"main-{number}")
                while True:
                    time.sleep(1)
            except KeyboardInterrupt:
                hits += 1
    enough.set()
    for other in others:
        other.join(LIMIT)
    require_free(store)
    entries = store.read("s")
    assert hits == 400
    assert {entry.id for entry in entries} >= set(acknowledged)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))


# Waiting --------------------------------------------------------------------------------------


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt after so many seconds, once."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handling(signal.SIGALRM, stop):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield


@pytest.mark.parametrize("session", ["s", None])
def test_waiting_for_news_can_be_interrupted(store: Store, session: str | None) -> None:
    """Ctrl-C ends the wait soon."""
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), alarm(0.2):
        store.news(session, 0, LIMIT)
    assert time.monotonic() - started < LIMIT / 3
    require_free(store)


def test_waiting_for_a_locked_file_can_be_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends the wait, nothing was written, and the store goes on when the file is free."""
    path = tmp_path / "sessions.db"
    with closing(SqliteStore(path)) as store, closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt), alarm(0.2):
            store.append("s", drafts("1"))
        assert time.monotonic() - started < LIMIT / 3
        holder.execute("COMMIT")
        assert store.read("s") == []
        require_free(store)


def test_waiting_behind_a_thread_can_be_interrupted(tmp_path: Path) -> None:
    """Who waits for another thread's commit goes alone; that thread's write is made."""
    path = tmp_path / "sessions.db"
    with closing(SqliteStore(path)) as store, closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        leader = threading.Thread(target=store.append, args=("s", drafts("leader")))
        leader.start()
        while not store._database._writes._is_led:
            time.sleep(0.001)
        with pytest.raises(KeyboardInterrupt), alarm(0.2):
            store.append("s", drafts("follower"))
        holder.execute("COMMIT")
        leader.join(LIMIT)
        assert [entry.id for entry in store.read("s")] == ["leader"]
        require_free(store)


# The shield -----------------------------------------------------------------------------------


def test_a_handler_that_raises_nothing_disturbs_nothing() -> None:
    """It runs behind the work, once, and the work's answer is returned."""
    order: list[str] = []

    def work() -> str:
        signal.raise_signal(signal.SIGUSR1)
        order.append("work")
        return "answer"

    with handling(signal.SIGUSR1, lambda *_: order.append("handler")):
        assert shield.shielded(work) == "answer"
    assert order == ["work", "handler"]


def test_every_handler_that_is_due_runs() -> None:
    """One that raises keeps no other one from running, and each is in its place again."""
    ran: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        ran.append(number)
        raise KeyboardInterrupt

    def work() -> None:
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.raise_signal(number)

    with handling(signal.SIGUSR1, note), handling(signal.SIGUSR2, note):
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                shield.shielded(work)
        assert signal.getsignal(signal.SIGUSR1) is signal.getsignal(signal.SIGUSR2) is note
    assert sorted(ran) == [signal.SIGUSR1] * 3 + [signal.SIGUSR2] * 3


def test_a_lost_answer_is_undone() -> None:
    """What the work made is undone when the interrupt takes its answer away; an error of the work undoes nothing."""
    undone: list[str] = []

    def work() -> str:
        signal.raise_signal(signal.SIGINT)
        return "made"

    with pytest.raises(KeyboardInterrupt):
        shield.shielded(work, undone.append)
    assert undone == ["made"]
    for error in (Conflict, SessionBusy):
        with pytest.raises(error):
            shield.shielded(_raising(error), undone.append)
    assert undone == ["made"]


def _raising(error: type[Exception]) -> Callable[[], str]:
    def work() -> str:
        raise error("no")

    return work
