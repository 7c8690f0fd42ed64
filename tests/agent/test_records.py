"""A session as a record: what is written comes back, is told apart, counted and shown, by any handle in any process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import suture
from suture.entries import MAX_BODY, Compacted, Draft, draft
from suture.messages import Assistant, File, Image, Reasoning, Text, ToolCall, ToolResult, Usage, User
from suture.replay import State
from suture.session import Session, new_id, now
from suture.session.family import transcript_of
from suture.stores import Entry, JsonlStore, Store
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from tests.judges import FORMATS, assert_valid


def fresh() -> Session:
    return Session(MemoryStore(), "s")


def answer(text: str = "", *calls: ToolCall, tokens: int = 0, stop: str | None = None) -> Assistant:
    usage = Usage(input_tokens=tokens, output_tokens=0) if tokens else None
    return Assistant((*((Text(text),) if text else ()), *calls), stop_reason=stop, usage=usage)


def compacted(session: Session, first: int, summary: str = "short") -> int:
    """A compaction as whoever compacts writes it, with its mark."""
    before = State()
    before.fold(session.entries()[: first - 1])
    body = Compacted(summary, first, before.carry())
    return session.store.append(session.id, [draft(new_id(), now(), body, (f"boundary:{first}",))])


# Entries --------------------------------------------------------------------------------------


class AppendAndRead:
    """As little of a store as a session can do with: entries in, entries out, in order."""

    def __init__(self) -> None:
        self.inner = MemoryStore()
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self.inner, name)


@pytest.mark.spec("S90")
def test_a_conversation_needs_a_store_that_appends_and_reads() -> None:
    """What one handle appended the next read of another sees; beside that a store only says where a log may be begun."""
    store = AppendAndRead()
    writer, reader = Session(store, "s"), Session(store, "s")
    store.asked.clear()  # what is asked of an object to see that it is a store
    assert reader.messages == []
    for text in ("one", "two"):
        writer.add(User.of(text))
        writer.steer(text)
        assert reader.messages[-1].text == text
    assert [entry.seq for entry in reader.entries()] == [1, 2, 3, 4]
    assert set(store.asked) <= {"append", "read", "info"}


def retold(session: Session, texts: tuple[str, ...]) -> None:
    """The session deleted and made anew, by somebody else, with those messages."""
    session.store.delete(session.id)
    for text in texts:
        Session(session.store, session.id).add(User.of(text))


@pytest.mark.parametrize("kind", ["plain", "compacted", "fork"])
@pytest.mark.parametrize("texts", [(), ("new",), tuple(f"new {n}" for n in range(20))], ids=len)
@pytest.mark.parametrize("url", ["memory:", "sqlite:///{0}/a.db", "jsonl:///{0}/logs"])
def test_a_handle_knows_nothing_of_a_session_that_was_deleted(
    url: str, texts: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    """Another process deletes it and begins a shorter or longer one under its id: nothing that was said before is read or
    sent by whoever had it open, whatever it was and however it had been read.
    """
    session = Session(suture.open_store(url.format(tmp_path)), "s")
    for n in range(6):
        session.add(User.of(f"old {n}"))
    if kind == "compacted":
        compacted(session, 4, "old summary")
    if kind == "fork":
        session = session.fork(at=4, id="f")
        session.add(User.of("old end"))
    assert session.replay()
    assert session.messages  # read from both ends
    retold(session, texts)
    assert [message.text for message in session.messages] == list(texts)
    assert [message.text for message, _ in session.replay()] == list(texts)
    script = ScriptedModel([{"text": "ok"}])
    suture.Agent(script, session=session).run("next")
    assert [message.text for message in session.messages] == [*texts, "next", "ok"]
    assert "old" not in str(script.requests[0].wire("anthropic"))
    assert session.findings() == []


@pytest.mark.parametrize("texts", [(), ("new",)], ids=len)
def test_a_run_takes_over_a_session_that_was_deleted_before_it_began(texts: tuple[str, ...]) -> None:
    """The first thing that a handle does behind the deletion is to run: it answers what is there now, and comes to an end."""
    session = fresh()
    script = ScriptedModel([{"text": "ok"}] * 3)
    agent = suture.Agent(script, session=session)
    agent.run("old 1")
    agent.run("old 2")
    retold(session, texts)
    agent.run("next")
    assert [message.text for message in script.requests[2].messages] == [*texts, "next"]
    assert [message.text for message in Session(session.store, "s").messages] == [*texts, "next", "ok"]


@pytest.mark.spec("S91")
def test_an_entry_has_its_kind_and_time_and_holds_json() -> None:
    """The time is UTC; tuples become lists; keys of the body that look like an entry's own are its own business."""
    session = fresh()
    before = now()
    session.append("note", {"list": (1, 2.5, None), "kind": "other", "at": "never", "seq": 9})
    (entry,) = session.entries()
    assert entry.data == {"list": [1, 2.5, None], "kind": "other", "at": "never", "seq": 9}
    assert (entry.kind, entry.seq) == ("note", 1)
    assert before <= entry.at <= now()
    assert entry.at.endswith("Z")


@pytest.mark.spec("S91")
@pytest.mark.parametrize("body", [float("nan"), {"x": float("inf")}, {1: "a"}, {"x": {1, 2}}, b"{", object()])
def test_what_is_no_json_is_refused_before_it_is_written(body: object) -> None:
    """Non-finite numbers, keys that are no texts and objects raise; the log is as it was."""
    session = fresh()
    with pytest.raises(suture.NotJson):
        session.append("note", body)
    assert session.entries() == []


@pytest.mark.spec("S92")
def test_an_unknown_kind_is_kept_and_changes_nothing() -> None:
    """A newer version's entry, with marks or without, comes back byte for byte, and the conversation goes on around it."""
    session = fresh()
    session.add(User.of("hi"))
    session.store.append("s", [Draft("x", "hologram", now(), b'{"a":  1}', ("glow:1",))])
    session.add(answer("hello"))
    assert [message.text for message in session] == ["hi", "hello"]
    assert session.entries()[1].body == b'{"a":  1}'
    assert session.findings() == []


def bodies(size: int) -> bytes:
    return b'"' + b"x" * (size - 2) + b'"'


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{place}/agent.db"])
def test_a_body_has_a_largest_size(url: str, tmp_path: Path) -> None:
    """The largest is kept; one byte more is refused with both numbers, and nothing of its batch is written."""
    store = suture.open_store(url.format(place=tmp_path))
    try:
        session = Session(store, "s")
        session.append("note", bodies(MAX_BODY))
        with pytest.raises(
            suture.StoreError, match=r"the body of this note has 67,108,865 bytes, and an entry holds 67,108,864"
        ):
            session.append("note", bodies(MAX_BODY + 1))
        small = Draft("small", "note", now(), b"{}")
        with pytest.raises(suture.StoreError, match="Nothing was written"):
            store.append("s", [small, Draft("large", "note", now(), bodies(MAX_BODY + 1))])
        assert [len(entry.body) for entry in session.entries()] == [MAX_BODY]
    finally:
        store.close()


@pytest.mark.spec("S93", "M-45")
def test_what_was_appended_or_read_can_be_changed_without_harm() -> None:
    """The caller's dict, the body that came back, the call that is shown: each is the caller's own."""
    session = fresh()
    mine: dict[str, Any] = {"list": [1]}
    session.append("note", mine)
    mine["list"].append(2)
    shown = session.entries()[0].data
    assert isinstance(shown, dict)
    shown["list"].append(3)
    arguments: dict[str, object] = {"n": 1}
    session.add(answer("", ToolCall("c1", "act", arguments)))
    arguments["n"] = 2
    call = session.refresh().calls["2:0"].call
    assert call.arguments == {"n": 1}
    assert session.entries()[0].data == {"list": [1]}
    assert Session(session.store, "s").messages[0].parts == (ToolCall("c1", "act", {"n": 1}),)


class Crowded(MemoryStore):
    """A store to which somebody else always appends first, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def append(self, session_id: str, drafts: Sequence[Draft], **options: Any) -> int:
        if options.get("expect") is not None and self.times:
            self.times -= 1
            super().append(session_id, [Draft(new_id(), "note", now(), b"{}")])
        return super().append(session_id, drafts, **options)


@pytest.mark.spec("S95")
def test_a_writer_that_is_overtaken_decides_again_until_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not five times but as long as it has patience; then it says so, and has written nothing."""
    patient = Session(Crowded(40), "s")
    assert patient.deliver_report("scout", "child", "done", "found it") is not None
    assert [entry.kind for entry in patient.entries()] == ["note"] * 40 + ["child_report"]
    monkeypatch.setattr("suture.session.log.PATIENCE", 0.05)
    hurried = Session(Crowded(1_000_000), "s")
    with pytest.raises(suture.Conflict):
        hurried.deliver_report("scout", "child", "done", "found it")
    assert {entry.kind for entry in hurried.entries()} == {"note"}


@pytest.mark.spec("S95", "M-7", "M-46")
def test_many_threads_append_and_each_entry_has_a_place_of_its_own() -> None:
    """Four that append five each make twenty, and a handle that was there before sees them all."""
    session = fresh()
    assert len(session) == 0
    writers = [threading.Thread(target=lambda n=n: [session.append("note", [n, m]) for m in range(5)]) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert [entry.seq for entry in session.entries()] == list(range(1, 21))
    data = [entry.data for entry in session.entries()]
    assert sorted(data) == [[n, m] for n in range(4) for m in range(5)]  # type: ignore[type-var]
    assert session.refresh().head == 20


@pytest.mark.spec("S94", "M-8")
def test_a_log_in_a_file_has_whole_lines_whoever_writes(tmp_path: Path) -> None:
    """Two stores on one directory append at once: a line for each entry, none torn or glued; no file is an empty log."""
    url = f"jsonl:///{tmp_path}/logs"
    with closing(suture.open_store(url)) as one, closing(suture.open_store(url)) as other:
        assert Session(one, "s").messages == []

        def write(store: Store) -> None:
            for n in range(25):
                Session(store, "s").append("note", {"n": n, "text": "x" * 5_000})

        writers = [threading.Thread(target=write, args=(store,)) for store in (one, other)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        assert [entry.seq for entry in Session(one, "s").entries()] == list(range(1, 51))
    lines = [json.loads(line) for line in (tmp_path / "logs" / "s.jsonl").read_bytes().splitlines()]
    assert sorted(line["body"]["n"] for line in lines if "seq" in line) == sorted([*range(25)] * 2)


# Messages -------------------------------------------------------------------------------------


@pytest.mark.spec("S96", "M-50")
def cut(directory: Path, keep: Callable[[int], bool]) -> Session:
    """The session `s` of a store in files, of whose entries only some are left."""
    file = directory / "s.jsonl"
    lines = [(json.loads(line).get("seq", 0), line) for line in file.read_bytes().splitlines(keepends=True)]
    file.write_bytes(b"".join(line for seq, line in lines if not seq or keep(seq)))
    return Session(JsonlStore(directory), "s")


def test_a_log_that_lost_entries_is_read_around_them(tmp_path: Path) -> None:
    """The conversation goes on from what is there; findings and entries name the place."""
    whole = Session(JsonlStore(tmp_path / "logs"), "s")
    for text in ("one", "two", "three", "four"):
        whole.add(User.of(text))
    session = cut(tmp_path / "logs", lambda seq: seq not in (2, 3))
    assert [message.text for message in session] == ["one", "four"]
    assert [(one.seq, one.code) for one in session.findings()] == [(3, "MISSING")]
    assert [(entry.seq, entry.is_lost) for entry in session.entries()] == [(1, False), (3, True), (4, False)]
    assert len(session.log.read(after=1, limit=1)) == 1
    session.add(User.of("five"))
    assert [message.text for message in Session(session.store, "s")] == ["one", "four", "five"]


def test_nothing_runs_twice_behind_a_log_that_was_cut(tmp_path: Path) -> None:
    """Where the end is gone, a decision is refused at once, and a run takes no call up that may have run in it."""
    ran: list[str] = []

    @suture.tool(needs_approval=True)
    def pay(to: str) -> str:
        ran.append(to)
        return "paid"

    def agent(session: Session, *turns: dict[str, Any]) -> suture.Agent:
        return suture.Agent(ScriptedModel(turns), session=session, tools=[pay])

    calls = [{"id": id, "name": "pay", "arguments": {"to": id}} for id in ("a", "b")]
    whole = Session(JsonlStore(tmp_path / "logs"), "s")
    agent(whole, {"calls": calls}).run("go")
    decision = whole.approve("a")
    assert decision is not None
    agent(whole, {"text": "Done."}).resume()
    session = cut(tmp_path / "logs", lambda seq: seq <= decision.seq)
    with pytest.raises(
        suture.Corrupt, match=rf"its log was cut: it went on to \d+, and what is there ends at {decision.seq}"
    ):
        session.deny("b")
    assert agent(session, {"text": "Done."}).resume().status == "unknown_outcome"
    assert ran == ["a"]


def test_a_result_keeps_what_is_for_the_host_and_sends_it_to_nobody() -> None:
    """Usage, stop reason, error and `ui` come back from the log as they went in; no request holds the `ui`."""
    session = fresh()
    session.add(User.of(["look", Image(data="aGk=", media_type="image/png")]))
    session.add(answer("hm", ToolCall("c1", "act", {"n": 2**70}, signature="s"), tokens=7, stop="tool_use"))
    session.add(ToolResult((Text("no"),), call_id="c1", name="act", error=True, error_type="mine", ui={"secret": "panel"}))
    there = Session(session.store, "s")
    assert there.messages == session.messages
    assert there.messages[2].ui == {"secret": "panel"}  # type: ignore[union-attr]
    assert there.usage == Usage(input_tokens=7)
    for format in ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral"):
        assert "panel" not in str(session.request(format))


@pytest.mark.spec("S97")
@pytest.mark.parametrize(
    "message",
    [
        {"role": "wizard", "parts": []},
        {"role": "user", "parts": "hi"},
        {"role": "assistant", "stop_reason": 3},
        {"role": "tool", "parts": [], "call_id": None},
        "hi",
    ],
    ids=["role", "parts", "stop-reason", "no-call", "text"],
)
def test_what_is_no_message_is_refused_where_it_is_written(message: object) -> None:
    """An error for what we write; what is read is kept, as a finding or as a part of a kind that is not known."""
    session = fresh()
    with pytest.raises(suture.InvalidEdit, match="The body is no message"):
        session.append("message", {"message": message})
    assert session.entries() == []
    session.append("message", {"message": {"role": "user", "parts": [{"type": "hologram"}]}})
    assert isinstance(session.messages[0].parts[0], suture.Opaque)


@pytest.mark.spec("S98")
def test_whether_a_result_is_an_error_may_be_unknown() -> None:
    """It is true, false or, of what others wrote, not known; nobody guesses it from the words."""
    session = fresh()
    session.add(answer("", *(ToolCall(f"c{n}", "act", {}) for n in range(3))))
    session.add(ToolResult.of("c0", "Error: it burnt"))
    session.add(ToolResult.of("c1", "fine", error=False))
    session.add(ToolResult.of("c2", "fine", error=True))
    assert [getattr(message, "error", "none") for message in session] == ["none", None, False, True]
    with pytest.raises(suture.InvalidEdit):
        session.append("message", {"message": {"role": "tool", "call_id": "c0", "error": "yes"}})


# Replay ---------------------------------------------------------------------------------------


class Counted(MemoryStore):
    """A store that counts how often it is read, and what; a look at the first entry, by which a fork is known, aside."""

    reads: list[tuple[int, int | None]]

    def __init__(self) -> None:
        super().__init__()
        self.reads = []

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        if (after, limit) != (0, 1):
            self.reads.append((after, limit))
        return super().read(session_id, after, limit)


@pytest.mark.spec("S101", "S102", "M-1")
def test_a_crash_between_two_results_is_healed_in_one_read() -> None:
    """The result that is there stands behind its call, the other is said to be missing, in call order; nothing is written."""
    session = Session(Counted(), "s")
    assert isinstance(session.store, Counted)
    session.add(User.of("go"))
    session.add(answer("", ToolCall("a", "act", {}), ToolCall("b", "act", {})))
    session.add(ToolResult.of("b", "done"))
    session.add(User.of("and?"))
    reader = Session(session.store, "s")
    session.store.reads.clear()
    pairs = reader.replay()
    assert session.store.reads == [(0, None)]
    assert [(message.text, seq) for message, seq in pairs[3:]] == [("done", 3), ("and?", 4)]
    missing, seq = pairs[2]
    assert isinstance(missing, ToolResult)
    assert (missing.call_id, missing.error, seq) == ("a", True, None)
    assert "may have run" in missing.text
    assert session.info().head == 4


@pytest.mark.spec("S100", "S99")
def test_what_a_summary_stands_for_is_not_read() -> None:
    """A new handle begins at the boundary, and builds the request from there; the whole is read on first touch."""
    session = Session(Counted(), "s")
    assert isinstance(session.store, Counted)
    session.store.append("s", [Draft("bad", "message", now(), b"{")])
    for n in range(30):
        session.add(User.of(f"q{n}"))
        session.add(answer(f"a{n}"))
    compacted(session, 60)
    reader = Session(session.store, "s")
    session.store.reads.clear()
    assert [message.text for message, _ in reader.replay()][1:] == ["q29", "a29"]
    request = reader.request("anthropic")
    assert isinstance(request, dict)
    assert len(request["messages"]) == 2
    assert min(after for after, _ in session.store.reads) == 59
    assert reader.last_compaction is not None
    assert (reader.last_compaction.summary, reader.last_compaction.first_kept) == ("short", 60)
    assert len(reader) == 60
    assert reader.find(lambda message: message.text == "q0") is not None
    assert [finding.code for finding in reader.findings()] == ["UNREADABLE"]


@pytest.mark.spec("S109", "S110")
@pytest.mark.parametrize(
    "calls",
    [
        [ToolCall("", "act", {}), ToolCall("", "act", {})],
        [ToolCall("c1", "act", {}), ToolCall("c1", "act", {})],
        [ToolCall("c1", "", {}), ToolCall(" ", "act", {})],
        [ToolCall("ü\ud83d", "act", {}), ToolCall("x" * 80, "a b", None, "{", "invalid_json")],
    ],
    ids=["blank ids", "one id twice", "blank names", "bad letters"],
)
def test_unusable_ids_and_names_do_not_make_a_log_unusable(calls: list[ToolCall]) -> None:
    """They are kept as they came; every call has a key and one result, and what is sent is valid in every format."""
    session = fresh()
    session.add(User.of("go"))
    session.add(answer("", *calls))
    for call in calls:
        session.add(ToolResult((Text("ok"),), call_id=call.id, name=call.name or None))
    session.add(User.of("next"))
    assert list(session.refresh().calls) == ["2:0", "2:1"]
    for format in FORMATS:
        assert_valid(format, session.request(format))


@pytest.mark.spec("M-47")
def test_a_turn_that_was_cut_off_is_sent_as_far_as_it_can_be() -> None:
    """Thinking without a signature and empty words are left out, an empty result says that it is one, the rest is sent."""
    session = fresh()
    session.add(User.of("go"))
    parts = (Reasoning("hm"), Text(""), Text("half"), ToolCall("c1", "act", {}))
    session.add(Assistant(parts, stop_reason="aborted"))
    session.add(ToolResult.of("c1", ""))
    session.add(Assistant((Text(""),), stop_reason="error"))
    session.add(User.of("again"))
    for format in FORMATS:
        request = session.request(format)
        assert_valid(format, request)
    assert isinstance(request, dict)
    assert [one["role"] for one in request["messages"]] == ["user", "assistant", "user"]
    said = request["messages"][1]["content"]
    assert [part["type"] for part in said] == ["text", "tool_use"]
    assert said[0]["text"] == "half"
    assert session.messages[1].parts == parts


# Inbox and children ---------------------------------------------------------------------------


@pytest.mark.spec("S86", "A-21")
def test_a_steer_for_another_turn_is_left_nowhere() -> None:
    """It names the user message that it speaks of; once another came, it is refused, and while none did, it waits."""
    session = fresh()
    first = session.add(User.of("first"))
    session.add(answer("hm"))
    assert session.steer("quick", expected_turn=first.id)
    second = session.add(User.of("second"))
    with pytest.raises(suture.Conflict, match=f"in the turn of the user message '{second.id}', not '{first.id}'"):
        session.steer("slow", expected_turn=first.id)
    assert [message.text for message in session.pending_steers()] == ["quick"]
    compacted(session, 4)
    assert Session(session.store, "s").steer("go on", expected_turn=second.id)


@pytest.mark.spec("S128", "M-44")
def test_a_report_is_delivered_once_for_each_child() -> None:
    """A second report of a child is nothing, from whatever handle; the label says how it ended."""
    session = fresh()
    session.steer("first")
    assert session.deliver_report("scout", "child-1", "done", "All clear.") is not None
    assert Session(session.store, "s").deliver_report("scout", "child-1", "failed", "No.") is None
    session.deliver_report("miner", "child-2", "failed", "It caved in.")
    session.deliver_report("cook", "child-3", "stopped", "half a soup")
    session.deliver_report("clerk", "child-4", "waiting")
    assert [message.text for message in session.pending_inbox()] == [
        "first",
        "The subagent 'scout' has finished:\n\nAll clear.",
        "The subagent 'miner' has failed:\n\nIt caved in.",
        "The subagent 'cook' was stopped.",
        "The subagent 'clerk' reports (status waiting).",
    ]
    assert [message.text for message in session.pending_steers()] == ["first"]
    model = ScriptedModel([{"text": "Noted."}])
    suture.Agent(model, session=session).run("Well?")
    assert [message.text for message in model.requests[0].messages][-3:] == [
        "The subagent 'cook' was stopped.",
        "The subagent 'clerk' reports (status waiting).",
        "Well?",
    ]
    assert session.pending_inbox() == []
    assert session.deliver_report("scout", "child-1", "done") is None, "also once it was delivered"


@pytest.mark.spec("S128")
def test_reports_of_one_child_that_race_are_one() -> None:
    """Whoever appends first reports; a second report that stands in the log all the same is not delivered."""
    session = fresh()
    told: list[object] = []
    racers = [
        threading.Thread(target=lambda: told.append(Session(session.store, "s").deliver_report("a", "c", "done")))
        for _ in range(8)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(30)
    assert sum(entry is not None for entry in told) == 1
    (entry,) = session.entries()
    session.store.append("s", [Draft("again", "child_report", now(), entry.body, ("inbox:x",))])
    assert len(session.pending_inbox()) == 1
    assert [finding.code for finding in session.findings()] == ["REPORT_REPEATED"]


def child(parent: Session, name: str, id: str, *entries: tuple[str, dict[str, object]]) -> Session:
    """A child as subagents keep it: linked in the parent's log, its work in its own."""
    session = Session(parent.store, id)
    raw(parent, "child", {"name": name, "session_id": id})
    for kind, body in entries:
        raw(session, kind, body)
    return session


def raw(session: Session, kind: str, body: dict[str, object]) -> None:
    session.store.append(session.id, [Draft(new_id(), kind, now(), suture.canonical.canonical(body))])


STARTED: tuple[str, dict[str, object]] = ("child_started", {})


def test_a_child_is_linked_runs_and_reports() -> None:
    """A session that is linked is a child: queued, then at work, then what its report says; its parent's model hears of it."""
    parent = fresh()
    parent.add(User.of("Find gold."))
    scout = parent.link_child("scout")
    assert [(one.name, one.id, one.status) for one in parent.children()] == [("scout", scout.id, "queued")]
    seen: list[str] = []

    @suture.tool
    def look() -> str:
        """Look."""
        seen.extend(one.status for one in parent.children())
        return "gold"

    turns: list[Any] = [{"calls": [{"id": "c1", "name": "look", "arguments": {}}]}, {"text": "Gold, at the river."}]
    done = suture.Agent(ScriptedModel(turns), session=scout, tools=[look]).run("Look for gold.")
    assert (seen, [one.status for one in parent.children()]) == (["running"], ["interrupted"])
    parent.deliver_report("scout", scout.id, "done", done.text)
    assert [(one.status, one.report) for one in parent.children()] == [("done", "Gold, at the river.")]
    model = ScriptedModel([{"text": "Dig there."}])
    suture.Agent(model, session=parent).resume()
    assert "Gold, at the river." in str(model.requests[0].wire("anthropic"))
    origins = {entry.get("origin") for entry in parent.transcript(include_children=True)}
    assert origins == {None, f"scout#{scout.id[:8]}"}


def test_a_child_that_is_linked_again() -> None:
    """Whoever links once more, after a crash say, has the same child and one link; many at once too."""
    parent = fresh()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Session(parent.store, parent.id).link_child("scout", "c"), range(8)))
    assert {one.id for one in made} == {"c"}
    assert [entry.kind for entry in parent.entries()] == ["child"]
    parent.link_child("scout", "d")
    assert [(one.name, one.id) for one in parent.children()] == [("scout", "c"), ("scout", "d")]


@pytest.mark.parametrize(
    ("name", "id", "words"),
    [
        (" ", None, "needs a name"),
        (None, None, "needs a name"),
        ("scout", "s", "cannot work for itself"),
        ("cook", "c", "as 'scout' already, not as 'cook'"),
    ],
)
def test_a_child_that_cannot_be_linked(name: Any, id: str | None, words: str) -> None:
    """What is wrong with it is said, and nothing is written."""
    parent = Session(MemoryStore(), "s")
    parent.link_child("scout", "c")
    with pytest.raises(suture.InvalidEdit, match=words):
        parent.link_child(name, id)
    assert len(parent.entries()) == 1


@pytest.mark.spec("S138", "M-9", "M-10")
def test_children_are_what_their_logs_say() -> None:
    """Name and order are those of the links; how each stands follows from its own log and whether somebody runs it."""
    parent = fresh()
    child(parent, "queued", "c0")
    child(parent, "running", "c1", STARTED)
    parent.store.claim("c1", "another-boot:1:2:3:nonce", 60)
    child(parent, "cut off", "c2", STARTED)
    child(parent, "done", "c3", STARTED, ("child_result", {"status": "done", "report": "gold"}))
    child(parent, "failed", "c4", STARTED, ("child_result", {"status": "failed", "error": "rock"}))
    twice: list[tuple[str, dict[str, object]]]
    twice = [("child_result", {"status": "failed", "error": "x"}), ("child_result", {"status": "stopped"})]
    child(parent, "stopped", "c5", STARTED, *twice)
    child(parent, "never began", "c6")
    parent.deliver_report("never began", "c6", "failed", "the runner died")
    assert [(one.name, one.id, one.status, one.report, one.error) for one in parent.children()] == [
        ("queued", "c0", "queued", None, None),
        ("running", "c1", "running", None, None),
        ("cut off", "c2", "interrupted", None, None),
        ("done", "c3", "done", "gold", None),
        ("failed", "c4", "failed", None, "rock"),
        ("stopped", "c5", "stopped", None, None),
        ("never began", "c6", "failed", None, "the runner died"),
    ]


# Transcripts ----------------------------------------------------------------------------------


@pytest.mark.spec("S137")
def test_a_transcript_leaves_media_out() -> None:
    """Of a picture, file or sound the kind and size are shown; of a provider's own parts too; the log keeps the data."""
    session = fresh()
    session.add(User.of(["see", Image(data="QUJD" * 9, media_type="image/png"), File(data="QUJD", name="a.pdf")]))
    session.append("mine", {"deep": [{"mime_type": "audio/wav", "data": "QUJDRA=="}], "data": "kept"})
    shown = session.transcript()
    assert [entry["seq"] for entry in shown] == [1, 2]
    body = shown[0]["body"]
    assert isinstance(body, dict)
    assert body["message"]["parts"][1:] == [
        {"type": "image", "media_type": "image/png", "omitted": "36 characters of data"},
        {"type": "file", "name": "a.pdf", "omitted": "4 characters of data"},
    ]
    assert shown[1]["body"] == {"deep": [{"mime_type": "audio/wav", "omitted": "8 characters of data"}], "data": "kept"}
    assert "QUJDQUJD" in str(session.messages)
    assert "origin" not in shown[0]


def test_a_transcript_shows_what_is_nested_deep_up_to_a_level() -> None:
    """A body of any depth has a line, which ends where nobody would read on."""
    session = fresh()
    session.store.append("s", [Draft("x", "mine", now(), b"[" * 700 + b"]" * 700)])
    body = str(session.transcript()[0]["body"])
    assert body.count("[") == 200
    assert "what is nested deeper than 200 levels" in body


def told(entries: Iterable[dict[str, object]]) -> list[tuple[object, object, object]]:
    return [(entry["kind"], entry["seq"], entry.get("origin")) for entry in entries]


@pytest.mark.spec("S137", "M-48")
def test_children_stand_behind_their_links_once() -> None:
    """Each is opened once, with its origin and its parents' before it; a link to itself, to a parent or a second time is
    shown and not followed.
    """
    parent = fresh()
    parent.add(User.of("go"))
    scout = child(parent, "scout", "0123456789", STARTED)
    miner = child(scout, "miner", "abcdefghij", STARTED)
    child(miner, "loop", "abcdefghij")
    child(miner, "up", "s")
    child(parent, "again", "0123456789")
    child(parent, "empty", "nowhere")
    deep = "scout#01234567>miner#abcdefgh"
    entries = transcript_of(parent.store, "s", include_children=True)
    assert told(islice(entries, 20)) == [  # no more, should it ever go round in a circle
        ("message", 1, None),
        ("child", 2, None),
        ("child_started", 1, "scout#01234567"),
        ("child", 2, "scout#01234567"),
        ("child_started", 1, deep),
        ("child", 2, deep),
        ("child", 3, deep),
        ("child", 3, None),
        ("child", 4, None),
    ]
    assert [entry["kind"] for entry in parent.transcript()] == ["message", "child", "child", "child"]


def test_a_chain_of_a_thousand_children_is_shown() -> None:
    """How deep children have children is bounded by nothing but memory."""
    parent = Session(MemoryStore(), "0")
    for n in range(1, 1_500):
        child(Session(parent.store, str(n - 1)), "c", str(n))
    assert len(parent.transcript(include_children=True)) == 1_499


# Tokens ---------------------------------------------------------------------------------------


def spoken(session: Session) -> object:
    return session.add(User.of("x" * 400))


@pytest.mark.spec("S130", "M-36")
@pytest.mark.parametrize(
    ("write", "tokens"),
    [
        (lambda _: None, 0),
        (spoken, 100),
        (lambda s: (spoken(s), s.add(answer(""))), 100),
        (lambda s: (spoken(s), s.add(answer("so", tokens=1_000))), 1_000),
        (lambda s: (spoken(s), s.add(answer("so", tokens=1_000)), spoken(s), s.add(User.of("abcde"))), 1_102),
        (lambda s: (s.add(answer("so", tokens=1_000)), spoken(s), s.add(answer("x" * 40, tokens=9, stop="error"))), 1_110),
        (lambda s: (s.add(answer("x" * 40, tokens=9, stop="aborted")), spoken(s)), 110),
        (
            lambda s: (s.add(answer("so", tokens=1_000)), s.add(User.of([Image(data="eA==", media_type="image/png")]))),
            2_200,
        ),
        (lambda s: (s.add(User.of("a")), s.add(answer("so", tokens=1_000)), spoken(s), compacted(s, 3)), 121),
        (lambda s: (s.add(User.of("a")), spoken(s), s.add(answer("b" * 40, tokens=1_000)), compacted(s, 2)), 131),
        (lambda s: (s.add(User.of("a")), spoken(s), compacted(s, 2), s.add(answer("so", tokens=70))), 70),
    ],
    ids=[
        "nothing",
        "estimated",
        "an empty answer",
        "reported",
        "reported and more",
        "a failed one reports nothing",
        "nor does a stopped one",
        "a picture",
        "summarised",
        "reported before the summary",
        "reported behind it",
    ],
)
def test_tokens_are_those_reported_last_and_an_estimate_of_the_rest(
    write: Callable[[Session], object], tokens: int
) -> None:
    """Four characters are a token; what was reported before the last compaction speaks of another conversation."""
    session = fresh()
    write(session)
    assert session.context_tokens == tokens


def test_the_async_session_has_the_same() -> None:
    """Children, reports, transcripts and tokens, awaited where they read."""

    async def story() -> tuple[object, ...]:
        session = suture.AsyncSession(MemoryStore(), "s")
        first = await session.add(User.of("x" * 40))
        await session.steer("quick", expected_turn=first.id)
        await session.deliver_report("scout", "c", "done")
        assert (await session.link_child("scout", "c")).id == "c"
        children = [one.status for one in await session.children()]
        entries = await session.transcript(include_children=True)
        compacted(session.plain, 1)
        await session.refresh()
        late = suture.AsyncSession(session.store, "s")
        await late.refresh()
        assert late.last_compaction == session.last_compaction
        assert [message.text for message in late.messages] == ["x" * 40]
        return children, len(entries), session.context_tokens, len(late)

    assert asyncio.run(story()) == (["done"], 4, 31, 1)


# Crashes --------------------------------------------------------------------------------------


@pytest.mark.spec("A-5")
def test_turns_that_stand_are_there_after_a_crash_in_the_next(tmp_path: Path) -> None:
    """Two turns were finished and the third was cut off: another process has both, and goes on with the third."""
    url = f"sqlite:///{tmp_path}/agent.db"

    @suture.tool(effect="read")
    def look(n: int) -> str:
        """Look."""
        if n == 3:
            raise KeyboardInterrupt
        return f"saw {n}"

    store: Store = suture.open_store(url)
    steps = [{"calls": [{"id": f"c{n}", "name": "look", "arguments": {"n": n}}]} for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        suture.Agent(ScriptedModel(steps), tools=[look], session=Session(store, "s")).run("Look.")
    store.close()
    store = suture.open_store(url)
    there = Session(store, "s")
    assert [message.text for message in there if isinstance(message, ToolResult)] == ["saw 1", "saw 2"]
    assert there.orphaned_tool_call_ids() == ["c3"]
    store.close()
