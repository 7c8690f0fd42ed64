"""Sessions in every state that a command line meets, in one SQLite file."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import suture
from suture.stores import Entry
from suture.testing import ScriptedModel

PROMPT = "Send the gifts.\nAll of them."
NASTY = "\x1b[31mred\x07 [bold]"


def costly(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["total"] > 500)


@suture.tool(effect="external", needs_approval=costly)
def send_gift(to: str, total: float, ctx: suture.ToolContext) -> str:
    """Send a gift."""
    if to == "slow":
        ctx.progress("on its way")
        threading.Event().wait(1)
    return f"sent {total:g} to {to}{NASTY if to == 'nasty' else ''}"


class Cut(Exception):
    """What ends a run in the middle of a handler."""


def gift(to: str, total: float, id: str = "c1") -> dict[str, object]:
    return {"id": id, "name": "send_gift", "arguments": {"to": to, "total": total}}


def play(store: suture.Store, id: str, *calls: dict[str, object]) -> None:
    """A run of one turn of calls and an answer; a slow handler is cut off."""
    model = ScriptedModel([{"text": "I send them.", "calls": calls}, {"text": "Done."}])
    agent = suture.Agent(model, suture.Session(store, id), tools=[send_gift], grace=0.01)

    def watch(event: object) -> None:
        if getattr(event, "type", "") == "tool_progress":
            raise Cut

    with contextlib.suppress(Cut):
        agent.run(PROMPT, watch=watch)


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a session that is done, one that waits for approval, one of unknown outcome, one with a steer."""
    file = tmp_path_factory.mktemp("stored") / "agent.db"
    store = suture.open_store(f"sqlite:///{file}")
    play(store, "done", gift("nasty", 10))
    play(store, "parked", gift("ann", 900), gift("bob", 9, "c2"))
    play(store, "unknown", gift("slow", 9))
    suture.Session(store, "steered").steer("Be quick.")
    store.close()
    return file


@pytest.fixture
def url(stored: Path, tmp_path: Path) -> str:
    """A copy of that store, to do with as one likes."""
    return f"sqlite:///{shutil.copy(stored, tmp_path)}"


def digest_of(url: str, session: str) -> str:
    """The digest of the first call of a session that waits."""
    store = suture.open_store(url)
    try:
        return suture.Session(store, session).open_approvals()[0].digest
    finally:
        store.close()


def entries_of(url: str, session: str) -> Sequence[Entry]:
    """All entries of a session."""
    store = suture.open_store(url)
    try:
        return suture.Session(store, session).entries()
    finally:
        store.close()


def kinds_of(url: str, session: str) -> Sequence[str]:
    """The kinds of all entries of a session."""
    return [entry.kind for entry in entries_of(url, session)]
