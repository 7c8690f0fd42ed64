"""An agent: a model, its tools and the limits of a run. One agent serves any number of sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from typing import Self, TypeVar

from suture.agent.parts import ContextUsage, Parts, begin, user_of
from suture.agent.result import Result, result_of
from suture.agent.signal import Signal
from suture.agent.tasks import TaskDriver
from suture.agent.threads import ThreadDriver, refuse_in_background
from suture.entries import Compacted
from suture.errors import ConfigurationError, SutureError
from suture.loop import Ended, Flow, Plan, compact, run
from suture.loop.events import Event
from suture.messages import Part, User
from suture.replay import State
from suture.session import AsyncSession, Session
from suture.session.worker import in_thread
from suture.stores.memory import MemoryStore

T = TypeVar("T")
Watch = Callable[[Event], object]


class Stream:
    """The events of a run, as it goes. Leaving the loop, closing or dropping it ends the run; `with` closes it in any
    case. `result` is there once it is exhausted.
    """

    def __init__(self, events: Generator[Event, None, Result]) -> None:
        self._events = events
        self._result: Result | None = None

    def __iter__(self) -> Iterator[Event]:
        ended = yield from self._events
        if ended is not None:  # as it is when the events were over before
            self._result = ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def result(self) -> Result:
        """How the run ended.

        Raises:
            SutureError: it has not.
        """
        if self._result is None:
            raise SutureError("The run is not over. Iterate over the stream to its end first.")
        return self._result

    def close(self) -> None:
        """End the run now."""
        self._events.close()


class Agent(Parts):
    """Runs sessions in plain code. Tools may be plain or async functions.

    Args:
        model: what answers: a name such as "anthropic:claude-opus-4-6" (`suture.open_model`), or anything with a
            `name` and a `stream` (`suture.models.base.Model`).
        session: the session of calls that name none; one in memory when left out.
        system: instructions that lead every request. They are not stored.
        tools: what the model may call: a `Tool`, or what `suture.tool` makes one from: typed functions, classes and
            objects with a `call`.
        max_steps: answers since the last user message, after which calls are left open; None for no limit.
        max_concurrency: handlers that run at once.
        lease: seconds after which a silent runner may be replaced, when it is not provably dead before.
        grace: seconds that running handlers get when a run has to end.
        retries: whether, or by which `RetryPolicy`, the model is asked again when it failed or its answer cannot be kept.
        tool_call_repair: how calls are corrected that cannot run and that no rule can mend: True asks the model once more,
            on the side; a `ToolCallRepair` says how often, and which model; a function of (history, calls by key, tools by
            name) returns the corrected calls by key. False answers them with what is wrong.
        compaction: whether the past is summed up when the conversation grows too long for the model: True does so where its
            window is known, or when it says so; a `Compaction` says when, what stays, and who writes the
            summary; False never.
        before_tool: asked as before_tool(call, ctx) before a call runs, and again once it is approved. A text that it
            returns blocks the call and tells the model why; an error blocks it too. Plain or async.
        after_tool: asked as after_tool(call, result, ctx) before a result is recorded. What it returns (a ToolResult, or
            whatever a tool may return) stands instead; None keeps it; an error keeps the result back. Plain or async.
        context: whatever handlers are to find in `ctx.context`.
        name: what the host calls the agent.
    """

    @property
    def session(self) -> Session:
        """The default session; one in memory when none was given."""
        if self._session is None:
            self._session = Session(MemoryStore())
        return self._session.plain if isinstance(self._session, AsyncSession) else self._session

    def run(
        self,
        prompt: str,
        *,
        session: Session | None = None,
        files: Part | Iterable[Part] = (),
        watch: Watch | None = None,
        signal: Signal | None = None,
    ) -> Result:
        """Settle what is open, hand the model the prompt, and run its calls until it has answered.

        Raises:
            SessionBusy: another runner has the session.
            AwaitingApproval: calls wait for a person; the prompt was not written.
            Fenced: another runner has taken the session over.
            StoreError: the store failed.
        """
        return _told(self._run(user_of(prompt, files), session, signal), watch)

    def resume(self, *, session: Session | None = None, watch: Watch | None = None, signal: Signal | None = None) -> Result:
        """Go on with what was begun, in whatever process: run what never started, take up what was decided, ask the
        model when it is its turn. Raises as `run` does.
        """
        return _told(self._run(None, session, signal), watch)

    def stream(
        self,
        prompt: str | None = None,
        *,
        session: Session | None = None,
        files: Part | Iterable[Part] = (),
        signal: Signal | None = None,
    ) -> Stream:
        """The events of `run`, or without a prompt of `resume`, to iterate over."""
        return Stream(self._run(None if prompt is None else user_of(prompt, files), session, signal))

    def compact(
        self, *, session: Session | None = None, watch: Watch | None = None, signal: Signal | None = None
    ) -> Compacted | None:
        """Sum up the past of the conversation now, however long it is; None when nothing is worth it, or it was stopped.

        Raises:
            CompactionError: no summary could be had. Nothing was written.
            SessionBusy: another runner has the session.
            StoreError: the store failed.
        """
        return _told(self._events(compact, session, signal), watch)

    def context_usage(self, session: Session | None = None) -> ContextUsage:
        """How long the conversation is, and how long it may be."""
        return self._context_usage(self.session if session is None else session)

    def _run(self, prompt: User | None, session: Session | None, signal: Signal | None) -> Generator[Event, None, Result]:
        return result_of((yield from self._events(lambda state, plan: run(state, plan, prompt), session, signal)))

    def _events(
        self, flow: Callable[[State, Plan], Flow[T]], session: Session | None, signal: Signal | None
    ) -> Generator[Event, None, T]:
        session = self.session if session is None else session
        if not isinstance(session, Session):
            raise ConfigurationError(f"{session!r} is no session; make one with suture.Session(store, id).")
        refuse_in_background()
        recorder = self._recorder(session)
        with recorder.released():
            state = begin(session, recorder)
            work = self._work(session, recorder, signal)
            return (yield from ThreadDriver(work).drive(flow(state, work.plan)))


def _told(events: Generator[Event, None, T], watch: Watch | None) -> T:
    """What the events end with; the watcher sees each."""
    try:
        while True:
            event = next(events)
            if watch is not None:
                watch(event)
    except StopIteration as over:
        ended: T = over.value
        return ended
    finally:
        events.close()


class AsyncStream:
    """The events of a run, as it goes. `result` is there once it is exhausted.

    Leaving the loop early does not end the run: it stands still and keeps its claim until the stream is closed. Use

        async with agent.stream(...) as stream:
            async for event in stream:
                ...

    which closes it in any case. A stream that is dropped is closed by its event loop, at some later time.
    """

    def __init__(self, make: Callable[[Callable[[Ended], None]], AsyncGenerator[Event, None]]) -> None:
        self._result: Result | None = None
        self._events = make(self._ended)

    def _ended(self, ended: Ended) -> None:
        self._result = result_of(ended)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def result(self) -> Result:
        """How the run ended.

        Raises:
            SutureError: it has not.
        """
        if self._result is None:
            raise SutureError("The run is not over. Iterate over the stream to its end first.")
        return self._result

    async def close(self) -> None:
        """End the run now."""
        await self._events.aclose()


class AsyncAgent(Parts):
    """Runs sessions in async code. Tools may be plain or async functions. It takes what `Agent` takes."""

    @property
    def session(self) -> AsyncSession:
        """The default session; one in memory when none was given."""
        if self._session is None:
            self._session = AsyncSession(MemoryStore())
        return self._session if isinstance(self._session, AsyncSession) else AsyncSession.of(self._session)

    async def run(
        self,
        prompt: str,
        *,
        session: AsyncSession | Session | None = None,
        files: Part | Iterable[Part] = (),
        watch: Watch | None = None,
        signal: Signal | None = None,
    ) -> Result:
        """Settle what is open, hand the model the prompt, and run its calls until it has answered.

        Raises:
            SessionBusy: another runner has the session.
            AwaitingApproval: calls wait for a person; the prompt was not written.
            Fenced: another runner has taken the session over.
            StoreError: the store failed.
        """
        return await self._watched(self.stream(prompt, session=session, files=files, signal=signal), watch)

    async def resume(
        self,
        *,
        session: AsyncSession | Session | None = None,
        watch: Watch | None = None,
        signal: Signal | None = None,
    ) -> Result:
        """Go on with what was begun, in whatever process: run what never started, take up what was decided, ask the
        model when it is its turn. Raises as `run` does.
        """
        return await self._watched(self.stream(session=session, signal=signal), watch)

    def stream(
        self,
        prompt: str | None = None,
        *,
        session: AsyncSession | Session | None = None,
        files: Part | Iterable[Part] = (),
        signal: Signal | None = None,
    ) -> AsyncStream:
        """The events of `run`, or without a prompt of `resume`, to iterate over."""
        user = None if prompt is None else user_of(prompt, files)
        return AsyncStream(lambda ended: self._events(lambda state, plan: run(state, plan, user), session, signal, ended))

    async def compact(
        self,
        *,
        session: AsyncSession | Session | None = None,
        watch: Watch | None = None,
        signal: Signal | None = None,
    ) -> Compacted | None:
        """Sum up the past of the conversation now, however long it is; None when nothing is worth it, or it was stopped.
        Raises as `Agent.compact` does.
        """
        done: list[Compacted | None] = []
        events = self._events(compact, session, signal, done.append)
        try:
            async for event in events:
                if watch is not None:
                    watch(event)
        finally:
            await events.aclose()
        return done[0]

    async def context_usage(self, session: AsyncSession | Session | None = None) -> ContextUsage:
        """How long the conversation is, and how long it may be."""
        return await in_thread(self._context_usage, self._plain(session))

    async def _watched(self, stream: AsyncStream, watch: Watch | None) -> Result:
        try:
            async for event in stream:
                if watch is not None:
                    watch(event)
        finally:
            await stream.close()
        return stream.result

    def _plain(self, session: AsyncSession | Session | None) -> Session:
        chosen = self.session if session is None else session
        plain = chosen.plain if isinstance(chosen, AsyncSession) else chosen
        if not isinstance(plain, Session):
            raise ConfigurationError(f"{plain!r} is no session; make one with suture.AsyncSession(store, id).")
        return plain

    def _events(
        self,
        flow: Callable[[State, Plan], Flow[T]],
        session: AsyncSession | Session | None,
        signal: Signal | None,
        ended: Callable[[T], None],
    ) -> AsyncGenerator[Event, None]:
        plain = self._plain(session)
        recorder = self._recorder(plain)
        work = self._work(plain, recorder, signal)
        return TaskDriver(work).drive(lambda: flow(begin(plain, recorder), work.plan), ended)
