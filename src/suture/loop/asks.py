"""The questions by which the loop gets things done, and their answers.

The loop does nothing itself: it yields a question and is handed the answer. Whoever answers knows jobs, not
meaning. `ask` keeps the type of the answer.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from suture.entries import Draft, Entry
from suture.loop.events import Event
from suture.loop.jobs import Happened, Job
from suture.messages import ToolCall
from suture.tools import Ready, Refused, Verdict

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Ask(Generic[T_co]):
    """A question whose answer is of that type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Written:
    """The batch stands; `entries` are all that came to light with it, in order, others' between included."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The batch was not written, since others had written `entries`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Append(Ask[Written]):
    """Append the drafts, wherever the log ends."""

    drafts: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class AppendNext(Ask["Written | Overtaken"]):
    """Append the drafts if nothing stands behind `expect`."""

    drafts: tuple[Draft, ...]
    expect: int


@dataclass(frozen=True, slots=True)
class AppendUnclaimed(Ask[None]):
    """Append the drafts as one who holds no claim."""

    drafts: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class Start(Ask[None]):
    """Start the job and return at once. A runner whose claim has run out starts nothing: `Fenced`."""

    job: Job


@dataclass(frozen=True, slots=True)
class Stop(Ask[None]):
    """Stop the job: a model call is cancelled, a wait or a hook is over, a handler is told and after some grace given up.
    Its `Done` still comes.
    """

    job: Job


@dataclass(frozen=True, slots=True)
class Look(Ask[tuple[Happened, ...]]):
    """What has happened by now; does not wait."""


@dataclass(frozen=True, slots=True)
class Next(Ask[tuple[Happened, ...]]):
    """Wait until something has happened."""


@dataclass(frozen=True, slots=True)
class Prepare(Ask[Ready | Refused]):
    """The call that may run by the tools of now, its arguments normalised, as the model made it."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Recheck(Ask[Ready | Refused]):
    """Whether a call may run by the tools of now exactly as a person saw it."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Gate(Ask[Verdict]):
    """Whether a person has to approve the call first."""

    ready: Ready


@dataclass(frozen=True, slots=True)
class Emit(Ask[None]):
    """Tell the watchers."""

    event: Event


@dataclass(frozen=True, slots=True)
class Now(Ask[str]):
    """The time, UTC, ISO 8601, `ahead` seconds from now."""

    ahead: float = 0.0


@dataclass(frozen=True, slots=True)
class Draw(Ask[float]):
    """A number drawn from [0, 1)."""


@dataclass(frozen=True, slots=True)
class NewId(Ask[str]):
    """An id that was never given before."""


@dataclass(frozen=True, slots=True)
class NewMessageId(Ask[str]):
    """An id for a message of this session."""


def ask(question: Ask[T]) -> Generator[Ask[object], object, T]:
    """Put a question; its answer, typed."""
    answer: T = yield question  # type: ignore[assignment]
    return answer
