"""A run may end at any question that it asks, before it is carried out or after: what follows goes on from the log.

The questions are those that a clean run of the scenario asked (`moments`). At the one in turn the runner dies, and its
store refuses all that it may still try; then the store is opened anew, and a new agent finishes the story. Moments at
which nothing has changed since the one before (ahead of a question, or behind one that only asks) are tried with the sync
driver in memory alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from suture.loop.asks import Ask
from tests.loop.counts import ASYNC_ON_SQLITE
from tests.loop.moments import DRIVERS, STORES, Place, clean_run, dies, each_moment, is_stopped
from tests.loop.scenarios import SCENARIOS, Driver, Scenario, Story

# The behaviours that scenarios show.
SHOWN = {"interrupted": "S156", "retried": "S159", "hooked": "S152", "handed off": "S157"}
ROWS = [
    pytest.param(one, id=one.name, marks=[pytest.mark.spec(SHOWN[one.name])] if one.name in SHOWN else [])
    for one in SCENARIOS.values()
]


# Every scenario under both drivers and on both stores, but not in all four ways: the driver that awaits a store in worker
# threads meets SQLite in those that have every kind of write.
WAYS = [
    pytest.param(*row.values, driver, kind, id=f"{row.id}-{driver}-{kind}", marks=row.marks)
    for row in ROWS
    for driver in DRIVERS
    for kind in STORES
    if (driver, kind) != ("async", "sqlite") or row.id in ASYNC_ON_SQLITE
]


@pytest.mark.parametrize(("scenario", "driver", "kind"), WAYS)
def test_a_runner_that_dies_anywhere_is_followed_by_one_that_finishes(
    scenario: Scenario, driver: Driver, kind: str, quick_folder: Path
) -> None:
    """Whatever the moment: requests stay valid, effects happen once, nothing acknowledged is lost, the end is whole."""
    each_moment(scenario, driver, kind, quick_folder, dies, quiet=(driver, kind) == ("sync", "memory"))


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", ROWS)
def test_a_runner_that_is_stopped_anywhere_leaves_a_free_session(
    scenario: Scenario, driver: Driver, quick_folder: Path
) -> None:
    """Ctrl-C at any moment, the store being well: the claim is given back at once, and nothing is recorded twice."""
    each_moment(scenario, driver, "memory", quick_folder, is_stopped)


def test_every_kind_of_question_is_asked_by_some_scenario(quick_folder: Path) -> None:
    """A kind of question that no scenario asks would never be crashed at."""
    asked: set[str] = set()
    for scenario in SCENARIOS.values():
        place = Place("memory", quick_folder / "clean")
        asked.update(moment.kind for moment in clean_run(Story(scenario, place.open(), place.world()), place))
    assert kinds() - asked == set()


def kinds() -> set[str]:
    """The name of every kind of question."""
    found: set[str] = set()
    waiting = list(Ask.__subclasses__())
    while waiting:
        one = waiting.pop()
        found.add(one.__name__)
        waiting += one.__subclasses__()
    return found
