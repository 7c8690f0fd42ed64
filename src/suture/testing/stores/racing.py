"""Writers that know too little, repeat themselves or come at once: what is refused, and what is lost, which is nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from suture.errors import Conflict, Fenced, NotJson, StoreError
from suture.stores import Store
from suture.stores.base import Append, Together
from suture.testing.stores.ground import ELSEWHERE, Ground, at_once, drafts, ids_of


class Racing(Ground):
    """The promises about conflicts, repeats and threads; `appends` as `StoreContract` says."""

    appends = 50

    def test_expect_is_the_head_that_was_seen(self, store: Store, other: Store) -> None:
        """A writer that has not seen the last entry is refused, and nothing of its batch is written."""
        assert store.append("s", drafts("1"), expect=0) == 1
        assert other.append("s", drafts("2"), expect=1) == 2
        for head in (0, 1, 3):
            with pytest.raises(Conflict):
                store.append("s", drafts("new", "newer"), expect=head, meta={"a": 1})
        info = store.info("s")
        assert info is not None
        assert (info.head, info.meta) == (2, {})
        assert store.append("s", drafts("3"), expect=2) == 3

    def test_a_repeat_is_not_written_again(self, store: Store, other: Store) -> None:
        """A batch whose outcome was unknown may be sent again: its first positions stand."""
        store.append("s", drafts("1", "2", opens=["inbox:1"]))
        store.append("s", drafts("3", closes=["inbox:1"]))
        before = store.read("s"), store.info("s")
        assert other.append("s", drafts("1", "2", opens=["inbox:1"])) == 2
        assert other.append("s", drafts("3")) == 3
        assert other.append("s", drafts("2")) == 2
        assert other.append("s", drafts("1", "2"), expect=0) == 2
        assert (store.read("s"), store.info("s")) == before

    def test_ids_that_are_taken_in_part_conflict(self, store: Store) -> None:
        """A batch that is there in part, in another order or with others between is refused whole."""
        store.append("s", drafts("1", "2", "3"))
        before = store.read("s"), store.info("s")
        for ids in (["3", "4"], ["4", "3"], ["2", "1"], ["1", "3"], ["4", "4"]):
            with pytest.raises(Conflict):
                store.append("s", drafts(*ids, opens=["inbox:x"]))
        assert (store.read("s"), store.info("s")) == before

    def test_a_refused_batch_makes_no_session(self, store: Store) -> None:
        """What is refused leaves nothing behind."""
        with pytest.raises(Conflict):
            store.append("s", drafts("1"), expect=1)
        with pytest.raises(Conflict):
            store.append("s", drafts("1", "1"))
        for epoch in (-1, 0, 1):
            with pytest.raises(Fenced):
                store.append("s", drafts("1"), epoch=epoch)
        with pytest.raises(NotJson):
            store.append("s", drafts("1"), meta={"a": b"bytes"})
        assert store.info("s") is None
        assert store.sessions() == []

    def test_only_one_of_many_wins(self, store: Store, other: Store) -> None:
        """Of writers that expect the same head, one appends and all others are told."""

        def attempt(index: int) -> bool:
            try:
                (store if index % 2 else other).append("s", drafts(str(index)), expect=0)
            except Conflict:
                return False
            return True

        assert sum(at_once(attempt, 8)) == 1
        assert len(store.read("s")) == 1

    def test_threads_lose_nothing(self, store: Store, other: Store) -> None:
        """Eight threads append to one session and to one of their own: no gap, nothing lost, batches whole."""

        def write(thread: int) -> None:
            for index in range(self.appends):
                mine = store if thread % 2 else other
                mine.append("shared", drafts(f"{thread}-{index}-a", f"{thread}-{index}-b"))
                mine.append(f"own-{thread}", drafts(str(index)))

        at_once(write, 8)
        shared = store.read("shared")
        assert [entry.seq for entry in shared] == list(range(1, 16 * self.appends + 1))
        assert sorted(ids_of(shared)) == sorted(
            f"{t}-{i}-{half}" for t in range(8) for i in range(self.appends) for half in "ab"
        )
        assert all(b.id == f"{a.id[:-1]}b" for a, b in pairwise(shared) if a.id.endswith("a"))
        for thread in range(8):
            assert ids_of(store.read(f"own-{thread}")) == [str(index) for index in range(self.appends)]

    def test_a_refusal_refuses_itself_only(self, store: Store) -> None:
        """Threads that are refused do not take their neighbours with them."""
        store.append("s", drafts("first"))

        def write(thread: int) -> None:
            for index in range(20):
                if thread % 2:
                    with pytest.raises(Conflict):
                        store.append("s", drafts(f"{thread}-{index}", "first"))
                else:
                    store.append("s", drafts(f"{thread}-{index}"))

        at_once(write, 8)
        wanted = {f"{thread}-{index}" for thread in range(0, 8, 2) for index in range(20)} | {"first"}
        assert set(ids_of(store.read("s"))) == wanted

    def test_each_of_many_appends_counts_alone(self, store: Store, other: Store) -> None:
        """A store that commits many appends together answers each as if it had come by itself, in their order."""
        assert isinstance(store, Together) is self.together, "`together` of the test class says whether it does"
        if not isinstance(store, Together):
            return  # each is one already
        assert store.append_each([]) == []
        claim = store.claim("claimed", ELSEWHERE, 60)
        answers = store.append_each(
            [
                Append("s", drafts("1")),
                Append("s", drafts("2", "3"), expect=1),
                Append("s", drafts("4"), expect=1),
                Append("s", drafts("2", "3")),
                Append("s", drafts("3", "5")),
                Append("half \ud800", drafts("6")),
                Append("claimed", drafts("7"), epoch=claim.epoch),
                Append("claimed", drafts("8"), epoch=claim.epoch + 1),
                Append("other", drafts("9"), meta={"user": "7"}),
                Append("s", drafts("10")),
            ]
        )
        told = [answer if isinstance(answer, int) else type(answer) for answer in answers]
        assert told == [1, 3, Conflict, 3, Conflict, StoreError, 1, Fenced, 1, 4]
        assert ids_of(other.read("s")) == ["1", "2", "3", "10"]
        assert ids_of(other.read("claimed")) == ["7"]
        info = other.info("other")
        assert info is not None
        assert info.meta == {"user": "7"}
