"""The jobs of one run: which are on, when their time is over, and what came in from them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from suture.agent.jobs import POLL, Broken, Context, Item
from suture.agent.signal import Signal
from suture.loop.asks import Done, Happened, Job, ModelJob, Outcome, Signalled, Stopped, TimedOut
from suture.loop.events import Event


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
        self._limits: dict[int, tuple[float, Outcome]] = {}
        self._events: list[Event] = []

    def started(self, job: Job, ctx: Context | None, work: Cancellable | None) -> None:
        """A job is on: `work` is None for a handler in a thread, which cannot be cancelled."""
        self._on[job.id] = _On(job, ctx, work)
        if ctx is not None and ctx.deadline is not None:
            self._limits[job.id] = (ctx.deadline, TimedOut())

    def stop(self, job: Job) -> None:
        """A model call ends at once; a handler is told, and given up after the grace."""
        on = self._on.get(job.id)
        if on is None:
            return
        if on.ctx is not None:
            on.ctx.interrupted = True
            limit = (time.monotonic() + self._grace, Stopped())
            self._limits[job.id] = min(limit, self._limits.get(job.id, limit), key=lambda one: one[0])
        elif on.work is not None:
            on.work.cancel()

    def patience(self) -> float:
        """How long to wait at most, in seconds: until the next limit, or the next look at the store."""
        nearest = min((when for when, _ in self._limits.values()), default=float("inf"))
        return max(0.0, min(POLL, nearest - time.monotonic()))

    def sort(self, item: Item) -> Iterator[Happened]:
        """What the loop is to know of an item; events are kept for the watchers.

        Raises:
            BaseException: what broke a job that no outcome can hold.
        """
        if isinstance(item, Broken):
            raise item.error
        if isinstance(item, Done):
            self._on.pop(item.job.id, None)
            self._limits.pop(item.job.id, None)
            yield item
        elif item is not None:
            self._events.append(item)

    def signalled(self) -> Iterator[Happened]:
        """The host's signal, once."""
        if self._signal is not None and self._signal.is_set and not self._signalled:
            self._signalled = True
            yield Signalled(self._signal.reason)

    def overdue(self) -> Iterator[Happened]:
        """The jobs whose time is over: async ones are cancelled, plain ones left behind, their end still comes."""
        for id, (when, outcome) in list(self._limits.items()):
            if time.monotonic() < when:
                continue
            del self._limits[id]
            on = self._on[id]
            if on.ctx is not None:
                on.ctx.interrupted = True
            if on.work is not None:
                del self._on[id]
                on.work.cancel()
            yield Done(on.job, outcome)

    def told(self) -> list[Event]:
        """The events that came in since the last time."""
        events, self._events = self._events, []
        return events

    def wind_down(self) -> set[int]:
        """Tell every handler to stop and cancel every model call; the handlers that are still on."""
        for on in self._on.values():
            if on.ctx is not None:
                on.ctx.interrupted = True
            elif on.work is not None:
                on.work.cancel()
        return {id for id, on in self._on.items() if not isinstance(on.job, ModelJob)}

    def abandon(self, handlers: set[int]) -> None:
        """Cancel what is async of the handlers that did not stop."""
        for id in handlers:
            if (work := self._on[id].work) is not None:
                work.cancel()
