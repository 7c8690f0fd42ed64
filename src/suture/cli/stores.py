"""Opening what is there: a command that looks or decides never makes a store or a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import click

from suture.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from suture import Session, Store

_SQLITE = "sqlite:///"

in_store = click.option(
    "--store",
    "url",
    required=True,
    metavar="URL",
    envvar="SUTURE_STORE",
    show_envvar=True,
    help="Where the sessions are, such as sqlite:///agent.db.",
)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The store at a URL.

    Raises:
        StoreError: there is none.
    """
    import suture

    require_shared(url)
    if url.startswith(_SQLITE) and not _is_there(unquote(url[len(_SQLITE) :])):
        raise StoreError(
            f"There is no store at {url!r}: the file does not exist. Check the path; a first run makes the file."
        )
    store = suture.open_store(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def session_at(url: str, id: str) -> Iterator[Session]:
    """The session of that id.

    Raises:
        SessionNotFound: the store has none.
    """
    import suture

    with opened(url) as store:
        session = suture.Session(store, id)
        session.info()
        yield session


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return False


def require_shared(url: str) -> None:
    """Refuse a store that no other process can see."""
    if url.partition(":")[0] == "memory":
        raise ConfigurationError(
            f"{url!r} lives in one process, so this command cannot see what is in it. Name a file, such as sqlite:///agent.db."
        )
