"""Hearing of appends that other processes make: one connection that listens, for all threads that wait.

It starts with the first wait. What is heard only wakes: whoever waits looks into the database, and looks from time to
time without being woken, since the appends of runners are not told and a lost connection tells nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg

from suture.stores.postgres.server import Db
from suture.stores.shield import Bell, shielded

CHANNEL = "suture"
_SLICE = 0.5
_PAUSE = 1.0


class Ear:
    """One that waits for a topic; for none, for all of them. `count` is how often it was spoken of."""

    def __init__(self, topic: str | None, bell: Bell) -> None:
        self.topic = topic
        self.count = 0
        self._bell = bell

    def wait(self, count: int, timeout: float) -> None:
        """Return when it was spoken of more often than that, or after `timeout` seconds."""
        shielded(lambda: self._bell.wait_for(lambda: self.count != count, timeout))


class News:
    """Listens on connections that `connect` makes, one at a time, in a thread that ends with `close`."""

    def __init__(self, connect: Callable[[], Db]) -> None:
        self._connect = connect
        self._bell = Bell()
        self._lock = threading.Lock()
        self._ears: set[Ear] = set()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def ear(self, topic: str | None) -> Iterator[Ear]:
        """An ear for the topic, while somebody waits."""
        ear = Ear(topic, self._bell)
        try:
            shielded(lambda: self._join(ear))
            yield ear
        finally:
            shielded(lambda: self._leave(ear))

    def _join(self, ear: Ear) -> None:
        with self._lock:
            self._ears.add(ear)
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._listen, name="suture-postgres-news", daemon=True)
                self._thread.start()

    def _leave(self, ear: Ear) -> None:
        with self._lock:
            self._ears.discard(ear)

    def tell(self, topic: str | None) -> None:
        """Wake those who wait for the topic, and for any; for none, everybody."""
        if self._ears:
            shielded(lambda: self._tell(topic))

    def _tell(self, topic: str | None) -> None:
        with self._lock:
            for ear in self._ears:
                if topic is None or ear.topic is None or ear.topic == topic:
                    ear.count += 1
        self._bell.ring()

    def close(self) -> None:
        """Let the thread end, within half a second; nobody is woken any more."""
        self._closed.set()
        self.tell(None)

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                with closing(self._connect()) as db:
                    self._hear(db)
            except psycopg.Error:
                self._closed.wait(_PAUSE)

    def _hear(self, db: Db) -> None:
        db.execute(f"LISTEN {CHANNEL}")
        # What was told before is not heard any more.
        self.tell(None)
        while not self._closed.is_set():
            for notice in db.notifies(timeout=_SLICE):
                self.tell(notice.payload)


def pauses(first: float, last: float, deadline: float) -> Iterator[float]:
    """How long to wait before each look, ever longer, until the deadline is reached."""
    while (left := deadline - time.monotonic()) > 0:
        yield min(first, left)
        first = min(first * 1.5, last)
