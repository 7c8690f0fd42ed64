"""A handle on the log of a session: it folds what is new, and appends what follows from that. It holds nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
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
        self._misses = self._caught_up = 0
        self._forget()

    def _begin_anew(self) -> None:
        """Know nothing of the log, of which something was known: the next look reads."""
        with self.lock:
            self._forget()
            self._miss()

    def _forget(self) -> None:
        with self.lock:
            self.log.begin_anew()
            self.state = State()
            self._whole: State | None = None  # from the beginning, once somebody asks for what a compaction hides
            self._opened = False
            # What was written here and stands right behind what was read, until that is read as well; and the seq and id of
            # the last entry that was read before.
            self._unread: list[Entry] = []
            self._last_read = 0, ""

    def _miss(self) -> None:
        """Something is known to be in the log that is not among what is known of it: the next look reads."""
        with self.lock:
            self._misses += 1

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
            state, misses = self.state, self._misses
            entries = self._behind(state)
            if entries is not None:
                with self.lock:
                    self._fold(state, entries)
                    if state is self.state:
                        self._unread = [one for one in self._unread if one.seq > state.head]
                        self._last_read = state.head, state.last_id
                        self._caught_up = max(self._caught_up, misses)
                    return look(state)
            self._begin_anew()

    def _fold(self, state: State, entries: Iterable[Entry]) -> None:
        try:
            state.fold(entries)
        except BaseException:  # the state is blank now
            self._unread.clear()
            self._miss()
            raise

    def _behind(self, state: State, upto: int | None = None) -> list[Entry] | None:
        """The entries behind what was folded, up to that seq if any; None when the log is not the one that was, since that
        was deleted.

        The last entry is read again with them, and what was written here since: another one at its place, or none, is what
        tells.
        """
        with self.lock:
            head, last = state.head, (state.head, state.last_id)
            unread = [(one.seq, one.id) for one in self._unread] if state is self.state else []
            known = {last, self._last_read, *unread} if unread else {last}
        known = {(seq, id) for seq, id in known if id}
        after = min((head, *(seq - 1 for seq, _ in known)))
        entries = self.log.read(after, None if upto is None else upto - after)
        if entries or not known:
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
        # Where the log is another one now, the state may begin at a boundary of that.
        found = self._read(lambda state: [] if state.start else [look(state)]) if self.state.start == 0 else []
        return found[0] if found else self._look_at_whole(look, None)

    def _look_at_whole(self, look: Callable[[State], T], until: int | None) -> T:
        whole = self._whole or State()
        entries = [] if until is not None and until <= whole.head else self._behind(whole, until)
        if entries is None:
            self._begin_anew()
            return self._read_whole(look)
        with self.lock:
            whole.fold(entries)
            self._whole = whole
            return look(whole)

    def last_read(self, look: Callable[[State], T]) -> T:
        """Look at what was last read or written here; it is read only when more is there than is known."""
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
            self._opened |= written[0].seq == 1
            if not self._opened or written[0].seq != self._known_to() + 1:
                # Others wrote in between; or what is known stands there already, in a log that was deleted and made anew.
                self._miss()
                return
            if not self._unread:
                self._last_read = self.state.head, self.state.last_id
            self._unread += written

    def _fold_unread(self) -> None:
        new = list(takewhile(lambda one: one.seq > self.state.head, reversed(self._unread)))
        self._fold(self.state, reversed(new))

    def _known_to(self) -> int:
        """The last seq of what was folded, and behind it was written here."""
        return max(self.state.head, self._unread[-1].seq if self._unread else 0)

    def is_behind(self) -> bool:
        """Whether something is known to be in the log that was not read: what was written here, as a rule."""
        unread = self._unread
        return self._caught_up < self._misses or bool(unread and unread[0].seq > self.state.head + 1)

    def has_to_catch_up(self) -> bool:
        """Whether what was written here is to be read. Of a log that was never read it is not: whoever only writes does not
        pay for its length, and the first look reads it.
        """
        return self._opened and self.is_behind()
