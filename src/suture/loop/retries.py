"""When the model is asked again: which failures pass by themselves, which answers cannot be kept, and how long to wait."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from suture.errors import (
    ConfigurationError,
    IncompleteStream,
    InvalidAnswer,
    ModelError,
    Overloaded,
    RateLimited,
    Timeout,
    TransportError,
)
from suture.messages import Assistant, Reasoning, Text
from suture.replay import State

_TRANSIENT = (RateLimited, Overloaded, Timeout, TransportError, IncompleteStream, InvalidAnswer)
_SHOWN = 60


@dataclass(frozen=True)
class RetryPolicy:
    """How often a model is asked in all before a failure counts, and how long is waited in between.

    The wait behind the nth attempt is what the provider asks for, else `base` seconds times 2^(n-1), shortened at
    random by up to a half so that many runs do not ask at once; never more than `max_delay` seconds.
    """

    attempts: int = 3
    base: float = 1.0
    max_delay: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        counts = self.attempts >= 1 and self.attempts % 1 == 0
        if not counts or not 0 <= self.base <= self.max_delay or not isfinite(self.max_delay):
            raise ConfigurationError("A RetryPolicy has attempts of at least 1 and 0 <= base <= max_delay, in seconds.")

    def delay(self, attempt: int, error: ModelError, chance: float) -> float | None:
        """The seconds to wait after that attempt failed; None when it is not made again. `chance` is from [0, 1)."""
        if attempt >= self.attempts or not isinstance(error, _TRANSIENT):
            return None
        if (hint := _hint(error)) is not None:
            return min(hint, self.max_delay)
        # Bounded before it is raised to a power, which may be larger than any float.
        grown = self.base * 2 ** min(attempt - 1, 64)
        return float(min(self.max_delay, grown) * (0.5 + chance / 2))


def _hint(error: ModelError) -> float | None:
    """The seconds that the error asks to wait, which is the host's word when the model is."""
    hint: object = getattr(error, "retry_after", None)
    fits = isinstance(hint, int | float) and not isinstance(hint, bool) and isfinite(hint)
    return max(0.0, float(hint)) if fits and isinstance(hint, int | float) else None


ONCE = RetryPolicy(attempts=1)


def fault_of(message: Assistant, state: State) -> str | None:
    """Why no call of a turn may be kept: calls that cannot be told apart would run twice, or answer each other."""
    seen: set[str] = set()
    for index, call in enumerate(message.calls, 1):
        if not call.name.strip():
            return f"call {index} names no tool"
        if not call.id.strip():
            return f"call {index} ({call.name[:_SHOWN]!r}) has no id"
        if call.id in seen or state.has_given(call.id):
            return f"call {index} ({call.name[:_SHOWN]!r}) has the id {call.id[:_SHOWN]!r}, which another call had before"
        seen.add(call.id)
    return None


def is_empty(message: Assistant) -> bool:
    """Whether a turn that ended by itself says nothing, or announces calls and makes none."""
    if message.calls or message.stop_reason not in (None, "stop", "tool_use"):
        return False
    words = all(type(part) is Reasoning or (type(part) is Text and not part.text.strip()) for part in message.parts)
    return words or message.stop_reason == "tool_use"
