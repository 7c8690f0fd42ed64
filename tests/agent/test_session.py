"""A session: what any process can read, say and decide, and what it is told when it cannot."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

import suture
from suture.canonical import canonical
from suture.entries import MarkKind, Settled
from suture.messages import Assistant, Opaque, ToolCall, ToolResult, User
from suture.replay import State
from suture.session import Session, new_id, now
from suture.stores import Draft, EncryptedStore, SessionInfo, Store
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from tests.rules.logs import Log, call


@suture.tool(effect="external", needs_approval=True)
def pay(total: int) -> str:
    """Pay."""
    return f"paid {total}"


def parked(total: int = 900) -> Session:
    """A session with one call that waits for a person."""
    session = Session(MemoryStore(), "s")
    script = ScriptedModel([{"calls": [{"id": "c1", "name": "pay", "arguments": {"total": total}}]}, {"text": "Done."}])
    result = suture.Agent(script, tools=[pay], session=session).run("Pay.")
    assert result.status == "awaiting_approval"
    return session


def two_under_one_id(session: Session) -> None:
    """Two calls that wait for a person, in a turn that another program wrote: no model's may have one id twice."""
    session.add(User.of("Pay both."))
    session.add(Assistant(tuple(ToolCall("c1", "pay", {"total": n}) for n in (1, 2))))
    suture.Agent(ScriptedModel([]), tools=[pay], session=session).resume()


def resumed(session: Session) -> list[str]:
    suture.Agent(ScriptedModel([{"text": "Done."}]), tools=[pay], session=session).resume()
    return [message.text for message in session.messages]


@pytest.mark.spec("S89")
def test_the_same_id_in_the_same_store_is_the_same_session() -> None:
    """Another handle sees what one wrote; a missing id becomes a new one."""
    store = MemoryStore()
    one = Session(store)
    one.add(User.of("hi"))
    assert [message.text for message in Session(store, one.id)] == ["hi"]
    assert Session(store).id != one.id


@pytest.mark.spec("S2")
def test_a_message_gets_an_id_that_stays() -> None:
    """`add` returns what was recorded; an id that the caller gives is kept."""
    session = Session(MemoryStore())
    assert session.add(User.of("hi")).id
    assert session.add(User.of("hi", id="mine")).id == "mine"
    assert [message.id for message in session] == [session.messages[0].id, "mine"]
    assert len(session) == 2


@pytest.mark.spec("S20", "S21", "S22")
def test_queries_speak_of_what_is_recorded() -> None:
    """Orphans are found in the whole history, pending calls on the last answer only."""
    session = Session(MemoryStore())
    assert session.pending_tool_calls() == (None, [])
    session.add(Assistant((ToolCall("a", "f", {}),)))
    session.add(User.of("and?"))
    last = session.add(Assistant((ToolCall("b", "f", {}), ToolCall("c", "f", {}))))
    session.add(ToolResult.of("c", "ok"))
    assert session.orphaned_tool_call_ids() == ["a", "b"]
    assert session.pending_tool_calls() == (last, [ToolCall("b", "f", {})])
    assert session.final_assistant_message == last
    assert session.find(lambda message: message.text == "ok") == session.messages[-1]


@pytest.mark.spec("S105")
def test_reading_writes_nothing() -> None:
    """Healing is a view: replay and request leave the log as it is."""
    session = Session(MemoryStore(), heal=False)
    session.add(Assistant((ToolCall("a", "f", {}),)))
    session.add(User.of("hm"))
    before = session.entries()
    healed = Session(session.store, session.id)
    assert len(healed.replay()) == 3
    assert healed.request("anthropic")
    assert [message for message, _ in session.replay()] == session.messages
    assert session.entries() == before


# Decisions ------------------------------------------------------------------------------------


@pytest.mark.spec("S117", "S118")
def test_an_approval_shows_all_that_a_person_needs() -> None:
    """Call, effect, description, schema and digest come from the log: no agent, no tools."""
    (approval,) = parked().open_approvals()
    assert (approval.key, approval.call.name, approval.call.arguments) == ("3:0", "pay", {"total": 900})
    assert (approval.effect, approval.description, approval.decision) == ("external", "Pay.", None)
    assert approval.parameters == {
        "additionalProperties": False,
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
        "type": "object",
    }


@pytest.mark.spec("S141", "S119")
def test_an_approved_call_runs_once_with_its_sibling_decisions() -> None:
    """Approve by key or by wire id; the same decision again is nothing."""
    session = parked()
    assert session.approve("c1", note="fine", by="ann") is not None
    assert session.approve("3:0", by="bob") is None
    assert resumed(session) == ["Pay.", "", "paid 900", "Done."]
    assert session.approve("c1") is None, "a late repeat of what was decided is nothing"


@pytest.mark.spec("S143")
def test_a_denial_tells_the_model_why_and_is_no_error() -> None:
    """The model reads the note; the handler never ran."""
    session = parked()
    session.deny("c1", note="wrong account")
    assert resumed(session) == ["Pay.", "", "A person decided that this call must not run: wrong account.", "Done."]
    result = session.messages[2]
    assert isinstance(result, ToolResult)
    assert result.error is False


def test_a_reviewer_may_edit_the_arguments() -> None:
    """What was approved is what runs, and what the model is told that it ran with; the log keeps what it wrote."""
    session = parked()
    session.approve("c1", arguments={"total": 5}, by="ann", note="less")
    (approval,) = session.open_approvals()
    assert (approval.decision, approval.by, approval.note) == (True, "ann", "less")
    assert approval.edited == ToolCall("c1", "pay", {"total": 5})
    assert resumed(session)[2] == "paid 5"
    sent = session.request("anthropic")
    assert isinstance(sent, dict)
    assert sent["messages"][1]["content"][0]["input"] == {"total": 5}
    written = session.messages[1]
    assert isinstance(written, Assistant)
    assert written.calls[0].arguments == {"total": 900}


@pytest.mark.parametrize("edit", [5, True, 900.0])
def test_an_edit_made_in_what_was_shown_is_an_edit(edit: object) -> None:
    """What is handed out is a copy, and edits compare exactly: 1, 1.0 and true are not the same."""
    session = parked(1)
    shown = session.open_approvals()[0].call.arguments
    assert shown is not None
    shown["total"] = edit
    if edit == 5:
        session.approve("c1", arguments=shown)
        assert resumed(session)[2] == "paid 5"
    else:
        with pytest.raises(suture.InvalidEdit, match="The edited arguments do not fit 'pay'"):
            session.approve("c1", arguments={"total": True} if edit is True else {"total": "900"})
        session.approve("c1")
        assert resumed(session)[2] == "paid 1"


def test_a_key_is_not_shadowed_by_a_wire_id() -> None:
    """A model that calls itself 3:0 makes the name ambiguous; nothing is approved by accident."""
    session = Session(MemoryStore(), "s")
    calls = [{"id": id, "name": "pay", "arguments": {"total": n}} for n, id in enumerate(("a", "3:0"))]
    suture.Agent(ScriptedModel([{"calls": calls}]), tools=[pay], session=session).run("Pay both.")
    with pytest.raises(suture.AmbiguousCall, match=r"fits several calls: 3:0, 3:1"):
        session.approve("3:0")
    assert session.approve("3:1") is not None


def test_a_decision_means_the_call_that_was_there_when_it_was_made() -> None:
    """While ann decides, bob decides and the run parks another call of the same id: hers is not spent on that one."""
    session = parked(1)
    meddled: list[object] = []

    class Overtaken(Session):
        def _read(self, look: Callable[[State], Any]) -> Any:
            found = super()._read(look)
            if not meddled:  # between her look and her append
                meddled.append(session.approve("c1", by="bob"))
                suture.Agent(ScriptedModel([{"text": "Paid."}]), tools=[pay], session=session).resume()
                session.add(Assistant((ToolCall("c1", "pay", {"total": 999}),)))
                suture.Agent(ScriptedModel([]), tools=[pay], session=session).resume()
            return found

    other = Overtaken(session.store, "s")
    assert other.approve("c1", by="ann") is None, "the call that she meant was approved before"
    (waiting,) = session.open_approvals()
    assert (waiting.call.arguments, waiting.decision) == ({"total": 999}, None)


def test_a_result_of_the_hosts_own_closes_what_it_answers() -> None:
    """Of two calls under one id a result answers the first, and that call's marks are the ones that close."""
    session = Session(MemoryStore(), "s")
    two_under_one_id(session)
    session.add(ToolResult.of("c1", "paid by hand"))
    assert list(session.info().marks) == ["approval:2:1"]
    session.append("message", {"message": {"role": "tool", "call_id": "c1", "parts": []}, "key": "2:1"})
    assert session.info().marks == {}


def test_readers_and_a_run_share_a_handle() -> None:
    """A thread that reads the session of a run sees whole states, whatever the run folds meanwhile."""
    session = Session(MemoryStore(), "s")
    turns = [{"calls": [{"id": f"c{turn}_{n}", "name": "look"} for n in range(40)]} for turn in range(5)]
    broken: list[BaseException] = []
    over = threading.Event()

    @suture.tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    def read() -> None:
        try:
            while not over.is_set():
                session.orphaned_tool_call_ids()
                session.replay()
                session.open_approvals()
        except Exception as error:  # noqa: BLE001  whatever it is, it must not be
            broken.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        script = ScriptedModel([*turns, {"text": "ok"}])
        assert suture.Agent(script, tools=[look], session=session).run("Look around.").status == "completed"
    finally:
        over.set()
        reader.join(30)
    assert not broken


@pytest.mark.parametrize("outcome", ["completed", "failed", "released"])
def test_a_call_that_a_live_run_holds_is_not_settled(outcome: Settled) -> None:
    """The real result is still to come; only `force` says that the operator knows better."""
    session = Session(MemoryStore(), "s")
    refused: list[str] = []

    @suture.tool
    def send() -> str:
        """Send."""
        try:
            Session(session.store, "s").settle("c1", outcome)
        except suture.InvalidEdit as error:
            refused.append(str(error))
        return "sent"

    script = ScriptedModel([{"calls": [{"id": "c1", "name": "send"}]}, {"text": "ok"}])
    suture.Agent(script, tools=[send], session=session).run("Send.")
    assert len(refused) == 1
    assert "The call 3:0 (send) is running now." in refused[0]
    assert session.messages[2].text == "sent"


def nested(levels: int) -> dict[str, object]:
    return {"in": nested(levels - 1)} if levels > 1 else {}


REFUSALS: list[tuple[str, Callable[[Session], object], type[Exception], str]] = [
    ("no such call", lambda s: s.approve("c9"), suture.NoSuchApproval, "No call 'c9' waits for a decision. Those that wait: 3:0 (pay)."),
    ("another digest", lambda s: s.approve("c1", digest="abc"), suture.NoSuchApproval, "not abc: it is not the call that was shown. Look at `open_approvals()` again before deciding."),
    ("arguments that do not fit", lambda s: s.approve("c1", arguments={"total": "5"}), suture.InvalidEdit, "The edited arguments do not fit 'pay': 'total': expected an integer, but a string came."),
    ("arguments that are a list", lambda s: s.approve("c1", arguments=["total", 5]), suture.InvalidEdit, "The edited arguments are an object, such as {'total': 5}, not ['total', 5]."),  # type: ignore[arg-type]
    ("a kind that is no text", lambda s: s.append(["mine"], {}), suture.InvalidEdit, "The kind of an entry is a text, not ['mine']."),  # type: ignore[arg-type]
    ("decided the other way", lambda s: (s.deny("c1", by="bob"), s.approve("c1")), suture.AlreadyDecided, "The call 3:0 (pay) was denied by bob before, and that decision stands."),
    ("approved with other arguments", lambda s: (s.approve("c1", arguments={"total": 5}), s.approve("c1")), suture.AlreadyDecided, "The call 3:0 (pay) was approved with other arguments before"),
    ("a blank steer", lambda s: s.steer(" \n"), suture.InvalidEdit, "A steer needs words; this one is blank."),
    ("settling what is not lost", lambda s: s.settle("c1", "completed"), suture.InvalidEdit, "The call 3:0 (pay) is parked, and waits for no settlement. Those that wait: none."),
    ("settling nothing", lambda s: s.settle("x", "completed"), suture.InvalidEdit, "No call 'x' waits for a settlement. Those that wait: none."),
    ("no outcome", lambda s: s.settle("c1", "maybe"), suture.InvalidEdit, "'maybe' is no outcome; say completed, failed or released."),  # type: ignore[arg-type]
    ("a kind of suture's own", lambda s: s.append("approval_decision", {"approved": True}), suture.InvalidEdit, "'approval_decision' is a kind of suture's own"),
    ("a body that is no JSON", lambda s: s.append("mine", {"at": {1, 2}}), suture.NotJson, "$.at: set is not JSON; convert it to text, a list or a dict first."),
    ("bytes that are no JSON", lambda s: s.append("mine", b"{"), suture.NotJson, "The body is no JSON:"),
    ("a message nested too deep", lambda s: s.add(User((Opaque("x", nested(300)),))), suture.NotJson, "This message is nested deeper than 200 levels, and was not written down."),
    ("a message that is none", lambda s: s.append("message", {"message": {"role": "wizard"}}), suture.InvalidEdit, "The body is no message: Invalid value 'wizard' - at `$.message.role`. `append_message` takes one that is."),
    ("words that are no message", lambda s: s.add("hi"), suture.InvalidEdit, "'hi' is no message. `suture.load_messages` reads those of a wire format; `suture.User.of(text)` makes one."),  # type: ignore[arg-type]
    ("a wire message", lambda s: s.append_message({"role": "user"}), suture.InvalidEdit, "{'role': 'user'} is no message."),  # type: ignore[arg-type]
    ("a text in the place of parts", lambda s: s.add(User("hi")), suture.NotJson, "$.parts: str is no tuple of parts; `User.of(...)` makes one."),  # type: ignore[arg-type]
    ("nothing in the place of parts", lambda s: s.add(User(None)), suture.NotJson, "$.parts: NoneType is no tuple of parts; `User.of(...)` makes one."),  # type: ignore[arg-type]
    ("a message under a number", lambda s: s.add(User.of("hi", id=7)), suture.NotJson, "Expected `str | null`, got `int` - at `$.id`"),  # type: ignore[arg-type]
    ("a call with no number", lambda s: s.add(Assistant((ToolCall("c2", "pay", {"total": float("nan")}),))), suture.NotJson, "$.parts[0].arguments.total: nan is no JSON number"),
    ("messages, one of them none", lambda s: s.set([User.of("hi"), User("hi")]), suture.NotJson, "$.parts: str is no tuple of parts"),  # type: ignore[arg-type]
    ("an approver who is a number", lambda s: s.approve("c1", by=42), suture.InvalidEdit, "This approval_decision could not be read again, and was not written down: Expected `str | null`, got `int` - at `$.by`."),  # type: ignore[arg-type]
    ("a note that is no text", lambda s: s.deny("c1", note={"why": "no"}), suture.InvalidEdit, "Expected `str | null`, got `object` - at `$.note`."),  # type: ignore[arg-type]
    ("an interrupt for a number", lambda s: s.interrupt(3), suture.InvalidEdit, "This interrupt could not be read again, and was not written down: Expected `str | null`, got `int` - at `$.reason`."),  # type: ignore[arg-type]
    ("a report of a number", lambda s: s.deliver_report("kid", 7, "done"), suture.InvalidEdit, "Expected `str`, got `int` - at `$.session_id`."),  # type: ignore[arg-type]
    ("an integer that no reader takes", lambda s: s.append("mine", 10**5000), suture.NotJson, "Pass such a number as a text."),
    ("meta that no reader takes", lambda s: Session(s.store, "s", meta={"n": 10**5000}), suture.NotJson, "Pass such a number as a text."),
    ("meta that is no mapping", lambda s: Session(s.store, "s", meta="ada"), suture.ConfigurationError, "The meta of a session is a mapping such as {'user': 'ada'}, not 'ada'."),  # type: ignore[arg-type]
    ("meta that holds a set", lambda s: Session(s.store, "s", meta={"tags": {1}}), suture.NotJson, "meta.tags: set is not JSON"),
    ("a kind that only runs write", lambda s: s.append("child", {}), suture.InvalidEdit, "which its methods and its runs write. Choose another kind for what is yours."),
    ("a fork at a text", lambda s: s.fork(at="3"), suture.InvalidEdit, "A position to fork at is a number, the seq of an entry in `session.entries()`, not '3'."),  # type: ignore[arg-type]
    ("a store at no URL", lambda _: suture.open_store(None), suture.ConfigurationError, "The URL of a store is a text such as 'sqlite:///agent.db', not None."),  # type: ignore[arg-type]
    ("a steer that is no text", lambda s: s.steer(None), suture.InvalidEdit, "A steer is a text, not None."),  # type: ignore[arg-type]
    ("a session under a number", lambda s: Session(s.store, 42), suture.ConfigurationError, "The id of a session is a text, not 42. Give str(...) of it."),  # type: ignore[arg-type]
    ("a lease without an end", lambda s: suture.Agent(ScriptedModel([]), session=s, lease=float("inf")), suture.ConfigurationError, "lease a finite number of seconds above 0"),
    ("a lease of no length", lambda s: suture.Agent(ScriptedModel([]), session=s, lease=float("nan")), suture.ConfigurationError, "lease a finite number of seconds above 0"),
    ("a blank prompt", lambda s: suture.Agent(ScriptedModel([]), session=s).run("  "), suture.ConfigurationError, "The prompt is blank."),
    ("a prompt while calls wait", lambda s: suture.Agent(ScriptedModel([]), session=s).run("hm"), suture.AwaitingApproval, "These calls wait for a person, or for `resume` once decided: 3:0 (pay)."),
]  # fmt: skip


@pytest.mark.parametrize(("hazard", "act", "error", "text"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_a_refusal_names_what_is_wrong_and_writes_nothing(
    hazard: str, act: Callable[[Session], object], error: type[Exception], text: str
) -> None:
    """Every refusal says what to do next; of the refused thing nothing is in the log."""
    session = parked()
    with pytest.raises(error) as refused:
        act(session)
    assert text in str(refused.value), hazard
    kinds = [entry.kind for entry in session.entries()]
    assert len(kinds) - 5 == kinds.count("approval_decision") <= 1


def test_an_error_names_some_of_many_calls() -> None:
    """However many wait, the text stays short, and the error holds all keys."""
    session = Session(MemoryStore(), "s")
    calls = [{"id": f"c{n}", "name": "pay", "arguments": {"total": n}} for n in range(50)]
    agent = suture.Agent(ScriptedModel([{"calls": calls}]), session=session, tools=[pay])
    agent.run("go")
    with pytest.raises(suture.NoSuchApproval, match=r"3:19 \(pay\) and 30 more\."):
        session.approve("c99")
    with pytest.raises(suture.AwaitingApproval, match=r"3:19 \(pay\) and 30 more\.") as refused:
        agent.run("hm")
    assert len(refused.value.calls) == 50


def test_an_id_that_fits_two_calls_is_ambiguous() -> None:
    """The error names the keys; a key is never ambiguous."""
    session = Session(MemoryStore(), "s")
    two_under_one_id(session)
    with pytest.raises(
        suture.AmbiguousCall, match=r"The id 'c1' fits several calls: 2:0, 2:1. Name one by its key."
    ) as refused:
        session.approve("c1")
    assert refused.value.keys == ("2:0", "2:1")
    assert session.approve("2:1") is not None


def lost(session: Session) -> str:
    """The key of a call c1 that started in a run which is dead now."""
    session.append_message(User.of("Pay."))
    session.append_message(Assistant((ToolCall("c1", "pay", {"total": 900}),)))
    key = f"{session.info().head}:0"
    started = canonical({"key": key, "effect": "external", "attempt": 1, "idempotency_key": "k"})
    session.store.append(session.id, [Draft(new_id(), "tool_started", now(), started, (f"started:{key}",))])
    return key


def test_a_settlement_is_of_the_call_that_waits_for_one() -> None:
    """An id that comes back names the one whose outcome is unknown; once it is settled, the refusal says how and by whom."""
    session = Session(MemoryStore(), "s")
    first = lost(session)
    session.settle("c1", "completed", by="ann")
    second = lost(session)
    settled = session.settle("c1", "failed", by="bob").data
    assert isinstance(settled, dict)
    assert (settled["key"], first != second) == (second, True)
    with pytest.raises(
        suture.InvalidEdit, match=rf"The call {second} \(pay\) was settled as failed by bob before, and that"
    ):
        session.settle("c1", "completed")


@pytest.mark.parametrize(
    ("content", "text"), [("sent", "sent"), ({"order": 42}, '{"order":42}'), ([1, 2], "[1,2]"), (7, "7")]
)
def test_a_settlement_says_what_a_tool_could_have_said(content: object, text: str) -> None:
    """An object is not taken for its keys; all that a tool may return reaches the model as if that had returned it."""
    session = Session(MemoryStore(), "s")
    session.settle(lost(session), "completed", content)
    result, _ = session.replay()[2]
    assert isinstance(result, ToolResult)
    assert (result.text, result.synthetic) == (text, None)


def test_a_settlement_that_came_second_is_not_tried_on_another_call() -> None:
    """While it is written somebody else settles that call, and another call of that id is lost: it says who was first."""
    session = Session(MemoryStore(), "s")
    first = lost(session)
    meddled: list[object] = []

    class Overtaken(Session):
        def _read(self, look: Callable[[State], Any]) -> Any:
            found = super()._read(look)
            if not meddled:
                meddled.append(session.settle(first, "completed", by="ann"))
                lost(session)
            return found

    with pytest.raises(suture.InvalidEdit, match=f"The call {first} .* was settled as completed by ann before"):
        Overtaken(session.store, "s").settle("c1", "failed")
    assert len(session.unknown_outcomes()) == 1


@pytest.mark.spec("S92")
def test_a_hosts_own_entries_are_kept_as_they_are() -> None:
    """Any kind, any JSON; bytes stay byte for byte; replay skips them."""
    session = Session(MemoryStore())
    assert session.append("weather", {"rain": True}).data == {"rain": True}
    session.append("weather", b'{"rain":  0.10}')
    assert [entry.body for entry in session.entries()] == [b'{"rain":true}', b'{"rain":  0.10}']
    assert session.messages == []


@pytest.mark.spec("S123", "S124", "S125")
def test_a_steer_waits_and_is_delivered_once() -> None:
    """Any handle can leave a message; it is delivered before the prompt of the next run, in order of arrival."""
    session = Session(MemoryStore(), "s")
    Session(session.store, "s").steer("first")
    Session(session.store, "s").steer("second")
    assert [message.text for message in session.pending_inbox()] == ["first", "second"]
    assert session.info().status == "inbox_waiting"
    suture.Agent(ScriptedModel([{"text": "ok"}]), session=session).run("third")
    assert [message.text for message in session] == ["first", "second", "third", "ok"]
    assert session.pending_steers() == []
    assert session.info().status == "idle"


def test_an_interrupt_without_a_run_stops_nothing() -> None:
    """Only a run that is on is stopped; the next one is not."""
    session = Session(MemoryStore(), "s")
    session.interrupt("early")
    assert suture.Agent(ScriptedModel([{"text": "ok"}]), session=session).run("hi").status == "completed"


def test_what_waits_is_listed_across_sessions() -> None:
    """A store names each call that waits for a person, with its session."""
    session = parked()
    Session(session.store, "other").add(User.of("hi"))
    assert [(id, one.key) for id, one in suture.open_approvals(session.store)] == [("s", "3:0")]
    assert suture.unknown_outcomes(session.store) == []


class Shown(MemoryStore):
    """Counts the sessions that its listings show."""

    shown = 0

    def sessions(self, **wanted: Any) -> list[SessionInfo]:
        page = super().sessions(**wanted)
        self.shown += len(page)
        return page


@pytest.mark.parametrize(
    ("kind", "found", "statuses"),
    [
        ("approval", suture.open_approvals, ["abandoned", "awaiting_approval", "running"]),
        ("started", suture.unknown_outcomes, ["abandoned", "awaiting_approval", "unknown_outcome"]),
    ],
)
def test_what_waits_is_found_whatever_else_is_going_on(
    kind: MarkKind, found: Callable[[Store], list[tuple[str, Any]]], statuses: list[str]
) -> None:
    """A call that waits is found in a session that runs, whose runner died, or that waits for something else as well; the
    sessions in which nothing is going on are not looked at.
    """
    log = Log()
    log.user()
    log.answer("", made := call("c1"))
    log.asked("2:0", made) if kind == "approval" else log.started("2:0")
    store = Shown()
    for status in statuses:
        more = {"abandoned": ("run:x",), "awaiting_approval": ("approval:9:0",)}.get(status, ())
        marks = dict.fromkeys((f"{kind}:2:0", *more, "inbox:m"))
        drafts = [Draft(one.id, one.kind, one.at, one.body) for one in log.entries]
        store.append(status, [*drafts[:-1], msgspec.structs.replace(drafts[-1], opens=tuple(marks))])
        if status == "running":
            store.claim(status, "another-boot:1:2:3:nonce", 60)
    for n in range(100):
        Session(store, f"idle-{n}").add(User.of("hi"))
    assert [(id, one.key) for id, one in found(store)] == [(status, "2:0") for status in statuses]
    assert [info.status for info in store.sessions(limit=1000) if not info.id.startswith("idle")] == statuses
    store.shown = 0
    found(store)
    assert store.shown == len(statuses)


@pytest.mark.parametrize(
    "take",
    [
        Session,
        suture.AsyncSession,
        suture.open_approvals,
        suture.unknown_outcomes,
        lambda store: suture.verify(store, "s"),
        lambda store: EncryptedStore(store, {"1": bytes(32)}),
    ],
)
def test_a_url_is_no_store(take: Callable[[Store], object]) -> None:
    """Whatever takes a store says so of a URL that nobody opened, and never shows the password in it."""
    with pytest.raises(suture.ConfigurationError) as refused:
        take(not_one("postgresql://ann:secret@db/agents"))
    assert str(refused.value) == (
        "'postgresql://ann:...@db/agents' is no store; open one with suture.open_store('sqlite:///agent.db')."
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: suture.Agent(ScriptedModel([]), session=not_one("s")),
            "'s' is no session; make one with suture.Session(store, id).",
        ),
        (
            lambda: suture.Agent(ScriptedModel([])).run("hi", session=not_one("s")),
            "'s' is no session; make one with suture.Session(store, id).",
        ),
        (lambda: suture.Agent(not_one(5)), "5 is no model: it has no name and no stream (suture.models.base)."),
        (lambda: suture.Agent("gpt-5"), "'gpt-5' names no provider that suture knows. Say 'openai:<model>'"),
        (lambda: suture.Agent(ScriptedModel([]), system=not_one(3)), "system is a text, not 3."),
        (
            lambda: suture.Agent(ScriptedModel([]), tools=not_one(len)),
            "tools is a list of tools, not <built-in function len>",
        ),
        (lambda: suture.Agent(ScriptedModel([])).run(not_one(None)), "The prompt is a text, not None."),
        (lambda: suture.Agent("openai:"), "'openai:' names no model. Say 'openai:<model>'."),
        (lambda: suture.Agent("google:gemini"), "google models are not there yet in this version."),
        (
            lambda: suture.open_model("scripted:x.json", tokens=1),
            "'scripted' models take no option 'tokens'; they take none.",
        ),
        (lambda: suture.Agent(ScriptedModel([]), max_steps=0), "max_steps is at least 1, or None for no limit; not 0."),
        (
            lambda: suture.Agent(Mumbler()).run("hi"),
            "The model mumbler yielded a str. A model yields RequestMended, TextDelta",
        ),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(make: Callable[[], object], text: str) -> None:
    """The message names what was given and how to make what is needed."""
    with pytest.raises(suture.ConfigurationError) as refused:
        make()
    assert text in str(refused.value)


def not_one(value: object) -> Any:
    """What a type checker would have refused."""
    return value


class Mumbler:
    name = "mumbler"

    async def stream(self, _request: suture.Request) -> AsyncIterator[Any]:
        yield "words"


def test_the_info_of_a_session_that_is_not_there_says_so() -> None:
    """An id that was never written to is not found, and not made by asking."""
    session = Session(MemoryStore(), "ghost")
    with pytest.raises(
        suture.SessionNotFound, match=r"The store holds no session 'ghost'. `suture sessions --store URL` lists"
    ):
        session.info()
    assert session.messages == []
    assert session.store.sessions() == []


def test_an_error_does_not_show_an_older_answer() -> None:
    """The words of a result answer what was said last, or there are none."""
    session = Session(MemoryStore(), "s")
    suture.Agent(ScriptedModel([{"text": "Answer to A."}]), session=session).run("A")
    failed = suture.Agent(ScriptedModel([suture.Overloaded("busy")]), session=session, retries=False).run("B")
    assert (failed.status, failed.text, failed.message) == ("error", "", None)
    again = suture.Agent(ScriptedModel([{"text": "Answer to B."}]), session=session)
    assert (again.resume().text, again.resume().text) == ("Answer to B.", "Answer to B.")
