"""Who is told of each message that comes into a session through its handle."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from suture.errors import ConfigurationError
from suture.messages import Message

Listener: TypeAlias = Callable[[Message], object]


class Listeners:
    """Callbacks in order of registration. What one raises goes to whoever recorded the message, and ends the telling."""

    def __init__(self) -> None:
        self._callbacks: list[Listener] = []

    def add(self, callback: Listener) -> None:
        """Tell that one, too.

        Raises:
            ConfigurationError: it cannot be called.
        """
        if not callable(callback):
            raise ConfigurationError(f"on_message takes a function that is called with each message, not {callback!r:.80}.")
        self._callbacks.append(callback)

    def tell(self, message: Message) -> None:
        """Call each with the message.

        Raises:
            ConfigurationError: a callback is async, and nobody is there to await it.
        """
        for callback in tuple(self._callbacks):
            answer = callback(message)
            if inspect.isawaitable(answer):
                if inspect.iscoroutine(answer):
                    answer.close()
                raise ConfigurationError(
                    f"The callback {callback!r:.80} is async, and plain code cannot await it. Use AsyncSession and "
                    "AsyncAgent."
                )

    async def tell_async(self, message: Message) -> None:
        """Call each with the message, and await what is to be awaited."""
        for callback in tuple(self._callbacks):
            answer = callback(message)
            if isinstance(answer, Awaitable):
                await answer
