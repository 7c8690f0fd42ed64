"""The PostgreSQL store keeps the contract, and what a server that others use, stop and restart needs beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from suture.stores import PostgresStore, Store
from suture.testing.stores import StoreContract
from tests.postgres import with_schema


def url_of(server: str, place: Path) -> str:
    """The URL of the store of a place: a schema of its own."""
    return with_schema(server, f"t{hashlib.sha256(str(place).encode()).hexdigest()[:20]}")


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def open(self, tmp_path: Path) -> Store:
        return PostgresStore(url_of(self.server, tmp_path))


class TestPostgresStoreUnderAKey(TestPostgresStore):
    def open(self, tmp_path: Path) -> Store:
        return PostgresStore(url_of(self.server, tmp_path), key=b"a key of the store")
