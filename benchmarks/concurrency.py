"""The contract of stores that several processes use, with counts that take minutes: `make concurrency`.

Eight processes append a thousand batches each to one session, and to one of their own each; a thousand heads and a
thousand claims are raced for; two hundred processes are killed in the middle of what they do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from suture.testing import ConcurrentStoreContract


class Races(ConcurrentStoreContract):
    openers, openings = 8, 50
    writers, appends = 8, 1000
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


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--durations=20", *sys.argv[1:]]))
