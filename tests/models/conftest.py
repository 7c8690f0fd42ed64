"""What the tests of whole runs over the real adapters share."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest
from llmock.testing import LLMockServer

# No test takes this long, in seconds; one that hangs ends its process, and says where it hung.
LONGEST = 180


@pytest.fixture
def bounded() -> Iterator[None]:
    """The test does not wait for ever."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    """One provider for all tests of a module."""
    with LLMockServer() as running:
        yield running


@pytest.fixture
def server(running: LLMockServer, bounded: None) -> Iterator[LLMockServer]:  # noqa: ARG001  a fixture that uses another
    """The provider, with nothing to serve and nothing on record."""
    running.state.reset()
    yield running
    running.state.reset()
