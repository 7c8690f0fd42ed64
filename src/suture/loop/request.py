"""What a model is asked."""

from __future__ import annotations

from dataclasses import dataclass

from suture.formats.base import Offer
from suture.healing import Healed, fit
from suture.messages import Message, Origin, System
from suture.tools import Tool


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `messages` is valid for every provider: each turn is followed by its results. `refused_by` are
    rules by which whoever is asked has refused them before.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[Tool, ...] = ()
    refused_by: frozenset[str] = frozenset()

    def fitted(self, format: str, model: str | None = None, reader: Origin | None = None) -> Healed:
        """The request as that provider, model or dialect takes it: `history` is a dict of `messages` and, where there
        are any, `system` and `tools`; `changes` is what had to be left out of the conversation. `reader` is who will be
        asked, and gets the reasoning back that it made itself.
        """
        system = (System.of(self.system),) if self.system else ()
        offers = [Offer(tool.name, tool.description, tool.parameters) for tool in self.tools]
        return fit((*system, *self.messages), format, model, reader, self.refused_by, offers)

    def wire(self, format: str) -> object:
        """The request as that provider would receive it, such as {"messages": [...]}."""
        return self.fitted(format).history
