"""What goes wrong at a provider concerns one attempt: the run asks again, or ends and can be resumed.

Both adapters ask a provider on loopback that fails as it is told. Of an attempt that failed nothing is in the log but
that it failed.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import pytest
from llmock.scenarios import Behavior, Fail, Reply, StreamFault, ToolCall
from llmock.testing import LLMockServer

from suture.agent import Agent, AsyncAgent, Result, Signal
from suture.entries import Retry
from suture.entries import read as body_of
from suture.errors import (
    AuthenticationError,
    IncompleteStream,
    InvalidAnswer,
    InvalidRequest,
    ModelError,
    Overloaded,
    RateLimited,
    Timeout,
    TransportError,
)
from suture.loop.events import Event, Retrying, TextDelta, ToolCallDelta
from suture.loop.retries import RetryPolicy
from suture.messages import Assistant, Message, Origin, Reasoning, Text, ToolResult, User
from suture.models import Model
from suture.models.scripted import ScriptedModel, Step
from suture.session import Session
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.testing.replay import Replay, ReplayServer
from suture.tools import tool
from tests.models.served import SERVED, WIRES, Wire, adapter, adapter_of, assert_received_valid, bodies

Opened: TypeAlias = "Callable[..., AbstractContextManager[Model]]"

PROMPT = "Send it."
BAD = "A broken answer that nobody may keep."
GOOD = "The good answer."
ANSWERED = [("user", PROMPT), ("assistant", GOOD)]
QUICK = RetryPolicy(attempts=3, base=0.01, max_delay=1.0)
SLOW = RetryPolicy(attempts=3, base=60.0, max_delay=60.0)
SOON = 1.0  # seconds within which a run that waits ends
SHORT = 0.4  # the timeout of an adapter that is to run into it
STALL = 60.0  # longer than any test waits

sent: list[int] = []


@tool(effect="external")
def send(n: int, note: str = "") -> str:
    """Send something."""
    sent.append(n)
    return f"sent {n} {note}"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    """Each test counts for itself."""
    sent.clear()


# What a log holds -----------------------------------------------------------------------------


def said(session: Session) -> list[tuple[str, str]]:
    """Who said what."""
    return [(_role(message), message.text) for message in session.messages]


def _role(message: Message) -> str:
    match message:
        case User():
            return "user"
        case Assistant():
            return "assistant"
        case ToolResult():
            return "tool"
        case _:
            return "system"


def retries(session: Session) -> list[Retry]:
    """The failed attempts, as the log has them."""
    bodies = [body_of(entry) for entry in session.entries() if entry.kind == "retry"]
    return [body for body in bodies if isinstance(body, Retry)]


def assert_no_trace(session: Session) -> None:
    """No words and no call of a broken answer are anywhere in the log."""
    assert not any(b"broken" in entry.body for entry in session.entries() if entry.kind != "retry")
    assert session.findings() == []
    assert sent == []


def broken(how: str) -> list[Behavior]:
    """An answer of text and a call whose stream breaks once some of the text has come."""
    call = ToolCall("send", {"n": 1, "note": "broken " * 9})
    return [Reply(BAD, (call,)), StreamFault(how, 7, STALL)]  # type: ignore[arg-type]


# Once, and then a good answer -----------------------------------------------------------------

ONCE: dict[str, tuple[list[Behavior], type[ModelError], float | None]] = {
    "rate limit": ([Fail(429, retry_after=0.2)], RateLimited, 0.2),
    "overloaded": ([Fail(503, retry_after=0.1)], Overloaded, 0.1),
    "cut": (broken("truncate"), IncompleteStream, None),
    "dropped": (broken("disconnect"), TransportError, None),
    "broken chunk": (broken("malformed"), TransportError, None),
    "stall": (broken("stall"), Timeout, None),
}


@pytest.mark.spec("S55", "S159")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ONCE)
def test_a_fault_that_passes(fault: str, wire: Wire, server: LLMockServer) -> None:
    """The run completes with the good answer alone; that an attempt failed is in the log and told once."""
    behaviors, error, delay = ONCE[fault]
    server.state.scenarios.add(*behaviors, Reply(GOOD))
    events: list[Event] = []
    session = Session(MemoryStore())
    with adapter_of(wire, server, SHORT if fault == "stall" else 30.0) as model:
        result = Agent(model, session, tools=[send], retries=QUICK).run(PROMPT, watch=events.append)
    assert (result.status, result.text, result.steps, result.error) == ("completed", GOOD, 1, None)
    assert said(session) == ANSWERED
    assert_no_trace(session)
    told = [event for event in events if isinstance(event, Retrying)]
    (kept,) = retries(session)
    assert [(event.attempt, type(event.error), event.delay) for event in told] == [(1, error, kept.delay)]
    assert kept.attempt == 1
    assert kept.error.startswith(f"{error.__name__}: ")
    assert kept.delay == delay if delay is not None else 0 < kept.delay <= QUICK.base
    assert "".join(event.text for event in events[events.index(told[0]) :] if isinstance(event, TextDelta)) == GOOD
    assert_asked_the_same(server, wire, 2)


def assert_asked_the_same(server: LLMockServer, wire: Wire, times: int) -> None:
    """The provider got that many requests, all valid and all alike."""
    assert_received_valid(server, wire)
    received = bodies(server)
    assert len(received) == times
    assert all(body == received[0] for body in received)


# For good -------------------------------------------------------------------------------------


@pytest.mark.spec("S159")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("status", "error"), [(400, InvalidRequest), (401, AuthenticationError)])
def test_a_fault_that_stays(status: int, error: type[ModelError], wire: Wire, server: LLMockServer) -> None:
    """A request that is refused is not made again; nothing of the turn is stored, and `resume` asks anew."""
    session = Session(MemoryStore())
    server.state.scenarios.add(Fail(status, message="No."))
    with adapter_of(wire, server) as model:
        agent = Agent(model, session, tools=[send], retries=QUICK)
        failed = agent.run(PROMPT)
        assert (failed.status, type(failed.error), failed.message) == ("error", error, None)
        assert len(bodies(server)) == 1
        assert (said(session), retries(session)) == ([("user", PROMPT)], [])
        server.state.scenarios.add(Reply(GOOD))
        resumed = agent.resume()
    assert (resumed.status, resumed.text) == ("completed", GOOD)
    assert said(session) == ANSWERED
    assert_asked_the_same(server, wire, 2)


@pytest.mark.spec("S159")
@pytest.mark.parametrize("wire", WIRES)
def test_attempts_that_are_used_up(wire: Wire, server: LLMockServer) -> None:
    """After the last attempt the run ends with its error; the ones before are in the log."""
    session = Session(MemoryStore())
    server.state.scenarios.add(Fail(429, retry_after=0.0), Fail(503, retry_after=0.0), *broken("truncate"))
    with adapter_of(wire, server) as model:
        result = Agent(model, session, tools=[send], retries=QUICK).run(PROMPT)
    assert (result.status, type(result.error)) == ("error", IncompleteStream)
    assert [(one.attempt, one.error.partition(":")[0]) for one in retries(session)] == [
        (1, "RateLimited"),
        (2, "Overloaded"),
    ]
    assert said(session) == [("user", PROMPT)]
    assert_no_trace(session)
    assert_asked_the_same(server, wire, 3)


# Stopped --------------------------------------------------------------------------------------


def stop_by_session(store: Store, id: str, _signal: Signal) -> None:
    """As a person does, from anywhere."""
    Session(store, id).interrupt("enough", by="ann")


def stop_by_signal(_store: Store, _id: str, signal: Signal) -> None:
    """As the host does, from another thread."""
    signal.set("enough")


@pytest.mark.spec("S159")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("driver", [Agent, AsyncAgent])
@pytest.mark.parametrize("stop", [stop_by_session, stop_by_signal])
def test_stopped_while_it_waits_to_ask_again(
    stop: Callable[[Store, str, Signal], None], driver: type[Agent] | type[AsyncAgent], wire: Wire, server: LLMockServer
) -> None:
    """A long wait ends at once, and the run with it; what was said stays, and the session is free."""
    server.state.scenarios.add(Fail(503, retry_after=SLOW.base))
    session, signal, stopped = Session(MemoryStore()), Signal(), []

    def strike() -> None:
        stopped.append(time.monotonic())
        stop(session.store, session.id, signal)

    striker = threading.Timer(0.1, strike)

    def watch(event: Event) -> None:
        if isinstance(event, Retrying):
            striker.start()

    with adapter_of(wire, server) as model:
        agent = driver(model, session, tools=[send], retries=SLOW)
        result = ran(agent, watch, signal)
    ended = time.monotonic()
    striker.join()
    assert ended - stopped[0] < SOON
    assert result.status == "interrupted"
    assert said(session) == [("user", PROMPT)]
    info = session.info()
    assert info is not None
    assert info.claim is None


def ran(agent: Agent | AsyncAgent, watch: Callable[[Event], None], signal: Signal) -> Result:
    """A run of either agent."""
    if isinstance(agent, Agent):
        return agent.run(PROMPT, watch=watch, signal=signal)
    return asyncio.run(agent.run(PROMPT, watch=watch, signal=signal))


@pytest.mark.parametrize("wire", WIRES)
def test_cancelled_in_the_middle_of_arguments(wire: Wire, server: LLMockServer) -> None:
    """Cancelling the task closes the connection, stores nothing of the turn, and frees the session."""
    call = ToolCall("send", {"n": 1, "note": "broken " * 9})
    server.state.scenarios.add(Reply(None, (call,)), StreamFault("stall", 6, STALL))
    session = Session(MemoryStore())
    with adapter_of(wire, server) as model:
        asyncio.run(_cancelled_in_arguments(AsyncAgent(model, session, tools=[send], retries=QUICK), server))
    (record,) = server.state.journal.records(wait=SERVED)
    assert not record.completed
    assert record.chunks_sent <= 6
    assert said(session) == [("user", PROMPT)]
    assert_no_trace(session)
    info = session.info()
    assert info is not None
    assert info.claim is None


async def _cancelled_in_arguments(agent: AsyncAgent, server: LLMockServer) -> None:
    arguments = asyncio.Event()

    def watch(event: Event) -> None:
        if isinstance(event, ToolCallDelta) and event.arguments:
            arguments.set()

    task = asyncio.create_task(agent.run(PROMPT, watch=watch))
    async with asyncio.timeout(SERVED):
        await arguments.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Before the end of the event loop, which would close the connection too.
    assert await asyncio.to_thread(server.state.journal.records, wait=SERVED), "the provider still has its connection"


# Answers that cannot be kept ------------------------------------------------------------------


def turn(*calls: tuple[str, str]) -> Step:
    """An answer that calls those names under those ids."""
    return {"text": BAD, "calls": [{"id": id, "name": name, "arguments": {"n": 1}} for id, name in calls]}


FAULTY = {
    "no id": turn(("", "send")),
    "blank id": turn((" ", "send")),
    "no name": turn(("c2", "")),
    "an id of before": turn(("c2", "look"), ("c1", "look")),
    "an id twice": turn(("c2", "look"), ("c2", "look")),
}


@tool(effect="read")
def look(n: int) -> str:
    """Look at something."""
    return f"saw {n}"


@pytest.mark.spec("S147")
@pytest.mark.parametrize("fault", FAULTY)
def test_calls_that_cannot_be_told_apart(fault: str) -> None:
    """The attempt is rejected whole, and the same is asked again."""
    first: Step = {"text": "I look.", "calls": [{"id": "c1", "name": "look", "arguments": {"n": 7}}]}
    model = ScriptedModel([first, FAULTY[fault], {"text": GOOD}])
    session = Session(MemoryStore())
    result = Agent(model, session, tools=[send, look], retries=QUICK).run(PROMPT)
    assert (result.status, result.text, result.steps) == ("completed", GOOD, 2)
    assert said(session) == [("user", PROMPT), ("assistant", "I look."), ("tool", "saw 7"), ("assistant", GOOD)]
    assert [one.error.partition(":")[0] for one in retries(session)] == [InvalidAnswer.__name__]
    assert model.requests[1] == model.requests[2]
    assert_no_trace(session)


def openai_call(**call: object) -> list[bytes]:
    """A stream of Chat Completions that makes one call."""
    function = {"name": call.get("name"), "arguments": '{"n": 1}'}
    piece = {"index": 0, "type": "function", "id": call.get("id"), "function": function}
    deltas: Sequence[tuple[dict[str, Any], str | None]] = (
        ({"content": BAD, "tool_calls": [piece]}, None),
        ({}, "tool_calls"),
    )
    chunks = [{"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def anthropic_call(**call: object) -> list[bytes]:
    """A stream of Messages that makes one call."""
    block = {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": {"n": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


SERVED_CALLS: dict[Wire, Callable[..., list[bytes]]] = {"openai": openai_call, "anthropic": anthropic_call}


@pytest.mark.spec("S147")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("call", [{"name": "send"}, {"id": "c1"}], ids=["no id", "no name"])
def test_a_provider_that_serves_such_a_call(call: dict[str, str], wire: Wire) -> None:
    """Over an adapter too, a call that nobody could answer is never kept; the run ends with an error when it stays so."""
    served = ReplayServer()
    try:
        for _ in range(QUICK.attempts):
            served.add(Replay(tuple(SERVED_CALLS[wire](**call))))
        session = Session(MemoryStore())
        with adapter(wire, served.url, dialect="") as model:
            result = Agent(model, session, tools=[send], retries=QUICK).run(PROMPT)
        requests = served.requests()
    finally:
        served.close()
    assert (result.status, type(result.error)) == ("error", InvalidAnswer)
    assert said(session) == [("user", PROMPT)]
    assert len(requests) == QUICK.attempts
    assert all(request == requests[0] for request in requests)
    assert_no_trace(session)


@pytest.mark.parametrize("id", [None, "", "call_0"])
def test_a_copy_of_the_api_without_ids_of_its_own_can_be_used(id: str | None) -> None:
    """A server that gives no ids, or counts them anew in each answer, gets ids of the adapter's (X-ID-REUSE)."""
    served = ReplayServer()
    done = {"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}
    try:
        for _ in range(2):
            served.add(Replay(tuple(openai_call(id=id, name="send"))))
        served.add(Replay((f"data: {json.dumps(done)}\n\n".encode(), b"data: [DONE]\n\n")))
        session = Session(MemoryStore())
        with adapter("openai", served.url) as model:
            result = Agent(model, session, tools=[send], retries=QUICK).run(PROMPT)
        bodies = served.requests()
    finally:
        served.close()
    assert (result.status, result.text, retries(session)) == ("completed", "Done.", [])
    ids = [call.id for message in session.messages if isinstance(message, Assistant) for call in message.calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert len(bodies) == 3


@pytest.mark.spec("S174")
@pytest.mark.parametrize("wire", WIRES)
def test_answers_of_nothing(wire: Wire, server: LLMockServer) -> None:
    """An empty answer is asked for again, and the last one is kept; all of them were paid for."""
    server.state.scenarios.add(Reply("", times=QUICK.attempts))
    session = Session(MemoryStore())
    with adapter_of(wire, server) as model:
        result = Agent(model, session, tools=[send], retries=QUICK).run(PROMPT)
    assert (result.status, result.text, result.error) == ("completed", "", None)
    assert said(session) == [("user", PROMPT), ("assistant", "")]
    kept = retries(session)
    assert [one.error.partition(":")[0] for one in kept] == [InvalidAnswer.__name__] * (QUICK.attempts - 1)
    last = session.messages[-1]
    assert isinstance(last, Assistant)
    assert last.usage is not None
    assert last.usage.input_tokens > 0
    assert [one.usage for one in kept] == [last.usage] * len(kept)
    assert result.usage == last.usage + last.usage + last.usage
    assert session.usage == result.usage
    assert_asked_the_same(server, wire, QUICK.attempts)


# Refused all the same -------------------------------------------------------------------------

ALTERNATE = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
UNSIGNED = "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_what_a_server_refuses_by_a_known_rule_is_healed_by_it_and_sent_once_more() -> None:
    """A copy that was not known for what it is: the second request keeps the rule that its error names, and so do those
    that follow; the log says what was refused.
    """
    with LLMockServer() as server, adapter_of("openai", server) as model:
        server.state.scenarios.add(Fail(400, message=ALTERNATE), Reply("one"), Reply("two"))
        session = Session(MemoryStore())
        session.add(User.of("First."))
        agent = Agent(model, session, retries=QUICK)
        assert agent.run("Second.").text == "one"
        sent_bodies: list[Any] = bodies(server)
        assert [[message["role"] for message in body["messages"]] for body in sent_bodies] == [["user", "user"], ["user"]]
        (retry,) = [body for entry in session.entries() if isinstance(body := body_of(entry), Retry)]
        assert (retry.attempt, retry.delay) == (1, 0.0)
        assert "must alternate" in retry.error


def test_what_is_refused_twice_by_one_rule_ends_the_run() -> None:
    """Healing that did not help is not tried again."""
    with LLMockServer() as server, adapter_of("openai", server) as model:
        server.state.scenarios.add(Fail(400, message=ALTERNATE, times=None))
        result = Agent(model, Session(MemoryStore()), retries=QUICK).run(PROMPT)
        assert (result.status, type(result.error)) == ("error", InvalidRequest)
        assert len(bodies(server)) == 2


@pytest.mark.parametrize("message", ["No.", "The model some-model does not exist.", "messages: something new is wrong"])
def test_what_no_rule_explains_is_not_sent_again(message: str) -> None:
    """Nothing is guessed from an error that is not known."""
    with LLMockServer() as server, adapter_of("openai", server) as model:
        server.state.scenarios.add(Fail(400, message=message, times=None))
        assert Agent(model, Session(MemoryStore()), retries=QUICK).run(PROMPT).status == "error"
        assert len(bodies(server)) == 1


def test_thinking_that_its_maker_does_not_know_any_more_is_left_out() -> None:
    """A signature that is refused goes, with what it signed, and `result.changes` says so."""
    with LLMockServer() as server, adapter_of("anthropic", server) as model:
        server.state.scenarios.add(Fail(400, message=UNSIGNED), Reply("one"))
        session = Session(MemoryStore())
        session.add(User.of("First."))
        origin = Origin(provider="anthropic", api="anthropic", model="some-model")
        session.add(Assistant((Reasoning("Hm.", signature="c2ln"), Text("Yes.")), origin=origin))
        result = Agent(model, session, retries=QUICK).run("Second.")
        assert result.text == "one"
        first, second = (json.dumps(body) for body in bodies(server))
        assert ("c2ln" in first, "c2ln" in second) == (True, False)
        assert [change.lost for change in result.changes] == ["reasoning"]
