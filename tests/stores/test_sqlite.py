"""The SQLite store keeps the contract, and what a file shared by processes needs beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from suture.errors import Conflict, SessionNotFound, StoreError
from suture.stores import Draft, SessionInfo, SqliteStore, Status, Store
from suture.stores.sqlite.schema import APPLICATION_ID, VERSIONS
from suture.testing.concurrent import ConcurrentStoreContract, require_whole
from suture.testing.stores import ELSEWHERE, StoreContract, drafts

STATEMENTS = 11


class TestSqliteStore(StoreContract):
    together = True

    def open(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "sessions.db")


class TestSqliteStoreUnderAKey(StoreContract):
    together = True

    def open(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "sessions.db", key=b"of sixteen bytes")


class TestSqliteProcesses(ConcurrentStoreContract):
    def address(self, place: Path) -> str:
        return f"sqlite:///{place}/sessions.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        yield store


# What is refused ------------------------------------------------------------------------------


def _text(path: Path) -> None:
    path.write_text("not a database\n" * 400)


def _short(path: Path) -> None:
    path.write_bytes(b"hello")


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(8192))


def _foreign(path: Path, *pragmas: str) -> None:
    with closing(apsw.Connection(str(path))) as db:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}").fetchall()
        db.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)").fetchall()


def _other_program(path: Path) -> None:
    _foreign(path, "application_id = 123")


def _foreign_wal(path: Path) -> None:
    """A database in WAL mode whose last process was killed, so that its WAL still holds what was written."""
    source = path.with_name("source.db")
    _foreign(source, "journal_mode = WAL")
    with closing(apsw.Connection(str(source))) as db:
        db.execute("INSERT INTO t VALUES (2)").fetchall()
        shutil.copy(source, path)
        shutil.copy(f"{source}-wal", f"{path}-wal")


def _newer(path: Path) -> None:
    SqliteStore(path).close()
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA user_version = 99").fetchall()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_text, "no SQLite database"),
        (_short, "no SQLite database"),
        (_zeros, "no SQLite database"),
        (_foreign, "another program"),
        (_other_program, "another program"),
        (_foreign_wal, "another program"),
        (_newer, "newer suture"),
    ],
)
def test_what_is_not_ours_is_refused_untouched(path: Path, make: Callable[[Path], None], reason: str) -> None:
    """A file of somebody else's is named, and stays byte for byte as it was, with nothing left beside it."""
    make(path)
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(StoreError, match=reason) as caught:
        SqliteStore(path)
    assert str(path) in str(caught.value)
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """The directory is not made, since a typing error would make a new empty store."""
    with pytest.raises(StoreError, match=f"{tmp_path}/no/where does not exist. Create it first"):
        SqliteStore(tmp_path / "no" / "where" / "sessions.db")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """A directory is no file."""
    with pytest.raises(StoreError, match="is a directory"):
        SqliteStore(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    """A file that holds nothing holds nothing of somebody else's."""
    path.touch()
    with closing(SqliteStore(path)) as store:
        assert store.append("s", drafts("1")) == 1


def test_a_closed_store_says_so(path: Path) -> None:
    """After `close` the store says what to do."""
    store = SqliteStore(path)
    store.close()
    for use in (lambda: store.append("s", drafts("1")), lambda: store.read("s"), lambda: store.news(None, 0, 1)):
        with pytest.raises(StoreError, match=r"was closed\. Open it again"):
            use()


# What the file is like ------------------------------------------------------------------------


def test_the_file_is_durable(store: SqliteStore, path: Path) -> None:
    """Every connection writes ahead and syncs fully, and the header says whose file it is."""
    with store._database._loan() as one, store._database._loan() as two:
        for db in (one, two):
            values = [db.execute(f"PRAGMA {name}").get for name in ("journal_mode", "synchronous", "secure_delete")]
            assert values == ["wal", 2, 1]
    store.close()
    header = path.read_bytes()[:100]
    assert (header[68:72], int.from_bytes(header[60:64], "big")) == (b"sutr", len(VERSIONS))


def _as_of(version: int, current: Path, path: Path) -> None:
    """A file of an older schema, with what a file of this one holds."""
    with closing(apsw.Connection(str(path))) as db:
        for script in VERSIONS[:version]:
            db.execute(script).fetchall()
        db.execute("ATTACH ? AS current", (str(current),)).fetchall()
        for table in ("sessions", "entries", "marks"):
            names = ", ".join(name for _, name, *_ in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM current.{table}").fetchall()
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}").fetchall()


@pytest.mark.parametrize("version", range(1, len(VERSIONS)))
def test_a_file_of_an_older_schema_is_brought_up(tmp_path: Path, version: int) -> None:
    """What it holds is there, listed by its status, and goes on: new appends, repeats of old ones, and ids that are taken."""
    current, path = tmp_path / "current.db", tmp_path / "older.db"
    with closing(SqliteStore(current)) as store:
        for id, mark in (("s", "approval:2:0"), ("t", "inbox:x")):
            store.append(id, [*drafts("1", "2"), *drafts("3", opens=[mark])], meta={"of": id})
        held = {id: (store.read(id), store.info(id)) for id in "st"}
    _as_of(version, current, path)
    for _ in range(2):
        with closing(SqliteStore(path)) as store:
            assert {id: (store.read(id), store.info(id)) for id in "st"} == held
            assert [info.id for info in store.sessions(status="awaiting_approval")] == ["s"]
            assert [info.id for info in store.sessions(status="inbox_waiting")] == ["t"]
    with closing(SqliteStore(path)) as store:
        assert store.append("s", drafts("2", "3")) == 3
        assert store.append("s", drafts("4")) == 4
        with pytest.raises(Conflict):
            store.append("s", drafts("5", "1"))
        assert store.append("t", drafts("4")) == 4


def test_the_tables_are_strict(store: SqliteStore) -> None:
    """No value of another type gets in, and entries lie in the order of their keys."""
    with store._database._loan() as db:
        tables = {name: (wr, strict) for _, name, kind, _, wr, strict in db.execute("PRAGMA table_list") if kind == "table"}
    assert {name: tables[name] for name in ("deleted", "sessions", "entries", "marks")} == {
        "deleted": (0, 1),
        "sessions": (0, 1),
        "entries": (0, 1),
        "marks": (1, 1),
    }


def test_closing_leaves_one_file(path: Path) -> None:
    """What was in the WAL is in the file when the last one closes it."""
    with closing(SqliteStore(path)) as store:
        store.append("s", drafts("1"))
    assert list(path.parent.iterdir()) == [path]


STATUSES: tuple[Status, ...] = (
    "running",
    "idle",
    "awaiting_approval",
    "unknown_outcome",
    "inbox_waiting",
    "abandoned",
)
OPEN: dict[Status, str] = {
    "running": "run:a",
    "awaiting_approval": "approval:1:0",
    "unknown_outcome": "started:1:0",
    "inbox_waiting": "inbox:a",
    "abandoned": "run:a",
}
NEW = (
    "INSERT INTO sessions (id, waits, owner, expires, epoch, meta, created, updated) VALUES (?, ?, ?, ?, 1, x'7b7d', 0, 0)"
)


def filled(store: SqliteStore, count: int, order: Callable[[int], Status]) -> None:
    """Sessions of each status, as appends and claims leave them, written at once."""

    def work(db: apsw.Connection) -> None:
        for n in range(count):
            status = order(n)
            owner, expires = (ELSEWHERE, time.time() + 900) if status == "running" else (None, 0.0)
            db.execute(NEW, (f"s{n:06}", "abandoned" if status == "running" else status, owner, expires))
            if status in OPEN:
                db.execute("INSERT INTO marks VALUES (?, ?, 1)", (db.last_insert_rowid(), OPEN[status]))

    store._database.write(work)


def steps_of(store: SqliteStore, list_them: Callable[[], object]) -> int:
    """How many steps SQLite makes for a listing."""
    counted = [0]

    def count() -> bool:
        counted[0] += 1
        return False

    with store._database._loan() as db:
        db.set_progress_handler(count, 1)
    list_them()
    with store._database._loan() as db:
        db.set_progress_handler(None)
    return counted[0]


@pytest.mark.parametrize("status", [*STATUSES, None])
@pytest.mark.parametrize("rare", [False, True], ids=["as many of each", "few of it"])
def test_a_page_costs_what_is_on_it(status: Status | None, rare: bool, tmp_path: Path) -> None:
    """For every status a page of a long list takes as many steps as one of a short list, also where few are of it.

    Those that run are found among those that would be abandoned, so of these few are passed over, as few run.
    """
    steps = []
    for count in (2_400, 24_000):
        with closing(SqliteStore(tmp_path / f"{count}.db")) as store:
            others = [one for one in STATUSES if one != status and not (status == "abandoned" and one == "running")]

            def order(n: int) -> Status:
                if rare:
                    return status if status is not None and n < 3 else others[n % len(others)]  # noqa: B023
                return STATUSES[n % len(STATUSES)]

            filled(store, count, order)
            wanted = 3 if rare and status is not None else 40
            found: list[SessionInfo] = []
            after = None if rare else "s000300"
            steps.append(steps_of(store, lambda: found.extend(store.sessions(status=status, after=after, limit=wanted))))  # noqa: B023
            assert len(found) == wanted
            assert status is None or {info.status for info in found} == {status}
    assert 0 < steps[1] < 1.5 * steps[0]


@pytest.mark.parametrize(
    ("marks", "waits"),
    [
        (["run:a", "approval:1:0"], "abandoned"),
        (["approval:1:0", "started:1:1", "inbox:a"], "awaiting_approval"),
        (["started:1:0", "settled:1:1"], "unknown_outcome"),
        (["settled:1:0"], "inbox_waiting"),
        (["decided:1:0", "boundary:3"], "inbox_waiting"),
        (["boundary:3"], "idle"),
        (["running:a", "approvals", "inbox;", "run"], "abandoned"),
        ([], "idle"),
    ],
)
def test_a_listing_follows_the_marks(store: SqliteStore, marks: list[str], waits: Status) -> None:
    """What a session waits for is listed as `info` tells it, after marks were opened and after they were closed."""
    store.append("s", drafts("1", opens=marks))
    for n, mark in enumerate([None, *marks], 2):
        if mark is not None:
            store.append("s", drafts(str(n), closes=[mark]))
        else:
            assert [info.status for info in store.sessions(status=waits)] == [waits]
        info = store.info("s")
        assert info is not None
        assert [one.id for one in store.sessions(status=info.status)] == ["s"]
        assert not [one for other in STATUSES if other != info.status for one in store.sessions(status=other)]


def test_an_append_costs_the_same_however_many_marks_are_open(store: SqliteStore) -> None:
    """It looks at one mark of each kind: as many steps of the database with 20 open ones as with 2,000."""
    steps: list[int] = []
    for id, many in (("few", 20), ("many", 2_000)):
        store.append(id, drafts("1", opens=[f"inbox:{n}" for n in range(many)]))
        steps.append(steps_of(store, lambda: store.append(id, drafts("2", closes=["inbox:1"]))))  # noqa: B023
    assert steps[1] < 1.5 * steps[0]


@pytest.mark.parametrize("size", [300, 100_000])
def test_an_erased_body_leaves_the_disk(store: SqliteStore, path: Path, size: int) -> None:
    """After an erasure the bytes stand neither in the file nor in its WAL."""
    secret = b"correct horse battery staple" + b"." * size
    store.append("s", drafts("1", body=b"x" * 300) + drafts("2", body=secret) + drafts("3", body=b"y" * 300))
    assert any(secret[:28] in file.read_bytes() for file in path.parent.iterdir())
    store.erase("s", "2")
    assert not any(secret[:28] in file.read_bytes() for file in path.parent.iterdir())
    store.append("s", drafts("4"))
    store.close()
    assert not any(secret[:28] in file.read_bytes() for file in path.parent.iterdir())


def test_a_body_that_is_no_bytes_is_refused(store: SqliteStore) -> None:
    """Nothing of a batch that holds something else is written."""
    with pytest.raises(TypeError):
        store.append("s", [*drafts("1"), Draft("2", "note", "", "text")])  # type: ignore[arg-type]
    assert store.info("s") is None


# Locks, space and permissions -----------------------------------------------------------------


def test_a_locked_database_is_waited_for(path: Path, store: SqliteStore) -> None:
    """Whoever else holds the file for a moment only delays an append."""
    with closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        later = threading.Timer(0.3, holder.execute, ["COMMIT"])
        start = time.monotonic()
        later.start()
        assert store.append("s", drafts("1")) == 1
        assert time.monotonic() - start >= 0.25
        later.join()


def test_a_database_that_stays_locked_is_named(path: Path, store: SqliteStore) -> None:
    """After the busy timeout the error names the file, the time and what to do; then all works again."""
    with closing(SqliteStore(path, busy_timeout=0.2)) as hasty, closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        for write in (
            lambda: hasty.append("s", drafts("1")),
            lambda: hasty.claim("s", "me", 30),
            lambda: hasty.delete("s"),
        ):
            start = time.monotonic()
            with pytest.raises(StoreError, match=r"locked for 0.2 s.*fuser.*busy_timeout") as caught:
                write()
            assert 0.1 < time.monotonic() - start < 10
            assert str(path) in str(caught.value)
            assert isinstance(caught.value.__cause__, apsw.BusyError)
        assert hasty.read("s") == []
        holder.execute("COMMIT")
        assert hasty.append("s", drafts("1")) == 1
    assert len(store.read("s")) == 1


def test_a_new_file_that_stays_locked_is_named(path: Path) -> None:
    """Opening waits no longer than the busy timeout either."""
    with closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"locked for 0\.2 s"):
            SqliteStore(path, busy_timeout=0.2)
    SqliteStore(path).close()


def test_threads_that_wait_together_are_refused_together(path: Path, store: SqliteStore) -> None:
    """Appends that share a failed commit all learn of it, and none was written."""
    errors: list[str] = []

    def attempt(index: int) -> None:
        try:
            hasty.append("s", drafts(str(index)))
        except StoreError as error:
            errors.append(str(error))

    with closing(SqliteStore(path, busy_timeout=0.3)) as hasty, closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=attempt, args=(index,)) for index in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        holder.execute("COMMIT")
    assert len(errors) == 6
    assert all("locked" in error for error in errors)
    assert store.read("s") == []


def test_a_full_disk_is_named(path: Path) -> None:
    """What does not fit is refused whole; what is there can be read, and what fits can be written."""

    def limit(db: apsw.Connection) -> None:
        db.execute("PRAGMA max_page_count = 40").fetchall()

    apsw.connection_hooks.append(limit)
    try:
        with closing(SqliteStore(path)) as store:
            store.append("s", drafts("1"))
            with pytest.raises(StoreError, match=r"disk is full.*Free some space") as caught:
                store.append("s", drafts("2", "3", body=b"x" * 200_000))
            assert str(path) in str(caught.value)
            assert isinstance(caught.value.__cause__, apsw.FullError)
            assert len(store.read("s")) == 1
            assert store.append("s", drafts("2")) == 2
    finally:
        apsw.connection_hooks.remove(limit)


def test_a_damaged_file_is_named(path: Path) -> None:
    """Pages that hold nonsense are reported as damage, with the file's name."""
    with closing(SqliteStore(path)) as store:
        store.append("s", drafts(*map(str, range(200)), body=b"x" * 300))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(StoreError, match="damaged") as caught, closing(SqliteStore(path)) as store:
        store.read("s")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("directory", [0o777, 0o555], ids=["directory writable", "directory read-only"])
def test_a_file_that_may_only_be_read(child: Callable[..., Any], directory: int) -> None:
    """It can be read; an append says what is missing."""
    place = Path(tempfile.mkdtemp())
    try:
        path = place / "sessions.db"
        with closing(SqliteStore(path)) as store:
            store.append("s", drafts("1", "2"))
        path.chmod(0o444)
        place.chmod(directory)
        reader = child("read_only", path)
        assert reader.hear() == "2"
        assert "only reading is possible here" in reader.hear()
        assert reader.wait() == 0
    finally:
        place.chmod(0o700)
        shutil.rmtree(place)


# A file that goes away ------------------------------------------------------------------------


def _remove(path: Path) -> None:
    for file in list(path.parent.iterdir()):
        file.unlink()


def _replace(path: Path) -> None:
    _remove(path)
    with closing(SqliteStore(path)) as newer:
        newer.append("newer", drafts("1"))


def _move_over(path: Path) -> None:
    other = path.with_name("other.db")
    SqliteStore(other).close()
    other.replace(path)


@pytest.mark.parametrize("lend", [0, 1], ids=["open connection", "new connection"])
@pytest.mark.parametrize("change", [_remove, _replace, _move_over])
def test_a_file_that_is_gone_is_named(path: Path, store: SqliteStore, change: Callable[[Path], None], lend: int) -> None:
    """Once the path names no file or another one, nothing is acknowledged, and the other file is left alone."""
    store.append("s", drafts("1"))
    with contextlib.ExitStack() as lent:
        for _ in range(lend):
            lent.enter_context(store._database._loan())
        change(path)
        for use in (
            lambda: store.append("s", drafts("2")),
            lambda: store.claim("s", "me", 30),
            lambda: store.read("s"),
            lambda: store.news(None, 0, 30),
        ):
            with pytest.raises(StoreError, match=r"removed or replaced .* nothing was written"):
                use()
    if change is _replace:
        with closing(SqliteStore(path)) as newer:
            assert newer.info("s") is None


def test_a_file_that_goes_away_inside_a_transaction(path: Path, store: SqliteStore) -> None:
    """It is looked for as late as can be, directly before the commit."""

    def work(db: apsw.Connection) -> None:
        db.execute("UPDATE deleted SET epoch = 7")
        path.rename(path.with_name("away.db"))

    with pytest.raises(StoreError, match="removed or replaced"):
        store._database.write(work)
    path.with_name("away.db").rename(path)
    assert store.claim("s", "me", 30).epoch == 1


def test_a_file_that_came_back_goes_on(path: Path, store: SqliteStore) -> None:
    """Moved away and back it is the same file."""
    store.append("s", drafts("1"))
    path.rename(path.with_name("away.db"))
    with pytest.raises(StoreError, match="removed or replaced"):
        store.append("s", drafts("2"))
    path.with_name("away.db").rename(path)
    assert store.append("s", drafts("3"), expect=1) == 2


# Kills ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [1, 2, 7])
def test_a_checkpoint_that_was_cut_off_is_made_good(path: Path, left: int) -> None:
    """A file into which only some pages of its WAL went says that it is longer than it is; it opens, with all that was."""
    wal = path.with_name(path.name + "-wal")
    store = SqliteStore(path)
    for number in range(20):
        store.append("s", [Draft(f"{number}", "note", "", b"x" * 9_000)])
    kept = wal.read_bytes()
    store.close()
    os.truncate(path, left * 8192 + 100)
    wal.write_bytes(kept)
    with closing(SqliteStore(path)) as again:
        assert [entry.id for entry in again.read("s")] == [f"{number}" for number in range(20)]


@pytest.mark.parametrize("statement", range(1, STATEMENTS + 1))
def test_killed_inside_a_transaction(child: Callable[..., Any], path: Path, statement: int) -> None:
    """Whatever statement of an append a kill comes before, the batch is there whole or not at all."""
    writer = child("stop_at", path, statement)
    said = writer.hear()
    writer.kill()
    with closing(SqliteStore(path)) as store:
        entries, info = store.read("s"), store.info("s")
        assert info is not None
        is_written = said == "appended"
        assert [entry.id for entry in entries] == (["a", "b", "c", "d"] if is_written else ["a", "b"])
        assert info.marks == ({"run:1": 4} if is_written else {"inbox:1": 1})
        assert (info.head, info.chain) == (len(entries), entries[-1].chain)
        require_whole(entries)
        assert store.append("s", drafts("next"), expect=info.head) == info.head + 1


def test_the_statements_of_an_append_are_covered(child: Callable[..., Any], path: Path) -> None:
    """The test above stops before each statement of an append, its commit last, and once after it."""
    names = [f"{path}-{statement}" for statement in range(1, STATEMENTS + 1)]
    writers = [child("stop_at", name, statement) for statement, name in enumerate(names, 1)]
    said = [writer.hear() for writer in writers]
    assert said[0].startswith("BEGIN IMMEDIATE")
    assert said[-2:] == ["COMMIT", "appended"]


# Threads --------------------------------------------------------------------------------------


def test_errors_reach_the_thread_they_belong_to(store: SqliteStore) -> None:
    """Among appends that share a commit, whatever refuses one is raised where it was asked for."""
    store.append("s", drafts("first"))
    found: dict[int, type[BaseException]] = {}
    asks: list[tuple[Callable[[], object], type[BaseException]]] = [
        (lambda: store.append("s", drafts("x", "first")), Conflict),
        (lambda: store.append("s", drafts("y"), expect=99_999), Conflict),
        (lambda: store.erase("s", "nobody"), SessionNotFound),
        (lambda: store.append("s", [Draft("z", "note", "", 5)]), TypeError),  # type: ignore[arg-type]
    ]

    def ask(index: int) -> None:
        use, _ = asks[index % len(asks)]
        for number in range(25):
            store.append(f"own-{index}", drafts(str(number)))
            try:
                use()
            except Exception as error:  # noqa: BLE001 - its class is what is looked at
                found[index] = type(error)

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {index: asks[index % len(asks)][1] for index in range(12)}
    assert [entry.id for entry in store.read("s")] == ["first"]
    assert all([e.id for e in store.read(f"own-{index}")] == [str(n) for n in range(25)] for index in range(12))


def test_what_was_refused_and_is_written_after_all_is_told_so(store: SqliteStore) -> None:
    """A leader that is interrupted leaves those it had tried to the next one, whose word counts."""
    began, go_on = threading.Event(), threading.Event()
    attempts: list[int] = []
    database = store._database

    def hold(_: apsw.Connection) -> None:
        began.set()
        assert go_on.wait(30)

    def refused_twice(_: apsw.Connection) -> str:
        attempts.append(1)
        if len(attempts) <= 2:
            raise Conflict("not yet")
        return "written"

    def interrupt(_: apsw.Connection) -> None:
        if len(attempts) == 2:
            raise KeyboardInterrupt

    works: list[Callable[[apsw.Connection], object]] = [lambda _: None, refused_twice, interrupt]
    with ThreadPoolExecutor(4) as pool:
        asked: list[Future[object]] = [pool.submit(database.write, hold)]
        assert began.wait(30)
        for count, work in enumerate(works, 1):
            asked.append(pool.submit(partial(database.write, work)))
            while len(database._writes._waiting) < count:
                time.sleep(0.001)
        go_on.set()
        with pytest.raises(KeyboardInterrupt):
            asked[1].result(30)
        assert [one.result(30) for one in (asked[0], *asked[2:])] == [None, "written", None]
    assert len(attempts) == 3


def test_readers_do_not_wait_for_writers(path: Path, store: SqliteStore) -> None:
    """While somebody else writes, reading answers at once with what is committed."""
    store.append("s", drafts("1"))
    with closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        assert len(store.read("s")) == 1
        assert store.info("s") is not None
        assert store.news("s", 0, 5)
        assert time.monotonic() - start < 5
        holder.execute("ROLLBACK")


def test_an_append_costs_the_same_in_a_long_log(store: SqliteStore) -> None:
    """The statements of an append and the rows it touches do not grow with the log."""
    steps = []
    for length in (1, 5_000):
        store.append("s", [Draft(f"{length}-{index}", "note", "", b"x") for index in range(length)])
        with store._database._loan() as db:
            seen: list[str] = []
            db.set_exec_trace(lambda *statement, seen=seen: seen.append(statement[1]) is None)
        store.append("s", drafts(f"after-{length}"))
        steps.append(seen)
        with store._database._loan() as db:
            db.set_exec_trace(None)
    assert steps[0] == steps[1]
    assert len(steps[0]) == 5


def test_ids_are_found_in_order(store: SqliteStore) -> None:
    """Many entries come back in the order of their positions."""
    store.append("s", drafts(*[f"{n:x}" for n in range(3_000)]))
    assert all(a.seq + 1 == b.seq for a, b in pairwise(store.read("s")))
