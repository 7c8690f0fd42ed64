"""The questions by which the loop gets things done, and their answers.

The loop does nothing itself: it yields a question and is handed the answer. Whoever answers knows jobs, not
meaning. `ask` keeps the type of the answer.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from suture.entries import Draft, Entry
from suture.errors import ModelError
from suture.formats import format_of
from suture.healing import Change, Healed, fit
from suture.loop.events import Event
from suture.messages import Assistant, Message, Origin, System, ToolCall
from suture.tools import Ready, Refused, Tool, Verdict

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Jobs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `messages` is valid for every provider: each turn is followed by its results."""

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[Tool, ...] = ()

    def fitted(self, format: str, model: str | None = None, reader: Origin | None = None) -> Healed:
        """The request as that provider, model or dialect takes it: `history` is a dict of `messages` and, where there
        are any, `system` and `tools`; `changes` is what had to be left out of the conversation. `reader` is who will be
        asked, and gets the reasoning back that it made itself.
        """
        system = (System.of(self.system),) if self.system else ()
        healed = fit((*system, *self.messages), format, model, reader)
        if not self.tools:
            return healed
        form = format_of(format)
        offered = [form.offer(tool.name, tool.description, tool.parameters) for tool in self.tools]
        assert isinstance(healed.history, dict)
        return Healed({**healed.history, "tools": offered}, healed.changes, healed.hints)

    def wire(self, format: str) -> object:
        """The request as that provider would receive it, such as {"messages": [...]}."""
        return self.fitted(format).history


@dataclass(frozen=True, slots=True)
class ModelJob:
    """Ask the model."""

    id: int
    request: Request


@dataclass(frozen=True, slots=True)
class ToolJob:
    """Run a tool's handler."""

    id: int
    key: str
    call: ToolCall
    tool: Tool = field(repr=False)
    attempt: int
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class ReconcileJob:
    """Ask a tool what its lost call did."""

    id: int
    key: str
    call: ToolCall
    tool: Tool = field(repr=False)
    attempt: int
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class PermitJob:
    """Ask the host's `before_tool` whether that attempt may be made."""

    id: int
    attempt: ToolJob


@dataclass(frozen=True, slots=True)
class WaitJob:
    """Let time pass, in seconds."""

    id: int
    seconds: float


Job: TypeAlias = ModelJob | WaitJob | PermitJob | ToolJob | ReconcileJob


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's whole answer, and what had to be changed in what was sent."""

    message: Assistant
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The model gave none."""

    error: ModelError
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Returned:
    """What the host's code returned: a handler, reviewed by `after_tool`, or `before_tool`."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """What the host's code raised."""

    error: Exception


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The handler's time is over. It may still be running; what it does then comes as another `Done`."""


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The time has passed."""


@dataclass(frozen=True, slots=True)
class Unreviewed:
    """The handler ended, and `after_tool` was cut off before it had reviewed what it brought."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The job was stopped. A handler may still be running."""


Outcome: TypeAlias = Replied | Failed | Elapsed | Returned | Raised | TimedOut | Unreviewed | Stopped

# What can happen while the loop waits ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """A job ended."""

    job: Job
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class News:
    """Entries that others wrote, or that came to light."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Signalled:
    """The host's own signal asks the run to stop."""

    reason: str | None


Happened: TypeAlias = Done | News | Signalled

# Questions ------------------------------------------------------------------------------------


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
class Look(Ask["tuple[Happened, ...]"]):
    """What has happened by now; does not wait."""


@dataclass(frozen=True, slots=True)
class Next(Ask["tuple[Happened, ...]"]):
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
    """The time, UTC, ISO 8601."""


@dataclass(frozen=True, slots=True)
class Draw(Ask[float]):
    """A number drawn from [0, 1)."""


@dataclass(frozen=True, slots=True)
class NewId(Ask[str]):
    """An id that was never given before."""


def ask(question: Ask[T]) -> Generator[Ask[object], object, T]:
    """Put a question; its answer, typed."""
    answer: T = yield question  # type: ignore[assignment]
    return answer
