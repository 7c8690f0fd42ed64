"""What many tasks of a loop append at once: commits that they share, and answers that each gets for itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from suture.errors import Conflict, InvalidEdit, StoreError
from suture.messages import ToolResult, User
from suture.session import AsyncSession, Session
from suture.session.together import append_together
from suture.stores import Draft, EncryptedStore, JsonlStore, MemoryStore, SqliteStore, Store
from suture.stores.base import Append, Together
from suture.testing.stores import drafts

SESSIONS, ROUNDS = 16, 10


class Counting(SqliteStore):
    """Notes how many appends went to each commit, the first of which waits for `go_on` when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sizes: list[int] = []
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def append_each(self, appends: Sequence[Append]) -> list[int | Exception]:
        self.sizes.append(len(appends))
        self.began.set()
        assert self.go_on.wait(30)
        return super().append_each(appends)


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Counting]:
    store = Counting(tmp_path / "sessions.db")
    yield store
    store.close()


KINDS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda place: SqliteStore(place / "sessions.db"),
    "jsonl": lambda place: JsonlStore(place / "sessions"),
    "encrypted": lambda place: EncryptedStore(SqliteStore(place / "sessions.db"), {"k": bytes(32)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_lose_nothing(tmp_path: Path, kind: str) -> None:
    """Many tasks add to a session of their own and to one that they share: all is there, each task's in its order."""
    store = KINDS[kind](tmp_path)

    async def write(index: int) -> None:
        own, shared = AsyncSession(store, f"own-{index}"), AsyncSession(store, "shared")
        for round in range(ROUNDS):
            await asyncio.gather(own.add(User.of(f"{round}")), shared.add(User.of(f"{index} {round}")))

    async def write_all() -> None:
        await asyncio.gather(*map(write, range(SESSIONS)))

    asyncio.run(write_all())
    for index in range(SESSIONS):
        assert [one.text for one in Session(store, f"own-{index}").messages] == [f"{round}" for round in range(ROUNDS)]
    shared = [one.text for one in Session(store, "shared").messages]
    assert len(shared) == SESSIONS * ROUNDS
    for index in range(SESSIONS):
        assert [text for text in shared if text.startswith(f"{index} ")] == [f"{index} {at}" for at in range(ROUNDS)]
    store.close()


def test_tasks_share_commits(counting: Counting) -> None:
    """What many tasks append at the same time is committed together."""

    async def write_all() -> None:
        sessions = [AsyncSession(counting, f"s{index}") for index in range(SESSIONS)]
        for session in sessions:  # the first append finds out whether it is a fork
            await session.add(User.of("first"))
        counting.sizes.clear()
        await asyncio.gather(*(session.add(User.of("second")) for session in sessions))

    asyncio.run(write_all())
    assert counting.sizes == [SESSIONS]


def test_what_comes_during_a_commit_goes_with_the_next(counting: Counting) -> None:
    """A commit that takes long gathers what comes meanwhile; whoever is cancelled is told behind what it wrote."""

    async def write_all() -> None:
        session = AsyncSession(counting, "s")
        await session.add(User.of("0"))
        counting.sizes.clear()
        counting.began.clear()
        counting.go_on.clear()
        first = asyncio.create_task(session.add(User.of("1")))
        await asyncio.to_thread(counting.began.wait, 30)
        others = [asyncio.create_task(session.add(User.of(f"{at}"))) for at in range(2, 5)]
        await asyncio.sleep(0)
        others[0].cancel()
        await asyncio.sleep(0)
        counting.go_on.set()
        found = await asyncio.gather(first, *others, return_exceptions=True)
        assert [type(one) for one in found] == [User, asyncio.CancelledError, User, User]

    asyncio.run(write_all())
    assert counting.sizes == [1, 3]
    assert [one.text for one in Session(counting, "s").messages] == ["0", "1", "2", "3", "4"]


def test_a_refusal_is_told_to_its_task_only(counting: Counting) -> None:
    """An append that expects another head is refused; those beside it are written, and told so."""

    async def write_all() -> list[object]:
        session = AsyncSession(counting, "s")
        await session.add(User.of("first"))
        log = session.plain.log
        asked = [append_together(log, drafts("a")), append_together(log, drafts("b"), expect=1)]
        return await asyncio.gather(*asked, append_together(log, drafts("c")), return_exceptions=True)

    first, refused, last = asyncio.run(write_all())
    assert (first, type(refused), last) == (2, Conflict, 3)
    assert [entry.id for entry in counting.read("s", 1)] == ["a", "c"]


def test_a_store_that_fails_tells_all(counting: Counting) -> None:
    """A store that cannot write at all is an error of everybody who waited, and none waits for ever."""

    async def write_all() -> list[object]:
        session = AsyncSession(counting, "s")
        await session.add(User.of("first"))
        counting.close()
        return await asyncio.gather(*(session.add(User.of("x")) for _ in range(3)), return_exceptions=True)

    assert [type(one) for one in asyncio.run(write_all())] == [StoreError] * 3


@pytest.mark.parametrize("kind", ["memory", "sqlite", "encrypted"])
def test_each_is_told_for_itself(tmp_path: Path, kind: str) -> None:
    """Whatever refuses one of many, be it no text, no bytes, or no draft at all, the others are written, and told so."""
    store = KINDS[kind](tmp_path)
    assert isinstance(store, Together)
    (good,), (other,), (twin,) = drafts("a"), drafts("b"), drafts("c")
    wrong = [Draft("x", "note", "", 5), Draft("\udc00", "note", "", b"{}"), Draft("x", "note", 7, b"{}"), None]  # type: ignore[arg-type]
    asked = [Append("s", (good,)), *(Append("s", (one,)) for one in wrong), Append("s", (other,))]  # type: ignore[arg-type]
    answers = store.append_each([*asked, Append("s", (twin, twin)), Append("s", (good,))])
    is_refused = [isinstance(one, Exception) for one in answers]
    assert [one.id for one in store.read("s")][:1] == ["a"]
    assert is_refused[0] is is_refused[5] is is_refused[7] is False
    assert is_refused[1] is is_refused[4] is is_refused[6] is True
    held = [one.id for one in store.read("s")]
    assert len(held) == is_refused[:6].count(False)
    assert (answers[0], answers[5], answers[7]) == (1, len(held), 1)
    store.close()


def test_no_thread_to_be_had(counting: Counting) -> None:
    """Behind the end of its main thread a process has no more threads for work: whoever asks is told, and waits not."""
    script = """
import asyncio, sys, threading
from suture.messages import User
from suture.session import AsyncSession
from suture.stores import SqliteStore

async def write():
    session = AsyncSession(SqliteStore(sys.argv[1]), "s")
    await session.add(User.of("first"))
    await session.add(User.of("second"))
    ready.set()
    threading.main_thread().join()
    while True:
        try:
            await session.add(User.of("more"))
        except RuntimeError as error:
            print("told:", error, flush=True)
            return

ready = threading.Event()
threading.Thread(target=lambda: asyncio.run(write())).start()
ready.wait()
"""
    path = counting._database.path.with_name("other.db")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout[:5]) == (0, "told:"), done.stderr


def test_what_no_thread_could_be_had_for_is_not_done_later(counting: Counting) -> None:
    """A machine that allows for no thread now, and for one later: what was refused meanwhile is not in the log."""
    script = """
import asyncio, sys, threading
from suture.messages import User
from suture.session import AsyncSession
from suture.stores import SqliteStore

async def write():
    session = AsyncSession(SqliteStore(sys.argv[1]), "s")
    threading.stack_size(1 << 46)
    for text in ("refused", "refused too"):
        try:
            await session.add(User.of(text))
        except RuntimeError as error:
            print("told", flush=True)
    threading.stack_size(0)
    await session.add(User.of("written"))
    print([one.text for one in session.messages])

asyncio.run(write())
"""
    path = counting._database.path.with_name("other.db")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "told\ntold\n['written']\n", done.stderr


def test_loops_one_after_another_and_beside_each_other(counting: Counting) -> None:
    """A store serves the loop that runs now, in any thread, whatever became of those before."""

    def write() -> None:
        asyncio.run(AsyncSession(counting, "s").add(User.of("x")))
        session = AsyncSession(counting, "s")
        asyncio.run(_twice(session))
        asyncio.run(_twice(session))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(Session(counting, "s")) == 4 * 5


async def _twice(session: AsyncSession) -> None:
    await asyncio.gather(session.add(User.of("y")), session.add(User.of("z")))


def test_a_result_still_finds_its_call(counting: Counting) -> None:
    """What the log must be read for goes the old way, and a message that is none is refused before anything is asked."""

    async def write_all() -> None:
        session = AsyncSession(counting, "s")
        await session.add(User.of("first"))
        await session.add(ToolResult.of("call_1", "of no call"))
        with pytest.raises(InvalidEdit, match="no message"):
            await session.add("text")  # type: ignore[arg-type]

    asyncio.run(write_all())
    assert [finding.code for finding in Session(counting, "s").findings()] == ["RESULT_ORPHAN"]
