"""A child process that speaks in lines of JSON, and what one can do to it from outside."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from tests.loop.worker import Orders

ROOT = Path(__file__).parents[2]
LIMIT = 60.0


class Child:
    """A worker under orders. Whatever it does, it is killed by its pid at the end of the test."""

    def __init__(self, orders: Orders) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.loop.worker", msgspec.json.encode(orders).decode()],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._heard = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self) -> dict[str, object]:
        """What it says next.

        Raises:
            TimeoutError: it says nothing for too long.
            EOFError: it has ended.
        """
        assert self.process.stdout is not None
        until = time.monotonic() + LIMIT
        while b"\n" not in self._heard:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the child says nothing")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise EOFError(f"the child has ended: {self.process.wait(LIMIT)}")
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        said: dict[str, object] = json.loads(line)
        return said

    def tell(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def freeze(self) -> None:
        """Stop it, and return once it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self, *, reap: bool = True) -> None:
        """Kill it as a machine does; unreaped it stays behind as a zombie."""
        self.signal(signal.SIGKILL)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        if reap:
            self.wait()

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(LIMIT)

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
