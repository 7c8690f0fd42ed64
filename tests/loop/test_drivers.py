"""What a run does when it is stopped, dropped, slow, watched, or one of many, under both drivers."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from suture.agent import Agent, AsyncAgent, Signal
from suture.errors import StoreError
from suture.loop.events import Event
from suture.loop.request import Request
from suture.messages import ToolResult
from suture.models.base import Piece
from suture.models.scripted import ScriptedModel, Step
from suture.session import Session
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite.store import SqliteStore
from suture.tools import Handler, Tool, ToolContext, tool
from tests.loop.children import Child
from tests.loop.counts import RUNS_AT_ONCE
from tests.loop.mortal import Dead, Mortal
from tests.loop.scenarios import (
    DONE,
    ID,
    PROMPT,
    SCENARIOS,
    Driver,
    Ledger,
    Scenario,
    Story,
    World,
    assert_complete,
    carried,
    check_end,
    wait_until,
)
from tests.loop.worker import Barrier, Orders, story_of

Begin: TypeAlias = Callable[[Orders], Child]
both = pytest.mark.parametrize("driver", ["sync", "async"])


def call(name: str, n: int = 0) -> dict[str, object]:
    return {"id": f"c{n}", "name": name, "arguments": {}}


def agent_of(
    driver: Driver,
    script: list[Step],
    *tools: Tool | Handler,
    store: Store | None = None,
    max_concurrency: int = 4,
) -> Agent | AsyncAgent:
    """An agent of that driver on a session of its own."""
    session = Session(store or MemoryStore(), ID)
    if driver == "sync":
        return Agent(ScriptedModel(script), session, tools=tools, max_concurrency=max_concurrency)
    return AsyncAgent(ScriptedModel(script), session, tools=tools, max_concurrency=max_concurrency)


def session_of(agent: Agent | AsyncAgent) -> Session:
    return agent.session if isinstance(agent, Agent) else agent.session.plain


def results(agent: Agent | AsyncAgent) -> list[str]:
    return [message.text for message, _ in session_of(agent).replay() if isinstance(message, ToolResult)]


# Ctrl-C ---------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("scenario", "barrier", "recorded"),
    [("external", "send", ["sent 0"]), ("read", "look", ["saw 0"]), ("external", "model", [])],
)
def test_ctrl_c_records_what_finishes_and_frees_the_session(
    scenario: str, barrier: Barrier, recorded: list[str], driver: Driver, child: Begin, tmp_path: Path
) -> None:
    """The handler is told and given time, the model call ends at once; then the process ends, and another goes on."""
    SqliteStore(tmp_path / "log.db").close()
    given = Orders("step", str(tmp_path), scenario, driver, barrier=barrier, hang=True)
    stopped = child(given)
    assert stopped.hear() == {"at": barrier}
    stopped.signal(signal.SIGINT)
    assert stopped.hear()["raised"] == "KeyboardInterrupt"
    story = story_of(given, World(given.ledger))
    session = story.session()
    assert session.info().claim is None
    assert [message.text for message in session if isinstance(message, ToolResult)] == recorded
    assert stopped.wait() == 0
    story.finish()
    check_end(story)


@both
def test_ctrl_c_does_not_wait_longer_than_the_grace(driver: Driver, child: Begin, tmp_path: Path) -> None:
    """A handler that does not stop is left behind, and its outcome is unknown."""
    SqliteStore(tmp_path / "log.db").close()
    given = Orders("step", str(tmp_path), "external", driver, grace=0.1, barrier="send")
    stopped = child(given)
    assert stopped.hear() == {"at": "send"}
    stopped.signal(signal.SIGINT)
    assert stopped.hear()["raised"] == "KeyboardInterrupt"
    story = story_of(given, World(given.ledger))
    assert [unknown.call.id for unknown in story.session().unknown_outcomes()] == ["c0"]
    story.finish()
    check_end(story)


# Watchers and readers -------------------------------------------------------------------------


def report(_name: str, ctx: ToolContext) -> None:
    ctx.progress("half")


WATCHED = Scenario("watched", ("send", "look", "save"), in_handler=report, max_concurrency=1)


class Bored(Exception):
    """A watcher has seen enough."""


@pytest.mark.spec("S164")
@both
@pytest.mark.parametrize(
    ("event", "ran"),
    [
        ("message", []),
        ("text_delta", []),
        ("tool_call_delta", []),
        ("tool_started", []),
        ("approval_needed", []),
        ("tool_progress", ["send"]),
        ("tool_result", ["send"]),
        ("finished", ["send", "look", "save"]),
    ],
)
def test_a_watchers_exception_leaves_unchanged(event: str, ran: list[str], driver: Driver, tmp_path: Path) -> None:
    """It is no failure of a tool, no later call starts, and the session is free."""
    scenario = replace(WATCHED, gated=("send",)) if event == "approval_needed" else WATCHED
    story = Story(scenario, MemoryStore(), World(Ledger(tmp_path / "runs")), driver)
    bored = Bored()

    def watch(seen: Event) -> None:
        if seen.type == event:
            raise bored

    with pytest.raises(Bored) as caught:
        carried(story.agent(story.session())[0], PROMPT, watch=watch)
    assert caught.value is bored
    assert [run.tool for run in story.world.ledger.runs()] == ran
    session = story.session()
    assert session.info().claim is None
    assert session.unknown_outcomes() == []
    assert [message.text for message in session if isinstance(message, ToolResult)] == ["sent 0", "saw 1", "saved 2"][
        : len(ran)
    ]
    story.finish()
    check_end(story)


@both
def test_a_result_that_lands_while_watchers_are_told_is_recorded(driver: Driver) -> None:
    """The result came in together with the event at which the watcher gave up."""

    @tool
    def send(ctx: ToolContext) -> str:
        """Send."""
        ctx.progress("one")
        told.wait(10)
        ctx.progress("two")
        return "sent"

    told = threading.Event()

    def watch(seen: Event) -> None:
        if getattr(seen, "text", "") == "one":
            told.set()
            wait_until(lambda: not any(thread.name == "suture-send" for thread in threading.enumerate()))
        if getattr(seen, "text", "") == "two":
            raise Bored

    agent = agent_of(driver, [{"calls": [call("send")]}], send)
    with pytest.raises(Bored):
        carried(agent, PROMPT, watch=watch)
    assert results(agent) == ["sent"]


def test_a_stream_that_is_dropped_ends_the_run(tmp_path: Path) -> None:
    """Closed early, it starts nothing more; the handler that was on gets its grace."""
    story = Story(WATCHED, MemoryStore(), World(Ledger(tmp_path / "runs")))
    agent, _ = story.agent(story.session())
    assert isinstance(agent, Agent)
    stream = agent.stream(PROMPT)
    for event in stream:
        if event.type == "tool_progress":
            break
    stream.close()
    dropped_and_followed(story)


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_an_async_stream_that_is_dropped_ends_the_run(how: str, tmp_path: Path) -> None:
    """Closed early, or with the task that reads it, it starts nothing more."""
    story = Story(WATCHED, MemoryStore(), World(Ledger(tmp_path / "runs")), "async")
    agent, _ = story.agent(story.session())
    assert isinstance(agent, AsyncAgent)

    async def read() -> None:
        stream = agent.stream(PROMPT)
        async for event in stream:
            if event.type == "tool_progress":
                break
        if how == "close":
            await stream.close()
            return
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        async for _ in stream:
            pass

    if how == "close":
        asyncio.run(read())
    else:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(read())
    dropped_and_followed(story)


def dropped_and_followed(story: Story) -> None:
    session = story.session()
    assert [run.tool for run in story.world.ledger.runs()] == ["send"]
    assert [message.text for message in session if isinstance(message, ToolResult)] == ["sent 0"]
    assert session.info().claim is None
    story.finish()
    check_end(story)


@pytest.mark.parametrize("ticks", range(6))
def test_a_cancellation_that_meets_a_result_is_not_lost(ticks: int) -> None:
    """Whichever turn of the event loop it comes in, the cancelled run ends, and the result is recorded."""
    runs: list[asyncio.Task[object]] = []

    @tool
    async def send() -> str:
        """Send."""
        await asyncio.sleep(0.01)
        asyncio.get_running_loop().create_task(cancel())
        return "sent"

    async def cancel() -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)
        runs[0].cancel()

    agent = agent_of("async", [{"calls": [call("send")]}, {"text": DONE}], send)
    assert isinstance(agent, AsyncAgent)

    async def main() -> None:
        runs.append(asyncio.create_task(agent.run(PROMPT)))
        await runs[0]

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert results(agent) == ["sent"]
    assert session_of(agent).findings() == []
    assert session_of(agent).info().claim is None


# Handlers -------------------------------------------------------------------------------------


@pytest.mark.spec("S154", "A13")
@both
def test_a_plain_handler_out_of_time_is_left_behind_and_its_late_result_recorded(driver: Driver) -> None:
    """The model is told that it may still be running; while the run is on, what it brings replaces that."""
    free = threading.Event()

    @tool(timeout=0.05)
    def slow() -> str:
        """Take long."""
        free.wait(10)
        return "late"

    async def then(request: Request) -> dict[str, object]:
        told.append(request.messages[-1].text)
        free.set()
        while results(agent) != ["late"]:
            await asyncio.sleep(0.001)
        return {"text": DONE}

    told: list[str] = []
    agent = agent_of(driver, [{"calls": [call("slow")]}, then], slow)
    assert carried(agent, PROMPT).status == "completed"
    assert told == [
        (
            "This call did not finish in time: 0.05 seconds. It may still be running and may take effect; check before "
            "repeating it."
        )
    ]
    assert [finding.code for finding in session_of(agent).findings()] == ["RESULT_REPLACED"]


@both
def test_an_async_handler_out_of_time_is_cancelled(driver: Driver) -> None:
    """It sees the cancellation, and the run goes on without it."""
    cancelled: list[bool] = []

    @tool(timeout=0.05)
    async def slow() -> str:
        """Take long."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    agent = agent_of(driver, [{"calls": [call("slow")]}, {"text": DONE}], slow)
    assert carried(agent, PROMPT).status == "completed"
    wait_until(lambda: cancelled == [True])
    assert "did not finish in time" in results(agent)[0]


def fails() -> str:
    """Fail."""
    raise ValueError("no such customer")


async def fails_later() -> str:
    """Fail."""
    raise ValueError("no such customer")


def returns_what_is_no_json() -> object:
    """Return what cannot be written down."""
    return {"at": float("nan")}


async def waits_for_what_is_cancelled(ctx: ToolContext) -> str:
    """Wait for something that somebody else cancels."""
    if ctx.attempt > 1:
        return "ran again"
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future
    return "never"


@pytest.mark.spec("S154")
@both
@pytest.mark.parametrize(
    ("handler", "says"),
    [
        (fails, "The tool 'it' failed: ValueError: no such customer."),
        (fails_later, "The tool 'it' failed: ValueError: no such customer."),
        (returns_what_is_no_json, "The tool 'it' ran, but its result cannot be written down:"),
        (waits_for_what_is_cancelled, "The tool 'it' failed: RuntimeError: what it waited for was cancelled."),
    ],
)
def test_a_handler_that_fails_gives_a_result_that_the_model_reads(handler: Handler, says: str, driver: Driver) -> None:
    """The run goes on, and the handler ran once."""
    agent = agent_of(driver, [{"calls": [call("it")]}, {"text": DONE}], tool(name="it", effect="read")(handler))
    assert carried(agent, PROMPT).status == "completed"
    (text,) = results(agent)
    assert text.startswith(says)
    assert [entry.kind for entry in session_of(agent).entries()].count("tool_started") == 1


def leaves() -> str:
    """End the program."""
    sys.exit(3)


async def leaves_later() -> str:
    """End the program."""
    sys.exit(3)


async def model_leaves(_request: Request) -> dict[str, object]:
    sys.exit(3)


@both
@pytest.mark.parametrize(
    ("script", "handler"),
    [([{"calls": [call("it")]}], leaves), ([{"calls": [call("it")]}], leaves_later), ([model_leaves], leaves)],
    ids=["plain handler", "async handler", "model"],
)
def test_what_ends_the_program_ends_the_run_and_not_the_next(script: list[Step], handler: Handler, driver: Driver) -> None:
    """A SystemExit from a job leaves unchanged instead of being waited for; the session is free, and others run."""
    agent = agent_of(driver, script, tool(name="it")(handler))
    with pytest.raises(SystemExit) as caught:
        carried(agent, PROMPT)
    assert caught.value.code == 3
    assert session_of(agent).info().claim is None
    assert carried(agent_of(driver, [{"text": DONE}]), PROMPT).text == DONE


@both
def test_a_models_own_error_leaves_unchanged(driver: Driver) -> None:
    """What is no ModelError is a fault of the model's code, and nothing to record."""
    fault = KeyError("choices")
    agent = agent_of(driver, [fault])
    with pytest.raises(KeyError) as caught:
        carried(agent, PROMPT)
    assert caught.value is fault
    assert session_of(agent).info().claim is None


class SelfCancelled:
    """A model whose connection is cancelled under it."""

    name = "cancelled"

    async def stream(self, request: Request) -> AsyncIterator[Piece]:  # noqa: ARG002
        raise asyncio.CancelledError
        yield


@both
def test_a_model_that_is_cancelled_from_within_has_not_answered(driver: Driver) -> None:
    """Nobody stopped the run, so it ends with an error and not as interrupted."""
    session = Session(MemoryStore())
    agent = Agent(SelfCancelled(), session) if driver == "sync" else AsyncAgent(SelfCancelled(), session)
    result = carried(agent, PROMPT)
    assert (result.status, type(result.error).__name__) == ("error", "IncompleteStream")


@both
def test_a_store_that_fails_ends_the_run_with_its_error(driver: Driver) -> None:
    """It is no failure of the tool that ran meanwhile, and it says what could not be recorded."""

    @tool
    def send() -> str:
        """Send."""
        mortal.die()
        return "sent"

    mortal = Mortal(MemoryStore(), lambda _: None)
    agent = agent_of(driver, [{"calls": [call("send")]}], send, store=mortal)
    with pytest.raises(StoreError) as caught:
        carried(agent, PROMPT)
    assert isinstance(caught.value, Dead)
    session = Session(mortal.inner, ID)
    assert [unknown.call.id for unknown in session.unknown_outcomes()] == []
    assert [call.status for call in session.state.calls.values()] == ["started"]


def test_a_plain_handler_does_not_hold_up_the_event_loop() -> None:
    """While it waits in its thread, other tasks go on; one of them lets it go."""
    go = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        return "went" if go.wait(10) else "was held up"

    agent = agent_of("async", [{"calls": [call("wait")]}, {"text": DONE}], wait)
    assert isinstance(agent, AsyncAgent)

    async def main() -> None:
        run = asyncio.create_task(agent.run(PROMPT))
        while not any(thread.name == "suture-wait" for thread in threading.enumerate()):
            await asyncio.sleep(0.001)
        go.set()
        await run

    asyncio.run(main())
    assert results(agent) == ["went"]


def test_plain_code_runs_inside_a_running_event_loop() -> None:
    """As in a notebook: the agent's own loop is another one, for async handlers too."""
    loops: list[object] = []

    @tool
    async def look() -> str:
        """Look."""
        loops.append(asyncio.get_running_loop())
        return "seen"

    agent = agent_of("sync", [{"calls": [call("look")]}, {"text": DONE}], look)
    assert isinstance(agent, Agent)

    async def notebook() -> None:
        loops.append(asyncio.get_running_loop())
        assert agent.run(PROMPT).status == "completed"

    asyncio.run(notebook())
    assert results(agent) == ["seen"]
    assert loops[0] is not loops[1]


# Several at once ------------------------------------------------------------------------------


@both
def test_no_more_calls_run_at_once_than_is_allowed(driver: Driver) -> None:
    """Two may, and two do: each of six waits for a second one, and never meets a third."""
    pair = threading.Barrier(2, timeout=10)
    inside: list[int] = []
    most: list[int] = []

    @tool
    def meet() -> str:
        """Meet one other."""
        inside.append(1)
        most.append(len(inside))
        pair.wait()
        inside.pop()
        pair.wait()
        return "met"

    calls = [call("meet", n) for n in range(6)]
    agent = agent_of(driver, [{"calls": calls}, {"text": DONE}], meet, max_concurrency=2)
    assert carried(agent, PROMPT).status == "completed"
    assert results(agent) == ["met"] * 6
    assert max(most) == 2


@pytest.mark.spec("S153", "A15")
@both
def test_results_are_recorded_as_they_land_and_replayed_in_call_order(driver: Driver) -> None:
    """The first call returns only once the second's result stands in the log."""

    def recorded() -> list[str]:
        return [message.text for message in Session(store, ID) if isinstance(message, ToolResult)]

    @tool
    def first() -> str:
        """Wait for the second."""
        wait_until(lambda: recorded() == ["two"])
        return "one"

    @tool
    def second() -> str:
        """Return."""
        return "two"

    store = MemoryStore()
    agent = agent_of(driver, [{"calls": [call("first", 0), call("second", 1)]}, {"text": DONE}], first, second, store=store)
    assert carried(agent, PROMPT).status == "completed"
    assert recorded() == ["two", "one"]
    assert results(agent) == ["one", "two"]


@pytest.mark.spec("S165")
@both
@pytest.mark.parametrize("place", ["handler", "model"])
def test_a_signal_stops_the_run(place: str, driver: Driver) -> None:
    """Set from another thread while a handler or the model works; the log says why, and `resume` goes on."""
    stop = Signal()

    @tool
    def work(ctx: ToolContext) -> str:
        """Work until told to stop."""
        if place == "handler":
            threading.Thread(target=stop.set, args=("the user left",)).start()
            wait_until(lambda: ctx.interrupted)
        return "done so far"

    async def answer(_request: Request) -> dict[str, object]:
        if place == "model" and not stop.is_set:
            threading.Thread(target=stop.set, args=("the user left",)).start()
            await asyncio.sleep(60)
        return {"text": DONE}

    agent = agent_of(driver, [{"calls": [call("work")]}, answer, answer], work)
    assert carried(agent, PROMPT, signal=stop).status == "interrupted"
    assert results(agent) == ["done so far"]
    assert session_of(agent).state.stopped_by() == "stopped by the program (the user left)"
    assert carried(agent, None).text == DONE


@both
def test_an_agent_runs_the_session_it_is_given(driver: Driver) -> None:
    """An empty one too; the agent's own stays empty."""
    given = Session(MemoryStore())
    agent = agent_of(driver, [{"text": DONE}])
    if isinstance(agent, Agent):
        agent.run(PROMPT, session=given)
    else:
        asyncio.run(agent.run(PROMPT, session=given))
    assert [message.text for message in given] == [PROMPT, DONE]
    assert len(session_of(agent)) == 0


def test_many_runs_at_once_on_one_store(tmp_path: Path) -> None:
    """One agent, one file, fifty sessions: each has its own conversation, whole."""
    store = SqliteStore(tmp_path / "log.db")
    stories = [
        Story(SCENARIOS["three"], store, World(Ledger(tmp_path / "runs")), "async", id=f"s{n}") for n in range(RUNS_AT_ONCE)
    ]
    agent, _ = stories[0].agent(stories[0].session(), steps=2 * RUNS_AT_ONCE)
    assert isinstance(agent, AsyncAgent)

    async def main() -> list[str]:
        results = await asyncio.gather(*(agent.run(PROMPT, session=story.session()) for story in stories))
        return [result.status for result in results]

    assert asyncio.run(main()) == ["completed"] * RUNS_AT_ONCE
    for story in stories:
        assert_complete(story.scenario, story.session())
    assert len(Ledger(tmp_path / "runs").runs()) == 3 * RUNS_AT_ONCE
    store.close()


@both
def test_a_forked_child_can_run(driver: Driver, child: Begin, tmp_path: Path) -> None:
    """After a run the process has threads and an open store; its child makes its own, and its parent keeps its own."""
    SqliteStore(tmp_path / "log.db").close()
    given = Orders("fork", str(tmp_path), "three", driver)
    assert child(given).hear() == {"ended": "completed", "child": 0}
    story = story_of(given, World(given.ledger))
    for story.id in (ID, "child", "parent"):
        assert_complete(story.scenario, story.session())
