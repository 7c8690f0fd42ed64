"""The driver for plain code: the run in the caller's thread, plain handlers in threads of their own, models and
async handlers on two background event loops of the process, so that a handler that blocks stops no model.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
import time
from collections.abc import Coroutine, Generator
from concurrent.futures import Future
from typing import Literal, TypeAlias, TypeVar

from suture.agent.board import Board
from suture.agent.heartbeat import kept_alive
from suture.agent.host import end_of_async, end_of_plain, is_async
from suture.agent.log import log_broken, log_event, log_start
from suture.agent.work import (
    Context,
    Item,
    Work,
    answer_plain,
    end_of,
    end_of_model,
    end_of_side,
    heard,
)
from suture.errors import ConfigurationError, Fenced
from suture.loop import Closing, Flow
from suture.loop.asks import Ask, Emit, Look, Next, Start, Stop
from suture.loop.events import Event
from suture.loop.jobs import Done, Happened, Job, ModelJob, SideJob, WaitJob
from suture.stores.shield import shielded

T = TypeVar("T")


class ThreadDriver:
    """Answers one run's questions."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.recorder = work.recorder
        self.board = Board(work.signal, work.grace)
        self._inbox: queue.SimpleQueue[Item] = queue.SimpleQueue()

    def drive(self, flow: Flow[T]) -> Generator[Event, None, T]:
        """Carry the run to its end; yields what watchers are told."""
        log_start(self.work.session.id, self.work.model.name)
        with self.work.woken_by_signal(self._inbox.put), kept_alive(self.recorder):
            try:
                return (yield from self._drive(flow))
            except BaseException as error:
                log_broken(self.work.session.id, error)
                self._close(flow, error)
                raise

    def _drive(self, flow: Flow[T]) -> Generator[Event, None, T]:
        answer: object = None
        while True:
            try:
                # A step of the flow is whole: one that a Ctrl-C cut off could record nothing any more.
                question = shielded(lambda: self._step(flow, answer))  # noqa: B023  called at once
            except StopIteration as stop:
                ended: T = stop.value
                return ended
            self.work.probe("before", question)
            answer = yield from self._answer(question)
            self.work.probe("after", question)

    def _step(self, flow: Flow[T], answer: object) -> Ask[object]:
        with self.work.session.lock:
            return flow.send(answer)

    def _answer(self, question: Ask[object]) -> Generator[Event, None, object]:
        match question:
            case Emit(event):
                log_event(self.work.session.id, event)
                if (message := heard(event)) is not None:
                    self.work.session.listeners.tell(message)
                yield event
            case Start(job):
                self._start(job)
            case Stop(job):
                shielded(lambda: self.board.stop(job))
            case Look():
                return (yield from self._happened(0))
            case Next():
                happened: tuple[Happened, ...] = ()
                while not happened:
                    happened = yield from self._happened(self.board.patience())
                return happened
            case _:
                return answer_plain(question, self.work)
        return None

    def _start(self, job: Job) -> None:
        self.recorder.require_claim()
        if isinstance(job, WaitJob):
            self.board.started(job, None, None)
            return
        if isinstance(job, ModelJob):
            self._submit("models", job, None, end_of_model(self.work.model, job, self._inbox.put))
            return
        if isinstance(job, SideJob):
            self._submit("models", job, None, end_of_side(self.work, job))
            return
        ctx = self.work.context_of(job, self._inbox.put)
        if is_async(job, self.work.plan):
            self._submit("handlers", job, ctx, end_of_async(job, ctx, self.work.plan))
            return
        self.board.started(job, ctx, None)
        in_context = contextvars.copy_context()
        run = lambda: self._inbox.put(in_context.run(end_of_plain, job, ctx, self.work.plan, _carry))  # noqa: E731
        threading.Thread(target=run, name=f"suture-{ctx.call.name}", daemon=True).start()

    def _submit(self, where: _Where, job: Job, ctx: Context | None, coroutine: Coroutine[object, None, Item]) -> None:
        # A future's lock is taken in Python, so that a Ctrl-C between two of its steps would keep it for ever.
        shielded(lambda: self._begin_async(where, job, ctx, coroutine))

    def _begin_async(self, where: _Where, job: Job, ctx: Context | None, coroutine: Coroutine[object, None, Item]) -> None:
        future = _background(where).submit(coroutine)
        self.board.started(job, ctx, future)
        future.add_done_callback(lambda done: self._inbox.put(end_of(job, done)))

    # Waiting ----------------------------------------------------------------------------------

    def _happened(self, patience: float) -> Generator[Event, None, tuple[Happened, ...]]:
        """What came in by now, waiting for the first item, and what others wrote."""
        self.recorder.require_claim()
        self.board.look_at_signal()
        self.board.take(self._items(patience if self.board.is_quiet else 0))
        self.board.look_at_signal()
        self.board.give_up_overdue()
        if not self.board.has_ended:
            self.board.take_news(self.recorder.news())
        for event in self.board.told():
            log_event(self.work.session.id, event)
            yield event
        return self.board.happened()

    def _items(self, patience: float) -> list[Item]:
        items: list[Item] = []
        try:
            items.append(self._inbox.get(timeout=patience) if patience else self._inbox.get_nowait())
            while True:
                items.append(self._inbox.get_nowait())
        except queue.Empty:
            return items

    # Closing ----------------------------------------------------------------------------------

    def _close(self, flow: Flow[T], error: BaseException) -> None:
        """End a run that cannot go on: start nothing, give handlers some grace, write down what they finished."""
        landed = self._last_of_handlers()
        try:
            question = flow.throw(Closing(landed, fenced=isinstance(error, Fenced)))
            while True:
                self.work.probe("before", question)
                answer = None if isinstance(question, Emit) else answer_plain(question, self.work)
                self.work.probe("after", question)
                question = flow.send(answer)
        except (StopIteration, Closing):
            return
        except Exception as failed:  # noqa: BLE001  a store may raise anything, and the first error is what is wrong
            error.add_note(f"What handlers had finished could not be recorded: {failed}")

    def _last_of_handlers(self) -> list[Done]:
        until = time.monotonic() + self.work.grace
        landed = [one for one in self.board.happened() if isinstance(one, Done)]
        handlers = shielded(self.board.wind_down)
        while handlers and (left := until - time.monotonic()) > 0:
            try:
                item = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            landed += self.board.last(item, handlers)
        return [*landed, *shielded(lambda: self.board.abandon(handlers))]


_Where: TypeAlias = Literal["models", "handlers"]


class _Background:
    """One event loop in one daemon thread."""

    def __init__(self, where: _Where) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name=f"suture-{where}", daemon=True)
        self.thread.start()

    def submit(self, coroutine: Coroutine[object, None, Item]) -> Future[Item]:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)


_lock = threading.Lock()
_running: dict[_Where, _Background] = {}


def _background(where: _Where) -> _Background:
    """The process's background loop of that name; a new one after a fork."""
    with _lock:
        found = _running.get(where)
        if found is None or found.pid != os.getpid():
            found = _running[where] = _Background(where)
        return found


def _carry(coroutine: Coroutine[object, None, Item]) -> Future[Item]:
    """Take what a plain handler wants awaited to where async handlers run."""
    return _background("handlers").submit(coroutine)


def refuse_in_background() -> None:
    """Return when the caller may wait for a run.

    Raises:
        ConfigurationError: it is on a background loop, which the run itself needs.
    """
    here = threading.current_thread()
    if any(one.thread is here and one.pid == os.getpid() for one in list(_running.values())):
        raise ConfigurationError(
            "An async tool or model may not call Agent, which blocks the event loop that it waits for. "
            "An async tool must await AsyncAgent..., or be a plain function."
        )
