"""Editing a session: what each method does to the conversation, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import suture
from suture.entries import Entry
from suture.messages import (
    Assistant,
    File,
    Image,
    Message,
    Reasoning,
    System,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    User,
    encode,
    message_from,
)
from suture.session import Session
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from tests.rules.logs import call, shape


def talk(*messages: Message) -> Session:
    return Session(MemoryStore(), "s").set(messages)


def whole() -> list[Message]:
    return [
        System.of("be kind", id="s"),
        User.of("look", id="u"),
        Assistant((Reasoning("hm"), Text("I look"), call("a", n=1), call("b", n=2)), id="x", usage=Usage(3, 4)),
        ToolResult((Text("one"),), call_id="a", name="act", id="ra"),
        ToolResult((Text("two"),), call_id="b", name="act", id="rb", error=True, error_type="timeout"),
        Assistant((Text("done"),), id="y"),
    ]


ALL = ["s:be kind", "u:look", "a:I look[a,b]", "t(a):one", "t(b):two", "a:done"]


# Adding and telling -----------------------------------------------------------------------------


@pytest.mark.spec("S1", "S6")
def test_a_session_holds_the_messages_that_it_is_set_to_in_order() -> None:
    """It is empty at first; `set` puts messages in the place of all, hands the session back, and keeps their ids."""
    session = Session(MemoryStore())
    assert session.messages == []
    assert session.set(whole()) is session
    assert session.messages == whole()
    assert shape(session.set([User.of("new")])) == ["u:new"]


@pytest.mark.spec("S2", "S3")
def test_callbacks_are_called_once_each_in_order_unless_silent() -> None:
    """The message stands before anybody is told of it, and is what they are told of."""
    session = Session(MemoryStore())
    told: list[tuple[str, Message, int]] = []
    session.on_message(lambda message: told.append(("first", message, len(session))))
    session.on_message(lambda message: told.append(("second", message, len(session))))
    added = session.add(User.of("hi"))
    session.add(User.of("quiet"), silent=True)
    assert told == [("first", added, 1), ("second", added, 1)]
    assert shape(session) == ["u:hi", "u:quiet"]


@pytest.mark.spec("S4")
def test_only_what_can_be_called_is_called_back() -> None:
    """`on_message` gives the session back for the next call of it."""
    session = Session(MemoryStore())
    assert session.on_message(lambda _: None) is session
    nothing: Any = None
    with pytest.raises(
        suture.ConfigurationError, match="on_message takes a function that is called with each message, not None"
    ):
        session.on_message(nothing)


@pytest.mark.spec("S5")
def test_edits_tell_nobody_and_keep_the_callbacks() -> None:
    """What is set, removed, updated or discarded is not new; after it callbacks go on."""
    session = Session(MemoryStore())
    told: list[str] = []
    session.on_message(lambda message: told.append(message.text))
    session.set(whole())
    session.update(id="u", content="see")
    session.remove("y")
    session.add(Assistant((call("c"),)), silent=True)
    session.discard_pending_tool_calls()
    session.unset()
    assert told == []
    session.add(User.of("hi"))
    assert told == ["hi"]


def test_what_a_callback_raises_reaches_the_caller_and_the_message_stays() -> None:
    """Later callbacks are not told."""
    session = Session(MemoryStore())
    told: list[str] = []

    def fail(_: Message) -> None:
        raise KeyError("mine")

    session.on_message(fail).on_message(lambda message: told.append(message.text))
    with pytest.raises(KeyError, match="mine"):
        session.add(User.of("hi"))
    assert (shape(session), told) == (["u:hi"], [])


@suture.tool(effect="read")
def look(n: int) -> str:
    """Look."""
    return f"saw {n}"


CALLS = {"calls": [{"id": "a", "name": "look", "arguments": {"n": 1}}, {"id": "b", "name": "look", "arguments": {"n": 2}}]}


def told_by_run(session: Session, told: list[Message], **options: Any) -> suture.Result:
    session.on_message(told.append)
    script = ScriptedModel([CALLS, {"text": "done"}])
    return suture.Agent(script, tools=[look], session=session, **options).run("Look.")


@pytest.mark.spec("S44", "S2")
def test_a_run_tells_of_answers_and_results_and_not_of_the_prompt() -> None:
    """What is told is what is recorded, ids included; who asked for something knows it."""
    session, told = Session(MemoryStore(), "s"), list[Message]()
    told_by_run(session, told)
    assert shape(told[:1]) == ["a:[a,b]"]
    assert sorted(shape(told[1:3])) == ["t(a):saw 1", "t(b):saw 2"]
    assert [message for message in session if message in told] == [*session.messages[1:]]


@pytest.mark.spec("S42", "R-10")
def test_placeholders_are_told_to_nobody() -> None:
    """A callback stops the run at the answer: its calls stay open, are filled on purpose, in order, and no callback hears."""
    session, told = Session(MemoryStore(), "s"), list[Message]()
    session.on_message(lambda message: session.interrupt("enough") if isinstance(message, Assistant) else None)
    assert told_by_run(session, told).status == "interrupted"
    assert session.orphaned_tool_call_ids() == ["a", "b"]
    assert session.discard_pending_tool_calls() == ["a", "b"]
    assert session.orphaned_tool_call_ids() == []
    assert shape(told) == ["a:[a,b]"]


@pytest.mark.spec("S42")
def test_what_a_run_fills_in_is_told_to_nobody() -> None:
    """A turn that was cut off has its calls answered as not run, which is recorded, and no result."""
    session, told = Session(MemoryStore(), "s"), list[Message]()
    session.on_message(told.append)
    script = ScriptedModel([CALLS | {"stop_reason": "length"}, {"text": "done"}])
    suture.Agent(script, tools=[look], session=session).run("Look.")
    assert shape(session)[1:] == ["a:[a,b]", "t(a)!not_run", "t(b)!not_run", "a:done"]
    assert shape(told) == ["a:[a,b]", "a:done"]


@pytest.mark.spec("R-11")
def test_what_nobody_fills_stays_open() -> None:
    """With healing off an interrupted run leaves its calls without results in `messages` and in `replay`."""
    session = Session(MemoryStore(), "s", heal=False)
    session.on_message(lambda _: session.interrupt())
    told_by_run(session, [])
    assert session.orphaned_tool_call_ids() == ["a", "b"]
    assert shape([message for message, _ in session.replay()]) == ["u:Look.", "a:[a,b]"]


def test_what_a_callback_raises_in_a_run_is_no_failure_of_a_tool() -> None:
    """It ends the run unchanged; the message that it was told of stays, and nothing of it is sent to a model."""
    session = Session(MemoryStore(), "s")

    def fail(message: Message) -> None:
        if isinstance(message, ToolResult):
            raise KeyError("mine")

    session.on_message(fail)
    with pytest.raises(KeyError, match="mine"):
        told_by_run(session, [])
    assert "t(a):saw 1" in shape(session)
    assert not any(message.error for message in session if isinstance(message, ToolResult))


def test_async_callbacks_are_awaited_and_plain_code_refuses_them() -> None:
    """The async skin awaits what is to be awaited, in `add` and in a run; plain code says that it cannot."""
    told: list[str] = []

    async def listen(message: Message) -> None:
        await asyncio.sleep(0)
        told.append(message.text)

    async def main() -> None:
        session = suture.AsyncSession(MemoryStore(), "s")
        assert session.on_message(listen) is session
        await session.add(User.of("hi"))
        await session.add(User.of("quiet"), silent=True)
        await suture.AsyncAgent(ScriptedModel([{"text": "done"}]), session=session).run("go")

    asyncio.run(main())
    assert told == ["hi", "done"]
    with pytest.raises(suture.ConfigurationError, match=r"is async, and plain code cannot await it\. Use AsyncSession"):
        Session(MemoryStore()).on_message(listen).add(User.of("hi"))


# Setting and removing ---------------------------------------------------------------------------


@pytest.mark.spec("S7")
def test_unset_empties_the_session() -> None:
    """Nothing is left of the conversation; the log keeps what was there."""
    session = talk(*whole())
    before = session.entries()
    assert session.unset() is session
    assert (len(session), session.messages, session.replay()) == (0, [], [])
    assert session.entries()[: len(before)] == before


def test_what_is_no_message_is_not_set() -> None:
    """The whole is refused, with the index of what is wrong, and nothing is written."""
    session = talk(*whole())
    with pytest.raises(suture.InvalidEdit, match=r"'hi' at index 1 is no message. `suture.load_messages` reads those"):
        session.set([User.of("ok"), "hi"])  # type: ignore[list-item]
    assert session.messages == whole()


@pytest.mark.spec("S8")
def test_removing_what_is_not_there_is_nothing() -> None:
    """None comes back and nothing is written, so that a repeat does no harm."""
    session = talk(*whole())
    before = session.entries()
    assert session.remove("nobody") is None
    assert session.entries() == before
    assert Session(session.store, "ghost").remove("x") is None
    assert len(session.store.sessions()) == 1


@pytest.mark.spec("S9")
@pytest.mark.parametrize("id", ["s", "u", "y"])
def test_a_message_without_calls_is_removed_alone(id: str) -> None:
    """System, user or a plain answer: it comes back, and all others stay."""
    session = talk(*whole())
    gone = next(message for message in whole() if message.id == id)
    assert session.remove(id=id) == gone
    assert session.messages == [message for message in whole() if message.id != id]
    assert session.remove(id=id) is None


@pytest.mark.spec("S10")
def test_an_answer_takes_the_results_of_its_calls_along() -> None:
    """All results of its own calls, wherever they stand; those of another turn under the same ids stay."""
    again: list[Message] = [Assistant((call("a"),), id="z"), ToolResult.of("a", "later")]
    session = talk(*whole(), *again, ToolResult.of("b", "two, again"))
    removed = session.remove("x")
    assert removed is not None
    assert removed.id == "x"
    assert shape(session) == ["s:be kind", "u:look", "a:done", "a:[a]", "t(a):later"]


@pytest.mark.spec("S11", "R-18")
def test_a_result_is_not_removed_alone() -> None:
    """It would leave its call without one; the error names the way."""
    session = talk(*whole())
    with pytest.raises(suture.InvalidEdit, match=r"'ra' is the result of a call.*Change it with `update`"):
        session.remove("ra")
    assert session.messages == whole()


@pytest.mark.parametrize("id", [None, 7])
def test_an_id_that_is_none_removes_nothing(id: Any) -> None:
    """It is refused, rather than taken for that of the first message."""
    session = talk(*whole())
    with pytest.raises(suture.InvalidEdit, match=f"{id} is no id of a message"):
        session.remove(id)
    assert session.messages == whole()


# Updating ---------------------------------------------------------------------------------------


@pytest.mark.spec("S12")
@pytest.mark.parametrize("names", [{}, {"id": "u", "tool_call_id": "a"}])
def test_an_update_needs_one_name(names: dict[str, str]) -> None:
    """Neither or both is refused."""
    with pytest.raises(suture.InvalidEdit, match="either the id of a message, or the tool_call_id of a result; give one"):
        talk(*whole()).update(**names, content="x")


@pytest.mark.spec("S13")
@pytest.mark.parametrize(("names", "text"), [({"id": "q"}, "id='q'"), ({"tool_call_id": "x"}, "tool_call_id='x'")])
def test_an_update_of_what_is_not_there_names_what_was_sought(names: dict[str, str], text: str) -> None:
    """A message under that id, or a result for that call: an id of a message is no id of a call."""
    with pytest.raises(suture.NoSuchMessage, match=f"The session has no message with {text}"):
        talk(*whole()).update(**names, content="x")


UPDATES: list[tuple[str, dict[str, object], str, dict[str, object]]] = [
    ("words of a system message", {"content": "be brief"}, "s", {"parts": (Text("be brief"),)}),
    ("words of a user", {"content": ["see", Text("this")]}, "u", {"parts": (Text("see"), Text("this"))}),
    ("files of a user", {"files": [Image(url="https://x/y.png")]}, "u", {"parts": (Text("look"), Image(url="https://x/y.png"))}),
    ("words of an answer, thoughts and calls stay", {"content": "See"}, "x", {"parts": (Reasoning("hm"), Text("See"), call("a", n=1), call("b", n=2))}),
    ("words of an answer to none", {"content": None}, "x", {"parts": (Reasoning("hm"), call("a", n=1), call("b", n=2))}),
    ("a call's arguments", {"tool_calls": [call("a", n=5), call("b", n=2)]}, "x", {"parts": (Reasoning("hm"), Text("I look"), call("a", n=5), call("b", n=2))}),
    ("calls in another order", {"tool_calls": [call("b", n=2), call("a", n=1)]}, "x", {"parts": (Reasoning("hm"), Text("I look"), call("b", n=2), call("a", n=1))}),
    ("what it cost", {"usage": Usage(1, 2)}, "x", {"usage": Usage(1, 2)}),
    ("why it stopped", {"stop_reason": "length"}, "y", {"stop_reason": "length"}),
    ("all parts", {"parts": [Text("a"), Text("b")]}, "y", {"parts": (Text("a"), Text("b"))}),
    ("a result's content, its error stays", {"content": "deux"}, "rb", {"parts": (Text("deux"),)}),
    ("a result's content as JSON", {"content": {"rows": 3}}, "ra", {"parts": (Text('{"rows":3}'),)}),
    ("a result's name", {"name": "other"}, "ra", {"name": "other"}),
    ("what the host shows", {"ui": {"chart": [1]}}, "ra", {"ui": {"chart": [1]}}),
    ("what a provider sent beside", {"ext": {"k": 1}}, "u", {"ext": {"k": 1}}),
]  # fmt: skip


@pytest.mark.spec("S14", "S16")
@pytest.mark.parametrize(("hazard", "attributes", "id", "fields"), UPDATES, ids=[row[0] for row in UPDATES])
def test_an_update_changes_what_it_names_and_nothing_else(
    hazard: str, attributes: dict[str, Any], id: str, fields: dict[str, object]
) -> None:
    """Place, kind, id and every other field stay; the message as it is now comes back, and another process sees the same."""
    session = talk(*whole())
    old = next(message for message in whole() if message.id == id)
    new = type(old)(**{**{name: getattr(old, name) for name in old.__struct_fields__}, **fields})
    assert session.update(id=id, **attributes) == new, hazard
    assert session.messages == [new if message.id == id else message for message in whole()]
    assert Session(session.store, "s").messages == session.messages


@pytest.mark.spec("S15")
@pytest.mark.parametrize(
    ("id", "name"), [("rb", "error"), ("rb", "error_type"), ("ra", "name"), ("x", "usage"), ("y", "stop_reason")]
)
def test_none_sets_none(id: str, name: str) -> None:
    """Given and left out are not the same: this is how an error is cleared."""
    session = talk(*whole())
    updated = session.update(id=id, **{name: None})
    assert updated is not None
    assert getattr(updated, name) is None


@pytest.mark.spec("S16")
@pytest.mark.parametrize(
    ("id", "attributes", "text"),
    [
        ("ra", {"call_id": "b"}, "A tool's result has no attribute 'call_id' that can be changed"),
        ("u", {"role": "system"}, "A user's message has no attribute 'role'"),
        ("x", {"tool_cals": []}, "An assistant's message has no attribute 'tool_cals'.*Did you mean 'tool_calls'?"),
        ("x", {"token_usage": None}, "Did you mean 'usage'?"),
        ("s", {"files": []}, "A system message has no attribute 'files'.*it has content, parts, ext"),
        ("y", {"content": "x", "parts": []}, "`parts` is all of a message; leave it out, or content."),
        ("y", {"content": Image(url="u")}, "The content of an assistant's message is words"),
        ("x", {"tool_calls": [{"id": "a"}]}, r"tool_calls holds \{'id': 'a'\}, which is no part"),
        ("y", {"usage": "much"}, "The message cannot be changed like that"),
        ("y", {"parts": [Image(url="u"), 3]}, "parts holds 3, which is no part"),
    ],
)
def test_what_cannot_be_changed_is_an_error(id: str, attributes: dict[str, Any], text: str) -> None:
    """A typo names what is near, and nothing is written."""
    session = talk(*whole())
    before = session.entries()
    with pytest.raises(suture.InvalidEdit, match=text):
        session.update(id=id, **attributes)
    assert session.entries() == before


def test_a_value_that_cannot_be_written_down_is_refused() -> None:
    """As in a result that is added."""
    with pytest.raises(suture.NotJson):
        talk(*whole()).update(id="ra", ui={1, 2}, content=object())


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    """The message comes back as it is."""
    session = talk(*whole())
    before = session.entries()
    assert session.update(id="y", content="done") == session.messages[-1]
    assert session.update(id="y") == session.messages[-1]
    assert session.entries() == before


@pytest.mark.spec("S17")
def test_calls_that_are_left_out_take_their_results_along() -> None:
    """Exactly theirs; a call that comes in is open."""
    session = talk(*whole())
    session.update(id="x", tool_calls=[call("b", n=2), call("c")])
    assert shape(session)[2:] == ["a:I look[b,c]", "t(b):two", "a:done"]
    assert session.orphaned_tool_call_ids() == ["c"]


def test_an_answer_of_which_nothing_is_left_is_removed_and_reported() -> None:
    """None comes back, and a finding says where it stood; strict providers refuse an empty message."""
    session = talk(User.of("hi"), Assistant((call("a"),), id="x"), ToolResult.of("a", "ok"))
    assert session.update(id="x", tool_calls=[]) is None
    assert shape(session) == ["u:hi"]
    assert [finding.code for finding in session.findings()] == ["MESSAGE_EMPTY"]


@pytest.mark.spec("S18")
def test_a_result_is_updated_by_its_call() -> None:
    """The first result of that id, wherever another turn uses it again; name, id and call id stay."""
    again: list[Message] = [Assistant((call("a"),), id="z"), ToolResult.of("a", "later")]
    session = talk(*whole(), *again)
    updated = session.update(tool_call_id="a", content="uno", error=False)
    assert updated == ToolResult((Text("uno"),), call_id="a", name="act", id="ra", error=False)
    assert shape(session)[3:] == ["t(a):uno", "t(b):two", "a:done", "a:[a]", "t(a):later"]


@pytest.mark.spec("S43")
def test_a_placeholder_becomes_a_result() -> None:
    """What somebody says of a call stands in for nothing: it is sent, and a stand-in that comes later does not displace it."""
    session = talk(User.of("pay"), Assistant((call("a"),)))
    session.discard_pending_tool_calls()
    updated = session.update(tool_call_id="a", content="paid by hand", error=None, error_type=None)
    assert isinstance(updated, ToolResult)
    assert (updated.synthetic, updated.error, updated.error_type) == (None, None, None)
    session.add(ToolResult.of("a", "[Tool use interrupted]"))
    assert shape([message for message, _ in session.replay()]) == ["u:pay", "a:[a]", "t(a):paid by hand"]


def test_of_a_placeholder_and_a_result_the_one_that_counts_is_updated() -> None:
    """A late result took the place of the placeholder, which stands in the log before it."""
    session = talk(User.of("pay"), Assistant((call("a"),)))
    session.discard_pending_tool_calls()
    session.add(ToolResult.of("a", "paid"))
    session.update(tool_call_id="a", content="paid 900")
    assert shape([message for message, _ in session.replay()])[-1] == "t(a):paid 900"


# Queries ----------------------------------------------------------------------------------------


@pytest.mark.spec("S19")
def test_a_session_is_iterated_in_order() -> None:
    """Find, count and backwards, of what is there after edits."""
    session = talk(*whole())
    session.remove("u")
    left = [message for message in whole() if message.id != "u"]
    assert list(session) == left
    assert (len(session), list(reversed(session.messages))) == (len(left), left[::-1])
    assert session.find(lambda message: isinstance(message, ToolResult)) == left[2]
    assert session.find(lambda message: message.id == "u") is None


@pytest.mark.spec("S20", "S22")
@pytest.mark.parametrize(
    ("messages", "orphans", "pending"),
    [
        pytest.param([Assistant((call("a"),)), Assistant((Text("x"),))], ["a"], [], id="an older answer's"),
        pytest.param([Assistant((call("a"),)), User.of("hm")], ["a"], ["a"], id="a user has gone on"),
        pytest.param([Assistant((call("a"), call("b"))), ToolResult.of("a", "ok")], ["b"], ["b"], id="one of two"),
        pytest.param([Assistant((call("a"), call("a")))], ["a", "a"], ["a", "a"], id="one id twice"),
        pytest.param([Assistant((call("a"),)), User.of("hm"), ToolResult.of("a", "late")], [], [], id="a late result"),
    ],
)
def test_what_is_not_answered_is_found(messages: list[Message], orphans: list[str], pending: list[str]) -> None:
    """Orphans in the whole conversation, pending calls on the last answer only, in order."""
    session = talk(*messages)
    assert session.orphaned_tool_call_ids() == orphans
    assert [one.id for one in session.pending_tool_calls()[1]] == pending


@pytest.mark.spec("S20", "S21")
def test_queries_follow_edits() -> None:
    """A call that an edit adds to an older answer is an orphan in its place; without an answer nothing is pending."""
    session = talk(*whole(), Assistant((call("z"),), id="last"))
    session.update(id="x", tool_calls=[call("a", n=1), call("b", n=2), call("c")])
    assert session.orphaned_tool_call_ids() == ["c", "z"]
    session.remove("last")
    assert session.pending_tool_calls() == (session.messages[-1], [])
    session.unset()
    assert session.pending_tool_calls() == (None, [])


@pytest.mark.spec("S23", "R-3")
def test_steps_count_since_the_last_user_message() -> None:
    """Edits count too; a new prompt has its own budget, and a run without one goes on with the rest."""
    session = talk(User.of("a"), Assistant.of("x"), User.of("b", id="b"), Assistant.of("y"), Assistant.of("z", id="z"))
    assert session.steps == 2
    session.remove("z")
    assert session.steps == 1
    session.remove("b")
    assert session.steps == 2
    session.add(User.of("c"))
    assert session.steps == 0
    script = ScriptedModel([CALLS, {"text": "done"}])
    agent = suture.Agent(script, tools=[look], session=session, max_steps=1)
    assert (agent.resume().status, session.steps) == ("max_steps", 1)
    assert agent.resume().status == "max_steps", "no prompt, no new budget"
    assert suture.Agent(script, tools=[look], session=session, max_steps=2).resume().text == "done"


@pytest.mark.spec("S24")
def test_the_last_answer_is_found_behind_whatever_follows() -> None:
    """None without one; another when it was removed."""
    session = talk(*whole(), User.of("thanks"))
    assert session.final_assistant_message == whole()[-1]
    session.remove("y")
    assert session.final_assistant_message == whole()[2]
    session.remove("x")
    assert session.final_assistant_message is None


# Ids and hash forms -----------------------------------------------------------------------------


@pytest.mark.spec("S25")
@pytest.mark.parametrize(("ids", "version"), [("uuid7", "7"), ("uuid4", "4")])
def test_ids_come_from_the_source_that_was_chosen(ids: Any, version: str) -> None:
    """Added, set or recorded by a run, a message always has an id; its own wins."""
    session = Session(MemoryStore(), "s", ids=ids)
    session.set([User.of("one"), User.of("two", id="mine")])
    session.add(Assistant.of("three"))
    suture.Agent(ScriptedModel([CALLS, {"text": "ok"}]), tools=[look], session=session).run("go")
    made = [message.id or "" for message in session if message.id != "mine"]
    assert len(set(made)) == len(made) == len(session) - 1
    assert {id[14] for id in made} == {version}


@pytest.mark.spec("S25")
def test_a_source_of_ids_may_be_the_hosts_own() -> None:
    """A function is asked for each message; a source that is none, or gives none, is refused."""
    names = iter(f"m{n}" for n in range(9))
    session = Session(MemoryStore(), "s", ids=lambda: next(names))
    session.add(User.of("hi"))
    suture.Agent(ScriptedModel([{"text": "ok"}]), session=session).run("go")
    assert [message.id for message in session] == ["m0", "m1", "m2"]
    for wrong in ("none", "uuid", None, 7):
        bad: Any = wrong
        with pytest.raises(suture.ConfigurationError, match="ids is 'uuid7', 'uuid4' or a function"):
            Session(MemoryStore(), ids=bad)
    with pytest.raises(suture.ConfigurationError, match=r"returned '', which is no id\. An id is a text\."):
        Session(MemoryStore(), ids=lambda: "").add(User.of("hi"))


@pytest.mark.spec("S26", "S28")
def test_hash_forms_leave_out_what_is_not_there() -> None:
    """Role and what was said; fields that hold nothing are not written, an error is, with its type."""

    def read(message: Message) -> object:
        return Session(MemoryStore()).append("x", encode(message)).data

    assert read(User.of("hi")) == {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
    assert read(Assistant.of("hi")) == {"role": "assistant", "parts": [{"type": "text", "text": "hi"}]}
    assert read(ToolResult("no", error=True, error_type="timeout", call_id="a", name="act")) == {
        "role": "tool",
        "parts": [{"type": "text", "text": "no"}],
        "call_id": "a",
        "name": "act",
        "error": True,
        "error_type": "timeout",
    }
    assert "error" not in str(read(ToolResult("ok", call_id="a")))


@pytest.mark.spec("S27", "R-4")
def test_hash_forms_read_back_as_what_they_were() -> None:
    """Calls and files become records again, ids stay, and what came from storage runs on."""
    messages = [*whole(), User((Text("see"), File(data="aGk=", name="a.txt", media_type="text/plain")), id="f")]
    stored = [message for message in talk(*messages).entries() if message.kind == "message"]
    hashes: list[Any] = [entry.data for entry in stored]
    assert [message_from(one["message"]) for one in hashes] == messages
    session = Session(MemoryStore(), "s").set([message_from(one["message"]) for one in hashes[1:3]])
    session.update(id="x", tool_calls=[ToolCall("a", "look", {"n": 1})])
    result = suture.Agent(ScriptedModel([{"text": "done"}]), tools=[look], session=session).resume()
    assert (result.text, shape(session)[2]) == ("done", "t(a):saw 1")


@pytest.mark.spec("S27")
@pytest.mark.parametrize("value", [None, "hi", [], {"parts": []}, {"role": "wizard"}, {"role": "user", "parts": 3}])
def test_what_is_no_hash_form_is_refused(value: object) -> None:
    """No dict, no role, or a role that nobody has."""
    with pytest.raises(suture.Corrupt, match="no message of this version"):
        message_from(value)


# Healing ----------------------------------------------------------------------------------------


@pytest.mark.spec("S29", "R-17", "R-7")
def test_neighbours_of_one_role_are_merged_on_the_wire_alone() -> None:
    """Two users stay two in the session and are one message for a provider that alternates; results of a turn share one."""
    session = talk(User.of("one"), User.of("two"), *whole()[2:])
    wire: Any = session.request("anthropic")
    assert [message["role"] for message in wire["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [part["tool_use_id"] for part in wire["messages"][2]["content"]] == ["a", "b"]
    assert shape(session)[:2] == ["u:one", "u:two"]


@pytest.mark.spec("S30", "R-19")
def test_discarding_answers_every_open_call_once() -> None:
    """In order, behind their turns in what is sent, with what the log knows; a repeat finds nothing."""
    session = talk(Assistant((call("a"), call("b"))), ToolResult.of("b", "ok"), User.of("hm"), Assistant((call("c"),)))
    assert session.discard_pending_tool_calls() == ["a", "c"]
    sent = shape([message for message, _ in session.replay()])
    assert sent == ["a:[a,b]", "t(a)!unknown", "t(b):ok", "u:hm", "a:[c]", "t(c)!unknown"]
    assert session.orphaned_tool_call_ids() == []
    before = session.entries()
    assert session.discard_pending_tool_calls() == []
    assert session.entries() == before


@pytest.mark.spec("S31", "S40")
def test_a_session_that_an_agent_gets_is_left_as_it_is() -> None:
    """Nothing is pruned from what is recorded; what is sent is filled. With healing off, replay is what is stored."""
    messages: list[Message] = [User.of("go", id="1"), Assistant((Text("look"), call("a")), id="2"), User.of("hm", id="3")]
    session = talk(*messages)
    plain = Session(session.store, "s", heal=False)
    assert [message for message, _ in plain.replay()] == messages
    script = ScriptedModel([{"text": "ok"}])
    suture.Agent(script, tools=[look], session=session).run("well?")
    assert session.messages[:3] == messages
    assert shape(script.requests[0].messages)[:4] == ["u:go", "a:look[a]", "t(a)!unknown", "u:hm"]


@pytest.mark.spec("S32", "R-15")
@pytest.mark.parametrize(
    ("word", "on"),
    [("true", True), ("1", True), ("TRUE", True), ("", True), ("false", False), ("0", False), ("no", None), ("off", None)],
)
def test_the_switch_in_the_environment_is_read_not_guessed(
    monkeypatch: pytest.MonkeyPatch, word: str, on: bool | None
) -> None:
    """The text "false" is off, as it says; what is neither on nor off is an error."""
    monkeypatch.setenv("SUTURE_HEAL", word)
    if on is None:
        with pytest.raises(suture.ConfigurationError, match=f"SUTURE_HEAL is true or false, 1 or 0, not {word!r}"):
            Session(MemoryStore())
    else:
        session = Session(MemoryStore()).set([Assistant((call("a"),)), User.of("hm")])
        assert len(session.replay()) == (3 if on else 2)


@pytest.mark.spec("S32")
@pytest.mark.parametrize(("given", "on"), [(True, True), (1, True), ("1", True), (False, False), (0, False), (None, False)])
def test_the_switch_of_a_session_takes_what_is_like_a_boolean(given: Any, on: bool) -> None:
    """And nothing else."""
    assert Session(MemoryStore(), heal=given).heal is on
    wrong: list[Any] = ["yes", 2, [], 1.5]
    for bad in wrong:
        with pytest.raises(suture.ConfigurationError, match="heal is true or false, 1 or 0, not"):
            Session(MemoryStore(), heal=bad)


@pytest.mark.spec("R-1", "R-2")
@pytest.mark.parametrize("prompt", [None, "more"])
def test_a_call_of_before_is_not_run_behind_a_later_user(prompt: str | None) -> None:
    """A history from elsewhere in which a user went on: the call is not run, and what is sent is whole."""
    ran: list[int] = []

    @suture.tool(effect="read")
    def act() -> str:
        """Act."""
        ran.append(1)
        return "ok"

    session = talk(User.of("go"), Assistant((ToolCall("a", "act", {}),)), User.of("hm"))
    script = ScriptedModel([{"text": "ok"}])
    agent = suture.Agent(script, tools=[act], session=session)
    agent.run(prompt) if prompt else agent.resume()
    assert ran == []
    assert shape(script.requests[0].messages)[:4] == ["u:go", "a:[a]", "t(a)!unknown", "u:hm"]


@pytest.mark.spec("R-2", "R-8", "R-9")
def test_calls_that_the_step_limit_left_run_before_the_next_prompt() -> None:
    """They are open when the run ends; their results stand behind their answer, before what is said next."""
    session = Session(MemoryStore(), "s")
    limited = suture.Agent(ScriptedModel([CALLS]), tools=[look], session=session, max_steps=1)
    assert limited.run("Look.").status == "max_steps"
    assert [one.id for one in session.pending_tool_calls()[1]] == ["a", "b"]
    script = ScriptedModel([{"text": "done"}])
    suture.Agent(script, tools=[look], session=session, system="be kind").run("And?")
    assert shape(script.requests[0].messages) == ["u:Look.", "a:[a,b]", "t(a):saw 1", "t(b):saw 2", "u:And?"]
    assert not any(isinstance(message, System) for message in session)


@pytest.mark.spec("R-6")
def test_results_go_by_the_id_of_the_call_not_of_the_item() -> None:
    """A provider's own id of the item is kept beside, and names nothing."""
    made = ToolCall("call_1", "act", {}, item_id="fc_1")
    session = talk(Assistant((made,)), ToolResult.of("fc_1", "no"), ToolResult.of("call_1", "yes"))
    assert session.orphaned_tool_call_ids() == []
    assert shape([message for message, _ in session.replay()]) == ["a:[call_1]", "t(call_1):yes"]


# The async skin ---------------------------------------------------------------------------------


async def erased(session: suture.AsyncSession) -> None:
    await session.erase((await session.entries())[0].id)


WRITES: list[Callable[[suture.AsyncSession], Awaitable[object]]] = [
    lambda session: session.add(User.of("more")),
    lambda session: session.add(ToolResult.of("z", "late")),
    lambda session: session.append_message(User.of("more")),
    lambda session: session.append("message", {"message": {"role": "user", "parts": [{"type": "text", "text": "raw"}]}}),
    lambda session: session.set([User.of("new")]),
    lambda session: session.unset(),
    lambda session: session.update(id="u", content="so"),
    lambda session: session.remove("u"),
    lambda session: session.discard_pending_tool_calls(),
    erased,
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("reads_first", [True, False])
def test_an_async_session_shows_what_it_wrote(
    write: Callable[[suture.AsyncSession], Awaitable[object]], reads_first: bool
) -> None:
    """Behind each awaited write the properties say what a plain session does, also on a handle that had read nothing."""

    async def main() -> None:
        store = MemoryStore()
        there = Session(store, "s")
        for message in (User.of("hi", id="u"), Assistant((call("z"),), id="a")):
            there.add(message)
        session = suture.AsyncSession(store, "s")
        if reads_first:
            await session.refresh()
        heard: list[int] = []
        session.on_message(lambda _: heard.append(len(session)))
        await write(session)
        plain = Session(store, "s")
        assert session.messages == plain.messages
        assert (len(session), session.steps, session.context_tokens) == (len(plain), plain.steps, plain.context_tokens)
        assert session.final_assistant_message == plain.final_assistant_message
        assert heard in ([], [len(plain)]), "whoever is told of a message finds it"
        fork = await session.fork()
        assert fork.messages == Session(store, fork.id).messages

    asyncio.run(main())


def test_looks_between_writes_of_several_hands() -> None:
    """A handle shows each of its own writes at once, whoever wrote in between, and what others wrote with the next read."""

    async def main() -> None:
        store = MemoryStore()
        session, other = suture.AsyncSession(store, "s"), suture.AsyncSession(store, "s")
        for count in range(0, 12, 3):
            await session.add(User.of(f"{count}"))
            assert len(session) == count + 1
            await other.add(User.of(f"{count + 1}"))
            assert len(session) == count + 1
            assert len(other) == count + 2
            await session.append("note", {"of": "a host"})
            await session.add(User.of(f"{count + 2}"))
            assert [one.text for one in session.messages] == [f"{one}" for one in range(count + 3)]
        assert [one.text for one in Session(store, "s").messages] == [one.text for one in session.messages]

    asyncio.run(main())


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_is_written_to_a_log_that_is_another_one_now(count: int) -> None:
    """A handle that takes in its own writes unread finds all the same that the session was deleted, and made anew, since."""
    store = MemoryStore()
    session = Session(store, "s")
    for n in range(count):
        Session(store, "s").add(User.of(f"old {n}"))
    assert len(session) == count
    for gone in (False, True):
        if gone:
            store.delete("s")
            for n in range(count + 1):
                Session(store, "s").add(User.of(f"new {n}"))
        session.add(User.of("mine"))
    assert [message.text for message in session] == [message.text for message in Session(store, "s")]
    assert session.messages[-1].text == "mine"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_an_async_session_whose_log_is_another_one_now(count: int) -> None:
    """Whatever a handle takes for known, what it wrote is among what it shows; and where the log cannot be read it says so."""

    async def main() -> None:
        store = FailingReads()
        session = suture.AsyncSession(store, "s")
        for n in range(3):
            await session.add(User.of(f"old {n}"))
        await session.refresh()
        store.delete("s")
        for n in range(count):
            Session(store, "s").add(User.of(f"new {n}"))
        await session.add(User.of("mine"))
        assert session.messages[-1].text == "mine"
        await session.refresh()
        assert session.messages == Session(store, "s").messages
        store.delete("s")
        Session(store, "s").add(User.of("again"))
        store.fails_behind = 1
        with pytest.raises(suture.StoreError):
            await session.refresh()
        with contextlib.suppress(suture.StoreError):
            assert len(session) == count + 1, "what was last read is shown, or that it cannot be"
        store.fails_behind = None
        assert [one.text for one in session.messages] == ["again"]

    asyncio.run(main())


def forked(store: MemoryStore) -> None:
    """Session "f" is one that shares the past of "p"."""
    for n in range(3):
        Session(store, "p").add(User.of(f"of the parent {n}"))
    Session(store, "p").fork(id="f")


def of_its_own(store: MemoryStore) -> None:
    """Session "f" shares nothing."""
    Session(store, "f").add(User.of("its own"))


def summed_up(store: MemoryStore) -> None:
    """Session "f" begins with a summary of its past."""
    for n in range(8):
        Session(store, "f").add(User.of(f"one of many words {n}"))
    compaction = suture.Compaction(window=30, reserve=0, keep_recent=5)
    agent = suture.Agent(ScriptedModel([{"text": "In short."}]), session=Session(store, "f"), compaction=compaction)
    assert agent.compact() is not None


@pytest.mark.parametrize("know", [Session.entries, len, Session.refresh], ids=["entries", "messages", "state"])
@pytest.mark.parametrize("now", [forked, of_its_own, summed_up])
@pytest.mark.parametrize("before", [forked, of_its_own, summed_up])
def test_a_log_that_is_another_one_is_read_as_that(
    before: Callable[[MemoryStore], None], now: Callable[[MemoryStore], None], know: Callable[[Session], object]
) -> None:
    """What a handle knows of a session that was deleted (what it shares, where it is read from) is not taken for the next."""
    store = MemoryStore()
    before(store)
    session = Session(store, "f")
    know(session)
    store.delete("f")
    now(store)
    assert session.messages == Session(store, "f").messages
    assert session.request("anthropic") == Session(store, "f").request("anthropic")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_begins_from_the_log_that_is_there_now(is_async: bool) -> None:
    """What the handle of a run had read of a session that was deleted is nothing to the run: no steer of that is delivered."""
    store, model = MemoryStore(), ScriptedModel([{"text": "done"}])
    session = Session(store, "s")
    for n in range(5):
        session.add(User.of(f"old {n}"))
    session.steer("of the old one")
    session.refresh()
    store.delete("s")
    Session(store, "s").add(User.of("new"))
    if is_async:
        asyncio.run(suture.AsyncAgent(model, session=session).run("go"))
    else:
        suture.Agent(model, session=session).run("go")
    (request,) = model.requests
    assert [message.text for message in request.messages] == ["new", "go"]
    assert [message.text for message in Session(store, "s")] == ["new", "go", "done"]
    assert not Session(store, "s").info().marks


class FailingReads(MemoryStore):
    """Can be read so many times more, if a number is set."""

    fails_behind: int | None = None

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        if self.fails_behind is not None:
            self.fails_behind -= 1
            if self.fails_behind < 0:
                raise suture.StoreError("The disk is gone.")
        return super().read(session_id, after, limit)


def test_an_async_session_has_written_what_it_cannot_read() -> None:
    """What is written is no failure where the rest of the log cannot be read: that is for whoever reads."""

    async def main() -> None:
        store = MemoryStore()
        parent = Session(store, "s")
        parent.add(User.of("hi"))
        fork = suture.AsyncSession(store, parent.fork(id="f").id)
        store.delete("s")
        await fork.append("note", {})
        assert [entry.kind for entry in store.read("f")] == ["fork", "note"]
        with pytest.raises(suture.SessionNotFound):
            await fork.refresh()

    asyncio.run(main())


def test_the_async_session_edits_alike() -> None:
    """The same names, awaited; what was last read is what properties answer from."""

    async def main() -> None:
        session = suture.AsyncSession(MemoryStore(), "s")
        assert await session.set(whole()) is session
        assert shape(session.messages) == ALL
        updated = await session.update(id="y", content="so")
        assert updated is not None
        assert updated.text == "so"
        gone = await session.remove("u")
        assert gone is not None
        await session.add(Assistant((call("z"),)))
        assert await session.discard_pending_tool_calls() == ["z"]
        assert await session.unset() is session
        assert len(session) == 0

    asyncio.run(main())
