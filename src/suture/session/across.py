"""What waits in all sessions of a store, found by their marks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from suture.entries import MarkKind, split_mark
from suture.errors import Corrupt, SessionNotFound
from suture.session.log import SessionLog
from suture.session.plain import Session
from suture.session.waiting import Approval, StartedCall
from suture.stores.base import SessionInfo, Store, statuses_with
from suture.stores.given import require_store

T = TypeVar("T")

_LOG = logging.getLogger("suture")
_PAGE = 500


def open_approvals(store: Store) -> list[tuple[str, Approval]]:
    """The approvals that wait in all sessions of a store, each with its session's id, in the order of those. A session that
    cannot be read is left out and named in the log `suture`, unless none of those that wait can be.
    """
    return _across(store, "approval", lambda session: [one for one in session.open_approvals() if one.decision is None])


def unknown_outcomes(store: Store) -> list[tuple[str, StartedCall]]:
    """The calls of unknown outcome in all sessions of a store, each with its session's id; else as `open_approvals`."""
    return _across(store, "started", lambda session: session.unknown_outcomes())


def as_read(store: Store, info: SessionInfo) -> SessionInfo:
    """What a listing shows of a session, under the positions that its readers see: of a fork with what it shares. It costs
    a read of the first entry. One that cannot be read is as the store has it.
    """
    try:
        return SessionLog(store, info.id).as_read(info)
    except (Corrupt, SessionNotFound):
        return info


def _across(store: Store, kind: MarkKind, read_one: Callable[[Session], list[T]]) -> list[tuple[str, T]]:
    """What is read of each session that has an open mark of that kind."""
    require_store(store)
    found: list[tuple[str, T]] = []
    refused: list[Corrupt | SessionNotFound] = []
    read = 0
    for id in sorted(set(_marked(store, kind))):
        try:
            found += [(id, item) for item in read_one(Session(store, id))]
            read += 1
        except (Corrupt, SessionNotFound) as error:
            refused.append(error)
    if refused and not read:
        raise refused[0]  # as with a wrong key: nothing found is no answer
    for why in refused:
        _LOG.warning("A session with open calls is left out: %s", why)
    return found


def _marked(store: Store, kind: MarkKind) -> Iterator[str]:
    """The sessions with an open mark of that kind, of those alone whose status allows for one."""
    for status in statuses_with(kind):
        after: str | None = None
        while page := store.sessions(status=status, after=after, limit=_PAGE):
            yield from (info.id for info in page if _has(info, kind))
            after = page[-1].id


def _has(info: SessionInfo, kind: MarkKind) -> bool:
    return any(split_mark(mark)[0] == kind for mark in info.marks)
