"""Options that every adapter takes, refused where they cannot work, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from suture.errors import ConfigurationError


def refuse_fields(extra: Mapping[str, object], own: Sequence[str]) -> None:
    """Return when none of the further fields of a request is one that the adapter sets itself."""
    for name in own:
        if name in extra:
            raise ConfigurationError(f"extra holds {name!r}, which the adapter sets itself; leave it out of `extra`.")


def require_address(url: str, name: str) -> None:
    """Return when the address, if there is one, says how and where."""
    if url and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
        raise ConfigurationError(f"base_url={url!r} for {name} is no address such as https://host/v1.")


def require_tokens(option: str, value: object, least: int, below: int | None) -> None:
    """Return when the option is a number of tokens within its bounds."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= least and (below is None or value < below)
    if not fits:
        bound = "" if below is None else f" to below max_tokens={below}"
        raise ConfigurationError(f"{option}={value!r} is no number of tokens from {least:,}{bound}.")


def require_plain(key: object, name: str) -> None:
    """Return when the key can go into a header. It is not told: a key is a secret."""
    if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable()):
        raise ConfigurationError(f"The key for {name} holds a character that no key has, such as a typographic quote.")
