"""Child processes for the store tests: each is ended by its pid when its test ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("child.py")
LIMIT = 60.0


class Child:
    """A process that runs one of the works in `child.py`; killed when it has not ended after `LIMIT` seconds."""

    def __init__(self, *words: object) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), *map(str, words)],
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._alarm = threading.Timer(LIMIT, self._kill_all)
        self._alarm.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def say(self, line: object = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """Its next line; blank when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(LIMIT)

    def kill(self) -> None:
        """Kill it as a machine does: at once, with SIGKILL, and all that it forked."""
        self._kill_all()
        self.process.wait(LIMIT)

    def _kill_all(self) -> None:
        # It leads a session of its own, so this group holds it and its forks only.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        self._alarm.cancel()
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Starts a child process: `child("append", path, 300)`."""
    children: list[Child] = []

    def start(*words: object) -> Child:
        children.append(Child(*words))
        return children[-1]

    yield start
    for each in children:
        each.end()
