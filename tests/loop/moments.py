"""The moments at which a run can end: a clean run tells them, and then the scenario is ended at each of them.

The questions are those that a clean run of the scenario asked. At the one in turn the runner ends, and a new agent
finishes the story.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from suture.loop.asks import Ask, Next, Start
from suture.loop.jobs import ToolJob
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from suture.stores.sqlite.store import SqliteStore
from suture.tools import ToolContext
from tests.loop.mortal import Acknowledged, Dead, Died, Mortal, assert_stand
from tests.loop.scenarios import (
    ID,
    THIEF,
    Awaited,
    Driver,
    Gate,
    Ledger,
    ModelOf,
    Scenario,
    Story,
    World,
    assert_sendable,
    check_end,
    free,
    model_of,
    nothing,
)

DRIVERS: tuple[Driver, ...] = ("sync", "async")
STORES = ("memory", "sqlite")

# Questions whose answer changes nothing outside of the run.
QUIET = frozenset(("Draw", "Gate", "Look", "NewId", "NewMessageId", "Now", "Prepare", "Recheck"))

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


def clean_run(story: Story, place: Place) -> list[Moment]:
    """The moments of the story when nothing goes wrong."""
    recording = Recording(world_of(story))
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


def each_moment(
    scenario: Scenario,
    driver: Driver,
    kind: str,
    folder: Path,
    end: End,
    *,
    modelled: ModelOf = model_of,
    awaited: Awaited = asyncio.run,
    judged: Callable[[], object] = nothing,
    quiet: bool = False,
) -> None:
    """End the scenario at each moment of its clean run, every time in a place of its own, and go on; then call `judged`.

    `modelled` makes the models that are asked; `awaited` carries async runs to their end; `quiet`: also at
    the moments at which nothing outside has changed since the one before.
    """

    def story_in(place: Place, store: Store) -> Story:
        return Story(scenario, store, place.world(), driver, modelled=modelled, awaited=awaited)

    clean = Place(kind, folder / "clean")
    for number, moment in enumerate(clean_run(story_in(clean, clean.open()), clean)):
        if not quiet and number and (moment.kind in QUIET or moment.when == "before"):
            continue
        place = Place(kind, folder / str(number))
        acknowledged: list[Acknowledged] = []
        story = story_in(place, Mortal(place.open(), acknowledged.append))
        try:
            end(story, place, number, moment)
            assert_sendable(story.session())
            story.finish()
            check_end(story)
            assert_stand(story.session().entries(), acknowledged)
            judged()
        except BaseException as error:
            error.add_note(f"ended {moment.when} {moment.kind}, moment {number}")
            raise
        finally:
            place.end()


def dies(story: Story, place: Place, number: int, moment: Moment) -> None:
    """The runner dies, and whatever it still tries fails; then its store is opened anew."""
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


def is_stopped(story: Story, place: Place, number: int, moment: Moment) -> None:  # noqa: ARG001
    """Ctrl-C, the store being well."""
    doom = Doom(world_of(story), number, moment, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        story.finish(doom)
    doom.check()
    info = story.store.info(ID)
    assert info is not None
    assert info.claim is None or info.claim.owner == THIEF
    free(story.store)
