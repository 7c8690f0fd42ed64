"""Whatever is done to a session, in any order, from two handles, with runs that die and handles that are opened anew: what
may be sent is valid for every format, the same for whoever looks, and what a slow replay says it is.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from suture.agent import Agent, AsyncAgent
from suture.compaction import Compaction, context_tokens
from suture.entries import Entry, read
from suture.healing import fit
from suture.loop.asks import Ask, Next, Start
from suture.loop.jobs import ToolJob
from suture.messages import Message, ToolResult
from suture.replay import State
from suture.session import AsyncSession, Session
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite import SqliteStore
from tests.agent.deeds import DECIDING, EDITING, EXTERNAL, FORGING, REFUSALS, SAYING, TOOLS, Op, World
from tests.agent.drawn import Plan, model_of, ops, plans
from tests.judges import structural_problems
from tests.loop.conftest import SHARED_MEMORY
from tests.loop.mortal import Dead, Died, Mortal
from tests.loop.scenarios import Gate, free
from tests.rules.reference import SlowReplay, in_short
from tests.rules.test_boundary import same

ID = "any"
FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral")

# How many sessions are tried: the same few in `make test`, and as many others as are asked for by `make any-order`.
ASKED_FOR = os.environ.get("SUTURE_ANY_ORDER")
TRIED = settings(
    max_examples=int(ASKED_FOR or 30),
    stateful_step_count=50 if ASKED_FOR else 25,
    derandomize=ASKED_FOR is None,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)

WHO = st.integers(0, 1)
CHANCE = st.integers(0, 4)  # what is done too often leaves little for the rest
TIGHT = Compaction(window=30, reserve=0, keep_recent=5)


class Place:
    """Where the store lives. Opened anew it holds what was written."""

    def __init__(self, kind: str) -> None:
        self.memory = MemoryStore() if kind == "memory" else None
        quick = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="suture-", dir=quick))
        self.opened: list[Store] = []

    def open(self) -> Store:
        self.opened.append(self.memory or SqliteStore(self.folder / "log.db"))
        return self.opened[-1]

    def end(self) -> None:
        for store in self.opened:
            store.close()
        shutil.rmtree(self.folder)


class Handle:
    """Somebody's handle on the session, through a store of their own that may die with them."""

    def __init__(self, place: Place, id: str) -> None:
        self.place = place
        self.id = id
        self.open()

    def open(self, id: str | None = None) -> None:
        self.id = id or self.id
        self.store = Mortal(self.place.open(), keep=lambda _: None)
        self.session = Session(self.store, self.id)


class Probe:
    """Follows a run from question to question, and does what the plan says."""

    def __init__(self, machine: AnyOrder, plan: Plan, runner: Handle) -> None:
        self.machine = machine
        self.plan = plan
        self.runner = runner
        self.asked = 0

    def __call__(self, when: str, question: Ask[object]) -> None:
        world = self.machine.world
        self.asked += when == "before"
        match question:
            case Start(ToolJob(idempotency_key=key)) if when == "before":
                world.gate.arrive(key)
            case Start(ToolJob(idempotency_key=key, call=call)):
                world.started.append((call.name, key))
            case Next() if when == "before":
                world.gate.let_one_through()
        if self.asked == self.plan.dies and not self.runner.store.is_dead:
            self.runner.store.die()
            world.gate.open()
            raise Died
        if when == "before" and self.plan.meanwhile is not None and self.asked == self.plan.meanwhile[0]:
            self.machine.meanwhile(self.plan.meanwhile[1], self.runner)


class AnyOrder(RuleBasedStateMachine):
    """One session, in one store, and two handles on it."""

    @initialize(kind=st.sampled_from(("memory", "sqlite")), plan=plans(("go",)))
    def begin(self, kind: str, plan: Plan) -> None:
        """The session is run for the first time."""
        self.world = World()
        self.place = Place(kind)
        self.id = ID
        self.handles = [Handle(self.place, ID), Handle(self.place, ID)]
        self.store = self.place.open()
        self.forked: list[tuple[str, list[Entry]]] = []
        self.is_erased = False
        self.carry(self.handles[0], plan)

    def teardown(self) -> None:
        """At the end every chain is whole, and what was forked is as it was then."""
        try:
            for id, entries in self.forked:
                assert self.store.read(id) == entries
            if self.store.info(self.id) is not None:
                assert self.fresh.verify().ok
        finally:
            self.place.end()

    @property
    def fresh(self) -> Session:
        """A handle that has read nothing."""
        return Session(self.store, self.id)

    # What happens -----------------------------------------------------------------------------

    @rule(who=WHO, op=ops(SAYING))
    def say(self, who: int, op: Op) -> None:
        """Somebody records something, or leaves word."""
        op.do(self.handles[who].session, self.world)

    @precondition(lambda self: self.handles[0].session.open_approvals())
    @rule(who=WHO, op=ops(DECIDING))
    def decide(self, who: int, op: Op) -> None:
        """A person decides."""
        op.do(self.handles[who].session, self.world)

    @precondition(lambda self: self.handles[0].session.unknown_outcomes())
    @rule(who=WHO, op=ops(("settle",)))
    def settle(self, who: int, op: Op) -> None:
        """An operator has found out."""
        op.do(self.handles[who].session, self.world)

    @precondition(lambda self: self.handles[0].session.messages)
    @rule(who=WHO, op=ops(EDITING))
    def edit(self, who: int, op: Op) -> None:
        """Somebody edits the conversation."""
        op.do(self.handles[who].session, self.world)

    @precondition(lambda self: self.handles[0].session.refresh().calls)
    @rule(who=WHO, op=ops(FORGING))
    def forge(self, who: int, op: Op) -> None:
        """Somebody writes by hand what no session would write."""
        op.do(self.handles[who].session, self.world)

    @rule(who=WHO, plan=plans())
    def run(self, who: int, plan: Plan) -> None:
        """Somebody runs the session, to the end or not."""
        self.carry(self.handles[who], plan)

    @rule(who=WHO)
    def resume(self, who: int) -> None:
        """Somebody goes on with it."""
        self.carry(self.handles[who], Plan(None))

    @precondition(lambda self: len(self.handles[0].session.messages) > 3)
    @rule(who=WHO, plan=plans())
    def compact(self, who: int, plan: Plan) -> None:
        """Somebody sums up its past, to the end or not."""
        self.carry(self.handles[who], plan, verb="compact")

    @rule(who=WHO)
    def reopen(self, who: int) -> None:
        """Somebody comes back."""
        self.handles[who].open()

    @precondition(lambda self: self.fresh.entries() and not self.is_erased)
    @rule(who=WHO, back=st.integers(0, 9), chance=CHANCE)
    def fork(self, who: int, back: int, chance: int) -> None:
        """All go on with a fork of it."""
        if chance:
            return
        at = max(self.fresh.refresh().head - back, 1)
        self.forked.append((self.id, self.store.read(self.id)))
        self.id = self.handles[who].session.fork(at, id=f"fork {len(self.forked)}").id
        for one in self.handles:
            one.open(self.id)

    @precondition(lambda self: self.fresh.entries())
    @rule(who=WHO, pick=st.integers(0, 200), chance=CHANCE)
    def erase(self, who: int, pick: int, chance: int) -> None:
        """Somebody erases an entry; all others come back to it."""
        if not chance and self.handles[who].session.forked_from() is None:
            entries = self.fresh.entries()
            self.handles[who].session.erase(entries[pick % len(entries)].id)
            self.is_erased = True
            self.handles[1 - who].open()

    @rule(who=WHO, chance=CHANCE)
    def come_to_rest(self, who: int, chance: int) -> None:
        """Whatever was done to it: once people have decided and found out, it goes on to its end, and stays there."""
        if chance:
            return
        one = self.handles[who].session
        for _ in range(6):
            ended = self.carry(self.handles[who], Plan(None, max_steps=1000))
            if ended in ("completed", "handed_off") and not one.open_approvals() and not one.state.inbox:
                break
            for at, approval in enumerate(one.open_approvals()):
                if approval.decision is None:
                    Op("deny" if at % 2 else "approve", at).do(one, self.world)
            for _ in one.unknown_outcomes():
                Op("settle").do(one, self.world)
        else:
            raise AssertionError(f"the session never comes to rest: {ended}")
        head = one.refresh().head
        assert self.carry(self.handles[who], Plan(None, max_steps=1000)) == ended
        assert one.refresh().head == head

    def carry(self, handle: Handle, plan: Plan, verb: str = "run") -> str | None:
        """A run of that plan, and how it ended; None when it did not."""
        world, model = self.world, model_of(plan, self.world)
        world.gate, world.inside = Gate(), plan.inside
        make = AsyncAgent if plan.is_async else Agent
        agent = make(
            model,
            tools=TOOLS,
            compaction=TIGHT if plan.tight or verb == "compact" else False,
            retries=False,
            max_steps=plan.max_steps,
            max_concurrency=plan.max_concurrency,
            context=world,
        )
        agent._probe = Probe(self, plan, handle)
        given = (plan.prompt,) if verb == "run" and plan.prompt is not None else ()
        try:
            ended = getattr(agent, "resume" if verb == "run" and not given else verb)
            session = AsyncSession.of(handle.session) if plan.is_async else handle.session
            got = ended(*given, session=session)
            got = asyncio.run(got) if plan.is_async else got
            return got.status if verb == "run" else None
        except (Died, Dead):
            handle.open()
            free(self.store, handle.id)
        except REFUSALS:
            pass
        finally:
            world.rest()
            world.inside = None
            for request in model.requests:
                self.judge(request.messages)
        return None

    def meanwhile(self, op: Op, runner: Handle) -> None:
        """Somebody else does something while a run is on."""
        world, other = self.world, Handle(self.place, runner.id)
        match op.name:
            case "overtake":
                op.do(other.session, world)
                world.gate.open()
            case "take_over":
                Op("overtake").do(other.session, world)
                gate, inside = world.gate, world.inside
                self.carry(other, Plan(None), "run")
                world.gate, world.inside = gate, inside
                gate.open()
            case _:
                op.do(other.session, world)

    # What holds -------------------------------------------------------------------------------

    @invariant()
    def holds(self) -> None:
        """What must hold behind each step."""
        self.judge(self.fresh.refresh().request())
        self.nothing_is_done_twice()
        if not self.is_erased:
            self.it_is_the_same_for_whoever_looks()
            self.a_slow_replay_says_the_same()
            self.nothing_real_is_lost()

    def it_is_the_same_for_whoever_looks(self) -> None:
        """From the handles that grew with it, from its boundary, and from its beginning in one go."""
        whole = State()
        whole.fold(self.fresh.entries())
        for session in (self.fresh, *(one.session for one in self.handles)):
            same(session.refresh(), whole)
            assert session.state.marks == whole.marks
            assert context_tokens(session.state) == context_tokens(whole)
            assert session.findings() == whole.findings
            assert session.messages == whole.messages()
            assert session.state.turn == whole.turn
        assert self.store.info(self.id) is None or self.fresh.info().marks.keys() == whole.marks.keys()

    def a_slow_replay_says_the_same(self) -> None:
        """Three views, by words that share nothing with ours."""
        state, slow = self.fresh.refresh(), SlowReplay(self.fresh.entries())
        assert in_short(state.request()) == slow.request()
        assert in_short(message for message, _ in state.replay()) == slow.replay()
        assert self.fresh.messages == slow.messages()

    def judge(self, messages: tuple[Message, ...]) -> None:
        """What may be sent is valid for every format, by judges that share no code with us."""
        problems = judged(msgspec.json.encode(messages))
        assert not problems, problems

    def nothing_is_done_twice(self) -> None:
        """No handler of an external tool is started twice for one call."""
        external = [key for name, key in self.world.started if name in EXTERNAL]
        assert len(set(external)) == len(external)

    def nothing_real_is_lost(self) -> None:
        """What a handler brought is among the messages, until somebody edits the conversation."""
        entries = self.fresh.entries()
        if any(entry.kind in ("edit", "removal", "reset") for entry in entries):
            return
        said = {message.text for message in self.fresh.messages}
        for entry in entries:
            body = read(entry) if entry.kind == "message" and b"was done" in entry.body else None
            if body is not None and isinstance(body.message, ToolResult):  # type: ignore[union-attr]
                assert body.message.text in said  # type: ignore[union-attr]


@cache
def judged(encoded: bytes) -> tuple[str, ...]:
    """What is wrong with these messages as a request, in any format."""
    messages = msgspec.json.decode(encoded, type=tuple[Message, ...])
    return tuple(
        f"{format}: {problem}"
        for format in FORMATS
        for problem in structural_problems(format, fit(messages, format).history)
    )


def test_any_order() -> None:
    """Whatever the order, all that is said above holds behind each step."""
    run_state_machine_as_test(AnyOrder, settings=TRIED)
