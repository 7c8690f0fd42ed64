"""A handle on the log of a session: it folds what is new, and appends what follows from that. It holds nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from suture.entries import Draft, Entry
from suture.replay import State
from suture.session.log import SessionLog
from suture.session.opening import opening_of
from suture.stores.base import Store

T = TypeVar("T")


class Handle:
    """The log of a session, and the state that was folded of it; with `heal=False` replay hands out what is recorded."""

    def __init__(self, store: Store, id: str, *, heal: bool) -> None:
        self.heal = heal
        self.id = id
        self.log = SessionLog(store, id)
        self.lock = threading.RLock()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Know nothing of the log."""
        with self.lock:
            self.state = State()
            self._whole: State | None = None  # from the beginning, once somebody asks for what a compaction hides
            self._opened = False
            self._written = 0

    @property
    def store(self) -> Store:
        """The store that the session is in."""
        return self.log.store

    def __repr__(self) -> str:
        return f"Session({self.id!r}, head={self.state.head})"

    def refresh(self) -> State:
        """Read what is new in the log. Every method does this first."""
        return self._read(lambda state: state)

    def _read(self, look: Callable[[State], T]) -> T:
        """Read what is new, and look. The store is read before the lock is taken, so nobody waits for it behind that."""
        self.open()
        state = self.state
        entries = self.log.read(after=state.head)
        with self.lock:
            state.fold(entries)
            return look(state)

    def open(self) -> None:
        """Begin to read at the last boundary, so that what lies before it is not read. Every method does this first."""
        if self._opened:
            return
        opening = opening_of(self.log)
        with self.lock:
            if opening is not None and self.state.head == 0:
                opening.apply(self.state)
            self._opened = True

    def _read_whole(self, look: Callable[[State], T]) -> T:
        """Read what is new, and look at a state that began with the first entry."""
        self.open()
        return self._read(look) if self.state.start == 0 else self._look_at_whole(look, None)

    def _look_at_whole(self, look: Callable[[State], T], until: int | None) -> T:
        whole = self._whole or State()
        entries = self.log.read(after=whole.head, limit=None if until is None else until - whole.head)
        with self.lock:
            whole.fold(entries)
            self._whole = whole
            return look(whole)

    def last_read(self, look: Callable[[State], T]) -> T:
        """Look at what was last read, and read nothing."""
        with self.lock:
            return look(self.state)

    def last_whole(self, look: Callable[[State], T]) -> T:
        """Look at what was last read, from the first entry on; only what a compaction hides may have to be read for it."""
        with self.lock:
            return look(self.state) if self.state.start == 0 else self._look_at_whole(look, self.state.head)

    def _append_on(self, decide: Callable[[State], Draft | None]) -> Entry | None:
        """Append what `decide` makes of the state, deciding again whenever others wrote in between."""

        def look(state: State) -> tuple[int, tuple[Draft, ...]]:
            made = decide(state)
            return state.head, () if made is None else (made,)

        written = self.log.append_on(lambda: self._read(look))
        self._know(written)
        return next(iter(written), None)

    def _know(self, written: Sequence[Entry]) -> None:
        """Take in what was written here; it has not to be read where it stands right behind what was."""
        if not written:
            return
        with self.lock:
            self._written = max(self._written, written[-1].seq)
            if self._opened and written[0].seq == self.state.head + 1:
                self.state.fold(written)

    def catch_up(self) -> None:
        """Read, unless all is known up to what was written here last."""
        if not self._opened or self.state.head < self._written:
            self.refresh()
