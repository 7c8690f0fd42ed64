"""What waits in all sessions of a store, found by their marks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from suture.entries import MarkKind, split_mark
from suture.errors import Corrupt, SessionNotFound
from suture.session.plain import Session
from suture.session.waiting import Approval, StartedCall
from suture.stores.base import Store

T = TypeVar("T")

_LOG = logging.getLogger("suture")


def open_approvals(store: Store) -> list[tuple[str, Approval]]:
    """The approvals that wait in all sessions of a store, each with its session's id. A session that cannot be read is left
    out and named in the log `suture`, unless none of those that wait can be.
    """
    return _across(store, "approval", lambda session: [one for one in session.open_approvals() if one.decision is None])


def unknown_outcomes(store: Store) -> list[tuple[str, StartedCall]]:
    """The calls of unknown outcome in all sessions of a store, each with its session's id; else as `open_approvals`."""
    return _across(store, "started", lambda session: session.unknown_outcomes())


def _across(store: Store, kind: MarkKind, read_one: Callable[[Session], list[T]]) -> list[tuple[str, T]]:
    """What is read of each session that has an open mark of that kind."""
    found: list[tuple[str, T]] = []
    refused: list[Corrupt | SessionNotFound] = []
    read = 0
    after: str | None = None
    while page := store.sessions(after=after, limit=500):
        for info in page:
            if not any(split_mark(one)[0] == kind for one in info.marks):
                continue
            try:
                found += [(info.id, item) for item in read_one(Session(store, info.id))]
                read += 1
            except (Corrupt, SessionNotFound) as error:
                refused.append(error)
        after = page[-1].id
    if refused and not read:
        raise refused[0]  # as with a wrong key: nothing found is no answer
    for why in refused:
        _LOG.warning("A session with open calls is left out: %s", why)
    return found
