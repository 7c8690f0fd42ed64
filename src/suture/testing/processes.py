"""Child processes for tests: they speak and are told by lines, and each is ended by its pid when its test ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

LIMIT = 60.0


class Child:
    """A Python process with this one's import path; killed, with all that it forked, after `limit` seconds.

    `command` is what stands behind `python`: a file or `-m` and a module, and its words.
    """

    def __init__(self, command: Sequence[object], limit: float = LIMIT) -> None:
        self._limit = limit
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._alarm = threading.Timer(limit, self._signal_all, [signal.SIGKILL])
        self._alarm.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    def say(self, line: object = "") -> None:
        """Write a line to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """Its next line; blank when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def rest(self) -> list[str]:
        """The lines that it said and nobody has heard, once it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read().splitlines()

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(self._limit)

    def freeze(self) -> None:
        """Stop it where it is, as a machine that swaps or sleeps does."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it as a machine does: at once, with SIGKILL, and all that it forked."""
        self._signal_all(signal.SIGKILL)
        self.process.wait(self._limit)

    def end(self) -> None:
        """Kill it, if it lives still, and close its pipes."""
        self._alarm.cancel()
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _signal_all(self, number: int) -> None:
        # It leads a session of its own, so this group holds it and its forks only.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
