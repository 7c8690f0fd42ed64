"""What somebody may have meant who named a session or an entry that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from suture.errors import SessionNotFound
from suture.stores.base import Store

# A store may hold any number of sessions: so many of the first are looked at, and so many behind each start of the name.
_FIRST, _BEHIND = 500, 20
_MOST = 3


def near(name: str, names: Iterable[str]) -> list[str]:
    """The few of the names that are nearest: it begins them, or differs in case or some letters."""
    known = list(dict.fromkeys(names))
    begun = [one for one in known if name and one.casefold().startswith(name.casefold())]
    by_case = {one.casefold(): one for one in reversed(known)}
    alike = difflib.get_close_matches(name.casefold(), by_case, n=_MOST, cutoff=0.7)
    return list(dict.fromkeys([*begun[:_MOST], *(by_case[one] for one in alike)]))[:_MOST]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence that names them, with a blank before it; nothing where none is near."""
    found = [repr(one) for one in near(name, names)]
    if not found:
        return ""
    return f" Did you mean {' or '.join(filter(None, (', '.join(found[:-1]), found[-1])))}?"


def not_found(store: Store, session_id: str) -> SessionNotFound:
    """The error of a session id that the store does not hold, with those that are near."""
    meant = did_you_mean(session_id, _candidates(store, session_id))
    return SessionNotFound(
        f"The store holds no session {session_id!r}.{meant} `suture sessions --store URL` lists those it has."
    )


def _candidates(store: Store, name: str) -> Iterator[str]:
    """Ids that may be near: those that begin like the name, the longest beginning first, and the first of the store."""
    for length in range(len(name) - 1, 0, -1):
        behind = store.sessions(after=name[:length], limit=_BEHIND)
        yield from (info.id for info in behind)
    yield from (info.id for info in store.sessions(limit=_FIRST))
