"""`verify`: whatever was done to a log in its file is found, and named as what it was."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import suture
from suture import AsyncSession, Session, User, Verified
from suture.entries import Draft
from suture.errors import SessionNotFound, WrongKey
from suture.stores import EncryptedStore, MemoryStore, SqliteStore, Store
from suture.stores.base import link, start_of
from tests.rules.logs import AT

KEY = b"k" * 32
MANY = 8

Harm = Callable[["File"], object]


class File:
    """The file of a store, as somebody sees it who has the database and not the key: entries of session `s` and `t`."""

    def __init__(self, path: Path, key: bytes | None) -> None:
        self.path = path
        self.key = key
        with closing(self.store()) as store:
            for id in "st":
                store.append(id, [Draft(f"{id}{n}", "note", AT, f'{{"n":"{id}{n}"}}'.encode()) for n in range(1, MANY + 1)])

    def store(self, **more: Any) -> SqliteStore:
        return SqliteStore(self.path, **{"key": self.key, **more})

    def __call__(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(self.path))) as db:
            return db.execute(sql, bindings).fetchall()

    def verified(self, id: str = "s") -> Verified:
        with closing(self.store()) as store:
            return suture.verify(store, id)

    def session(self, id: str) -> int:
        return int(self("SELECT key FROM sessions WHERE id = ?", id)[0][0])

    def chained_anew(self, first: int) -> None:
        """Chain session `s` anew from that entry on, without the key, and set its row to that."""
        key = self.session("s")
        rows = self("SELECT seq, id, kind, at, body, chain FROM entries WHERE session = ? ORDER BY seq", key)
        chain = b""
        for seq, id, kind, at, body, kept in rows:
            chain = link(chain, "s", seq, Draft(id, kind, at, body)) if seq >= first else kept
            self("UPDATE entries SET chain = ? WHERE session = ? AND seq = ?", chain, key, seq)
        self("UPDATE sessions SET head = ?, chain = ? WHERE key = ?", len(rows), chain, key)

    def place(self, seq: int, new: int) -> None:
        self("UPDATE entries SET seq = ? WHERE session = ? AND seq = ?", new, self.session("s"), seq)

    def shift(self, first: int, by: int) -> None:
        """Give the entries from one on other places."""
        self(f"UPDATE entries SET seq = -(seq + {by}) WHERE session = ? AND seq >= ?", self.session("s"), first)
        self("UPDATE entries SET seq = -seq WHERE seq < 0")

    def drop(self, *seqs: int) -> None:
        for seq in seqs:
            self("DELETE FROM entries WHERE session = ? AND seq = ?", self.session("s"), seq)

    def copy(self, seq: int, *, of: str, to: int, id: str | None = None) -> None:
        columns = "kind, at, body, epoch, opens, closes, chain, erased"
        self(
            f"INSERT INTO entries (session, seq, id, {columns}) SELECT ?, ?, coalesce(?, id), {columns} "
            "FROM entries WHERE session = ? AND seq = ?",
            self.session("s"),
            to,
            id,
            self.session(of),
            seq,
        )

    def set(self, seq: int, column: str, value: object) -> None:
        self(f"UPDATE entries SET {column} = ? WHERE session = ? AND seq = ?", value, self.session("s"), seq)

    def head(self, head: int) -> None:
        self("UPDATE sessions SET head = ? WHERE id = 's'", head)


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> File:
    return File(tmp_path / "s.db", request.param)


@pytest.fixture
def keyed(tmp_path: Path) -> File:
    return File(tmp_path / "s.db", KEY)


def test_a_log_as_it_was_written(file: File) -> None:
    """Nothing is wrong with a log that nobody touched; where it ends is told."""
    found = file.verified()
    with closing(file.store()) as store:
        info = store.info("s")
    assert info is not None
    assert (found.ok, found.problem, found.entries, found.erased) == (True, None, MANY, 0)
    assert (found.head, found.chain, found.keyed) == (MANY, info.chain.hex(), file.key is not None)


def test_erased_bodies_are_counted(file: File) -> None:
    """What was erased leaves the chain whole, wherever it stood."""
    with closing(file.store()) as store:
        for id in ("s1", "s4", f"s{MANY}"):
            store.erase("s", id)
    found = file.verified()
    assert (found.ok, found.entries, found.erased) == (True, MANY, 3)


# What is done to entries ----------------------------------------------------------------------


def exchange(file: File, one: int, other: int) -> None:
    file.place(one, 0)
    file.place(other, one)
    file.place(0, other)


def remove_and_count_anew(file: File) -> None:
    file.drop(3)
    file.shift(4, -1)


def remove_two_and_count_anew(file: File) -> None:
    file.drop(3, 4)
    file.shift(5, -2)
    file.head(MANY - 2)


def move_back(file: File) -> None:
    file.place(3, 0)
    file.shift(4, -1)
    file.place(0, MANY)


def move_forth(file: File) -> None:
    file.place(6, 0)
    for seq in (5, 4, 3):
        file.place(seq, seq + 1)
    file.place(0, 3)


def put_in_between(file: File) -> None:
    file.shift(3, 1)
    file(
        "INSERT INTO entries VALUES (?, 3, 'x', 'note', ?, x'7b7d', 0, NULL, NULL, ?, NULL)",
        file.session("s"),
        AT,
        b"c" * 32,
    )


def move_from_another(file: File) -> None:
    """Entry 3 of `t` takes the place of entry 3."""
    file.drop(3)
    file.copy(3, of="t", to=3)
    file("DELETE FROM entries WHERE session = ? AND seq = 3", file.session("t"))


def copy_from_another(file: File) -> None:
    file.drop(3)
    file.copy(5, of="t", to=3)


def copy_in_between(file: File) -> None:
    file.shift(3, 1)
    file.copy(5, of="t", to=3)


def copy_behind(file: File) -> None:
    file.copy(5, of="t", to=MANY + 1)
    file(
        "UPDATE sessions SET head = ?, chain = (SELECT chain FROM entries WHERE session = ? AND seq = 5) WHERE id = 's'",
        MANY + 1,
        file.session("t"),
    )


def move_to_another(file: File) -> None:
    file("UPDATE entries SET session = ?, seq = 99 WHERE session = ? AND seq = 3", file.session("t"), file.session("s"))


def move_to_another_and_count_anew(file: File) -> None:
    move_to_another(file)
    file.shift(4, -1)


@pytest.mark.parametrize(
    ("harm", "what", "seq", "elsewhere"),
    [
        (lambda file: file.set(3, "body", b'{"n":"x"}'), "changed", 3, None),
        (lambda file: file.set(3, "kind", "message"), "changed", 3, None),
        (lambda file: file.set(3, "at", "2020-01-01"), "changed", 3, None),
        (lambda file: file.set(3, "id", "x"), "changed", 3, None),
        (lambda file: file.set(3, "opens", b'["approval:1:0"]'), "changed", 3, None),
        (lambda file: file.set(1, "body", b"{}"), "changed", 1, None),
        (lambda file: file.set(MANY, "body", b"{}"), "changed", MANY, None),
        (lambda file: file.set(3, "erased", start_of("x")), "changed", 3, None),
        (lambda file: file.set(3, "chain", b"c" * 32), "forged", 3, None),
        (lambda file: file.drop(3), "removed", 3, None),
        (lambda file: file.drop(1, 2), "removed", 1, None),
        (remove_and_count_anew, "removed", 3, None),
        (remove_two_and_count_anew, "removed", 3, None),
        (lambda file: exchange(file, 3, 4), "reordered", 3, ("s", 4)),
        (lambda file: exchange(file, 2, 7), "reordered", 2, ("s", 7)),
        (lambda file: exchange(file, 1, MANY), "reordered", 1, ("s", MANY)),
        (move_back, "reordered", 3, ("s", 4)),
        (move_forth, "reordered", 3, ("s", 6)),
        (put_in_between, "forged", 3, ("s", 4)),
        (lambda file: file.copy(5, of="s", to=MANY + 1, id="again"), "forged", MANY + 1, None),
        (move_from_another, "moved", 3, ("t", 3)),
        (copy_from_another, "moved", 3, ("t", 5)),
        (copy_in_between, "moved", 3, ("t", 5)),
        (move_to_another, "moved", 3, ("t", 99)),
        (move_to_another_and_count_anew, "moved", 3, ("t", 99)),
        (lambda file: file.drop(MANY), "cut", MANY, None),
        (lambda file: file.drop(MANY - 2, MANY - 1, MANY), "cut", MANY - 2, None),
    ],
    ids=[
        "body",
        "kind",
        "time",
        "id",
        "marks",
        "first",
        "last",
        "said to be erased",
        "chain value",
        "removed",
        "removed from the beginning",
        "removed and counted anew",
        "two removed and counted anew",
        "neighbours exchanged",
        "exchanged",
        "ends exchanged",
        "moved back",
        "moved forth",
        "put in between",
        "repeated behind the end",
        "moved here from another",
        "copied over one from another",
        "copied in between from another",
        "moved to another",
        "moved to another and counted anew",
        "cut by one",
        "cut by three",
    ],
)
def test_what_was_done_is_named(file: File, harm: Harm, what: str, seq: int, elsewhere: tuple[str, int] | None) -> None:
    """The first entry that is not as it was written is named, what was done to it, and where it is from when that is known."""
    harm(file)
    found = file.verified()
    assert found.problem is not None
    assert (found.problem.what, found.problem.session, found.problem.seq) == (what, "s", seq)
    assert found.problem.elsewhere == elsewhere
    assert not found.ok
    assert str(seq) in found.problem.sentence


def test_an_entry_copied_behind_the_end(keyed: File) -> None:
    """Where it is from is told, although the session's row was set to vouch for it."""
    copy_behind(keyed)
    problem = keyed.verified().problem
    assert problem is not None
    assert (problem.what, problem.seq, problem.elsewhere) == ("moved", MANY + 1, ("t", 5))


# The end of a log -----------------------------------------------------------------------------


def cut_with_its_row(file: File) -> None:
    """Cut the last two entries, and set the row to where the log ends now."""
    file.drop(MANY - 1, MANY)
    chain = file("SELECT chain FROM entries WHERE session = ? AND seq = ?", file.session("s"), MANY - 2)[0][0]
    file("UPDATE sessions SET head = ?, chain = ? WHERE id = 's'", MANY - 2, chain)


def cut_to_nothing(file: File) -> None:
    file.drop(*range(1, MANY + 1))
    file("UPDATE sessions SET head = 0, chain = x'' WHERE id = 's'")


def row_set_back(file: File) -> None:
    chain = file("SELECT chain FROM entries WHERE session = ? AND seq = 5", file.session("s"))[0][0]
    file("UPDATE sessions SET head = 5, chain = ? WHERE id = 's'", chain)


def unsealed(file: File) -> None:
    cut_with_its_row(file)
    file("UPDATE sessions SET seal = x'' WHERE id = 's'")


def another_sessions_seal(file: File) -> None:
    cut_with_its_row(file)
    file("UPDATE sessions SET seal = (SELECT seal FROM sessions WHERE id = 't') WHERE id = 's'")


@pytest.mark.parametrize(
    ("harm", "seq"),
    [
        (cut_with_its_row, MANY - 1),
        (cut_to_nothing, 1),
        (row_set_back, 6),
        (unsealed, MANY - 1),
        (another_sessions_seal, MANY - 1),
    ],
)
def test_who_has_no_key_cannot_cut_a_log(keyed: File, harm: Harm, seq: int) -> None:
    """Under a key the record of the end is sealed, so that a log that was cut with its row can be told from one that ends."""
    harm(keyed)
    problem = keyed.verified().problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("cut", seq)


def test_a_row_that_was_set_back(tmp_path: Path) -> None:
    """Where entries follow behind the end that the row tells, the row was changed, not the log."""
    file = File(tmp_path / "s.db", None)
    row_set_back(file)
    problem = file.verified().problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("cut", 6)
    assert "goes on behind that" in problem.sentence


def test_who_has_no_key_cannot_chain_anew(keyed: File) -> None:
    """A chain that was made without the key is none, though it fits in itself."""
    keyed.set(3, "body", b"{}")
    keyed.chained_anew(3)
    problem = keyed.verified().problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("forged", 3)


def test_without_a_key_a_whole_chain_can_be_made_anew(tmp_path: Path) -> None:
    """What a chain without a key cannot show, and `keyed` says: who changes it whole leaves no trace in it."""
    file = File(tmp_path / "s.db", None)
    file.set(3, "body", b"{}")
    before = file.verified()
    file.chained_anew(3)
    after = file.verified()
    assert (after.ok, after.keyed) == (True, False)
    assert after.chain != before.chain or before.problem is not None


def test_a_change_that_was_chained_anew_by_itself(tmp_path: Path) -> None:
    """Without a key the entry before the first that does not follow may be the one; both are named."""
    file = File(tmp_path / "s.db", None)
    key = file.session("s")
    file.set(3, "body", b"{}")
    (previous,) = file("SELECT chain FROM entries WHERE session = ? AND seq = 2", key)[0]
    file.set(3, "chain", link(previous, "s", 3, Draft("s3", "note", AT, b"{}")))
    problem = file.verified().problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("changed", 4)
    assert "entry 3 was" in problem.sentence


# Keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begun", "opened"), [(KEY, None), (None, KEY), (KEY, b"o" * 32)], ids=["no key", "a key too many", "another key"]
)
def test_a_wrong_key_is_no_silent_pass(begun: bytes | None, opened: bytes | None, tmp_path: Path) -> None:
    """Under another key, or with one missing, nothing is verified and the error says which key it is."""
    file = File(tmp_path / "s.db", begun)
    with closing(file.store(key=opened)) as store, pytest.raises(WrongKey):
        suture.verify(store, "s")


def test_a_log_without_its_seal_is_no_log_without_a_key(keyed: File) -> None:
    """Who takes the seal away and chains all anew without the key has made a session without a key, and that is no pass."""
    keyed.set(3, "body", b"{}")
    keyed.chained_anew(1)
    keyed("UPDATE sessions SET seal = x'' WHERE id = 's'")
    with pytest.raises(WrongKey, match="without a key"):
        keyed.verified()


# Forks ----------------------------------------------------------------------------------------


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[File, Store]]:
    """A session, a fork of it, and a fork of that, each with entries of its own."""
    file = File(tmp_path / "s.db", request.param)
    with closing(file.store()) as store:
        child = Session(store, "s").fork(at=6, id="child")
        child.add(User.of("hello"))
        child.fork(id="grandchild").add(User.of("hello"))
        yield file, store


def test_what_is_shared_is_verified(line: tuple[File, Store]) -> None:
    """A fork is verified with its past, up to where it shares it."""
    file, store = line
    found = suture.verify(store, "grandchild")
    assert (found.ok, found.entries) == (True, 6 + 2 + 2)
    file.set(7, "body", b"{}")
    assert suture.verify(store, "grandchild").ok, "what the parent said later is none of the fork's"
    file.set(2, "body", b"{}")
    problem = suture.verify(store, "grandchild").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("changed", "s", 2)


@pytest.mark.parametrize(
    ("harm", "what", "seq"),
    [
        (lambda file: file("DELETE FROM sessions WHERE id = 's'"), "removed", 1),
        (cut_to_nothing, "cut", 1),
        (lambda file: file.drop(4, 5, 6, 7, 8), "cut", 4),
    ],
    ids=["gone", "emptied", "cut"],
)
def test_a_parent_that_does_not_hold_what_is_shared(line: tuple[File, Store], harm: Harm, what: str, seq: int) -> None:
    """A past that is gone, or not there as far as it was shared, is named with its session."""
    file, store = line
    harm(file)
    problem = suture.verify(store, "grandchild").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == (what, "s", seq)


def test_a_fork_vouches_for_its_past(tmp_path: Path) -> None:
    """A parent that was chained anew as a whole is not the one that was forked."""
    file = File(tmp_path / "s.db", None)
    with closing(file.store()) as store:
        Session(store, "s").fork(at=6, id="child")
        file.set(3, "body", b"{}")
        file.chained_anew(3)
        assert suture.verify(store, "s").ok
        problem = suture.verify(store, "child").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("forged", "s", 6)


def test_a_fork_under_a_key_of_a_past_without(tmp_path: Path) -> None:
    """A fork binds a past that had no key to its own, so that it cannot be written anew unseen any more."""
    file = File(tmp_path / "s.db", None)
    with closing(file.store(key=KEY)) as store:
        Session(store, "s").fork(at=6, id="child")
        assert suture.verify(store, "child").ok
        file.set(3, "body", b"{}")
        file.chained_anew(3)
        problem = suture.verify(store, "child").problem
    assert problem is not None
    assert (problem.what, problem.session) == ("forged", "s")


# Other forms ----------------------------------------------------------------------------------


def test_what_is_encrypted_is_verified(file: File) -> None:
    """The chain is over what is kept, so it needs no decrypting, and a changed body is named and not only unreadable."""
    with closing(file.store()) as inner:
        store = EncryptedStore(inner, {"1": bytes(32)})
        session = Session(store, "e")
        for text in ("one", "two", "three"):
            session.add(User.of(text))
        fork = session.fork(id="f")
        fork.add(User.of("four"))
        assert suture.verify(store, "f").entries == 5
        file("UPDATE entries SET body = x'00' WHERE session = ? AND seq = 2", file.session("e"))
        problem = fork.verify().problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("changed", "e", 2)


# The rest -------------------------------------------------------------------------------------


def test_a_long_log_needs_no_more_memory(tmp_path: Path) -> None:
    """It is read in pages, and how far it is is told."""
    peaks = []
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        for pages in (4, 40):
            body = b"x" * 10_000
            for page in range(pages):
                store.append(str(pages), [Draft(f"{page}-{n}", "note", AT, body) for n in range(50)])
            told: list[tuple[int, int]] = []
            tracemalloc.start()
            assert suture.verify(store, str(pages), lambda done, total: told.append((done, total))).ok  # noqa: B023
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert told[-1] == (pages * 50, pages * 50)
            assert len(told) == pages * 50
    assert peaks[1] < 2 * peaks[0]


@pytest.mark.parametrize(
    ("name", "near"), [("sesion", "'session'"), ("SESSION", "'session'"), ("0199-", "'0199-abc'"), ("zzzzzz", None)]
)
def test_an_unknown_session_names_the_near_ones(name: str, near: str | None) -> None:
    """An id with a slip, in another case or cut short finds what was meant; another one finds nothing."""
    store = MemoryStore()
    for id in ("session", "0199-abc", *map(str, range(40))):
        store.append(id, [Draft("1", "note", AT, b"{}")])
    with pytest.raises(SessionNotFound) as caught:
        suture.verify(store, name)
    assert (f"Did you mean {near}?" in str(caught.value)) if near else ("Did you mean" not in str(caught.value))


def test_sessions_verify_themselves() -> None:
    """`Session.verify` and its async twin say what `suture.verify` does."""
    store = MemoryStore()
    session = Session(store, "s")
    session.add(User.of("one"))
    assert session.verify() == suture.verify(store, "s") == asyncio.run(AsyncSession(store, "s").verify())


def test_a_log_that_somebody_goes_on_with(tmp_path: Path) -> None:
    """What is appended while it is verified is no problem."""
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        session = Session(store, "s")
        session.add(User.of("one"))
        assert suture.verify(store, "s", lambda _done, _total: session.add(User.of("more"))).ok


def test_the_key_is_in_the_chain() -> None:
    """The same entry has another value under each key and under none."""
    note = Draft("1", "note", AT, b"{}")
    values = {link(b"", "s", 1, note, key) for key in (None, KEY, b"o" * 32)}
    assert len(values) == 3


# Rows that hold what nobody writes --------------------------------------------------------------

ODD_ENTRIES = [
    "opens = x'5b315d'",
    "opens = x'ff'",
    "closes = x'7b7d'",
    "erased = x'00'",
    "kind = ''",
    "at = 'zz'",
    "seq = -5",
]
ODD_SESSIONS = [
    ("meta = x'7a7a'", False),
    ("meta = x'5b5d'", False),
    ("head = -1", False),
    ("head = 9223372036854775807", False),
    ("epoch = 9223372036854775807", True),
    ("created = 1e300, updated = -1e300", True),
    ("updated = 1e18", True),
    ("waits = 'zz'", True),
]


@pytest.mark.parametrize("odd", ODD_ENTRIES)
@pytest.mark.parametrize("key", [None, KEY])
def test_an_entry_with_odd_values_is_named(odd: str, key: bytes | None, tmp_path: Path) -> None:
    """Whatever stands in a row, `verify` says which entry was changed, and the log can be read."""
    file = File(tmp_path / "agent.db", key)
    file(f"UPDATE entries SET {odd} WHERE session = ? AND seq = 3", file.session("s"))
    found = file.verified()
    assert found.problem is not None
    assert found.problem.seq in (1, 3)
    with closing(file.store()) as store:
        Session(store, "s").request("anthropic")
        assert Session(store, "t").findings() == []


@pytest.mark.parametrize(("odd", "ok"), ODD_SESSIONS)
def test_a_session_with_odd_values_stops_no_listing(odd: str, ok: bool, tmp_path: Path) -> None:
    """All sessions are listed, the others can be written, and what cannot be told of this one is damage or an error."""
    file = File(tmp_path / "agent.db", KEY)
    file(f"UPDATE sessions SET {odd} WHERE id = 's'")
    assert file.verified().ok is ok
    with closing(file.store()) as store:
        assert [info.id for info in store.sessions()] == ["s", "t"]
        Session(store, "t").add(User.of("on"))
        with contextlib.suppress(suture.StoreError):
            store.claim("s", "me", 1)
        Session(store, "s").request("anthropic")
