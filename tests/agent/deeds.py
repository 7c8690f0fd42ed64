"""What anybody may do to a session, each deed one name, so that any of them can be drawn in any order."""

from __future__ import annotations

from dataclasses import dataclass

from suture.session import Session
from tests.agent.forging import Forger
from tests.agent.world import REFUSALS, World


@dataclass(frozen=True)
class Op:
    """A deed by name. `pick` chooses among what is there, and how; `text` is what is said."""

    name: str
    pick: int = 0
    text: str = "ok"

    def do(self, session: Session, world: World) -> None:
        """Do it, or be refused."""
        try:
            getattr(Forger(session, world, self.pick, self.text), self.name)()
        except REFUSALS:
            return


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
    "work",
)
DECIDING = ("approve", "approve", "approve_otherwise", "deny")
EDITING = ("update", "update", "update_calls", "update_calls", "remove", "remove", "set", "unset", "discard")
FORGING = tuple(name for name in vars(Forger) if name.startswith("forge_"))
