"""A run may end at any question that it asks, before it is carried out or after: what follows goes on from the log.

The questions are those that a clean run of the scenario asked. At the one in turn the runner dies, and its store
refuses all that it may still try; then the store is opened anew, and a new agent finishes the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from suture.loop.asks import Ask, Next, Start, ToolJob
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite import SqliteStore
from suture.tools import ToolContext
from tests.loop.mortal import Acknowledged, Dead, Died, Mortal
from tests.loop.scenarios import (
    ID,
    SCENARIOS,
    Driver,
    Gate,
    Ledger,
    Scenario,
    Story,
    World,
    assert_all_sendable,
    assert_complete,
    assert_effects_once,
    assert_folds_alike,
    assert_sendable_now,
    free,
)

DRIVERS: tuple[Driver, ...] = ("sync", "async")
STORES = ("memory", "sqlite")


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


class Recording:
    """A probe that writes down which questions are asked."""

    def __init__(self, world: GatedWorld) -> None:
        self.world = world
        self.asked: list[type[Ask[object]]] = []

    def __call__(self, when: str, question: Ask[object]) -> None:
        if when == "before":
            self.asked.append(type(question))
        self.world.watch(when, question)


class Doom:
    """A probe that ends the run at one moment: before or after the question of that number."""

    def __init__(self, world: GatedWorld, number: int, moment: str, strike: Callable[[], BaseException]) -> None:
        self.world = world
        self.number = number
        self.moment = moment
        self.strike = strike
        self.has_struck = False
        self._asked = -1

    def __call__(self, when: str, question: Ask[object]) -> None:
        self._asked += when == "before"
        if not self.has_struck and (self._asked, when) == (self.number, self.moment):
            self.has_struck = True
            error = self.strike()
            self.world.gate.open()
            raise error
        self.world.watch(when, question)


class Place:
    """Where a store lives: opened anew, it holds what was written."""

    def __init__(self, kind: str, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self._memory = MemoryStore() if kind == "memory" else None
        self._sqlite: SqliteStore | None = None

    def open(self) -> Store:
        if self._memory is not None:
            return self._memory
        self.close()
        self._sqlite = SqliteStore(self.folder / f"{self.name}.db")
        return self._sqlite

    def close(self) -> None:
        if self._sqlite is not None:
            self._sqlite.close()

    def world(self) -> GatedWorld:
        return GatedWorld(Ledger(self.folder / f"{self.name}.runs"))


def clean_run(scenario: Scenario, driver: Driver, place: Place) -> list[type[Ask[object]]]:
    """The questions that the scenario asks when nothing goes wrong."""
    world = place.world()
    recording = Recording(world)
    story = Story(scenario, place.open(), world, driver)
    story.finish(recording)
    check_end(story)
    place.close()
    return recording.asked


def check_end(story: Story) -> None:
    assert_all_sendable(story.requests)
    assert_effects_once(story.world.ledger)
    assert_complete(story.scenario, story.session())
    assert_folds_alike(story.session())


def check_acknowledged(store: Store, acknowledged: list[Acknowledged]) -> None:
    """Every entry of which an append said that it stands does, unchanged."""
    entries = {entry.seq: entry for entry in store.read(ID)}
    for _, seq, draft in acknowledged:
        entry = entries[seq]
        assert (entry.id, entry.kind, entry.at, entry.body) == (draft.id, draft.kind, draft.at, draft.body)
        assert (entry.opens, entry.closes) == (draft.opens, draft.closes)


def moments(scenario: Scenario, driver: Driver, kind: str, folder: Path) -> Iterator[tuple[int, str, str, Place]]:
    """Each moment of the scenario's clean run with a place of its own: number, before or after, what it is called."""
    asked = clean_run(scenario, driver, Place(kind, folder, "clean"))
    for (number, question), moment in product(enumerate(asked), ("before", "after")):
        yield number, moment, f"{moment} question {number}, {question.__name__}", Place(kind, folder, f"{number}-{moment}")


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.name)
def test_a_runner_that_dies_anywhere_is_followed_by_one_that_finishes(
    scenario: Scenario, driver: Driver, kind: str, tmp_path: Path
) -> None:
    """Whatever the moment: requests stay valid, effects happen once, nothing acknowledged is lost, the end is whole."""
    for number, moment, name, place in moments(scenario, driver, kind, tmp_path):
        try:
            dies_and_is_followed(scenario, driver, place, number, moment)
        except BaseException as error:
            error.add_note(f"died {name}")
            raise
        finally:
            place.close()


def dies_and_is_followed(scenario: Scenario, driver: Driver, place: Place, number: int, moment: str) -> None:
    acknowledged: list[Acknowledged] = []
    world = place.world()
    mortal = Mortal(place.open(), acknowledged)
    story = Story(scenario, mortal, world, driver)

    def strike() -> Died:
        mortal.die()
        return Died()

    doom = Doom(world, number, moment, strike)
    with pytest.raises((Died, Dead)):
        story.finish(doom)
    assert doom.has_struck

    store = place.open()
    free(store)
    after = Story(scenario, Mortal(store, acknowledged), world, driver, story.requests)
    assert_sendable_now(after.session())
    after.finish()
    check_end(after)
    check_acknowledged(store, acknowledged)


def kinds() -> set[str]:
    """The name of every kind of question."""
    found: set[str] = set()
    waiting = list(Ask.__subclasses__())
    while waiting:
        one = waiting.pop()
        found.add(one.__name__)
        waiting += one.__subclasses__()
    return found


def test_every_kind_of_question_is_asked_by_some_scenario(tmp_path: Path) -> None:
    """A kind of question that no scenario asks would never be crashed at."""
    asked = {
        question.__name__
        for n, scenario in enumerate(SCENARIOS.values())
        for question in clean_run(scenario, "sync", Place("memory", tmp_path, str(n)))
    }
    assert kinds() - asked == set()


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.name)
def test_a_clean_run_asks_the_same_questions_every_time(scenario: Scenario, driver: Driver, tmp_path: Path) -> None:
    """Otherwise the number of a question would not name a moment."""
    first, second = (clean_run(scenario, driver, Place("memory", tmp_path, str(n))) for n in range(2))
    assert first == second


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.name)
def test_a_runner_that_is_stopped_anywhere_leaves_a_free_session(
    scenario: Scenario, driver: Driver, tmp_path: Path
) -> None:
    """Ctrl-C at any moment, the store being well: the claim is given back at once, and nothing is recorded twice."""
    for number, moment, name, place in moments(scenario, driver, "memory", tmp_path):
        try:
            is_stopped_and_followed(scenario, driver, place, number, moment)
        except BaseException as error:
            error.add_note(f"stopped {name}")
            raise


def is_stopped_and_followed(scenario: Scenario, driver: Driver, place: Place, number: int, moment: str) -> None:
    world = place.world()
    store = place.open()
    story = Story(scenario, store, world, driver)
    doom = Doom(world, number, moment, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        story.finish(doom)
    info = store.info(ID)
    assert info is not None
    assert info.claim is None or info.claim.owner == "somebody else"
    free(store)
    assert_sendable_now(story.session())
    after = Story(scenario, store, world, driver, story.requests)
    after.finish()
    check_end(after)
