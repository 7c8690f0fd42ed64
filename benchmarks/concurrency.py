"""The contract of stores that several processes use, with counts that take minutes: `make concurrency`.

Eight processes append a thousand batches each to one session, to sixty-four in turn, and to one of their own each, and
erase at once; a thousand heads and a thousand claims are raced for; two hundred processes are killed in the middle of
what they do. A thousand decisions and a thousand settlements are raced for by `python -m benchmarks.races`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import at_place, some_server

from suture.testing import ConcurrentStoreContract


class Races(ConcurrentStoreContract):
    openers, openings = 8, 50
    writers, appends = 8, 1000
    sessions, rounds = 64, 50
    erasures = 25
    races = 1000
    kills = 200
    forks = 50
    limit = 600.0


class TestSqlite(Races):
    def address(self, place: Path) -> str:
        return f"sqlite:///{place}/sessions.db"


class TestJsonl(Races):
    def address(self, place: Path) -> str:
        return f"jsonl:///{place}/sessions"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a server whose commits are on disk."""
    with some_server(syncs=True) as url:
        yield url


class TestPostgres(Races):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def address(self, place: Path) -> str:
        return at_place(self.server, place)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--durations=20", *sys.argv[1:]]))
