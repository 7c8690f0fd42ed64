"""Opening what is there: a command that looks or decides never makes a store or a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

import click

from suture.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from suture import Session, Store

F = TypeVar("F", bound=Callable[..., object])

_ON_DISK = "sqlite:///", "jsonl:///"
_POSTGRES = "postgresql://", "postgres://"
_KEY = "suture.key"


def _keep_key(context: click.Context, _option: click.Parameter, file: str | None) -> None:
    context.meta[_KEY] = file


under_key = click.option(
    "--key-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    envvar="SUTURE_KEY_FILE",
    show_envvar=True,
    expose_value=False,
    callback=_keep_key,
    help="Holds the key of the store; or SUTURE_KEY does.",
)


def in_store(command: F) -> F:
    """The options that say where the sessions are."""
    at = click.option(
        "--store",
        "url",
        required=True,
        metavar="URL",
        envvar="SUTURE_STORE",
        show_envvar=True,
        help="Where the sessions are, such as sqlite:///agent.db or postgresql://me@host/agents.",
    )
    return at(under_key(command))


def given_key() -> bytes | None:
    """The key that the command was given. A text is a key without the end of its line; random bytes are one whole, also
    when the last of them looks like such an end. A key is never an argument itself, since every process sees those.

    Raises:
        StoreError: the file cannot be read.
    """
    file = click.get_current_context().meta.get(_KEY)
    if file is None:
        text = os.environ.get("SUTURE_KEY")
        return os.fsencode(text) if text else None
    try:
        held = Path(file).read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: the key cannot be read: {error.strerror}.") from error
    return held.rstrip(b"\r\n") if held.isascii() else held


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The store at a URL.

    Raises:
        StoreError: there is none.
    """
    import suture

    require_shared(url)
    _require_there(url)
    store = suture.open_store(url, key=given_key())
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


def _require_there(url: str) -> None:
    """Refuse a URL at which no store was made yet."""
    path = next((url.removeprefix(start) for start in _ON_DISK if url.startswith(start)), None)
    if path is not None and not _is_there(unquote(path)):
        raise StoreError(f"There is no store at {url!r}: nothing is there. Check the path; a first run makes it.")
    if url.startswith(_POSTGRES):
        from suture.stores import PostgresStore

        if not PostgresStore.exists(url):
            raise StoreError(
                f"There is no store at {shown(url)!r}: the database has no such tables. "
                "Check its name and the schema; a first run makes them."
            )


def shown(url: str) -> str:
    """The URL without its password."""
    from suture.stores import without_password

    return without_password(url)


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
