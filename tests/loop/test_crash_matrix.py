"""A run may end at any question that it asks, before it is carried out or after: what follows goes on from the log.

The questions are those that a clean run of the scenario asked (`moments`). At the one in turn the runner dies, and its
store refuses all that it may still try; then the store is opened anew, and a new agent finishes the story.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from suture.loop.asks import Ask
from tests.loop.moments import DRIVERS, STORES, Place, clean_run, dies, each_moment, is_stopped
from tests.loop.scenarios import SCENARIOS, Driver, Scenario, Story

# The behaviours that scenarios show.
SHOWN = {"interrupted": "S156", "retried": "S159", "hooked": "S152", "handed off": "S157"}
ROWS = [
    pytest.param(one, id=one.name, marks=[pytest.mark.spec(SHOWN[one.name])] if one.name in SHOWN else [])
    for one in SCENARIOS.values()
]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", ROWS)
def test_a_runner_that_dies_anywhere_is_followed_by_one_that_finishes(
    scenario: Scenario, driver: Driver, kind: str, quick_folder: Path
) -> None:
    """Whatever the moment: requests stay valid, effects happen once, nothing acknowledged is lost, the end is whole."""
    each_moment(scenario, driver, kind, quick_folder, dies)


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
