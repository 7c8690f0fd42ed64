"""A process at a pseudo-terminal of its own: what it says is waited for, what a person types is sent."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.doors.shell import PATIENCE, environment

CTRL_C, CTRL_D = "\x03", "\x04"

# Makes the terminal that it was started on the one that sends it Ctrl-C, then becomes the command.
_AT_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"


class Terminal:
    """`suture` with these arguments, at a terminal. Without colours, so that words stand as they are waited for."""

    def __init__(self, *arguments: str, cwd: Path, **env: str) -> None:
        self._master, slave = pty.openpty()
        command = [sys.executable, "-c", _AT_TERMINAL, "-m", "suture.cli", *arguments]
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=environment(TERM="dumb", **env)
        )
        os.close(slave)
        self._read = b""
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        os.close(self._master)

    @property
    def said(self) -> str:
        """All that was shown, typed lines among it."""
        return self._read.decode(errors="replace").replace("\r\n", "\n")

    def expect(self, text: str) -> str:
        """Wait until that is shown behind what was expected last; what was shown up to it."""
        until = time.monotonic() + PATIENCE
        while (at := self.said.find(text, self._told)) < 0:
            assert self._more(until - time.monotonic()), f"{text!r} never came:\n{self.said}"
        shown, self._told = self.said[self._told : at], at + len(text)
        return shown

    def type(self, line: str) -> None:
        """Type a line."""
        self.press(line + "\n")

    def press(self, keys: str) -> None:
        """Press keys, with no line feed behind them."""
        os.write(self._master, keys.encode())

    def status(self) -> int:
        """Wait for the end; the exit status."""
        until = time.monotonic() + PATIENCE
        while self._more(until - time.monotonic()):
            pass
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)

    def _more(self, patience: float) -> bool:
        """Take in more of what it says; whether there was any."""
        if not select.select([self._master], [], [], max(patience, 0))[0]:
            return False
        try:
            read = os.read(self._master, 65536)
        except OSError:  # Linux says EIO once the last writer is gone
            return False
        self._read += read
        return bool(read)
