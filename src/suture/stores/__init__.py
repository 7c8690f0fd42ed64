"""Stores: the words a store speaks, and `open_store`, which finds one by URL.

memory:               this process only
sqlite:///agent.db    a file; `sqlite:////var/agent.db` with an absolute path
jsonl:///sessions     a directory, with a file per session that a person can read
postgresql://...      a PostgreSQL database, for many machines; any URL that libpq reads
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import unquote

from suture.entries import Draft, Entry
from suture.errors import ConfigurationError
from suture.stores.base import Claim, SessionInfo, Status, Store
from suture.stores.given import without_password

if TYPE_CHECKING:
    from suture.stores.encrypted import EncryptedStore
    from suture.stores.jsonl.store import JsonlStore
    from suture.stores.memory import MemoryStore
    from suture.stores.postgres.store import PostgresStore
    from suture.stores.sqlite.store import SqliteStore

__all__ = [
    "Claim",
    "Draft",
    "EncryptedStore",
    "Entry",
    "JsonlStore",
    "MemoryStore",
    "PostgresStore",
    "SessionInfo",
    "SqliteStore",
    "Status",
    "Store",
    "open_store",
    "without_password",
]

_CLASSES = {
    "EncryptedStore": "suture.stores.encrypted",
    "JsonlStore": "suture.stores.jsonl.store",
    "MemoryStore": "suture.stores.memory",
    "PostgresStore": "suture.stores.postgres.store",
    "SqliteStore": "suture.stores.sqlite.store",
}

_KNOWN = "memory:, sqlite:///file, jsonl:///dir and postgresql://..."


def open_store(url: str, *, key: bytes | None = None) -> Store:
    """The store at a URL; a file is made when it is not there.

    Under a `key` (16 bytes at least) what is written is chained and sealed by HMAC. Each entry that a session or a run
    reads is held to that first, and each write and claim to the seal of the log's end; where either does not hold they
    raise `Corrupt`, and nothing is used. `verify` says what was done, and looks at all of a log. The store itself (`read`,
    `sessions`) hands out what it has. Sessions that were begun under another key or none are only read, unchecked.

    Raises:
        ConfigurationError: the URL is none that suture knows, and the message lists those; or the key is too short.
        StoreError: the store cannot be opened.
    """
    if not isinstance(url, str):
        raise ConfigurationError(f"The URL of a store is a text such as 'sqlite:///agent.db', not {url!r:.80}.")
    scheme, colon, rest = url.partition(":")
    if not colon or "/" in scheme:
        raise ConfigurationError(f"{url!r} is a path and no URL. For a SQLite file say 'sqlite:///{url}'.")
    if scheme == "memory" and rest.strip("/") == "":
        return _opener("MemoryStore")(key=key)
    if scheme == "sqlite":
        return _opener("SqliteStore")(_path_of(url, scheme, rest), key=key)
    if scheme == "jsonl":
        return _opener("JsonlStore")(_path_of(url, scheme, rest), key=key)
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        return _opener("PostgresStore")(url, key=key)
    raise ConfigurationError(f"{without_password(url)!r} is no store that suture knows. Known are {_KNOWN}.")


def _path_of(url: str, scheme: str, rest: str) -> str:
    if not rest.startswith("///") or len(rest) < 4:
        raise ConfigurationError(
            f"{url!r} names no path. Say '{scheme}:///<path>', with four slashes for an absolute path."
        )
    if rest == "///:memory:":
        raise ConfigurationError(f"{url!r}: a store without a file is 'memory:'.")
    if "?" in rest or "#" in rest:
        raise ConfigurationError(f"{url!r}: a store's URL takes no options. Write a '?' of the path as %3F, a '#' as %23.")
    return unquote(rest[3:])


def _opener(name: str) -> Callable[..., Store]:
    found: Callable[..., Store] = getattr(import_module(_CLASSES[name]), name)
    return found


def __getattr__(name: str) -> Callable[..., Store]:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _opener(name)
