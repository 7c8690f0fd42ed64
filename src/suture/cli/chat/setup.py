"""What a chat was started with: its model, store, session and tools, and the commands that lead back to it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suture.cli.stores import given_key, shown
from suture.errors import ConfigurationError

if TYPE_CHECKING:
    from suture import Model, Session, Tool


@dataclass(frozen=True)
class Setup:
    """The options of `suture chat`."""

    model: str
    url: str
    id: str | None
    tools: tuple[str, ...]
    system: str | None
    base_url: str | None

    def open_model(self) -> Model:
        """Who answers."""
        import suture

        return suture.open_model(self.model, **({} if self.base_url is None else {"base_url": self.base_url}))

    def gather_tools(self) -> list[Tool]:
        """What the model may call."""
        from suture.cli.chat.toolbox import gathered

        return gathered(self.tools)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A handle on the conversation; the store's file is made when it is not there.

        Raises:
            ConfigurationError: the store would forget it.
        """
        import suture

        if self.url.partition(":")[0] == "memory":
            raise ConfigurationError(
                f"{self.url!r} forgets the conversation when chat ends. Name a file, such as sqlite:///agent.db."
            )
        store = suture.open_store(self.url, key=given_key())
        try:
            yield suture.Session(store, self.id)
        finally:
            store.close()

    def come_back(self, id: str) -> str:
        """The command that picks the conversation up again."""
        given = ["suture", "chat", "--model", self.model, "--store", shown(self.url), "--session", id]
        for tool in self.tools:
            given += ["--tools", tool]
        if self.system is not None:
            given += ["--system", self.system]
        if self.base_url is not None:
            given += ["--base-url", self.base_url]
        return shlex.join(given)

    def elsewhere(self, command: str, id: str, key: str, *more: str) -> str:
        """A command that acts on a call of the conversation from any process."""
        return shlex.join(["suture", command, id, key, *more, "--store", shown(self.url)])
