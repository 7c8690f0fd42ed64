"""What a run has done for it, how that can end, and what else can happen meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from suture.entries import Entry
from suture.errors import ModelError
from suture.healing import Change
from suture.loop.request import Request
from suture.messages import Assistant, Message, ToolCall
from suture.tools import Tool


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
class SideJob:
    """Ask a model something on the side: to correct calls, to write a summary. `model` is asked, or the run's own when that
    is None. What it streams is told to nobody; what breaks it is its failure.
    """

    id: int
    request: Request
    model: object | None = None


@dataclass(frozen=True, slots=True)
class CorrectJob:
    """Ask the host's function to correct calls that cannot run, by key."""

    id: int
    history: tuple[Message, ...]
    calls: dict[str, ToolCall]


@dataclass(frozen=True, slots=True)
class WaitJob:
    """Let time pass, in seconds."""

    id: int
    seconds: float


Job: TypeAlias = ModelJob | SideJob | WaitJob | PermitJob | CorrectJob | ToolJob | ReconcileJob


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
    """What the host's code returned: a handler, reviewed by `after_tool`, or `before_tool`, or a correcting function."""

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
