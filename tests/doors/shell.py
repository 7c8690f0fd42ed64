"""The command line, run as a user runs it: a process of its own, on a pipe or on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 60
ROWS, COLUMNS = 40, 80


class Said(NamedTuple):
    """What a command said, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """An environment in which nothing asks for colours or forbids them."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")}
    return {**kept, "PYTHONPATH": str(SOURCE), "TERM": "xterm-256color", **more}


def suture(
    *arguments: str | Path, stdin: bytes | BinaryIO = b"", cwd: Path | None = None, encoding: str = "utf-8", **env: str
) -> Said:
    """Run `suture` with these arguments; `encoding` is the one that it is to speak."""
    command = [sys.executable, "-m", "suture.cli", *map(str, arguments)]
    done = subprocess.run(
        command,
        input=stdin if isinstance(stdin, bytes) else None,
        stdin=None if isinstance(stdin, bytes) else stdin,
        capture_output=True,
        timeout=PATIENCE,
        env=environment(**{"PYTHONIOENCODING": encoding, **env}),
        cwd=cwd,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def on_terminal(*arguments: str | Path, **env: str) -> Said:
    """Run `suture` on a pseudo-terminal of 80 columns; all that it says stands in `out`."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "suture.cli", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment(**env))
    os.close(slave)
    said = b"".join(iter(lambda: _read(master), b""))
    os.close(master)
    return Said(process.wait(PATIENCE), said.decode().replace("\r\n", "\n"), "")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO once the last writer is gone
        return b""
