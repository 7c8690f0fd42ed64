"""The JSONL store keeps the contract, and what files that people and crashes get at need beside it."""

from __future__ import annotations

from pathlib import Path

from suture.stores import JsonlStore, Store
from suture.testing.concurrent import ConcurrentStoreContract
from suture.testing.stores import StoreContract


class TestJsonlStore(StoreContract):
    def open(self, tmp_path: Path) -> Store:
        return JsonlStore(tmp_path / "sessions")


class TestJsonlStoreUnderAKey(StoreContract):
    def open(self, tmp_path: Path) -> Store:
        return JsonlStore(tmp_path / "sessions", key=b"of sixteen bytes")


class TestJsonlProcesses(ConcurrentStoreContract):
    def address(self, place: Path) -> str:
        return f"jsonl:///{place}/sessions"
