"""Whether a session's log is as it was written, with all that it shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from suture.entries import Entry, Fork
from suture.errors import Corrupt
from suture.session.chains import Problem, Walk, follows, is_kept_under, walk
from suture.session.log import origin_of
from suture.session.near import not_found
from suture.stores.base import KEY_ID, SessionInfo, Store, innermost, key_id, key_of, seal, start_of
from suture.stores.given import require_store
from suture.stores.rules import wrong_key

Watch = Callable[[int, int], object]


@dataclass(frozen=True)
class Verified:
    """What `verify` found of a session.

    `entries` is how many follow from one another, those shared with a parent among them; `erased` is how many of them have
    no body any more. `head` and `chain` (in hex) are where the log ends: kept elsewhere, they tell later whether it was put
    back to an older state as a whole, which nothing inside of a store can tell. `keyed` says that the chain is under a key;
    without one it shows accidents and naive edits. `problem` is the first that is wrong, None when nothing is. `damage` is
    what the store could not read, as (position, what).
    """

    session: str
    entries: int
    erased: int
    head: int
    chain: str
    keyed: bool
    problem: Problem | None = None
    damage: tuple[tuple[int, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None and not self.damage


def verify(store: Store, session_id: str, watch: Watch | None = None) -> Verified:
    """Walk the chain of a session and name the first entry that was changed, removed, put in another order, forged or moved
    from another session; tell a log that was cut from one that ends.

    Erased bodies are no problem, and counted. What a fork shares is walked as well. It reads in pages; `watch(done, total)`
    is told how many entries were walked.

    Raises:
        SessionNotFound: there is no such session.
        WrongKey: it is kept under a key that the store was not opened with, or the store has one and it has none.
    """
    require_store(store)
    info = store.info(session_id)
    if info is None:
        raise not_found(store, session_id)
    return _Verifying(store, watch or (lambda _done, _total: None)).verified(info)


class _Shared(NamedTuple):
    entries: int = 0
    erased: int = 0
    problem: Problem | None = None


class _Verifying:
    """One look at a session of a store; chains are over what is kept, whatever form `store` gives it."""

    def __init__(self, store: Store, told: Watch) -> None:
        self._store = store
        self._kept = innermost(store)
        self._key = key_of(store)
        self._told = told

    def verified(self, info: SessionInfo) -> Verified:
        """What is found of that session."""
        self._require_key(info)
        own = walk(self._kept, info.id, info.head, self._key, lambda done: self._told(done, info.head))
        problem = own.problem or self._at_the_end(info, own)
        shared = _Shared() if problem is not None else self._shared(info)
        return Verified(
            session=info.id,
            entries=own.length + shared.entries,
            erased=own.erased + shared.erased,
            head=info.head,
            chain=info.chain.hex(),
            keyed=self._key is not None,
            problem=problem or shared.problem,
            damage=tuple(info.damage),
        )

    def _require_key(self, info: SessionInfo) -> None:
        """Return when the session is kept under the key, or seems to be."""
        if not is_kept_under(self._kept, info, self._key):
            raise wrong_key(info.id, info.seal, self._key)

    def _at_the_end(self, info: SessionInfo, own: Walk) -> Problem | None:
        """What is wrong with the end of a chain that holds, going by what the session's row says of it."""
        at = own.length
        is_sealed = info.seal == seal(info.id, info.head, info.chain, self._key)
        if at < info.head:
            missing = f"entry {info.head} of it is" if at + 1 == info.head else f"entries {at + 1} to {info.head} of it are"
            return _cut(info, at, f"the log was cut: {missing} missing{'' if is_sealed else ', or its row was changed'}")
        if not is_sealed:
            why = "the session's row does not say under the key where the log ends"
            return _cut(info, at, f"{why}: it was cut behind entry {at}, or its row was changed")
        if own.chain != info.chain:
            return Problem("forged", info.id, at, None, f"entry {at} is not the one that was written last: it was replaced")
        return self._behind_the_end(info, own)

    def _behind_the_end(self, info: SessionInfo, own: Walk) -> Problem | None:
        at = own.length
        behind = next(iter(self._kept.read(info.id, at, 1)), None)
        now = self._store.info(info.id)
        if behind is None or (now is not None and now.head > at):  # somebody has gone on meanwhile
            return None
        if follows(own.chain or start_of(info.id), at + 1, behind, self._key):
            return _cut(info, at, f"the session's row ends the log at {at}, and it goes on behind that")
        return Problem("forged", info.id, behind.seq, behind.id, f"entry {behind.seq} was put behind the end of the log")

    # What is shared ---------------------------------------------------------------------------

    def _shared(self, own: SessionInfo) -> _Shared:
        """The chains of all that a fork shares, each held to the value that the fork was written behind."""
        entries = erased = 0
        child, fork = own.id, self._origin(own.id)
        while fork is not None:
            info = self._store.info(fork.parent)
            if info is None:
                sentence = f"session {fork.parent!r}, whose past up to {fork.at} {child!r} shares, is gone"
                return _Shared(entries, erased, Problem("removed", fork.parent, 1, None, sentence))
            if info.seal and info.seal[:KEY_ID] != key_id(self._key):
                raise wrong_key(fork.parent, info.seal, self._key)
            earlier = self._origin(fork.parent)
            found = self._stretch(child, fork, earlier, info, own.head + entries)
            entries, erased = entries + found.length, erased + found.erased
            if found.problem is not None:
                return _Shared(entries, erased, found.problem)
            child, fork = fork.parent, earlier
        return _Shared(entries, erased)

    def _stretch(self, child: str, fork: Fork, earlier: Fork | None, info: SessionInfo, done: int) -> Walk:
        upto = fork.at - (earlier.at if earlier is not None else 0)
        if upto < 1:
            raise Corrupt(f"session {child!r} shares entries of {info.id!r} that this does not hold.")
        key = self._key if info.seal else None
        found = walk(self._kept, info.id, upto, key, lambda walked: self._told(done + walked, done + upto))
        if found.problem is not None:
            return found
        if found.length < upto:
            sentence = f"the log was cut: {child!r} shares {upto} of its entries, and {found.length} are there"
            return found._replace(problem=_cut(info, found.length, sentence))
        if found.chain.hex() != fork.chain:
            sentence = f"the entries up to {upto} are not those that {child!r} was forked off: they were all written anew"
            return found._replace(problem=Problem("forged", info.id, upto, None, sentence))
        return found

    def _origin(self, session_id: str) -> Fork | None:
        first = _first(self._store, session_id)
        return None if first is None else origin_of(session_id, first)


def _first(store: Store, session_id: str) -> Entry | None:
    return next(iter(store.read(session_id, 0, 1)), None)


def _cut(info: SessionInfo, at: int, sentence: str) -> Problem:
    return Problem("cut", info.id, at + 1, None, sentence)
