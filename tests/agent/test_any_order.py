"""Whatever is done to a session, in any order, from two handles, with runs that die and handles that are opened anew: what
may be sent is valid for every format, the same for whoever looks, and what a slow replay says it is.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from suture import RetryPolicy
from suture.agent import Agent, AsyncAgent
from suture.compaction import Compaction, context_tokens
from suture.entries import Entry, read
from suture.healing import fit
from suture.loop.asks import Ask, Next, Start
from suture.loop.jobs import ToolJob
from suture.messages import Message, ToolResult
from suture.replay import State
from suture.session import AsyncSession, Session
from suture.session.exporting import whole_conversation
from tests.agent.deeds import DECIDING, EDITING, FORGING, SAYING, Op
from tests.agent.drawn import Plan, model_of, ops, plans
from tests.agent.places import KINDS, Handle, Place
from tests.agent.world import EXTERNAL, REFUSALS, TOOLS, World
from tests.judges import structural_problems
from tests.loop.mortal import Dead, Died
from tests.loop.scenarios import Gate, free
from tests.rules.reference import SlowReplay, in_short, waits_of
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
SELDOM = ("fork", "go elsewhere", "erase", "come to rest", "reopen", "reopen")
TIGHT = Compaction(window=30, reserve=0, keep_recent=5)


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
    """One session, in one store, and two handles on it. What is drawn depends on nothing that happens: a rule that finds
    nothing to do does nothing.
    """

    @initialize(kind=st.sampled_from(KINDS), plan=plans(("go",)))
    def begin(self, kind: str, plan: Plan) -> None:
        """The session is run for the first time."""
        self.world = World()
        self.place = Place(kind)
        self.id = ID
        self.handles = [Handle(self.place, ID), Handle(self.place, ID)]
        self.store = self.place.open()
        self.written: dict[str, list[Entry]] = {}
        self.is_erased = self.is_carried = False
        self.carry(self.handles[0], plan)

    def teardown(self) -> None:
        """At the end every chain is whole."""
        try:
            for id in self.written:
                assert Session(self.store, id).verify().ok
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

    @rule(who=WHO, op=ops(DECIDING), other=ops(("settle",)))
    def attend(self, who: int, op: Op, other: Op) -> None:
        """A person decides, or an operator has found out what became of a call; where nothing waits for them, it goes on."""
        one = self.handles[who].session
        if any(waiting.decision is None for waiting in one.open_approvals()):
            op.do(one, self.world)
        elif one.unknown_outcomes():
            other.do(one, self.world)
        else:
            self.carry(self.handles[who], Plan(None))

    @rule(who=WHO, op=ops(EDITING))
    def edit(self, who: int, op: Op) -> None:
        """Somebody edits the conversation."""
        op.do(self.handles[who].session, self.world)

    @rule(who=WHO, op=ops(FORGING))
    def forge(self, who: int, op: Op) -> None:
        """Somebody writes by hand what no session would write."""
        op.do(self.handles[who].session, self.world)

    @rule(who=WHO, plan=plans())
    def run(self, who: int, plan: Plan) -> None:
        """Somebody runs the session, to the end or not."""
        self.carry(self.handles[who], plan)

    @rule(who=WHO, plan=plans())
    def compact(self, who: int, plan: Plan) -> None:
        """Somebody sums up its past, to the end or not."""
        self.carry(self.handles[who], plan, verb="compact")

    @rule(who=WHO, what=st.sampled_from(SELDOM), pick=st.integers(0, 200))
    def seldom(self, who: int, what: str, pick: int) -> None:
        """Something after which much else is different."""
        session = self.handles[who].session
        match what:
            case "fork" if head := self.fresh.refresh().head:
                self.go_to(session.fork(max(head - pick % 10, 1), id=f"fork {len(self.written)}").id)
            case "go elsewhere" if self.written:
                self.go_to(list(self.written)[pick % len(self.written)])
            case "erase":
                Op("erase", pick).do(session, self.world)
            case "come to rest":
                self.come_to_rest(self.handles[who])
            case _:
                self.handles[who].open()

    def go_to(self, id: str) -> None:
        self.id = id
        for one in self.handles:
            one.open(id)

    def come_to_rest(self, handle: Handle) -> None:
        """Whatever was done to it: once people have decided and found out, it goes on to its end, and stays there."""
        one = handle.session
        for _ in range(6):
            ended = self.carry(handle, Plan(None, max_steps=1000))
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
        assert self.carry(handle, Plan(None, max_steps=1000)) == ended
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
            retries=RetryPolicy(attempts=2, base=0.0),
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
        if self.world.has_erased:
            self.erased()
        self.judge(self.fresh.refresh().request())
        self.judge(whole_conversation(self.fresh.log))
        self.nothing_is_done_twice()
        self.nothing_written_changes()
        if not self.is_carried:
            self.it_is_the_same_for_whoever_looks()
            self.a_slow_replay_says_the_same()
        if not self.is_erased:
            self.nothing_real_is_lost()

    def erased(self) -> None:
        """Whoever has read what was erased comes back. What a compaction carried stays in it, and in what is carried on."""
        self.world.has_erased, self.is_erased = False, True
        logs = [Session(self.store, id).info() for id in {*self.written, self.id}]  # what is erased may be shared
        self.is_carried |= any(log.boundary for log in logs)
        for one in self.handles:
            one.open()

    def nothing_written_changes(self) -> None:
        """In no session, whatever is done to another; but for what is erased."""
        for id in {*self.written, self.id}:
            now, before = self.store.read(id), self.written.get(id, [])
            assert len(now) >= len(before)
            for one, old in zip(now, before, strict=False):
                assert one == old or (one.erased, one.chain) == (old.body_hash, old.chain)
            if now:
                self.written[id] = now

    def it_is_the_same_for_whoever_looks(self) -> None:
        """From the handles that grew with it, from its boundary, and from its beginning in one go."""
        whole = State()
        whole.fold(self.fresh.entries())
        if (last := whole.boundary) is not None and not self.compacted_since(last.seq):
            is_known = self.fresh.info().boundary == last.body.first_kept  # a fork may begin behind a later one
            assert not is_known or self.fresh.refresh().start == last.body.first_kept - 1
        for session in (self.fresh, *(one.session for one in self.handles)):
            same(session.refresh(), whole)
            assert session.state.marks == whole.marks
            assert context_tokens(session.state) == context_tokens(whole)
            assert session.findings() == whole.findings
            assert session.messages == whole.messages()
            assert session.state.turn == whole.turn
        assert self.store.info(self.id) is None or self.fresh.info().marks.keys() == whole.marks.keys()

    def compacted_since(self, seq: int) -> bool:
        """Whether somebody has written a boundary behind that seq, which is none."""
        return any(entry.kind == "compaction" for entry in self.fresh.entries(after=seq))

    def a_slow_replay_says_the_same(self) -> None:
        """Three views, by words that share nothing with ours."""
        state, slow = self.fresh.refresh(), SlowReplay(self.fresh.entries())
        assert in_short(state.request()) == slow.request()
        assert in_short(message for message, _ in state.replay()) == slow.replay()
        assert self.fresh.messages == slow.messages()
        assert waits_of(state) == slow.waits()

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
