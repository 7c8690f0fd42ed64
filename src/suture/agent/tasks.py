"""The driver for async code: the run in the caller's task, models and async handlers in tasks, plain handlers in
threads of their own, the store in worker threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeAlias, TypeVar

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
from suture.errors import Fenced
from suture.loop import Closing, Flow
from suture.loop.asks import Append, AppendNext, AppendUnclaimed, Ask, Emit, Gate, Look, Next, Prepare, Recheck, Start, Stop
from suture.loop.events import Event
from suture.loop.jobs import Done, Happened, Job, ModelJob, SideJob, WaitJob
from suture.session.worker import in_thread

# Questions whose answer may take time: the store is asked, or the host's own code.
_BLOCKING = (AppendNext, AppendUnclaimed, Prepare, Recheck, Gate)

# A step of a run: what watchers are told, or what is to be awaited, whose result goes back in.
_Step: TypeAlias = Event | Coroutine[object, None, object]


def _next(steps: Generator[_Step, object, None], result: object) -> _Step | None:
    try:
        return steps.send(result)
    except StopIteration:
        return None


T = TypeVar("T")


class TaskDriver:
    """Answers one run's questions."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.recorder = work.recorder
        self.board = Board(work.signal, work.grace)
        self._inbox: asyncio.Queue[Item] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop

    # A run is one async generator and no more: an event loop that ends closes all that it knows at the same time, and
    # of two that are nested it would close the inner one while the outer one still runs it.

    async def drive(self, begin: Callable[[], Flow[T]], ended: Callable[[T], None]) -> AsyncGenerator[Event, None]:
        """Claim the session with `begin` and carry the run that it makes of it to its end; yields what watchers are told,
        and hands the result to `ended`.
        """
        self._loop = asyncio.get_running_loop()
        try:
            flow = await in_thread(begin)
            log_start(self.work.session.id, self.work.model.name)
            with self.work.woken_by_signal(self._put), kept_alive(self.recorder):
                try:
                    steps = self._drive(flow, ended)
                    result: object = None
                    while (step := _next(steps, result)) is not None:
                        result = await step if isinstance(step, Coroutine) else (yield step)
                except BaseException as error:
                    log_broken(self.work.session.id, error)
                    await self._close(flow, error)
                    raise
        except BaseException as error:
            await in_thread(self.recorder.release_after, error)
            raise
        await in_thread(self.recorder.release)

    def _drive(self, flow: Flow[T], ended: Callable[[T], None]) -> Generator[_Step, object, None]:
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
                    log_event(self.work.session.id, event)
                    if (message := heard(event)) is not None:
                        yield self.work.session.listeners.tell_async(message)
                    yield event
                    answer = None
                case Look():
                    answer = yield from self._happened(0)
                case Next():
                    answer = ()
                    while not answer:
                        answer = yield from self._happened(self.board.patience())
                case _:
                    answer = yield self._answer(question)
            self.work.probe("after", question)

    def _happened(self, patience: float) -> Generator[_Step, object, tuple[Happened, ...]]:
        yield self._wait(patience)
        for event in self.board.told():
            log_event(self.work.session.id, event)
            yield event
        return self.board.happened()

    async def _answer(self, question: Ask[object]) -> object:
        match question:
            case Start(job):
                await self.recorder.require_claim_async()
                self._start(job)
            case Stop(job):
                self.board.stop(job)
            case Append(drafts):
                return await self.recorder.append_async(drafts)
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
        if isinstance(job, WaitJob):
            self.board.started(job, None, None)
            return
        if isinstance(job, ModelJob):
            self._submit(job, None, end_of_model(self.work.model, job, self._inbox.put_nowait))
            return
        if isinstance(job, SideJob):
            self._submit(job, None, end_of_side(self.work, job))
            return
        ctx = self.work.context_of(job, self._put)
        if is_async(job, self.work.plan):
            self._submit(job, ctx, end_of_async(job, ctx, self.work.plan))
            return
        self.board.started(job, ctx, None)
        in_context = contextvars.copy_context()
        run = lambda: self._put(in_context.run(end_of_plain, job, ctx, self.work.plan, self._carry))  # noqa: E731
        threading.Thread(target=run, name=f"suture-{ctx.call.name}", daemon=True).start()

    def _carry(self, coroutine: Coroutine[object, None, Item]) -> Future[Item]:
        """Take what a plain handler wants awaited to the event loop of the run."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _submit(self, job: Job, ctx: Context | None, coroutine: Coroutine[object, None, Item]) -> None:
        task = self._loop.create_task(coroutine)
        self.board.started(job, ctx, task)
        task.add_done_callback(lambda done: self._inbox.put_nowait(end_of(job, done)))

    # Waiting ----------------------------------------------------------------------------------

    async def _wait(self, patience: float) -> None:
        """Take in what came by now, waiting for the first item, and what others wrote."""
        await self.recorder.require_claim_async()
        self.board.look_at_signal()
        self.board.take(await self._items(patience if self.board.is_quiet else 0))
        self.board.look_at_signal()
        self.board.give_up_overdue()
        if not self.board.has_ended:
            self.board.take_news(await in_thread(self.recorder.news))

    async def _items(self, patience: float) -> list[Item]:
        items: list[Item] = []
        if patience and self._inbox.empty():
            # Not `wait_for`: in Python 3.11 that swallows a cancellation which meets an item.
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    items.append(await self._inbox.get())
        while not self._inbox.empty():
            items.append(self._inbox.get_nowait())
        return items

    # Closing ----------------------------------------------------------------------------------

    async def _close(self, flow: Flow[T], error: BaseException) -> None:
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
        except Exception as failed:  # noqa: BLE001  a store may raise anything, and the first error is what is wrong
            error.add_note(f"What handlers had finished could not be recorded: {failed}")

    async def _last_of_handlers(self) -> list[Done]:
        landed = [one for one in self.board.happened() if isinstance(one, Done)]
        handlers = self.board.wind_down()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.work.grace):
                while handlers:
                    item = await self._inbox.get()
                    landed += self.board.last(item, handlers)
        return [*landed, *self.board.abandon(handlers)]
