"""The driver for async code: the run in the caller's task, models and async handlers in tasks, plain handlers in
threads of their own, the store in worker threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncGenerator, Callable

from suture.agent.board import Board
from suture.agent.heartbeat import kept_alive
from suture.agent.jobs import Broken, Item, Work, answer_of, answer_plain, is_async, outcome_now, outcome_of
from suture.errors import Fenced, StoreError
from suture.loop import Closing, Ended
from suture.loop.asks import (
    Append,
    AppendNext,
    AppendUnclaimed,
    Ask,
    Done,
    Emit,
    Happened,
    Job,
    Look,
    ModelJob,
    News,
    Next,
    Outcome,
    Recheck,
    Screen,
    Start,
    Stop,
    Stopped,
)
from suture.loop.events import Event
from suture.loop.run import Flow
from suture.session.worker import in_thread

# Questions whose answer may take time: the store is asked, or the host's own code.
_BLOCKING = (Append, AppendNext, AppendUnclaimed, Screen, Recheck)


class TaskDriver:
    """Answers one run's questions."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.recorder = work.recorder
        self.board = Board(work.signal, work.grace)
        self._inbox: asyncio.Queue[Item] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    async def drive(self, flow: Flow[Ended], ended: Callable[[Ended], None]) -> AsyncGenerator[Event, None]:
        """Carry the run to its end; yields what watchers are told, and hands the result to `ended`."""
        with self.work.woken_by_signal(self._put), kept_alive(self.recorder):
            steps = self._drive(flow, ended)
            try:
                async for event in steps:
                    yield event
            except BaseException as error:
                await self._close(flow, error)
                raise
            finally:
                await steps.aclose()
                await in_thread(self.recorder.release)

    async def _drive(self, flow: Flow[Ended], ended: Callable[[Ended], None]) -> AsyncGenerator[Event, None]:
        answer: object = None
        while True:
            try:
                with self.work.session.lock:
                    question = flow.send(answer)
            except StopIteration as stop:
                ended(stop.value)
                return
            self.work.probe("before", question)
            match question:
                case Emit(event):
                    yield event
                    answer = None
                case Look() | Next():
                    answer = ()
                    while not answer:
                        answer = await self._happened(patience=self.board.patience() if isinstance(question, Next) else 0)
                        for event in self.board.told():
                            yield event
                        if isinstance(question, Look):
                            break
                case _:
                    answer = await self._answer(question)
            self.work.probe("after", question)

    async def _answer(self, question: Ask[object]) -> object:
        match question:
            case Start(job):
                await in_thread(self.recorder.require_claim)
                self._start(job)
            case Stop(job):
                self.board.stop(job)
            case _ if isinstance(question, _BLOCKING):
                return await in_thread(answer_plain, question, self.work)
            case _:
                return answer_plain(question, self.work)
        return None

    def _put(self, item: Item) -> None:
        """Hand something in from any thread; nobody waits any more once the event loop is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, item)

    def _start(self, job: Job) -> None:
        if isinstance(job, ModelJob):
            task = self._loop.create_task(answer_of(self.work.model, job, self._inbox.put_nowait))
            self.board.started(job, None, task)
            task.add_done_callback(lambda done: self._inbox.put_nowait(_ended(job, done)))
            return
        ctx = self.work.context_of(job, self._put)
        if is_async(job):
            task = self._loop.create_task(outcome_of(job, ctx))
            self.board.started(job, ctx, task)
            task.add_done_callback(lambda done: self._inbox.put_nowait(_ended(job, done)))
            return
        self.board.started(job, ctx, None)
        in_context = contextvars.copy_context()
        run = lambda: self._put(Done(job, in_context.run(outcome_now, job, ctx)))  # noqa: E731
        threading.Thread(target=run, name=f"suture-{job.call.name}", daemon=True).start()

    # Waiting ----------------------------------------------------------------------------------

    async def _happened(self, *, patience: float) -> tuple[Happened, ...]:
        """What came in by now, waiting for the first item, and what others wrote."""
        await in_thread(self.recorder.require_claim)
        happened = [*self.board.signalled()]
        for item in await self._items(0 if happened else patience):
            happened += self.board.sort(item)
        happened += [*self.board.signalled(), *self.board.overdue()]
        if not any(isinstance(one, Done) for one in happened) and (news := await in_thread(self.recorder.news)):
            happened.append(News(tuple(news)))
        return tuple(happened)

    async def _items(self, patience: float) -> list[Item]:
        items: list[Item] = []
        if patience and self._inbox.empty():
            try:
                items.append(await asyncio.wait_for(self._inbox.get(), patience))
            except TimeoutError:
                return items
        while not self._inbox.empty():
            items.append(self._inbox.get_nowait())
        return items

    # Closing ----------------------------------------------------------------------------------

    async def _close(self, flow: Flow[Ended], error: BaseException) -> None:
        """End a run that cannot go on: start nothing, give handlers some grace, write down what they finished."""
        landed = await self._last_of_handlers()
        try:
            question = flow.throw(Closing(landed, fenced=isinstance(error, Fenced)))
            while True:
                self.work.probe("before", question)
                answer = None if isinstance(question, Emit) else await self._answer(question)
                self.work.probe("after", question)
                question = flow.send(answer)
        except (StopIteration, Closing):
            return
        except StoreError as failed:
            error.add_note(f"What handlers had finished could not be recorded: {failed}")

    async def _last_of_handlers(self) -> list[Done]:
        until = time.monotonic() + self.work.grace
        landed: list[Done] = []
        handlers = self.board.wind_down()
        while handlers and (left := until - time.monotonic()) > 0:
            try:
                item = await asyncio.wait_for(self._inbox.get(), left)
            except TimeoutError:
                break
            if isinstance(item, Done):
                handlers.discard(item.job.id)
                landed.append(item)
        self.board.abandon(handlers)
        return landed


def _ended(job: Job, task: asyncio.Task[Outcome]) -> Item:
    if task.cancelled():
        return Done(job, Stopped())
    error = task.exception()
    return Done(job, task.result()) if error is None else Broken(error)
