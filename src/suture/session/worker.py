"""Blocking work for async code.

Stores let writes share a commit, so as many threads as there are writers may wait for one; and a loop is woken once for
all that came back together.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, ParamSpec, TypeVar, cast

T = TypeVar("T")
P = ParamSpec("P")

_MOST_THREADS = 64


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work in a worker thread. A cancelled caller still waits for it: nothing goes on behind its back."""
    in_context = contextvars.copy_context()
    mail = mail_here()
    job: Job[T] = Job()

    def do() -> None:
        try:
            job.end(in_context.run(work, *args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            job.fail(error)
        mail.send(job.arrive)

    in_pool(do)
    return await job.ended(mail.loop)


def in_pool(work: Callable[[], object]) -> None:
    """Have work done in a worker thread.

    Raises:
        RuntimeError: there is none to be had, since the interpreter ends, or the machine allows for no more threads; it is
            not done.
    """
    offered = [work]
    try:
        _threads.pool().submit(lambda: [one() for one in _taken(offered)])
    except RuntimeError:
        # The pool may have it in its row all the same, and even have begun with it.
        if _taken(offered):
            raise


def _taken(offered: list[Callable[[], object]]) -> list[Callable[[], object]]:
    """What is offered, to the first thread that takes it."""
    try:
        return [offered.pop()]
    except IndexError:
        return []


class Job(Generic[T]):
    """What a task waits for that is done elsewhere, and what came of it."""

    def __init__(self) -> None:
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_done = False

    def end(self, answer: T) -> None:
        """In any thread: it has that answer."""
        self._answer = answer

    def fail(self, error: BaseException) -> None:
        """In any thread: it ended in that error."""
        self._error = error

    def arrive(self) -> None:
        """In the loop: wake whoever waits."""
        self._is_done = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def ended(self, loop: asyncio.AbstractEventLoop) -> T:
        """The answer, or the error raised, once it has arrived; a cancellation is raised behind that."""
        cancelled: asyncio.CancelledError | None = None
        while not self._is_done:
            self._waiter = loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return self._come()

    def _come(self) -> T:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # its traceback holds this frame
        return cast("T", self._answer)


class Mail:
    """What is to be called in a loop, sent from other threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._sent: deque[Callable[[], None]] = deque()
        self._is_called = False

    def send(self, call: Callable[[], None]) -> None:
        """From any thread: have it called in the loop."""
        self._sent.append(call)
        if not self._is_called:
            self._is_called = True
            self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First: what is sent from here on calls anew.
        self._is_called = False
        while self._sent:
            self._sent.popleft()()


class _Here(threading.local):
    mail: Mail | None = None


_here = _Here()


def mail_here() -> Mail:
    """The mail of the loop that runs in this thread."""
    loop = asyncio.get_running_loop()
    if _here.mail is None or _here.mail.loop is not loop:
        _here.mail = Mail(loop)
    return _here.mail


class _Threads:
    """The worker threads of this process; a forked child makes its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="suture-store")
            return self._pool


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.__init__)  # type: ignore[misc]
