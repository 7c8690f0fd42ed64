"""Folders and child processes for the loop tests."""

from __future__ import annotations

import faulthandler
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.loop.children import Child
from tests.loop.worker import Orders

# No test takes this long, in seconds; one that hangs ends its process, and says where it hung.
LONGEST = 180
SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test waits for ever."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the machine has one: there a sync costs nothing. Good for whatever outlives processes."""
    if not os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="suture-", dir=SHARED_MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def child() -> Iterator[Callable[[Orders], Child]]:
    """Starts a child under orders; whatever becomes of the test, it ends with it."""
    children: list[Child] = []

    def start(orders: Orders) -> Child:
        children.append(Child(orders))
        return children[-1]

    yield start
    for each in children:
        each.end()
