"""Erasing a body, and exporting a whole conversation: what is left is valid, and says what is gone."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import suture
from suture import AsyncSession, Session, User
from suture.entries import Compacted, draft, mark
from suture.errors import InvalidEdit, SessionNotFound
from suture.replay import State
from suture.stores import Draft, MemoryStore, SqliteStore, Store
from suture.testing import ScriptedModel
from tests.judges import FORMATS, assert_valid
from tests.rules.logs import AT, Log, call, shape

SECRET = "4929 1234 5678"


def call_of(name: str, **arguments: object) -> dict[str, Any]:
    return {"id": name, "name": "look", "arguments": arguments}


@suture.tool(needs_approval=lambda arguments: "ask" in arguments["what"])
def look(what: str) -> str:
    """Look."""
    return f"{what}: {SECRET}"


def talked(store: Store, id: str = "s") -> Session:
    """Two turns of calls, each answered, and a third that waits."""
    session = Session(store, id)
    turns: list[dict[str, Any]] = [
        {"text": "I look.", "calls": [call_of("c1", what=SECRET)]},
        {"calls": [call_of("c2", what="again"), call_of("c3", what="more")]},
        {"calls": [call_of("c4", what="ask")]},
    ]
    suture.Agent(ScriptedModel(turns), session, tools=[look]).run(f"My card is {SECRET}.")
    return session


@pytest.mark.parametrize("at", range(1, 14))
def test_a_request_without_what_was_erased(at: int) -> None:
    """Whatever entry is erased, a request is valid, its body is in none, and the place is a finding."""
    store = MemoryStore()
    session = talked(store)
    assert session.info().head == 13, "each entry is erased once"
    entry = session.entries()[at - 1]
    body = entry.body
    session.erase(entry.id)
    session.erase(entry.id)
    found = Session(store, "s")
    assert [finding.code for finding in found.findings() if finding.seq == at] == ["ERASED"]
    assert session.findings() == found.findings(), "the handle that erased it has let go of it"
    for format in FORMATS:
        assert_valid(format, found.request(format))
    assert found.verify().ok
    assert not [one for one in found.entries() if one.body == body]


@pytest.mark.parametrize("at", range(1, 14))
def test_nothing_runs_because_it_was_erased(at: int) -> None:
    """A call whose answer or whose question was erased is not run once more, and no other result answers it."""
    store = MemoryStore()
    session = talked(store)
    answers = {message.id: message for message in session if isinstance(message, suture.ToolResult)}
    session.erase(session.entries()[at - 1].id)
    ran: list[str] = []

    @suture.tool(name="look", needs_approval=lambda arguments: "ask" in arguments["what"])
    def again(what: str) -> str:
        """Look."""
        ran.append(what)
        return "again"

    suture.Agent(ScriptedModel([{"text": "Done."}]), Session(store, "s"), tools=[again]).resume()
    assert not ran
    for message, _ in Session(store, "s").replay():
        if isinstance(message, suture.ToolResult) and message.id in answers:
            assert message.text == answers[message.id].text


def test_a_result_of_an_erased_turn_answers_no_other() -> None:
    """A wire id that comes back names another call; the result of the one that is gone is set aside."""
    log = Log()
    log.user()
    log.answer("", call("c1"))
    log.user("and?")
    log.answer("", call("c1"))
    log.result("c1", "of the second", key="4:0")
    log.user("so?")
    store = MemoryStore()
    store.append("s", [Draft(one.id, one.kind, one.at, one.body) for one in log.entries])
    Session(store, "s").erase("e4")
    session = Session(store, "s")
    assert shape([message for message, _ in session.replay()]) == ["u:go", "a:[c1]", "t(c1)!not_run", "u:and?", "u:so?"]
    assert [finding.code for finding in session.findings()] == ["ERASED", "RESULT_ORPHAN"]


def test_what_is_shared_is_erased_for_all(tmp_path: Path) -> None:
    """A fork erases an entry of its past where it is held, and the body leaves the file."""
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        parent = Session(store, "s")
        parent.add(User.of(f"My card is {SECRET}."))
        fork = parent.fork(id="f")
        fork.erase(parent.entries()[0].id)
        assert [finding.code for finding in Session(store, "f").findings()] == ["ERASED"]
        assert [finding.code for finding in Session(store, "s").findings()] == ["ERASED"]
        assert Session(store, "f").verify().ok
    assert SECRET.encode() not in (tmp_path / "s.db").read_bytes()


def test_a_forks_origin_stays() -> None:
    """The entry that says what a session was forked off cannot be erased, from it or from a fork of it."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    fork = parent.fork(id="f")
    fork.add(User.of("two"))
    for session in (fork, fork.fork(id="g")):
        with pytest.raises(InvalidEdit, match="'f'"):
            session.erase(store.read("f")[0].id)


def test_what_the_parent_said_later_is_not_the_forks() -> None:
    """An entry that the fork does not share is none of its entries."""
    store = MemoryStore()
    parent = Session(store, "s")
    parent.add(User.of("one"))
    fork = parent.fork(id="f")
    later = parent.append("note", {})
    with pytest.raises(SessionNotFound, match="has no entry"):
        fork.erase(later.id)


def test_an_unknown_entry_names_the_near_ones() -> None:
    """An id with a slip finds the entry that was meant; nothing is erased."""
    store = MemoryStore()
    store.append("s", [Draft("first-entry", "note", AT, b"{}")])
    with pytest.raises(SessionNotFound, match=r"Did you mean 'first-entry'\?"):
        Session(store, "s").erase("first-entri")
    with pytest.raises(SessionNotFound, match=r"holds no session 't'"):
        Session(store, "t").erase("first-entry")
    assert not store.read("s")[0].erased


# Export ---------------------------------------------------------------------------------------


def compacted(store: Store) -> Session:
    """A session that was compacted at its fourth message."""
    session = Session(store, "s")
    log = Log()
    for n in range(4):
        log.user(f"question {n}")
        log.answer("", call("c1"))
        log.result("c1", f"found {n}", key=f"{4 * n + 2}:0")
        log.answer(f"answer {n}")
    before = State()
    before.fold(log.entries[:8])
    store.append("s", [Draft(one.id, one.kind, one.at, one.body) for one in log.entries])
    store.append("s", [draft("k", AT, Compacted("what was said", 9, before.carry()), (mark("boundary", "9"),))])
    return session


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral"])
def test_an_export_is_the_whole_conversation(format: str) -> None:
    """What a compaction hides from requests is exported in every format, and nothing is wrong with it."""
    session = compacted(MemoryStore())
    history: Any = session.export(format)
    assert not [one for one in suture.diagnose(history, format=format) if one.severity == "REJ"]
    words = str(history)
    assert all(f"question {n}" in words and f"found {n}" in words for n in range(4))
    assert "what was said" not in words
    assert "question 0" not in str(session.request(format))


def test_an_export_of_a_fork_is_that_of_both() -> None:
    """A fork exports what it shares and what is its own."""
    store = MemoryStore()
    parent = talked(store)
    fork = parent.fork(id="f")
    fork.add(User.of("And now?"))
    history: Any = fork.export("anthropic")
    assert_valid("anthropic", history)
    assert "And now?" in str(history["messages"][-1])
    assert len(history["messages"]) > 4


def test_async_sessions_erase_and_export() -> None:
    """`AsyncSession` has the same names."""
    store = MemoryStore()
    session = talked(store)

    async def main() -> object:
        handle = AsyncSession(store, "s")
        await handle.erase(session.entries()[1].id)
        return await handle.export("openai-chat")

    assert asyncio.run(main()) == Session(store, "s").export("openai-chat")


# Forks of what was compacted ------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, b"k" * 16], ids=["plain", "keyed"])
def test_a_fork_of_a_compacted_session_asks_as_it_does(key: bytes | None) -> None:
    """A fork behind a compaction begins to read at its boundary, and sends what its parent sends; one before it all."""
    store = MemoryStore(key=key)
    parent = compacted(store)
    fork = Session(store, parent.fork(id="f").id)
    assert fork.request("anthropic") == parent.request("anthropic")
    assert fork.refresh().start == 8
    assert not fork.findings()
    fork.add(User.of("And now?"))
    again = Session(store, fork.fork(id="g").id)
    assert (again.refresh().start, again.request("anthropic")) == (8, fork.request("anthropic"))
    early = parent.fork(at=16, id="early")
    assert early.refresh().start == 0
    assert "question 0" in str(early.request("anthropic"))
