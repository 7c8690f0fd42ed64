"""Edits against everything else: a run here or elsewhere, people who decide, calls that are open, what comes late."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import suture
from suture.entries import Draft, MessageBody, ToolStarted, draft
from suture.messages import Assistant, Message, Text, ToolCall, ToolResult, User
from suture.replay import State
from suture.session import Session, new_id, now
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from tests.rules.logs import call, shape

Act = Callable[[Session], object]

EDITS: list[Any] = [
    pytest.param(lambda s: s.set([User.of("new")]), id="set"),
    pytest.param(lambda s: s.unset(), id="unset"),
    pytest.param(lambda s: s.remove("u"), id="remove"),
    pytest.param(lambda s: s.update(id="u", content="see"), id="update"),
    pytest.param(lambda s: s.discard_pending_tool_calls(), id="discard"),
]


def talked(store: suture.Store) -> Session:
    session = Session(store, "s")
    session.add(User.of("hi", id="u"))
    session.add(Assistant((call("a"),), id="x"))
    session.add(User.of("hm", id="v"))
    return session


# Who runs it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", EDITS)
def test_a_session_that_somebody_else_runs_is_not_edited(edit: Act) -> None:
    """The edit is refused and writes nothing; when the run is over it goes through."""
    session = talked(MemoryStore())
    begun, over = threading.Event(), threading.Event()

    def slow(_: suture.Request) -> dict[str, object]:
        begun.set()
        assert over.wait(30)
        return {"text": "ok"}

    agent = suture.Agent(ScriptedModel([slow]), session=Session(session.store, "s"))
    runner = threading.Thread(target=agent.run, args=("go",))
    runner.start()
    try:
        assert begun.wait(30)
        before = session.entries()
        with pytest.raises(suture.SessionBusy):
            edit(session)
        assert session.entries() == before
    finally:
        over.set()
        runner.join(30)
    edit(session)
    assert len(session.entries()) > len(before)


CHILD = """
import sys, time
import suture
from suture.stores.owner import this_owner

suture.open_store(sys.argv[1]).claim("s", this_owner(), 60)
print("claimed", flush=True)
time.sleep(60)
"""


def test_a_runner_that_was_killed_keeps_nobody_from_editing(tmp_path: Path) -> None:
    """While its process lives the session is busy; once it is dead, it is free at once, long before its lease ends."""
    url = f"sqlite:///{tmp_path}/a.db"
    store = suture.open_store(url)
    session = talked(store)
    with subprocess.Popen([sys.executable, "-c", CHILD, url], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "claimed\n"
            with pytest.raises(suture.SessionBusy):
                session.update(id="u", content="see")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(30)
    session.update(id="u", content="see")
    assert shape(Session(suture.open_store(url), "s"))[0] == "u:see"
    store.close()


def test_an_edit_lets_the_session_go() -> None:
    """Also one that was refused: a run can begin at once, under a later epoch."""
    session = talked(MemoryStore())
    session.update(id="u", content="see")
    with pytest.raises(suture.InvalidEdit):
        session.update(id="u", mood="calm")
    info = session.info()
    assert (info.claim, info.status, info.epoch) == (None, "idle", 1)
    assert suture.Agent(ScriptedModel([{"text": "ok"}]), session=session).run("go").text == "ok"


def test_edits_wait_for_one_another(tmp_path: Path) -> None:
    """Handles that edit at once take turns: none is told that the session is busy, and nothing is lost."""
    store = suture.open_store(f"sqlite:///{tmp_path}/a.db")
    talked(store)
    refused: list[BaseException] = []

    def edit(name: str) -> None:
        session = Session(store, "s")
        try:
            for n in range(5):
                session.update(id=name, content=f"{name}{n}")
        except Exception as error:  # noqa: BLE001  whatever it is, it must not be
            refused.append(error)

    threads = [threading.Thread(target=edit, args=(name,)) for name in ("u", "v", "x")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not refused
    assert shape(Session(store, "s")) == ["u:u4", "a:x4[a]", "u:v4"]
    assert [entry.kind for entry in Session(store, "s").entries()].count("edit") == 15
    store.close()


def test_an_edit_is_decided_anew_when_somebody_wrote_in_between() -> None:
    """A result comes for a call while it is being removed: it goes along, and no writing is lost."""
    session = talked(MemoryStore())
    meddled: list[object] = []

    class Overtaken(Session):
        def _read(self, look: Callable[[State], Any]) -> Any:
            found = super()._read(look)
            if len(meddled) < 2:  # once before the claim, once between the look and the append
                meddled.append(session.add(ToolResult.of("a", f"late {len(meddled)}")))
                session.steer("hurry")
            return found

    removed = Overtaken(session.store, "s").remove("x")
    assert removed is not None
    assert shape(session) == ["u:hi", "u:hm"]
    assert [message.text for message in session.pending_inbox()] == ["hurry", "hurry"]


# In a run ---------------------------------------------------------------------------------------


def calls(*numbers: int) -> dict[str, object]:
    return {"calls": [{"id": f"c{n}", "name": "act", "arguments": {"n": n}} for n in numbers]}


def run_with(edit: Callable[[Any], object], *script: Any, **options: Any) -> tuple[Session, ScriptedModel]:
    """A run, one call at a time, in which the handler of the first call edits; `ran` is the numbers that were run."""
    session = Session(MemoryStore(), "s")
    model = ScriptedModel([*script, {"text": "done"}])

    @suture.tool(effect="read")
    def act(n: int, ctx: suture.ToolContext) -> str:
        """Act."""
        session.append("ran", n)
        if n == 1:
            edit(ctx)
        return f"did {n}"

    agent = suture.Agent(model, tools=[act], session=session, max_concurrency=1, **options)
    assert agent.run("go").status == "completed"
    return session, model


def ran(session: Session) -> list[object]:
    return [entry.data for entry in session.entries() if entry.kind == "ran"]


def test_a_handler_edits_the_session_that_it_runs_in() -> None:
    """Under the epoch of the run, which goes on: the next request holds what the handler made of the conversation."""
    session, model = run_with(lambda ctx: ctx.session.update(id=ctx.session.messages[0].id, content="stay"), calls(1))
    assert shape(model.requests[1].messages) == ["u:stay", "a:[c1]", "t(c1):did 1"]
    (edit,) = [entry for entry in session.entries() if entry.kind == "edit"]
    (start,) = [entry for entry in session.entries() if entry.kind == "tool_started"]
    assert edit.epoch == start.epoch > 0


def test_an_async_handler_edits_the_session_that_it_runs_in() -> None:
    """The same under the async driver, through the async skin."""

    @suture.tool(effect="read")
    async def act(ctx: suture.ToolContext) -> str:
        """Act."""
        plain: Any = ctx.session
        await suture.AsyncSession.of(plain).update(id=plain.messages[0].id, content="stay")
        return "did"

    async def main() -> list[str]:
        script = ScriptedModel([{"calls": [{"id": "c1", "name": "act"}]}, {"text": "done"}])
        agent = suture.AsyncAgent(script, tools=[act], session=suture.AsyncSession(MemoryStore()))
        await agent.run("go")
        return shape(script.requests[1].messages)

    assert asyncio.run(main()) == ["u:stay", "a:[c1]", "t(c1):did"]


def test_another_handle_in_a_handler_is_somebody_else() -> None:
    """What is not the handle of the run has no claim: it is told that the session is busy."""
    refused: list[str] = []

    def edit(ctx: Any) -> None:
        with pytest.raises(suture.SessionBusy) as busy:
            Session(ctx.session.store, "s").unset()
        refused.append(str(busy.value))

    session, _ = run_with(edit, calls(1))
    assert "is being run by" in refused[0]
    assert shape(session)[:2] == ["u:go", "a:[c1]"]


def test_a_handler_cannot_change_the_call_that_it_answers() -> None:
    """It has started: the edit is refused, and the call is answered as it was made."""
    refused: list[str] = []

    def edit(ctx: Any) -> None:
        answer = ctx.session.final_assistant_message
        assert answer is not None
        with pytest.raises(suture.InvalidEdit) as without:
            ctx.session.update(id=answer.id, tool_calls=[])
        with pytest.raises(suture.InvalidEdit) as removed:
            ctx.session.remove(answer.id)
        refused.extend([str(without.value), str(removed.value)])

    session, _ = run_with(edit, calls(1))
    assert len([text for text in refused if "the call 3:0 (act) has started, and its result is not there yet" in text]) == 2
    assert shape(session)[1:3] == ["a:[c1]", "t(c1):did 1"]


def with_second(ctx: Any, *second: ToolCall) -> object:
    answer = ctx.session.final_assistant_message
    assert answer is not None
    return ctx.session.update(id=answer.id, tool_calls=[answer.calls[0], *second])


def test_a_call_that_is_edited_before_its_turn_runs_as_it_is_then() -> None:
    """It was prepared with other arguments, and those are not what is run."""
    session, model = run_with(lambda ctx: with_second(ctx, ToolCall("c2", "act", {"n": 22})), calls(1, 2))
    assert ran(session) == [1, 22]
    assert [entry.kind for entry in session.entries()].count("tool_started") == 2
    assert shape(model.requests[1].messages)[2:] == ["t(c1):did 1", "t(c2):did 22"]


def test_a_call_that_is_taken_away_before_its_turn_does_not_run() -> None:
    """Nor does it reach the model; a call that comes in its place does both."""
    session, model = run_with(lambda ctx: with_second(ctx, ToolCall("c3", "act", {"n": 3})), calls(1, 2))
    assert ran(session) == [1, 3]
    assert [entry.kind for entry in session.entries()].count("tool_started") == 2
    assert shape(model.requests[1].messages)[1:] == ["a:[c1,c3]", "t(c1):did 1", "t(c3):did 3"]


def test_what_is_discarded_in_a_run_does_not_run_in_it() -> None:
    """The call that is on answers all the same, and its answer stands instead of the placeholder."""
    session, model = run_with(lambda ctx: ctx.session.discard_pending_tool_calls(), calls(1, 2))
    assert ran(session) == [1]
    assert shape(model.requests[1].messages)[2:] == ["t(c1):did 1", "t(c2)!not_run"]


@pytest.mark.parametrize("again", [[], [User.of("again")]])
def test_a_conversation_that_is_replaced_in_a_run_is_the_one_that_goes_on(again: list[Message]) -> None:
    """What was open does not run; what the handler still brings is reported, and the run ends as any other."""
    session, model = run_with(lambda ctx: ctx.session.set(again), calls(1, 2))
    assert ran(session) == [1]
    assert shape(session) == (["u:again", "a:done"] if again else [])
    assert [shape(request.messages) for request in model.requests[1:]] == ([["u:again"]] if again else [])
    assert [(one.code, "did 1" in one.sentence) for one in session.findings()] == [
        ("OUTCOME_WITHDRAWN", False),
        ("RESULT_ORPHAN", True),
    ]
    assert (session.info().marks, session.info().status) == ({}, "idle")


def test_a_conversation_that_is_replaced_while_the_model_answers_is_answered_anew() -> None:
    """The old answer is reported, with what it cost, and the model is asked about what stands there now."""
    session = Session(MemoryStore(), "s")

    def replace(_: suture.Request) -> dict[str, object]:
        session.set([User.of("new")])
        return {"text": "old news", "usage": {"input_tokens": 7, "output_tokens": 1}}

    script = ScriptedModel([replace, {"text": "done", "usage": {"input_tokens": 2, "output_tokens": 1}}])
    assert suture.Agent(script, session=session).run("go").text == "done"
    assert shape(session) == ["u:new", "a:done"]
    assert [(one.code, "old news" in one.sentence) for one in session.findings()] == [("ANSWER_WITHDRAWN", True)]
    assert session.usage.input_tokens == 9


def test_a_hook_that_edits_the_call_is_asked_about_what_it_made() -> None:
    """What was permitted is never another call than the one that runs."""
    session = Session(MemoryStore(), "s")
    asked: list[object] = []

    @suture.tool(effect="external")
    def pay(total: int) -> str:
        """Pay."""
        return f"paid {total}"

    def less(made: ToolCall, ctx: Any) -> None:
        asked.append((made.arguments or {})["total"])
        if made.arguments == {"total": 900}:
            ctx.session.update(id=ctx.session.messages[1].id, tool_calls=[ToolCall("c1", "pay", {"total": 5})])

    script = ScriptedModel([{"calls": [{"id": "c1", "name": "pay", "arguments": {"total": 900}}]}, {"text": "done"}])
    suture.Agent(script, tools=[pay], session=session, before_tool=less).run("Pay.")
    assert asked == [900, 5]
    assert shape(session)[1:3] == ["a:[c1]", "t(c1):paid 5"]


def test_a_hook_that_edits_a_call_shows_a_person_what_it_made() -> None:
    """The approval is asked for the call as it is then, and is good for it."""
    session = Session(MemoryStore(), "s")

    def less(made: ToolCall, ctx: Any) -> None:
        if made.arguments == {"total": 900}:
            ctx.session.update(id=answer_of(ctx.session), tool_calls=[ToolCall("c1", "pay", {"total": 5})])

    script = ScriptedModel([{"calls": [{"id": "c1", "name": "pay", "arguments": {"total": 900}}]}, {"text": "done"}])
    agent = suture.Agent(script, tools=[pay], session=session, before_tool=less)
    assert agent.run("Pay.").status == "awaiting_approval"
    assert [approval.call.arguments for approval in session.open_approvals()] == [{"total": 5}]
    session.approve("c1")
    agent.resume()
    assert shape(session)[2] == "t(c1):paid 5"


# Open calls and people --------------------------------------------------------------------------


@suture.tool(effect="external", needs_approval=True)
def pay(total: int) -> str:
    """Pay."""
    return f"paid {total}"


def parked() -> Session:
    session = Session(MemoryStore(), "s")
    script = ScriptedModel([{"calls": [{"id": "c1", "name": "pay", "arguments": {"total": 900}}]}])
    assert suture.Agent(script, tools=[pay], session=session).run("Pay.").status == "awaiting_approval"
    return session


def decided() -> Session:
    session = parked()
    session.approve("c1", by="ann")
    return session


def unknown() -> Session:
    """A call that started in a run which is dead now: nobody knows what became of it."""
    session = Session(MemoryStore(), "s")
    session.add(User.of("Pay."))
    session._append(
        draft(new_id(), now(), MessageBody(Assistant((ToolCall("c1", "pay", {"total": 900}),), id="x"), seen=1))
    )
    session._append(draft(new_id(), now(), ToolStarted("2:0", "external", 1, "k"), ("started:2:0",)))
    return session


def settled() -> Session:
    session = unknown()
    session.settle("c1", "completed", "paid, says the bank", by="ann")
    return session


def answered() -> Session:
    session = decided()
    suture.Agent(ScriptedModel([{"text": "Done."}]), tools=[pay], session=session).resume()
    return session


def answer_of(session: Session) -> str:
    found = session.find(lambda message: isinstance(message, Assistant))
    assert found is not None
    assert found.id is not None
    return found.id


@pytest.mark.parametrize("make", [parked, decided, unknown])
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda s: s.update(id=answer_of(s), tool_calls=[ToolCall("c1", "pay", {"total": 5})]), id="arguments"),
        pytest.param(lambda s: s.update(id=answer_of(s), tool_calls=[]), id="without it"),
        pytest.param(lambda s: s.remove(answer_of(s)), id="remove"),
    ],
)
def test_a_call_that_somebody_holds_is_not_edited(make: Callable[[], Session], edit: Act) -> None:
    """What a person was shown, or was started, stays; the error says what to do first, and nothing is written."""
    session = make()
    before = session.entries()
    with pytest.raises(suture.InvalidEdit, match=r"Decide or settle the call first, answer it with `discard_pending"):
        edit(session)
    assert session.entries() == before


@pytest.mark.parametrize("make", [parked, decided, unknown])
def test_the_words_beside_it_are(make: Callable[[], Session]) -> None:
    """What is open stays open."""
    session = make()
    marks = session.info().marks
    session.update(id=answer_of(session), content="Paying")
    assert shape(session)[1] == "a:Paying[c1]"
    assert session.info().marks == marks


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (parked, "The call 'c1' has no result yet, and `update` changes those that are there."),
        (decided, "The call 'c1' has no result yet, and `update` changes those that are there."),
        (unknown, "The call 'c1' has no result yet, and `update` changes those that are there."),
        (settled, "The call 'c1' was settled and has no result of its own. `add` the result, and it counts instead."),
    ],
)
def test_a_result_that_is_not_there_is_not_edited(make: Callable[[], Session], text: str) -> None:
    """An open call has none, and a settlement is a person's word, beside which a result can be added."""
    session = make()
    with pytest.raises(suture.NoSuchMessage) as error:
        session.update(tool_call_id="c1", content="paid")
    assert text in str(error.value)
    if make is settled:
        session.add(ToolResult.of("c1", "paid 900"))
        assert shape([message for message, _ in session.replay()])[-1] == "t(c1):paid 900"


@pytest.mark.parametrize("make", [settled, answered])
def test_a_call_that_is_answered_may_be_edited_and_removed(make: Callable[[], Session]) -> None:
    """What is sent is what the edit says, whatever a person had approved of it; nothing runs again."""
    session = make()
    session.update(id=answer_of(session), tool_calls=[ToolCall("c1", "pay", {"total": 1})])
    sent: Any = session.request("anthropic")
    assert sent["messages"][1]["content"][-1]["input"] == {"total": 1}
    assert not session.orphaned_tool_call_ids()
    session.remove(answer_of(session))
    assert not any(isinstance(message, ToolResult) for message, _ in session.replay())
    assert not {mark for mark in session.info().marks if not mark.startswith("run:")}


def test_an_edit_counts_more_than_what_a_reviewer_made_of_the_call() -> None:
    """What was approved has run; the conversation says what the edit says."""
    session = parked()
    session.approve("c1", arguments={"total": 7})
    suture.Agent(ScriptedModel([{"text": "Done."}]), tools=[pay], session=session).resume()
    session.update(id=answer_of(session), tool_calls=[ToolCall("c1", "pay", {"total": 1})])
    sent: Any = session.request("anthropic")
    assert sent["messages"][1]["content"][-1]["input"] == {"total": 1}


def test_the_result_of_a_call_that_was_approved_may_be_edited() -> None:
    """It is sent as it is now; the decision and the start stay in the log."""
    session = answered()
    session.update(tool_call_id="c1", content="paid 900, thanks")
    assert shape([message for message, _ in session.replay()])[2] == "t(c1):paid 900, thanks"
    assert session.open_approvals() == []


@pytest.mark.parametrize(("make", "text"), [(parked, "not_run"), (decided, "not_run"), (unknown, "unknown")])
def test_discarding_closes_what_is_open_by_what_the_log_knows(make: Callable[[], Session], text: str) -> None:
    """On purpose, and for good: nothing waits any more, no later decision runs it, and a call that started may have run."""
    session = make()
    assert session.discard_pending_tool_calls() == ["c1"]
    assert session.request("anthropic")
    assert shape([message for message, _ in session.replay()])[-1] == f"t(c1)!{text}"
    assert not {mark for mark in session.info().marks if not mark.startswith("run:")}
    assert (session.open_approvals(), session.unknown_outcomes()) == ([], [])
    if make is parked:
        with pytest.raises(suture.NoSuchApproval):
            session.approve("c1")
    resumed = suture.Agent(ScriptedModel([{"text": "Done."}]), tools=[pay], session=session).resume()
    assert resumed.status == "completed"
    assert not any(message.text.startswith("paid") for message in session)


def test_a_late_result_stands_instead_of_what_was_discarded() -> None:
    """The call had run after all: its own result beats the placeholder."""
    session = unknown()
    session.discard_pending_tool_calls()
    session.add(ToolResult.of("c1", "paid 900"))
    assert shape([message for message, _ in session.replay()])[-1] == "t(c1):paid 900"


@pytest.mark.parametrize(
    ("make", "code"), [(parked, "APPROVAL_WITHDRAWN"), (decided, "APPROVAL_WITHDRAWN"), (unknown, "OUTCOME_WITHDRAWN")]
)
def test_a_reset_withdraws_what_waits_for_people(make: Callable[[], Session], code: str) -> None:
    """Each has a finding; nothing of it waits any more, and a decision or settlement that comes late is refused."""
    session = make()
    session.steer("hurry")
    session.set([User.of("new")])
    assert session.info().marks == {}
    assert (session.open_approvals(), session.unknown_outcomes(), session.pending_inbox()) == ([], [], [])
    assert [finding.code for finding in session.findings()] == [code, "INBOX_WITHDRAWN"]
    with pytest.raises(suture.NoSuchApproval, match="No call 'c1' waits for a decision"):
        session.approve("c1")
    with pytest.raises(suture.InvalidEdit, match="No call 'c1' waits for a settlement"):
        session.settle("c1", "completed")
    script = ScriptedModel([{"text": "ok"}])
    assert suture.Agent(script, tools=[pay], session=session).resume().text == "ok"
    assert shape(script.requests[0].messages) == ["u:new"]


def test_a_decision_that_lost_the_race_with_a_reset_runs_nothing() -> None:
    """Made on what stood before, it is appended behind: it is refused when it is tried again, and nothing is run."""
    session = parked()
    meddled: list[object] = []

    class Overtaken(Session):
        def _read(self, look: Callable[[State], Any]) -> Any:
            found = super()._read(look)
            if not meddled:
                meddled.append(session.set([Assistant((ToolCall("c1", "pay", {"total": 1}),))]))
            return found

    with pytest.raises(suture.NoSuchApproval):
        Overtaken(session.store, "s").approve("c1")
    assert "approval_decision" not in [entry.kind for entry in session.entries()]


def test_what_a_dead_run_still_brings_behind_a_reset_is_reported() -> None:
    """A result and a settlement of a call of before: neither stands in the new conversation, and words are not lost."""
    session = unknown()
    session.set([User.of("new"), Assistant((ToolCall("c1", "pay", {"total": 1}),))])
    session.append(
        "message",
        {"message": {"role": "tool", "call_id": "c1", "parts": [{"type": "text", "text": "paid 900"}]}, "key": "2:0"},
    )
    assert shape(session) == ["u:new", "a:[c1]"]
    assert session.orphaned_tool_call_ids() == ["c1"]
    assert "2:0, which was withdrawn at 4; its result is left aside: paid 900" in session.findings()[-1].sentence


def test_a_run_that_was_cut_off_is_over_with_its_conversation() -> None:
    """Nothing asks for a runner; the next prompt begins anew."""
    session = Session(MemoryStore(), "s")
    with pytest.raises(KeyError):
        suture.Agent(ScriptedModel([{"text": "x"}]), session=session.on_message(fail)).run("go")
    session._append(Draft(new_id(), "run_started", now(), b'{"run":"r9"}', ("run:r9",)))
    assert session.info().needs_runner
    session.unset()
    assert (session.info().marks, session.info().needs_runner, session.state.run) == ({}, False, None)


def fail(_: Message) -> None:
    raise KeyError("mine")


# Boundaries -------------------------------------------------------------------------------------


def summarised() -> Session:
    """A session of which all before the last question is summed up."""
    session = Session(MemoryStore(), "s")
    session.add(User.of("hi " * 300, id="u"))
    session.add(Assistant((call("a"),), id="x"))
    session.add(ToolResult.of("a", "ok"))
    session.add(Assistant.of("done", id="y"))
    session.add(User.of("and now?", id="v"))
    options = suture.Compaction(keep_recent=1)
    assert suture.Agent(ScriptedModel([{"text": "They greeted."}]), session=session, compaction=options).compact()
    assert session.info().boundary == 5
    return session


@pytest.mark.parametrize("edit", [lambda s: s.set([User.of("new")]), lambda s: s.set([]).add(User.of("new"))])
def test_a_reset_voids_the_boundaries_before_it(edit: Act) -> None:
    """No summary of what is gone is sent; a handle that begins to read then reads the same."""
    session = summarised()
    edit(session)
    assert session.info().boundary == 0
    for handle in (session, Session(session.store, "s")):
        assert shape([message for message, _ in handle.replay()]) == ["u:new"]


@pytest.mark.parametrize("opened", [True, False])
def test_edits_before_and_behind_a_boundary_leave_it(opened: bool) -> None:
    """The conversation as recorded shows them, from whichever end a handle has read; only those behind it are sent."""
    session = summarised()
    handle = session if opened else Session(session.store, "s")
    handle.update(id="u", content="hello")
    handle.update(tool_call_id="a", content="fine")
    handle.remove("y")
    handle.update(id="v", content="what now?")
    assert session.info().boundary == 5
    for reader in (session, handle, Session(session.store, "s")):
        assert shape(reader) == ["u:hello", "a:[a]", "t(a):fine", "u:what now?"]
        assert shape([message for message, _ in reader.replay()][1:]) == ["u:what now?"]
        assert reader.final_assistant_message == reader.messages[1]
    handle.remove("x")
    assert shape(Session(session.store, "s")) == ["u:hello", "u:what now?"]


def test_a_conversation_that_is_edited_while_it_is_summed_up_is_not_compacted() -> None:
    """The summary is of what is not there any more: nothing is written, and the error says to try again."""
    session = summarised()
    session.add(Assistant.of("this " * 300, id="z"))
    session.add(User.of("more", id="w"))

    def edited(_: suture.Request) -> dict[str, object]:
        session.update(id="z", content="that")
        return {"text": "They went on."}

    agent = suture.Agent(ScriptedModel([edited]), session=session, compaction=suture.Compaction(keep_recent=1))
    with pytest.raises(suture.CompactionError, match="while it was summed up, the conversation was edited"):
        agent.compact()
    assert session.info().boundary == 5


def test_a_conversation_whose_past_is_answered_while_it_is_summed_up_is_not_compacted() -> None:
    """A late result of a call that was to be hidden: a boundary there would be none, and whoever reads from it would never
    know. Nothing is written.
    """
    session = talked(MemoryStore())
    session.add(User.of("more", id="w"))

    def answered(_: suture.Request) -> dict[str, object]:
        session.append_message(ToolResult("late", call_id="a"))
        return {"text": "They went on."}

    agent = suture.Agent(ScriptedModel([answered]), session=session, compaction=suture.Compaction(keep_recent=1))
    with pytest.raises(suture.CompactionError, match=r"parts the call .* from a result of it"):
        agent.compact()
    assert session.last_compaction is None
    for reader in (session, Session(session.store, "s")):
        assert "late" in [message.text for message, _ in reader.replay()]


# Two handles ------------------------------------------------------------------------------------


def test_every_handle_sees_the_same_after_edits() -> None:
    """One that grew with the edits, and one that reads them at once."""
    session = talked(MemoryStore())
    other = Session(session.store, "s")
    for edit in (
        lambda: session.update(id="u", content="see"),
        lambda: other.update(id="x", tool_calls=[call("a"), call("b")]),
        lambda: session.discard_pending_tool_calls(),
        lambda: other.update(tool_call_id="b", content=[Text("two")]),
        lambda: session.remove("v"),
        lambda: other.set([*session.messages, User.of("more")]),
        lambda: session.remove("x"),
    ):
        edit()
        fresh = Session(session.store, "s")
        assert session.replay() == other.replay() == fresh.replay()
        assert session.messages == other.messages == fresh.messages
    assert shape(session) == ["u:see", "u:more"]
