"""A whole store of sessions: a file per session, replaced whole with every change. It passes both contracts of stores.

agent = suture.Agent("openai:gpt-5", store=FileStore("sessions"))
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

import suture.stores.rules as rules
from suture.stores import Claim, Draft, Entry, SessionInfo, Status
from suture.stores.base import Meta, boundary_of, link, marked, utc


class Kept(msgspec.Struct):
    """A session as its file holds it. `claim` is None when it was released; `ttl` is its lease in seconds."""

    id: str
    created: float
    updated: float
    entries: list[Entry] = []
    marks: dict[str, int] = {}
    meta: bytes = rules.NO_META
    epoch: int = 0
    claim: Claim | None = None
    ttl: float = 0.0

    @property
    def chain(self) -> bytes:
        """The chain value of the last entry."""
        return self.entries[-1].chain if self.entries else b""

    def holds(self, claim: Claim) -> bool:
        """Whether that claim is in force still."""
        return self.claim is not None and self.claim.epoch == claim.epoch


class Counts(msgspec.Struct):
    """What the store knows beside its sessions: how many appends there were, and the last epoch of deleted ones."""

    appends: int = 0
    epoch: int = 0


class FileStore:
    """Sessions in the directory at `path`, which is made when it is not there. For sessions of some hundred entries."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._path.mkdir(exist_ok=True)

    def close(self) -> None:
        """Nothing is open between two calls."""

    # Files ------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else, in whatever thread or process, changes anything."""
        with (self._path / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    def _file(self, session_id: str) -> Path:
        return self._path / f"{hashlib.sha256(session_id.encode()).hexdigest()}.json"

    def _load(self, session_id: str) -> Kept | None:
        try:
            return msgspec.json.decode(self._file(session_id).read_bytes(), type=Kept)
        except FileNotFoundError:
            return None

    def _counts(self) -> Counts:
        try:
            return msgspec.json.decode((self._path / "counts").read_bytes(), type=Counts)
        except FileNotFoundError:
            return Counts()

    def _save(self, path: Path, value: Kept | Counts) -> None:
        """There whole or not at all, and on disk when this returns."""
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(msgspec.json.encode(value))
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
        directory = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    # Appending and reading --------------------------------------------------------------------

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
        with self._alone():
            now = time.time()
            kept = self._load(session_id) or Kept(session_id, now, now)
            rules.require_epoch(session_id, epoch, kept.epoch)
            seqs = {entry.id: entry.seq for entry in kept.entries}
            there = rules.last_of_run([seqs.get(draft.id) for draft in drafts])
            if there is not None:
                return there
            if expect is not None and expect != len(kept.entries):
                raise rules.wrong_head(session_id, len(kept.entries), expect)
            if len({draft.id for draft in drafts} - seqs.keys()) < len(drafts):
                raise rules.ids_taken(session_id, drafts)
            kept.meta = rules.merged_meta(kept.meta, meta)
            for draft in drafts:
                self._add(kept, draft, epoch or 0)
            if epoch is not None and kept.claim is not None:
                kept.claim = msgspec.structs.replace(kept.claim, expires=now + kept.ttl)
            if drafts or meta:
                kept.updated = now
            if drafts or meta or epoch is not None:
                self._save(self._file(session_id), kept)
            if drafts:
                counts = self._counts()
                counts.appends += 1
                self._save(self._path / "counts", counts)
            return len(kept.entries)

    def _add(self, kept: Kept, draft: Draft, epoch: int) -> None:
        seq = len(kept.entries) + 1
        chain = link(kept.chain, kept.id, seq, draft)
        marks = tuple(draft.opens), tuple(draft.closes)
        kept.marks = marked(kept.marks, seq, draft)
        kept.entries.append(Entry(seq, draft.id, draft.kind, draft.at, bytes(draft.body), epoch, *marks, chain))

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, in order; none for an unknown session."""
        kept = self._load(session_id)
        return kept.entries[after:][:limit] if kept is not None else []

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says."""
        with self._alone():
            kept = self._load(session_id)
            if kept is None:
                raise rules.no_such_session(session_id)
            at = next((index for index, entry in enumerate(kept.entries) if entry.id == entry_id), None)
            if at is None:
                raise rules.no_such_entry(session_id, entry_id)
            kept.entries[at] = msgspec.structs.replace(kept.entries[at], body=b"", erased=kept.entries[at].body_hash)
            self._save(self._file(session_id), kept)

    # Sessions ---------------------------------------------------------------------------------

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        kept = self._load(session_id)
        return _info(kept) if kept is not None else None

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
        infos = [_info(msgspec.json.decode(file.read_bytes(), type=Kept)) for file in self._path.glob("*.json")]
        wanted = [info for info in infos if (after is None or info.id > after) and rules.is_listed(info, status, meta)]
        return sorted(wanted, key=lambda info: info.id)[:limit]

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        with self._alone():
            kept = self._load(session_id)
            if kept is not None:
                counts = self._counts()
                counts.epoch = max(counts.epoch, kept.epoch)
                self._save(self._path / "counts", counts)
                self._file(session_id).unlink()

    # Claims -----------------------------------------------------------------------------------

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        rules.require_text(session_id)
        rules.require_lease(ttl)
        with self._alone():
            now = time.time()
            kept = self._load(session_id) or Kept(session_id, now, now)
            rules.require_free(kept.claim, owner, now)
            kept.epoch = max(kept.epoch, self._counts().epoch) + 1
            kept.ttl = ttl
            kept.claim = Claim(session_id, owner, kept.epoch, now + ttl)
            self._save(self._file(session_id), kept)
            return kept.claim

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        rules.require_lease(ttl)
        with self._alone():
            kept = self._load(claim.session_id)
            if kept is None or not kept.holds(claim):
                raise rules.claim_lost(claim)
            kept.ttl = ttl
            kept.claim = msgspec.structs.replace(claim, expires=time.time() + ttl)
            self._save(self._file(claim.session_id), kept)

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        with self._alone():
            kept = self._load(claim.session_id)
            if kept is not None and kept.holds(claim):
                kept.claim = None
                self._save(self._file(claim.session_id), kept)

    # News -------------------------------------------------------------------------------------

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`; for no session, until anything is appended anywhere."""
        deadline = time.monotonic() + timeout
        behind = self._counts().appends if session_id is None else after
        while self._position(session_id) <= behind:
            if time.monotonic() >= deadline:
                return False
            time.sleep(min(0.05, max(0.0, deadline - time.monotonic())))
        return True

    def _position(self, session_id: str | None) -> int:
        if session_id is None:
            return self._counts().appends
        kept = self._load(session_id)
        return len(kept.entries) if kept is not None else 0


def _info(kept: Kept) -> SessionInfo:
    return SessionInfo(
        id=kept.id,
        head=len(kept.entries),
        chain=kept.chain,
        boundary=boundary_of(kept.marks),
        epoch=kept.epoch,
        marks=kept.marks,
        claim=rules.claim_in_force(kept.claim, time.time()),
        meta=rules.meta_of(kept.meta),
        created_at=utc(kept.created),
        updated_at=utc(kept.updated),
    )
