"""What the host's own code does, its handlers, validators, models and stores, never costs the run more than is its own."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import threading
import time
import types
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Annotated, TypeAlias

import pydantic
import pytest

import suture
from suture.agent import Agent, AsyncAgent, Result, Signal
from suture.agent.agent import Watch
from suture.agent.heartbeat import kept_alive
from suture.agent.recorder import Recorder
from suture.errors import ConfigurationError, Fenced, InvalidTool, StoreError
from suture.loop.request import Request
from suture.messages import Assistant, Opaque, Text, ToolCall, ToolResult
from suture.models.base import Piece, TextDelta
from suture.session import Session
from suture.session.log import SessionLog
from suture.stores.base import Claim
from suture.stores.memory import MemoryStore
from suture.testing import ScriptedModel
from suture.tools import Handler, Tool, as_logged, recheck, result_of

Kind: TypeAlias = type[Agent] | type[AsyncAgent]
both = pytest.mark.parametrize("kind", [Agent, AsyncAgent], ids=["sync", "async"])

# No run here takes this long, in seconds; one that does hangs.
LONGEST = 20


def ended(agent: Agent | AsyncAgent, *, stop: Signal | None = None, watch: Watch | None = None) -> Result:
    """The agent's run, which raises or ends in time."""
    outcome: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            if isinstance(agent, Agent):
                outcome.put(agent.run("Go.", signal=stop, watch=watch))
            else:
                outcome.put(asyncio.run(agent.run("Go.", signal=stop, watch=watch)))
        except BaseException as error:  # noqa: BLE001  it is raised below
            outcome.put(error)

    threading.Thread(target=run, daemon=True).start()
    came = outcome.get(timeout=LONGEST)
    if isinstance(came, BaseException):
        raise came
    return came


def calling(kind: Kind, tool: Tool | Handler, session: Session | None = None) -> Agent | AsyncAgent:
    """An agent whose model calls the tool once and is content."""
    name = tool.name if isinstance(tool, Tool) else tool.__name__
    script = ScriptedModel([{"calls": [{"id": "c1", "name": name, "arguments": {}}]}, {"text": "Done."}])
    return kind(script, session or Session(MemoryStore()), tools=[tool], grace=0.1)


def results(agent: Agent | AsyncAgent) -> list[ToolResult]:
    """As another process reads them."""
    session = agent.session if isinstance(agent, Agent) else agent.session.plain
    return [message for message in Session(session.store, session.id) if isinstance(message, ToolResult)]


# What handlers return and raise ---------------------------------------------------------------


class Markup(str):
    """A text of a class of its own, as template engines make them."""

    __slots__ = ()


class Speechless(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Moody:
    """A value that is compared with nothing."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


def speechless() -> object:
    raise Speechless


def endless() -> object:
    items: list[object] = []
    items.append(items)
    return items


def result(**fields: object) -> ToolResult:
    """A result with fields of any type."""
    return ToolResult(**{"parts": (Text("x"),), **fields})  # type: ignore[arg-type]


ANSWERS: dict[str, tuple[Callable[[], object], str]] = {
    "a mapping that is no dict": (lambda: types.MappingProxyType({"a": Markup("b")}), '{"a":"b"}'),
    "a text of its own class": (lambda: Markup("hi"), "hi"),
    "such a text in a part": (lambda: Text(Markup("hi")), "hi"),
    "parts as a text": (lambda: result(parts="abc"), "abc"),
    "parts as texts": (lambda: result(parts=["a", Text("b")]), "ab"),
    "a mapping for the ui": (lambda: result(ui=types.MappingProxyType({"n": 1})), "x"),
    "a surrogate": (lambda: "a\ud800b", "a\ufffdb"),
}

FAILURES: dict[str, tuple[Callable[[], object], str, str]] = {
    "a number for a text": (lambda: Text(5), "result_error", "$.parts[0].text"),  # type: ignore[arg-type]
    "a number for the error type": (lambda: result(error_type=404), "result_error", "$.error_type"),
    "a number for parts": (lambda: result(parts=7), "result_error", "int"),
    "an object for the ui": (lambda: result(ui=object()), "result_error", "object is not JSON"),
    "an object in ext": (lambda: result(ext={"o": object()}), "result_error", "$.ext.o"),
    "an object in an opaque part": (lambda: result(parts=(Opaque("x", object()),)), "result_error", "$.parts[0].raw"),
    "a number that is none": (lambda: result(ext={"n": float("nan")}), "result_error", "$.ext.n"),
    "a list in itself": (endless, "result_error", "levels"),
    "a value without equality": (Moody, "result_error", "Moody is not JSON"),
    "an error without words": (speechless, "execution_error", "failed: Speechless. Check"),
}


def counted(make: Callable[[], object]) -> tuple[Tool, list[int]]:
    """A tool that may be repeated, and its runs."""
    runs: list[int] = []

    @suture.tool(effect="read")
    def look() -> object:
        """Look."""
        runs.append(1)
        assert len(runs) < 3, "the call is run again without end"
        return make()

    return look, runs


@both
@pytest.mark.parametrize("name", ANSWERS)
def test_a_result_of_near_words_is_written_as_words(name: str, kind: Kind) -> None:
    """The handler runs once, and what stands in the log can be read."""
    make, text = ANSWERS[name]
    tool, runs = counted(make)
    agent = calling(kind, tool)
    assert ended(agent).status == "completed"
    (found,) = results(agent)
    assert (found.text, found.error, len(runs)) == (text, False, 1)


@both
@pytest.mark.parametrize("name", FAILURES)
def test_a_result_that_cannot_be_written_is_told_to_the_model(name: str, kind: Kind) -> None:
    """It is an error of its call, which names the place; the run goes on, and the handler is not run again."""
    make, error_type, said = FAILURES[name]
    tool, runs = counted(make)
    agent = calling(kind, tool)
    assert ended(agent).status == "completed"
    (found,) = results(agent)
    assert (found.error, found.error_type, len(runs)) == (True, error_type, 1)
    assert said in found.text


def test_what_is_recorded_is_what_is_read_back() -> None:
    """A result comes out of `result_of` exactly as a log gives it back, so it can be checked before it is written."""
    made = result_of(ToolCall("c", "look"), result(ui=(1, {"a": Markup("b")})))
    assert made == as_logged(ToolResult, made)
    assert made.ui == [1, {"a": "b"}]


# Validators -----------------------------------------------------------------------------------


def broken(_value: object) -> object:
    raise KeyError("x")


@suture.tool(effect="read")
def strict(n: Annotated[int, pydantic.AfterValidator(broken)] = 1) -> str:
    """Look."""
    return str(n)


def test_a_validator_that_breaks_refuses_its_call_alone() -> None:
    """Whatever it raises, the model is told that the arguments do not fit."""
    refused = recheck(ToolCall("c1", "strict", {"n": 2}), {"strict": strict})
    assert isinstance(refused, suture.tools.Refused)
    assert refused.error_type == "validation_error"
    assert "KeyError" in refused.reason


SEEN: list[int] = []


def once(value: int) -> int:
    SEEN.append(value)
    if len(SEEN) > 1:
        raise KeyError("x")
    return value


@suture.tool(effect="read")
def moody(n: Annotated[int, pydantic.Field(validate_default=True), pydantic.AfterValidator(once)] = 1) -> str:
    """Look."""
    raise AssertionError(n)


@both
def test_a_validator_that_breaks_at_the_last_moment_runs_nothing(kind: Kind) -> None:
    """Checked when the call was screened, refused when it was bound: the handler was not called, and that is said."""
    SEEN.clear()
    agent = calling(kind, moody)
    assert ended(agent).status == "completed"
    assert [(one.error_type, "was not run" in one.text) for one in results(agent)] == [("validation_error", True)]


# Models ---------------------------------------------------------------------------------------


class Model:
    """Yields what it was made with."""

    name = "own"

    def __init__(self, *pieces: object) -> None:
        self.pieces = pieces

    async def stream(self, request: Request) -> AsyncIterator[Piece]:  # noqa: ARG002
        for piece in self.pieces:
            yield piece  # type: ignore[misc]


@both
@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (Assistant((ToolCall(None, "f", {}),)), "$.parts[0].id"),  # type: ignore[arg-type]
        (Assistant((ToolCall(5, "f", {}),)), "$.parts[0].id"),  # type: ignore[arg-type]
        (Assistant((Text("a"), ToolCall("c", None, {}))), "$.parts[1].name"),  # type: ignore[arg-type]
        (Assistant((ToolCall("c", "f", {"x": {1}}),)), "$.parts[0].arguments.x"),
        (Assistant(("text",)), "$.parts[0]"),  # type: ignore[arg-type]
        (Assistant((Text("a"),), usage={"input_tokens": "many"}), "$.usage.input_tokens"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_nobody_could_read_is_not_recorded(answer: Assistant, place: str, kind: Kind) -> None:
    """The model is the host's: the run says which field is wrong."""
    session = Session(MemoryStore())
    with pytest.raises(ConfigurationError) as error:
        ended(kind(Model(answer), session))
    assert place in str(error.value)
    assert [message.text for message in Session(session.store, session.id)] == ["Go."]


@both
def test_a_model_that_cannot_be_cancelled_is_left_behind(kind: Kind) -> None:
    """It is given the grace, as handlers are; then the run is interrupted all the same."""
    over = threading.Event()
    stop = Signal()

    class Deaf(Model):
        async def stream(self, request: Request) -> AsyncIterator[Piece]:  # noqa: ARG002
            yield TextDelta("a")
            stop.set()
            while not over.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue

    async def run(agent: AsyncAgent) -> Result:
        try:
            return await asyncio.wait_for(agent.run("Go.", signal=stop), LONGEST)
        finally:
            over.set()

    agent = kind(Deaf(), Session(MemoryStore()), grace=0.1)
    try:
        found = asyncio.run(run(agent)) if isinstance(agent, AsyncAgent) else ended(agent, stop=stop)
    finally:
        over.set()
    assert found.status == "interrupted"


# How handlers end -----------------------------------------------------------------------------


class Abort(BaseException):
    """No Exception."""


@both
@pytest.mark.parametrize("error", [Abort, GeneratorExit, pytest.fail.Exception, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_handler_raises_its_run_ends(error: type[BaseException], is_async: bool, kind: Kind) -> None:
    """What is no Exception is no result: the run raises it, and waits for nothing."""

    def plain() -> str:
        """Stop."""
        raise error("enough")

    async def waiting() -> str:
        """Stop."""
        raise error("enough")

    with pytest.raises(error):
        ended(calling(kind, waiting if is_async else plain))


@both
def test_a_plain_handlers_cancelled_error_is_its_failure(kind: Kind) -> None:
    """Nobody cancelled the run, so it goes on."""

    def lost() -> str:
        """Look."""
        raise asyncio.CancelledError

    agent = calling(kind, lost)
    assert ended(agent).status == "completed"
    assert [one.error_type for one in results(agent)] == ["execution_error"]


@both
def test_what_a_plain_handler_returns_to_be_awaited_is_awaited(kind: Kind) -> None:
    """A wrapper round an async function is a plain function; its result is that of the async one."""

    async def later() -> str:
        await asyncio.sleep(0)
        return "awaited"

    def soon() -> Awaitable[str]:
        """Look."""
        return later()

    agent = calling(kind, soon)
    assert ended(agent).status == "completed"
    assert [one.text for one in results(agent)] == ["awaited"]


def yielding() -> Iterator[str]:
    """Look."""
    yield "a"


async def yielding_later() -> AsyncIterator[str]:
    """Look."""
    yield "a"


@pytest.mark.parametrize("function", [yielding, yielding_later])
def test_a_generator_function_is_no_handler(function: Handler) -> None:
    """Called, it would do nothing at all."""
    with pytest.raises(InvalidTool, match="yields"):
        suture.tool(function)


# The background loops -------------------------------------------------------------------------


def test_an_async_handler_may_not_block_the_loop_that_it_waits_for() -> None:
    """The plain agent is refused there at once, and nothing of it is written."""
    inner = Agent(ScriptedModel([{"text": "inner"}]), Session(MemoryStore()))

    async def ask() -> str:
        """Ask."""
        return inner.run("Hi.").text

    agent = calling(Agent, ask)
    assert ended(agent).status == "completed"
    assert ["must await AsyncAgent" in one.text for one in results(agent)] == [True]
    assert inner.session.entries() == []


def test_an_async_handler_that_blocks_stops_no_model() -> None:
    """Runs elsewhere in the process go on."""
    blocked, free = threading.Event(), threading.Event()

    async def block() -> str:
        """Wait."""
        blocked.set()
        free.wait(LONGEST)
        return ""

    thread = threading.Thread(target=calling(Agent, block).run, args=("Go.",), daemon=True)
    thread.start()
    assert blocked.wait(LONGEST)
    try:
        assert ended(Agent(ScriptedModel([{"text": "Done."}]))).text == "Done."
        assert thread.is_alive()
    finally:
        free.set()
    thread.join(LONGEST)
    assert not thread.is_alive()


# Stores and claims ----------------------------------------------------------------------------


class Far(MemoryStore):
    """A store whose answers take longer than the lease."""

    def renew(self, claim: Claim, ttl: float) -> None:
        super().renew(claim, ttl)
        time.sleep(ttl * 2)


@both
def test_a_lease_that_no_renewal_can_keep_is_refused(kind: Kind) -> None:
    """A run that can never be sure of its claim says why, and does not try for ever."""

    def late(_event: object) -> None:
        time.sleep(0.05)

    agent = kind(ScriptedModel([{"text": "Done."}]), Session(Far()), lease=0.01)
    with pytest.raises(StoreError, match="too short for this store"):
        ended(agent, watch=late)


def test_a_store_that_breaks_takes_no_other_stores_claims_along() -> None:
    """The one heartbeat goes on, whatever a store raises."""
    raised, renewed = threading.Event(), threading.Event()

    class Bad(MemoryStore):
        def renew(self, claim: Claim, ttl: float) -> None:  # noqa: ARG002
            raised.set()
            raise OSError("the network is down")

    class Good(MemoryStore):
        def renew(self, claim: Claim, ttl: float) -> None:
            super().renew(claim, ttl)
            renewed.set()

    bad, good = Recorder(SessionLog(Bad(), "s"), 0.3), Recorder(SessionLog(Good(), "s"), 0.3)
    bad.claim()
    with kept_alive(bad):
        assert raised.wait(LONGEST)
        good.claim()
        with kept_alive(good):
            assert renewed.wait(LONGEST)


def test_a_fork_does_not_go_on_under_its_parents_claim() -> None:
    """It may not append, renew or settle, and does not give the parent's claim back."""
    store = MemoryStore()
    recorder = Recorder(SessionLog(store, "s"), 30)
    recorder.claim()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        refused = 0
        for act in (
            recorder.require_claim,
            lambda: recorder.append(()),
            lambda: recorder.append_unclaimed(()),
            recorder.renew,
        ):
            try:
                act()
            except Fenced:
                refused += 1
        recorder.release()
        info = store.info("s")
        os._exit(0 if refused == 4 and info is not None and info.claim is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    recorder.require_claim()


@both
@pytest.mark.parametrize("fails_to", ["read", "append"])
def test_a_claim_that_cannot_be_released_hides_no_error(fails_to: str, kind: Kind) -> None:
    """What went wrong first is raised; the rest is a note on it."""

    def fail(*_: object, **__: object) -> int:
        raise StoreError("full")

    def fail_again(_claim: Claim) -> None:
        raise OSError("still full")

    full = type("Full", (MemoryStore,), {fails_to: fail, "release": fail_again})
    session = Session(full())
    with pytest.raises(StoreError, match=r"^full") as error:
        ended(kind(ScriptedModel([]), session))
    assert any("could not be released" in note for note in error.value.__notes__)


# Streams --------------------------------------------------------------------------------------


def test_a_stream_that_is_left_early_gives_its_claim_back() -> None:
    """`async with` closes it, `with` does."""

    async def leave(agent: AsyncAgent) -> None:
        async with agent.stream("Go.") as stream:
            async for _ in stream:
                break
        assert agent.session.plain.info().claim is None

    asyncio.run(leave(AsyncAgent(ScriptedModel([{"text": "Done."}]))))
    agent = Agent(ScriptedModel([{"text": "Done."}]))
    with agent.stream("Go.") as stream:
        assert next(iter(stream)).type
    assert agent.session.info().claim is None


def test_a_stream_that_is_never_closed_ends_with_its_event_loop() -> None:
    """The loop closes it without a complaint, and the claim is given back."""
    complaints: list[object] = []
    kept: list[object] = []
    agent = AsyncAgent(ScriptedModel([{"text": "Done."}]))

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
        stream = agent.stream("Go.")
        kept.append(stream)
        async for _ in stream:
            break

    asyncio.run(leave())
    assert complaints == []
    assert agent.session.plain.info().claim is None


def test_a_stream_keeps_its_result_however_often_it_is_read() -> None:
    """Iterating over what is over yields nothing and changes nothing."""

    async def read(agent: AsyncAgent) -> None:
        stream = agent.stream("Go.")
        assert [event async for event in stream]
        assert [event async for event in stream] == []
        assert stream.result.text == "Done."

    asyncio.run(read(AsyncAgent(ScriptedModel([{"text": "Done."}]))))
    stream = Agent(ScriptedModel([{"text": "Done."}])).stream("Go.")
    assert list(stream)
    assert list(stream) == []
    assert stream.result.text == "Done."
