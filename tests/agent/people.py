"""What people and programs may do to a session, by its own methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from suture.entries import Body, ChildResult, ChildStarted, Linked, MessageBody, Settled, draft
from suture.messages import Assistant, Reasoning, System, Text, ToolCall, ToolResult, User, encode
from suture.replay import Call
from suture.session import Session, new_id, now
from tests.agent.world import IDS, NAMES, World
from tests.loop.scenarios import free

T = TypeVar("T")


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

    def write(self, body: Body) -> None:
        self.session.log.append([draft(new_id(), now(), body)])

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
        """A result under the wire id of some call, as it was made or as requests have it, or of none."""
        calls = list(self.session.refresh().calls.values())
        for id in self.one_of([*(call.call.id for call in calls), *(call.name for call in calls), *IDS]):
            name = NAMES[self.pick % len(NAMES)] if id and self.pick % 3 == 0 else None
            self.session.append_message(ToolResult(self.text, call_id=id, name=name, error=self.pick % 5 == 0))

    def result_again(self) -> None:
        """One that is there comes once more."""
        for one in self.one_of(one for one in self.session.messages if isinstance(one, ToolResult)):
            self.session.append_message(msgspec.structs.replace(one, id=None if self.pick % 4 else one.id))

    def result_by_key(self) -> None:
        """A program of the host knows the key."""
        for call in self.one_call():
            result = ToolResult(self.text, call_id=call.call.id, id=new_id())
            self.session.append("message", encode(MessageBody(result, key=call.key)))

    def steer(self) -> None:
        turn = self.session.refresh().turn if self.pick % 3 == 0 else None
        self.session.steer(self.text or "quick", expected_turn=turn)

    def interrupt(self) -> None:
        self.session.interrupt(self.text or None, by="ann")

    def link(self) -> None:
        self.write(Linked(f"child {self.pick % 2}", f"child-{self.pick % 2}"))

    def work(self) -> None:
        """It is a child itself, which begins to work, or ends."""
        self.write(ChildStarted() if self.pick % 2 else ChildResult("done", self.text))

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

    def erase(self) -> None:
        """Somebody erases an entry, of what is shared as well. Whoever has read it is none to compare with any more."""
        for one in self.one_of(self.session.entries()):
            self.session.erase(one.id)
            self.world.has_erased = True

    # While somebody runs it

    def overtake(self) -> None:
        """The session is taken away from whoever runs it."""
        free(self.session.store, self.session.id)
        self.session.store.release(self.session.store.claim(self.session.id, "a thief", 30))
