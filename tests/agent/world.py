"""The world in which anything is done to a session: its tools, and what became of what they were asked to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import suture
from suture.errors import CompactionError, Conflict, Fenced, ModelError, SessionError
from suture.session import Session
from suture.tools import Tool, ToolContext
from tests.loop.scenarios import Gate, wait_until
from tests.rules.reference import FILLED_IN

# What a session or a run says when it may not do what it was asked.
REFUSALS = (SessionError, Conflict, Fenced, ModelError, CompactionError)

IDS = ("c1", "m1", "m 3", "", "m2")
TEXTS = ("ok", "no", "", FILLED_IN, "ü")
LONG_AGO = "2020-01-01T00:00:00.000Z"


class Deed(Protocol):
    """Something that is done to a session."""

    def do(self, session: Session, world: World) -> None:
        """Do it, or be refused."""


class World:
    """What surrounds a session: what its handlers did, and what is to happen inside of one. Handlers wait at a gate."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.started: list[tuple[str, str]] = []
        self.ended: list[str] = []
        self.inside: Deed | None = None
        self.calls = self.summaries = 0
        self.has_erased = False

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
