"""What a handler may know of its call."""

from __future__ import annotations

from typing import Protocol

from suture.messages import ToolCall


class ToolContext(Protocol):
    """What a handler may know of its call. Ask for it with a parameter annotated `suture.ToolContext`."""

    @property
    def session(self) -> object:
        """A handle on the session of the run."""

    @property
    def key(self) -> str:
        """The call's key, by which `approve`, `settle` and the log name it."""

    @property
    def call(self) -> ToolCall:
        """The call as it runs."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call and no other call; hand it to the service that acts."""

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""

    @property
    def interrupted(self) -> bool:
        """Whether the run is to stop; a long handler looks here and returns early."""

    @property
    def deadline(self) -> float | None:
        """When the tool's timeout strikes, on the clock of `time.monotonic`; None without a timeout."""

    @property
    def context(self) -> object:
        """What the agent was given as `context`."""

    def progress(self, text: str) -> None:
        """Tell watchers how far the call is. Nothing of it is stored."""
