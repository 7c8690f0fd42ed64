"""What people, programs and runs may do to a session, as plain values that can be drawn in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from hypothesis import strategies as st

import suture
from suture.entries import (
    ApprovalDecision,
    ApprovalRequest,
    Body,
    Correction,
    Draft,
    Edit,
    Linked,
    MessageBody,
    Removal,
    Settled,
    Settlement,
    ToolStarted,
    call_digest,
    draft,
    plain,
)
from suture.errors import CompactionError, Conflict, Fenced, ModelError, SessionError
from suture.loop.request import Request
from suture.messages import Assistant, Message, Reasoning, System, Text, ToolCall, ToolResult, User, encode
from suture.models.scripted import ScriptedModel
from suture.session import Approval, Session, StartedCall, new_id, now
from suture.tools import Tool, ToolContext
from tests.loop.scenarios import Gate, free, is_asked_to_sum_up, wait_until
from tests.rules.reference import FILLED_IN

T = TypeVar("T")

ID = "any"
LONG_AGO = "2020-01-01T00:00:00.000Z"

# What a session or a run says when it may not do what it was asked.
REFUSALS = (SessionError, Conflict, Fenced, ModelError, CompactionError)

IDS = ("c1", "m1", "m 3", "", "m2")
TEXTS = ("ok", "no", "", FILLED_IN, "ü")


class World:
    """What surrounds the sessions of one example: what handlers did, and what is to happen inside them."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.started: list[tuple[str, str]] = []
        self.ended: list[str] = []
        self.inside: Op | None = None
        self.summaries = self.calls = 0

    def handled(self, name: str, ctx: ToolContext) -> str:
        """What every handler does; its result is said once in the world."""
        self.gate.pass_through(ctx.idempotency_key)
        try:
            op, self.inside = self.inside, None
            if op is not None:
                assert isinstance(ctx.session, Session)
                op.do(ctx.session, self)
        finally:
            self.ended.append(f"{name} was done, as number {len(self.ended)}")
        return self.ended[-1]

    def may_have_run(self, key: str) -> bool:
        """Whether a handler was started under that idempotency key."""
        return any(key == one for _, one in self.started)

    def rest(self) -> None:
        """Return once no handler is on."""
        self.gate.open()
        wait_until(lambda: len(self.ended) == len(self.started))

    def new_id(self) -> str:
        """A wire id; of ten one comes back, which no turn of a run may have."""
        self.calls += 1
        return f"m{self.calls}" if self.calls % 10 else "c1"

    def summary(self) -> str:
        self.summaries += 1
        return f"in short, for the {self.summaries}. time"


# Tools ----------------------------------------------------------------------------------------


def _handler(name: str) -> Callable[..., str]:
    def handle(n: int, ctx: ToolContext) -> str:
        assert isinstance(ctx.context, World)
        return ctx.context.handled(name, ctx)

    handle.__name__ = name
    handle.__doc__ = f"To {name}."
    return handle


TOOLS: tuple[Tool, ...] = (
    suture.tool(effect="read")(_handler("look")),
    suture.tool(effect="idempotent")(_handler("save")),
    suture.tool(effect="external")(_handler("send")),
    suture.tool(effect="external", needs_approval=True)(_handler("pay")),
    suture.tool(effect="read", needs_approval=True)(_handler("peek")),
    suture.tool(effect="external", needs_approval=True, approval_expires=0.001)(_handler("hurry")),
    suture.tool(effect="external", ends_turn=True)(_handler("leave")),
)
EXTERNAL = ("send", "pay", "hurry", "leave")
NAMES = (*(one.name for one in TOOLS), "nowhere")


# Operations -----------------------------------------------------------------------------------

Doing: TypeAlias = Callable[[Session, World, int, str], object]


@dataclass(frozen=True)
class Op:
    """Something that is done to a session: `pick` chooses among what is there."""

    name: str
    pick: int = 0
    text: str = "ok"

    def do(self, session: Session, world: World) -> None:
        """Do it, or be refused."""
        try:
            OPS[self.name](session, world, self.pick, self.text)
        except REFUSALS:
            return


def calls_of(session: Session) -> list[str]:
    """The keys of all calls."""
    return list(session.refresh().calls)


def nth(items: object, pick: int) -> object | None:
    """One of the items; None where there is none."""
    found = list(items)  # type: ignore[call-overload]
    return found[pick % len(found)] if found else None


def made(pick: int, number: int = 0) -> ToolCall:
    return ToolCall(IDS[(pick + number) % len(IDS)], NAMES[pick % len(NAMES)], {"n": pick})


def foreign(pick: int, text: str) -> Assistant:
    """An answer that no run wrote, with up to three calls."""
    words = (Text(text),) if text else ()
    calls = [made(pick, number) for number in range(pick % 4)]
    return Assistant((*words, *calls)) if words or calls else Assistant((Reasoning("hm"),))


def result(session: Session, pick: int, text: str) -> ToolResult:
    """A result under the wire id of some call, or of none."""
    ids = [call.call.id for call in session.refresh().calls.values()]
    id = str(nth([*ids, *IDS], pick))
    return ToolResult(
        text, call_id=id, name=NAMES[pick % len(NAMES)] if id and pick % 3 == 0 else None, error=pick % 5 == 0
    )


def repeated(session: Session, pick: int) -> None:
    """A result that is there comes once more."""
    there = nth([one for one in session.messages if isinstance(one, ToolResult)], pick)
    if isinstance(there, ToolResult):
        session.append_message(ToolResult(there.parts, call_id=there.call_id, name=there.name, error=there.error))


def by_key(session: Session, pick: int, text: str) -> None:
    """A program of the host records the result of a call by its key."""
    key = nth(calls_of(session), pick)
    if isinstance(key, str):
        call = session.state.calls[key].call
        session.append("message", encode(MessageBody(ToolResult(text, call_id=call.id, id=new_id()), key=key)))


def decide(session: Session, pick: int, text: str, *, approved: bool, edit: bool = False) -> None:
    waiting = nth(session.open_approvals(), pick)
    if waiting is None:
        return
    assert isinstance(waiting, Approval)
    name = waiting.key if pick % 3 else waiting.call.id
    if approved:
        session.approve(name, note=text or None, by="ann", arguments={"n": pick} if edit else None)
    else:
        session.deny(name, note=text or None, by="bob")


def settle(session: Session, world: World, pick: int, text: str) -> None:
    """An operator finds out what became of a call, and says so."""
    unknown = nth(session.unknown_outcomes(), pick)
    if unknown is None:
        return
    assert isinstance(unknown, StartedCall)
    ran = world.may_have_run(unknown.idempotency_key)
    alone = session.info().claim is None
    outcome: Settled = "failed" if pick % 3 == 0 else "completed" if ran or not alone else "released"
    session.settle(unknown.key, outcome, text or None, by="an operator", force=alone)


def update(session: Session, pick: int, text: str) -> None:
    message = nth(session.messages, pick)
    if isinstance(message, ToolResult):
        session.update(tool_call_id=message.call_id, content=text)
    elif isinstance(message, User | System | Assistant) and message.id is not None:
        session.update(id=message.id, content=text)


def update_calls(session: Session, pick: int) -> None:
    """Other calls for an answer: one less, one more, another order, or other arguments."""
    message = nth([one for one in session.messages if isinstance(one, Assistant)], pick)
    if not isinstance(message, Assistant) or message.id is None:
        return
    old = message.calls
    new = (old[1:], (*old, made(pick)), old[::-1], tuple(ToolCall(one.id, one.name, {"n": pick}) for one in old))
    session.update(id=message.id, tool_calls=list(new[pick % 4]))


def remove(session: Session, pick: int) -> None:
    message = nth(session.messages, pick)
    if isinstance(message, Message) and message.id is not None:
        session.remove(id=message.id)


def replace_all(session: Session, pick: int, text: str) -> None:
    """A new conversation: a part of the old one, and something new."""
    session.set([*session.messages[pick % 4 :: 2], User.of(text)] if pick % 2 else [foreign(pick, text)])


def overtake(session: Session) -> None:
    """Somebody takes the session away from whoever runs it."""
    free(session.store, session.id)
    session.store.release(session.store.claim(session.id, "a thief", 30))


# By hand: what no session would write -----------------------------------------------------------


def forge(session: Session, body: Body, at: str | None = None) -> None:
    session.store.append(session.id, [draft(new_id(), at or now(), body)])


def forge_request(session: Session, pick: int) -> None:
    """An approval is asked for, under a digest that may be wrong, and may be over."""
    key = nth(calls_of(session), pick)
    if isinstance(key, str):
        call = session.state.calls[key].corrected
        digest = call_digest(call) if pick % 4 else "0" * 64
        forge(session, ApprovalRequest(key, call, digest, "external", expires=LONG_AGO if pick % 3 == 0 else None))


def forge_decision(session: Session, pick: int) -> None:
    """A decision on a call, which may be of another request, another call, or late."""
    key = nth(calls_of(session), pick)
    asked = [call.request for call in session.refresh().calls.values() if call.request is not None]
    request = nth(asked, pick)
    if isinstance(key, str) and request is not None:
        seq, _, body = request  # type: ignore[misc]
        named = body.key if pick % 2 else key
        digest = body.digest if pick % 3 else "0" * 64
        forge(session, ApprovalDecision(seq, named, digest, approved=pick % 5 > 2))


def forge_start(session: Session, pick: int) -> None:
    """A handler is said to have started, of which nobody knows."""
    key = nth(calls_of(session), pick)
    if isinstance(key, str):
        forge(session, ToolStarted(key, "external", 1, "somebody's"))


def forge_settlement(session: Session, world: World, pick: int, text: str) -> None:
    """A settlement of a call that may wait for none; never one that lies of what ran."""
    key = nth(calls_of(session), pick)
    if isinstance(key, str):
        outcome: Settled = "failed" if pick % 2 else "completed"
        forge(session, Settlement(key, outcome, (Text(text),) if text else ()))


def forge_correction(session: Session, pick: int) -> None:
    key = nth(calls_of(session), pick)
    if isinstance(key, str):
        call = session.state.calls[key].call
        forge(session, Correction(key, call.name, "{}", ToolCall(call.id, call.name, {"n": pick}), "host"))


def forge_edit(session: Session, pick: int, text: str) -> None:
    """An edit of some entry, which may be no message, or have no such field."""
    part = Text(text) if pick % 2 else made(pick)
    changes: dict[str, object] = {"parts": [plain(encode(part))]} if pick % 5 else {"mood": text}
    forge(session, Edit(pick % (session.refresh().head + 2), changes))


def forge_removal(session: Session, pick: int) -> None:
    forge(session, Removal((pick % (session.refresh().head + 2), pick)))


def garbage(session: Session, pick: int, text: str) -> None:
    """An entry that cannot be read, or of a kind that nobody knows."""
    kind = ("weather", "message", "edit", "settlement", "steer")[pick % 5]
    session.store.append(session.id, [Draft(new_id(), kind, now(), f'{{"{text}":1}}'.encode())])


OPS: Mapping[str, Doing] = {
    "user": lambda session, world, pick, text: session.add(User.of(text)),
    "system": lambda session, world, pick, text: session.add(System.of(text)),
    "answer": lambda session, world, pick, text: session.add(Assistant.of(text)),
    "calls": lambda session, world, pick, text: session.add(foreign(pick, text)),
    "result": lambda session, world, pick, text: session.append_message(result(session, pick, text)),
    "result again": lambda session, world, pick, text: repeated(session, pick),
    "result by key": lambda session, world, pick, text: by_key(session, pick, text),
    "steer": lambda session, world, pick, text: session.steer(text or "quick"),
    "interrupt": lambda session, world, pick, text: session.interrupt(text or None, by="ann"),
    "approve": lambda session, world, pick, text: decide(session, pick, text, approved=True),
    "approve otherwise": lambda session, world, pick, text: decide(session, pick, text, approved=True, edit=True),
    "deny": lambda session, world, pick, text: decide(session, pick, text, approved=False),
    "settle": settle,
    "update": lambda session, world, pick, text: update(session, pick, text),
    "update calls": lambda session, world, pick, text: update_calls(session, pick),
    "remove": lambda session, world, pick, text: remove(session, pick),
    "set": lambda session, world, pick, text: replace_all(session, pick, text),
    "unset": lambda session, world, pick, text: session.unset(),
    "discard": lambda session, world, pick, text: session.discard_pending_tool_calls(),
    "link": lambda session, world, pick, text: forge(session, Linked(f"child {pick % 2}", f"child-{pick % 2}")),
    "report": lambda session, world, pick, text: session.deliver_report("child", f"child-{pick % 3}", "done", text),
    "forge request": lambda session, world, pick, text: forge_request(session, pick),
    "forge decision": lambda session, world, pick, text: forge_decision(session, pick),
    "forge start": lambda session, world, pick, text: forge_start(session, pick),
    "forge settlement": forge_settlement,
    "forge correction": lambda session, world, pick, text: forge_correction(session, pick),
    "forge edit": lambda session, world, pick, text: forge_edit(session, pick, text),
    "forge removal": lambda session, world, pick, text: forge_removal(session, pick),
    "garbage": lambda session, world, pick, text: garbage(session, pick, text),
}

DECIDING = ("approve", "approve", "approve otherwise", "deny")
EDITING = ("update", "update", "update calls", "update calls", "remove", "remove", "set", "unset", "discard")
FORGING = tuple(name for name in OPS if name.startswith("forge") or name == "garbage")
SAYING = tuple(name for name in OPS if name not in (*DECIDING, *EDITING, *FORGING, "settle"))


def ops(names: tuple[str, ...]) -> st.SearchStrategy[Op]:
    """Any of these operations."""
    return st.builds(Op, st.sampled_from(names), st.integers(0, 19), st.sampled_from(TEXTS))


# Runs -----------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """An answer of the model's: words, and calls as tool and arguments."""

    text: str
    calls: tuple[tuple[str, object], ...] = ()

    def step(self, world: World) -> Mapping[str, object]:
        calls = [{"id": world.new_id(), "name": name, "arguments": arguments} for name, arguments in self.calls]
        return {"text": self.text, "calls": calls}


# What happens to a session while somebody runs it. The last two take it away from them.
MEANWHILE = (
    *("user", "calls", "result", "result again", "result by key", "steer", "interrupt", "approve", "deny", "settle"),
    *("update", "set", "report", "forge edit", "forge removal", "forge settlement", "garbage", "overtake", "take over"),
)
INSIDE = (
    "user",
    "steer",
    "interrupt",
    "update",
    "update calls",
    "remove",
    "set",
    "unset",
    "discard",
    "result by key",
    "calls",
)


@dataclass(frozen=True)
class Plan:
    """A run: its prompt, or None to go on; what the model answers; and what happens meanwhile.

    `inside` is done by the first handler that runs, `meanwhile` by somebody else before the run's question of that number,
    and the run `dies` at another. With `tight`, its past is summed up as often as it can be.
    """

    prompt: str | None
    turns: tuple[Turn, ...] = ()
    inside: Op | None = None
    meanwhile: tuple[int, Op] | None = None
    dies: int | None = None
    tight: bool = False
    is_async: bool = False
    max_steps: int = 4
    max_concurrency: int = 4


ARGUMENTS = st.sampled_from(({"n": 1}, {"n": 2}, {"n": 3}, {"n": "4"}, {"m": 1}, '{"n": 5'))
CALLS = st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=1, max_size=3).map(tuple)
TURNS = st.lists(st.builds(Turn, st.sampled_from(("on it", "")), CALLS), min_size=1, max_size=3).map(tuple)
QUESTIONS = st.integers(1, 80)


def seldom(one: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Nothing, mostly."""
    return st.none() | st.none() | one


def plans(prompts: tuple[str | None, ...] = ("go", "again", None)) -> st.SearchStrategy[Plan]:
    """Any run."""
    return st.builds(
        Plan,
        st.sampled_from(prompts),
        TURNS,
        inside=seldom(ops(INSIDE)),
        meanwhile=seldom(st.tuples(QUESTIONS, ops(MEANWHILE))),
        dies=seldom(QUESTIONS),
        tight=st.booleans(),
        is_async=st.booleans(),
        max_steps=st.sampled_from((1, 4, 4)),
        max_concurrency=st.sampled_from((1, 4, 4)),
    )


def model_of(plan: Plan, world: World) -> ScriptedModel:
    """A model that gives the plan's turns, and then no more calls."""
    turns = deque(plan.turns)

    def step(request: Request) -> Mapping[str, object]:
        if is_asked_to_sum_up(request):
            return {"text": world.summary()}
        return (turns.popleft() if turns else Turn("done")).step(world)

    return ScriptedModel([step] * 40)
