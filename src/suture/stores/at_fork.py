"""What is open at an `os.fork` is brought to rest before it and begins anew behind it, on both sides.

Locks of files belong to a process or to a descriptor that a fork would share, and locks of threads may be held by
one that does not live on in the child: so no store is in the middle of anything while the process is copied.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from suture.errors import StoreError
from suture.stores.shield import Bell, shielded

_PAUSE = 0.0002


class Forkable(Protocol):
    """Something open that a fork has to wait for."""

    def before_fork(self) -> None:
        """Begin nothing more, and return when nothing is on."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Begin with new locks: whoever held the old ones does not live here."""


_all: weakref.WeakSet[Forkable] = weakref.WeakSet()
_held: list[Forkable] = []
_no_fork = threading.Lock()


@contextmanager
def registering(one: Forkable) -> Iterator[None]:
    """From now on it is told of every fork, for as long as it lives; in the block there is none."""
    with _no_fork:
        _all.add(one)
        yield


def _before_fork() -> None:
    shielded(_hold_all)


def _hold_all() -> None:
    _no_fork.acquire()
    _held[:] = _all
    for one in _held:
        one.before_fork()


def _after_fork_in_parent() -> None:
    shielded(_let_all_go)


def _let_all_go() -> None:
    for one in _held:
        one.after_fork_in_parent()
    _held.clear()
    _no_fork.release()


def _after_fork_in_child() -> None:
    shielded(_begin_anew)


def _begin_anew() -> None:
    for one in _held:
        one.after_fork_in_child()
    _held.clear()
    _no_fork.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


class Gate:
    """Lets any number of works in at once, and none while a fork is on or after it was shut."""

    def __init__(self, closed: str) -> None:
        self._closed = closed
        self._is_shut = False
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._is_forking = False
        self._fork_ended = Bell()

    def shut(self) -> None:
        """Let nobody in any more. A repeat does nothing."""
        self._is_shut = True

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Inside, which a fork waits for: so it is not for waiting long.

        Raises:
            StoreError: the gate was shut.
        """
        while not self._has_entered():
            self._fork_ended.wait_for(lambda: not self._is_forking)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def _has_entered(self) -> bool:
        with self._lock:
            if self._is_shut:
                raise StoreError(self._closed)
            if self._is_forking:
                return False
            self._inside += 1
            return True

    def before_fork(self) -> None:
        """Let nobody in, and return when all are out."""
        with self._lock:
            self._is_forking = True
        while self._inside:
            # No signals here: a fork cannot be called off.
            time.sleep(_PAUSE)

    def after_fork_in_parent(self) -> None:
        """Let in again."""
        self._is_forking = False
        self._fork_ended.ring()

    def after_fork_in_child(self) -> None:
        """Let in again, with nobody inside."""
        self._start_afresh()
