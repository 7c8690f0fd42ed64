"""`verify`: whatever was done to a log where it is kept is found, and named as what it was."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import suture
from suture import AsyncSession, Session, User
from suture.entries import Draft
from suture.errors import Corrupt, SessionNotFound, WrongKey
from suture.stores import EncryptedStore, MemoryStore, SqliteStore, Store
from suture.stores.base import link, start_of
from suture.testing import ScriptedModel
from tests.agent.kept import MANY, Jsonl, Keeping, Kept, Sqlite, hand_at
from tests.postgres import at_place
from tests.rules.logs import AT

KEY = b"k" * 32

Harm = Callable[[Kept], object]


@pytest.fixture(params=["sqlite:///{here}/s.db", "jsonl:///{here}/logs", "postgresql:"])
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bytes | None], Keeping]:
    """Makes a store of each kind, under a key or none."""
    if request.param == "postgresql:":
        url = at_place(request.getfixturevalue("postgres"), tmp_path)
    else:
        url = request.param.format(here=tmp_path)
    return lambda key: Keeping(hand_at(url), key)


@pytest.fixture(params=[None, KEY], ids=["plain", "keyed"])
def kept(request: pytest.FixtureRequest, keep: Callable[[bytes | None], Keeping]) -> Keeping:
    return keep(request.param)


@pytest.fixture
def plain(keep: Callable[[bytes | None], Keeping]) -> Keeping:
    return keep(None)


@pytest.fixture
def keyed(keep: Callable[[bytes | None], Keeping]) -> Keeping:
    return keep(KEY)


def harmed(kept: Keeping, harm: Harm, id: str = "s") -> suture.Verified:
    """What is found once that was done."""
    with kept.changing() as now:
        harm(now)
    return kept.verified(id)


def test_a_log_as_it_was_written(kept: Keeping) -> None:
    """Nothing is wrong with a log that nobody touched; where it ends is told."""
    found = harmed(kept, lambda _: None)
    with closing(kept.store()) as store:
        info = store.info("s")
    assert info is not None
    assert (found.ok, found.problem, found.entries, found.erased) == (True, None, MANY, 0)
    assert (found.head, found.chain, found.keyed) == (MANY, info.chain.hex(), kept.key is not None)


def test_erased_bodies_are_counted(kept: Keeping) -> None:
    """What was erased leaves the chain whole, wherever it stood."""
    with closing(kept.store()) as store:
        for id in ("s1", "s4", f"s{MANY}"):
            store.erase("s", id)
    found = kept.verified()
    assert (found.ok, found.entries, found.erased) == (True, MANY, 3)


# What is done to entries ----------------------------------------------------------------------


def remove_and_count_anew(now: Kept) -> None:
    now.drop(3)
    now.shift(4, -1)


def remove_two_and_count_anew(now: Kept) -> None:
    now.drop(3, 4)
    now.shift(5, -2)
    now.end(MANY - 2)


def put_in_between(now: Kept) -> None:
    now.shift(3, 1)
    now.put(now.at(1), 3, id="x", body=b"{}", chain=b"c" * 32)


def move_from_another(now: Kept) -> None:
    """Entry 3 of `t` takes the place of entry 3."""
    now.drop(3)
    now.put(now.at(3, "t"), 3)
    now.drop(3, of="t")


def copy_from_another(now: Kept) -> None:
    now.drop(3)
    now.put(now.at(5, "t"), 3)


def copy_in_between(now: Kept) -> None:
    now.shift(3, 1)
    now.put(now.at(5, "t"), 3)


def copy_behind(now: Kept) -> None:
    now.put(now.at(5, "t"), MANY + 1)
    now.end(MANY + 1, now.at(5, "t").chain)


def move_to_another(now: Kept) -> None:
    now.put(now.at(3), 99, of="t")
    now.drop(3)


def move_to_another_and_count_anew(now: Kept) -> None:
    move_to_another(now)
    now.shift(4, -1)


def leave_what_belongs_to_another(now: Kept) -> None:
    """The whole log of `t` in place of that of `s`, with all that says so."""
    now.entries["s"] = list(now.entries["t"])
    now.end(MANY, now.rows["t"].chain)


@pytest.mark.parametrize(
    ("harm", "what", "seq", "elsewhere"),
    [
        (lambda now: now.set(3, body=b'{"n":"x"}'), "changed", 3, None),
        (lambda now: now.set(3, kind="message"), "changed", 3, None),
        (lambda now: now.set(3, at="2020-01-01"), "changed", 3, None),
        (lambda now: now.set(3, id="x"), "changed", 3, None),
        (lambda now: now.set(3, opens=("approval:1:0",)), "changed", 3, None),
        (lambda now: now.set(1, body=b"{}"), "changed", 1, None),
        (lambda now: now.set(MANY, body=b"{}"), "changed", MANY, None),
        (lambda now: now.set(3, erased=start_of("x")), "changed", 3, None),
        (lambda now: now.set(3, chain=b"c" * 32), "forged", 3, None),
        (lambda now: now.drop(3), "removed", 3, None),
        (lambda now: now.drop(1, 2), "removed", 1, None),
        (remove_and_count_anew, "removed", 3, None),
        (remove_two_and_count_anew, "removed", 3, None),
        (lambda now: now.place(e3=4, e4=3), "reordered", 3, ("s", 4)),
        (lambda now: now.place(e2=7, e7=2), "reordered", 2, ("s", 7)),
        (lambda now: now.place(e1=MANY, e8=1), "reordered", 1, ("s", MANY)),
        (lambda now: now.place(e3=8, e4=3, e5=4, e6=5, e7=6, e8=7), "reordered", 3, ("s", 4)),
        (lambda now: now.place(e6=3, e5=6, e4=5, e3=4), "reordered", 3, ("s", 6)),
        (put_in_between, "forged", 3, ("s", 4)),
        (move_from_another, "moved", 3, ("t", 3)),
        (copy_from_another, "moved", 3, ("t", 5)),
        (copy_in_between, "moved", 3, ("t", 5)),
        (move_to_another, "moved", 3, ("t", 99)),
        (move_to_another_and_count_anew, "moved", 3, ("t", 99)),
        (leave_what_belongs_to_another, "moved", 1, ("t", 1)),
        (lambda now: now.drop(MANY), "cut", MANY, None),
        (lambda now: now.drop(MANY - 2, MANY - 1, MANY), "cut", MANY - 2, None),
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
        "moved here from another",
        "copied over one from another",
        "copied in between from another",
        "moved to another",
        "moved to another and counted anew",
        "the whole log of another",
        "cut by one",
        "cut by three",
    ],
)
def test_what_was_done_is_named(kept: Keeping, harm: Harm, what: str, seq: int, elsewhere: tuple[str, int] | None) -> None:
    """The first entry that is not as it was written is named, what was done to it, and where it is from when that is known."""
    found = harmed(kept, harm)
    assert found.problem is not None
    assert (found.problem.what, found.problem.session, found.problem.seq) == (what, "s", seq)
    assert found.problem.elsewhere == elsewhere
    assert not found.ok
    assert str(seq) in found.problem.sentence


def test_an_entry_put_behind_the_end(kept: Keeping) -> None:
    """It is forged; where lines say themselves where the log ends, it passes for one that was written and changed since."""
    problem = harmed(kept, lambda now: now.put(now.at(5), MANY + 1, id="again")).problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("changed" if isinstance(kept.hand, Jsonl) else "forged", MANY + 1)


def test_an_entry_copied_behind_the_end(keyed: Keeping) -> None:
    """Where it is from is told, although the session's row was set to vouch for it."""
    problem = harmed(keyed, copy_behind).problem
    assert problem is not None
    assert (problem.what, problem.seq, problem.elsewhere) == ("moved", MANY + 1, ("t", 5))


# The end of a log -----------------------------------------------------------------------------


def cut_with_its_row(now: Kept) -> None:
    """Cut the last two entries, and set the row to where the log ends now."""
    now.drop(MANY - 1, MANY)
    now.end(MANY - 2, now.at(MANY - 2).chain)


def cut_to_nothing(now: Kept) -> None:
    now.entries["s"] = []
    now.end(0, b"")


def row_set_back(now: Kept) -> None:
    now.end(5, now.at(5).chain)


def unsealed(now: Kept) -> None:
    cut_with_its_row(now)
    now.rows["s"].seal = b""


def another_sessions_seal(now: Kept) -> None:
    cut_with_its_row(now)
    now.rows["s"].seal = now.rows["t"].seal


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
def test_who_has_no_key_cannot_cut_a_log(keyed: Keeping, harm: Harm, seq: int) -> None:
    """Under a key the record of the end is sealed, so that a log that was cut with its row can be told from one that ends."""
    problem = harmed(keyed, harm).problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("cut", seq)


def test_a_row_that_was_set_back(plain: Keeping) -> None:
    """Where entries follow behind the end that the row tells, the row was changed, not the log."""
    problem = harmed(plain, row_set_back).problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("cut", 6)
    assert "goes on behind that" in problem.sentence


def changed_and_chained_anew(now: Kept) -> None:
    now.set(3, body=b"{}")
    now.chain_anew(3)


def test_who_has_no_key_cannot_chain_anew(keyed: Keeping) -> None:
    """A chain that was made without the key is none, though it fits in itself."""
    problem = harmed(keyed, changed_and_chained_anew).problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("forged", 3)


def test_without_a_key_a_whole_chain_can_be_made_anew(plain: Keeping) -> None:
    """What a chain without a key cannot show, and `keyed` says: who changes it whole leaves no trace in it."""
    before = plain.verified()
    after = harmed(plain, changed_and_chained_anew)
    assert (after.ok, after.keyed) == (True, False)
    assert after.chain != before.chain


def chained_anew_alone(now: Kept) -> None:
    now.set(3, body=b"{}")
    now.set(3, chain=link(now.at(2).chain, "s", 3, now.at(3)))


def test_a_change_that_was_chained_anew_by_itself(plain: Keeping) -> None:
    """Without a key the entry before the first that does not follow may be the one; both are named."""
    problem = harmed(plain, chained_anew_alone).problem
    assert problem is not None
    assert (problem.what, problem.seq) == ("changed", 4)
    assert "entry 3 was" in problem.sentence


# Keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begun", "opened"), [(KEY, None), (None, KEY), (KEY, b"o" * 32)], ids=["no key", "a key too many", "another key"]
)
def test_a_wrong_key_is_no_silent_pass(
    begun: bytes | None, opened: bytes | None, keep: Callable[[bytes | None], Keeping]
) -> None:
    """Under another key, or with one missing, nothing is verified and the error says which key it is."""
    with closing(keep(begun).store(key=opened)) as store, pytest.raises(WrongKey):
        suture.verify(store, "s")


def chained_anew_without_its_seal(now: Kept) -> None:
    now.set(3, body=b"{}")
    now.chain_anew(1)
    now.rows["s"].seal = b""


def test_a_log_without_its_seal_is_no_log_without_a_key(keyed: Keeping) -> None:
    """Who takes the seal away and chains all anew without the key has made a session without a key, and that is no pass."""
    with pytest.raises(WrongKey, match="without a key"):
        harmed(keyed, chained_anew_without_its_seal)


def changed_and_unsealed(now: Kept) -> None:
    now.set(3, body=b"{}")
    now.rows["s"].seal = b""


READS: list[Callable[[Session], object]] = [
    lambda session: session.messages,
    lambda session: session.entries(after=2),
    lambda session: session.request("anthropic"),
    lambda session: session.export("anthropic"),
    lambda session: session.approve("1:0"),
    lambda session: session.fork().messages,
    lambda session: session.fork(at=MANY - 1).messages,
    lambda session: suture.Agent(ScriptedModel([{"text": "It was used."}]), session).run("Go on."),
]


@pytest.mark.parametrize("read", READS)
def test_under_a_key_nothing_is_used_that_was_changed(keyed: Keeping, read: Callable[[Session], object]) -> None:
    """Whoever reads is told which entry it is; no run goes on from it, and a fork from before it does."""
    with closing(keyed.store()) as store:
        with keyed.changing() as now:
            now.set(3, body=b'{"n":"swapped"}')
        with pytest.raises(Corrupt, match=r"entry 3 \(note, id 's3'\) is not what was written there.* fork\(at=2\)"):
            read(Session(store, "s"))
        assert "It was used." not in str([entry.body for entry in store.read("s")])
        before = Session(store, "s").fork(at=2)
        suture.Agent(ScriptedModel([{"text": "From before."}]), before).run("Go on.")
        assert [message.text for message in Session(store, before.id)] == ["Go on.", "From before."]


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda now: now.set(1, body=b"{}"), "entry 1 .*is not what was written there.*restore a backup[.]"),
        (lambda now: now.drop(3), "entry 3 is missing"),
        (lambda now: now.drop(1), "entry 1 is missing"),
        (lambda now: now.place(e3=4, e4=3), "entry 3 "),
        (copy_from_another, "entry 3 "),
        (changed_and_chained_anew, "entry 3 "),
        (changed_and_unsealed, "entry 3 "),
    ],
    ids=["first", "removed", "first removed", "exchanged", "copied", "chained anew", "with its seal taken off"],
)
def test_under_a_key_an_entry_stands_where_it_was_written(keyed: Keeping, harm: Harm, words: str) -> None:
    """What was removed, moved or chained anew is no log to go on from; a session beside it is."""
    with keyed.changing() as now:
        harm(now)
    with closing(keyed.store()) as store:
        with pytest.raises(Corrupt, match=words):
            Session(store, "s").refresh()
        assert len(Session(store, "t").entries()) == MANY


def test_under_a_key_what_came_since_is_looked_at_as_well(keyed: Keeping) -> None:
    """A handle that has read on knows where the next entry stands, and finds one that was changed before it read it."""
    with closing(keyed.store()) as store:
        session = Session(store, "s")
        assert len(session.entries()) == MANY
        session.append("note", {"n": 9})
        assert [entry.data for entry in session.entries(after=MANY)] == [{"n": 9}]
        store.append("s", [Draft("s10", "note", AT, b"{}")])
        with keyed.changing() as now:
            now.set(10, body=b'{"n":"swapped"}')
        with pytest.raises(Corrupt, match="entry 10 "):
            session.refresh()


def test_under_a_key_another_session_of_that_id_is_no_damage(keyed: Keeping) -> None:
    """A handle that knows where the next entry stood of a session that was deleted reads the one made in its place."""
    with closing(keyed.store()) as store:
        session = Session(store, "s")
        session.refresh()
        session.fork(at=MANY - 1)
        store.delete("s")
        for n in range(MANY):
            Session(store, "s").append("note", {"new": n})
        assert [entry.data for entry in session.entries(after=MANY - 1)] == [{"new": MANY - 1}]
        session.fork(at=MANY - 1)
        store.delete("s")
        for n in range(MANY):
            Session(store, "s").append("note", {"newer": n})
        assert session.refresh().last_id == Session(store, "s").refresh().last_id


def test_without_a_key_it_is_verify_that_finds_it(plain: Keeping) -> None:
    """Without a key, or under another than that of the store, reading holds nothing to a chain."""
    with plain.changing() as now:
        now.set(3, body=b"{}")
    for key in (None, KEY):
        with closing(plain.store(key=key)) as store:
            assert len(Session(store, "s").entries()) == MANY


# Forks ----------------------------------------------------------------------------------------


@pytest.fixture
def line(kept: Keeping) -> Iterator[tuple[Keeping, Store]]:
    """A session, a fork of it, and a fork of that, each with entries of its own."""
    with closing(kept.store()) as store:
        child = Session(store, "s").fork(at=6, id="child")
        child.add(User.of("hello"))
        child.fork(id="grandchild").add(User.of("hello"))
        yield kept, store


def test_what_is_shared_is_verified(line: tuple[Keeping, Store]) -> None:
    """A fork is verified with its past, up to where it shares it."""
    kept, store = line
    found = suture.verify(store, "grandchild")
    assert (found.ok, found.entries) == (True, 6 + 2 + 2)
    assert harmed(kept, lambda now: now.set(7, body=b"{}"), "grandchild").ok, "what the parent said later is none of its"
    with kept.changing() as now:
        now.set(2, body=b"{}")
    problem = suture.verify(store, "grandchild").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("changed", "s", 2)


@pytest.mark.parametrize(
    ("harm", "what", "seq"),
    [
        (lambda now: now.rows.pop("s"), "removed", 1),
        (cut_to_nothing, "cut", 1),
        (lambda now: now.drop(4, 5, 6, 7, 8), "cut", 4),
    ],
    ids=["gone", "emptied", "cut"],
)
def test_a_parent_that_does_not_hold_what_is_shared(line: tuple[Keeping, Store], harm: Harm, what: str, seq: int) -> None:
    """A past that is gone, or not there as far as it was shared, is named with its session."""
    kept, store = line
    with kept.changing() as now:
        harm(now)
    problem = suture.verify(store, "grandchild").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == (what, "s", seq)


def test_a_fork_vouches_for_its_past(plain: Keeping) -> None:
    """A parent that was chained anew as a whole is not the one that was forked."""
    with closing(plain.store()) as store:
        Session(store, "s").fork(at=6, id="child")
        assert harmed(plain, changed_and_chained_anew).ok
        problem = suture.verify(store, "child").problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("forged", "s", 6)


def test_a_fork_under_a_key_of_a_past_without(plain: Keeping) -> None:
    """A fork binds a past that had no key to its own, so that it cannot be written anew unseen any more."""
    with closing(plain.store(key=KEY)) as store:
        Session(store, "s").fork(at=6, id="child")
        assert suture.verify(store, "child").ok
        with plain.changing() as now:
            changed_and_chained_anew(now)
        problem = suture.verify(store, "child").problem
    assert problem is not None
    assert (problem.what, problem.session) == ("forged", "s")


# Other forms ----------------------------------------------------------------------------------


def test_what_is_encrypted_is_verified(kept: Keeping) -> None:
    """The chain is over what is kept, so it needs no decrypting, and a changed body is named and not only unreadable."""
    with closing(kept.store()) as inner:
        store = EncryptedStore(inner, {"1": bytes(32)})
        inner.delete("s")
        session = Session(store, "s")
        for text in ("one", "two", "three"):
            session.add(User.of(text))
        fork = session.fork(id="f")
        fork.add(User.of("four"))
        assert suture.verify(store, "f").entries == 5
        with kept.changing() as now:
            now.set(2, body=b"{}")
        problem = fork.verify().problem
    assert problem is not None
    assert (problem.what, problem.session, problem.seq) == ("changed", "s", 2)


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
    """Whatever stands in a row, `verify` says which entry was changed; without a key the log can be read."""
    hand = Sqlite(f"sqlite:///{tmp_path}/s.db")
    kept = Keeping(hand, key)
    hand(f"UPDATE entries SET {odd} WHERE session = (SELECT key FROM sessions WHERE id = 's') AND seq = 3")
    found = kept.verified()
    assert found.problem is not None
    assert found.problem.seq in (1, 3)
    with closing(kept.store()) as store:
        with contextlib.nullcontext() if key is None else pytest.raises(Corrupt, match=f"entry {found.problem.seq} "):
            Session(store, "s").request("anthropic")
        assert Session(store, "t").findings() == []


@pytest.mark.parametrize(("odd", "ok"), ODD_SESSIONS)
def test_a_session_with_odd_values_stops_no_listing(odd: str, ok: bool, tmp_path: Path) -> None:
    """All sessions are listed, the others can be written, and what cannot be told of this one is damage or an error."""
    hand = Sqlite(f"sqlite:///{tmp_path}/s.db")
    kept = Keeping(hand, KEY)
    hand(f"UPDATE sessions SET {odd} WHERE id = 's'")
    assert kept.verified().ok is ok
    with closing(kept.store()) as store:
        assert [info.id for info in store.sessions()] == ["s", "t"]
        Session(store, "t").add(User.of("on"))
        with contextlib.suppress(suture.StoreError):
            store.claim("s", "me", 1)
        Session(store, "s").request("anthropic")
