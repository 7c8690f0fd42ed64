"""What tests in several folders share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import some_server

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started for this process with the first test that asks for it."""
    with some_server() as url:
        yield url


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
