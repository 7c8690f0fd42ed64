"""The jobs of one run: which are on, when their time is over, and what came in from them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from suture.agent.signal import Signal
from suture.agent.work import POLL, Broken, Context, Item, Reviewing
from suture.entries import Entry
from suture.loop.events import Event
from suture.loop.jobs import (
    CorrectJob,
    Done,
    Elapsed,
    Happened,
    Job,
    News,
    Outcome,
    PermitJob,
    ReconcileJob,
    Signalled,
    Stopped,
    TimedOut,
    ToolJob,
    Unreviewed,
    WaitJob,
)


class Cancellable(Protocol):
    """What an async job runs as, in either driver."""

    def cancel(self) -> bool:
        """Stop it."""
        ...


class _On(NamedTuple):
    job: Job
    ctx: Context | None
    work: Cancellable | None


class Board:
    """What a driver remembers of its jobs. It starts nothing and waits for nothing."""

    def __init__(self, signal: Signal | None, grace: float) -> None:
        self._signal = signal
        self._signalled = False
        self._grace = grace
        self._on: dict[int, _On] = {}
        self._in_review: set[int] = set()
        self._limits: dict[int, tuple[float, Outcome]] = {}
        self._events: list[Event] = []
        self._happened: list[Happened] = []

    def started(self, job: Job, ctx: Context | None, work: Cancellable | None) -> None:
        """A job is on: `work` is None for a wait, and for a handler in a thread, which cannot be cancelled."""
        self._on[job.id] = _On(job, ctx, work)
        if isinstance(job, WaitJob):
            self._limits[job.id] = (time.monotonic() + job.seconds, Elapsed())
        if ctx is not None and ctx.deadline is not None:
            self._limits[job.id] = (ctx.deadline, TimedOut())

    def stop(self, job: Job) -> None:
        """A wait and a hook are over, a model call is cancelled, a handler is told; what has not ended after the grace is
        given up.
        """
        on = self._on.get(job.id)
        if on is None:
            return
        if isinstance(job, WaitJob | PermitJob | CorrectJob):
            self._limits[job.id] = (time.monotonic(), Stopped())
            return
        if on.ctx is not None:
            on.ctx.interrupted = True
        elif on.work is not None:
            on.work.cancel()
        limit = (time.monotonic() + self._grace, Stopped())
        self._limits[job.id] = min(limit, self._limits.get(job.id, limit), key=lambda one: one[0])

    def patience(self) -> float:
        """How long to wait at most, in seconds: until the next limit, or the next look at the store."""
        nearest = min((when for when, _ in self._limits.values()), default=float("inf"))
        return max(0.0, min(POLL, nearest - time.monotonic()))

    def take(self, items: Iterable[Item]) -> None:
        """Take in what came; what the loop is to know and what watchers are told wait until they are handed over.

        Raises:
            BaseException: what broke a job that no outcome can hold, once all that came with it is taken in.
        """
        broken: BaseException | None = None
        for item in items:
            match item:
                case Done(job) | Broken(job):
                    self._on.pop(job.id, None)
                    self._limits.pop(job.id, None)
                    if isinstance(item, Done):
                        self._happened.append(item)
                        continue
                    broken = broken or item.error
                    if job.id in self._in_review:
                        self._happened.append(Done(job, Unreviewed()))
                case Reviewing(job):
                    self._in_time(job)
                case None:
                    pass
                case _:
                    self._events.append(item)
        if broken is not None:
            raise broken

    def _in_time(self, job: Job) -> None:
        """The handler ended before its time was over; a limit that a stop has set since goes on."""
        self._in_review.add(job.id)
        if isinstance(self._limits.get(job.id, (0.0, None))[1], TimedOut):
            del self._limits[job.id]

    def take_news(self, entries: list[Entry]) -> None:
        """Take in what others wrote."""
        if entries:
            self._happened.append(News(tuple(entries)))

    def look_at_signal(self) -> None:
        """Notice the host's signal, once."""
        if self._signal is not None and self._signal.is_set and not self._signalled:
            self._signalled = True
            self._happened.append(Signalled(self._signal.reason))

    def give_up_overdue(self) -> None:
        """End the jobs whose time is over: async ones are cancelled, plain ones left behind, their end still comes."""
        for id, (when, outcome) in list(self._limits.items()):
            if time.monotonic() < when:
                continue
            del self._limits[id]
            on = self._on[id]
            outcome = self._given_up(on.job, outcome)
            if on.ctx is not None:
                on.ctx.interrupted = True
            if on.work is not None or isinstance(on.job, WaitJob | PermitJob | CorrectJob):
                del self._on[id]
            if on.work is not None:
                on.work.cancel()
            self._happened.append(Done(on.job, outcome))

    def _given_up(self, job: Job, outcome: Outcome) -> Outcome:
        """What is known of a job that is given up: of a handler that had ended, more than of one that had not."""
        return Unreviewed() if job.id in self._in_review else outcome

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has happened that the loop is to know."""
        return not self._happened

    @property
    def has_ended(self) -> bool:
        """Whether a job has, of which the loop is to know."""
        return any(isinstance(one, Done) for one in self._happened)

    def happened(self) -> tuple[Happened, ...]:
        """Hand over what happened since the last time. Nothing that is not handed over is forgotten: a run that ends
        while its watchers are told still records what its handlers finished.
        """
        happened, self._happened = self._happened, []
        return tuple(happened)

    def told(self) -> list[Event]:
        """The events that came in since the last time."""
        events, self._events = self._events, []
        return events

    def wind_down(self) -> set[int]:
        """Tell every handler to stop and cancel every other job; the handlers that are still on."""
        handlers = {id for id, on in self._on.items() if isinstance(on.job, ToolJob | ReconcileJob)}
        for id, on in self._on.items():
            if on.ctx is not None:
                on.ctx.interrupted = True
            if id not in handlers and on.work is not None:
                on.work.cancel()
        return handlers

    def last(self, item: Item, handlers: set[int]) -> list[Done]:
        """What an item says of a handler, while the run ends; one that has ended leaves `handlers`."""
        match item:
            case Done(job):
                handlers.discard(job.id)
                return [item]
            case Broken(job):
                handlers.discard(job.id)
                return [Done(job, Unreviewed())] if job.id in self._in_review else []
            case Reviewing(job):
                self._in_time(job)
                return []
            case _:
                return []

    def abandon(self, handlers: set[int]) -> list[Done]:
        """Cancel what is async of the handlers that did not stop; what is known of them all the same."""
        for id in handlers:
            if (work := self._on[id].work) is not None:
                work.cancel()
        return [Done(self._on[id].job, Unreviewed()) for id in sorted(handlers & self._in_review)]
