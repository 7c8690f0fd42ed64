"""What the tests of a store stand on: handles on it, drafts for it, owners of claims, threads that begin together."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from suture.stores import Draft, Entry, Store

T = TypeVar("T")

ELSEWHERE = "another-boot:1:2:3:nonce"
"""An owner on another machine: never provably dead from here."""

ODD_IDS = (
    "plain",
    "Plain",
    "PLAIN",
    "a/b",
    "a-b",
    "a_b",
    "a%2Fb",
    "",
    " ",
    ".",
    "..",
    "../up",
    "line\nbreak",
    "nul\0inside",
    "ünï😀",
    "u\u0308",
    "ü",
    "x" * 200,
    "x" * 199,
    "'; DROP TABLE sessions; --",
)
"""Session ids that a careless store mixes up, cuts short or cannot keep."""


def drafts(*ids: str, body: bytes = b"{}", opens: Sequence[str] = (), closes: Sequence[str] = ()) -> list[Draft]:
    """One draft per id, all else alike."""
    return [Draft(id, "note", "2026-01-02T03:04:05.000Z", body, tuple(opens), tuple(closes)) for id in ids]


def a_dead_owner() -> str:
    """The owner text of a process of this machine that has ended."""
    code = "from suture.stores.owner import this_owner; print(this_owner())"
    path = os.pathsep.join(part for part in sys.path if part)
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return child.stdout.strip()


def ids_of(entries: Sequence[Entry]) -> list[str]:
    """The ids of the entries, in their order."""
    return [entry.id for entry in entries]


def lease_end(store: Store, session_id: str) -> float:
    """When the lease of the claim in force runs out."""
    info = store.info(session_id)
    assert info is not None
    assert info.claim is not None
    return info.claim.expires


def at_once(work: Callable[[int], T], count: int) -> list[T]:
    """What the work returns in so many threads that begin together."""
    start = threading.Barrier(count)

    def begin(index: int) -> T:
        start.wait(30)
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count), timeout=120))


class Ground:
    """How the store is opened, and two handles on it; `durable` and `together` as `StoreContract` says."""

    durable = True
    together = False

    def open(self, tmp_path: Path) -> Store:
        """The store to be tested, kept below `tmp_path`. A durable one is opened there several times at once."""
        raise NotImplementedError("say in your test class how the store is opened")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An empty store."""
        store = self.open(tmp_path)
        yield store
        store.close()

    @pytest.fixture
    def other(self, store: Store, tmp_path: Path) -> Iterator[Store]:
        """A second handle on the data of `store`; the same one where nothing is durable."""
        other = self.open(tmp_path) if self.durable else store
        yield other
        other.close()
