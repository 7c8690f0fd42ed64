"""Folders and child processes for the loop tests."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable, Iterator

import pytest

from tests.loop.children import Child
from tests.loop.worker import Orders

# No test takes this long, in seconds; one that hangs ends its process, and says where it hung.
LONGEST = 180


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test waits for ever."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


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
