"""Chains and seals under a key: who has it goes on, and nobody else writes or moves the end of a log."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest

from suture.entries import MarkKind
from suture.errors import ConfigurationError, Corrupt, WrongKey
from suture.stores import Draft, MemoryStore, SqliteStore, Status, Store, open_store
from suture.stores.base import status_of

KEY = b"of sixteen bytes"
OTHER = b"another of bytes"
NOTE = Draft("1", "note", "2026-01-02T03:04:05Z", b'{"a":1}', ("inbox:1",))
NEXT = Draft("2", "note", "2026-01-02T03:04:05Z", b"{}")


def test_a_chain_under_a_key_is_an_hmac() -> None:
    """The chain value is HMAC-SHA-256 over what the plain chain hashes, and so is the seal over session, head and chain."""
    store = MemoryStore(key=KEY)
    store.append("s", [NOTE])
    fields = json.dumps([1, "1", "note", NOTE.at, ["inbox:1"], []], separators=(",", ":")).encode()
    whole = _hash(b"s") + _hash(fields) + _hash(NOTE.body)
    chain = hmac.new(KEY, whole, hashlib.sha256).digest()
    assert store.read("s")[0].chain == chain
    info = store.info("s")
    assert info is not None
    end = b"suture: end of a log" + _hash(b"s") + (1).to_bytes(8, "big") + chain
    assert info.seal[8:] == hmac.new(KEY, end, hashlib.sha256).digest()


def _hash(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


@pytest.mark.parametrize(
    ("begun", "opened", "words"),
    [
        (KEY, None, r"kept under a key \([0-9a-f]{16}\), and this store was opened without one"),
        (None, KEY, "kept without a key, and this store has one"),
        (KEY, OTHER, r"kept under the key [0-9a-f]{16}, and this store was opened with the key [0-9a-f]{16}"),
    ],
    ids=["no key", "a key too many", "another key"],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.append("s", [NEXT]),
        lambda store: store.append("s", [], meta={"a": 1}),
        lambda store: store.claim("s", "owner", 30),
    ],
    ids=["append", "meta", "claim"],
)
def test_a_wrong_key_writes_nothing(
    begun: bytes | None, opened: bytes | None, words: str, write: Callable[[Store], object], tmp_path: Path
) -> None:
    """A session is gone on with only under the key that it was begun under; reading it needs none."""
    with closing(SqliteStore(tmp_path / "s.db", key=begun)) as store:
        store.append("s", [NOTE])
        before = store.info("s")
    with closing(SqliteStore(tmp_path / "s.db", key=opened)) as store:
        with pytest.raises(WrongKey, match=words):
            write(store)
        assert store.info("s") == before
        assert [entry.body for entry in store.read("s")] == [NOTE.body]


def test_an_end_that_was_moved_is_gone_on_with_by_nobody(tmp_path: Path) -> None:
    """Who cuts a log and its row without the key is found by the next append."""
    with closing(SqliteStore(tmp_path / "s.db", key=KEY)) as store:
        store.append("s", [NOTE])
        first = store.read("s")[0].chain
        store.append("s", [NEXT])
        with closing(apsw.Connection(str(tmp_path / "s.db"))) as db:
            db.execute("DELETE FROM entries WHERE seq = 2; UPDATE sessions SET head = 1, chain = ?", (first,)).fetchall()
        with pytest.raises(Corrupt, match="sealed under the key"):
            store.append("s", [Draft("3", "note", NOTE.at, b"{}")])


@pytest.mark.parametrize("key", [b"", b"short", b"fifteen bytes.."])
def test_a_key_that_could_be_guessed(key: bytes) -> None:
    """A key has sixteen bytes at least."""
    with pytest.raises(ConfigurationError, match="16 at least"):
        MemoryStore(key=key)


def test_a_key_that_is_text() -> None:
    """A key is bytes; the error says how a text becomes them."""
    text: Any = "of sixteen chars"
    with pytest.raises(ConfigurationError, match=r"\.encode\(\)"):
        MemoryStore(key=text)


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{here}/s.db"])
def test_a_key_beside_a_url(url: str, tmp_path: Path) -> None:
    """`open_store` hands the key on."""
    store = open_store(url.format(here=tmp_path), key=KEY)
    store.append("s", [NOTE])
    info = store.info("s")
    assert info is not None
    assert len(info.seal) == 40
    store.close()


# Old files ------------------------------------------------------------------------------------

FIRST_SCHEMA = """
    CREATE TABLE deleted (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        entries INTEGER NOT NULL,
        epoch INTEGER NOT NULL
    ) STRICT;
    INSERT INTO deleted VALUES (1, 0, 0);
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL DEFAULT 0,
        chain BLOB NOT NULL DEFAULT x'',
        epoch INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        ttl REAL NOT NULL DEFAULT 0,
        expires REAL NOT NULL DEFAULT 0,
        meta BLOB NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL
    ) STRICT;
    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        opens BLOB,
        closes BLOB,
        chain BLOB NOT NULL,
        erased BLOB,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX entries_by_id ON entries (session, id);
    CREATE TABLE marks (
        session INTEGER NOT NULL,
        mark TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (session, mark)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX marks_by_mark ON marks (mark);
    PRAGMA application_id = 0x73757472; PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as the first schema kept it: two sessions, one with a mark, a claim given back, meta and an erased body."""
    path = tmp_path / "old.db"
    with closing(apsw.Connection(str(path))) as db:
        db.execute(FIRST_SCHEMA).fetchall()
        for key, id in enumerate("st", 1):
            _old_session(db, key, id)
    return path


def _old_session(db: apsw.Connection, key: int, id: str) -> None:
    chain, bodies = _hash(id.encode()), [b'{"a":1}', b"gone"]
    for seq, body in enumerate(bodies, 1):
        fields = json.dumps([seq, f"e{seq}", "note", NOTE.at, ["inbox:1"] * (2 - seq), []], separators=(",", ":")).encode()
        chain = _hash(chain + _hash(fields) + _hash(body))
        opens, erased = (b'["inbox:1"]', None) if seq == 1 else (None, _hash(body))
        row = key, seq, f"e{seq}", "note", NOTE.at, body if seq == 1 else b"", 0, opens, None, chain, erased
        db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO marks VALUES (?, 'inbox:1', 1)", (key,))
    session = key, id, 2, chain, 3, None, 30.0, 5.0, b'{"who":"me"}', 1.0, 2.0
    db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", session)


def test_an_old_file_goes_on(old: Path) -> None:
    """A file of the first schema is upgraded where it stands: all of it is there, and it is appended to as before."""
    with closing(SqliteStore(old)) as store:
        assert [info.id for info in store.sessions()] == ["s", "t"]
        for id in "st":
            info = store.info(id)
            assert info is not None
            assert (info.head, info.marks, info.meta, info.epoch, info.seal) == (2, {"inbox:1": 1}, {"who": "me"}, 3, b"")
            assert [entry.body for entry in store.read(id)] == [b'{"a":1}', b""]
            assert [info.id for info in store.sessions(status="inbox_waiting")] == (["s", "t"] if id == "s" else ["t"])
            assert store.append(id, [Draft("e3", "note", NOTE.at, b"{}", (), ("inbox:1",))]) == 3
        assert [entry.chain for entry in store.read("s")][:2] == [info_chain(old, 1), info_chain(old, 2)]
        assert store.info("t").status == "idle"  # type: ignore[union-attr]
        assert [info.id for info in store.sessions(status="idle")] == ["s", "t"]
    with closing(apsw.Connection(str(old))) as db:
        assert db.execute("PRAGMA user_version").get > 1


@pytest.mark.parametrize(
    "marks", [(), ("run",), *((f"{kind}:1",) for kind in get_args(MarkKind)), ("run:1", "approval:1:0")]
)
def test_an_old_session_is_listed_by_what_it_waits_for(old: Path, marks: tuple[str, ...]) -> None:
    """Where an upgrade looks at the marks itself, it says of them what the one rule says."""
    with closing(apsw.Connection(str(old))) as db:
        db.execute("DELETE FROM marks WHERE session = 1")
        for mark in marks:
            db.execute("INSERT INTO marks VALUES (1, ?, 1)", (mark,))
    status = status_of(dict.fromkeys(marks, 1), running=False)
    with closing(SqliteStore(old)) as store:
        assert {each: "s" in [info.id for info in store.sessions(status=each)] for each in get_args(Status)} == {
            each: each == status for each in get_args(Status)
        }


def info_chain(path: Path, seq: int) -> bytes:
    """The chain value that the file itself holds."""
    with closing(apsw.Connection(str(path))) as db:
        found: bytes = db.execute("SELECT chain FROM entries WHERE session = 1 AND seq = ?", (seq,)).get
        return found


def test_an_old_file_that_may_only_be_read(child: Callable[..., Any], old: Path) -> None:
    """An old file that cannot be brought up to this schema says so, and stays as it is."""
    place = Path(tempfile.mkdtemp())
    try:
        kept = Path(shutil.copy(old, place))
        before = kept.read_bytes()
        kept.chmod(0o444)
        place.chmod(0o555)
        assert "written by an older suture" in child("refused", kept).hear()
        assert kept.read_bytes() == before
    finally:
        place.chmod(0o700)
        shutil.rmtree(place)


def test_an_old_file_under_a_key(old: Path) -> None:
    """What was written before there was a key stays readable under one, and is not taken for what the key vouches for."""
    with closing(SqliteStore(old, key=KEY)) as store:
        assert len(store.read("s")) == 2
        with pytest.raises(WrongKey, match="kept without a key"):
            store.append("s", [NEXT])
        assert store.append("new", [NEXT]) == 1
