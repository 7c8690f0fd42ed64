"""Opening a long log where it matters: at the boundary of its last compaction."""

from __future__ import annotations

from typing import NamedTuple

from suture.entries import Compacted, Entry, mark, read
from suture.errors import Corrupt
from suture.replay import State, contradicts_itself
from suture.session.log import SessionLog


class Opening(NamedTuple):
    """What a state begins from: the compaction at `seq`, what it carried, and the entries that it keeps."""

    seq: int
    body: Compacted
    entries: list[Entry]

    def apply(self, state: State) -> None:
        """Take it in; a state whose boundary turns out to be none stays empty, and is read from the beginning."""
        assert self.body.carried is not None
        state.restore(self.body.carried, self.body.first_kept - 1)
        state.fold(self.entries)
        if state.boundary is None or state.boundary.seq != self.seq:
            state.clear()


def opening_of(log: SessionLog) -> Opening | None:
    """Where reading may begin; None when the log has no boundary, or nothing was carried over it."""
    info = log.info()
    if info is None or not info.boundary:
        return None
    seq = info.marks[mark("boundary", str(info.boundary))]
    body = _compacted(log, seq)
    if body is None or body.carried is None or body.first_kept != info.boundary:
        return None
    if contradicts_itself(body.carried, body.first_kept - 1):
        return None
    return Opening(seq, body, log.read(after=body.first_kept - 1))


def _compacted(log: SessionLog, seq: int) -> Compacted | None:
    entries = log.read(after=seq - 1, limit=1)
    try:
        body = read(entries[0]) if entries and not entries[0].erased else None
    except Corrupt:
        return None
    return body if isinstance(body, Compacted) else None
