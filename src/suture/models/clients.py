"""An SDK's client for each event loop, since a connection belongs to the loop that opened it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Generic, Protocol, TypeVar

from suture.errors import ConfigurationError


class Closable(Protocol):
    """A client of an SDK."""

    async def close(self) -> None:
        """Close its connections."""


# How long a close may take, in seconds.
_PATIENCE = 5.0

C = TypeVar("C", bound=Closable)


class Clients(Generic[C]):
    """Clients by event loop. Each is closed when its loop shuts its generators down, as `asyncio.run` does."""

    def __init__(self, make: Callable[[], C], name: str) -> None:
        self._make = make
        self._name = name
        self._by_loop: dict[asyncio.AbstractEventLoop, tuple[C, AsyncGenerator[None, None]]] = {}

    async def here(self) -> C:
        """The client of the loop that runs.

        Raises:
            ConfigurationError: it cannot be made, as with a proxy that the SDK does not speak.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            for gone in [one for one in list(self._by_loop) if one.is_closed()]:
                self._by_loop.pop(gone, None)
            try:
                client = self._make()
            except Exception as error:
                raise ConfigurationError(f"{self._name} cannot be set up: {error}") from error
            self._by_loop[loop] = client, _lifetime(client)
            # Started now, so that the loop knows of it and ends it.
            await anext(self._by_loop[loop][1])
        return self._by_loop[loop][0]

    def close(self) -> None:
        """Close every client, from outside of their event loops."""
        for loop, (_, lifetime) in list(self._by_loop.items()):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(_end(lifetime), loop).result(_PATIENCE)
            self._by_loop.pop(loop, None)

    async def aclose(self) -> None:
        """Close the client of the loop that runs."""
        _, lifetime = self._by_loop.pop(asyncio.get_running_loop(), (None, None))
        if lifetime is not None:
            await lifetime.aclose()


async def _end(lifetime: AsyncGenerator[None, None]) -> None:
    await lifetime.aclose()


class Given(Generic[C]):
    """A client that the host made, and closes."""

    def __init__(self, client: C) -> None:
        self._client = client

    async def here(self) -> C:
        """The client."""
        return self._client

    def close(self) -> None:
        """Nothing: it is the host's to close."""

    async def aclose(self) -> None:
        """Nothing, as well."""


async def _lifetime(client: Closable) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await client.close()
