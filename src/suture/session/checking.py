"""Reading under a key: what a store hands out is held to its chain before anybody uses it."""

from __future__ import annotations

from suture.entries import Entry
from suture.errors import Corrupt
from suture.session.chains import follows, is_kept_under
from suture.stores.base import Store, key_of, start_of


class CheckedReading:
    """Reads sessions of a store. Of one that is kept under the key of the store each entry must be what was written there
    under the key, behind all that was; of any other nothing is checked.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._key = key_of(store)
        # Whether a session that has entries is kept under the key, which never changes; and how far each was read last.
        self._under_key: dict[str, bool] = {}
        self._ends: dict[str, tuple[int, bytes]] = {}

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """As `Store.read`.

        Raises:
            Corrupt: an entry is not what was written there under the key, or one is missing.
        """
        try:
            return self._read(session_id, max(after, 0), limit)
        except Corrupt:
            if self._ends.pop(session_id, None) is None:
                raise
        # That end may be of a session that was deleted, and another one made under its id.
        return self._read(session_id, max(after, 0), limit)

    def _read(self, session_id: str, after: int, limit: int | None) -> list[Entry]:
        if not self._is_under_key(session_id):
            return self._store.read(session_id, after, limit)
        chain = self._value_at(session_id, after)
        if chain is None:
            entries = self._store.read(session_id, after - 1, None if limit is None else limit + 1)
            if entries and entries[0].seq == after:
                chain = entries.pop(0).chain
        else:
            entries = self._store.read(session_id, after, limit)
        self._require(session_id, after, chain, entries)
        if entries:
            self._ends[session_id] = entries[-1].seq, entries[-1].chain
        return entries

    def _is_under_key(self, session_id: str) -> bool:
        if self._key is None:
            return False
        known = self._under_key.get(session_id)
        if known is None:
            info = self._store.info(session_id)
            known = info is not None and is_kept_under(self._store, info, self._key)
            if info is not None and info.head:
                self._under_key[session_id] = known
        return known

    def _value_at(self, session_id: str, seq: int) -> bytes | None:
        """The chain value at a place; None when it has to be read."""
        if seq == 0:
            return start_of(session_id)
        last, chain = self._ends.get(session_id, (0, b""))
        return chain if last == seq else None

    def _require(self, session_id: str, seq: int, chain: bytes | None, entries: list[Entry]) -> None:
        """Return when the entries follow one another, the first of them behind that place with that value."""
        for entry in entries:
            if chain is None or entry.seq != seq + 1:
                raise _tampered(session_id, seq if chain is None else seq + 1, "is missing")
            if not follows(chain, entry.seq, entry, self._key):
                raise _tampered(session_id, entry.seq, f"({entry.kind}, id {entry.id!r}) is not what was written there")
            seq, chain = entry.seq, entry.chain


def _tampered(session_id: str, seq: int, what: str) -> Corrupt:
    way = f"restore a backup, or go on from before it: fork(at={seq - 1})" if seq > 1 else "restore a backup"
    return Corrupt(
        f"session {session_id!r}: entry {seq} {what}, by the key of the store. Nothing behind it is used. `suture verify` "
        f"says what was done; {way}."
    )
