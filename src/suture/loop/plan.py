"""What a run works with, and how it ends."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from suture.call_repair import Correct, ToolCallRepair
from suture.canonical import digest
from suture.compaction import Compaction
from suture.errors import ModelError
from suture.healing import Change
from suture.loop.asks import Ask
from suture.loop.jobs import Done
from suture.loop.retries import RetryPolicy
from suture.messages import Assistant, ToolCall, Usage
from suture.replay import State, TurnBlock
from suture.tools import AfterTool, BeforeTool, Tool

T = TypeVar("T")
Flow: TypeAlias = Generator[Ask[Any], Any, T]
Status: TypeAlias = Literal[
    "completed", "awaiting_approval", "unknown_outcome", "interrupted", "max_steps", "budget", "error", "handed_off"
]


@dataclass(frozen=True)
class Plan:
    """What a run works with. `repair` says how calls that cannot run are corrected, `compaction` when the
    conversation is compacted; `owner` and `lease` (seconds) are those
    of its claim.
    """

    session_id: str
    tools: dict[str, Tool] = field(default_factory=dict)
    system: str | None = None
    max_steps: int | None = 16
    max_concurrency: int = 4
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None
    repair: ToolCallRepair | Correct | None = None
    compaction: Compaction | None = None
    owner: str = ""
    lease: float = 30.0


class Pending(NamedTuple):
    """A call that waits for somebody."""

    key: str
    call: ToolCall
    why: Literal["approval", "unknown_outcome"]


@dataclass(frozen=True)
class Ended:
    """How a run ended. `message` answers what was said last, if anything does; `steps` and `usage` are this run's."""

    status: Status
    message: Assistant | None
    pending: tuple[Pending, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    error: ModelError | None = None
    changes: tuple[Change, ...] = ()


class Closing(Exception):
    """The run must end now: write down what handlers brought, start nothing.

    `landed` are the jobs that still ended; `fenced` says that the claim is lost.
    """

    def __init__(self, landed: Iterable[Done], *, fenced: bool) -> None:
        super().__init__()
        self.landed = tuple(landed)
        self.fenced = fenced


def is_handed_off(state: State, tools: Mapping[str, Tool]) -> bool:
    """Whether the conversation ends in a turn of which a tool that ends turns was executed, whatever came of it."""
    last = state.timeline.last
    if not isinstance(last, TurnBlock) or not all(call.answered for call in last.calls):
        return False
    return any(call.attempt is not None and _ends_turn(tools.get(call.corrected.name)) for call in last.calls)


def _ends_turn(tool: Tool | None) -> bool:
    return tool is not None and tool.ends_turn


def pending_of(state: State) -> tuple[Pending, ...]:
    """Every call that waits for somebody: for a decision, then for a settlement."""
    parked = [Pending(call.key, call.prepared, "approval") for call in state.waiting_calls() if call.status == "parked"]
    unknown = [Pending(call.key, call.corrected, "unknown_outcome") for call in state.unknown_outcomes()]
    return (*parked, *unknown)


def idempotency_key(session_id: str, key: str) -> str:
    """The same for every attempt at a call and every settlement of it."""
    return digest([session_id, key])
