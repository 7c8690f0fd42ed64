"""Child processes for the store tests: each is ended by its pid when its test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suture.testing.processes import Child

CHILD = Path(__file__).with_name("child.py")


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Starts a child process that does one of the works in `child.py`: `child("read_only", path)`."""
    children: list[Child] = []

    def start(*words: object) -> Child:
        children.append(Child([CHILD, *words]))
        return children[-1]

    yield start
    for each in children:
        each.end()
