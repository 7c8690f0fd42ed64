"""What a run tells those who watch it. Each kind is one small class; readers skip kinds they do not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from suture.entries import ApprovalRequest, Corrector
from suture.errors import CompactionError, ModelError
from suture.healing import Change
from suture.messages import Message, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer that the model is writing."""

    type: ClassVar[str] = "text_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's thinking."""

    type: ClassVar[str] = "reasoning_delta"
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call's argument text. `index` counts the calls of the message that is being written."""

    type: ClassVar[str] = "tool_call_delta"
    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RequestMended:
    """What the adapter had to change or leave out of the conversation for the provider that it asks."""

    type: ClassVar[str] = "request_mended"
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model's attempt failed; it is asked again after `delay` seconds. What was streamed of it does not count.

    `attempt` is the number of the one that failed, from 1.
    """

    type: ClassVar[str] = "retry"
    attempt: int
    error: ModelError
    delay: float


@dataclass(frozen=True, slots=True)
class CallCorrected:
    """A call that could not run as the model made it was corrected; `call` is what may run now, under the same id.

    `by` says who did: a rule, where only one thing could be meant; the model, when it was asked; or the host.
    """

    type: ClassVar[str] = "call_corrected"
    key: str
    made: ToolCall
    call: ToolCall
    by: Corrector


@dataclass(frozen=True, slots=True)
class ToolStarting:
    """A handler is about to start. When a watcher raises here, it does not."""

    type: ClassVar[str] = "tool_started"
    key: str
    call: ToolCall
    attempt: int


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """What a handler says of its progress."""

    type: ClassVar[str] = "tool_progress"
    key: str
    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The answer to a call, as it was recorded."""

    type: ClassVar[str] = "tool_result"
    key: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ApprovalNeeded:
    """A call waits for a person. Any process can decide it: `session.approve(key)` or `session.deny(key)`."""

    type: ClassVar[str] = "approval_needed"
    key: str
    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class MessageRecorded:
    """A message that the run recorded: a prompt, a delivered steer, an answer."""

    type: ClassVar[str] = "message"
    seq: int
    message: Message


@dataclass(frozen=True, slots=True)
class CompactionStarting:
    """The conversation, of so many tokens, is about to be compacted. When a watcher raises here, it is not."""

    type: ClassVar[str] = "compacting"
    tokens: int


@dataclass(frozen=True, slots=True)
class CompactionFinished:
    """The conversation was compacted: `summary` leads what is sent from now on. Token counts are estimates."""

    type: ClassVar[str] = "compaction"
    summary: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """The conversation could not be compacted. The run goes on with it as it is."""

    type: ClassVar[str] = "compaction_failed"
    error: CompactionError


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over; `status` as in its result."""

    type: ClassVar[str] = "finished"
    status: str


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
Event: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | RequestMended
    | Retrying
    | CallCorrected
    | ToolStarting
    | ToolProgress
    | ToolFinished
    | ApprovalNeeded
    | MessageRecorded
    | CompactionStarting
    | CompactionFinished
    | CompactionFailed
    | Finished
)
