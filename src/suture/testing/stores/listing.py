"""What a store knows of sessions without reading bodies: marks, meta, status, and which there are."""

from __future__ import annotations

import pytest

from suture.errors import ConfigurationError
from suture.stores import Store
from suture.stores.base import Status
from suture.testing.stores.ground import ELSEWHERE, Ground, drafts


class Listing(Ground):
    """The promises about marks, meta, listings and deletion."""

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
