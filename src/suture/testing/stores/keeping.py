"""What is appended comes back as it was, in its order, and belongs to the store alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from suture.entries import MAX_BODY
from suture.errors import Conflict, Fenced, StoreError
from suture.stores import Draft, Entry, Store
from suture.stores.base import key_of, link
from suture.testing.stores.ground import ELSEWHERE, ODD_IDS, Ground, drafts, ids_of


class Keeping(Ground):
    """The promises about a log: read as it was written."""

    def test_it_is_a_store(self, store: Store) -> None:
        """The object has every method of the protocol."""
        assert isinstance(store, Store)

    def test_closing_twice(self, tmp_path: Path) -> None:
        """A store can be closed again."""
        store = self.open(tmp_path)
        store.append("s", drafts("1"))
        store.close()
        store.close()

    def test_seqs_start_at_one_and_have_no_gap(self, store: Store) -> None:
        """A batch gets the next positions; its last seq is returned."""
        assert store.append("s", drafts("1")) == 1
        assert store.append("s", drafts("2", "3", "4")) == 4
        assert store.append("s", drafts("5")) == 5
        assert [entry.seq for entry in store.read("s")] == [1, 2, 3, 4, 5]
        assert ids_of(store.read("s")) == ["1", "2", "3", "4", "5"]

    def test_an_entry_comes_back_as_it_was_written(self, store: Store, other: Store) -> None:
        """All that the writer said is kept, and the entry carries its chain value."""
        draft = Draft("id", "kind", "2026-01-02T03:04:05Z", b'{"a":1}', ("open:1", "open:2"), ("shut:1",))
        store.append("s", [draft])
        [entry] = other.read("s")
        chain = link(b"", "s", 1, entry, key_of(store))
        expected = Entry(
            1, draft.id, draft.kind, draft.at, draft.body, 0, draft.opens, draft.closes, chain, b"", entry.sealed
        )
        assert entry == expected

    def test_read_takes_a_part(self, store: Store) -> None:
        """`after` leaves out what was seen, `limit` bounds the answer."""
        store.append("s", drafts("1", "2", "3", "4"))
        assert ids_of(store.read("s", after=2)) == ["3", "4"]
        assert ids_of(store.read("s", after=1, limit=2)) == ["2", "3"]
        assert ids_of(store.read("s", limit=1)) == ["1"]
        assert store.read("s", limit=0) == []
        assert store.read("s", after=4) == []
        assert store.read("s", after=400) == []

    def test_an_unknown_session_has_nothing(self, store: Store) -> None:
        """Reading, asking for and deleting a session that is not there makes none."""
        assert store.read("nobody") == []
        assert store.info("nobody") is None
        store.delete("nobody")
        assert store.news("nobody", 0, 0) is False
        assert store.sessions() == []

    def test_an_empty_batch_returns_the_head(self, store: Store) -> None:
        """Appending nothing writes nothing, but checks what it is asked to check."""
        assert store.append("s", []) == 0
        assert store.info("s") is None
        store.append("s", drafts("1", "2"))
        assert store.append("s", []) == 2
        assert store.append("s", [], expect=2) == 2
        with pytest.raises(Conflict):
            store.append("s", [], expect=1)
        with pytest.raises(Fenced):
            store.append("s", [], epoch=1)

    def test_sessions_are_apart(self, store: Store) -> None:
        """The same entry ids and positions in two sessions are different entries."""
        store.append("a", drafts("1", body=b"a"))
        store.append("b", drafts("1", body=b"b"))
        assert [store.read(id)[0].body for id in "ab"] == [b"a", b"b"]
        assert [store.info(id).head for id in "ab" if store.info(id)] == [1, 1]  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "body",
        [b"", b"\0", b"\xff\xfe\xc3", b"\r\n\n", b'{"a":1}', bytes(range(256)), b"x" * 5_000_000],
        ids=["empty", "nul", "no utf-8", "line ends", "json", "all bytes", "5 MB"],
    )
    def test_bodies_are_opaque(self, store: Store, other: Store, body: bytes) -> None:
        """A body comes back byte for byte, whatever it holds."""
        store.append("s", drafts("1", body=body))
        assert other.read("s")[0].body == body

    def test_ids_are_opaque(self, store: Store, other: Store) -> None:
        """Odd session and entry ids are kept as they are, and no two are taken for one."""
        for id in ODD_IDS:
            store.append(id, drafts(id, body=id.encode(), opens=[f"inbox:{id}"]))
        for id in ODD_IDS:
            assert [(entry.id, entry.body) for entry in other.read(id)] == [(id, id.encode())]
            info = other.info(id)
            assert info is not None
            assert (info.id, info.marks) == (id, {f"inbox:{id}": 1})
        assert [info.id for info in other.sessions()] == sorted(ODD_IDS)

    def test_half_a_surrogate_pair_is_refused(self, store: Store) -> None:
        """Text that is no Unicode is refused whole, since not every store could keep it."""
        for id, batch in (("\ud800", drafts("1")), ("s", drafts("\udfff")), ("s", drafts("1", opens=["inbox:\ud800"]))):
            with pytest.raises(StoreError):
                store.append(id, batch)
        with pytest.raises(StoreError):
            store.claim("\ud800", ELSEWHERE, 30)
        assert store.sessions() == []

    def test_a_body_that_is_too_large_is_refused(self, store: Store) -> None:
        """One byte more than an entry holds, and nothing of the batch is written."""
        with pytest.raises(StoreError, match="Nothing was written"):
            store.append("s", [*drafts("1"), *drafts("2", body=b"x" * (MAX_BODY + 1))])
        assert store.read("s") == []

    def test_what_is_handed_out_is_a_copy(self, store: Store) -> None:
        """Changing what the store returned changes nothing in the store."""
        store.append("s", drafts("1", opens=["inbox:1"]), meta={"list": [1]})
        store.read("s").clear()
        info = store.info("s")
        assert info is not None
        info.marks.clear()
        info.meta["list"].append(2)  # type: ignore[attr-defined]
        again = store.info("s")
        assert again is not None
        assert (len(store.read("s")), again.marks, again.meta) == (1, {"inbox:1": 1}, {"list": [1]})

    def test_what_was_given_is_copied(self, store: Store) -> None:
        """Changing what was appended, afterwards, changes nothing in the store."""
        batch, tags = drafts("1"), ["a"]
        store.append("s", batch, meta={"tags": tags})
        batch.clear()
        tags.append("b")
        info = store.info("s")
        assert info is not None
        assert (info.head, info.meta) == (1, {"tags": ["a"]})

    def test_what_was_appended_outlives_the_handle(self, tmp_path: Path) -> None:
        """A durable store, opened again, knows all."""
        first = self.open(tmp_path)
        first.append("s", drafts("1", "2", opens=["run:1"]), meta={"a": 1})
        first.claim("s", ELSEWHERE, 300)
        entries, info = first.read("s"), first.info("s")
        if self.durable:
            first.close()
        second = self.open(tmp_path) if self.durable else first
        assert (second.read("s"), second.info("s")) == (entries, info)
        second.close()
