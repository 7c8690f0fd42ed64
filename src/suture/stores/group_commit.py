"""Writes that wait for one another share a commit: whoever leads commits its own and all that wait, and hands over.

There is no writer thread. A single writer pays nothing for it; many pay for one commit together. An interrupt of
the leading thread ends its own write only: the others go back, and the first of them leads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from suture.stores.shield import let_in

C = TypeVar("C")
T = TypeVar("T")

_LOOK_AGAIN = 0.1


class Write(Generic[C]):
    """A piece of work on a `C` that waits for its commit, and what came of it."""

    def __init__(self, work: Callable[[C], object]) -> None:
        self.work = work
        self.answer: object = None
        self.error: Exception | None = None
        self.is_done = False
        self.leads = False
        self._sleep = threading.Lock()
        self._sleep.acquire()

    def wait(self) -> None:
        """Return when it is done, or has to lead."""
        while not (self.is_done or self.leads):
            # Who waits behind a leader that waits for a locked file can be interrupted too.
            self._sleep.acquire(timeout=_LOOK_AGAIN)
            let_in()

    def wake(self) -> None:
        """End its wait."""
        if self._sleep.locked():
            self._sleep.release()


class GroupCommit(Generic[C]):
    """`commit` carries out a list of writes at once: it fails for all, or keeps in each write what came of it."""

    def __init__(self, commit: Callable[[list[Write[C]]], None]) -> None:
        self._commit = commit
        self._mutex = threading.Lock()
        self._waiting: deque[Write[C]] = deque()
        self._is_led = False

    def do(self, work: Callable[[C], T]) -> T:
        """The work's answer, when it is committed. It may be done twice, when a leader is interrupted.

        Raises:
            Exception: what the work raised, or the commit.
        """
        write = Write(work)
        self._do([write])
        if write.error is not None:
            try:
                raise write.error
            finally:
                write.error = None  # its traceback holds this frame
        return cast("T", write.answer)

    def do_each(self, works: Sequence[Callable[[C], T]]) -> list[T | Exception]:
        """The answer of each, when they are committed together, or what it raised, or the commit did. As `do` otherwise."""
        writes: list[Write[C]] = [Write(work) for work in works]
        self._do(writes)
        return [cast("T", write.answer) if write.error is None else write.error for write in writes]

    def _do(self, own: list[Write[C]]) -> None:
        """Have them committed, which begin to wait together and so are done together; the first stands for all."""
        if not own:
            return
        first = own[0]
        try:
            with self._mutex:
                self._waiting.extend(own)
                if not self._is_led:
                    self._is_led = first.leads = True
            first.wait()
            if first.leads:
                self._lead(own)
        finally:
            if first.leads or not first.is_done:
                self._leave(own)

    def _lead(self, own: list[Write[C]]) -> None:
        """Commit all that waits, these among it."""
        writes: list[Write[C]] = []
        try:
            with self._mutex:
                writes.extend(self._waiting)
                self._waiting.clear()
            self._commit(writes)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever waits
            for write in writes:
                write.error = error if write.error is None else write.error
        except BaseException:
            with self._mutex:
                self._waiting.extendleft(write for write in reversed(writes) if write not in own)
            raise
        for write in writes:
            write.is_done = True
        for write in writes:
            write.wake()

    def _leave(self, own: list[Write[C]]) -> None:
        """Wait no more; a leader makes the first that waits the next one."""
        with self._mutex:
            if not own[0].is_done:
                self._waiting = deque(write for write in self._waiting if write not in own)
            if not own[0].leads:
                return
            own[0].leads = False
            if not self._waiting:
                self._is_led = False
                return
            successor = self._waiting[0]
            successor.leads = True
        successor.wake()
