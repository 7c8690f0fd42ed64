"""The store over a directory of logs: which session's files a call concerns, listing them, and waiting for news."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import suture.stores.at_fork as at_fork
import suture.stores.rules as rules
from suture.entries import Draft, Entry
from suture.errors import StoreError
from suture.stores.base import Claim, Meta, SessionInfo, Status
from suture.stores.jsonl.batch import Batch
from suture.stores.jsonl.log import Log
from suture.stores.jsonl.names import id_of
from suture.stores.jsonl.place import LOG, Place
from suture.stores.jsonl.state import Stamp, State
from suture.stores.shield import shielded

T = TypeVar("T")

_LOG = logging.getLogger("suture")
_FIRST_PAUSE, _LAST_PAUSE = 0.02, 0.1
_MOST_LOGS = 500

# What the system says of a file that is there and cannot be read, while others can.
_OF_ONE_FILE = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.EIO)


class _Logs:
    """The logs that were used last, each with what it knows; a forked child begins without any."""

    def __init__(self, place: Place, key: bytes | None) -> None:
        self._place = place
        self._key = key
        self.after_fork_in_child()

    def before_fork(self) -> None:
        """Nothing: the place lets nobody in, and waits for what is on."""

    def after_fork_in_parent(self) -> None:
        """Nothing: all is as it was."""

    def after_fork_in_child(self) -> None:
        """Begin with a new lock, and nothing known of any log."""
        self._lock = threading.Lock()
        self._logs: dict[str, Log] = {}

    def of(self, session_id: str) -> Log:
        """The log of that session.

        Raises:
            StoreError: no session has such an id.
        """
        rules.require_text(session_id)
        with self._lock:
            log = self._logs.pop(session_id, None) or Log(self._place, session_id, self._key)
            self._logs[session_id] = log
            if len(self._logs) > _MOST_LOGS:
                del self._logs[next(iter(self._logs))]
            return log


class JsonlStore:
    """Sessions in JSONL files in the directory at `path`, for any number of threads and processes of one machine.

    The directory is made when it is not there; the one that it lies in is not. A log that others keep locked is waited
    for, `busy_timeout` seconds at most. Under a `key` (16 bytes at least) chains are HMACs, which nobody can forge who
    does not have it. What was damaged in a log stands in `SessionInfo.damage`; the next append moves it aside.

    Raises:
        StoreError: the directory cannot be opened, or is not ours; it was left as it is.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout: float = 30.0, key: bytes | None = None) -> None:
        self.key = rules.usable_key(key)
        self._place = shielded(lambda: Place(Path(path).absolute(), busy_timeout))
        self._logs = _Logs(self._place, self.key)
        with at_fork.registering(self._logs):
            pass

    def _write(self, session_id: str, work: Callable[[Batch], T], undo: Callable[[T], object] | None = None) -> T:
        return shielded(lambda: self._place.in_words(lambda: self._logs.of(session_id).write(work)), undo)

    # The protocol -----------------------------------------------------------------------------

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch whole, as `Store.append` says; when it returns, the batch is on disk."""
        rules.require_text(session_id, drafts)
        return self._write(session_id, lambda batch: batch.append(drafts, expect, epoch, meta))

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        return shielded(lambda: self._place.in_words(lambda: self._logs.of(session_id).read(after, limit)))

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        state = self._state(session_id)
        return None if state is None else _info(state, time.time())

    def _state(self, session_id: str) -> State | None:
        return shielded(lambda: self._place.in_words(lambda: self._logs.of(session_id).state()))

    def sessions(
        self,
        *,
        status: Status | None = None,
        meta: Meta | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """Sessions by id behind the id `after`, as `Store.sessions` says."""
        rules.require_listing(status, meta)
        found: list[SessionInfo] = []
        for id in self._ids():
            if len(found) >= limit:
                break
            info = self._shown(id, status, meta) if after is None or id > after else None
            if info is not None:
                found.append(info)
        return found

    def _shown(self, id: str, status: Status | None, meta: Meta | None) -> SessionInfo | None:
        """What a listing for that status and meta shows of the session. Of one whose files cannot be opened nobody knows
        those: it is shown where none is asked for, as damaged, else named in the log `suture`, and keeps nobody from the
        others.
        """
        try:
            info = self.info(id)
        except StoreError as error:
            why = error.__cause__
            if not isinstance(why, OSError) or why.errno not in _OF_ONE_FILE:
                raise
            file = why.filename or self._place.file(id, LOG)
            what = f"{file} cannot be read ({why.strerror})"
            if status is None and not meta:
                return SessionInfo(id, damage=((0, what),))
            _LOG.warning("A session is left out of a listing by status or meta, of which nobody knows it: %s", what)
            return None
        return info if info is not None and rules.is_listed(info, status, meta) else None

    def _ids(self) -> list[str]:
        names = shielded(lambda: self._place.in_words(self._place.names))
        ids = (id_of(name) or self._place.id_in(name) for name in names)
        return sorted(id for id in ids if id is not None)

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        rules.require_lease(ttl)
        return self._write(session_id, lambda batch: batch.claim(owner, ttl, self._place.floor), undo=self.release)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        self._write(claim.session_id, lambda batch: batch.renew(claim, ttl))

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self._write(claim.session_id, lambda batch: batch.release(claim))

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says: its log is written anew without it."""
        shielded(lambda: self._place.in_words(lambda: self._logs.of(session_id).erase(entry_id)))

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        shielded(lambda: self._place.in_words(lambda: self._logs.of(session_id).delete()))

    def close(self) -> None:
        """Let nothing more be done with this store. A repeat does nothing."""
        self._place.gate.shut()

    # News -------------------------------------------------------------------------------------

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; for no session, until anything is appended anywhere."""
        deadline = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        has_come = self._any_ring() if session_id is None else self._head_behind(session_id, after)
        while True:
            appends = self._place.appends
            if has_come():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            wait = min(pause, left)
            shielded(lambda: self._place.appended.wait_for(lambda: self._place.appends != appends, wait))  # noqa: B023
            pause = min(pause * 1.5, _LAST_PAUSE)

    def _any_ring(self) -> Callable[[], bool]:
        """Asks whether anything was appended since."""
        before = self._place.last_ring()
        return lambda: self._place.last_ring() != before

    def _head_behind(self, session_id: str, after: int) -> Callable[[], bool]:
        """Asks whether the head is behind `after`; it looks into a log only when that has changed."""
        seen: list[Stamp] = []

        def has_come() -> bool:
            stamp = self._logs.of(session_id).stamp()
            if [stamp] == seen:
                return False
            state = self._state(session_id)
            # Only what the state vouches for is settled; a writer may be at work behind it.
            seen[:] = [stamp] if state is None or state.log == stamp else []
            return state is not None and state.head > after

        return has_come


def _info(state: State, now: float) -> SessionInfo:
    return rules.info_of(
        id=state.session,
        head=state.head,
        chain=bytes.fromhex(state.chain),
        marks=dict(state.marks),
        epoch=state.epoch,
        claim=state.claim,
        meta=state.meta.encode(),
        created=state.created,
        updated=state.updated,
        sealed=bytes.fromhex(state.seal),
        now=now,
        damage=state.damage,
    )
