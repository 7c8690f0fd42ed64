"""Keeps signal handlers out of what must not be left half done.

A handler runs in the main thread between any two bytecodes, and Ctrl-C raises there: between taking a lock and the
block that gives it back, between a commit and the note of it. So while the main thread is inside a store, whatever
arrives is kept, and handled as soon as the store is whole again, or at a point of waiting that can be left. The
handlers are exchanged for that time only; no other thread ever runs one, so the others pay nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time

# The module `signal` wraps these to make enums of numbers, which costs more than the rest of an append.
from _signal import getsignal as _getsignal  # type: ignore[import-not-found]
from _signal import signal as _set
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from suture.errors import SutureError

T = TypeVar("T")

_SLICE = 0.05
_ATTEMPTS = 5
_LONGEST = 3600.0

# Without the real-time signals: nobody interrupts by them, and to look at all costs an append 3 % more.
_SIGNALS = tuple(int(n) for n in signal.Signals if n < 32 and n not in (signal.SIGKILL, signal.SIGSTOP))


class _State:
    is_on = False


_replaced: dict[int, Callable[[int, FrameType | None], Any]] = {}
_came: dict[int, FrameType | None] = {}


def shielded(work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Do the work whole, and only then run the signal handlers that were due. A handler's error is raised from here.

    `undo` is called with the answer when such an error keeps it from the caller.
    """
    if _State.is_on or not _is_main_thread():
        return work()
    answers: list[T] = []
    try:
        _keeping_signals(work, answers)
        return answers[0]
    except BaseException:
        if answers and undo is not None:
            _undo(undo, answers[0])
        raise


def _undo(undo: Callable[[T], object], answer: T) -> None:
    """Again when it is interrupted as well: the first interrupt is on its way to the caller already."""
    for _ in range(_ATTEMPTS):
        try:
            shielded(lambda: undo(answer))
        except SutureError:
            return
        except BaseException:  # noqa: BLE001 - any handler's error
            continue
        return


def let_in() -> None:
    """Run the handlers of signals that came meanwhile: for whoever waits, at a point that an error may leave."""
    if _came and _is_main_thread():
        try:
            _handle()
        finally:
            # A handler may have set another one.
            _replace()


def pause(seconds: float) -> None:
    """Sleep inside a shield, for a fraction of a second; signals are let in behind it."""
    time.sleep(seconds)
    let_in()


class Bell:
    """Wakes all that wait, as a `threading.Condition` does, but holds no lock and is made of C locks only."""

    def __init__(self) -> None:
        self._sleepers: deque[threading.Lock] = deque()

    def ring(self) -> None:
        """Wake all that wait by now."""
        with contextlib.suppress(IndexError):
            while True:
                self._sleepers.popleft().release()

    def wait_for(self, holds: Callable[[], bool], timeout: float | None = None) -> bool:
        """Return when it holds, or after `timeout` seconds; whether it holds. Signals are let in."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        longest = _SLICE if _is_main_thread() else _LONGEST
        while True:
            sleeper = threading.Lock()
            sleeper.acquire()
            self._sleepers.append(sleeper)
            left = deadline - time.monotonic()
            # It looks behind its place in the row, so that no ring between is lost.
            if not holds() and left > 0:
                sleeper.acquire(timeout=min(left, longest))
            with contextlib.suppress(ValueError):
                self._sleepers.remove(sleeper)
            if holds():
                return True
            if left <= 0:
                return False
            let_in()


def _is_main_thread() -> bool:
    return get_ident() == threading.main_thread().ident


def _keeping_signals(work: Callable[[], T], answers: list[T]) -> None:
    try:
        _State.is_on = True
        _replace()
        answers.append(work())
    finally:
        # First of all, and no call: from here on a handler that is still replaced passes on what comes.
        _State.is_on = False
        try:
            _handle()
        finally:
            # Twice, for what comes during the first.
            try:
                _put_back()
            finally:
                _put_back()


def _replace() -> None:
    for number in _SIGNALS:
        handler = _getsignal(number)
        if callable(handler) and handler is not _keep:
            _replaced[number] = handler
            _set(number, _keep)


def _put_back() -> None:
    for number, handler in list(_replaced.items()):
        if _getsignal(number) is _keep:
            _set(number, handler)
        _replaced.pop(number, None)


def _keep(number: int, frame: FrameType | None) -> None:
    if _State.is_on:
        _came[number] = frame
    else:
        _came.pop(number, None)
        _replaced[number](number, frame)


def _handle() -> None:
    """Run the handlers that are due, each of them even when another one raises."""
    while _came:
        number, frame = _came.popitem()
        handler = _replaced.get(number) or _getsignal(number)
        try:
            if callable(handler):
                handler(number, frame)
        finally:
            _handle()


def _after_fork_in_child() -> None:
    """What came was sent to the parent, and the thread that was shielded need not be the one that lives on."""
    _State.is_on = False
    _came.clear()
    _put_back()


os.register_at_fork(after_in_child=_after_fork_in_child)
