"""One thread per process that keeps the claims of its runs alive while they are silent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from suture.agent.recorder import Recorder
from suture.stores.shield import shielded

# A claim is renewed when a third of its lease is left unheard for.
_SHARE = 3.0


class _Heart:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self._beating: set[Recorder] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    # A condition's lock is taken in Python, so that a Ctrl-C between two of its steps would keep it for ever.

    def add(self, recorder: Recorder) -> None:
        shielded(lambda: self._add(recorder))

    def remove(self, recorder: Recorder) -> None:
        shielded(lambda: self._remove(recorder))

    def _add(self, recorder: Recorder) -> None:
        with self._changed:
            self._beating.add(recorder)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="suture-heartbeat", daemon=True)
                self._thread.start()
            self._changed.notify()  # it may be waiting for a longer lease than this one's

    def _remove(self, recorder: Recorder) -> None:
        with self._changed:
            self._beating.discard(recorder)

    def _beat(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(min((one.lease / _SHARE for one in self._beating), default=5.0))
                due = [one for one in self._beating if self._due(one)]
            for recorder in due:
                try:
                    recorder.renew()
                except BaseException:  # noqa: BLE001  a bad store is no reason to let go of the others' claims
                    continue  # the run itself meets the same store, and says so

    @staticmethod
    def _due(recorder: Recorder) -> bool:
        return time.monotonic() > recorder.deadline - recorder.lease * (1 - 1 / _SHARE)


_heart = _Heart()


@contextmanager
def kept_alive(recorder: Recorder) -> Iterator[None]:
    """Renew the recorder's claim while the block runs."""
    global _heart
    if _heart.pid != os.getpid():
        _heart = _Heart()
    heart = _heart
    heart.add(recorder)
    try:
        yield
    finally:
        if heart.pid == os.getpid():  # a fork may have copied its lock as held
            heart.remove(recorder)
