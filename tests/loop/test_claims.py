"""A runner acts only while nobody else can have its session, however slow its store, its process or its event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suture.agent import AsyncAgent
from suture.agent.heartbeat import kept_alive
from suture.agent.recorder import Recorder
from suture.errors import Fenced
from suture.loop.asks import Append, Ask, Start
from suture.loop.jobs import ToolJob
from suture.session.log import SessionLog
from suture.stores.base import Claim, Store
from suture.stores.memory import MemoryStore
from suture.tools import ToolContext
from tests.loop.mortal import Dead, Mortal
from tests.loop.scenarios import (
    ID,
    PROMPT,
    SCENARIOS,
    THIEF,
    Driver,
    Ledger,
    Scenario,
    Story,
    World,
    carried,
    check_end,
    free,
    nothing,
    wait_until,
)

SHORT = 0.3
both = pytest.mark.parametrize("driver", ["sync", "async"])


class Distant(Mortal):
    """A store far away: `on_renewed` happens between a renewal and its answer."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner, nothing)
        self.on_renewed: Callable[[], object] = nothing

    def renew(self, claim: Claim, ttl: float) -> None:
        super().renew(claim, ttl)
        self.on_renewed()


def claim_of(store: Store) -> Claim | None:
    info = store.info(ID)
    return info.claim if info is not None else None


def be_replaced(store: Store) -> None:
    """Another runner takes the session as soon as it is free."""
    wait_until(lambda: claim_of(store) is None)
    store.claim(ID, THIEF, 30)


def test_a_renewal_that_is_answered_too_late_is_no_claim() -> None:
    """The store had renewed the lease, and it ran out on the way back."""
    store = Distant(MemoryStore())
    recorder = Recorder(SessionLog(store, ID), SHORT)
    recorder.claim()
    wait_until(lambda: time.monotonic() >= recorder.deadline)
    store.on_renewed = lambda: be_replaced(store.inner)
    with pytest.raises(Fenced):
        recorder.require_claim()


def test_a_busy_event_loop_starts_no_handler_past_the_lease(tmp_path: Path) -> None:
    """Another task holds the loop up just before a start, until somebody else has taken the session."""
    order: list[str] = []

    class Watched(World):
        def inside(self, name: str, ctx: ToolContext) -> None:  # noqa: ARG002
            order.append("started")

    def hold_up() -> None:
        be_replaced(store.inner)
        order.append("replaced")

    def probe(when: str, question: Ask[object]) -> None:
        if when == "before" and isinstance(question, Start) and isinstance(question.job, ToolJob):
            store.die()  # nothing is renewed any more
            asyncio.get_running_loop().call_soon(hold_up)

    store = Mortal(MemoryStore(), nothing)
    story = Story(SCENARIOS["external"], store, Watched(Ledger(tmp_path / "runs")), "async", lease=SHORT)
    agent, _ = story.agent(story.session(), probe)
    assert isinstance(agent, AsyncAgent)
    with pytest.raises(Dead):
        carried(agent, PROMPT)
    assert order in (["started", "replaced"], ["replaced"])


@pytest.mark.spec("S172")
@both
def test_a_silent_run_keeps_its_session(driver: Driver, tmp_path: Path) -> None:
    """While a handler works for longer than the lease, the claim is renewed."""
    store = MemoryStore()

    def outlast(_name: str, _ctx: ToolContext) -> None:
        first = claim_of(store)
        assert first is not None
        wait_until(lambda: time.time() > first.expires)
        assert claim_of(store) is not None

    scenario = Scenario("slow", ("send",), in_handler=outlast)
    story = Story(scenario, store, World(Ledger(tmp_path / "runs")), driver, lease=SHORT)
    story.finish()
    check_end(story)


@both
def test_a_run_that_lost_its_session_waits_no_longer(driver: Driver, tmp_path: Path) -> None:
    """It ends while its handler still works, starts no other, and leaves the call to whoever has the session now."""
    ended: list[bool] = []

    def lose(name: str, _ctx: ToolContext) -> None:
        if name == "send":
            free(store)
            store.claim(ID, THIEF, 30)
            wait_until(lambda: ended)

    store = MemoryStore()
    scenario = Scenario("lost", ("send", "save"), in_handler=lose, max_concurrency=1)
    story = Story(scenario, store, World(Ledger(tmp_path / "runs")), driver, lease=SHORT, grace=0.05)
    assert story.step() == "fenced"
    ended.append(True)
    assert [run.tool for run in story.world.ledger.runs()] == ["send"]
    story.take_up("fenced")
    story.finish()
    check_end(story)


@both
def test_a_run_that_lost_its_session_settles_nothing_that_had_not_started(driver: Driver, tmp_path: Path) -> None:
    """A call that is refused has no handler whose result could be lost."""

    def lose(when: str, question: Ask[object]) -> None:
        if (
            when == "before"
            and isinstance(question, Append)
            and any(b"unknown tool" in one.body for one in question.drafts)
        ):
            free(store)
            store.claim(ID, THIEF, 30)

    store = MemoryStore()
    story = Story(Scenario("unknown", ("guess",)), store, World(Ledger(tmp_path / "runs")), driver)
    assert story.step(lose) == "fenced"
    assert [entry.kind for entry in story.session().entries()] == ["run_started", "message", "message"]


def test_a_short_lease_is_kept_beside_a_long_one() -> None:
    """One process runs both, silently: the heartbeat does not sleep through the short one."""
    store = MemoryStore()
    long, short = Recorder(SessionLog(store, "long"), 120.0), Recorder(SessionLog(store, "short"), SHORT)
    long.claim()
    with kept_alive(long):
        short.claim()
        with kept_alive(short):
            before = short.deadline
            wait_until(lambda: short.deadline > before)
    short.release()
    long.release()
