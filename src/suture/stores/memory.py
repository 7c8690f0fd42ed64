"""The reference store: what every other store does, with a dict and a lock. It ends with its process.

All that is handed out is a copy, so nothing can be changed here that a database would not let change.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

import suture.stores.rules as rules
from suture.entries import Draft, Entry
from suture.stores.base import Append, Claim, Meta, SessionInfo, Status, link, marked, seal
from suture.stores.shield import Bell, shielded

T = TypeVar("T")


@dataclass
class _Session:
    """What the store knows of one session. `claim` is None when it was released; `ttl` is its lease."""

    id: str
    created: float
    updated: float
    entries: list[Entry] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    meta: bytes = rules.NO_META
    epoch: int = 0
    claim: Claim | None = None
    ttl: float = 0.0
    seal: bytes = b""

    @property
    def chain(self) -> bytes:
        return self.entries[-1].chain if self.entries else b""


class MemoryStore:
    """Sessions of this process only, for tests and for what need not last. Safe to share between threads.

    Under a `key` (16 bytes at least) chains are HMACs, which nobody can forge who does not have it.
    """

    def __init__(self, *, key: bytes | None = None) -> None:
        self.key = rules.usable_key(key)
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()
        self._appended = Bell()
        self._appends = 0
        self._last_deleted_epoch = 0

    def _alone(self, work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """Change the sessions while nobody else does, whole even when interrupted."""

        def locked() -> T:
            with self._lock:
                return work()

        return shielded(locked, undo)

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Append a batch whole, as `Store.append` says."""
        rules.require_text(session_id, drafts)
        return self._alone(lambda: self._append(session_id, drafts, expect, epoch, meta))

    def append_each(self, appends: Sequence[Append]) -> list[int | Exception]:
        """Append what many append, as `Together.append_each` says."""
        return [self._attempt(each) for each in appends]

    def _attempt(self, append: Append) -> int | Exception:
        session_id, drafts, expect, epoch, meta = append
        try:
            return self.append(session_id, drafts, expect=expect, epoch=epoch, meta=meta)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
            return error

    def _append(
        self, session_id: str, drafts: Sequence[Draft], expect: int | None, epoch: int | None, meta: Meta | None
    ) -> int:
        now = time.time()
        session = self._session(session_id, now)
        rules.require_epoch(session_id, epoch, session.epoch)
        there = rules.last_of_run([session.seqs.get(draft.id) for draft in drafts])
        if there is not None:
            return there
        self._require_new(session, drafts, expect)
        session.meta = rules.merged_meta(session.meta, meta)
        self._write(session, drafts, epoch or 0)
        if epoch is not None and session.claim is not None:
            session.claim = msgspec.structs.replace(session.claim, expires=now + session.ttl)
        if drafts or meta:
            self._sessions[session_id] = session
            session.updated = now
        if drafts:
            self._appends += 1
            self._appended.ring()
        return len(session.entries)

    def _session(self, session_id: str, now: float) -> _Session:
        """The session, which this store may go on with, or a new one that is not kept yet."""
        session = self._sessions.get(session_id)
        if session is None:
            return _Session(session_id, now, now, seal=seal(session_id, 0, b"", self.key))
        rules.require_seal(session_id, len(session.entries), session.chain, session.seal, self.key)
        return session

    def _require_new(self, session: _Session, drafts: Sequence[Draft], expect: int | None) -> None:
        if expect is not None and expect != len(session.entries):
            raise rules.wrong_head(session.id, len(session.entries), expect)
        ids = {draft.id for draft in drafts}
        if len(ids) < len(drafts) or not session.seqs.keys().isdisjoint(ids):
            raise rules.ids_taken(session.id, drafts)

    def _write(self, session: _Session, drafts: Sequence[Draft], epoch: int) -> None:
        for draft in drafts:
            seq = len(session.entries) + 1
            chain = link(session.chain, session.id, seq, draft, self.key)
            session.marks = marked(session.marks, seq, draft)
            session.seqs[draft.id] = seq
            marks = tuple(draft.opens), tuple(draft.closes)
            session.entries.append(Entry(seq, draft.id, draft.kind, draft.at, bytes(draft.body), epoch, *marks, chain))
        session.seal = seal(session.id, len(session.entries), session.chain, self.key)

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        start = max(after, 0)
        with self._lock:
            session = self._sessions.get(session_id)
            return session.entries[start : None if limit is None else start + limit] if session else []

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        with self._lock:
            session = self._sessions.get(session_id)
            return _info(session, time.time()) if session else None

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
        with self._lock:
            now = time.time()
            ids = sorted(id for id in self._sessions if after is None or id > after)
            infos = [_info(self._sessions[id], now) for id in ids]
        return [info for info in infos if rules.is_listed(info, status, meta)][:limit]

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        rules.require_text(session_id)
        rules.require_lease(ttl)
        return self._alone(lambda: self._claim(session_id, owner, ttl), undo=self.release)

    def _claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        now = time.time()
        session = self._session(session_id, now)
        rules.require_free(session.claim, owner, now)
        self._sessions[session_id] = session
        session.epoch = (session.epoch or self._last_deleted_epoch) + 1
        session.claim = Claim(session_id, owner, session.epoch, now + ttl)
        session.ttl = ttl
        return session.claim

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        self._alone(lambda: self._renew(claim, ttl))

    def _renew(self, claim: Claim, ttl: float) -> None:
        session = self._held(claim)
        if session is None:
            raise rules.claim_lost(claim)
        session.claim = msgspec.structs.replace(claim, expires=time.time() + ttl)
        session.ttl = ttl

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self._alone(lambda: self._release(claim))

    def _release(self, claim: Claim) -> None:
        session = self._held(claim)
        if session is not None:
            session.claim = None

    def _held(self, claim: Claim) -> _Session | None:
        """The session that this claim still holds."""
        session = self._sessions.get(claim.session_id)
        if session is None or session.claim is None or session.claim.epoch != claim.epoch:
            return None
        return session

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says."""
        self._alone(lambda: self._erase(session_id, entry_id))

    def _erase(self, session_id: str, entry_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is None:
            raise rules.no_such_session(session_id)
        seq = session.seqs.get(entry_id)
        if seq is None:
            raise rules.no_such_entry(session_id, entry_id)
        entry = session.entries[seq - 1]
        if not entry.erased:
            blank = msgspec.structs.replace(entry, body=b"", erased=hashlib.sha256(entry.body).digest())
            session.entries[seq - 1] = blank

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; for no session, until anything is appended anywhere."""
        seen = self._appends

        def has_come() -> bool:
            if session_id is None:
                return self._appends > seen
            session = self._sessions.get(session_id)
            return session is not None and len(session.entries) > after

        return shielded(lambda: self._appended.wait_for(has_come, timeout))

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self._alone(lambda: self._delete(session_id))

    def _delete(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._last_deleted_epoch = max(self._last_deleted_epoch, session.epoch)

    def close(self) -> None:
        """Nothing is held open; the sessions stay until the store is dropped."""


def _info(session: _Session, now: float) -> SessionInfo:
    return rules.info_of(
        id=session.id,
        head=len(session.entries),
        chain=session.chain,
        marks=dict(session.marks),
        epoch=session.epoch,
        claim=session.claim,
        meta=session.meta,
        created=session.created,
        updated=session.updated,
        sealed=session.seal,
        now=now,
    )
