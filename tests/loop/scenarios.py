"""Small conversations that use every kind of call, and what must hold of each, however it was cut off.

A `Story` carries one conversation from its prompt to its end, through as many handles, agents and processes
as it takes; what a person would do in between (approve, settle) it does through a fresh handle.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from suture.agent import Agent, AsyncAgent, Result, Signal
from suture.agent.agent import Watch
from suture.agent.work import unprobed
from suture.compaction import Compaction
from suture.entries import Entry
from suture.errors import Fenced, Overloaded
from suture.loop.asks import Append, AppendNext, Ask
from suture.loop.request import Request
from suture.messages import Assistant, Message, ToolCall, ToolResult, User
from suture.models.base import Model, Piece
from suture.models.scripted import ScriptedModel, Step
from suture.replay import State
from suture.session import Session
from suture.stores.base import Store
from suture.tools import Tool, ToolContext, tool
from tests.judges import FORMATS, assert_valid

Driver: TypeAlias = Literal["sync", "async"]
Probe: TypeAlias = Callable[[str, Ask[object]], None]

PROMPT = "Go."
ON_IT = "On it."
DONE = "Done."
SUMMARY = "They said go."
ID = "story"
THIEF = "another runner"
PATIENCE = 20.0
LONGEST_STORY = 12

# The prompt fits; with a turn of calls and its results it is too long, and the turn is what stays.
TIGHT = Compaction(window=3, reserve=0, keep_recent=1)

# What a handler answers, by tool; a call's number is its place in the turn.
RESULTS = {"look": "saw {n}", "save": "saved {n}", "send": "sent {n}"}
SETTLED = "This call has completed, as an operator found out. Its own result was lost."
REVIEWED = "{text} (reviewed)"


def wait_until(holds: Callable[[], object]) -> None:
    """Return once it holds.

    Raises:
        TimeoutError: it does not, for too long.
    """
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.001)


# What handlers did ----------------------------------------------------------------------------


class Run(NamedTuple):
    """One start of a handler."""

    tool: str
    key: str
    attempt: int
    pid: int


class Ledger:
    """Each start of a handler, written by the handler itself in a file that outlives its process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def enter(self, name: str, ctx: ToolContext) -> None:
        line = f"{name} {ctx.idempotency_key} {ctx.attempt} {os.getpid()}\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def runs(self) -> list[Run]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [Run(name, key, int(attempt), int(pid)) for name, key, attempt, pid in map(str.split, lines)]


class World:
    """What surrounds a story. Tests put their barriers here."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def inside(self, name: str, ctx: ToolContext) -> None:
        """Called by each handler, once it has entered itself in the ledger."""

    async def thinking(self, answered: int) -> None:
        """Called by the model before its answer of that number."""

    def hearing(self, piece: Piece) -> None:
        """Called with each piece that an adapter streams."""


# What happens on the way ----------------------------------------------------------------------


def nothing(*_: object) -> None:
    """Do nothing."""


def session_of(ctx: ToolContext) -> Session:
    assert isinstance(ctx.session, Session)
    return ctx.session


def interrupt(name: str, ctx: ToolContext) -> None:
    """A person stops the run while a slow handler works; the handler notices and returns."""
    if name == "send":
        session_of(ctx).interrupt("enough", by="ann")
        ctx.progress("stopping")
        wait_until(lambda: ctx.interrupted)


def be_overtaken(name: str, ctx: ToolContext) -> None:
    """Another runner takes the session over while the handler works."""
    if name == "send":
        free(session_of(ctx).store)
        session_of(ctx).store.claim(ID, THIEF, 30)


def steer(store: Store, when: str, question: Ask[object]) -> None:
    """A person steers just before the run ends."""
    if when == "before" and isinstance(question, AppendNext):
        say_once(store, lambda session: session.steer("Be brief."))


def approve(store: Store, when: str, question: Ask[object]) -> None:
    """A person decides just before the run ends to wait for them."""
    if when == "before" and isinstance(question, AppendNext):
        session = Session(store, ID)
        for approval in session.open_approvals():
            session.approve(approval.key, by="ann")


def speak(store: Store, when: str, question: Ask[object]) -> None:
    """A person says something while the model makes its calls."""
    if when == "before" and isinstance(question, Append) and any(ON_IT.encode() in draft.body for draft in question.drafts):
        say_once(store, lambda session: session.add(User.of("One more thing.")))


def say_once(store: Store, say: Callable[[Session], object]) -> None:
    session = Session(store, ID)
    if not any(b"Be brief." in entry.body or b"One more thing." in entry.body for entry in session.entries()):
        say(session)


def free(store: Store, id: str = ID) -> None:
    """Take the claim away from whoever has it."""
    info = store.info(id)
    if info is not None and info.claim is not None:
        store.release(info.claim)


@dataclass(frozen=True)
class Scenario:
    """A conversation: the tools that its one turn calls, those of them that a person must approve, and what happens
    inside handlers and at the run's questions. `said` is what people say after the prompt, `fails` how often each new
    model fails before it answers, `hooked` whether the host has hooks; a tool of `ends_turn` leaves no last answer. With
    `slips`, a rule corrects the first call of the turn, and the model, asked on the side, the others. With `summed_up`, the
    prompt is summed up as soon as the turn has its results.
    """

    name: str
    calls: tuple[str, ...] = ()
    gated: tuple[str, ...] = ()
    in_handler: Callable[[str, ToolContext], None] = nothing
    meanwhile: Callable[[Store, str, Ask[object]], None] = nothing
    said: tuple[str, ...] = ()
    reconciled: bool = False
    max_concurrency: int = 4
    fails: int = 0
    hooked: bool = False
    ends_turn: tuple[str, ...] = ()
    slips: bool = False
    summed_up: bool = False

    @property
    def ends(self) -> Literal["completed", "handed_off"]:
        """How its last run ends."""
        return "handed_off" if self.ends_turn else "completed"

    @property
    def last_answer(self) -> str:
        """The last words of the model."""
        return ON_IT if self.ends_turn else DONE

    def results_of(self, name: str, n: int) -> tuple[str, ...]:
        """What may stand as the result of its call of that number."""
        text = RESULTS[name].format(n=n)
        return (REVIEWED.format(text=text) if self.hooked else text, SETTLED)


ALL = ("look", "save", "send")
SCENARIOS = {
    one.name: one
    for one in (
        Scenario("words"),
        Scenario("read", ("look",)),
        Scenario("idempotent", ("save",)),
        Scenario("external", ("send",)),
        Scenario("gated read", ("look",), gated=("look",)),
        Scenario("gated idempotent", ("save",), gated=("save",)),
        Scenario("gated external", ("send",), gated=("send",)),
        Scenario("three", ALL),
        Scenario("three, one gated", ALL, gated=("send",)),
        Scenario("three gated", ALL, gated=ALL),
        Scenario("one at a time", ("send", "look", "save"), max_concurrency=1),
        Scenario("interrupted", ("send", "look"), in_handler=interrupt, max_concurrency=1),
        Scenario("overtaken", ("send", "look"), in_handler=be_overtaken, max_concurrency=1),
        Scenario("reconciled", ("send", "save"), reconciled=True),
        Scenario("decided in time", ("send",), gated=("send",), meanwhile=approve),
        Scenario("steered", ("save",), meanwhile=steer, said=("Be brief.",)),
        Scenario("spoken to", ("look",), meanwhile=speak, said=("One more thing.",)),
        Scenario("retried", ("send",), fails=1),
        Scenario("hooked", ("send", "look"), gated=("send",), hooked=True),
        Scenario("handed off", ("look", "send"), ends_turn=("send",)),
        Scenario("corrected", ("send", "look"), gated=("look",), slips=True),
        Scenario("summed up", ("look", "send"), summed_up=True),
        Scenario("summed up, one gated", ("look", "send"), gated=("send",), summed_up=True),
        Scenario("summed up twice", ("save",), meanwhile=steer, said=("Be brief.",), summed_up=True),
    )
}


def handle(name: str, n: int, ctx: ToolContext) -> str:
    """What every handler does; the story that it is part of is the agent's context."""
    story = ctx.context
    assert isinstance(story, Story)
    story.world.ledger.enter(name, ctx)
    story.world.inside(name, ctx)
    story.scenario.in_handler(name, ctx)
    return RESULTS[name].format(n=n)


def found_out(call: ToolCall, ctx: ToolContext) -> str | None:
    """What a lost call did, by the ledger."""
    assert isinstance(ctx.context, Story)
    ran = any(run.key == ctx.idempotency_key for run in ctx.context.world.ledger.runs())
    return RESULTS[call.name].format(n=(call.arguments or {})["n"]) if ran else None


@tool(effect="read")
async def look(n: int, ctx: ToolContext) -> str:
    """Look at something."""
    return await asyncio.to_thread(handle, "look", n, ctx)


@tool(effect="idempotent")
def save(n: int, ctx: ToolContext) -> str:
    """Save something."""
    return handle("save", n, ctx)


@tool(effect="external")
def send(n: int, ctx: ToolContext, note: str = "") -> str:  # noqa: ARG001  it makes arguments long enough to be cut
    """Send something."""
    return handle("send", n, ctx)


def tools_of(scenario: Scenario) -> list[Tool]:
    """The three tools as the scenario has them."""
    return [
        replace(
            one,
            needs_approval=one.name in scenario.gated,
            reconcile=found_out if scenario.reconciled and one.name == "send" else None,
            ends_turn=one.name in scenario.ends_turn,
        )
        for one in (look, save, send)
    ]


async def permit(call: ToolCall, ctx: ToolContext) -> None:
    """A hook that lets every call run, after a moment."""
    assert session_of(ctx).id
    assert call.name in RESULTS
    await asyncio.sleep(0)


def review(call: ToolCall, result: ToolResult, ctx: ToolContext) -> str:
    """A hook that leaves its trace in each result: what went through it twice shows it."""
    assert session_of(ctx).id
    assert call.id == result.call_id
    return REVIEWED.format(text=result.text)


class Asked(Model, Protocol):
    """A model that keeps what it was asked."""

    requests: list[Request]


# Carries a run to its end, on an event loop of its own or on one that goes on.
Awaited: TypeAlias = Callable[[Coroutine[object, object, Result]], Result]

# Makes the model of a scenario; the number is how often it will be asked at most.
ModelOf: TypeAlias = "Callable[[Scenario, World, int], Asked]"


def is_first_turn(request: Request) -> bool:
    """Whether the model has not answered yet."""
    return not any(isinstance(message, Assistant) or SUMMARY in message.text for message in request.messages)


def is_asked_on_the_side(request: Request) -> bool:
    """Whether the model is asked to correct its calls."""
    return "could not be run" in request.messages[-1].text


def is_asked_to_sum_up(request: Request) -> bool:
    """Whether the model is asked for a summary."""
    return "takes the place of the earlier part" in (request.system or "")


def model_of(scenario: Scenario, world: World, steps: int) -> ScriptedModel:
    """A model whose answer depends on nothing but the number of answers in its request."""
    calls = [{"id": f"c{n}", "name": name, "arguments": {"n": n}} for n, name in enumerate(scenario.calls)]
    corrections = [{"id": f"n{n}", "name": "correct_call", "arguments": call} for n, call in enumerate(calls)]
    if scenario.slips:
        calls = [{**call, "arguments": {"n": str(n) if n == 0 else "some"}} for n, call in enumerate(calls)]

    async def step(request: Request) -> Mapping[str, object]:
        answered = sum(isinstance(message, Assistant) for message in request.messages)
        await world.thinking(answered)
        if is_asked_to_sum_up(request):
            return {"text": SUMMARY}
        if is_asked_on_the_side(request):
            return {"calls": corrections[1:]}
        return {"text": ON_IT, "calls": calls} if calls and is_first_turn(request) else {"text": DONE}

    failures: list[Step] = [Overloaded("Too many at once.", retry_after=0.0) for _ in range(scenario.fails)]
    return ScriptedModel([*failures, *[step] * steps])


# Going on -------------------------------------------------------------------------------------


@dataclass
class Story:
    """A scenario on a store. `requests` is all that any model was asked on the way; `modelled` makes those models, and
    `awaited` carries an async run to its end.
    """

    scenario: Scenario
    store: Store
    world: World
    driver: Driver = "sync"
    requests: list[Request] = field(default_factory=list)
    grace: float = 5.0
    lease: float = 30.0
    id: str = ID
    modelled: ModelOf = model_of
    awaited: Awaited = asyncio.run

    def session(self) -> Session:
        return Session(self.store, self.id)

    def agent(
        self, session: Session, probe: Probe = unprobed, *, steps: int = LONGEST_STORY
    ) -> tuple[Agent | AsyncAgent, Asked]:
        """A new agent of the story's driver, and its model, which answers at most `steps` times."""
        model = self.modelled(self.scenario, self.world, steps)
        make = Agent if self.driver == "sync" else AsyncAgent
        agent = make(
            model,
            session,
            tools=tools_of(self.scenario),
            context=self,
            max_concurrency=self.scenario.max_concurrency,
            tool_call_repair=self.scenario.slips,
            compaction=TIGHT if self.scenario.summed_up else True,
            before_tool=permit if self.scenario.hooked else None,
            after_tool=review if self.scenario.hooked else None,
            grace=self.grace,
            lease=self.lease,
        )

        def probe_all(when: str, question: Ask[object]) -> None:
            probe(when, question)
            self.scenario.meanwhile(self.store, when, question)

        agent._probe = probe_all
        return agent, model

    def step(self, probe: Probe = unprobed) -> str:
        """One run, as a new process would begin it; how it ended."""
        session = self.session()
        agent, model = self.agent(session, probe)
        prompted = any(isinstance(message, User) and message.text == PROMPT for message in session.messages)
        try:
            return carried(agent, None if prompted else PROMPT, awaited=self.awaited).status
        except Fenced:
            return "fenced"
        finally:
            self.requests += model.requests

    def take_up(self, status: str) -> None:
        """What people do when a run has ended like that."""
        session = self.session()
        match status:
            case "awaiting_approval":
                for approval in session.open_approvals():
                    session.approve(approval.key, by="ann")
            case "unknown_outcome":
                for unknown in session.unknown_outcomes():
                    session.settle(unknown.key, "completed", by="an operator")
            case "fenced":
                free(self.store, self.id)
            case "interrupted":
                pass
            case _:
                raise AssertionError(f"a run ended {status!r}")

    def finish(self, probe: Probe = unprobed) -> None:
        """Run, and do what people do, until the story has its end."""
        for _ in range(LONGEST_STORY):
            status = self.step(probe)
            if status == self.scenario.ends:
                return
            self.take_up(status)
        raise AssertionError("the story has no end")


def carried(
    agent: Agent | AsyncAgent,
    prompt: str | None,
    *,
    watch: Watch | None = None,
    signal: Signal | None = None,
    awaited: Awaited = asyncio.run,
) -> Result:
    """A run of that agent to its end: with a prompt, or without one."""
    if isinstance(agent, Agent):
        return agent.resume(watch=watch, signal=signal) if prompt is None else agent.run(prompt, watch=watch, signal=signal)
    return awaited(_carried(agent, prompt, watch, signal))


async def _carried(agent: AsyncAgent, prompt: str | None, watch: Watch | None, signal: Signal | None) -> Result:
    if prompt is None:
        return await agent.resume(watch=watch, signal=signal)
    return await agent.run(prompt, watch=watch, signal=signal)


# What must hold -------------------------------------------------------------------------------


def check_end(story: Story) -> None:
    """What must hold of a story that has ended, however often it was cut off."""
    for request in story.requests:
        assert_sendable(request)
    assert_effects_once(story.world.ledger)
    assert_complete(story.scenario, story.session())
    assert_folds_alike(story.session())
    assert_saw_all(story)
    assert_rests(story)


@cache
def _assert_valid(text: str) -> None:
    for format, wire in json.loads(text).items():
        assert_valid(format, wire)


def assert_sendable(request: Request | Session) -> None:
    """What a model was asked, or what a session would send now, is valid in both formats by judges that share no code
    with suture.
    """
    encode = request.wire if isinstance(request, Request) else request.request
    _assert_valid(json.dumps({format: encode(format) for format in FORMATS}))


def assert_effects_once(ledger: Ledger) -> None:
    """No external handler ran twice for a call; every other one saw the same key each time, and each attempt once."""
    runs = ledger.runs()
    external = Counter(run.key for run in runs if run.tool == "send")
    assert set(external.values()) <= {1}, runs
    keys: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        keys[run.tool].add(run.key)
    assert all(len(found) == 1 for found in keys.values()), runs
    assert len({(run.key, run.attempt) for run in runs}) == len(runs), runs


def assert_complete(scenario: Scenario, session: Session) -> None:
    """The transcript is whole: the prompt, the calls, one recorded result per call in call order, what else was said,
    the last answer. Nothing waits, nothing had to be mended; what was summed up was so once.
    """
    replayed = unsummed(session).replay()
    boundaries = [entry.opens for entry in session.entries() if entry.kind == "compaction"]
    assert bool(boundaries) is scenario.summed_up
    assert len(set(boundaries)) == len(boundaries)
    assert all(seq is not None for _, seq in replayed), replayed
    messages = [message for message, _ in replayed]
    assert [message.text for message in messages if isinstance(message, User)] == [PROMPT, *scenario.said]
    assert isinstance(messages[0], User)
    answers = [message.text for message in messages if isinstance(message, Assistant)]
    assert answers[-1] == scenario.last_answer
    assert isinstance(messages[-1], Assistant) is (scenario.ends == "completed")
    assert any(entry.kind == "retry" for entry in session.entries()) is (scenario.fails > 0)
    if scenario.calls:
        at = next(n for n, message in enumerate(messages) if isinstance(message, Assistant))
        _assert_turn(scenario, messages[at : at + 1 + len(scenario.calls)])
    assert len([one for one in messages if isinstance(one, ToolResult)]) == len(scenario.calls)
    assert session.findings() == []
    info = session.info()
    waiting = [one for one in info.marks if not one.startswith("boundary:")]
    assert (info.status, waiting, info.claim) == ("idle", [], None)


def unsummed(session: Session) -> State:
    """The session as if nothing of it had been summed up."""
    state = State()
    state.fold(without_summary(entry) for entry in session.entries())
    return state


def without_summary(entry: Entry) -> Entry:
    """The entry, with nothing said by it when it is a compaction."""
    return msgspec.structs.replace(entry, kind="summary") if entry.kind == "compaction" else entry


def _assert_turn(scenario: Scenario, turn: list[Message]) -> None:
    assistant, *results = turn
    assert isinstance(assistant, Assistant)
    assert [call.name for call in assistant.calls] == list(scenario.calls)
    for n, (call, result) in enumerate(zip(assistant.calls, results, strict=True)):
        assert isinstance(result, ToolResult)
        assert (result.call_id, result.error, result.synthetic) == (call.id, False, None)
        assert result.text in scenario.results_of(call.name, n)


def assert_folds_alike(session: Session) -> None:
    """Folding entry by entry gives what folding at once gives."""
    one_by_one = State()
    for entry in session.entries():
        one_by_one.fold([entry])
        one_by_one.request()
    fresh = Session(session.store, session.id)
    assert fresh.replay() == one_by_one.replay()
    assert fresh.state.request() == one_by_one.request()
    assert fresh.findings() == one_by_one.findings


def assert_saw_all(story: Story) -> None:
    """The last request held all that stands before its answer, as it stands."""
    stands = story.session().refresh().request()
    last = max(n for n, message in enumerate(stands) if isinstance(message, Assistant))
    if story.requests:
        assert story.requests[-1].messages == stands[:last]


def assert_rests(story: Story) -> None:
    """A story that has ended stays so: whoever resumes it asks no model and writes nothing."""
    entries, asked = story.session().entries(), len(story.requests)
    assert story.step() == story.scenario.ends
    assert (story.session().entries(), len(story.requests)) == (entries, asked)


class Gate:
    """Lets handlers through one by one, the last started first, each once the run waits for it: so a scenario
    asks the same questions every time. Opened for good, it stops nobody.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._passed: set[str] = set()
        self._is_open = False

    def arrive(self, key: str) -> None:
        """A handler is about to start."""
        with self._changed:
            self._waiting.append(key)

    def let_one_through(self) -> None:
        """The run waits now."""
        with self._changed:
            if self._waiting:
                self._passed.add(self._waiting.pop())
                self._changed.notify_all()

    def open(self) -> None:
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def pass_through(self, key: str) -> None:
        """Return when it is this handler's turn.

        Raises:
            TimeoutError: it never is.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_open or key in self._passed, PATIENCE):
                raise TimeoutError(f"the handler of {key} was never let through")
