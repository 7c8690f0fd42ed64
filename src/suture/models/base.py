"""What a model is: one async generator from a request to an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, TypeAlias, runtime_checkable

from suture.loop.events import Delta, ReasoningDelta, RequestMended, TextDelta, ToolCallDelta
from suture.loop.request import Request
from suture.messages import Assistant

__all__ = ["Delta", "Model", "Piece", "ReasoningDelta", "Request", "RequestMended", "TextDelta", "ToolCallDelta"]

Piece: TypeAlias = RequestMended | Delta | Assistant


@runtime_checkable
class Model(Protocol):
    """Something that answers requests."""

    @property
    def name(self) -> str:
        """What logs and errors call it, such as "anthropic:claude-opus-4-6"."""

    def stream(self, request: Request) -> AsyncIterator[Piece]:
        """The answer in pieces, and last, once the provider has said that it is whole, the whole of it.

        First of all comes a `RequestMended`, when something had to be left out of the conversation for this provider
        (`request.fitted` says what). Closing the iterator (`aclose`) stops the answer at once.

        Raises:
            ModelError: there is no whole answer. Nothing of it counts, and the run ends with status "error". Any
                other exception leaves `run` as it is; the session can be resumed.
        """
        ...
