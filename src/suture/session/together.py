"""Appends of async code that share their commits: what the tasks of a loop append meanwhile goes with the next one.

No thread waits for each of them; one carries all to the store, and the loop is woken once for all.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from suture.entries import Draft
from suture.errors import Conflict
from suture.session.log import SessionLog
from suture.session.worker import Job, Mail, in_pool, in_thread, mail_here
from suture.stores.base import Append, Together


async def append_together(
    log: SessionLog, drafts: Sequence[Draft], *, expect: int | None = None, epoch: int | None = None
) -> int:
    """As `SessionLog.append`. A cancelled caller still waits for it: nothing is written behind its back."""
    store = log.together
    if not log.is_known or store is None:
        return await in_thread(log.append, drafts, expect=expect, epoch=epoch)
    wanted = log.wanted(drafts, expect, epoch)
    try:
        return log.appended(wanted, await _commits(store).append(wanted))
    except Conflict:
        await in_thread(log.require_end_of, wanted)
        raise


class _Commits:
    """The appends of one loop's tasks to one store, of which one commit is on at a time."""

    def __init__(self, store: Together, mail: Mail) -> None:
        self._store = store
        self.mail = mail
        self._waiting: list[tuple[Append, Job[int]]] = []
        self._is_on = False

    async def append(self, wanted: Append) -> int:
        """The last seq, when it is on disk."""
        job: Job[int] = Job()
        self._waiting.append((wanted, job))
        if not self._is_on:
            self._is_on = True
            # Once all tasks had their turn that can run now.
            self.mail.loop.call_soon(self._begin)
        return await job.ended(self.mail.loop)

    def _begin(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            in_pool(lambda: self._commit(batch))
        except RuntimeError as error:
            _fail(batch, error)
            self._arrived(batch)

    def _commit(self, batch: list[tuple[Append, Job[int]]]) -> None:
        """In a worker thread."""
        try:
            for (_, job), answer in zip(batch, self._store.append_each([wanted for wanted, _ in batch]), strict=True):
                job.fail(answer) if isinstance(answer, Exception) else job.end(answer)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            _fail(batch, error)
        self.mail.send(lambda: self._arrived(batch))

    def _arrived(self, batch: list[tuple[Append, Job[int]]]) -> None:
        for _, job in batch:
            job.arrive()
        if self._waiting:
            self.mail.loop.call_soon(self._begin)
        else:
            self._is_on = False
            _here.by_store.pop(id(self._store), None)


def _fail(batch: list[tuple[Append, Job[int]]], error: BaseException) -> None:
    for _, job in batch:
        job.fail(error)


class _Here(threading.local):
    """The commits that are on or asked for in this thread's loop, by the ids of their stores, which they keep alive."""

    def __init__(self) -> None:
        self.by_store: dict[int, _Commits] = {}


_here = _Here()


def _commits(store: Together) -> _Commits:
    mail, found = mail_here(), _here.by_store.get(id(store))
    if found is None or found.mail is not mail:
        found = _here.by_store[id(store)] = _Commits(store, mail)
    return found
