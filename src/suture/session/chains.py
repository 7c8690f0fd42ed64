"""The chain of one session's own entries: walked in pages, up to the first entry that does not follow from those before it.

What is wrong there is told from what stands around it. Without a key anybody can chain anew what he changed, so what such
a chain shows is accidents and naive edits; under a key each value vouches for all before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from suture.entries import Entry
from suture.stores.base import KEY_ID, SessionInfo, Store, key_id, link, start_of

What: TypeAlias = Literal["changed", "removed", "reordered", "forged", "moved", "cut"]
Progress: TypeAlias = Callable[[int], object]

PAGE = 100

# How many entries taken out in a row are told from others when those behind them were counted anew.
_FARTHEST = 1_000


class Problem(NamedTuple):
    """The first place at which a log is not as it was written.

    `seq` is the place in the own count of `session`, `id` that of the entry that stands there, None where none does.
    `elsewhere` is where that entry, or the one that should stand there, is from or went: a session and a place in it.
    """

    what: What
    session: str
    seq: int
    id: str | None
    sentence: str
    elsewhere: tuple[str, int] | None = None


class Walk(NamedTuple):
    """A chain up to its end or its first problem: how many entries hold, how many of those were erased, the last value."""

    length: int
    erased: int
    chain: bytes
    problem: Problem | None


def entries_of(store: Store, session_id: str, upto: int | None = None) -> Iterator[Entry]:
    """The own entries of a session in pages, so that a long log needs no more memory than a short one."""
    after = 0
    while upto is None or after < upto:
        page = store.read(session_id, after, PAGE if upto is None else min(PAGE, upto - after))
        yield from page
        if not page or page[-1].seq <= after:
            return
        after = page[-1].seq


def follows(previous: bytes, seq: int, entry: Entry, key: bytes | None) -> bool:
    """Whether the entry's chain value is the one that it has behind that value, at that place."""
    if entry.erased and entry.body:
        return False
    return link(previous, "", seq, entry, key) == entry.chain


def is_kept_under(store: Store, info: SessionInfo, key: bytes | None) -> bool:
    """Whether a session is kept under the key (for None: under none), or seems to be: one whose seal was taken off is still
    chained under it.
    """
    if info.seal[:KEY_ID] == key_id(key):
        return True
    first = next(iter(store.read(info.id, 0, 1)), None)
    return not info.seal and first is not None and follows(start_of(info.id), 1, first, key)


def walk(store: Store, session_id: str, upto: int, key: bytes | None, walked: Progress = lambda _: None) -> Walk:
    """Follow the chain from the first entry to that of place `upto`; fewer that hold are no problem of the chain itself."""
    previous, seq, erased = start_of(session_id), 0, 0
    for entry in entries_of(store, session_id, upto):
        if entry.seq != seq + 1 or not follows(previous, entry.seq, entry, key):
            place = Place(store, session_id, key, seq + 1, previous, entry)
            return Walk(seq, erased, previous if seq else b"", place.problem())
        previous, seq, erased = entry.chain, entry.seq, erased + bool(entry.erased)
        walked(seq)
    return Walk(seq, erased, previous if seq else b"", None)


class Place(NamedTuple):
    """Where an entry stands that does not follow: `previous` is the last value that holds, `seq` what should come next."""

    store: Store
    session_id: str
    key: bytes | None
    seq: int
    previous: bytes
    entry: Entry

    def problem(self) -> Problem:
        """What is wrong here, as far as it can be known."""
        if self.entry.seq != self.seq:
            return self._gap()
        return self._changed() or self._out_of_order() or self._counted_anew() or self._came() or self._forged()

    def _told(
        self, what: What, sentence: str, elsewhere: tuple[str, int] | None = None, *, missing: bool = False
    ) -> Problem:
        return Problem(what, self.session_id, self.seq, None if missing else self.entry.id, sentence, elsewhere)

    def _gap(self) -> Problem:
        last = self.entry.seq - 1
        if last < self.seq:
            return self._told("forged", f"entry {self.entry.seq} is there twice")
        which = f"entry {self.seq} was" if last == self.seq else f"entries {self.seq} to {last} were"
        if (found := self._went()) is not None:
            return self._told(
                "moved", f"{which} moved to session {found[0]!r}, as its entry {found[1]}", found, missing=True
            )
        return self._told("removed", f"{which} removed", missing=True)

    def _counted_anew(self) -> Problem | None:
        """Entries were taken out and those behind them counted anew: the next still says what its place was."""
        following = self._following()
        if following is None or follows(self.entry.chain, self.seq + 1, following, self.key):
            return None
        for gap in range(1, _FARTHEST):
            if follows(self.entry.chain, self.seq + 1 + gap, following, self.key):
                which = "an entry was" if gap == 1 else f"{gap} entries were"
                found = self._went()
                if found is not None:
                    sentence = f"{which} moved from place {self.seq} to session {found[0]!r} (entry {found[1]})"
                    return self._told("moved", f"{sentence}, and those behind were counted anew", found)
                return self._told("removed", f"{which} removed at place {self.seq}, and those behind were counted anew")
        return None

    def _changed(self) -> Problem | None:
        """The next entry, or the session's row, was written behind the value here: what it is of was changed."""
        following = self._following()
        if following is not None:
            if not follows(self.entry.chain, self.seq + 1, following, self.key):
                return None
        elif self._row_chain() != self.entry.chain:
            return None
        if (found := self._came()) is not None:
            return found  # it brought what follows it along
        also = ""
        if self.key is None and self.seq > 1:
            also = f", or entry {self.seq - 1} was and was chained anew"
        return self._told("changed", f"entry {self.seq} was changed after it was written{also}")

    def _row_chain(self) -> bytes | None:
        info = self.store.info(self.session_id)
        return None if info is None else info.chain

    def _out_of_order(self) -> Problem | None:
        """The entry that stands here belongs to another place of the log, or the one that belongs here stands behind."""
        own = now = None
        for other in entries_of(self.store, self.session_id):
            if other.seq == self.seq:
                continue
            if own is None:
                # It belongs behind the one that was before it, wherever that stands now.
                places = {other.seq, other.seq + 1, self.seq + 1} - {self.seq}
                own = next((at for at in places if follows(other.chain, at, self.entry, self.key)), None)
            if now is None and other.seq > self.seq and follows(self.previous, self.seq, other, self.key):
                now = other.seq
        if own is not None:
            what = f"entry {own} stands at place {self.seq}: entries were put in another order"
            return self._told("reordered", what, (self.session_id, own))
        if now is None:
            return None
        if (found := self._came()) is not None:
            return found
        which = f"entry {self.seq} was" if now == self.seq + 1 else f"entries {self.seq} to {now - 1} were"
        return self._told("forged", f"{which} put in between; what belongs here stands at {now}", (self.session_id, now))

    def _came(self) -> Problem | None:
        """The entry is one of another session's: it is there as well, or follows there from what is."""
        for session_id, key in self._others():
            previous, seq = start_of(session_id), 0
            for other in entries_of(self.store, session_id):
                if other.chain == self.entry.chain:
                    return self._moved("was copied from", session_id, other.seq)
                if follows(previous, seq + 1, self.entry, key):
                    return self._moved("was moved here from", session_id, seq + 1)
                previous, seq = other.chain, other.seq
            if follows(previous, seq + 1, self.entry, key):
                return self._moved("was moved here from", session_id, seq + 1)
        return None

    def _moved(self, how: str, session_id: str, seq: int) -> Problem:
        return self._told(
            "moved", f"entry {self.seq} {how} session {session_id!r}, where it is entry {seq}", (session_id, seq)
        )

    def _went(self) -> tuple[str, int] | None:
        """Where in another session the entry stands that belongs here."""
        for session_id, _ in self._others():
            for other in entries_of(self.store, session_id):
                if follows(self.previous, self.seq, other, self.key):
                    return session_id, other.seq
        return None

    def _others(self) -> Iterator[tuple[str, bytes | None]]:
        """The other sessions of the store, with the key that each is kept under."""
        after: str | None = None
        while page := self.store.sessions(after=after, limit=PAGE):
            yield from ((info.id, self.key if info.seal else None) for info in page if info.id != self.session_id)
            after = page[-1].id

    def _following(self) -> Entry | None:
        return next(iter(self.store.read(self.session_id, self.seq, 1)), None)

    def _forged(self) -> Problem:
        if self.key is not None:
            return self._told(
                "forged", f"entry {self.seq} was not written here under the key: it is forged, or was replaced"
            )
        return self._told("forged", f"entry {self.seq} is forged, or was replaced: nothing before or behind it fits")
