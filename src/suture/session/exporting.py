"""The whole conversation of a session, what a compaction hides among it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from suture.entries import Entry
from suture.messages import Message
from suture.replay import State
from suture.session.log import SessionLog

_PAGE = 1_000


def whole_conversation(log: SessionLog) -> tuple[Message, ...]:
    """What may be sent of the log if nothing had ever been summarised."""
    state = State()
    while entries := log.read(after=state.head, limit=_PAGE):
        state.fold(_without_summaries(entries))
    return state.request()


def _without_summaries(entries: list[Entry]) -> Iterator[Entry]:
    """The entries, a compaction as one of a kind that says nothing."""
    for entry in entries:
        is_summary = entry.kind == "compaction"
        yield msgspec.structs.replace(entry, kind="left out", opens=(), closes=()) if is_summary else entry
