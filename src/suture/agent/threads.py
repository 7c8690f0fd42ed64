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
from suture.agent.jobs import Broken, Item, Work, answer_of, answer_plain, is_async, outcome_now, outcome_of
from suture.errors import Fenced, StoreError
from suture.loop import Closing, Ended
from suture.loop.asks import Ask, Done, Emit, Happened, Job, Look, ModelJob, News, Next, Outcome, Start, Stop, Stopped
from suture.loop.events import Event
from suture.loop.run import Flow


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
                return (yield from self._happened(patience=0))
            case Next():
                return (yield from self._next())
            case _:
                return answer_plain(question, self.work)
        return None

    def _start(self, job: Job) -> None:
        self.recorder.require_claim()
        if isinstance(job, ModelJob):
            self._submit(job, answer_of(self.work.model, job, self._inbox.put))
            return
        ctx = self.work.context_of(job, self._inbox.put)
        if is_async(job):
            future = _background().submit(outcome_of(job, ctx))
            self.board.started(job, ctx, future)
            future.add_done_callback(lambda done: self._inbox.put(_ended(job, done)))
            return
        self.board.started(job, ctx, None)
        in_context = contextvars.copy_context()
        run = lambda: self._inbox.put(Done(job, in_context.run(outcome_now, job, ctx)))  # noqa: E731
        threading.Thread(target=run, name=f"suture-{job.call.name}", daemon=True).start()

    def _submit(self, job: Job, coroutine: Coroutine[object, None, Outcome]) -> None:
        future = _background().submit(coroutine)
        self.board.started(job, None, future)
        future.add_done_callback(lambda done: self._inbox.put(_ended(job, done)))

    # Waiting ----------------------------------------------------------------------------------

    def _next(self) -> Generator[Event, None, tuple[Happened, ...]]:
        while True:
            happened = yield from self._happened(patience=self.board.patience())
            if happened:
                return happened

    def _happened(self, *, patience: float) -> Generator[Event, None, tuple[Happened, ...]]:
        """What came in by now, waiting for the first item, and what others wrote."""
        self.recorder.require_claim()
        happened = [*self.board.signalled()]
        for item in self._items(0 if happened else patience):
            happened += self.board.sort(item)
        happened += [*self.board.signalled(), *self.board.overdue()]
        if not any(isinstance(one, Done) for one in happened) and (news := self.recorder.news()):
            happened.append(News(tuple(news)))
        yield from self.board.told()
        return tuple(happened)

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
        landed: list[Done] = []
        handlers = self.board.wind_down()
        while handlers and (left := until - time.monotonic()) > 0:
            try:
                item = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(item, Done):
                handlers.discard(item.job.id)
                landed.append(item)
        self.board.abandon(handlers)
        return landed


def _ended(job: Job, future: Future[Outcome]) -> Item:
    if future.cancelled():
        return Done(job, Stopped())
    error = future.exception()
    return Done(job, future.result()) if error is None else Broken(error)


class _Background:
    """One event loop in one daemon thread, for models and async handlers of plain code."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="suture-loop", daemon=True).start()

    def submit(self, coroutine: Coroutine[object, None, Outcome]) -> Future[Outcome]:
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
