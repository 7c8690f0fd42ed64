"""How large an answer may be, and how long its stream: what comes from outside is bounded before it is kept."""

from __future__ import annotations

from math import isfinite

from suture.formats.base import Json

MAX_CHARACTERS = 32 * 1024 * 1024
MAX_EVENTS = 1_000_000
MAX_PARTS = 10_000


class Gauge:
    """Counts what has come of one answer."""

    def __init__(self) -> None:
        self._characters = 0
        self._events = 0

    def event(self) -> None:
        """One event more.

        Raises:
            ValueError: there are too many.
        """
        self._events += 1
        if self._events > MAX_EVENTS:
            raise ValueError(f"its stream has more than {MAX_EVENTS:,} events")

    def text(self, piece: str) -> str:
        """A piece of text more, which is given back.

        Raises:
            ValueError: it is too much.
        """
        self._characters += len(piece)
        if self._characters > MAX_CHARACTERS:
            raise ValueError(f"it has more than {MAX_CHARACTERS:,} characters")
        return piece

    def parts(self, count: int) -> None:
        """So many calls or blocks.

        Raises:
            ValueError: they are too many.
        """
        if count > MAX_PARTS:
            raise ValueError(f"it has more than {MAX_PARTS:,} calls or blocks")


def text_of(value: object) -> str:
    """A text, or nothing when it is none."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def cost_of(value: object) -> float | None:
    """US dollars; None for what is no amount."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if isfinite(value) and value >= 0 else None
    except OverflowError:
        return None


def object_of(value: object) -> Json:
    """An object, or an empty one when it is none."""
    return value if isinstance(value, dict) else {}
