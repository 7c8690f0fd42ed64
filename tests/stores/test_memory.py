"""The memory store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from suture.stores import MemoryStore, Store
from suture.testing.stores import StoreContract


class TestMemoryStore(StoreContract):
    together = True
    durable = False

    def open(self, tmp_path: Path) -> Store:  # noqa: ARG002 - it keeps nothing on disk
        return MemoryStore()


class TestMemoryStoreUnderAKey(StoreContract):
    together = True
    durable = False

    def open(self, tmp_path: Path) -> Store:  # noqa: ARG002 - it keeps nothing on disk
        return MemoryStore(key=b"of sixteen bytes")
