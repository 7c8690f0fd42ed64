"""The contract of a store as a test class: a store that passes it keeps every promise of `suture.stores.Store`.

class TestMine(StoreContract):
    def open(self, tmp_path):
        return MyStore(tmp_path / "sessions")
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest

from suture.entries import MAX_BODY
from suture.errors import ConfigurationError, Conflict, Fenced, NotJson, SessionBusy, SessionNotFound, StoreError
from suture.stores import Claim, Draft, Entry, Store
from suture.stores.base import Append, Status, Together, key_of, link, seal
from suture.stores.owner import this_owner

T = TypeVar("T")

ELSEWHERE = "another-boot:1:2:3:nonce"
"""An owner on another machine: never provably dead from here."""

ODD_IDS = (
    "plain",
    "Plain",
    "PLAIN",
    "a/b",
    "a-b",
    "a_b",
    "a%2Fb",
    "",
    " ",
    ".",
    "..",
    "../up",
    "line\nbreak",
    "nul\0inside",
    "ünï😀",
    "u\u0308",
    "ü",
    "x" * 200,
    "x" * 199,
    "'; DROP TABLE sessions; --",
)
"""Session ids that a careless store mixes up, cuts short or cannot keep."""


def drafts(*ids: str, body: bytes = b"{}", opens: Sequence[str] = (), closes: Sequence[str] = ()) -> list[Draft]:
    """One draft per id, all else alike."""
    return [Draft(id, "note", "2026-01-02T03:04:05.000Z", body, tuple(opens), tuple(closes)) for id in ids]


def a_dead_owner() -> str:
    """The owner text of a process of this machine that has ended."""
    code = "from suture.stores.owner import this_owner; print(this_owner())"
    path = os.pathsep.join(part for part in sys.path if part)
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return child.stdout.strip()


def ids_of(entries: Sequence[Entry]) -> list[str]:
    """The ids of the entries, in their order."""
    return [entry.id for entry in entries]


class StoreContract:
    """Every promise of the protocol as a test. Inherit it and say how to open the store.

    Attributes:
        durable: whether a second `open` of the same `tmp_path` sees what the first wrote.
        appends: how often each of eight threads appends to a session that they share, and to one of its own.
    """

    durable = True
    appends = 50

    def open(self, tmp_path: Path) -> Store:
        """The store to be tested, kept below `tmp_path`. A durable one is opened there several times at once."""
        raise NotImplementedError("say in your test class how the store is opened")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An empty store."""
        store = self.open(tmp_path)
        yield store
        store.close()

    @pytest.fixture
    def other(self, store: Store, tmp_path: Path) -> Iterator[Store]:
        """A second handle on the data of `store`; the same one where nothing is durable."""
        other = self.open(tmp_path) if self.durable else store
        yield other
        other.close()

    # Shape ------------------------------------------------------------------------------------

    def test_it_is_a_store(self, store: Store) -> None:
        """The object has every method of the protocol."""
        assert isinstance(store, Store)

    def test_closing_twice(self, tmp_path: Path) -> None:
        """A store can be closed again."""
        store = self.open(tmp_path)
        store.append("s", drafts("1"))
        store.close()
        store.close()

    # Appending and reading --------------------------------------------------------------------

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

    # Conflicts and repeats --------------------------------------------------------------------

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

        assert sum(_at_once(attempt, 8)) == 1
        assert len(store.read("s")) == 1

    def test_threads_lose_nothing(self, store: Store, other: Store) -> None:
        """Eight threads append to one session and to one of their own: no gap, nothing lost, batches whole."""

        def write(thread: int) -> None:
            for index in range(self.appends):
                mine = store if thread % 2 else other
                mine.append("shared", drafts(f"{thread}-{index}-a", f"{thread}-{index}-b"))
                mine.append(f"own-{thread}", drafts(str(index)))

        _at_once(write, 8)
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

        _at_once(write, 8)
        wanted = {f"{thread}-{index}" for thread in range(0, 8, 2) for index in range(20)} | {"first"}
        assert set(ids_of(store.read("s"))) == wanted

    def test_each_of_many_appends_counts_alone(self, store: Store, other: Store) -> None:
        """A store that commits many appends together answers each as if it had come by itself, in their order."""
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

    # Chain ------------------------------------------------------------------------------------

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

    # Marks and meta ---------------------------------------------------------------------------

    def test_marks_open_and_close(self, store: Store, other: Store) -> None:
        """A store knows the open marks and where each was opened; an entry closes first, then opens."""
        steps: list[tuple[list[str], list[str], dict[str, int]]] = [
            (["approval:1:0", "run:a"], [], {"approval:1:0": 1, "run:a": 1}),
            (["decided:1:0"], ["approval:1:0"], {"run:a": 1, "decided:1:0": 2}),
            (["run:a"], ["run:a", "never:opened"], {"run:a": 3, "decided:1:0": 2}),
            (["decided:1:0"], [], {"run:a": 3, "decided:1:0": 4}),
            ([], ["decided:1:0", "run:a"], {}),
        ]
        for index, (opens, closes, expected) in enumerate(steps):
            store.append("s", drafts(str(index), opens=opens, closes=closes))
            info = other.info("s")
            assert info is not None
            assert info.marks == expected

    def test_marks_within_a_batch(self, store: Store) -> None:
        """What one entry of a batch opens, a later one can close."""
        batch = drafts("1", opens=["inbox:a", "inbox:b"]) + drafts("2", opens=["run:r"], closes=["inbox:a"])
        store.append("s", batch)
        info = store.info("s")
        assert info is not None
        assert info.marks == {"inbox:b": 1, "run:r": 2}

    def test_the_boundary_is_that_of_the_last_compaction(self, store: Store) -> None:
        """The store names the first kept seq without reading a body."""
        store.append("s", drafts("1", "2", "3"))
        store.append("s", drafts("4", opens=["boundary:2"]))
        store.append("s", drafts("5", opens=["boundary:4"], closes=["boundary:2"]))
        info = store.info("s")
        assert info is not None
        assert (info.boundary, info.marks) == (4, {"boundary:4": 5})

    def test_meta_merges(self, store: Store, other: Store) -> None:
        """Meta given with an append adds to what was there; None removes a key."""
        store.append("s", [], meta={"name": "Ada", "n": 1, "f": 1.0, "deep": {"x": [None, True]}})
        other.append("s", drafts("1"), meta={"n": 2, "big": 2**70, "text": "ü\n"})
        store.append("s", [], meta={"name": None, "never": None})
        info = other.info("s")
        assert info is not None
        assert info.meta == {"n": 2, "f": 1.0, "deep": {"x": [None, True]}, "big": 2**70, "text": "ü\n"}
        assert isinstance(info.meta["f"], float)
        assert info.head == 1

    # Sessions ---------------------------------------------------------------------------------

    def test_info_knows_a_session(self, store: Store) -> None:
        """Head, chain, epoch, claim, meta and times come without reading a body."""
        store.append("s", drafts("1"), meta={"a": 1})
        first = store.info("s")
        assert first is not None
        assert (first.id, first.head, first.epoch, first.claim, first.damage) == ("s", 1, 0, None, ())
        assert first.status == "idle"
        assert len(first.created_at) >= len("2026-01-02T03:04:05Z")
        assert first.created_at.endswith("Z")
        store.append("s", drafts("2"))
        second = store.info("s")
        assert second is not None
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at

    def test_sessions_come_by_id_in_pages(self, store: Store, other: Store) -> None:
        """Paging by the last id shows every session once."""
        names = [f"session-{index:03}" for index in range(25)]
        for name in reversed(names):
            store.append(name, drafts("1"))
        assert [info.id for info in other.sessions()] == names
        seen: list[str] = []
        while page := other.sessions(after=seen[-1] if seen else None, limit=7):
            assert len(page) <= 7
            seen += [info.id for info in page]
        assert seen == names
        assert other.sessions(limit=0) == []
        assert [info.id for info in other.sessions(after="session-0225", limit=2)] == ["session-023", "session-024"]
        assert other.sessions()[0] == other.info("session-000")

    def test_sessions_by_status(self, store: Store) -> None:
        """A listing shows only the sessions of the status that was asked for, over all pages."""
        marks: dict[Status, list[str]] = {
            "idle": ["boundary:1"],
            "awaiting_approval": ["approval:1:0"],
            "unknown_outcome": ["started:1:0"],
            "inbox_waiting": ["decided:1:0"],
            "abandoned": ["run:a", "approval:1:0"],
            "running": ["run:a"],
        }
        for index in range(4):
            for status, opens in marks.items():
                store.append(f"{status}-{index}", drafts("1", opens=opens))
                if status == "running":
                    store.claim(f"{status}-{index}", ELSEWHERE, 300)
        for status in marks:
            names = [f"{status}-{index}" for index in range(4)]
            assert [info.id for info in store.sessions(status=status)] == names
            assert [info.id for info in store.sessions(status=status, limit=2)] == names[:2]
            assert [info.id for info in store.sessions(status=status, after=names[1], limit=2)] == names[2:]

    def test_a_listing_by_what_is_no_status(self, store: Store) -> None:
        """A status that is misspelled is an error, which names those there are, and not an empty listing."""
        with pytest.raises(ConfigurationError, match="There is no status 'parked'; sessions are running, idle, awaiting"):
            store.sessions(status="parked")  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="not 'user'"):
            store.sessions(meta="user")  # type: ignore[arg-type]

    def test_sessions_by_meta(self, store: Store) -> None:
        """A listing shows only the sessions whose meta holds all that was asked for."""
        store.append("a", [], meta={"user": "ada", "team": 1})
        store.append("b", [], meta={"user": "ada", "team": 2, "tags": ["x"]})
        store.append("c", drafts("1", opens=["approval:1:0"]), meta={"user": "bob", "team": True, "in": {"team": 1}})
        rows: list[tuple[dict[str, object], str]] = [
            ({}, "abc"),
            ({"user": "ada"}, "ab"),
            ({"user": "ada", "team": 2}, "b"),
            ({"team": 1}, "a"),
            ({"team": True}, "c"),
            ({"tags": ["x"]}, "b"),
            ({"nothing": 1}, ""),
        ]
        for wanted, ids in rows:
            assert "".join(info.id for info in store.sessions(meta=wanted)) == ids
        assert [info.id for info in store.sessions(status="awaiting_approval", meta={"user": "bob"})] == ["c"]
        assert store.sessions(status="awaiting_approval", meta={"user": "ada"}) == []

    def test_deleting_leaves_nothing(self, store: Store, other: Store) -> None:
        """A deleted session is gone with its entries, marks, claim and meta; one of the same id begins anew."""
        store.append("t", drafts("1"))
        store.append("s", drafts("1", "2", opens=["approval:1:0"]), meta={"a": 1})
        store.claim("s", ELSEWHERE, 300)
        other.delete("s")
        other.delete("s")
        assert (store.info("s"), store.read("s")) == (None, [])
        assert [info.id for info in store.sessions()] == ["t"]
        assert store.sessions(status="awaiting_approval") == []
        assert store.append("s", drafts("1")) == 1
        info = store.info("s")
        assert info is not None
        assert (info.head, info.marks, info.meta, info.claim) == (1, {}, {}, None)

    # Claims -----------------------------------------------------------------------------------

    def test_a_claim_is_exclusive(self, store: Store, other: Store) -> None:
        """While a claim is in force nobody else gets one, and the error says who, how long and what to do."""
        before = time.time()
        claim = store.claim("it's", this_owner(), 300)
        assert (claim.session_id, claim.epoch) == ("it's", 1)
        assert before + 290 < claim.expires < time.time() + 310
        with pytest.raises(SessionBusy) as caught:
            other.claim("it's", this_owner(), 300)
        for part in ("it's", str(os.getpid()), "300 s", "steer", "interrupt"):
            assert part in str(caught.value)
        info = other.info("it's")
        assert info is not None
        assert (info.claim, info.epoch, info.status) == (claim, 1, "running")

    @pytest.mark.parametrize("ttl", [math.inf, math.nan])
    def test_a_claim_for_no_number_of_seconds_is_none_or_holds(self, store: Store, other: Store, ttl: float) -> None:
        """It is refused, or kept as one that nobody else gets over; it is not given and then forgotten."""
        with suppress(ConfigurationError):
            store.claim("s", ELSEWHERE, ttl)
            with pytest.raises(SessionBusy):
                other.claim("s", this_owner(), 300)

    def test_a_claim_makes_the_session(self, store: Store) -> None:
        """A session may be claimed before its first entry."""
        store.claim("s", ELSEWHERE, 300)
        info = store.info("s")
        assert info is not None
        assert (info.head, info.chain, info.marks) == (0, b"", {})
        assert store.append("s", drafts("1"), expect=0) == 1

    def test_only_one_of_many_claims(self, store: Store, other: Store) -> None:
        """Of those who claim at once, one gets the claim."""

        def attempt(index: int) -> bool:
            try:
                (store if index % 2 else other).claim("s", this_owner(), 300)
            except SessionBusy:
                return False
            return True

        assert sum(_at_once(attempt, 8)) == 1

    def test_an_owner_may_claim_again(self, store: Store) -> None:
        """An owner is not in its own way, but the epoch is a new one."""
        owner = this_owner()
        assert [store.claim("s", owner, 300).epoch, store.claim("s", owner, 300).epoch] == [1, 2]

    def test_a_dead_owner_is_replaced_at_once(self, store: Store, other: Store) -> None:
        """A runner that provably died holds nothing, however long its lease."""
        store.append("s", drafts("1", opens=["run:a"]))
        first = store.claim("s", a_dead_owner(), 300)
        info = other.info("s")
        assert info is not None
        assert (info.claim, info.epoch, info.status) == (None, first.epoch, "abandoned")
        assert other.claim("s", this_owner(), 300).epoch == first.epoch + 1

    def test_an_overdue_owner_is_replaced(self, store: Store, other: Store) -> None:
        """A lease that ran out is in force no more."""
        first = store.claim("s", ELSEWHERE, 0.05)
        time.sleep(0.1)
        info = other.info("s")
        assert info is not None
        assert (info.claim, info.epoch) == (None, first.epoch)
        assert other.claim("s", "another:owner", 300).epoch == first.epoch + 1

    def test_epochs_only_grow(self, store: Store, other: Store) -> None:
        """No epoch is given out twice: not after a release, and not when the session was deleted and made anew."""
        epochs = []
        for index in range(6):
            claim = store.claim("s", this_owner(), 300)
            epochs.append(claim.epoch)
            if index % 3 == 2:
                other.delete("s")
            else:
                store.release(claim)
        assert all(a < b for a, b in pairwise(epochs))

    def test_a_runner_writes_under_its_epoch(self, store: Store) -> None:
        """A runner's entries carry its epoch, those of all others 0."""
        claim = store.claim("s", this_owner(), 300)
        store.append("s", drafts("1"), epoch=claim.epoch)
        store.append("s", drafts("2"))
        assert [entry.epoch for entry in store.read("s")] == [claim.epoch, 0]

    def test_an_old_epoch_is_fenced(self, store: Store, other: Store) -> None:
        """Once a later epoch was given out, or where none was, a runner writes nothing any more."""
        first = store.claim("s", this_owner(), 300)
        store.release(first)
        second = other.claim("s", this_owner(), 300)
        for epoch in (first.epoch, second.epoch + 1, 0, -1):
            with pytest.raises(Fenced):
                store.append("s", drafts("1"), epoch=epoch, meta={"a": 1})
        info = store.info("s")
        assert info is not None
        assert (info.head, info.meta) == (0, {})
        assert store.append("s", drafts("1"), epoch=second.epoch) == 1

    def test_fencing_comes_before_conflict(self, store: Store) -> None:
        """A fenced runner learns that it is fenced, whatever head it expects."""
        store.release(store.claim("s", this_owner(), 300))
        store.claim("s", this_owner(), 300)
        with pytest.raises(Fenced):
            store.append("s", drafts("1"), epoch=1, expect=7)

    def test_a_deleted_session_fences_its_runner(self, store: Store, other: Store) -> None:
        """The runner of a session that was deleted does not bring it back."""
        claim = store.claim("s", this_owner(), 300)
        other.delete("s")
        with pytest.raises(Fenced):
            store.append("s", drafts("1"), epoch=claim.epoch)
        with pytest.raises(Fenced):
            store.renew(claim, 300)
        store.release(claim)
        assert store.info("s") is None

    def test_the_latest_epoch_writes_after_its_release(self, store: Store) -> None:
        """What a run has still to say after it gave its claim back is taken, as long as nobody took over."""
        claim = store.claim("s", this_owner(), 300)
        store.release(claim)
        assert store.append("s", drafts("1"), epoch=claim.epoch) == 1
        info = store.info("s")
        assert info is not None
        assert info.claim is None

    def test_an_append_renews_the_lease(self, store: Store) -> None:
        """A runner that appends stays the runner; what others append renews nothing."""
        claim = store.claim("s", ELSEWHERE, 300)
        time.sleep(0.02)
        store.append("s", drafts("1"))
        assert _expiry(store, "s") == claim.expires
        store.append("s", drafts("2"), epoch=claim.epoch)
        renewed = _expiry(store, "s")
        assert claim.expires < renewed < claim.expires + 60
        time.sleep(0.02)
        store.append("s", [], epoch=claim.epoch)
        assert _expiry(store, "s") > renewed

    def test_renewing(self, store: Store, other: Store) -> None:
        """A lease can be made longer or shorter, and appends keep to the last one."""
        claim = store.claim("s", ELSEWHERE, 300)
        other.renew(claim, 3000)
        assert _expiry(store, "s") > claim.expires + 2000
        store.append("s", drafts("1"), epoch=claim.epoch)
        assert _expiry(store, "s") > claim.expires + 2000

    def test_an_overdue_lease_can_be_renewed(self, store: Store) -> None:
        """A lease that ran out and that nobody took is the current one still."""
        claim = store.claim("s", ELSEWHERE, 0.05)
        time.sleep(0.1)
        store.append("s", drafts("1"))
        store.renew(claim, 300)
        with pytest.raises(SessionBusy):
            store.claim("s", this_owner(), 300)

    def test_a_lost_claim_cannot_be_renewed(self, store: Store, other: Store) -> None:
        """Renewing after a release, or after somebody else took over, tells the runner to stop."""
        released = store.claim("s", this_owner(), 300)
        store.release(released)
        with pytest.raises(Fenced):
            store.renew(released, 300)
        current = other.claim("s", this_owner(), 300)
        with pytest.raises(Fenced):
            store.renew(released, 300)
        with pytest.raises(Fenced):
            store.renew(Claim("nobody", ELSEWHERE, 1, 0.0), 300)
        other.renew(current, 300)

    def test_releasing(self, store: Store, other: Store) -> None:
        """A claim is given back once; a repeat, or the release of an older one, does nothing to whoever has it now."""
        first = store.claim("s", this_owner(), 300)
        store.release(first)
        store.release(first)
        info = store.info("s")
        assert info is not None
        assert (info.claim, info.epoch) == (None, first.epoch)
        second = other.claim("s", this_owner(), 300)
        store.release(first)
        store.release(Claim("nobody", ELSEWHERE, 1, 0.0))
        assert _expiry(store, "s") == second.expires

    # News -------------------------------------------------------------------------------------

    def test_news_that_is_there_already(self, store: Store) -> None:
        """What stands behind `after` is news at once."""
        store.append("s", drafts("1", "2"))
        start = time.monotonic()
        assert store.news("s", 1, 10) is True
        assert time.monotonic() - start < 5
        assert store.news("s", 2, 0) is False

    def test_no_news(self, store: Store) -> None:
        """Without news the wait ends with its time."""
        store.append("s", drafts("1"))
        for session, after in (("s", 1), (None, 0), (None, -1), ("nobody", 0)):
            start = time.monotonic()
            assert store.news(session, after, 0.1) is False
            assert 0.09 <= time.monotonic() - start < 5

    @pytest.mark.parametrize(("session", "after"), [("s", 1), (None, 0), (None, 1), (None, 1_000_000)])
    def test_news_wakes(self, store: Store, other: Store, session: str | None, after: int) -> None:
        """A wait ends soon after somebody appended; one for any session does whatever position it names."""
        store.append("s", drafts("1"))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.news, session, after, 30)
            time.sleep(0.15)
            assert not waiting.done()
            written = time.monotonic()
            other.append("s", drafts("2"))
            assert waiting.result(30) is True
            assert time.monotonic() - written < 5

    def test_whoever_is_woken_finds_what_came(self, store: Store) -> None:
        """News is told when it can be read, not before."""

        def look() -> int:
            store.news(None, 0, 30)
            info = store.info("s")
            return info.head if info is not None else 0

        with ThreadPoolExecutor(1) as pool:
            for head in range(1, 26):
                looking = pool.submit(look)
                time.sleep(0.005)
                store.append("s", drafts(f"{head}"))
                while not looking.done():
                    # It may have begun to wait behind the append.
                    time.sleep(0.005)
                    store.append("more", drafts(f"{head}-{time.monotonic_ns()}"))
                assert looking.result(30) == head

    def test_news_of_another_session(self, store: Store, other: Store) -> None:
        """Waiting for one session is not ended by another; waiting for any is, by one that is new too."""
        store.append("s", drafts("1"))
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(store.news, "s", 1, 0.4)
            any_ = pool.submit(store.news, None, 0, 30)
            time.sleep(0.15)
            other.append("t", drafts("1"))
            assert (one.result(30), any_.result(30)) == (False, True)

    def test_a_deletion_hides_no_news(self, store: Store, other: Store) -> None:
        """What is appended anywhere is news, whatever else was deleted meanwhile."""
        store.append("long", drafts(*map(str, range(50))))
        with ThreadPoolExecutor(1) as pool:
            started = time.monotonic()
            waiting = pool.submit(store.news, None, 0, 10)
            time.sleep(0.1)
            other.delete("long")
            other.append("s", drafts("1"))
            assert waiting.result(30) is True
            assert time.monotonic() - started < 5

    def test_claims_and_deletions_are_no_news(self, store: Store, other: Store) -> None:
        """Only what is appended is news."""
        store.append("s", drafts("1"))
        store.append("t", drafts("1"))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.news, None, 0, 0.4)
            time.sleep(0.1)
            other.renew(other.claim("s", ELSEWHERE, 300), 300)
            other.erase("s", "1")
            other.append("s", [], meta={"a": 1})
            other.delete("t")
            assert waiting.result(30) is False


def _expiry(store: Store, session_id: str) -> float:
    info = store.info(session_id)
    assert info is not None
    assert info.claim is not None
    return info.claim.expires


def _at_once(work: Callable[[int], T], count: int) -> list[T]:
    """What the work returns in so many threads that begin together."""
    start = threading.Barrier(count)

    def begin(index: int) -> T:
        start.wait(30)
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count), timeout=120))
