"""What people and programs may do to a session, each deed one name, so that any of them can be drawn in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

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
from suture.messages import Assistant, Reasoning, System, Text, ToolCall, ToolResult, User, encode
from suture.replay import Call
from suture.session import Session, new_id, now
from suture.tools import Tool, ToolContext
from tests.loop.scenarios import Gate, free, wait_until
from tests.rules.reference import FILLED_IN

T = TypeVar("T")

# What a session or a run says when it may not do what it was asked.
REFUSALS = (SessionError, Conflict, Fenced, ModelError, CompactionError)

IDS = ("c1", "m1", "m 3", "", "m2")
TEXTS = ("ok", "no", "", FILLED_IN, "ü")
LONG_AGO = "2020-01-01T00:00:00.000Z"


class World:
    """What surrounds a session: what its handlers did, and what is to happen inside of one. Handlers wait at a gate."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.started: list[tuple[str, str]] = []
        self.ended: list[str] = []
        self.inside: Op | None = None
        self.calls = self.summaries = 0

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
    def handle(n: int, ctx: ToolContext) -> str:  # noqa: ARG001  the model gives it
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


# Deeds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Op:
    """A deed by name. `pick` chooses among what is there, and how; `text` is what is said."""

    name: str
    pick: int = 0
    text: str = "ok"

    def do(self, session: Session, world: World) -> None:
        """Do it, or be refused."""
        try:
            getattr(Somebody(session, world, self.pick, self.text), self.name)()
        except REFUSALS:
            return


@dataclass(frozen=True)
class Somebody:
    """Who does it: each method is a deed, and does nothing where there is nothing to do it to."""

    session: Session
    world: World
    pick: int
    text: str

    def one_of(self, items: Iterable[T]) -> list[T]:
        """The one that is picked, in a list that is empty where there is none."""
        found = list(items)
        return [found[self.pick % len(found)]] if found else []

    def one_call(self) -> list[Call]:
        return self.one_of(self.session.refresh().calls.values())

    def made(self, number: int = 0) -> ToolCall:
        return ToolCall(IDS[(self.pick + number) % len(IDS)], NAMES[self.pick % len(NAMES)], {"n": self.pick})

    def answer_by_hand(self) -> Assistant:
        words = (Text(self.text),) if self.text else ()
        calls = [self.made(number) for number in range(self.pick % 4)]
        return Assistant((*words, *calls)) if words or calls else Assistant((Reasoning("hm"),))

    # Saying

    def user(self) -> None:
        self.session.add(User.of(self.text))

    def system(self) -> None:
        self.session.append_message(System.of(self.text))

    def answer(self) -> None:
        self.session.add(Assistant.of(self.text))

    def calls(self) -> None:
        """An answer that no run wrote."""
        self.session.add(self.answer_by_hand())

    def result(self) -> None:
        """A result under the wire id of some call, or of none."""
        for id in self.one_of([*(call.call.id for call in self.session.refresh().calls.values()), *IDS]):
            name = NAMES[self.pick % len(NAMES)] if id and self.pick % 3 == 0 else None
            self.session.append_message(ToolResult(self.text, call_id=id, name=name, error=self.pick % 5 == 0))

    def result_again(self) -> None:
        """One that is there comes once more."""
        for one in self.one_of(one for one in self.session.messages if isinstance(one, ToolResult)):
            self.session.append_message(msgspec.structs.replace(one, id=None))

    def result_by_key(self) -> None:
        """A program of the host knows the key."""
        for call in self.one_call():
            result = ToolResult(self.text, call_id=call.call.id, id=new_id())
            self.session.append("message", encode(MessageBody(result, key=call.key)))

    def steer(self) -> None:
        self.session.steer(self.text or "quick")

    def interrupt(self) -> None:
        self.session.interrupt(self.text or None, by="ann")

    def link(self) -> None:
        self.forge(Linked(f"child {self.pick % 2}", f"child-{self.pick % 2}"))

    def report(self) -> None:
        self.session.deliver_report("child", f"child-{self.pick % 3}", "done", self.text)

    # Deciding

    def approve(self) -> None:
        for one in self.one_of(self.session.open_approvals()):
            self.session.approve(one.key if self.pick % 3 else one.call.id, note=self.text or None, by="ann")

    def approve_otherwise(self) -> None:
        for one in self.one_of(self.session.open_approvals()):
            self.session.approve(one.key, by="ann", arguments={"n": self.pick})

    def deny(self) -> None:
        for one in self.one_of(self.session.open_approvals()):
            self.session.deny(one.key if self.pick % 3 else one.call.id, note=self.text or None, by="bob")

    def settle(self) -> None:
        """An operator finds out what became of a call, and says so; what ran is never called released."""
        for one in self.one_of(self.session.unknown_outcomes()):
            is_alone = self.session.info().claim is None
            never = is_alone and not self.world.may_have_run(one.idempotency_key)
            outcome: Settled = "failed" if self.pick % 3 == 0 else "released" if never else "completed"
            self.session.settle(one.key, outcome, self.text or None, by="an operator", force=is_alone)

    # Editing

    def update(self) -> None:
        for one in self.one_of(self.session.messages):
            if isinstance(one, ToolResult):
                self.session.update(tool_call_id=one.call_id, content=self.text)
            else:
                self.session.update(id=one.id, content=self.text)

    def update_calls(self) -> None:
        """One less, one more, another order, or other arguments."""
        for one in self.one_of(one for one in self.session.messages if isinstance(one, Assistant)):
            old = one.calls
            others = [ToolCall(call.id, call.name, {"n": self.pick}) for call in old]
            new = (old[1:], (*old, self.made()), old[::-1], others)[self.pick % 4]
            self.session.update(id=one.id, tool_calls=list(new))

    def remove(self) -> None:
        for one in self.one_of(self.session.messages):
            self.session.remove(id=one.id or "")

    def set(self) -> None:
        """A part of the old conversation, and something new."""
        if self.pick % 2:
            self.session.set([*self.session.messages[self.pick % 4 :: 2], User.of(self.text)])
        else:
            self.session.set([self.answer_by_hand()])

    def unset(self) -> None:
        self.session.unset()

    def discard(self) -> None:
        self.session.discard_pending_tool_calls()

    # By hand: what no session would write

    def forge(self, body: Body) -> None:
        self.session.log.append([draft(new_id(), now(), body)])

    def forge_request(self) -> None:
        """Under a digest that may be wrong, and over when it is made."""
        for call in self.one_call():
            digest = call_digest(call.corrected) if self.pick % 4 else "0" * 64
            expires = LONG_AGO if self.pick % 3 == 0 else None
            self.forge(ApprovalRequest(call.key, call.corrected, digest, "external", expires=expires))

    def forge_decision(self) -> None:
        """Of this request or another one, on its call or another one."""
        asked = [call.request for call in self.session.refresh().calls.values() if call.request is not None]
        for (seq, _, body), call in zip(self.one_of(asked), self.one_call(), strict=False):
            digest = body.digest if self.pick % 3 else "0" * 64
            key = body.key if self.pick % 2 else call.key
            self.forge(ApprovalDecision(seq, key, digest, approved=self.pick % 5 > 2))

    def forge_start(self) -> None:
        for call in self.one_call():
            self.forge(ToolStarted(call.key, "external", 1, "somebody's"))

    def forge_settlement(self) -> None:
        """Of a call that may wait for none; it never denies what ran."""
        for call in self.one_call():
            self.forge(Settlement(call.key, "failed" if self.pick % 2 else "completed", (Text(self.text or "so"),)))

    def forge_correction(self) -> None:
        for call in self.one_call():
            made = ToolCall(call.call.id, call.call.name, {"n": self.pick})
            self.forge(Correction(call.key, made.name, "{}", made, "host"))

    def forge_edit(self) -> None:
        """Of some entry, which may be no message, or have no such field."""
        part = Text(self.text) if self.pick % 2 else self.made()
        changes: dict[str, object] = {"parts": [plain(encode(part))]} if self.pick % 5 else {"mood": self.text}
        self.forge(Edit(self.pick % (self.session.refresh().head + 2), changes))

    def forge_removal(self) -> None:
        self.forge(Removal((self.pick % (self.session.refresh().head + 2), self.pick)))

    def forge_garbage(self) -> None:
        """It cannot be read, or is of a kind that nobody knows."""
        kind = ("weather", "message", "edit", "settlement", "steer")[self.pick % 5]
        self.session.log.append([Draft(new_id(), kind, now(), f'{{"{self.text}":1}}'.encode())])

    # While somebody runs it

    def overtake(self) -> None:
        """The session is taken away from whoever runs it."""
        free(self.session.store, self.session.id)
        self.session.store.release(self.session.store.claim(self.session.id, "a thief", 30))


SAYING = (
    "user",
    "system",
    "answer",
    "calls",
    "result",
    "result_again",
    "result_by_key",
    "steer",
    "interrupt",
    "link",
    "report",
)
DECIDING = ("approve", "approve", "approve_otherwise", "deny")
EDITING = ("update", "update", "update_calls", "update_calls", "remove", "remove", "set", "unset", "discard")
FORGING = tuple(name for name in vars(Somebody) if name.startswith("forge_"))
