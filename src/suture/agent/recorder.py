"""What a run does to its store: claim, append under the claim, read what others wrote, renew, release.

A runner appends without looking: positions have no gaps and a batch is contiguous, so a last seq that is
further on than the batch is long means that entries of others lie between, and those are read.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from suture.entries import Draft, Entry
from suture.errors import Conflict, Fenced, StoreError
from suture.loop.asks import Overtaken, Written
from suture.session.log import SessionLog
from suture.session.together import append_together
from suture.session.worker import in_thread
from suture.stores.base import Claim
from suture.stores.owner import this_owner

# So often in a row may a renewal be answered after the lease that it asked for has run out.
_TRIES = 5


class Recorder:
    """One run's claim on one session, and the log as far as the run has seen it.

    `deadline` is on the clock of `time.monotonic`: until then nobody else can have taken the session. The claim
    belongs to one process: after a fork only the parent goes on under it.
    """

    def __init__(self, log: SessionLog, lease: float) -> None:
        self.log = log
        self.lease = lease
        self.owner = this_owner()
        self.head = 0
        self.deadline = 0.0
        self.fenced: Fenced | None = None
        self._pid = os.getpid()
        self._claim: Claim | None = None
        self._lock = threading.Lock()

    def claim(self) -> None:
        """Claim the session.

        Raises:
            SessionBusy: a live runner has it.
        """
        sent = time.monotonic()
        self._claim = self.log.claim(self.owner, self.lease)
        self.deadline = sent + self.lease

    @property
    def epoch(self) -> int:
        """The epoch of the claim."""
        assert self._claim is not None
        return self._claim.epoch

    def epoch_in_force(self) -> int | None:
        """The epoch, unless this is not the process that claimed, or the claim is over."""
        return None if self._claim is None or self.fenced is not None or self._is_forked else self._claim.epoch

    def append(self, drafts: tuple[Draft, ...]) -> Written:
        """Append under the claim, wherever the log ends; everything that is new with it."""
        self._raise_if_fenced()
        sent = time.monotonic()
        return self._appended(drafts, self.log.append(drafts, epoch=self.epoch), sent)

    async def append_async(self, drafts: tuple[Draft, ...]) -> Written:
        """As `append`; runs that append at the same time share a commit."""
        self._raise_if_fenced()
        sent = time.monotonic()
        last = await append_together(self.log, drafts, epoch=self.epoch)
        if last - len(drafts) > self.head:
            return await in_thread(self._appended, drafts, last, sent)
        return self._appended(drafts, last, sent)

    def _appended(self, drafts: tuple[Draft, ...], last: int, sent: float) -> Written:
        self.deadline = max(self.deadline, sent + self.lease)
        return Written(self._written(drafts, last))

    def append_next(self, drafts: tuple[Draft, ...], expect: int) -> Written | Overtaken:
        """Append under the claim if nothing stands behind `expect`."""
        self._raise_if_fenced()
        sent = time.monotonic()
        try:
            last = self.log.append(drafts, expect=expect, epoch=self.epoch)
        except Conflict:
            return Overtaken(tuple(self.news()))
        return self._appended(drafts, last, sent)

    def append_unclaimed(self, drafts: tuple[Draft, ...]) -> None:
        """Append as anybody may; all but a fork, which would say again what its parent says. A session that was deleted
        meanwhile is not made anew.
        """
        self._raise_if_forked()
        if self.log.info() is not None:
            self.log.append(drafts)

    def _written(self, drafts: tuple[Draft, ...], last: int) -> tuple[Entry, ...]:
        first = last - len(drafts) + 1
        others: list[Entry] = []
        if first > self.head + 1:
            read = self.log.read(after=self.head, limit=first - 1 - self.head)
            # Where some are lost, what was written now comes with the rest.
            others = [one for one in read if one.seq < first]
        self.head = max(self.head, last)
        return (*others, *(one.at_seq(seq, self.epoch) for seq, one in enumerate(drafts, first)))

    def news(self) -> list[Entry]:
        """The entries that came behind those seen."""
        entries = self.log.read(after=self.head)
        if entries:
            self.head = entries[-1].seq
        return entries

    def renew(self) -> None:
        """Extend the lease; a lost claim is remembered, and raised by whatever the run does next."""
        self._raise_if_forked()
        with self._lock:
            if self._claim is None or self.fenced is not None:
                return
            sent = time.monotonic()
            try:
                self.log.store.renew(self._claim, self.lease)
            except Fenced as fenced:
                self.fenced = fenced
            else:
                self.deadline = max(self.deadline, sent + self.lease)

    @property
    def is_sure(self) -> bool:
        """Whether nobody else can have taken the session by now. Asks nobody, so it can stand directly before a start."""
        return self.fenced is None and not self._is_forked and time.monotonic() < self.deadline

    def require_claim(self) -> None:
        """Return when it is sure; a renewal that was answered too late does not make it so.

        Raises:
            Fenced: somebody has taken the session.
            StoreError: the lease is too short for the store ever to make it sure.
        """
        for _ in range(_TRIES):
            if self.is_sure:
                return
            self._raise_if_fenced()
            self.renew()
        if not self.is_sure:
            self._raise_if_fenced()
            raise self._too_slow()

    async def require_claim_async(self) -> None:
        """The same, with nothing between the return and a look at the claim: an event loop may be held up meanwhile.

        Raises:
            Fenced: somebody has taken the session.
            StoreError: the lease is too short for the store, or for the event loop.
        """
        for _ in range(_TRIES):
            if self.is_sure:
                return
            await in_thread(self.require_claim)
        if not self.is_sure:
            raise self._too_slow()

    def _too_slow(self) -> StoreError:
        return StoreError(
            f"{_TRIES} renewals in a row were answered after their lease of {self.lease:g} seconds had run out. "
            "The lease is too short for this store, or the event loop is blocked; give the agent a longer `lease`."
        )

    def _raise_if_fenced(self) -> None:
        self._raise_if_forked()
        if self.fenced is not None:
            raise self.fenced

    @property
    def _is_forked(self) -> bool:
        return self._pid != os.getpid()

    def _raise_if_forked(self) -> None:
        if self._is_forked:
            raise Fenced("This process was forked from the one that runs the session, which goes on there. Run it in one.")

    def release(self) -> None:
        """Give the claim back, if it is still in force and this process's own."""
        if self._is_forked:
            return
        with self._lock:
            if self._claim is not None:
                self.log.store.release(self._claim)
                self._claim = None

    def release_after(self, error: BaseException) -> None:
        """Give the claim back; a failure to do so is a note on the error that ended the run."""
        try:
            self.release()
        except Exception as failed:  # noqa: BLE001  a store may raise anything, and the first error is what is wrong
            error.add_note(f"The claim could not be released, and ends with its lease: {type(failed).__name__}: {failed}")

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give the claim back behind the block, whatever ends it."""
        try:
            yield
        except BaseException as error:
            self.release_after(error)
            raise
        self.release()
