"""An SDK's client for each event loop, since a connection belongs to the loop that opened it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """A client of an SDK."""

    async def close(self) -> None:
        """Close its connections."""


C = TypeVar("C", bound=Closable)


class Clients(Generic[C]):
    """Clients by event loop. Each is closed when its loop shuts its generators down, as `asyncio.run` does."""

    def __init__(self, make: Callable[[], C]) -> None:
        self._make = make
        self._by_loop: dict[asyncio.AbstractEventLoop, tuple[C, AsyncGenerator[None, None]]] = {}

    async def here(self) -> C:
        """The client of the loop that runs."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            for gone in [one for one in list(self._by_loop) if one.is_closed()]:
                self._by_loop.pop(gone, None)
            client = self._make()
            self._by_loop[loop] = client, _lifetime(client)
            # Started now, so that the loop knows of it and ends it.
            await anext(self._by_loop[loop][1])
        return self._by_loop[loop][0]


class Given(Generic[C]):
    """A client that the host made, and closes."""

    def __init__(self, client: C) -> None:
        self._client = client

    async def here(self) -> C:
        """The client."""
        return self._client


async def _lifetime(client: Closable) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await client.close()
