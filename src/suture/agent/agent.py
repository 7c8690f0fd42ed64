"""An agent: a model, its tools and the limits of a run. One agent serves any number of sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

from suture.agent.recorder import Recorder
from suture.agent.signal import Signal
from suture.agent.tasks import TaskDriver
from suture.agent.threads import ThreadDriver, refuse_in_background
from suture.agent.work import GRACE, Work, unprobed
from suture.errors import ConfigurationError, InvalidTool, ModelError, SutureError
from suture.healing import Change
from suture.loop import Ended, Pending, Plan, Status, run
from suture.loop.asks import Ask
from suture.loop.events import Event
from suture.loop.retries import ONCE, RetryPolicy
from suture.messages import Assistant, Part, Usage, User, parts_of
from suture.models import Model, open_model
from suture.session import AsyncSession, Session
from suture.stores.memory import MemoryStore
from suture.tools import AfterTool, BeforeTool, Tool, is_generator_function, tool, trouble_among

H = TypeVar("H")
Watch = Callable[[Event], object]


@dataclass(frozen=True)
class Result:
    """How a run ended.

    `status` is completed, awaiting_approval, unknown_outcome, interrupted, max_steps, handed_off (a tool ended the turn)
    or error. `message` is the last answer of the conversation. `pending` is every call that waits for somebody: its
    `key`, `call`, and `why` ("approval" or "unknown_outcome"). `usage` and `steps` count this run alone. `error` is set
    when the model gave no answer. `changes` is what had to be left out of the conversation for the provider that was
    asked, each once; the log keeps it.
    """

    status: Status
    message: Assistant | None
    pending: tuple[Pending, ...]
    usage: Usage
    steps: int
    error: ModelError | None
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """The words of the last answer, "" when there is none."""
        return self.message.text if self.message is not None else ""


def _result(ended: Ended) -> Result:
    return Result(ended.status, ended.message, ended.pending, ended.usage, ended.steps, ended.error, ended.changes)


class _Parts:
    """What both skins are made of."""

    def __init__(
        self,
        model: Model | str,
        session: Session | AsyncSession | None = None,
        *,
        system: str | None = None,
        tools: Iterable[object] = (),
        max_steps: int | None = 16,
        max_concurrency: int = 4,
        lease: float = 30.0,
        grace: float = GRACE,
        retries: bool | RetryPolicy = True,
        before_tool: BeforeTool | None = None,
        after_tool: AfterTool | None = None,
        context: object = None,
        name: str | None = None,
    ) -> None:
        if session is not None and not isinstance(session, Session | AsyncSession):
            raise ConfigurationError(f"{session!r} is no session; make one with suture.Session(store, id).")
        if max_steps is not None and max_steps < 1:
            raise ConfigurationError(f"max_steps is at least 1, or None for no limit; not {max_steps}.")
        if max_concurrency < 1 or lease <= 0 or grace < 0:
            raise ConfigurationError("max_concurrency is at least 1, lease more than 0 seconds, grace not below 0.")
        self.model = _model(model)
        self.system = system
        self.tools = _named(tools)
        self.max_steps = max_steps
        self.max_concurrency = max_concurrency
        self.lease = lease
        self.grace = grace
        self.retries = _policy(retries)
        self.before_tool = _hook("before_tool(call, ctx)", before_tool)
        self.after_tool = _hook("after_tool(call, result, ctx)", after_tool)
        self.context = context
        self.name = name
        self._session = session
        self._probe: Callable[[str, Ask[object]], None] = unprobed

    def _recorder(self, session: Session) -> Recorder:
        return Recorder(session.store, session.id, self.lease)

    def _work(self, session: Session, recorder: Recorder, signal: Signal | None) -> Work:
        plan = Plan(
            session_id=session.id,
            tools=self.tools,
            system=self.system,
            max_steps=self.max_steps,
            max_concurrency=self.max_concurrency,
            retries=self.retries,
            before_tool=self.before_tool,
            after_tool=self.after_tool,
            owner=recorder.owner,
            lease=self.lease,
        )
        return Work(self.model, session, plan, recorder, self.context, signal, self.grace, self._probe)


def _model(given: Model | str) -> Model:
    model = open_model(given) if isinstance(given, str) else given
    if missing := [name for name in ("name", "stream") if not hasattr(model, name)]:
        raise ConfigurationError(f"{model!r} is no model: it has no {' and no '.join(missing)} (suture.models.base).")
    return model


def _policy(given: bool | RetryPolicy) -> RetryPolicy:
    match given:
        case RetryPolicy():
            return given
        case True:
            return RetryPolicy()
        case False:
            return ONCE
        case _:
            raise ConfigurationError(f"retries is True, False or a suture.RetryPolicy, not {given!r}.")


def _hook(what: str, given: H) -> H:
    if given is not None and (not callable(given) or is_generator_function(given)):
        raise ConfigurationError(f"{what} is a function that returns its answer, not {given!r}.")
    return given


def _named(tools: Iterable[object]) -> dict[str, Tool]:
    named: dict[str, Tool] = {}
    for given in tools:
        made = given if isinstance(given, Tool) else tool(given)
        if made.name in named:
            raise InvalidTool(f"Two tools are called {made.name!r}; a model could not tell them apart. Rename one.")
        named[made.name] = made
    return named


def _user(prompt: str, files: Part | Iterable[Part]) -> User:
    parts = parts_of(prompt)
    if not prompt.strip():
        raise ConfigurationError("The prompt is blank. Pass words, or `resume()` to go on without any.")
    attached = (files,) if isinstance(files, Part) else tuple(files)
    if trouble := trouble_among(attached):
        raise ConfigurationError(f"files: {trouble}.")
    return User((*parts, *attached))


def _begin(session: Session, recorder: Recorder) -> None:
    """Claim the session and read what is new in it."""
    news = recorder.claim(session.state.head)
    with session.lock:
        session.state.fold(news)
    recorder.head = max(recorder.head, session.state.head)


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


class Agent(_Parts):
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
        return self._watched(self._events(_user(prompt, files), session, signal), watch)

    def resume(self, *, session: Session | None = None, watch: Watch | None = None, signal: Signal | None = None) -> Result:
        """Go on with what was begun, in whatever process: run what never started, take up what was decided, ask the
        model when it is its turn. Raises as `run` does.
        """
        return self._watched(self._events(None, session, signal), watch)

    def stream(
        self,
        prompt: str | None = None,
        *,
        session: Session | None = None,
        files: Part | Iterable[Part] = (),
        signal: Signal | None = None,
    ) -> Stream:
        """The events of `run`, or without a prompt of `resume`, to iterate over."""
        return Stream(self._events(None if prompt is None else _user(prompt, files), session, signal))

    def _watched(self, events: Generator[Event, None, Result], watch: Watch | None) -> Result:
        stream = Stream(events)
        try:
            for event in stream:
                if watch is not None:
                    watch(event)
        finally:
            stream.close()
        return stream.result

    def _events(
        self, prompt: User | None, session: Session | None, signal: Signal | None
    ) -> Generator[Event, None, Result]:
        session = self.session if session is None else session
        if not isinstance(session, Session):
            raise ConfigurationError(f"{session!r} is no session; make one with suture.Session(store, id).")
        refuse_in_background()
        recorder = self._recorder(session)
        with recorder.released():
            _begin(session, recorder)
            work = self._work(session, recorder, signal)
            return _result((yield from ThreadDriver(work).drive(run(session.state, work.plan, prompt))))


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
        self._result = _result(ended)

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


class AsyncAgent(_Parts):
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
        user = None if prompt is None else _user(prompt, files)
        return AsyncStream(lambda ended: self._events(user, session, signal, ended))

    async def _watched(self, stream: AsyncStream, watch: Watch | None) -> Result:
        try:
            async for event in stream:
                if watch is not None:
                    watch(event)
        finally:
            await stream.close()
        return stream.result

    def _events(
        self,
        prompt: User | None,
        session: AsyncSession | Session | None,
        signal: Signal | None,
        ended: Callable[[Ended], None],
    ) -> AsyncGenerator[Event, None]:
        chosen = self.session if session is None else session
        plain = chosen.plain if isinstance(chosen, AsyncSession) else chosen
        if not isinstance(plain, Session):
            raise ConfigurationError(f"{plain!r} is no session; make one with suture.AsyncSession(store, id).")
        recorder = self._recorder(plain)
        work = self._work(plain, recorder, signal)
        return TaskDriver(work).drive(partial(_begin, plain, recorder), run(plain.state, work.plan, prompt), ended)
