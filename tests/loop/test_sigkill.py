"""A process that is killed inside a commit, a model call or a handler is followed at once by one that finishes.

Real processes on a real file. Nothing is released and no lease is waited for: the next runner sees that the owner
is dead, whether its parent has reaped it or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle, islice, product
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from suture.stores.sqlite.store import SqliteStore
from tests.loop.children import Child
from tests.loop.counts import KILLS_IN_COMMIT, KILLS_IN_MODEL, KILLS_IN_TOOL
from tests.loop.mortal import assert_stand
from tests.loop.scenarios import Ledger, World, assert_sendable, check_end
from tests.loop.worker import Barrier, Orders, acknowledged_in, story_of

T = TypeVar("T")
Start: TypeAlias = Callable[[Orders], Child]

DRIVERS = ("sync", "async")
LEASE = 30.0


def times(count: int, rows: Sequence[T]) -> list[T]:
    """That many rows of the table, from its start again when it is shorter."""
    return list(islice(cycle(rows), count))


def orders(folder: Path, scenario: str, driver: str, barrier: Barrier = "", nth: int = 0) -> Orders:
    """Orders for the first of several processes in that folder."""
    SqliteStore(folder / "log.db").close()
    return Orders("story", str(folder), scenario, driver, LEASE, barrier=barrier, nth=nth)  # type: ignore[arg-type]


def follow(begun: Orders) -> None:
    """Finish the story in this process, and check all that must hold of it."""
    story = story_of(begun, World(begun.ledger))
    since = time.monotonic()
    assert_sendable(story.session())
    story.finish()
    assert time.monotonic() - since < LEASE / 2, "it waited for the lease of a dead owner"
    check_end(story)
    assert_stand(story.session().entries(), acknowledged_in(begun.acknowledged))
    story.store.close()


IN_COMMIT = times(KILLS_IN_COMMIT, list(product(("three, one gated", "three"), DRIVERS)))


@pytest.mark.parametrize("number", range(KILLS_IN_COMMIT))
def test_killed_inside_a_commit(number: int, child: Start, clean_commits: Callable[[str], int], tmp_path: Path) -> None:
    """What the transaction held is gone whole; what was acknowledged before stands."""
    scenario, driver = IN_COMMIT[number]
    kills = [n for n, one in enumerate(IN_COMMIT) if one == (scenario, driver)]
    nth = kills.index(number) * clean_commits(scenario) // len(kills)
    begun = orders(tmp_path, scenario, driver, "commit", nth)
    killed = child(begun)
    assert killed.hear() == {"at": "commit"}
    killed.kill(reap=number % 2 == 0)
    follow(begun)


@pytest.fixture(scope="session")
def clean_commits(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], int]:
    """How often a process commits that carries a scenario from its prompt to its end."""

    @cache
    def count(scenario: str) -> int:
        whole = Child(orders(tmp_path_factory.mktemp("clean"), scenario, "sync"))
        try:
            commits = whole.hear()["commits"]
        finally:
            whole.end()
        assert isinstance(commits, int)
        return commits

    return count


IN_MODEL = [
    (scenario, driver, nth)
    for scenario, nth in (
        ("words", 0),
        ("read", 1),
        ("idempotent", 0),
        ("external", 1),
        ("gated external", 1),
        ("three", 0),
        ("three", 1),
        ("three gated", 1),
        ("interrupted", 1),
        ("spoken to", 0),
    )
    for driver in DRIVERS
]


@pytest.mark.parametrize(("scenario", "driver", "nth"), times(KILLS_IN_MODEL, IN_MODEL))
def test_killed_while_the_model_answers(scenario: str, driver: str, nth: int, child: Start, tmp_path: Path) -> None:
    """Nothing of the answer counts, and the model is asked again."""
    begun = orders(tmp_path, scenario, driver, "model", nth)
    killed = child(begun)
    assert killed.hear() == {"at": "model"}
    killed.kill(reap=driver == "sync")
    follow(begun)


IN_TOOL = [
    (scenario, driver, barrier)
    for scenario, barrier in (
        ("read", "look"),
        ("idempotent", "save"),
        ("external", "send"),
        ("gated idempotent", "save"),
        ("gated external", "send"),
        ("three", "look"),
        ("three", "save"),
        ("three", "send"),
        ("three, one gated", "send"),
        ("one at a time", "look"),
        ("reconciled", "send"),
        ("reconciled", "save"),
    )
    for driver in DRIVERS
]


@pytest.mark.spec("S170")
@pytest.mark.parametrize(("scenario", "driver", "barrier"), times(KILLS_IN_TOOL, IN_TOOL))
def test_killed_inside_a_handler(scenario: str, driver: str, barrier: Barrier, child: Start, tmp_path: Path) -> None:
    """A call that may be repeated is, under its key, even when the next process is killed inside it as well; one that
    may not is not.
    """
    begun = orders(tmp_path, scenario, driver, barrier)
    killed = child(begun)
    assert killed.hear() == {"at": barrier}
    killed.kill(reap=driver == "sync")
    if barrier != "send":
        again = child(begun)
        assert again.hear() == {"at": barrier}
        again.kill()
        assert [run.attempt for run in Ledger(tmp_path / "runs").runs() if run.tool == barrier] == [1, 2]
    follow(begun)
