"""The host's hooks: what they block, what they replace, and what a hook that fails may cost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

import suture
from suture.agent import Agent, AsyncAgent, Result
from suture.agent.agent import Watch
from suture.loop.events import Event
from suture.messages import Assistant, Text, ToolCall, ToolResult, User
from suture.session import Session
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from suture.tools import Tool, ToolContext, tool

Kind: TypeAlias = type[Agent] | type[AsyncAgent]
both = pytest.mark.parametrize("kind", [Agent, AsyncAgent], ids=["sync", "async"])
DONE = {"text": "Done."}
ran: list[int] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool(effect="external")
def pay(total: int) -> str:
    """Pay."""
    ran.append(total)
    return f"paid {total}"


@tool(effect="external")
def fail(total: int) -> str:
    """Fail."""
    ran.append(total)
    raise ValueError("card 1234")


def calls(*names: str) -> dict[str, object]:
    return {"calls": [{"id": f"c{n}", "name": name, "arguments": {"total": n}} for n, name in enumerate(names)]}


def run(
    kind: Kind,
    session: Session,
    script: list[Any] | ScriptedModel,
    tools: list[Tool],
    prompt: str | None = "Go.",
    watch: Watch | None = None,
    **more: Any,
) -> Result:
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    agent = kind(model, session, tools=tools, grace=2.0 if watch is not None else 0.2, **more)
    if isinstance(agent, Agent):
        return agent.resume(watch=watch) if prompt is None else agent.run(prompt, watch=watch)
    return asyncio.run(agent.resume(watch=watch) if prompt is None else agent.run(prompt, watch=watch))


def new() -> Session:
    return Session(MemoryStore(), "s")


def results(session: Session) -> list[tuple[str, bool | None, str | None]]:
    found = [message for message in session.messages if isinstance(message, ToolResult)]
    return [(message.text, message.error, message.error_type) for message in found]


def session_of_other(session: Session) -> Session:
    """A handle as another process has it."""
    return Session(session.store, session.id)


async def later(value: object) -> object:
    """A value that takes a while."""
    await asyncio.sleep(0)
    return value


def raising(*_: object) -> object:
    raise ValueError("secret of the host")


async def raising_later(*_: object) -> object:
    raise ValueError("secret of the host")


BLOCKED = "The call was not run: over the limit"
UNSURE = "Whether this call may run could not be found out (ValueError), so it was not run."
BEFORE: list[tuple[str, Callable[..., object], str | None]] = [
    ("a text", lambda *_: "over the limit", BLOCKED),
    ("a text, later", lambda *_: later("over the limit"), BLOCKED),
    ("an error", raising, UNSURE),
    ("an error, later", raising_later, UNSURE),
    ("None", lambda *_: None, None),
    ("None, later", lambda *_: later(None), None),
    ("False", lambda *_: False, "The call was not run: it is not allowed here."),
    ("a blank text", lambda *_: " ", "The call was not run: it is not allowed here."),
    ("True", lambda *_: True, None),
    ("a dict", lambda *_: {"total": 5}, None),
]  # fmt: skip


@both
@pytest.mark.spec("S151")
@pytest.mark.parametrize(("hook", "why"), [row[1:] for row in BEFORE], ids=[row[0] for row in BEFORE])
def test_before_tool_blocks_with_a_text_or_an_error(kind: Kind, hook: Callable[..., object], why: str | None) -> None:
    """The model reads why; the handler never starts; whatever else the hook returns lets the call run as it is."""
    session = new()
    assert run(kind, session, [calls("pay"), DONE], [pay], before_tool=hook).status == "completed"
    assert results(session) == [("paid 0", False, None) if why is None else (why, True, "blocked")]
    assert ran == ([0] if why is None else [])


@both
def test_before_tool_sees_the_call_that_would_run(kind: Kind) -> None:
    """Normalised and checked, with the session, the key and the attempt; what cannot run at all it is not asked about."""
    seen: list[tuple[object, ...]] = []

    def look(call: ToolCall, ctx: ToolContext) -> None:
        seen.append((call.name, call.arguments, ctx.key, ctx.attempt, ctx.context, type(ctx.session)))

    doubled = replace(pay, normalize=lambda arguments: {"total": arguments["total"] * 2 + 2})
    wrong = {"calls": [*calls("pay")["calls"], {"id": "x", "name": "pay", "arguments": {"totla": 1}}]}  # type: ignore[misc]
    run(kind, new(), [wrong, DONE], [doubled], before_tool=look, context="host")
    assert seen == [("pay", {"total": 2}, "3:0", 1, "host", Session)]
    assert ran == [2]


@both
@pytest.mark.spec("S142")
def test_an_approved_call_is_asked_about_again(kind: Kind) -> None:
    """A policy that changed while the call waited blocks it; the approval predicate is not asked again."""
    asked: list[bool] = []

    def gate(_arguments: dict[str, Any]) -> bool:
        asked.append(True)
        return True

    gated = replace(pay, needs_approval=gate)
    session = new()
    assert run(kind, session, [calls("pay")], [gated], before_tool=lambda *_: None).status == "awaiting_approval"
    session.approve("c0")
    result = run(kind, session, [DONE], [gated], None, before_tool=lambda *_: "closed for today")
    assert (result.status, results(session)) == ("completed", [("The call was not run: closed for today", True, "blocked")])
    assert (asked, ran) == ([True], [])


@both
def test_a_call_that_had_started_is_never_said_not_to_have_run(kind: Kind) -> None:
    """A hook that blocks the second attempt at a read does not know that the first one did nothing."""
    session = new()
    look = replace(pay, name="look", effect="read", handler=raising)
    stopping: list[bool] = []

    def stop(**_: object) -> None:
        stopping.append(True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(kind, session, [calls("look")], [replace(look, handler=stop)])
    assert run(kind, session, [DONE], [look], None, before_tool=lambda *_: "closed").status == "completed"
    ((text, _, _),) = results(session)
    assert "another attempt was refused (blocked)" in text
    assert "may have run" in text
    assert stopping == [True]


AFTER: list[tuple[str, Callable[..., object], str]] = [
    ("None", lambda *_: None, "paid 0"),
    ("a text", lambda _call, result, _ctx: result.text.replace("0", "#"), "paid #"),
    ("a text, later", lambda *_: later("later"), "later"),
    ("JSON", lambda *_: {"n": 1}, '{"n":1}'),
    ("a result", lambda *_: ToolResult("seen", {"chart": 1}), "seen"),
]  # fmt: skip


@both
@pytest.mark.spec("S152")
@pytest.mark.parametrize(("hook", "text"), [row[1:] for row in AFTER], ids=[row[0] for row in AFTER])
def test_after_tool_replaces_what_is_recorded(kind: Kind, hook: Callable[..., object], text: str) -> None:
    """The log, the model and the watchers see the replacement only."""
    session = new()
    model = ScriptedModel([calls("pay"), DONE])
    run(kind, session, model, [pay], after_tool=hook)
    assert results(session) == [(text, False, None)]
    assert model.requests[-1].messages[-1].text == text


KEPT_BACK = "The tool {!r} ran, but its result could not be passed on ({}). Check what it did before calling it again."
FAILING: list[tuple[str, Callable[..., object], str]] = [
    ("an error", raising, "ValueError"),
    ("an error, later", raising_later, "ValueError"),
    ("no JSON", lambda *_: object(), "NotJson"),
]  # fmt: skip


@both
@pytest.mark.spec("S152")
@pytest.mark.parametrize("name", ["pay", "fail"])
@pytest.mark.parametrize(("hook", "error"), [row[1:] for row in FAILING], ids=[row[0] for row in FAILING])
def test_a_failing_after_tool_keeps_the_result_back(kind: Kind, name: str, hook: Callable[..., object], error: str) -> None:
    """What was to be reviewed is not shown unreviewed, the model learns that the tool ran, and nothing runs twice."""
    session = new()
    run(kind, session, [calls(name), DONE], [pay, fail], after_tool=hook)
    assert results(session) == [(KEPT_BACK.format(name, error), True, "after_tool_error")]
    assert ran == [0]


@both
@pytest.mark.spec("S152")
def test_after_tool_cannot_clear_an_error(kind: Kind) -> None:
    """A failure stays one, whatever stands in its place, and keeps its type."""
    session = new()
    run(kind, session, [calls("fail"), DONE], [fail], after_tool=lambda *_: ToolResult("fine", error=False))
    assert results(session) == [("fine", True, "execution_error")]


@both
def test_after_tool_is_asked_about_what_ran_and_nothing_else(kind: Kind) -> None:
    """Calls that are invalid, unknown, blocked or denied have no result to review."""
    seen: list[str] = []
    script = {"calls": [*calls("pay", "nobody", "fail")["calls"], {"id": "x", "name": "pay", "arguments": {}}]}  # type: ignore[misc]
    run(
        kind, new(), [script, DONE], [pay, fail],
        before_tool=lambda call, _ctx: "no" if call.name == "fail" else None,
        after_tool=lambda call, *_: seen.append(call.id),
    )  # fmt: skip
    assert seen == ["c0"]


@both
@pytest.mark.parametrize("kind_of_hook", ["plain", "async"])
def test_what_ends_the_run_in_a_hook_ends_it(kind: Kind, kind_of_hook: str) -> None:
    """An exit in a hook is raised where the run was asked for, in time, and frees the session; nothing is said to be known."""

    def leave(*_: object) -> object:
        raise SystemExit(3)

    async def leave_later(*_: object) -> object:
        raise SystemExit(3)

    hook = leave if kind_of_hook == "plain" else leave_later
    for name, said in (("before_tool", []), ("after_tool", ["lost"])):
        session = new()
        with pytest.raises(SystemExit):
            run(kind, session, [calls("pay")], [pay], **{name: hook})  # type: ignore[arg-type]
        assert session.info().claim is None
        assert [one.synthetic for one in session.messages if isinstance(one, ToolResult)] == said
        assert session.unknown_outcomes() == []


@both
@pytest.mark.parametrize("kind_of_hook", ["plain", "async"])
@pytest.mark.parametrize("ending", ["a stop", "an error"])
def test_a_review_that_is_cut_off_does_not_make_the_outcome_unknown(kind: Kind, kind_of_hook: str, ending: str) -> None:
    """The handler returned, so the log says that it ran and its result was lost; nobody has to find out whether it ran."""
    session = new()
    released = threading.Event()

    def begin(ctx: ToolContext) -> None:
        ctx.progress("reviewing")
        if ending == "a stop":
            session_of_other(session).interrupt("enough")

    def hang(_call: ToolCall, _result: ToolResult, ctx: ToolContext) -> None:
        begin(ctx)
        released.wait(20)

    async def hang_later(_call: ToolCall, _result: ToolResult, ctx: ToolContext) -> None:
        begin(ctx)
        await asyncio.sleep(20)

    def watch(event: Event) -> None:
        if event.type == "tool_progress" and ending == "an error":
            raise ZeroDivisionError

    agent = kind(
        ScriptedModel([calls("pay")]),
        session,
        tools=[pay],
        grace=0.2,
        after_tool=hang if kind_of_hook == "plain" else hang_later,
    )
    with suppress(ZeroDivisionError):
        if isinstance(agent, Agent):
            agent.run("Go.", watch=watch)
        else:
            asyncio.run(agent.run("Go.", watch=watch))
    released.set()
    assert session.unknown_outcomes() == []
    assert "ran" in results(session)[0][0]
    assert ran == [0]


@both
@pytest.mark.parametrize("where", ["the approval predicate", "a watcher of the start"])
def test_a_stop_that_came_before_the_handler_stops_it(kind: Kind, where: str) -> None:
    """However late it was said: the log never holds a stop and behind it a call that ran."""
    session = new()

    def gate(_arguments: dict[str, Any]) -> bool:
        if where == "the approval predicate":
            session_of_other(session).interrupt("enough")
        return False

    def watch(event: Event) -> None:
        if event.type == "tool_started" and where == "a watcher of the start":
            session_of_other(session).interrupt("enough")

    gated = replace(pay, needs_approval=gate)
    assert run(kind, session, [calls("pay")], [gated], watch=watch).status == "interrupted"
    assert ran == []
    assert session.unknown_outcomes() == []
    assert run(kind, session, [DONE], [pay], None).status == "completed"
    assert ran == [0]


@both
@pytest.mark.parametrize("kind_of_hook", ["plain", "async"])
def test_a_result_that_is_in_review_when_the_run_ends_is_recorded(kind: Kind, kind_of_hook: str) -> None:
    """A watcher raises while the hook works: within the grace the review is finished, and the result is not lost."""
    session = new()
    begun = threading.Event()

    def slow(_call: ToolCall, result: ToolResult, ctx: ToolContext) -> object:
        ctx.progress("reviewing")
        begun.wait(5)
        time.sleep(0.05)
        return result.text.upper()

    async def slow_later(_call: ToolCall, result: ToolResult, ctx: ToolContext) -> object:
        ctx.progress("reviewing")
        await asyncio.to_thread(begun.wait, 5)
        await asyncio.sleep(0.05)
        return result.text.upper()

    def watch(event: Event) -> None:
        if event.type == "tool_progress":
            begun.set()
            raise ZeroDivisionError

    hook = slow if kind_of_hook == "plain" else slow_later
    with pytest.raises(ZeroDivisionError):
        run(kind, session, [calls("pay")], [pay], watch=watch, after_tool=hook)
    assert [text for text, _, _ in results(session)] == ["PAID 0"]
    assert session.info().claim is None


@both
@pytest.mark.parametrize("kind_of_hook", ["plain", "async"])
def test_a_hook_that_hangs_does_not_hold_up_whoever_stops_the_run(kind: Kind, kind_of_hook: str) -> None:
    """The run ends as interrupted, at once; the call was never started, and the next run takes it up."""
    session = new()
    hanging = threading.Event()

    def hang(_call: ToolCall, _ctx: ToolContext) -> None:
        session_of_other(session).interrupt("enough")
        hanging.wait(20)

    async def hang_later(_call: ToolCall, _ctx: ToolContext) -> None:
        session_of_other(session).interrupt("enough")
        await asyncio.sleep(20)

    started = time.monotonic()
    hook = hang if kind_of_hook == "plain" else hang_later
    assert run(kind, session, [calls("pay")], [pay], before_tool=hook).status == "interrupted"
    assert time.monotonic() - started < 5
    hanging.set()
    assert ran == []
    assert run(kind, session, [DONE], [pay], None).status == "completed"
    assert ran == [0]


@both
def test_time_in_review_is_not_the_tools(kind: Kind) -> None:
    """A handler that ended in time is not given up because its review takes longer."""
    session = new()

    async def slow(_call: ToolCall, _result: ToolResult, _ctx: ToolContext) -> None:
        await asyncio.sleep(0.4)

    @tool(timeout=0.2)
    async def quick() -> str:
        """Be quick."""
        return "quick"

    run(kind, session, [{"calls": [{"id": "c", "name": "quick"}]}, DONE], [quick], after_tool=slow)
    assert results(session) == [("quick", False, None)]


@both
@pytest.mark.parametrize("kind_of_hook", ["plain", "async"])
def test_other_tools_go_on_while_a_hook_is_asked(kind: Kind, kind_of_hook: str) -> None:
    """A result that is being reviewed holds up no sibling, and time-outs are noticed meanwhile."""
    session = new()
    other_ran = threading.Event()

    @tool(effect="read")
    def other() -> str:
        """Be another."""
        other_ran.set()
        return "other"

    def wait(call: ToolCall, _result: ToolResult, _ctx: ToolContext) -> str | None:
        return str(other_ran.wait(5)) if call.name == "pay" else None

    async def wait_later(call: ToolCall, _result: ToolResult, _ctx: ToolContext) -> str | None:
        return str(await asyncio.to_thread(other_ran.wait, 5)) if call.name == "pay" else None

    two = {"calls": [*calls("pay")["calls"], {"id": "o", "name": "other"}]}  # type: ignore[misc]
    run(kind, session, [two, DONE], [pay, other], after_tool=wait if kind_of_hook == "plain" else wait_later)
    assert sorted(text for text, _, _ in results(session)) == ["True", "other"]


@both
def test_a_hook_cannot_change_what_runs_or_what_is_recorded(kind: Kind) -> None:
    """It is given copies."""
    session = new()

    def meddle(call: ToolCall, ctx: ToolContext) -> None:
        for given in (call, ctx.call):
            assert given.arguments is not None
            given.arguments["total"] = 1_000_000

    def spoil(call: ToolCall, result: ToolResult, ctx: ToolContext) -> None:
        meddle(call, ctx)
        assert isinstance(result.ui, dict)
        result.ui["n"] = "spoilt"

    shown = replace(pay, handler=lambda total: ToolResult(f"paid {total}", {"n": 1}))
    run(kind, session, [calls("pay"), DONE], [shown], before_tool=meddle, after_tool=spoil)
    (result,) = [message for message in session.messages if isinstance(message, ToolResult)]
    assert (result.text, result.ui) == ("paid 0", {"n": 1})
    assert session.messages[1].calls[0].arguments == {"total": 0}  # type: ignore[union-attr]


@both
def test_a_hook_whose_work_was_cancelled_blocks_its_call_alone(kind: Kind) -> None:
    """A cancellation from within is a failure of the hook, not the end of the run."""
    session = new()

    async def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    assert run(kind, session, [calls("pay"), DONE], [pay], before_tool=cancelled).status == "completed"
    assert [error for _, _, error in results(session)] == ["blocked"]


@both
def test_a_hook_that_is_no_function_is_refused(kind: Kind) -> None:
    """At once, and by name."""
    with pytest.raises(
        suture.ConfigurationError, match=r"before_tool\(call, ctx\) is a function that returns its answer, not 'no'"
    ):
        kind(ScriptedModel([]), before_tool="no")  # type: ignore[arg-type]
    with pytest.raises(
        suture.ConfigurationError, match=r"after_tool\(call, result, ctx\) is a function that returns its answer, not 5"
    ):
        kind(ScriptedModel([]), after_tool=5)  # type: ignore[arg-type]


def of_one(_call: ToolCall) -> None:
    """A hook that takes too little."""


def of_many(_call: ToolCall, _ctx: ToolContext, _more: str) -> None:
    """A hook that takes too much."""


@pytest.mark.parametrize("hook", [of_one, of_many])
def test_a_hook_of_other_arguments_is_refused_before_it_blocks_everything(hook: Callable[..., object]) -> None:
    """Not when the first call comes."""
    with pytest.raises(suture.ConfigurationError, match=r"before_tool\(call, ctx\) is called like that"):
        Agent(ScriptedModel([]), before_tool=hook)


# Tools that end the turn ----------------------------------------------------------------------

FINAL = replace(pay, name="finish", ends_turn=True)
BROKEN = replace(fail, name="finish", ends_turn=True)


@both
@pytest.mark.spec("S157")
@pytest.mark.parametrize("final", [FINAL, BROKEN], ids=["well", "in an error"])
def test_an_executed_tool_that_ends_the_turn_ends_the_run(kind: Kind, final: Tool) -> None:
    """Its siblings are answered, the model is not asked again, and resume changes nothing."""
    session = new()
    result = run(kind, session, [calls("pay", "finish")], [pay, final])
    assert (result.status, len(results(session))) == ("handed_off", 2)
    head = len(session.entries())
    assert run(kind, session, [], [pay, final], None).status == "handed_off"
    assert len(session.entries()) == head
    assert run(kind, session, [DONE], [pay, final], "And now?").text == "Done."


UNDONE: list[tuple[str, dict[str, Any]]] = [
    ("blocked", {"before_tool": lambda *_: "no"}),
    ("invalid", {"tools": [replace(FINAL, validate=lambda _arguments: "never")]}),
    ("unknown", {"tools": []}),
]  # fmt: skip


@both
@pytest.mark.spec("S157")
@pytest.mark.parametrize("more", [row[1] for row in UNDONE], ids=[row[0] for row in UNDONE])
def test_a_tool_that_was_not_executed_ends_nothing(kind: Kind, more: dict[str, Any]) -> None:
    """The model reads why and goes on."""
    tools = more.get("tools", [FINAL])
    hooks = {name: value for name, value in more.items() if name != "tools"}
    assert run(kind, new(), [calls("finish"), DONE], tools, **hooks).status == "completed"


@both
@pytest.mark.spec("S157")
def test_a_call_that_waits_outranks_the_end_of_the_turn(kind: Kind) -> None:
    """The run is suspended; once decided, the turn is over, without another word of the model."""
    gated = replace(pay, needs_approval=True)
    session = new()
    assert run(kind, session, [calls("pay", "finish")], [gated, FINAL]).status == "awaiting_approval"
    session.approve("c0")
    assert run(kind, session, [], [gated, FINAL], None).status == "handed_off"
    assert sorted(ran) == [0, 1]


@both
@pytest.mark.spec("S127")
def test_what_waits_for_delivery_is_left_for_the_next_run(kind: Kind) -> None:
    """A steer that came during the last tool is not answered by a run that hands off; the next one delivers it."""
    session = new()

    def steered(total: int) -> str:
        session.steer("Wait!")
        return f"paid {total}"

    final = replace(FINAL, handler=steered)
    assert run(kind, session, [calls("finish")], [final]).status == "handed_off"
    assert len(session.pending_steers()) == 1
    assert run(kind, session, [DONE], [final], None).status == "completed"
    told = [message.text for message in session.messages if isinstance(message, User)]
    assert told == ["Go.", "Wait!"]


@both
def test_a_run_cut_off_behind_the_last_tool_still_hands_off(kind: Kind) -> None:
    """What ended the turn is read from the log, so a new process comes to the same end."""
    session = new()
    session.add(User.of("Go."))
    session.add(Assistant((Text("On it."), ToolCall("c0", "finish", {"total": 0}))))
    assert run(kind, session, [], [FINAL], None).status == "handed_off"
    assert ran == [0]
