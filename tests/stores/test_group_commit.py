"""Writes that share a commit: who leads, who is told what, and what an interrupt leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from suture.stores.group_commit import GroupCommit, Write

Log = list[str]


class Ledger:
    """A place to write to: each commit does its writes on one list. The first commit waits for `go_on`."""

    def __init__(self) -> None:
        self.commits: list[Log] = []
        self.first_began = threading.Event()
        self.go_on = threading.Event()
        self.failure: BaseException | None = None
        self.group = GroupCommit(self.commit)

    def commit(self, writes: list[Write[Log]]) -> None:
        if not self.first_began.is_set():
            self.first_began.set()
            assert self.go_on.wait(30)
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        log: Log = []
        for write in writes:
            try:
                write.answer, write.error = write.work(log), None
            except ValueError as error:
                write.error = error
        self.commits.append(log)

    def held(self, pool: ThreadPoolExecutor, *names: str) -> list[Future[str]]:
        """The first of these writes inside its commit, and all others waiting behind it."""
        first = pool.submit(self.group.do, noting(names[0]))
        assert self.first_began.wait(30)
        others = [pool.submit(self.group.do, noting(name)) for name in names[1:]]
        deadline = time.monotonic() + 30
        while len(self.group._waiting) < len(others) and time.monotonic() < deadline:
            time.sleep(0.001)
        return [first, *others]


def noting(name: str) -> Callable[[Log], str]:
    def work(log: Log) -> str:
        if name == "bad":
            raise ValueError(name)
        log.append(name)
        return name.upper()

    return work


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_a_single_write_is_a_commit(ledger: Ledger) -> None:
    """One writer after the other: one commit each."""
    ledger.go_on.set()
    assert [ledger.group.do(noting(name)) for name in "abc"] == ["A", "B", "C"]
    assert ledger.commits == [["a"], ["b"], ["c"]]


def test_those_that_wait_share_a_commit(ledger: Ledger) -> None:
    """What arrives during a commit is written by the next one, together; each gets its own answer."""
    with ThreadPoolExecutor(6) as pool:
        futures = ledger.held(pool, "a", "b", "c", "d", "e")
        ledger.go_on.set()
        assert [future.result(30) for future in futures] == ["A", "B", "C", "D", "E"]
    assert [sorted(log) for log in ledger.commits] == [["a"], ["b", "c", "d", "e"]]


def test_a_refusal_is_told_to_its_writer_only(ledger: Ledger) -> None:
    """One of many is refused; the others are written."""
    with ThreadPoolExecutor(4) as pool:
        first, bad, good = ledger.held(pool, "a", "bad", "c")
        ledger.go_on.set()
        assert (first.result(30), good.result(30)) == ("A", "C")
        with pytest.raises(ValueError, match="bad"):
            bad.result(30)
    with pytest.raises(ValueError, match="bad"):
        ledger.group.do(noting("bad"))
    assert ledger.group.do(noting("d")) == "D"


def test_many_of_one_thread_are_one_commit(ledger: Ledger) -> None:
    """Writes that one thread brings are committed together, behind what waited, and each has its own answer."""
    with ThreadPoolExecutor(4) as pool:
        first, second = ledger.held(pool, "a", "b")
        many = pool.submit(ledger.group.do_each, [noting(name) for name in ("c", "bad", "d")])
        _until(lambda: len(ledger.group._waiting) == 4)
        ledger.go_on.set()
        assert (first.result(30), second.result(30)) == ("A", "B")
        c, bad, d = many.result(30)
    assert (c, str(bad), d) == ("C", "bad", "D")
    assert ledger.commits == [["a"], ["b", "c", "d"]]
    ledger.failure = OSError("no")
    assert [str(error) for error in ledger.group.do_each([noting("e"), noting("f")])] == ["no", "no"]
    assert ledger.group.do_each([noting("g")]) == ["G"]
    assert ledger.group.do_each([]) == []


def test_a_commit_that_fails_fails_for_all(ledger: Ledger) -> None:
    """When the commit itself fails, everybody in it is told, and the next one works."""
    with ThreadPoolExecutor(4) as pool:
        first, *others = ledger.held(pool, "a", "b", "c")
        ledger.go_on.set()
        assert first.result(30) == "A"
        assert [future.result(30) for future in others] == ["B", "C"]
        ledger.first_began.clear()
        ledger.go_on.clear()
        first, *others = ledger.held(pool, "d", "e", "f")
        ledger.failure = OSError("no")
        ledger.go_on.set()
        with pytest.raises(OSError, match="no"):
            first.result(30)
        assert [future.result(30) for future in others] == ["E", "F"]


def test_an_interrupt_of_the_leader_ends_its_own_write_only(ledger: Ledger) -> None:
    """The others of its commit go back, and one of them leads."""
    ledger.go_on.set()
    ledger.first_began.set()
    inside, interrupt = threading.Event(), threading.Event()

    def hold(log: Log) -> str:
        inside.set()
        assert interrupt.wait(30)
        log.append("first")
        return "FIRST"

    def stop(log: Log) -> str:
        if threading.current_thread() is leader:
            raise KeyboardInterrupt
        log.append("stop")
        return "STOP"

    ended: list[type[BaseException]] = []

    def lead() -> None:
        try:
            ledger.group.do(stop)
        except KeyboardInterrupt as error:
            ended.append(type(error))

    leader = threading.Thread(target=lead)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(ledger.group.do, hold)
        assert inside.wait(30)
        leader.start()
        _until(lambda: len(ledger.group._waiting) == 1)
        others = [pool.submit(ledger.group.do, noting(name)) for name in "xy"]
        _until(lambda: len(ledger.group._waiting) == 3)
        interrupt.set()
        assert first.result(30) == "FIRST"
        assert [future.result(30) for future in others] == ["X", "Y"]
    leader.join(30)
    assert ended == [KeyboardInterrupt]
    assert ledger.group.do(noting("after")) == "AFTER"
    assert sorted(name for log in ledger.commits for name in log) == ["after", "first", "x", "y"]


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.001)
