"""A run may end at any question that it asks, before it is carried out or after: what follows goes on from the log.

The questions are those that a clean run of the scenario asked. At the one in turn the runner dies, and its store
refuses all that it may still try; then the store is opened anew, and a new agent finishes the story.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from suture.loop.asks import Ask, Next, Start, ToolJob
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite import SqliteStore
from suture.tools import ToolContext
from tests.loop.mortal import Acknowledged, Dead, Died, Mortal, assert_stand
from tests.loop.scenarios import (
    ID,
    SCENARIOS,
    THIEF,
    Driver,
    Gate,
    Ledger,
    Scenario,
    Story,
    World,
    assert_sendable,
    check_end,
    free,
)

DRIVERS: tuple[Driver, ...] = ("sync", "async")
STORES = ("memory", "sqlite")

# Ends a story at the moment of that number, and goes on with it.
End: TypeAlias = "Callable[[Story, Place, int, Moment], None]"


class GatedWorld(World):
    """Handlers wait at a gate, so that the run's questions come in the same order every time."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.gate = Gate()

    def inside(self, name: str, ctx: ToolContext) -> None:  # noqa: ARG002  every handler waits
        self.gate.pass_through(ctx.idempotency_key)

    def watch(self, when: str, question: Ask[object]) -> None:
        """Let handlers through as the run's questions tell."""
        match question:
            case Start(ToolJob(idempotency_key=key)) if when == "before":
                self.gate.arrive(key)
            case Next() if when == "before":
                self.gate.let_one_through()


class Moment(NamedTuple):
    """Where a run can end: before or after a question of that kind."""

    when: str
    kind: str


class Recording:
    """A probe that writes down the moments of a run: before and after each question that is asked. A question that
    cannot be carried out, as that of a fenced runner, has no moment after it.
    """

    def __init__(self, world: GatedWorld) -> None:
        self.world = world
        self.moments: list[Moment] = []

    def __call__(self, when: str, question: Ask[object]) -> None:
        self.moments.append(Moment(when, type(question).__name__))
        self.world.watch(when, question)


class Doom:
    """A probe that ends the run at the moment of that number, which must be the one that is meant."""

    def __init__(self, world: GatedWorld, number: int, moment: Moment, strike: Callable[[], BaseException]) -> None:
        self.world = world
        self.left = number
        self.moment = moment
        self.strike = strike
        self.struck_at: Moment | None = None

    def __call__(self, when: str, question: Ask[object]) -> None:
        if self.left == 0 and self.struck_at is None:
            self.struck_at = Moment(when, type(question).__name__)
            error = self.strike()
            self.world.gate.open()
            raise error
        self.left -= 1
        self.world.watch(when, question)

    def check(self) -> None:
        """It struck, where it was meant to."""
        assert self.struck_at == self.moment


class Place:
    """Where a store lives: opened anew, it holds what was written. `end` removes it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self._memory = MemoryStore() if kind == "memory" else None
        self._sqlite: SqliteStore | None = None

    def open(self) -> Store:
        if self._memory is not None:
            return self._memory
        if self._sqlite is not None:
            self._sqlite.close()
        self._sqlite = SqliteStore(self.folder / "log.db")
        return self._sqlite

    def end(self) -> None:
        if self._sqlite is not None:
            self._sqlite.close()
        shutil.rmtree(self.folder)

    def world(self) -> GatedWorld:
        return GatedWorld(Ledger(self.folder / "runs"))


def clean_run(scenario: Scenario, driver: Driver, place: Place) -> list[Moment]:
    """The moments of the scenario when nothing goes wrong."""
    world = place.world()
    recording = Recording(world)
    story = Story(scenario, place.open(), world, driver)
    story.finish(recording)
    check_end(story)
    place.end()
    return recording.moments


def mortal_of(story: Story) -> Mortal:
    assert isinstance(story.store, Mortal)
    return story.store


def world_of(story: Story) -> GatedWorld:
    assert isinstance(story.world, GatedWorld)
    return story.world


def each_moment(scenario: Scenario, driver: Driver, kind: str, folder: Path, end: End) -> None:
    """End the scenario at each moment of its clean run, every time in a place of its own, and go on."""
    for number, moment in enumerate(clean_run(scenario, driver, Place(kind, folder / "clean"))):
        place = Place(kind, folder / str(number))
        acknowledged: list[Acknowledged] = []
        story = Story(scenario, Mortal(place.open(), acknowledged.append), place.world(), driver)
        try:
            end(story, place, number, moment)
            assert_sendable(story.session())
            story.finish()
            check_end(story)
            assert_stand(story.session().entries(), acknowledged)
        except BaseException as error:
            error.add_note(f"ended {moment.when} {moment.kind}, moment {number}")
            raise
        finally:
            place.end()


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.name)
def test_a_runner_that_dies_anywhere_is_followed_by_one_that_finishes(
    scenario: Scenario, driver: Driver, kind: str, quick_folder: Path
) -> None:
    """Whatever the moment: requests stay valid, effects happen once, nothing acknowledged is lost, the end is whole."""
    each_moment(scenario, driver, kind, quick_folder, dies)


def dies(story: Story, place: Place, number: int, moment: Moment) -> None:
    mortal = mortal_of(story)

    def die() -> Died:
        mortal.die()
        return Died()

    doom = Doom(world_of(story), number, moment, die)
    with pytest.raises((Died, Dead)):
        story.finish(doom)
    doom.check()
    store = place.open()
    free(store)
    story.store = Mortal(store, mortal.keep)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.name)
def test_a_runner_that_is_stopped_anywhere_leaves_a_free_session(
    scenario: Scenario, driver: Driver, quick_folder: Path
) -> None:
    """Ctrl-C at any moment, the store being well: the claim is given back at once, and nothing is recorded twice."""
    each_moment(scenario, driver, "memory", quick_folder, is_stopped)


def is_stopped(story: Story, place: Place, number: int, moment: Moment) -> None:  # noqa: ARG001
    doom = Doom(world_of(story), number, moment, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        story.finish(doom)
    doom.check()
    info = story.store.info(ID)
    assert info is not None
    assert info.claim is None or info.claim.owner == THIEF
    free(story.store)


def test_every_kind_of_question_is_asked_by_some_scenario(quick_folder: Path) -> None:
    """A kind of question that no scenario asks would never be crashed at."""
    asked = {
        moment.kind
        for n, scenario in enumerate(SCENARIOS.values())
        for moment in clean_run(scenario, "sync", Place("memory", quick_folder / str(n)))
    }
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
