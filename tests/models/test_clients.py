"""Connections belong to event loops: they are opened where they are used, and closed when nobody uses them."""

from __future__ import annotations

import asyncio

import pytest

import suture
from suture.models.clients import Clients


class Client:
    """Remembers where it was closed."""

    def __init__(self) -> None:
        self.closed_on: asyncio.AbstractEventLoop | None = None

    async def close(self) -> None:
        self.closed_on = asyncio.get_running_loop()


def test_an_event_loop_that_ends_closes_its_client() -> None:
    """Each loop has one of its own, closed on that loop when it ends, and a loop that is over keeps nothing."""
    clients = Clients(Client, "m")

    async def use() -> tuple[Client, asyncio.AbstractEventLoop]:
        assert await clients.here() is await clients.here()
        return await clients.here(), asyncio.get_running_loop()

    (first, loop), (second, other) = asyncio.run(use()), asyncio.run(use())
    assert (first.closed_on, second.closed_on) == (loop, other)
    assert first is not second


def test_a_client_is_closed_by_hand_and_opened_again() -> None:
    """From plain code for the loop of plain agents, on the loop itself in async code; what comes next opens anew."""
    clients = Clients(Client, "m")

    async def close_here() -> Client:
        client = await clients.here()
        await clients.aclose()
        assert client.closed_on is asyncio.get_running_loop()
        assert await clients.here() is not client
        await asyncio.to_thread(clients.close)
        return client

    asyncio.run(close_here())


def test_a_client_that_cannot_be_made_says_so() -> None:
    """Whatever the SDK raises is a mistake in the configuration, and names the model."""

    def fail() -> Client:
        raise ImportError("no SOCKS here")

    clients = Clients(fail, "openai:m")
    with pytest.raises(suture.ConfigurationError, match="openai:m cannot be set up: no SOCKS here"):
        asyncio.run(clients.here())
