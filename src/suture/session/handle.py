"""A handle on the log of a session: it folds what is new, and appends what follows from that. It holds nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import takewhile
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
            self.log.begin_anew()
            self.state = State()
            self._whole: State | None = None  # from the beginning, once somebody asks for what a compaction hides
            self._opened = False
            # How far was written here; of that what stands right behind what is known, until it is read; and the seq and id
            # of the last entry that was read before.
            self._written = 0
            self._unread: list[Entry] = []
            self._last_read = 0, ""

    @property
    def store(self) -> Store:
        """The store that the session is in."""
        return self.log.store

    def __repr__(self) -> str:
        return f"Session({self.id!r}, head={self._known_to()})"

    def refresh(self) -> State:
        """Read what is new in the log. Every method does this first."""
        return self._read(lambda state: state)

    def _read(self, look: Callable[[State], T]) -> T:
        """Read what is new, and look. The store is read before the lock is taken, so nobody waits for it behind that."""
        while True:
            self.open()
            state = self.state
            entries = self._behind(state)
            if entries is not None:
                with self.lock:
                    state.fold(entries)
                    self._unread.clear()
                    return look(state)
            self._begin_anew()

    def _behind(self, state: State) -> list[Entry] | None:
        """The entries behind what was folded; None when the log is not the one that was, since that was deleted.

        The last entry is read again with them, and what was written here since: another one at its place, or none, is what
        tells.
        """
        with self.lock:
            head, last = state.head, (state.head, state.last_id)
            unread = [(one.seq, one.id) for one in self._unread] if state is self.state else []
            known = {last, self._last_read, *unread} if unread else {last}
        known = {(seq, id) for seq, id in known if id}
        if not known:
            return self.log.read(after=head)
        first = min(seq for seq, _ in known)
        if entries := self.log.read(after=min(first - 1, head)):
            is_same = known <= {(one.seq, one.id) for one in entries}
            return [one for one in entries if one.seq > head] if is_same else None
        info = self.log.info()  # a log that was cut keeps its positions
        return [] if info is not None and info.head >= head else None

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
        if until is not None:
            entries: list[Entry] | None = self.log.read(after=whole.head, limit=until - whole.head)
        else:
            entries = self._behind(whole)
        if entries is None:
            self._begin_anew()
            return self._read_whole(look)
        with self.lock:
            whole.fold(entries)
            self._whole = whole
            return look(whole)

    def last_read(self, look: Callable[[State], T]) -> T:
        """Look at what was last read or written here; it is read only when more was written than is known."""
        if self.is_behind():
            self.refresh()
        with self.lock:
            self._fold_unread()
            return look(self.state)

    def last_whole(self, look: Callable[[State], T]) -> T:
        """The same, from the first entry on; what a compaction hides may have to be read for it."""
        if self.is_behind():
            self.refresh()
        with self.lock:
            self._fold_unread()
            return look(self.state) if self.state.start == 0 else self._look_at_whole(look, self.state.head)

    def _append_on(self, decide: Callable[[State], Draft | None]) -> Entry | None:
        """Append what `decide` makes of the state, deciding again whenever others wrote in between."""

        def look(state: State) -> tuple[int, tuple[Draft, ...]]:
            made = decide(state)
            return state.head, () if made is None else (made,)

        written = self.log.append_on(lambda: self._read(look))
        self.know(written)
        return next(iter(written), None)

    def know(self, written: Sequence[Entry]) -> None:
        """Take in what was written here; it need not be read where it stands right behind what was."""
        if not written:
            return
        with self.lock:
            self._written = max(self._written, written[-1].seq)
            self._opened |= written[0].seq == 1
            if self._opened and written[0].seq == self._known_to() + 1:
                if not self._unread:
                    self._last_read = self.state.head, self.state.last_id
                self._unread += written

    def _fold_unread(self) -> None:
        new = list(takewhile(lambda one: one.seq > self.state.head, reversed(self._unread)))
        self.state.fold(reversed(new))

    def _known_to(self) -> int:
        """The last seq of what was folded, and behind it was written here."""
        unread = self._unread
        return max(self.state.head, unread[-1].seq if unread and unread[0].seq <= self.state.head + 1 else 0)

    def is_behind(self) -> bool:
        """Whether something was written here that is not among what is known."""
        return self._known_to() < self._written

    def has_to_catch_up(self) -> bool:
        """Whether what was written here is to be read. Of a log that was never read it is not: whoever only writes does not
        pay for its length, and the first look reads it.
        """
        return self._opened and self.is_behind()
