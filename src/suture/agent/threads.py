"""The driver for plain code: the run in the caller's thread, plain handlers in threads of their own, models and
async handlers on one background event loop of the process.
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

from suture.agent.board import Board
from suture.agent.heartbeat import kept_alive
from suture.agent.jobs import (
    Broken,
    Context,
    Item,
    Work,
    answer_plain,
    end_of,
    end_of_async,
    end_of_model,
    end_of_plain,
    is_async,
)
from suture.errors import Fenced, StoreError
from suture.loop import Closing, Ended, Flow
from suture.loop.asks import Ask, Done, Emit, Happened, Job, Look, ModelJob, Next, Start, Stop
from suture.loop.events import Event


class ThreadDriver:
    """Answers one run's questions."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.recorder = work.recorder
        self.board = Board(work.signal, work.grace)
        self._inbox: queue.SimpleQueue[Item] = queue.SimpleQueue()

    def drive(self, flow: Flow[Ended]) -> Generator[Event, None, Ended]:
        """Carry the run to its end; yields what watchers are told."""
        with self.work.woken_by_signal(self._inbox.put), kept_alive(self.recorder):
            try:
                return (yield from self._drive(flow))
            except BaseException as error:
                self._close(flow, error)
                raise
            finally:
                self.recorder.release()

    def _drive(self, flow: Flow[Ended]) -> Generator[Event, None, Ended]:
        answer: object = None
        while True:
            try:
                with self.work.session.lock:
                    question = flow.send(answer)
            except StopIteration as stop:
                ended: Ended = stop.value
                return ended
            self.work.probe("before", question)
            answer = yield from self._answer(question)
            self.work.probe("after", question)

    def _answer(self, question: Ask[object]) -> Generator[Event, None, object]:
        match question:
            case Emit(event):
                yield event
            case Start(job):
                self._start(job)
            case Stop(job):
                self.board.stop(job)
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
        if isinstance(job, ModelJob):
            self._submit(job, None, end_of_model(self.work.model, job, self._inbox.put))
            return
        ctx = self.work.context_of(job, self._inbox.put)
        if is_async(job):
            self._submit(job, ctx, end_of_async(job, ctx))
            return
        self.board.started(job, ctx, None)
        in_context = contextvars.copy_context()
        run = lambda: self._inbox.put(in_context.run(end_of_plain, job, ctx))  # noqa: E731
        threading.Thread(target=run, name=f"suture-{job.call.name}", daemon=True).start()

    def _submit(self, job: Job, ctx: Context | None, coroutine: Coroutine[object, None, Item]) -> None:
        future = _background().submit(coroutine)
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
        yield from self.board.told()
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

    def _close(self, flow: Flow[Ended], error: BaseException) -> None:
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
        except StoreError as failed:
            error.add_note(f"What handlers had finished could not be recorded: {failed}")

    def _last_of_handlers(self) -> list[Done]:
        until = time.monotonic() + self.work.grace
        landed = [one for one in self.board.happened() if isinstance(one, Done)]
        handlers = self.board.wind_down()
        while handlers and (left := until - time.monotonic()) > 0:
            try:
                item = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(item, Done | Broken):
                handlers.discard(item.job.id)
            if isinstance(item, Done):
                landed.append(item)
        self.board.abandon(handlers)
        return landed


class _Background:
    """One event loop in one daemon thread, for models and async handlers of plain code."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="suture-loop", daemon=True).start()

    def submit(self, coroutine: Coroutine[object, None, Item]) -> Future[Item]:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)


_lock = threading.Lock()
_current: _Background | None = None


def _background() -> _Background:
    """The process's background loop; a new one after a fork."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = _Background()
        return _current
