"""The SQLite store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from suture.stores import SqliteStore, Store
from suture.testing.stores import StoreContract


class TestSqliteStore(StoreContract):
    def open(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "sessions.db")
