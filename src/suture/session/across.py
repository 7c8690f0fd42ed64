"""What waits in all sessions of a store, found by their marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from suture.session.plain import Session
from suture.session.waiting import Approval, StartedCall
from suture.stores.base import Store

T = TypeVar("T")


def open_approvals(store: Store) -> list[tuple[str, Approval]]:
    """The approvals that wait in all sessions of a store, each with its session's id."""
    return _across(store, "approval:", lambda session: [one for one in session.open_approvals() if one.decision is None])


def unknown_outcomes(store: Store) -> list[tuple[str, StartedCall]]:
    """The calls of unknown outcome in all sessions of a store, each with its session's id."""
    return _across(store, "started:", lambda session: session.unknown_outcomes())


def _across(store: Store, prefix: str, read_one: Callable[[Session], list[T]]) -> list[tuple[str, T]]:
    """What is read of each session that has an open mark of that kind."""
    found: list[tuple[str, T]] = []
    after: str | None = None
    while page := store.sessions(after=after, limit=500):
        for info in page:
            if any(one.startswith(prefix) for one in info.marks):
                found += [(info.id, item) for item in read_one(Session(store, info.id))]
        after = page[-1].id
    return found
