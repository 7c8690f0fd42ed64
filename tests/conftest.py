"""What tests in several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import some_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started for this process with the first test that asks for it."""
    with some_server() as url:
        yield url
