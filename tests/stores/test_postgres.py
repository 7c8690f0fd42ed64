"""The PostgreSQL store keeps the contract, and what a server that others use, stop and restart needs beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from tests.postgres import Server, at_place, own_server, with_schema
from tests.stores.test_interrupts import alarm

from suture.errors import Corrupt, SessionBusy, StoreError, SutureError, WrongKey
from suture.stores import Draft, PostgresStore, Status, Store, open_store
from suture.stores.postgres.rows import INFOS, candidates
from suture.stores.postgres.server import Db, schema_of
from suture.testing import ConcurrentStoreContract
from suture.testing.stores import ELSEWHERE, StoreContract, drafts

LIMIT = 60


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def open(self, tmp_path: Path) -> Store:
        return PostgresStore(at_place(self.server, tmp_path))


class TestPostgresStoreUnderAKey(TestPostgresStore):
    def open(self, tmp_path: Path) -> Store:
        return PostgresStore(at_place(self.server, tmp_path), key=b"a key of the store")


class TestPostgresProcesses(ConcurrentStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.server = postgres

    def address(self, place: Path) -> str:
        return at_place(self.server, place)


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    return at_place(postgres, tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


@pytest.fixture
def sql(url: str) -> Iterator[Db]:
    """A connection that sees the store's tables by their names."""
    server, schema = schema_of(url)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(SQL("SET search_path = {}").format(Identifier(schema)))
        yield db


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    """A server that the tests of this file may stop, start and listen to."""
    with own_server() as server:
        yield server


def soon(holds: Callable[[], object]) -> None:
    """Return once it holds."""
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# What is made ---------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["suture_x", "Odd name", 'a"quote', "ünï", "select"])
def test_a_schema_of_any_name(postgres: str, schema: str) -> None:
    """The tables lie in the schema that the URL names, and nowhere else."""
    with closing(PostgresStore(with_schema(postgres, schema))) as store:
        assert store.append("s", drafts("1")) == 1
    with psycopg.connect(postgres, autocommit=True) as db:
        rows = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone()
        db.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema)))
    assert rows == (4,)


def test_asking_makes_nothing(url: str, sql: Db) -> None:
    """Whether there is a store can be asked without making one."""
    assert PostgresStore.exists(url) is False
    assert sql.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema_of(url)[1],)).fetchone() == (0,)
    PostgresStore(url).close()
    assert PostgresStore.exists(url) is True


def test_opening_again_changes_nothing(url: str, store: PostgresStore, sql: Db) -> None:
    """The scripts run once; a database that is up to date is only looked at."""
    store.append("s", drafts("1"))
    before = sql.execute(
        "SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(%s)", (schema_of(url)[1],)
    ).fetchall()
    with closing(PostgresStore(url)) as again:
        assert len(again.read("s")) == 1
    after = sql.execute(
        "SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(%s)", (schema_of(url)[1],)
    ).fetchall()
    assert after == before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        ("CREATE TABLE customers (id int)", "tables of another program"),
        ("CREATE TABLE about (text text)", "tables of another program"),
        (
            "CREATE TABLE about (program text, version int); INSERT INTO about VALUES ('other', 1)",
            "tables of another program",
        ),
        ("CREATE TABLE about (program text, version int); INSERT INTO about VALUES ('suture', 99)", "newer suture"),
    ],
)
def test_what_is_not_ours_is_refused_untouched(url: str, sql: Db, make: str, reason: str) -> None:
    """A schema of somebody else's is named, and nothing is made in it."""
    schema = schema_of(url)[1]
    sql.execute(f'CREATE SCHEMA "{schema}"')
    sql.execute(make)
    with pytest.raises(StoreError, match=reason) as caught:
        PostgresStore(url)
    assert schema in str(caught.value)
    assert sql.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone() == (1,)


# Connections that are refused -----------------------------------------------------------------

PASSWORD = "correct-horse"


@pytest.fixture(scope="module")
def strict(own: Server) -> Server:
    """A server that knows a user with a password, one who may connect once, and one who may only read."""
    with psycopg.connect(own.url, autocommit=True) as db:
        db.execute(f"CREATE ROLE careful LOGIN PASSWORD '{PASSWORD}'")
        db.execute("CREATE ROLE poor LOGIN")
        db.execute("CREATE ROLE single LOGIN CONNECTION LIMIT 1")
        db.execute("GRANT CREATE ON DATABASE postgres TO careful, single")
    rules = own.place / "data" / "pg_hba.conf"
    rules.write_text(f"local all careful scram-sha-256\nlocal all shut reject\n{rules.read_text()}")
    with psycopg.connect(own.url, autocommit=True) as db:
        db.execute("SELECT pg_reload_conf()")
    return own


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://careful:wrong-guess@/postgres?host={host}", "refuses the password"),
        ("postgresql://careful@/postgres?host={host}", "asks for a password"),
        ("postgresql://nobody@/postgres?host={host}", "does not know the user"),
        ("postgresql://postgres@/nowhere?host={host}", "no such database"),
        ("postgresql://shut@/postgres?host={host}", "does not let this user in"),
        ("postgresql://poor@/postgres?host={host}", "may not do this"),
        ("postgresql://a:wrong-guess@127.0.0.1:1/postgres", "cannot be reached"),
        ("postgresql://a:wrong-guess@/postgres?host=/nowhere", "cannot be reached"),
    ],
)
def test_why_there_is_no_connection(
    strict: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, words: str
) -> None:
    """The error says what is wrong, of which server, and shows no password; it comes at once."""
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    start = time.monotonic()
    soon(lambda: "careful" in (strict.place / "data" / "pg_hba.conf").read_text())
    with pytest.raises(StoreError, match=words) as caught:
        open_store(url.format(host=strict.place))
    said = "".join(traceback.format_exception(caught.value))
    assert "wrong-guess" not in said
    assert str(caught.value).startswith("postgresql://")
    assert time.monotonic() - start < LIMIT / 2


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:wrong/guess@host/database",
        "postgresql://user:wrong@guess@host/database",
        "postgresql://user:wrong-guess@host:port/database",
        "postgresql://user:wrong-guess@host/database?nonsense=1",
        "postgres:user:wrong-guess@host",
        "postgresq://user:wrong-guess@host/database",
    ],
)
def test_a_url_that_cannot_be_read(url: str) -> None:
    """The error says how one looks, and shows no password."""
    with pytest.raises(SutureError) as caught:
        open_store(url)
    said = "".join(traceback.format_exception(caught.value))
    assert "guess" not in str(caught.value)
    assert "guess" not in said
    assert "postgresql://" in str(caught.value)


def test_a_password_opens(strict: Server) -> None:
    """The password of the URL is used, and the errors of an open store do not show it either."""
    store = open_store(f"postgresql://careful:{PASSWORD}@/postgres?host={strict.place}&schema=careful")
    assert store.append("s", drafts("1")) == 1
    store.close()
    with pytest.raises(StoreError, match=r"was closed\. Open it again") as caught:
        store.read("s")
    assert PASSWORD not in str(caught.value)


def test_a_server_without_room(strict: Server) -> None:
    """When the server lets no more in, the error says so after the timeout; then all works again."""
    url = f"postgresql://single@/postgres?host={strict.place}&schema=single"
    with closing(PostgresStore(url, timeout=0.5)) as store:
        with psycopg.connect(f"postgresql://single@/postgres?host={strict.place}"):
            with pytest.raises(StoreError, match="no connection left"):
                store.read("s")
        soon(lambda: store.append("s", drafts("1")) == 1)


def test_a_store_whose_connections_are_all_in_use(url: str) -> None:
    """A thread that gets none in time is told how many there are."""
    begun, done = threading.Event(), threading.Event()

    def hold(_db: object) -> None:
        begun.set()
        done.wait(LIMIT)

    with closing(PostgresStore(url, timeout=0.3, connections=1)) as store:
        holder = threading.Thread(target=store._server.do, args=(hold,))
        holder.start()
        begun.wait(LIMIT)
        with pytest.raises(StoreError, match=r"all 1 connections of this store were in use for 0\.3 s"):
            store.read("s")
        done.set()
        holder.join(LIMIT)
        assert store.read("s") == []


def test_a_closed_store_says_so(url: str) -> None:
    """After `close` the store says what to do."""
    store = PostgresStore(url)
    store.close()
    for use in (lambda: store.append("s", drafts("1")), lambda: store.read("s"), lambda: store.news(None, 0, 1)):
        with pytest.raises(StoreError, match=r"was closed\. Open it again"):
            use()


# What the server refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("53100", "disk is full, so nothing was written. Free some space"),
        ("25006", "only reading is possible"),
        ("53200", "lacks resources"),
        ("58030", "disk failed"),
        ("XX001", "damaged"),
        ("22000", "the server refused, so nothing was changed"),
    ],
)
def test_what_the_server_refuses(store: PostgresStore, sql: Db, state: str, words: str) -> None:
    """Whatever error the server gives is said in words, with what to do; nothing was written, and the store goes on."""
    store.append("s", drafts("1"))
    sql.execute(
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING errcode = '{state}'; END $$"
    )
    sql.execute("CREATE TRIGGER refuse BEFORE INSERT ON entries EXECUTE FUNCTION refuse()")
    for name in ("s", "new"):
        with pytest.raises(StoreError, match=words) as caught:
            store.append(name, drafts("2"))
        assert isinstance(caught.value.__cause__, psycopg.Error)
    sql.execute("DROP TRIGGER refuse ON entries")
    assert store.info("new") is None
    assert store.append("s", drafts("2")) == 2


def test_a_user_who_may_only_read(url: str, store: PostgresStore) -> None:
    """Such a one reads; an append says what is missing."""
    store.append("s", drafts("1", "2"))
    with closing(PostgresStore(f"{url}&options=-c%20default_transaction_read_only%3Don")) as reader:
        assert len(reader.read("s")) == 2
        with pytest.raises(StoreError, match="only reading is possible here"):
            reader.append("s", drafts("3"))


def test_a_session_that_stays_locked(url: str, store: PostgresStore, sql: Db) -> None:
    """After the timeout the error says so; then all works again."""
    store.append("s", drafts("1"))
    with closing(PostgresStore(url, timeout=0.3)) as hasty:
        with sql.transaction():
            sql.execute("SELECT 1 FROM sessions FOR UPDATE")
            with pytest.raises(StoreError, match=r"locked for 0\.3 s"):
                hasty.append("s", drafts("2"))
        assert hasty.append("s", drafts("2")) == 2


def test_tables_that_are_gone(url: str, store: PostgresStore, sql: Db) -> None:
    """Whoever drops the tables is found out by the next use, which makes no new ones."""
    store.append("s", drafts("1"))
    sql.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema_of(url)[1])))
    for use in (lambda: store.append("s", drafts("2")), lambda: store.read("s")):
        with pytest.raises(StoreError, match="tables of this store are gone"):
            use()
    assert PostgresStore.exists(url) is False


def test_an_id_that_is_too_long_to_find_again(store: PostgresStore) -> None:
    """What PostgreSQL cannot index is refused in words."""
    noise = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(4_000))
    with pytest.raises(StoreError, match="longer than PostgreSQL can index"):
        store.append(noise, drafts("1"))
    assert store.sessions() == []


def test_a_body_that_is_no_bytes_is_refused(store: PostgresStore) -> None:
    """Nothing of a batch that holds something else is written."""
    with pytest.raises(TypeError):
        store.append("s", [*drafts("1"), Draft("2", "note", "", 5)])  # type: ignore[arg-type]
    assert store.info("s") is None


# Servers that go away -------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
def test_a_restart_is_waited_out(own: Server, how: signal.Signals) -> None:
    """Whoever appends, reads or waits for news while the server is away goes on when it is back; nothing is lost."""
    with closing(PostgresStore(with_schema(own.url, f"restart{how}"))) as store, ThreadPoolExecutor(4) as threads:
        for number in range(20):
            store.append(f"s{number % 3}", drafts(str(number)))
        waiting = threads.submit(store.news, None, 0, LIMIT)
        list(threads.map(lambda n: store.append("wide", drafts(f"wide-{n}")), range(20)))
        assert waiting.result(LIMIT)
        waiting = threads.submit(store.news, "s0", 8, LIMIT)
        own.stop(how)
        appending = [threads.submit(store.append, "s0", drafts(name)) for name in ("20", "21")]
        time.sleep(0.3)
        assert not any(each.done() for each in appending)
        own.start()
        assert sorted(each.result(LIMIT) for each in appending) == [8, 9]
        assert waiting.result(LIMIT)
        assert [len(store.read(name)) for name in ("s0", "s1", "s2", "wide")] == [9, 7, 6, 20]


def test_a_server_that_stays_away_is_named(own: Server) -> None:
    """After the timeout the error says that the server cannot be reached."""
    with closing(PostgresStore(with_schema(own.url, "away"), timeout=0.5)) as store:
        store.append("s", drafts("1"))
        own.stop()
        try:
            start = time.monotonic()
            for use in (lambda: store.append("s", drafts("2")), lambda: store.read("s")):
                with pytest.raises(StoreError, match="cannot be reached"):
                    use()
            assert time.monotonic() - start < LIMIT / 2
        finally:
            own.start()
        assert store.append("s", drafts("2")) == 2


def test_waiting_for_a_server_can_be_interrupted(own: Server) -> None:
    """Ctrl-C ends the wait for a server that is away, and the store goes on when it is back."""
    with closing(PostgresStore(with_schema(own.url, "interrupted"))) as store:
        store.append("s", drafts("1"))
        own.stop()
        try:
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt), alarm(0.5):
                store.append("s", drafts("2"))
            assert time.monotonic() - start < 15
        finally:
            own.start()
        assert store.append("s", drafts("3")) == 2


def test_a_connection_that_is_killed_in_the_middle(url: str, store: PostgresStore, sql: Db) -> None:
    """An append whose connection the server ends is made once, by another one."""
    store.append("s", drafts("1"))
    with ThreadPoolExecutor(1) as threads:
        with sql.transaction():
            sql.execute("SELECT 1 FROM sessions FOR UPDATE")
            appending = threads.submit(store.append, "s", drafts("2", "3"))
            blocked = "SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            soon(lambda: sql.execute(blocked).fetchone())
            with psycopg.connect(schema_of(url)[0], autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN "
                    "(SELECT pid FROM pg_locks WHERE NOT granted)"
                )
        assert appending.result(LIMIT) == 3
    assert [entry.id for entry in store.read("s")] == ["1", "2", "3"]


@pytest.mark.parametrize("expect", [None, 1])
@pytest.mark.parametrize("epoch", [None, 1])
@pytest.mark.parametrize("count", [1, 3])
def test_an_answer_that_is_lost_on_the_way(
    own: Server, tmp_path: Path, expect: int | None, epoch: int | None, count: int
) -> None:
    """An append that the server made, and whose answer never came, is found by its ids and not made again."""
    ids = [str(number) for number in range(2, 2 + count)]
    with Relay(own.place / ".s.PGSQL.5432") as relay:
        url = at_place(
            f"postgresql://postgres@127.0.0.1:{relay.port}/postgres?sslmode=disable&gssencmode=disable", tmp_path
        )
        with closing(PostgresStore(url)) as store:
            store.claim("s", ELSEWHERE, 300)
            store.append("s", drafts("1"))
            relay.swallow_next_answer()
            assert store.append("s", drafts(*ids), expect=expect, epoch=epoch) == 1 + count
            assert relay.has_swallowed.is_set()
            assert [entry.id for entry in store.read("s")] == ["1", *ids]
            assert store.append("s", drafts("last")) == 2 + count


class Relay:
    """Passes on what goes to a server on a socket and back, until it is told to let an answer disappear with its line."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self.has_swallowed = threading.Event()
        self._swallows = threading.Event()
        self._lines: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._let_in)]

    def __enter__(self) -> Relay:
        self._threads[0].start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LIMIT)
        for line in (self._door, *self._lines):
            line.close()

    def swallow_next_answer(self) -> None:
        self._swallows.set()

    def _let_in(self) -> None:
        with suppress(OSError):
            while True:
                client = self._door.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._lines += [client, server]
                for work in (self._ask, self._answer):
                    self._threads.append(threading.Thread(target=work, args=(client, server)))
                    self._threads[-1].start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if self._swallows.is_set():
                    self._swallows.clear()
                    self.has_swallowed.set()
                    break
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)


# What an append is ----------------------------------------------------------------------------


def test_an_append_is_one_statement(own: Server, tmp_path: Path) -> None:
    """A writer that knows where the session stands asks the server once, with or without an epoch, however long the log."""
    url = at_place(own.url, tmp_path)
    with psycopg.connect(own.url, autocommit=True) as db, closing(PostgresStore(url)) as store:
        epoch = store.claim("s", ELSEWHERE, 300).epoch
        store.append("s", drafts(*map(str, range(2_000))))
        db.execute("ALTER ROLE postgres SET log_statement = 'all'")
        try:
            with closing(PostgresStore(url)) as loud:
                loud.append("s", drafts("first"))
                before = own.log().count("execute ")
                for number in range(10):
                    loud.append("s", drafts(f"more-{number}", opens=["run:1"]), epoch=epoch if number % 2 else None)
                assert own.log().count("execute ") == before + 10
        finally:
            db.execute("ALTER ROLE postgres RESET log_statement")


def test_commits_reach_the_disk_whatever_the_server_likes(own: Server, tmp_path: Path) -> None:
    """Where commits return before they are on disk, the store's do not."""
    with psycopg.connect(own.url, autocommit=True) as db:
        db.execute("ALTER ROLE postgres SET synchronous_commit = off")
        try:
            with closing(PostgresStore(at_place(own.url, tmp_path))) as store:
                setting = store._server.do(lambda db: db.execute("SHOW synchronous_commit").fetchone())
        finally:
            db.execute("ALTER ROLE postgres RESET synchronous_commit")
    assert setting == ("on",)


def test_who_is_woken(postgres: str, store: PostgresStore) -> None:
    """Appends without an epoch and the end of a run give notice; what a runner writes meanwhile does not."""
    with psycopg.connect(postgres, autocommit=True) as listener:
        listener.execute("LISTEN suture")
        epoch = store.claim("s", ELSEWHERE, 300).epoch
        end = Draft("end", "run_finished", "", b"")
        appends: list[tuple[list[Draft], int | None]] = [
            (drafts("1"), epoch),
            (drafts("2", "3"), epoch),
            ([], epoch),
            (drafts("4"), None),
            (drafts("5", "6"), None),
            ([*drafts("7"), end], epoch),
        ]
        counts = []
        for batch, under in appends:
            store.append("s", batch, epoch=under)
            topic = store._topic("s")
            counts.append(sum(notice.payload == topic for notice in listener.notifies(timeout=0.2)))
        store.append("s", [], meta={"a": 1})
        assert counts == [0, 0, 0, 1, 1, 1]
        assert not [notice for notice in listener.notifies(timeout=0.2) if notice.payload == topic]


def test_a_runner_s_appends_are_news_too(store: PostgresStore, url: str) -> None:
    """What gives no notice is found by looking, soon."""
    epoch = store.claim("s", ELSEWHERE, 300).epoch
    with closing(PostgresStore(url)) as other, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(other.news, "s", 0, LIMIT)
        time.sleep(0.3)
        assert not waiting.done()
        start = time.monotonic()
        store.append("s", drafts("1"), epoch=epoch)
        assert waiting.result(LIMIT)
        assert time.monotonic() - start < 10


def test_leases_are_on_the_server_s_clock(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose clock is years ahead ends nobody's lease, and renews its own by the server's time."""
    claim = store.claim("s", ELSEWHERE, 300)
    monkeypatch.setattr(time, "time", lambda: claim.expires + 1e8)
    with pytest.raises(SessionBusy):
        store.claim("s", "somebody:else", 300)
    store.renew(claim, 300)
    store.append("s", drafts("1"), epoch=claim.epoch)
    info = store.info("s")
    assert info is not None
    assert info.claim is not None
    assert info.claim.expires - claim.expires < LIMIT
    assert info.status == "running"


def test_a_row_that_was_changed_behind_the_store(url: str, sql: Db) -> None:
    """Whoever moves the end of a log without the key is found by the next append, also of a writer who knew the true end."""
    with closing(PostgresStore(url, key=b"a key of the store")) as store:
        store.append("s", drafts("1"))
        first = store.read("s")[0].chain
        store.append("s", drafts("2"))
        sql.execute("DELETE FROM entries WHERE seq = 2")
        sql.execute("UPDATE sessions SET head = 1, chain = %b", (first,))
        with pytest.raises(Corrupt, match="sealed under the key"):
            store.append("s", drafts("3"))
    with closing(PostgresStore(url)) as keyless, pytest.raises(WrongKey):
        keyless.append("s", drafts("3"))


# Listings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "meta", "index"),
    [
        (None, None, "sessions_id_key"),
        ("idle", None, "sessions_by_status"),
        ("awaiting_approval", None, "sessions_by_status"),
        ("running", None, "sessions_claimed"),
        (None, {"user": "ada"}, "sessions_by_meta"),
    ],
)
def test_a_page_is_found_by_an_index(
    store: PostgresStore, sql: Db, status: Status | None, meta: dict[str, object] | None, index: str
) -> None:
    """Of twenty thousand sessions a page reads those that it shows, and hardly any others."""
    store.append("one", drafts("1", opens=["approval:1:0"]), meta={"user": "ada"})
    store.claim("two", ELSEWHERE, 300)
    sql.execute(
        "INSERT INTO sessions (id, seal, created, updated, pairs)"
        " SELECT convert_to(n::text, 'UTF8'), '', 0, 0, ARRAY[n] FROM generate_series(1, 20000) AS n"
    )
    sql.execute("VACUUM ANALYZE sessions")
    where, values = candidates(status, meta, "1")
    plan = sql.execute(f"EXPLAIN {INFOS} {where} ORDER BY id LIMIT 200", values).fetchall()
    assert index in str(plan)
    for _ in range(15):
        found = store.sessions(status=status, meta=meta, after="1")
    # A plan that the server keeps for all values would be one that reads all sessions.
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'LIMIT'"
    assert store._server.do(lambda db: db.execute(kept).fetchone()) == (0,)
    assert len(found) == (1 if index in ("sessions_by_meta", "sessions_claimed") or status == "awaiting_approval" else 100)


def test_psycopg_is_loaded_on_use_and_named_when_missing() -> None:
    """Without the extra everything else works, and opening such a store says what to install."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import suture, suture.stores\n"
        "suture.open_store('memory:')\n"
        "try: suture.open_store('postgresql://localhost/x')\n"
        "except suture.errors.MissingExtra as error: print(error)"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert "pip install 'suture[postgres]'" in done.stdout
