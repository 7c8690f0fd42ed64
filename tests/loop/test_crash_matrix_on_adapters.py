"""The crash matrix once more, the model being an adapter over the vendor's SDK that asks a provider on loopback.

The provider's own record is judged as well: what came over the wire was valid, whatever had happened before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from llmock.testing import LLMockServer

from suture.models import Model
from tests.loop.counts import ON_ADAPTERS
from tests.loop.moments import dies, each_moment
from tests.loop.scenarios import SCENARIOS, Driver
from tests.models.served import Wire, adapter_of, assert_received_valid, told


@pytest.fixture(scope="module")
def server() -> Iterator[LLMockServer]:
    """One provider for all rows."""
    with LLMockServer() as running:
        yield running


@pytest.fixture(scope="module")
def models(server: LLMockServer) -> Iterator[dict[Wire, Model]]:
    """One adapter of each kind for all rows, as a host has it."""
    with adapter_of("openai", server) as openai, adapter_of("anthropic", server) as anthropic:
        yield {"openai": openai, "anthropic": anthropic}


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all async runs, so that they share the adapter's connections."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.parametrize(("name", "wire", "driver"), ON_ADAPTERS)
def test_a_runner_that_dies_anywhere_is_followed_by_one_that_finishes(
    name: str,
    wire: Wire,
    driver: Driver,
    server: LLMockServer,
    models: dict[Wire, Model],
    runner: asyncio.Runner,
    quick_folder: Path,
) -> None:
    """Whatever the moment, what the provider received is valid, and all holds that holds with a scripted model."""

    def judged() -> None:
        assert_received_valid(server, wire)
        server.state.reset()

    server.state.reset()
    each_moment(
        SCENARIOS[name],
        driver,
        "memory",
        quick_folder,
        dies,
        modelled=told(models[wire], server),
        awaited=runner.run,
        judged=judged,
    )
