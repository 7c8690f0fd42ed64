"""A store whose runner can die: from then on nothing of it reaches the store any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from suture.entries import Draft, Entry
from suture.errors import StoreError
from suture.stores.base import Claim, Meta, SessionInfo, Status, Store


class Died(BaseException):
    """The process ends here. No code of suture catches it by name."""


class Dead(StoreError):
    """The dead do not write."""


class Acknowledged(msgspec.Struct, frozen=True):
    """An entry of which an append said that it stands, and where."""

    session_id: str
    seq: int
    draft: Draft


def assert_stand(entries: Iterable[Entry], acknowledged: Iterable[Acknowledged]) -> None:
    """Each acknowledged entry stands where it was said to, unchanged."""
    by_seq = {entry.seq: entry for entry in entries}
    for one in acknowledged:
        entry, draft = by_seq[one.seq], one.draft
        assert (entry.id, entry.kind, entry.at, entry.body) == (draft.id, draft.kind, draft.at, draft.body)
        assert (entry.opens, entry.closes) == (draft.opens, draft.closes)


class Mortal:
    """Passes everything on to a real store until `die`; then refuses everything. Each entry that an append
    acknowledged is handed to `keep`.
    """

    def __init__(self, inner: Store, keep: Callable[[Acknowledged], object]) -> None:
        self.inner = inner
        self.keep = keep
        self.is_dead = False

    def die(self) -> None:
        self.is_dead = True

    @property
    def _alive(self) -> Store:
        if self.is_dead:
            raise Dead
        return self.inner

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        last = self._alive.append(session_id, drafts, expect=expect, epoch=epoch, meta=meta)
        first = last - len(drafts) + 1
        for seq, draft in enumerate(drafts, first):
            self.keep(Acknowledged(session_id, seq, draft))
        return last

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self._alive.read(session_id, after, limit)

    def info(self, session_id: str) -> SessionInfo | None:
        return self._alive.info(session_id)

    def sessions(
        self, *, status: Status | None = None, meta: Meta | None = None, after: str | None = None, limit: int = 100
    ) -> list[SessionInfo]:
        return self._alive.sessions(status=status, meta=meta, after=after, limit=limit)

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        return self._alive.claim(session_id, owner, ttl)

    def renew(self, claim: Claim, ttl: float) -> None:
        self._alive.renew(claim, ttl)

    def release(self, claim: Claim) -> None:
        self._alive.release(claim)

    def erase(self, session_id: str, entry_id: str) -> None:
        self._alive.erase(session_id, entry_id)

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        return self._alive.news(session_id, after, timeout)

    def delete(self, session_id: str) -> None:
        self._alive.delete(session_id)

    def close(self) -> None:
        self._alive.close()
