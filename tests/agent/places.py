"""Where a session lives whose handles are opened anew and whose runners die."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from suture.session import Session
from suture.stores import EncryptedStore, JsonlStore, SqliteStore
from suture.stores.base import Store
from suture.stores.memory import MemoryStore
from tests.conftest import SHARED_MEMORY
from tests.loop.mortal import Mortal

KINDS = ("memory", "sqlite", "jsonl", "encrypted")


class Place:
    """Where the store lives. Opened anew it holds what was written."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.memory = MemoryStore()
        quick = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="suture-", dir=quick))
        self.opened: list[Store] = []

    def open(self) -> Store:
        match self.kind:
            case "memory":
                store: Store = self.memory
            case "encrypted":
                store = EncryptedStore(self.memory, {"1": b"1" * 32})
            case "jsonl":
                store = JsonlStore(self.folder / "logs")
            case _:
                store = SqliteStore(self.folder / "log.db")
        self.opened.append(store)
        return store

    def end(self) -> None:
        for store in self.opened:
            store.close()
        shutil.rmtree(self.folder)


class Handle:
    """Somebody's handle on the session, through a store of their own that may die with them."""

    def __init__(self, place: Place, id: str) -> None:
        self.place = place
        self.id = id
        self.open()

    def open(self, id: str | None = None) -> None:
        self.id = id or self.id
        self.store = Mortal(self.place.open(), keep=lambda _: None)
        self.session = Session(self.store, self.id)
