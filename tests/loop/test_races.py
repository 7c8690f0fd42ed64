"""Races to decide on one call, and to settle one: each has one winner, the other learns of it, and the log says the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from benchmarks.races import Counts, What, decide, in_processes, name, raced

import suture
from suture.session import Session
from suture.stores.memory import MemoryStore
from tests.loop.counts import DECISIONS
from tests.postgres import with_schema


def in_threads(store: suture.Store, what: What, races: int) -> tuple[list[bool], list[bool]]:
    """The race between two threads of this process."""
    begin = time.time() + 0.2
    won: dict[int, list[bool]] = {}
    sides = [
        threading.Thread(target=lambda side=side: won.update({side: decide(store, what, side, races, begin)}))
        for side in (0, 1)
    ]
    for side in sides:
        side.start()
    for side in sides:
        side.join(60)
    return won[0], won[1]


@pytest.fixture(params=["memory", "sqlite", "jsonl", "postgres"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[suture.Store, object]]:
    """A store, and how two race on it: threads where it is of one process, else processes."""
    if request.param == "memory":
        store: suture.Store = MemoryStore()
        yield store, partial(in_threads, store)
        return
    if request.param == "postgres":
        url = with_schema(request.getfixturevalue("postgres"), "races")
    else:
        url = f"{request.param}:///{tmp_path}/races"
    with closing(suture.open_store(url)) as store:
        yield store, partial(in_processes, url)
        for info in store.sessions(limit=10 * DECISIONS):
            store.delete(info.id)


def raced_on(run: tuple[suture.Store, object], what: What) -> Counts:
    store, race = run
    assert callable(race)
    return raced(store, what, DECISIONS, lambda: race(what, DECISIONS))


@pytest.mark.spec("S121", "M-13")
def test_an_approval_that_races_a_denial_has_one_winner(run: tuple[suture.Store, object]) -> None:
    """One decision stands in each log, its maker knows that it won, and the other that it lost."""
    counts = raced_on(run, "approvals")
    assert counts.is_clean, counts
    assert sum(counts.wins) == DECISIONS


def test_settlements_race_as_decisions_do(run: tuple[suture.Store, object]) -> None:
    """Of two who know what became of a call the first is believed, and the second is told so; the model reads the first."""
    counts = raced_on(run, "settlements")
    assert counts.is_clean, counts
    store, _ = run
    for number in range(DECISIONS):
        session = Session(store, name("settlements", number))
        (call,) = session.refresh().calls.values()
        assert call.settlement is not None
        won = {"completed": "it was paid", "failed": "it bounced"}[call.settlement.outcome]
        assert [message.text for message in session.refresh().request()][-1] == won
        assert session.findings() == []
        assert session.unknown_outcomes() == []
