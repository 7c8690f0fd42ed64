"""Options that every adapter takes, refused where they cannot work, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suture.errors import ConfigurationError


def refuse_fields(extra: Mapping[str, object], own: Sequence[str]) -> None:
    """Return when none of the further fields of a request is one that the adapter sets itself."""
    for name in own:
        if name in extra:
            raise ConfigurationError(f"extra holds {name!r}, which the adapter sets itself; leave it out of `extra`.")


def require_plain(key: str | None, name: str) -> None:
    """Return when the key can go into a header. It is not told: a key is a secret."""
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"The key for {name} holds a character that no key has, such as a typographic quote.")
