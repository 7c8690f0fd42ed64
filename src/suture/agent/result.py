"""How a run ended, as the caller gets it."""

from __future__ import annotations

from dataclasses import dataclass

from suture.errors import ModelError
from suture.healing import Change
from suture.loop import Ended, Pending, Status
from suture.messages import Assistant, Usage


@dataclass(frozen=True)
class Result:
    """How a run ended.

    `status` is completed, awaiting_approval, unknown_outcome, interrupted, max_steps, handed_off (a tool ended the turn)
    or error. `message` is the model's last answer to what was said last; None when it gave none. `pending` is every call
    that waits for somebody: its `key`, `call`, and `why` ("approval" or "unknown_outcome"). `usage` and `steps` count
    this run alone. `error` is set when the model gave no answer. `changes` is what had to be left out of the conversation
    for the provider that was asked, each once; the log keeps it.
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
        """The words of that answer, "" when there is none."""
        return self.message.text if self.message is not None else ""


def result_of(ended: Ended) -> Result:
    """The end of a run, for its caller."""
    return Result(ended.status, ended.message, ended.pending, ended.usage, ended.steps, ended.error, ended.changes)
