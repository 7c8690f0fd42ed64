"""Each entry is bound to all before it, the end is sealed, and an erased body leaves its hash."""

from __future__ import annotations

import pytest

from suture.errors import SessionNotFound
from suture.stores import Store
from suture.stores.base import key_of, link, seal
from suture.testing.stores.ground import ELSEWHERE, Ground, drafts


class Chaining(Ground):
    """The promises about chain, seal and erasing."""

    def test_the_chain_can_be_recomputed(self, store: Store, other: Store) -> None:
        """Each entry's chain value binds it to all before it, from the session's id on."""
        store.append("s", drafts("1", "2", opens=["run:1"]))
        store.append("s", drafts("3", body=b"\xff", closes=["run:1"]), meta={"a": 1})
        chain = b""
        for entry in other.read("s"):
            chain = link(chain, "s", entry.seq, entry, key_of(store))
            assert entry.chain == chain
        info = other.info("s")
        assert info is not None
        assert (info.chain, info.seal) == (chain, seal("s", 3, chain, key_of(store)))

    def test_the_end_is_sealed_from_the_beginning(self, store: Store, other: Store) -> None:
        """Where there is a key, a session holds a seal of its end before anything is appended, and behind each append."""
        store.claim("s", ELSEWHERE, 30)
        store.append("t", [], meta={"a": 1})
        for id in "st":
            info = other.info(id)
            assert info is not None
            assert info.seal == seal(id, 0, b"", key_of(store))
            assert store.append(id, drafts("1")) == 1

    def test_erasing_leaves_the_hash(self, store: Store, other: Store) -> None:
        """An erased body is gone, its hash stands in its place, and the chain still holds."""
        store.append("s", drafts("1", "2", "3", body=b"secret", opens=["inbox:1"]))
        before, info = store.read("s"), store.info("s")
        other.erase("s", "2")
        other.erase("s", "2")
        after = store.read("s")
        hashes = [entry.erased for entry in after]
        assert [entry.body for entry in after] == [b"secret", b"", b"secret"]
        assert [bool(hash) for hash in hashes] == [False, True, False]
        assert [entry.chain for entry in after] == [entry.chain for entry in before]
        assert link(after[0].chain, "s", 2, after[1], key_of(store)) == after[1].chain
        now = store.info("s")
        assert now is not None
        assert info is not None
        assert (now.head, now.chain, now.marks) == (info.head, info.chain, info.marks)
        assert store.append("s", drafts("4")) == 4

    def test_erasing_an_empty_body(self, store: Store) -> None:
        """An erased entry can be told from one that was empty."""
        store.append("s", drafts("1", "2", body=b""))
        store.erase("s", "1")
        assert [bool(entry.erased) for entry in store.read("s")] == [True, False]

    def test_erasing_what_is_not_there(self, store: Store) -> None:
        """Erasing needs a session, and an entry in it."""
        with pytest.raises(SessionNotFound):
            store.erase("s", "1")
        store.append("s", drafts("1"))
        with pytest.raises(SessionNotFound):
            store.erase("s", "2")
