"""Connections to a PostgreSQL server: a pool that outlives restarts of the server and forks of this process.

What is done with a connection that is lost in the middle is done again with another one, so all work given to `Server.do`
has to be such that doing it twice is doing it once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import Identifier
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

import suture.stores.at_fork as at_fork
from suture.errors import ConfigurationError, Corrupt, StoreError
from suture.stores.shield import let_in, pause, shielded

T = TypeVar("T")
Db: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_inherited: list[object] = []

_PAUSE = 0.05
_SLICE = 0.25
_IDLE_IN_TRANSACTION = 10.0

# What a lost network looks like: without these a dead peer is waited for as long as TCP likes.
_DEFAULTS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "fallback_application_name": "suture",
}

# A server whose default lets a commit return before it is on disk is told otherwise.
_SETTINGS: Final = """
    SELECT set_config('search_path', %(path)s, false),
        set_config('lock_timeout', %(lock)s, false),
        set_config('idle_in_transaction_session_timeout', %(idle)s, false),
        set_config('default_transaction_isolation', 'read committed', false),
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END"""


class Server:
    """The server at a libpq URL, whose `schema` is looked at first. At most `connections` are open at once.
    `after_fork` is called in a forked child.

    A server that is away, a lock and a free connection are waited for, `timeout` seconds at most.

    Raises:
        ConfigurationError: the URL cannot be read.
    """

    def __init__(self, url: str, schema: str, timeout: float, connections: int, after_fork: Callable[[], None]) -> None:
        self._words = {**_DEFAULTS, **_parsed(url)}
        self.name = _name(self._words)
        self._path = f"{Identifier(schema).as_string()}, pg_temp"
        self._timeout = timeout
        self._connections = connections
        self._after_fork = after_fork
        self._pool = self._new_pool()
        with at_fork.registering(self):
            pass

    def _new_pool(self) -> ConnectionPool[Db]:
        # It opens nothing before the first use, and gives up at once: whoever waits asks again.
        return ConnectionPool(
            kwargs={**self._words, "autocommit": True},
            min_size=0,
            max_size=self._connections,
            configure=self._configure,
            reconnect_timeout=0,
            open=False,
        )

    def _configure(self, db: Db) -> None:
        lock, idle = (f"{max(round(seconds * 1000), 1)}ms" for seconds in (self._timeout, _IDLE_IN_TRANSACTION))
        db.execute(_SETTINGS, {"path": self._path, "lock": lock, "idle": idle})

    def connect(self) -> Db:
        """A connection of its own, which the caller closes.

        Raises:
            psycopg.Error: there is none to be had.
        """
        db = psycopg.connect(**self._words, autocommit=True)
        try:
            self._configure(db)
        except BaseException:
            db.close()
            raise
        return db

    def open(self, work: Callable[[Db], T]) -> T:
        """Do the work with a first connection; return its answer.

        A server that starts or stops is waited for, one that is away is not.

        Raises:
            StoreError: there is no connection, or what the server refused.
        """
        return shielded(lambda: self._open(work))

    def _open(self, work: Callable[[Db], T]) -> T:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                with closing(self.connect()) as db:
                    answer = work(db)
                self._pool.open()
                return answer
            except psycopg.Error as error:
                if time.monotonic() > deadline or not any(sign in str(error) for sign in _PASSING):
                    raise self._in_words(error) from error
            pause(_PAUSE)

    def do(self, work: Callable[[Db], T], undo: Callable[[T], object] | None = None) -> T:
        """Do the work with a connection that it has for itself, again when that is lost; return its answer.

        `undo` is called with the answer when an interrupt keeps it from the caller.

        Raises:
            StoreError: what the server refused, in words, with its error as the cause.
        """
        return shielded(lambda: self._do(work), undo)

    def _do(self, work: Callable[[Db], T]) -> T:
        deadline = time.monotonic() + self._timeout
        while True:
            pool = self._pool
            db = self._borrow(pool, deadline)
            try:
                return work(db)
            except psycopg.Error as error:
                if not (db.closed or isinstance(error, _AGAIN)) or time.monotonic() > deadline:
                    raise self._in_words(error) from error
                is_lost = db.closed
            finally:
                pool.putconn(db)
            if is_lost:
                # What ended this one has most likely ended the others.
                pool.check()
            pause(_PAUSE)

    def _borrow(self, pool: ConnectionPool[Db], deadline: float) -> Db:
        while True:
            try:
                return pool.getconn(_SLICE)
            except PoolClosed as error:
                raise StoreError(f"{self.name}: this store was closed. Open it again with open_store.") from error
            except PoolTimeout as error:
                if time.monotonic() > deadline:
                    raise self._why_none() from error
            let_in()

    def _why_none(self) -> StoreError:
        try:
            self.connect().close()
        except psycopg.Error as error:
            return self._in_words(error)
        return StoreError(
            f"{self.name}: all {self._connections} connections of this store were in use for {self._timeout:g} s. "
            "Open it with a larger connections=..., or let fewer threads use it."
        )

    def close(self) -> None:
        """Close the connections; one that is in use closes when it is given back. A repeat does nothing."""
        shielded(self._pool.close)

    # Forks ------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Nothing: what is on goes on in the parent, over connections that the child does not touch."""

    def after_fork_in_parent(self) -> None:
        """Nothing."""

    def after_fork_in_child(self) -> None:
        """Begin with a new pool. The old one is kept for ever: its connections are the parent's, who uses them on."""
        was_closed = self._pool.closed
        _inherited.append(self._pool)
        self._pool = self._new_pool()
        if not was_closed:
            self._pool.open()
        self._after_fork()

    # Errors -----------------------------------------------------------------------------------

    def _in_words(self, error: psycopg.Error) -> StoreError:
        """The error that says what the server refused and what to do next."""
        said = " ".join(str(error).split())
        text = _cause(error.sqlstate, said)
        kind = Corrupt if text is _DAMAGED else StoreError
        return kind(f"{self.name}: {text.format(seconds=self._timeout)} ({said})")


# URLs -----------------------------------------------------------------------------------------


def _parsed(url: str) -> dict[str, Any]:
    # Neither what psycopg says of it nor what it takes for a port or a database is shown: it may be of the password.
    path = url.partition("?")[0].partition("//")[2].partition("/")[2]
    with suppress(psycopg.Error):
        words = conninfo_to_dict(url)
        if (
            "@" not in path
            and "@" not in str(words.get("host", ""))
            and str(words.get("port", "")).replace(",", "").isdecimal() is ("port" in words)
        ):
            return words
    raise ConfigurationError(
        "The URL of the PostgreSQL store cannot be read. Say postgresql://user:password@host:port/database, with every "
        "special character of the user and the password written as %XX (an @ as %40, a / as %2F)."
    )


def schema_of(url: str) -> tuple[str, str]:
    """The URL without its `schema`, and that; `suture` when it names none."""
    base, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    named = [option.partition("=")[2] for option in options if option.startswith("schema=")]
    rest = "&".join(option for option in options if not option.startswith("schema="))
    return f"{base}?{rest}" if rest else base, (unquote(named[-1]) if named else "") or "suture"


def _name(words: dict[str, Any]) -> str:
    """The server and the database as a URL, without the password."""
    user = f"{words['user']}@" if words.get("user") else ""
    host, port, database = (words.get(key) or "" for key in ("host", "port", "dbname"))
    if host.startswith("/"):
        return f"postgresql://{user}/{database}?host={host}"
    return f"postgresql://{user}{host}{f':{port}' if port else ''}/{database}"


# Errors ---------------------------------------------------------------------------------------

_AGAIN = psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected
_PASSING = "starting up", "shutting down", "in recovery mode", "not yet accepting"
_AWAY = "the server cannot be reached. Check that it runs, and that host and port are right."
_NO_ROOM = "the server has no connection left. Raise its max_connections, or open fewer."
_GONE = "the tables of this store are gone. Restore them, or open the URL anew to make new ones."
_DAMAGED = "the server finds its data damaged. Look into its log, and restore a backup."

# A connection that is refused comes without a SQLSTATE, so it is told by the server's words.
_REFUSALS: Final = (
    ("password authentication failed", "the server refuses the password. Check the user and the password."),
    ("no password supplied", "the server asks for a password. Put it in the URL, PGPASSWORD or ~/.pgpass."),
    ("pg_hba.conf", "the server does not let this user in from here. Allow it in its pg_hba.conf."),
    ("too many clients", _NO_ROOM),
    ("connection slots", _NO_ROOM),
    ("too many connections", _NO_ROOM),
    ('FATAL: role "', "the server does not know the user. Check the user, or create it."),
    ('FATAL: database "', "there is no such database. Create it, or check its name."),
)

# By SQLSTATE, or its beginning.
_STATES: Final = (
    ("53300", _NO_ROOM),
    ("53100", "the server's disk is full, so nothing was written. Free some space, then try again."),
    ("53", "the server lacks resources, so nothing was changed. Look into its log, then try again."),
    ("25006", "only reading is possible here. Name the primary server, or a user who may write."),
    ("42501", "the user may not do this. Grant it the right, or name another user."),
    ("42P01", _GONE),
    ("3F000", _GONE),
    ("55P03", "another process kept the session locked for {seconds:g} s. Look into pg_locks for who it is."),
    ("57014", "the server cancelled the statement, so nothing was changed. Try again."),
    ("54", "an id or a mark is longer than PostgreSQL can index, so nothing was written. Choose a shorter one."),
    ("57P", "the server is being stopped. Start it, then try again."),
    ("08", _AWAY),
    ("XX001", _DAMAGED),
    ("XX002", _DAMAGED),
    ("58", "the server's disk failed, so nothing was changed. Check it, then try again."),
    ("", "the server refused, so nothing was changed; the reason stands in brackets."),
)


def _cause(state: str | None, said: str) -> str:
    if state is None:
        return next((text for sign, text in _REFUSALS if sign in said), _AWAY)
    return next(text for sign, text in _STATES if state.startswith(sign))
