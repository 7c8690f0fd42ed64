"""The encrypted store keeps the contract over any store, and nobody without the key reads or forges a body."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import suture
from suture.errors import ConfigurationError, Corrupt, StoreError
from suture.stores import Draft, EncryptedStore, MemoryStore, SqliteStore, Store
from suture.testing import ScriptedModel
from suture.testing.stores import StoreContract, drafts

KEY = bytes(range(32))
SECOND = bytes(range(32, 64))
PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "encrypt-a-store.md"
SECRET = b'{"card":"4111 1111 1111 1111"}'


class TestEncryptedSqliteStore(StoreContract):
    together = True

    def open(self, tmp_path: Path) -> Store:
        return EncryptedStore(SqliteStore(tmp_path / "sessions.db"), {"1": KEY})


class TestEncryptedMemoryStore(StoreContract):
    together = True
    durable = False

    def open(self, tmp_path: Path) -> Store:  # noqa: ARG002 - it keeps nothing on disk
        return EncryptedStore(MemoryStore(), {"2026": SECOND, "1": KEY})


class TestEncryptedStoreUnderAKey(StoreContract):
    together = True
    durable = False

    def open(self, tmp_path: Path) -> Store:  # noqa: ARG002 - it keeps nothing on disk
        return EncryptedStore(MemoryStore(key=KEY), {"1": SECOND})


@pytest.fixture
def inner() -> Iterator[MemoryStore]:
    with closing(MemoryStore()) as store:
        yield store


def test_nothing_of_a_body_is_on_disk(tmp_path: Path) -> None:
    """The file holds no piece of a body, and the same body twice does not look the same."""
    path = tmp_path / "sessions.db"
    with closing(EncryptedStore(SqliteStore(path), {"1": KEY})) as store:
        store.append("s", drafts("1", "2", body=SECRET))
    with closing(sqlite3.connect(path)) as db:
        bodies = [bytes(body) for (body,) in db.execute("SELECT body FROM entries")]
    assert len(set(bodies)) == 2
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"note" in files
    assert b"card" not in files
    assert b"4111" not in files


def test_a_conversation(tmp_path: Path) -> None:
    """A session works over an encrypted store as over any other, from a second handle too."""
    for text in ("first", "second"):
        with closing(EncryptedStore(SqliteStore(tmp_path / "a.db"), {"1": KEY})) as store:
            suture.Session(store, "s").append_message(suture.User((suture.Text(text),)))
    with closing(EncryptedStore(SqliteStore(tmp_path / "a.db"), {"1": KEY})) as store:
        texts = [part.text for message in suture.Session(store, "s").messages for part in message.parts]  # type: ignore[union-attr]
    assert texts == ["first", "second"]


def test_rotation(inner: MemoryStore) -> None:
    """With a new key in front, old bodies are read under the old key and new ones are written under the new."""
    EncryptedStore(inner, {"old": KEY}).append("s", drafts("1", body=SECRET))
    both = EncryptedStore(inner, {"new": SECOND, "old": KEY})
    both.append("s", drafts("2", body=SECRET))
    assert [entry.body for entry in both.read("s")] == [SECRET, SECRET]
    assert [entry.body for entry in EncryptedStore(inner, {"new": SECOND}).read("s", after=1)] == [SECRET]
    with pytest.raises(StoreError, match="entry 2: the body is under the key 'new', which was not given; there are 'old'"):
        EncryptedStore(inner, {"old": KEY}).read("s")


def test_a_wrong_key_is_no_empty_history(inner: MemoryStore) -> None:
    """Another key under the same id is told, with the place; nothing is returned."""
    EncryptedStore(inner, {"1": KEY}).append("s", drafts("1", body=SECRET))
    with pytest.raises(Corrupt, match=r"session 's', entry 1: .* the key given under that id is another one"):
        EncryptedStore(inner, {"1": SECOND}).read("s")
    with pytest.raises(Corrupt, match="entry 1"):
        suture.Session(EncryptedStore(inner, {"1": SECOND}), "s").messages  # noqa: B018 - reading is what is tried


def _flipped(body: bytes) -> bytes:
    return body[:-1] + bytes([body[-1] ^ 1])


BARE: list[tuple[str, Callable[[suture.Session], object]]] = [
    ("reads", lambda s: s.messages),
    ("reads on", lambda s: s.entries(after=1)),
    ("steers", lambda s: s.steer("x")),
    ("edits", lambda s: s.unset()),
    ("forks", lambda s: s.fork()),
    ("erases", lambda s: s.erase(s.store.read("s")[1].id)),
    ("runs", lambda s: suture.Agent(ScriptedModel([{"text": "hi"}]), session=s).run("hello")),
]


@pytest.mark.parametrize("is_erased", [False, True], ids=["whole", "its beginning erased"])
@pytest.mark.parametrize(("what", "act"), BARE, ids=[row[0] for row in BARE])
def test_nobody_without_the_wrapper(
    what: str, act: Callable[[suture.Session], object], is_erased: bool, inner: MemoryStore
) -> None:
    """A session is not read as if it were empty, and nothing goes in that is not encrypted; status and chain need no key."""
    session = suture.Session(EncryptedStore(inner, {"1": KEY}), "s")
    session.add(suture.User.of("hello"))
    session.steer("quick")
    if is_erased:
        session.erase(session.entries()[0].id)
    bare = suture.Session(inner, "s")
    with pytest.raises(ConfigurationError, match="session 's' is encrypted, and this store has no keys for bodies"):
        act(bare)
    assert (len(inner.read("s")), bare.info().status, bare.verify().ok) == (2, "inbox_waiting", True), what


@pytest.mark.parametrize(
    ("session_id", "changes"),
    [
        ("another", {}),
        ("s", {"id": "other"}),
        ("s", {"kind": "settlement"}),
        ("s", {"body": _flipped}),
        ("s", {"body": lambda body: body[:20]}),
        ("s", {"body": lambda _: b""}),
        ("s", {"body": lambda _: SECRET}),
        ("s", {"body": lambda body: body[:1] + b"\xff" + body[2:]}),
        ("s", {"body": lambda body: body[:4] + _flipped(body[4:5]) + body[5:]}),
    ],
    ids=["session", "entry id", "kind", "last byte", "cut off", "emptied", "never encrypted", "length of key id", "nonce"],
)
def test_a_body_counts_only_where_it_was_written(session_id: str, changes: dict[str, object]) -> None:
    """A body that was moved to another session, entry or kind, or changed, is refused."""
    written, forged = MemoryStore(), MemoryStore()
    EncryptedStore(written, {"1": KEY}).append("s", drafts("1", body=SECRET))
    [entry] = written.read("s")
    new = {name: change(entry.body) if callable(change) else change for name, change in changes.items()}
    forged.append(session_id, [msgspec.structs.replace(Draft(entry.id, entry.kind, entry.at, entry.body), **new)])
    with pytest.raises(Corrupt, match=f"session '{session_id}', entry 1: the body"):
        EncryptedStore(forged, {"1": KEY}).read(session_id)


def test_times_and_marks_may_be_read(inner: MemoryStore) -> None:
    """What a store works with stays in the clear: a listing and an erasure need no key."""
    EncryptedStore(inner, {"1": KEY}).append("s", drafts("1", body=SECRET, opens=["approval:1:0"]), meta={"team": "a"})
    other = EncryptedStore(inner, {"1": SECOND})
    assert [info.id for info in other.sessions(status="awaiting_approval", meta={"team": "a"})] == ["s"]
    other.erase("s", "1")
    [entry] = other.read("s")
    assert (entry.body, bool(entry.erased), entry.sealed) == (b"", True, b"")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({}, "There is no key to write with"),
        ({"1": b"short"}, "The key '1' is 5 bytes; it must be 32 bytes"),
        ({"1": KEY, "2": KEY + KEY}, "The key '2' is 64 bytes"),
        ({"1": KEY.hex()}, "The key '1' is str; it must be 32 bytes"),
        ({"": KEY}, "The key id '' has 0 bytes"),
        ({"k" * 256: KEY}, "has 256 bytes"),
    ],
)
def test_keys_that_cannot_serve(keys: dict[str, bytes], says: str, inner: MemoryStore) -> None:
    """A key of another size, or none, is refused when the store is made, and is not shown."""
    with pytest.raises(ConfigurationError, match=says) as refused:
        EncryptedStore(inner, keys)
    assert KEY.hex() not in str(refused.value)


def test_a_key_without_its_id(inner: MemoryStore) -> None:
    """A bare key says how keys are given, and is not shown."""
    with pytest.raises(ConfigurationError, match="keys holds keys by their ids") as refused:
        EncryptedStore(inner, KEY)  # type: ignore[arg-type]
    assert repr(KEY) not in str(refused.value)


def test_the_package_is_missing() -> None:
    """Without cryptography the error names the extra; importing suture never loads it."""
    code = (
        "import sys, suture; from suture.stores import EncryptedStore, MemoryStore\n"
        "assert 'cryptography' not in sys.modules; sys.modules['cryptography'] = None\n"
        "sys.modules['cryptography.hazmat.primitives.ciphers.aead'] = None\n"
        "EncryptedStore(MemoryStore(), {'1': bytes(32)})"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    child = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert child.returncode == 1
    assert child.stderr.strip().splitlines()[-1].endswith("pip install 'suture[encryption]'")


def test_the_form_is_kept(inner: MemoryStore) -> None:
    """A body written by the first version is read for ever."""
    body = bytes.fromhex("010131000102030405060708090a0b3c20b739ffd4bf227f7cf9291485a1b5000a9cfa16d448")
    inner.append("s", [Draft("e", "note", "2026-01-02T03:04:05Z", body)])
    assert EncryptedStore(inner, {"1": KEY}).read("s")[0].body == b'{"a":1}'


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the page on encryption runs from top to bottom."""
    monkeypatch.chdir(tmp_path)
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)), {})
    assert b"executive box" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
