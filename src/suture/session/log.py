"""The log of a session as it is read: of a fork what it shares with its parent, then what is its own.

A store counts each session's own entries from 1. A fork shows its parent's entries up to the place where it was made, under
the parent's positions, and its own behind them, so that whatever names a position (call keys, boundaries, edits) means the
same in both. Here, and nowhere else, positions are translated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

import suture.stores.rules as rules
from suture.entries import Draft, Entry, Fork, draft, lost, mark, read, split_mark
from suture.errors import ConfigurationError, Conflict, Corrupt, InvalidEdit, SessionNotFound
from suture.session.checking import CheckedReading
from suture.session.clock import new_id, now
from suture.session.near import did_you_mean, not_found
from suture.stores.base import Append, Claim, Meta, SessionInfo, Store, Together, boundary_of, key_of
from suture.stores.encrypted import is_sealed

# An append that depends on what was read is tried again while others write, for so many seconds at most.
PATIENCE = 30.0

# So many entries are read at once where one is looked for.
_PAGE = 200

# More than any store counts.
_NO_POSITION = 1 << 62


class Stretch(NamedTuple):
    """The entries of a session that stand in a log up to the position `upto`; its first own one stands behind `offset`."""

    session_id: str
    offset: int
    upto: int


def origin_of(session_id: str, first: Entry) -> Fork | None:
    """Where a session was forked off, from its first entry; None when it was not.

    Raises:
        Corrupt: it was, and the entry does not say where any more.
    """
    if first.kind != "fork":
        return None
    if first.erased:
        raise Corrupt(f"session {session_id!r} is a fork, and the entry that names its parent was erased.")
    body = read(first)
    assert isinstance(body, Fork)
    if not 1 <= body.at < _NO_POSITION:
        raise Corrupt(f"session {session_id!r} is a fork at {body.at}, which is no position of a log.")
    return body


def shifted(entries: list[Entry], offset: int) -> list[Entry]:
    """The entries under their positions in a log."""
    return [msgspec.structs.replace(entry, seq=entry.seq + offset) for entry in entries] if offset else entries


def without_gaps(entries: list[Entry], after: int) -> list[Entry]:
    """Entries that were read behind a position, with an entry for each place where some are lost."""
    if not entries or entries[-1].seq - after == len(entries):
        return entries
    found: list[Entry] = []
    for entry in entries:
        if entry.seq > after + 1:
            found.append(lost(entry.seq - 1))
        found.append(entry)
        after = entry.seq
    return found


class SessionLog:
    """The log of one session of a store. All positions that go in or come out are those of the log as it is read."""

    def __init__(self, store: Store, session_id: str) -> None:
        self.store = store
        # Asked once: it takes as long as a quarter of an append.
        self.together = store if isinstance(store, Together) else None
        self.session_id = session_id
        self.begin_anew()

    def begin_anew(self) -> None:
        """Know nothing of the session, which may have been deleted, and another one made under its id."""
        self._kept = CheckedReading(self.store)
        # None changes while the session is there: what it was forked off and whether it is encrypted, known once it has an
        # entry, by whose id another session is told; and what it shares.
        self._is_known = False
        self._first_id = ""
        self._is_sealed = False
        self._origin: Fork | None = None
        self._past: tuple[Stretch, ...] | None = None

    @property
    def _offset(self) -> int:
        return self._origin.at if self._origin is not None else 0

    # Reading ----------------------------------------------------------------------------------

    def read(self, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session. Where the store has lost some, one entry
        stands for them (`Entry.is_lost`).

        Raises:
            SessionNotFound: what is to be read lies in a session that this one was forked off, and that is gone.
            ConfigurationError: it is encrypted, and the store is not.
            Corrupt: it is kept under the key of the store, and an entry is not what was written there.
        """
        return without_gaps(self._read(after, limit), max(after, 0))[:limit]

    def _read(self, after: int, limit: int | None) -> list[Entry]:
        if not self._is_known and after <= 0:
            entries = self._kept.read(self.session_id, 0, limit)
            if not entries or self._learn(entries[0]) is None:
                self._require_open()
                return entries
        self.origin()
        self._require_open()
        found = self._read_past(after, limit) if after < self._offset else []
        left = None if limit is None else limit - len(found)
        own = self._kept.read(self.session_id, max(after - self._offset, 0), left) if left != 0 else []
        if own and own[0].seq == 1 and own[0].id != self._first_id:
            self.begin_anew()
            return self._read(after, limit)
        return found + shifted(own, self._offset)

    def _read_past(self, after: int, limit: int | None) -> list[Entry]:
        found: list[Entry] = []
        for session_id, offset, upto in self.past():
            start = max(after, offset, 0)
            wanted = upto - start if limit is None else min(upto - start, limit - len(found))
            if wanted <= 0:
                continue
            # Where an entry cannot be read, one that is not shared comes with the rest.
            entries = [one for one in self._kept.read(session_id, start - offset, wanted) if one.seq <= upto - offset]
            last = entries[-1].seq if entries else start - offset
            if last < start - offset + wanted:
                raise self._gone(session_id, f"holds {last} of the {upto - offset} entries")
            found += shifted(entries, offset)
        return found

    def origin(self) -> Fork | None:
        """Where the session was forked off; None when it was not, or has no entry yet."""
        if not self._is_known:
            for first in self._kept.read(self.session_id, 0, 1):
                self._learn(first)
        return self._origin

    def _learn(self, first: Entry) -> Fork | None:
        self._is_sealed = is_sealed(self._first_body(first))
        self._origin = None if self._is_sealed else origin_of(self.session_id, first)
        self._first_id = first.id
        self._is_known = True
        return self._origin

    def _first_body(self, first: Entry) -> bytes:
        """The first body that was not erased."""
        entries = [first]
        while entries and all(one.erased for one in entries):
            entries = self.store.read(self.session_id, entries[-1].seq, _PAGE)
        return next((one.body for one in entries if not one.erased), b"")

    def _require_open(self) -> None:
        """Refuse a log whose bodies are encrypted: it would read as empty, and what is written would not be encrypted."""
        if self._is_sealed:
            raise ConfigurationError(
                f"session {self.session_id!r} is encrypted, and this store has no keys for bodies. Open it in Python, "
                "through `suture.stores.EncryptedStore`; `suture sessions` lists it all the same."
            )

    def past(self) -> tuple[Stretch, ...]:
        """What the session shares, oldest first.

        Raises:
            SessionNotFound: a session that this one was forked off is gone.
        """
        if self._past is None:
            found: list[Stretch] = []
            fork = self.origin()
            while fork is not None:
                parent, upto = fork.parent, fork.at
                first = self._kept.read(parent, 0, 1)
                if not first:
                    raise self._gone(parent, "is not in the store")
                fork = origin_of(parent, first[0])
                offset = fork.at if fork is not None else 0
                if offset >= upto:
                    raise Corrupt(f"session {self.session_id!r} shares {upto} entries with {parent!r}, which begins later.")
                found.append(Stretch(parent, offset, upto))
            self._past = tuple(reversed(found))
        return self._past

    def _gone(self, parent: str, what: str) -> SessionNotFound:
        return SessionNotFound(
            f"session {self.session_id!r} is a fork of {parent!r} and shares its past, which is gone: {parent!r} {what} "
            "any more. A parent must be kept as long as its forks; restore it, or delete the fork."
        )

    def info(self) -> SessionInfo | None:
        """What the store knows of the session, under positions of the log."""
        info = self.store.info(self.session_id)
        return None if info is None else self.as_read(info)

    def as_read(self, info: SessionInfo) -> SessionInfo:
        """What the store said of the session, under positions of the log."""
        if info.head == 0 or (origin := self.origin()) is None:
            return info
        marks = {name: seq + origin.at for name, seq in info.marks.items()}
        if origin.compaction is not None and 1 <= origin.compaction <= origin.at:
            shared = (name for name, seq in info.marks.items() if seq == 1 and split_mark(name)[0] == "boundary")
            marks |= dict.fromkeys(shared, origin.compaction)
        return msgspec.structs.replace(info, head=info.head + origin.at, marks=marks)

    def news(self, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; whether it does."""
        self.origin()
        return self.store.news(self.session_id, after - self._offset, timeout)

    # Writing ----------------------------------------------------------------------------------

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch; return its last position. As `Store.append` otherwise.

        Raises:
            ConfigurationError: it is encrypted, and the store is not.
        """
        wanted = self.wanted(drafts, expect, epoch, meta)
        try:
            last = self.store.append(self.session_id, drafts, expect=wanted.expect, epoch=epoch, meta=meta)
        except Conflict:
            self.require_end_of(wanted)
            raise
        return self.appended(wanted, last)

    @property
    def is_known(self) -> bool:
        """Whether it has been found out what the session was forked off, so that `wanted` and `appended` read nothing."""
        return self._is_known

    def wanted(
        self, drafts: Sequence[Draft], expect: int | None = None, epoch: int | None = None, meta: Meta | None = None
    ) -> Append:
        """What the store is asked for, under its own positions.

        Raises:
            ConfigurationError: it is encrypted, and the store is not.
        """
        self.origin()
        self._require_open()
        return Append(self.session_id, drafts, None if expect is None else expect - self._offset, epoch, meta)

    def appended(self, wanted: Append, last: int) -> int:
        """The last position of what the store has appended up to that seq of its own."""
        if not self._is_known and last == len(wanted.drafts) > 0:
            self._learn(wanted.drafts[0].at_seq(1))
        self.origin()  # when others wrote first, they may have made a fork of it
        return last + self._offset

    def append_on(self, look: Callable[[], tuple[int, Sequence[Draft]]], *, epoch: int | None = None) -> list[Entry]:
        """Append what depends on what was read: `look` says up to which position it has read, and what to append; it is
        asked again whenever others wrote in between. Nothing is written when it wants nothing.

        Raises:
            Conflict: others did not stop writing.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            head, drafts = look()
            if not drafts:
                return []
            try:
                last = self.append(drafts, expect=head, epoch=epoch)
            except Conflict:
                if time.monotonic() > deadline:
                    raise
            else:
                return [one.at_seq(seq, epoch or 0) for seq, one in enumerate(drafts, last - len(drafts) + 1)]

    def require_end_of(self, wanted: Append) -> None:
        """Return when what stands behind the expected head can be read, or nothing does, or none was expected.

        Raises:
            Corrupt: the log was cut.
        """
        if (known := wanted.expect) is None:
            return
        info = self.store.info(self.session_id)
        if info is not None and info.head > known and not self.store.read(self.session_id, known, 1):
            raise Corrupt(
                f"session {self.session_id!r}: its log was cut: it went on to {info.head + self._offset}, and what is "
                f"there ends at {known + self._offset}. `suture verify` says more. Restore a backup; or go on without what "
                "is lost: any message that is added behind it does."
            )

    def claim(self, owner: str, ttl: float) -> Claim:
        """Claim the session, as `Store.claim` says."""
        return self.store.claim(self.session_id, owner, ttl)

    def erase(self, entry_id: str) -> None:
        """Replace an entry's body by nothing, where it is held: of one that is shared also for all who share it.

        Raises:
            SessionNotFound: there is no such session, or no such entry in its log.
            InvalidEdit: the entry says what the session was forked off.
            ConfigurationError: it is encrypted, and the store is not.
        """
        held, entry = self.find(entry_id)
        if entry.kind == "fork":
            raise InvalidEdit(
                f"Entry {entry_id!r} says what session {held!r} was forked off; without it the session could not be read. "
                "Delete the session instead."
            )
        self.store.erase(held, entry_id)

    def find(self, entry_id: str) -> tuple[str, Entry]:
        """The session that holds an entry of the log, and the entry under its position here.

        Raises:
            SessionNotFound: there is no such session, or no such entry in its log.
            ConfigurationError: it is encrypted, and the store is not.
        """
        if self.store.info(self.session_id) is None:
            raise not_found(self.store, self.session_id)
        self.origin()
        self._require_open()
        ids: list[str] = []
        for held, entry in self._held():
            if entry.id == entry_id:
                return held, entry
            ids.append(entry.id)
        meant = did_you_mean(entry_id, ids)
        raise SessionNotFound(
            f"Session {self.session_id!r} has no entry {entry_id!r}.{meant} `session.entries()` lists those it has."
        )

    def _held(self) -> Iterator[tuple[str, Entry]]:
        """Each entry of the log, with the session that holds it."""
        for session_id, offset, upto in self._stretches():
            after, last = 0, upto - offset
            while after < last and (page := self.store.read(session_id, after, min(_PAGE, last - after))):
                yield from ((session_id, entry) for entry in shifted(page, offset) if entry.seq <= last + offset)
                after = page[-1].seq

    def _stretches(self) -> tuple[Stretch, ...]:
        """The log as stretches, its own end first, since what is looked for was mostly written lately."""
        info = self.info()
        head = info.head if info is not None else 0
        return (Stretch(self.session_id, self._offset, head), *reversed(self.past()))

    # Forks ------------------------------------------------------------------------------------

    def fork(self, at: int | None, id: str) -> SessionLog:
        """A new session that shares this log up to `at`, its end when left out: one entry, however long the log is.

        Raises:
            SessionNotFound: this session holds nothing.
            InvalidEdit: the log has no position `at`, or there is a session `id` that holds something.
            WrongKey: this session is kept under a key, and the store has none.
        """
        info = self.info()
        if info is None or info.head == 0:
            raise not_found(self.store, self.session_id)
        at = info.head if at is None else at
        if not 1 <= at <= info.head:
            raise InvalidEdit(f"Session {self.session_id!r} has no position {at} to fork at; it has 1 to {info.head}.")
        if info.seal and key_of(self.store) is None:
            raise rules.wrong_key(self.session_id, info.seal, None)
        child = SessionLog(self.store, id)
        try:
            child.append((self._fork_entry(at, info),), expect=0)
        except Conflict as error:
            raise InvalidEdit(f"The store holds a session {id!r} already. Fork under another id.") from error
        child._past = (*(one for one in self.past() if one.upto < at), self._holder(at)._replace(upto=at))
        return child

    def _holder(self, at: int) -> Stretch:
        """The stretch that holds a position."""
        return next((one for one in self.past() if at <= one.upto), Stretch(self.session_id, self._offset, at))

    def _fork_entry(self, at: int, info: SessionInfo) -> Draft:
        held = self._holder(at)
        entry = next(iter(self.read(at - 1, 1)))
        boundary = boundary_of(info.marks)
        compaction = info.marks.get(mark("boundary", str(boundary)))
        if compaction is None or compaction > at:
            return draft(new_id(), now(), Fork(held.session_id, at, entry.chain.hex()))
        body = Fork(held.session_id, at, entry.chain.hex(), compaction)
        return draft(new_id(), now(), body, (mark("boundary", str(boundary)),))
