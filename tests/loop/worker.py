"""What a child process of the loop tests does: `python -m tests.loop.worker ORDERS`. It speaks in lines of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import apsw
import msgspec

from suture.entries import Draft
from suture.errors import AlreadyDecided, SessionBusy, SutureError
from suture.loop.asks import Append, Ask, Start
from suture.loop.jobs import ToolJob
from suture.models.base import Piece, TextDelta, ToolCallDelta
from suture.stores.sqlite.store import SqliteStore
from suture.tools import ToolContext
from tests.loop.mortal import Acknowledged, Mortal
from tests.loop.scenarios import PATIENCE, SCENARIOS, Driver, Ledger, ModelOf, Story, World, model_of, wait_until

Barrier = Literal["", "commit", "model", "look", "save", "send", "begin", "start", "text", "arguments"]


class Orders(msgspec.Struct, frozen=True):
    """What a worker is to do, on which store, and where it stops to say so.

    At the barrier, when it comes there for the time numbered `nth` (from 0), it says where it is, and then waits for a
    word, or, where it is to `hang`, until it is told to stop or killed. At a piece of an answer's `text` or of a call's
    `arguments` it says so and listens on. With a `wire` it asks the adapter of that wire at `base_url`.
    """

    do: Literal["story", "step", "append", "race", "fork"]
    folder: str
    scenario: str = "words"
    driver: Driver = "sync"
    lease: float = 30.0
    grace: float = 5.0
    barrier: Barrier = ""
    nth: int = 0
    hang: bool = False
    wire: Literal["", "openai", "anthropic"] = ""
    base_url: str = ""

    @property
    def ledger(self) -> Ledger:
        return Ledger(Path(self.folder) / "runs")

    @property
    def database(self) -> Path:
        return Path(self.folder) / "log.db"

    @property
    def acknowledged(self) -> Path:
        return Path(self.folder) / "acknowledged"


def say(**words: object) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


def hear() -> str:
    """The next line; a worker whose parent is gone ends."""
    line = sys.stdin.readline()
    if not line:
        os._exit(3)
    return line.strip()


class Barriers(World):
    """A world that stops where the orders say."""

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders.ledger)
        self.orders = orders
        self.passed = 0
        self.commits = 0

    def comes_to(self, place: str) -> bool:
        """Whether it is the place, and the time, to stop."""
        if place != self.orders.barrier:
            return False
        self.passed += 1
        return self.passed == self.orders.nth + 1

    def inside(self, name: str, ctx: ToolContext) -> None:
        if not self.comes_to(name):
            return
        say(at=name)
        if self.orders.hang:
            wait_until(lambda: ctx.interrupted)
        else:
            hear()

    async def thinking(self, answered: int) -> None:  # noqa: ARG002  the barrier counts for itself
        if not self.comes_to("model"):
            return
        say(at="model")
        if self.orders.hang:
            await asyncio.sleep(PATIENCE)
        else:
            await asyncio.to_thread(hear)

    def hearing(self, piece: Piece) -> None:
        if self.comes_to(_heard(piece)):
            say(at=self.orders.barrier)

    def probe(self, when: str, question: Ask[object]) -> None:
        """Stop before a start is written (`begin`), or between that and the handler (`start`)."""
        place = _place(question) if when == "before" else ""
        if place and self.comes_to(place):
            say(at=place)
            hear()

    def committing(self) -> bool:
        """A commit hook: it runs inside the transaction, when all is written and nothing stands."""
        self.commits += 1
        if self.comes_to("commit"):
            say(at="commit")
            hear()
        return False


def _heard(piece: Piece) -> str:
    match piece:
        case TextDelta():
            return "text"
        case ToolCallDelta(arguments=arguments) if arguments:
            return "arguments"
        case _:
            return "other"


def _place(question: Ask[object]) -> str:
    match question:
        case Append((Draft(kind="tool_started"),)):
            return "begin"
        case Start(ToolJob()):
            return "start"
        case _:
            return ""


def acknowledge_in(path: Path) -> Callable[[Acknowledged], None]:
    def keep(one: Acknowledged) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, msgspec.json.encode(one) + b"\n")
        os.close(descriptor)

    return keep


def acknowledged_in(path: Path) -> list[Acknowledged]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Acknowledged) for line in lines]


def story_of(orders: Orders, world: World) -> Story:
    """The story of these orders, wherever it is carried on."""
    store = Mortal(SqliteStore(orders.database), acknowledge_in(orders.acknowledged))
    modelled = _over_an_adapter(orders) if orders.wire else model_of
    return Story(
        SCENARIOS[orders.scenario], store, world, orders.driver, grace=orders.grace, lease=orders.lease, modelled=modelled
    )


def _over_an_adapter(orders: Orders) -> ModelOf:
    """Models of a wire, whose provider its owner tells what to answer."""
    from tests.models.served import Heard, bare_adapter

    assert orders.wire
    model = bare_adapter(orders.wire, orders.base_url)
    return lambda _scenario, world, _steps: Heard(model, world)


def go_on(orders: Orders) -> None:
    """Carry a story on: to its end, people's part included, or one run of it."""
    world = Barriers(orders)
    apsw.connection_hooks.append(lambda db: db.set_commit_hook(world.committing))
    story = story_of(orders, world)
    if orders.do == "story":
        story.finish(world.probe)
        say(ended="completed", commits=world.commits)
    else:
        status = story.step(world.probe)
        say(ended=status, requests=[[[type(one).__name__, one.text] for one in asked.messages] for asked in story.requests])


def append(orders: Orders) -> None:
    """Append as often as is said, one entry at a time, once told to begin."""
    session = story_of(orders, World(orders.ledger)).session()
    say(ready=os.getpid())
    for number in range(int(hear())):
        session.append("note", {"pid": os.getpid(), "number": number})
    say(ended="completed")


def race(orders: Orders) -> None:
    """Decide the call of one session after another, as each line says (`approve` or `deny`, and the session), and then
    try to resume it.
    """
    story = story_of(orders, World(orders.ledger))
    say(ready=os.getpid())
    while line := hear():
        how, _, story.id = line.partition(" ")
        session = story.session()
        decide = session.approve if how == "approve" else session.deny
        try:
            decided = "first" if decide("c0", by=str(os.getpid())) else "again"
        except AlreadyDecided:
            decided = "AlreadyDecided"
        try:
            say(decided=decided, then=story.step())
        except SessionBusy:
            say(decided=decided, then="SessionBusy")


def fork(orders: Orders) -> None:
    """Carry a story to its end, fork, and carry another one to its end in the child, on the same store; then a third
    here.
    """
    story = story_of(orders, World(orders.ledger))
    story.finish()
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(PATIENCE))
        story.id = "child"
        story.finish()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    story.id = "parent"
    story.finish()
    say(ended="completed", child=status)


WORKS = {"story": go_on, "step": go_on, "append": append, "race": race, "fork": fork}


def main() -> None:
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    try:
        WORKS[orders.do](orders)
    except (SutureError, KeyboardInterrupt) as error:
        say(raised=type(error).__name__, message=str(error))


if __name__ == "__main__":
    main()
