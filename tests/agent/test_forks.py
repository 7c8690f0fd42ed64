"""Forks: a session that shares the past of another by reference, and goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import suture
from suture import AsyncSession, Session, User
from suture.entries import Draft, Entry, Fork, Linked, MessageBody, draft, mark
from suture.errors import (
    AlreadyDecided,
    Corrupt,
    InvalidEdit,
    NoSuchApproval,
    SessionNotFound,
    WrongKey,
)
from suture.messages import Assistant, ToolResult
from suture.stores import MemoryStore, SessionInfo, SqliteStore, Store, open_store
from suture.testing import ScriptedModel
from tests.judges import FORMATS, assert_valid
from tests.postgres import at_place
from tests.rules.logs import AT, Log, call, shape

LONG = 3_000
DEPTH = 600


def put(store: Store, id: str, log: Log) -> Session:
    """A session that holds that log."""
    store.append(id, [Draft(one.id, one.kind, one.at, one.body, one.opens, one.closes) for one in log.entries])
    return Session(store, id)


def eventful() -> Log:
    """A log in which every kind of call is open at some position: pending, parked, decided, started, released, foreign."""
    log = Log()
    log.begun()
    log.user()
    log.answer("", call("c1", n=1), call("c2"), call("c3"))
    asked = log.asked("3:0", call("c1", n=1))
    log.started("3:1")
    log.steer()
    log.decided(asked, "3:0", call("c1", n=1), True)
    log.interrupt("wait")
    log.settled("3:1", "released")
    log.started("3:0")
    log.result("c1", "paid", key="3:0")
    log.started("3:1", attempt=2)
    log.ended("interrupted")
    log.foreign(call("c4"), call("c1"))
    log.result("c4", "looked up")
    log.user("and?")
    log.answer("Both.")
    return log


def work(name: str, total: int = 1) -> dict[str, Any]:
    return {"id": name, "name": "pay", "arguments": {"total": total}}


@suture.tool(needs_approval=lambda arguments: arguments["total"] > 500)
def pay(total: int) -> str:
    """Pay."""
    return f"paid {total}"


def agent(session: Session, *turns: dict[str, Any]) -> suture.Agent:
    return suture.Agent(ScriptedModel(turns), session, tools=[pay])


def parked(store: Store, id: str = "s") -> Session:
    """A session in which a call of 900 waits for a person, and one of 5 is paid."""
    session = Session(store, id)
    agent(session, {"calls": [work("big", 900), work("small", 5)]}).run("Pay.")
    return session


# What a fork shares ---------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(1, len(eventful().entries) + 1))
def test_a_fork_anywhere_is_valid(at: int) -> None:
    """Wherever a log is forked, nothing is open in the fork, what is recorded is the same, and a request is valid."""
    store = MemoryStore()
    parent = put(store, "s", eventful())
    before = parent.replay(), parent.open_approvals(), parent.unknown_outcomes(), parent.pending_inbox()
    fork = parent.fork(at)
    assert fork.messages == parent.messages[: len(fork.messages)]
    assert [entry.seq for entry in fork.entries()] == list(range(1, at + 2))
    assert [entry.id for entry in fork.entries()][:at] == [entry.id for entry in parent.entries()][:at]
    assert [(one["seq"], one["id"]) for one in fork.transcript()] == [(entry.seq, entry.id) for entry in fork.entries()]
    assert (fork.open_approvals(), fork.unknown_outcomes(), fork.pending_inbox()) == ([], [], [])
    assert (fork.orphaned_tool_call_ids(), fork.refresh().open_calls(), fork.refresh().run) == ([], [], None)
    assert (fork.info().marks, fork.info().status) == ({}, "idle")
    for format in FORMATS:
        assert_valid(format, fork.request(format))
    fork.add(User.of("go on"))
    for format in FORMATS:
        assert_valid(format, fork.request(format))
    assert before == (parent.replay(), parent.open_approvals(), parent.unknown_outcomes(), parent.pending_inbox())


@pytest.mark.parametrize(
    ("at", "key", "words"),
    [
        (3, "3:0", "was not run: this conversation was forked before it was run"),
        (4, "3:0", "was not run: it waited for a person's approval where this conversation was forked, and was withdrawn"),
        (7, "3:0", "was not run: what was decided about it is good only in the conversation that this one was forked off"),
        (5, "3:1", "did not finish: it was started in the conversation that this one was forked off. No result"),
        (9, "3:1", "was not run: this conversation was forked before it was run"),
        (14, "14:0", "did not finish: this conversation was forked before a result of it was there. No result"),
    ],
    ids=["pending", "parked", "decided", "started", "released", "foreign"],
)
def test_what_closes_a_call_says_what_the_log_knows(at: int, key: str, words: str) -> None:
    """Not run, withdrawn and may have run are told apart, and a call of which nothing is known was never 'not run'."""
    fork = put(MemoryStore(), "s", eventful()).fork(at)
    state = fork.refresh()
    answer = state.calls[key].paired.answers[state.calls[key].slot]
    assert answer is not None
    assert words in answer.result.text
    assert answer.position == at + 1


def test_a_fork_in_the_middle_of_a_turn() -> None:
    """Between a call and its result the fork has the call without that result, and the parent's later result never comes."""
    log = Log()
    log.user()
    log.answer("", call("c1"), call("c2"))
    log.result("c1", "one", key="2:0")
    store = MemoryStore()
    parent = put(store, "s", log)
    fork = parent.fork()
    log.result("c2", "two", key="2:1")
    store.append("s", [Draft(one.id, one.kind, one.at, one.body) for one in log.entries[3:]])
    assert shape([message for message, _ in parent.replay()]) == ["u:go", "a:[c1,c2]", "t(c1):one", "t(c2):two"]
    assert shape([message for message, _ in fork.replay()]) == ["u:go", "a:[c1,c2]", "t(c1):one", "t(c2)!not_run"]
    fork.add(ToolResult.of("c2", "its own"))
    assert shape([message for message, _ in fork.replay()])[-1] == "t(c2):its own"


def test_both_go_on_by_themselves() -> None:
    """What either says after the fork is its own."""
    store = MemoryStore()
    parent = Session(store, "s")
    agent(parent, {"text": "Hello."}).run("Hi.")
    fork = parent.fork(id="f")
    agent(parent, {"text": "Parent."}).run("And?")
    result = agent(fork, {"calls": [work("c", 5)]}, {"text": "Fork."}).run("And you?")
    assert (result.status, result.text) == ("completed", "Fork.")
    assert [message.text for message in parent] == ["Hi.", "Hello.", "And?", "Parent."]
    assert [message.text for message in fork] == ["Hi.", "Hello.", "And you?", "", "paid 5", "Fork."]
    assert [message.text for message in Session(store, "f")] == [message.text for message in fork]
    seqs = [seq for _, seq in fork.replay()]
    assert seqs == sorted(set(seqs), key=lambda seq: seq or 0)


def test_a_fork_is_one_entry_however_long_the_past_is() -> None:
    """What a fork writes, and what it reads to be made, does not grow with its parent."""
    read: list[int] = []

    class Counting(MemoryStore):
        def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
            found = super().read(session_id, after, limit)
            read.append(len(found))
            return found

    costs = []
    for length in (30, LONG):
        store = Counting()
        put(store, "s", turns(length))
        parent = Session(store, "s")
        read.clear()
        parent.fork(id="f")
        costs.append(sum(read))
        assert [entry.kind for entry in store.read("f")] == ["fork"]
        assert len(store.read("f")[0].body) < 200
    assert costs[0] == costs[1] <= 3


def turns(length: int) -> Log:
    log = Log()
    for _ in range(length // 2):
        log.user()
        log.answer("yes")
    return log


def test_what_lies_before_a_shared_boundary_is_not_read() -> None:
    """The parent's compaction is named by the fork under the same position, and reading from there on touches nothing else."""
    read: list[tuple[str, int, int | None]] = []

    class Counting(MemoryStore):
        def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
            read.append((session_id, after, limit))
            return super().read(session_id, after, limit)

    store = Counting()
    put(store, "s", turns(LONG))
    compacted = Draft("k", "compaction", AT, b"{}", (mark("boundary", str(LONG - 10)),))
    store.append("s", [compacted])
    put_behind(store, "s", turns(6))
    fork = Session(store, "s").fork(id="f")
    grandchild = fork.fork(id="g")
    for session in (fork, grandchild):
        info = Session(store, session.id).info()
        assert (info.boundary, info.marks) == (LONG - 10, {f"boundary:{LONG - 10}": LONG + 1})
        read.clear()
        entries = Session(store, session.id).entries(after=LONG - 11)
        assert [entry.seq for entry in entries] == list(range(LONG - 10, LONG + 8 + (session is grandchild) + 1))[
            : len(entries)
        ]
        assert not [one for one in read if one[2] != 1 and one[0] == "s" and one[1] < LONG - 11]
    early = Session(store, "s").fork(at=LONG, id="early")
    assert early.info().boundary == 0


def put_behind(store: Store, id: str, log: Log) -> None:
    store.append(id, [Draft(f"later-{one.id}", one.kind, one.at, one.body) for one in log.entries])


# Forks of forks -------------------------------------------------------------------------------


def test_forks_of_forks() -> None:
    """A fork can be forked, behind its own beginning or before it, and each sees what lies before it."""
    store = MemoryStore()
    parent = Session(store, "a")
    parent.add(User.of("one"))
    parent.add(User.of("two"))
    child = parent.fork(id="b")
    child.add(User.of("three"))
    grandchild = child.fork(id="c")
    grandchild.add(User.of("four"))
    beside = child.fork(at=1, id="d")
    beside.add(User.of("other"))
    texts = {id: [message.text for message in Session(store, id)] for id in "abcd"}
    assert texts == {
        "a": ["one", "two"],
        "b": ["one", "two", "three"],
        "c": ["one", "two", "three", "four"],
        "d": ["one", "other"],
    }
    assert [entry.seq for entry in grandchild.entries()] == [1, 2, 3, 4, 5, 6]
    assert [entry.seq for entry in grandchild.entries(after=2)] == [3, 4, 5, 6]
    assert grandchild.log.read(1, 3) == grandchild.entries()[1:4]
    store.delete("b")
    assert [message.text for message in Session(store, "d")] == ["one", "other"], "what it shares is the first one's"


def test_a_long_line_of_forks() -> None:
    """Forks may follow one another as often as one likes, each made from the handle of the last one, with its source of ids."""
    store = MemoryStore()
    numbers = count()
    session = Session(store, "0", ids=lambda: f"mine {next(numbers)}")
    session.add(User.of("0"))
    for depth in range(1, DEPTH):
        session = session.fork(id=str(depth))
        session.add(User.of(str(depth)))
    assert [message.text for message in Session(store, session.id)] == [str(depth) for depth in range(DEPTH)]
    assert session.messages[-1].id == f"mine {DEPTH - 1}"


# What goes on in a fork -----------------------------------------------------------------------


def test_authority_does_not_go_over() -> None:
    """A call that waits in the parent is decided there and nowhere else, and a decision there runs nothing in the fork."""
    store = MemoryStore()
    parent = parked(store)
    fork = parent.fork(id="f")
    for name in ("big", "3:0"):
        with pytest.raises(NoSuchApproval):
            fork.approve(name)
    parent.approve("big")
    decided = parent.fork(id="g")
    result = agent(decided, {"text": "It was not paid."}).resume()
    assert (result.status, result.text) == ("completed", "It was not paid.")
    assert not [message for message in decided if "paid 900" in message.text]
    agent(parent, {"text": "Paid."}).resume()
    assert [message.text for message in parent if isinstance(message, ToolResult)] == ["paid 5", "paid 900"]


def test_a_fork_has_approvals_of_its_own() -> None:
    """A call that parks in a fork is named by a position of the fork, and is approved under it from anywhere, once."""
    store = MemoryStore()
    fork = parked(store).fork(id="f")
    agent(fork, {"calls": [work("more", 800)]}).run("More.")
    (waiting,) = Session(store, "f").open_approvals()
    assert fork.info().marks == {f"approval:{waiting.key}": fork.refresh().calls[waiting.key].request.seq}  # type: ignore[union-attr]
    entry = Session(store, "f").approve("more", digest=waiting.digest)
    assert entry is not None
    assert entry.seq == fork.info().head == fork.entries()[-1].seq
    with pytest.raises(AlreadyDecided):
        fork.deny(waiting.key)
    assert agent(fork, {"text": "Done."}).resume().status == "completed"
    assert [message.text for message in fork if isinstance(message, ToolResult)] == ["paid 5", "paid 800"]
    assert [id for id, _ in suture.open_approvals(store)] == ["s"]


def test_an_idempotency_key_is_the_forks_own() -> None:
    """The same position in two forks is two calls, so an idempotent tool is told two keys."""
    keys = []

    @suture.tool(effect="idempotent")
    def buy(ctx: suture.ToolContext) -> str:
        """Buy."""
        keys.append(ctx.idempotency_key)
        return "bought"

    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("Buy."))
    for id in ("f", "g"):
        model = ScriptedModel([{"calls": [{"id": "c", "name": "buy", "arguments": {}}]}, {"text": "Done."}])
        suture.Agent(model, parent.fork(id=id), tools=[buy]).run("Now.")
    assert len(set(keys)) == 2


def test_a_fork_takes_steers_and_interrupts_of_its_own() -> None:
    """What waits in the parent's inbox is delivered there alone, and the fork's in the fork."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    parent.steer("for the parent")
    fork = parent.fork(id="f")
    fork.steer("for the fork")
    assert [message.text for message in fork.pending_inbox()] == ["for the fork"]
    agent(fork, {"text": "Yes."}).resume()
    assert [message.text for message in fork] == ["one", "for the fork", "Yes."]
    assert [message.text for message in parent.pending_inbox()] == ["for the parent"]
    assert fork.interrupt().seq == fork.info().head


def test_an_outcome_is_settled_in_the_fork_that_started_it() -> None:
    """A call that was started in a fork and lost is unknown and settled there, under a position of the fork."""
    store = MemoryStore()
    fork = parked(store).fork(id="f")
    log = Log()
    log.answer("", call("c9"))
    at = fork.log.append([Draft(one.id, one.kind, one.at, one.body) for one in log.entries])
    log.entries.clear()
    log.started(f"{at}:0")
    fork.log.append([Draft("start", log.entries[0].kind, AT, log.entries[0].body, (mark("started", f"{at}:0"),))])
    assert [one.key for one in fork.unknown_outcomes()] == [f"{at}:0"]
    assert fork.settle("c9", "completed", "it was sent", force=True).seq == at + 2
    assert fork.info().marks == {f"settled:{at}:0": at + 2}
    assert [message.text for message, _ in fork.replay() if isinstance(message, ToolResult)][-1] == "it was sent"


def test_a_call_that_runs_may_fork_its_session(tmp_path: Path) -> None:
    """Inside a handler the session can be forked; its own call is unfinished there and finished in the parent."""

    @suture.tool
    def branch(ctx: suture.ToolContext) -> str:
        """Fork."""
        assert isinstance(ctx.session, Session)
        return ctx.session.fork(id="f").id

    with closing(SqliteStore(tmp_path / "s.db")) as store:
        session = Session(store, "s")
        model = ScriptedModel([{"calls": [{"id": "c", "name": "branch", "arguments": {}}]}, {"text": "Done."}])
        assert suture.Agent(model, session, tools=[branch]).run("Fork.").status == "completed"
        assert shape([message for message, _ in Session(store, "f").replay()]) == [
            "u:Fork.",
            "a:[c]",
            "t(c)!unknown",
        ]
        assert agent(Session(store, "f"), {"text": "I will look."}).resume().text == "I will look."


def test_async_sessions_fork() -> None:
    """`AsyncSession.fork` gives an AsyncSession that an AsyncAgent runs."""
    store = MemoryStore()

    async def main() -> tuple[str, list[str]]:
        parent = AsyncSession(store, "s")
        await parent.add(User.of("one"))
        fork = await parent.fork(id="f")
        result = await suture.AsyncAgent(ScriptedModel([{"text": "Yes."}]), fork).run("two")
        return result.text, [message.text for message in fork]

    assert asyncio.run(main()) == ("Yes.", ["one", "two", "Yes."])


def test_a_handle_that_was_opened_before_the_fork_was_made() -> None:
    """A handle on an id without entries reads, and writes, as the fork that somebody else makes of it meanwhile."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    early, other = Session(store, "f"), Session(store, "f")
    assert early.messages == []
    parent.fork(id="f")
    early.steer("hello")
    assert early.info().head == 3
    assert [message.text for message in early] == ["one"]
    assert other.interrupt().seq == 4


def edit_what_is_shared(session: Session) -> None:
    session.update(id="m1", content="edited")


def remove_what_is_shared(session: Session) -> None:
    session.remove("m1")


def begin_anew(session: Session) -> None:
    session.set([User.of("anew", id="m9")])


def discard(session: Session) -> None:
    session.add(Assistant((call("c1"),)))
    session.discard_pending_tool_calls()


@pytest.mark.parametrize("edit", [edit_what_is_shared, remove_what_is_shared, begin_anew, discard])
@pytest.mark.parametrize("edited", ["parent", "fork"])
def test_an_edit_is_of_the_session_that_it_is_made_in(edit: Callable[[Session], None], edited: str) -> None:
    """What is edited in one of both stays as it was in the other, and is valid and found again in its own."""
    store = MemoryStore()
    parent = Session(store, "parent")
    for n in (1, 2):
        parent.add(User.of(f"words {n}", id=f"m{n}"))
    parent.fork(id="fork")
    other = "fork" if edited == "parent" else "parent"
    before = Session(store, other).messages
    edit(Session(store, edited))
    assert Session(store, other).messages == before
    found = Session(store, edited)
    assert found.messages != before
    assert not found.findings()
    for format in FORMATS:
        assert_valid(format, found.request(format))
    again = found.fork()
    assert again.messages == found.messages


def test_an_edit_before_the_fork_is_shared() -> None:
    """A fork behind an edit has the message as it was edited, one before it as it was."""
    store = MemoryStore()
    parent = Session(store, "parent")
    parent.add(User.of("words 1", id="m1"))
    edit_what_is_shared(parent)
    assert [message.text for message in parent.fork()] == ["edited"]
    assert [message.text for message in parent.fork(at=1)] == ["words 1"]


# What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, -1, 3, 99])
def test_a_place_that_is_not_there(at: int) -> None:
    """A fork names a position of the log."""
    session = Session(MemoryStore(), "s")
    session.add(User.of("one"))
    session.add(User.of("two"))
    with pytest.raises(InvalidEdit, match="it has 1 to 2"):
        session.fork(at)


def test_an_id_that_is_taken() -> None:
    """A fork is a new session; one that holds only meta can become it."""
    store = MemoryStore()
    session = Session(store, "s")
    session.add(User.of("one"))
    Session(store, "planned", meta={"user": "ann"})
    assert session.fork(id="planned").info().meta == {"user": "ann"}
    for id in ("s", "planned"):
        with pytest.raises(InvalidEdit, match="already"):
            session.fork(id=id)


def test_nothing_to_share() -> None:
    """A session that holds nothing cannot be forked."""
    with pytest.raises(SessionNotFound, match="holds no session 's'"):
        Session(MemoryStore(), "s").fork()


def test_a_parent_under_a_key(tmp_path: Path) -> None:
    """A past under a key is forked under the key, since nobody could verify the fork otherwise; one without may be."""
    with closing(SqliteStore(tmp_path / "s.db")) as plain, closing(SqliteStore(tmp_path / "s.db", key=b"k" * 16)) as keyed:
        Session(keyed, "kept").add(User.of("one"))
        Session(plain, "open").add(User.of("one"))
        with pytest.raises(WrongKey):
            Session(plain, "kept").fork()
        assert [message.text for message in Session(keyed, "open").fork(id="f")] == ["one"]
        assert Session(keyed, "kept").fork().info().seal


# A parent that is gone or changed -------------------------------------------------------------


def gone(parent: Session) -> None:
    parent.store.delete("s")


def begun_anew(parent: Session) -> None:
    parent.store.delete("s")
    Session(parent.store, "s").add(User.of("another"))


@pytest.mark.parametrize("lose", [gone, begun_anew])
def test_a_parent_that_is_gone(lose: Callable[[Session], None]) -> None:
    """The error names both sessions; what a store knows of the fork itself can still be asked for."""
    store = MemoryStore()
    parent = Session(store, "s")
    for text in ("one", "two"):
        parent.add(User.of(text))
    parent.fork(id="f").add(User.of("three"))
    lose(parent)
    with pytest.raises(SessionNotFound, match=r"'f' is a fork of 's' and shares its past, which is gone"):
        Session(store, "f").request("anthropic")
    assert isinstance(Session(store, "f").info(), SessionInfo)


def test_a_fork_without_its_past_stops_no_listing(caplog: pytest.LogCaptureFixture) -> None:
    """What waits elsewhere is found, and the log names what could not be read; nothing that can be read is an error."""
    store = MemoryStore()
    fork = parked(store).fork(id="f")
    agent(fork, {"calls": [work("more", 800)]}).run("More.")
    store.delete("s")
    with pytest.raises(SessionNotFound, match="'f' is a fork of 's'"):
        suture.open_approvals(store)
    parked(store, "other")
    assert [id for id, _ in suture.open_approvals(store)] == ["other"]
    assert "'f' is a fork of 's' and shares its past, which is gone" in caplog.text


def test_a_child_without_its_past_stops_no_question() -> None:
    """It counts as failed, with why, until it has reported; the transcript shows what is left of it."""
    store = MemoryStore()
    gone = parked(store).fork(id="f")
    gone.add(User.of("mine"))
    store.delete("s")
    session = Session(store, "p")
    store.append("p", [draft("link", AT, Linked("worker", "f"))])
    (child,) = session.children()
    assert child.status == "failed"
    assert "'f' is a fork of 's' and shares its past, which is gone" in (child.error or "")
    assert [entry["kind"] for entry in session.transcript(include_children=True)] == ["child", "fork", "message"]
    session.deliver_report("worker", "f", "done", "42")
    assert [(one.status, one.report) for one in session.children()] == [("done", "42")]


def test_a_transcript_begins_with_what_is_shared() -> None:
    """It shows a fork as its log is read."""
    fork = parked(MemoryStore()).fork(id="f")
    assert [entry["seq"] for entry in fork.transcript()] == [entry.seq for entry in fork.entries()]


@pytest.mark.parametrize("at", [0, -5, 10**30])
def test_a_fork_at_no_position_is_refused(at: int) -> None:
    """An entry that lies about its place hides none of those behind it: reading says so."""
    store = MemoryStore()
    Session(store, "s").add(User.of("one"))
    store.append("f", [draft("fork", AT, Fork("s", at, "")), draft("m", AT, MessageBody(User.of("two")))])
    with pytest.raises(Corrupt, match=f"'f' is a fork at {at}, which is no position of a log"):
        Session(store, "f").request("anthropic")


@pytest.mark.parametrize("compaction", [10**30, -1, 7])
def test_a_fork_that_lies_about_its_compaction_is_read_from_the_beginning(compaction: int, tmp_path: Path) -> None:
    """No store is asked for a position that cannot be."""
    with closing(SqliteStore(tmp_path / "agent.db")) as store:
        Session(store, "s").add(User.of("one"))
        lie = draft("fork", AT, Fork("s", 1, "", compaction), (mark("boundary", "1"),))
        store.append("f", [lie, draft("m", AT, MessageBody(User.of("two")))])
        assert [message.text for message in Session(store, "f")] == ["one", "two"]


def test_a_parent_that_is_another_one_now() -> None:
    """A past that is not the one that was forked is a finding."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    parent.fork(id="f")
    assert not Session(store, "f").findings()
    store.delete("s")
    Session(store, "s").add(User.of("another"))
    (finding,) = Session(store, "f").findings()
    assert (finding.seq, finding.code) == (2, "FORK_CHANGED")
    assert "'s'" in finding.sentence


def test_a_damaged_parent_lends_no_more_than_is_shared(tmp_path: Path) -> None:
    """Where an entry of the shared past is missing, none that the parent wrote later takes its place."""
    store = open_store(f"jsonl:///{tmp_path / 'logs'}")
    parent = Session(store, "s")
    for text in ("one", "two", "three"):
        parent.add(User.of(text))
    parent.fork(id="f")
    parent.add(User.of("the parent's"))
    store.close()
    file = tmp_path / "logs" / "s.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(line for line in lines if b'"two"' not in line))
    store = open_store(f"jsonl:///{tmp_path / 'logs'}")
    assert [(entry.seq, entry.is_lost) for entry in Session(store, "f").entries()] == [
        (1, False),
        (2, True),
        (3, False),
        (4, False),
    ]
    assert "the parent's" not in str(Session(store, "f").entries())
    store.close()


@pytest.fixture(params=["memory:", "sqlite:///{here}/s.db", "jsonl:///{here}/logs", "postgresql:"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store of each kind."""
    if request.param == "postgresql:":
        return at_place(request.getfixturevalue("postgres"), tmp_path)
    return str(request.param).format(here=tmp_path)


@pytest.mark.parametrize("key", [None, b"k" * 16], ids=["plain", "keyed"])
def test_forks_over_every_store(url: str, key: bytes | None) -> None:
    """A fork reads, runs, is verified, edited and found again the same in each; its parent is as it was."""
    with closing(open_store(url, key=key)) as store:
        parent = parked(store)
        before = parent.entries()
        fork = parent.fork(id="f")
        assert agent(fork, {"calls": [work("c", 7)]}, {"text": "Done."}).run("More.").text == "Done."
        again = Session(store, "f").fork(id="g")
        early = again.fork(at=2, id="early")
        assert early.forked_from() == ("s", 2)
        assert [message.text for message in again] == [message.text for message in fork]
        again.add(User.of("Mine."))
        again.unset()
        assert len(again) == 0
        assert len(fork) > 0
        for one in (parent, fork, again, early):
            found = one.verify()
            assert (found.ok, found.entries, found.keyed) == (True, one.info().head, key is not None)
        assert Session(store, "s").entries() == before
        assert [one.key for one in parent.open_approvals()]


def test_one_id_is_forked_into_once(url: str) -> None:
    """Of many who fork into one id at the same time one does; the others are told that it is taken."""
    with closing(open_store(url)) as store:
        Session(store, "s").add(User.of("one"))

        def attempt(n: int) -> bool:
            try:
                Session(store, "s").fork(id="f").add(User.of(str(n)))
            except InvalidEdit:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(16))) == 1
        assert [entry.kind for entry in store.read("f")] == ["fork", "message"]


def test_an_origin_that_was_erased() -> None:
    """Without the entry that names the parent the session cannot be read, and says so."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    fork = parent.fork(id="f")
    store.erase("f", store.read("f")[0].id)
    assert fork.store is store
    with pytest.raises(Corrupt, match="'f' is a fork"):
        Session(store, "f").request("anthropic")


def test_a_fork_that_names_itself() -> None:
    """A log that says that it is forked off itself, or off its own fork, is refused and read for ever by nobody."""
    store = MemoryStore()
    for id, parent, at in (("a", "a", 1), ("b", "c", 2), ("c", "b", 2)):
        store.append(id, [draft(f"{id}1", AT, Fork(parent, at, "00")), draft(f"{id}2", AT, Fork(parent, at, "00"))])
        with pytest.raises((Corrupt, SessionNotFound)):
            Session(store, id).request("anthropic")


def test_a_fork_in_the_middle_of_a_log_is_none() -> None:
    """An entry of that kind where no session begins closes nothing, and is reported."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.put(Fork("x", 7, "00"))
    state = log.state
    assert [finding.code for finding in state.findings] == ["FORK_INVALID"]
    assert [one.key for one in state.open_calls()] == ["2:0"]


def test_a_later_answer_of_the_parents_reaches_no_fork() -> None:
    """The fork's own messages are what follows, whatever the parent's log holds under the same positions."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    fork = parent.fork(id="f")
    parent.add(Assistant.of("parent's"))
    fork.add(Assistant.of("fork's"))
    assert [message.text for message in Session(store, "f")] == ["one", "fork's"]
