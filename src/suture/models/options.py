"""Options that every adapter takes, refused where they cannot work, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from urllib.parse import urlsplit

from suture.canonical import require_json
from suture.errors import ConfigurationError, NotJson


def refuse_fields(extra: Mapping[str, object], own: Sequence[str]) -> None:
    """Return when the further fields of a request are JSON, and none is one that the adapter sets itself."""
    for name in own:
        if name in extra:
            raise ConfigurationError(f"extra holds {name!r}, which the adapter sets itself; leave it out of `extra`.")
    try:
        require_json(dict(extra))
    except NotJson as error:
        raise ConfigurationError(f"extra cannot be sent: {error}") from error


def require_async(client: object, kind: type) -> None:
    """Return when the client is one that can be awaited."""
    if not isinstance(client, kind):
        raise ConfigurationError(f"client is a {kind.__name__}, not a {type(client).__name__}; runs await their models.")


def require_seconds(value: object) -> None:
    """Return when the timeout is a time."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
        raise ConfigurationError(f"timeout={value!r} is no number of seconds above 0.")


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
