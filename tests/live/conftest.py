"""The model's server for the live tests, which are collected only where SUTURE_LIVE is set, as `make live-local` does."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import suture
from suture.stores import Store
from tests.live.children import Child, Server

collect_ignore_glob = [] if os.environ.get("SUTURE_LIVE") else ["test_*.py"]

# No test takes this long, in seconds; one that hangs ends its process, and says where it hung.
LONGEST = 180


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test waits for ever."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests, which wait for each other's answers."""
    serving = Server()
    yield serving
    serving.end()


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Starts a child: its class and what that takes. Whatever becomes of the test, it ends with it."""
    children: list[Child] = []

    def start(kind: Callable[..., Child], *arguments: str) -> Child:
        children.append(kind(*arguments))
        return children[-1]

    yield start
    for each in children:
        each.end()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    opened = suture.open_store(f"sqlite:///{database}")
    yield opened
    opened.close()
