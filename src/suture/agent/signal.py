"""A latch by which the host stops a run from another thread or task."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Signal:
    """Set once, with a reason; a run that was given it stops as if a person had interrupted it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._reason: str | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether it was set."""
        return self._set

    @property
    def reason(self) -> str | None:
        """What it was first set with."""
        return self._reason

    def set(self, reason: str | None = None) -> None:
        """Ask the run to stop. Only the first call counts."""
        with self._lock:
            if self._set:
                return
            self._set, self._reason = True, reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once it is set, at once if it is; returns what takes the callback back."""
        with self._lock:
            if not self._set:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
