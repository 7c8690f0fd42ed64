"""The demo's processes: real ones, each bounded in time, none of which outlives the demo."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

import click

import suture

# Seconds after which a process of the demo counts as stuck.
PATIENCE = 20.0
_POLL = 0.01


class Ended(NamedTuple):
    """A process that ended: its pid, how long it took in seconds, and what it printed."""

    pid: int
    seconds: float
    out: str


class Processes:
    """Starts processes and waits for them; closing it kills what is left."""

    def __init__(self) -> None:
        self._live: list[subprocess.Popen[str]] = []

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """Start `python -m` with these arguments."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
        )
        self._live.append(process)
        return process

    def run(self, arguments: Sequence[str]) -> Ended:
        """Run `python -m` with these arguments to its end, which must be a good one."""
        began = monotonic()
        process = self.start(arguments)
        try:
            out, complaint = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise _stuck(f"{' '.join(arguments[:2])} (pid {process.pid}) did not end") from None
        if process.returncode != 0:
            raise _failed(process, arguments, (complaint.strip() or out.strip()))
        return Ended(process.pid, monotonic() - began, out)

    def kill_when(self, process: subprocess.Popen[str], reached: Callable[[], bool]) -> int:
        """Kill a process with SIGKILL once that point is reached; how it ended, -9 for that signal."""
        until = monotonic() + PATIENCE
        while not reached():
            if process.poll() is not None:
                raise _failed(process, ["the run that was to be killed"], process.communicate()[1].strip())
            if monotonic() > until:
                raise _stuck("the run that was to be killed never got into its tools")
            sleep(_POLL)
        process.kill()
        process.communicate()
        return process.returncode

    def close(self) -> None:
        """Kill what still runs, by pid."""
        for process in self._live:
            if process.poll() is None:
                process.kill()
            with contextlib.suppress(ValueError, OSError):
                process.communicate(timeout=PATIENCE)


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """Processes that are gone behind the `with`."""
    started = Processes()
    try:
        yield started
    finally:
        started.close()


def _environment() -> Mapping[str, str]:
    """The environment, in which `suture` is the very package that runs now."""
    home = str(Path(suture.__file__).resolve().parent.parent)
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": home if not before else home + os.pathsep + before}


def _stuck(what: str) -> click.ClickException:
    return click.ClickException(
        f"The demo was stopped: {what} within {PATIENCE:g} seconds. Try again on a machine at rest."
    )


def _failed(process: subprocess.Popen[str], arguments: Sequence[str], complaint: str) -> click.ClickException:
    named = " ".join(arguments[:2])
    return click.ClickException(
        f"The demo was stopped: {named} (pid {process.pid}) ended with {process.returncode}:\n{complaint}"
    )
