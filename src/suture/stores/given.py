"""What somebody gives as a store: one that was opened, and nothing else; and a URL as it may be shown."""

from __future__ import annotations

import re

from suture.errors import ConfigurationError
from suture.stores.base import Store


def require_store(given: object) -> None:
    """Return when it is a store.

    Raises:
        ConfigurationError: it is something else, such as a URL that nobody has opened.
    """
    if not isinstance(given, Store):
        named = repr(without_password(given)) if isinstance(given, str) else f"{given!r:.80}"
        raise ConfigurationError(f"{named} is no store; open one with suture.open_store('sqlite:///agent.db').")


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"^(\w+:/*[^/:@]*):.*@", r"\1:...@", url)
