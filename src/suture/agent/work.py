"""What a driver works with, the context of an attempt, and what comes in. Both drivers share it; a model call runs here."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from suture.agent.recorder import Recorder
from suture.agent.signal import Signal
from suture.errors import ConfigurationError, IncompleteStream, ModelError, NotJson
from suture.healing import Change
from suture.loop import Plan
from suture.loop.asks import (
    Append,
    AppendNext,
    AppendUnclaimed,
    Ask,
    Draw,
    Gate,
    NewId,
    NewMessageId,
    Now,
    Prepare,
    Recheck,
)
from suture.loop.events import Event, MessageRecorded, RequestMended, ToolFinished, ToolProgress
from suture.loop.jobs import (
    CorrectJob,
    Done,
    Failed,
    Job,
    ModelJob,
    PermitJob,
    ReconcileJob,
    Replied,
    SideJob,
    Stopped,
    ToolJob,
)
from suture.messages import Assistant, Message, ToolCall
from suture.models.base import Delta, Model, Piece, ReasoningDelta, TextDelta, ToolCallDelta
from suture.replay import own
from suture.session import Session, new_id, now
from suture.tools import as_logged, gate, prepare, recheck

# A call that no run waits for any more is given this much time to notice.
GRACE = 2.0

# How long a run may wait before it looks for what other processes wrote, in seconds.
POLL = 0.05


@dataclass(frozen=True, slots=True)
class Broken:
    """A job ended with an error that is neither the model's nor the handler's; the run raises it."""

    job: Job
    error: BaseException


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A handler has ended, in time; what is on now is the host's `after_tool`."""

    job: Job


# The jobs that run code of the host.
HostJob: TypeAlias = PermitJob | CorrectJob | ToolJob | ReconcileJob

# What comes in while a run waits; None wakes it to look at its signal.
Item: TypeAlias = Done | Event | Broken | Reviewing | None


@dataclass
class Context:
    """What a handler may know of its call: the `suture.ToolContext` of one attempt."""

    session: Session
    key: str
    call: ToolCall
    idempotency_key: str
    attempt: int
    deadline: float | None
    context: object
    report: Callable[[Event | Reviewing], None] = field(repr=False)
    interrupted: bool = False

    def progress(self, text: str) -> None:
        """Tell watchers how far the call is."""
        self.report(ToolProgress(self.key, self.call, text))


def unprobed(_when: str, _question: Ask[object]) -> None:
    """Look at no question."""


@dataclass(frozen=True)
class Work:
    """What a driver works with. `probe` sees each question before it is carried out and before it is answered."""

    model: Model
    session: Session
    plan: Plan
    recorder: Recorder
    context: object = None
    signal: Signal | None = None
    grace: float = GRACE
    probe: Callable[[str, Ask[object]], None] = unprobed

    def context_of(self, job: HostJob, report: Callable[[Event | Reviewing], None]) -> Context:
        """The context of one attempt; its timeout runs from now. A hook that is asked before it has none."""
        if isinstance(job, CorrectJob):
            key, call = next(iter(job.calls.items()))
            return Context(self.session, key, own(call), "", 0, None, self.context, report)
        made = job.attempt if isinstance(job, PermitJob) else job
        bounded = made.tool.timeout is not None and not isinstance(job, PermitJob)
        deadline = time.monotonic() + made.tool.timeout if bounded and made.tool.timeout is not None else None
        return Context(
            self.session, made.key, own(made.call), made.idempotency_key, made.attempt, deadline, self.context, report
        )

    @contextmanager
    def woken_by_signal(self, put: Callable[[None], None]) -> Iterator[None]:
        """Put None in when the host's signal is set, so that a waiting driver looks at it."""
        forget = self.signal.on_set(lambda: put(None)) if self.signal is not None else None
        try:
            yield
        finally:
            if forget is not None:
                forget()


async def end_of_side(work: Work, job: SideJob) -> Item:
    """Ask a model on the side. What it streams is nobody's business, and whatever breaks it is its failure."""
    model = work.model if job.model is None else cast(Model, job.model)
    item = await end_of_model(model, job, lambda _: None)
    if isinstance(item, Broken) and isinstance(item.error, Exception):
        return Done(job, Failed(ModelError(f"Asking on the side failed: {type(item.error).__name__}.")))
    return item


async def end_of_model(model: Model, job: ModelJob | SideJob, report: Callable[[Delta | RequestMended], None]) -> Item:
    """Ask the model, handing on what it streams; its whole answer, or why there is none."""
    whole: Assistant | None = None
    changes: list[Change] = []
    try:
        async with _closed_after(model.stream(job.request)) as pieces:
            async for piece in pieces:
                match piece:
                    case Assistant():
                        whole = piece
                    case RequestMended():
                        changes += piece.changes
                        report(piece)
                    case TextDelta() | ReasoningDelta() | ToolCallDelta():
                        report(piece)
                    case _:
                        raise _no_piece(model, piece)
    except ModelError as error:
        return Done(job, Failed(error, tuple(changes)))
    except asyncio.CancelledError:
        if is_stopped():
            raise
    except BaseException as error:  # noqa: BLE001  what is no model's error is the host's
        return Broken(job, error)
    if whole is None:
        missing = IncompleteStream(
            f"The answer of {model.name} ended before it was whole, so none of it was kept. Ask again."
        )
        return Done(job, Failed(missing, tuple(changes)))
    return _reply(model, job, whole, tuple(changes))


@asynccontextmanager
async def _closed_after(pieces: AsyncIterator[Piece]) -> AsyncGenerator[AsyncIterator[Piece], None]:
    """The pieces; closed when nobody reads them any more, which a generator is not by itself."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def _no_piece(model: Model, piece: object) -> ConfigurationError:
    return ConfigurationError(
        f"The model {model.name} yielded a {type(piece).__name__}. A model yields RequestMended, TextDelta, ReasoningDelta "
        "and ToolCallDelta, and last the whole Assistant (suture.models.base)."
    )


def _reply(model: Model, job: ModelJob | SideJob, whole: Assistant, changes: tuple[Change, ...]) -> Item:
    """The answer as a log will give it back, so that nothing is recorded that nobody can read."""
    try:
        return Done(job, Replied(as_logged(Assistant, whole), changes))
    except NotJson as error:
        wrong = f"The model {model.name} yielded an Assistant that cannot be written down: {error} (suture.messages)."
        return Broken(job, ConfigurationError(wrong))


def is_stopped() -> bool:
    """Whether a cancellation was asked for; otherwise it came from within."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def end_of(job: Job, task: asyncio.Task[Item] | Future[Item]) -> Item:
    """The item of an async job that has ended."""
    if task.cancelled():
        return Done(job, Stopped())
    error = task.exception()
    return Broken(job, error) if error is not None else task.result()


def answer_plain(question: Ask[object], work: Work) -> object:
    """The answer to a question that needs no job: of the store, the clock, the source of ids, or the tools."""
    match question:
        case Append(drafts):
            return work.recorder.append(drafts)
        case AppendNext(drafts, expect):
            return work.recorder.append_next(drafts, expect)
        case AppendUnclaimed(drafts):
            work.recorder.append_unclaimed(drafts)
            return None
        case Prepare(call):
            return prepare(call, work.plan.tools)
        case Gate(ready):
            return gate(ready)
        case Recheck(call):
            return recheck(call, work.plan.tools)
        case Now(ahead):
            return now(ahead)
        case NewId():
            return new_id()
        case NewMessageId():
            return work.session.message_id()
        case Draw():
            return random.random()
        case _:
            raise AssertionError(f"no driver answers {question!r}")


def heard(event: Event) -> Message | None:
    """The message of which the listeners of a session are told: an answer, or a result that stands in for none."""
    match event:
        case MessageRecorded(message=Assistant() as answer):
            return answer
        case ToolFinished(result=result) if result.synthetic in (None, "denied"):
            return result
        case _:
            return None
