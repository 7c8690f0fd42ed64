"""Where sessions stood when they were last written from here, so that an append can be one statement."""

from __future__ import annotations

import threading

import msgspec

_KNOWN = 1_000


class Head(msgspec.Struct, frozen=True):
    """Where a session stands: all that an append has to know of it. `key` is 0 when there is none yet."""

    key: int = 0
    head: int = 0
    chain: bytes = b""
    marks: dict[str, int] = {}


class Heads:
    """Where sessions stood when they were last written from here. A writer takes a head out, and puts the next one in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heads: dict[str, Head] = {}

    def take(self, session_id: str) -> Head | None:
        """The head, which nobody else gets until it is put in again; None when it is not known."""
        with self._lock:
            return self._heads.pop(session_id, None)

    def put(self, session_id: str, head: Head) -> None:
        """Keep the head; the one put in longest ago is forgotten when there are too many."""
        with self._lock:
            self._heads[session_id] = head
            if len(self._heads) > _KNOWN:
                del self._heads[next(iter(self._heads))]
