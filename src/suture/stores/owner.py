"""Who holds a claim: a text that names one process for ever, so that a dead owner can be told from a slow one.

`boot id : pid namespace : pid : start time : nonce`. A pid alone comes back; with the boot, the namespace
and the time at which the process started it does not. Nothing is cached, so a forked child is itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

_PROC = Path("/proc")
_SELF = _PROC / "self"
_NAMESPACE = _PROC / "self/ns/pid"
_BOOT = _PROC / "sys/kernel/random/boot_id"


class _Machine(NamedTuple):
    boot: str
    namespace: str


class _Process(NamedTuple):
    state: str
    start: str


def this_owner() -> str:
    """A new owner text for this process; every call makes another nonce."""
    pid = os.getpid()
    machine, process = _this_machine(), _process(pid)
    if machine is None or process is None:
        return f"::{pid}::{uuid4().hex}"
    return f"{machine.boot}:{machine.namespace}:{pid}:{process.start}:{uuid4().hex}"


def is_dead(owner: str) -> bool:
    """Whether the owner's process has provably ended. False wherever that cannot be proved from here."""
    pid = pid_here(owner)
    if pid is None:
        return False
    if not _exists(pid):
        return True
    process = _process(pid)
    return process is not None and (process.state in "ZXx" or process.start != owner.split(":")[3])


def pid_here(owner: str) -> int | None:
    """The owner's pid, when it ran in this boot and pid namespace; otherwise None."""
    parts = owner.split(":")
    if len(parts) != 5 or _Machine(parts[0], parts[1]) != _this_machine():
        return None
    pid, start = parts[2], parts[3]
    is_plain = all(part.isascii() and part.isdecimal() for part in (pid, start))
    return int(pid) if is_plain and len(pid) < 10 and int(pid) > 0 else None


def _this_machine() -> _Machine | None:
    """None where there is no /proc, or it shows the processes of another namespace than ours."""
    try:
        if str(_SELF.readlink()) != str(os.getpid()):
            return None
        namespace = str(_NAMESPACE.readlink())
        boot = _BOOT.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return _Machine(boot, namespace.partition("[")[2].rstrip("]")) if boot and ":" not in boot else None


def _exists(pid: int) -> bool:
    # Not by /proc: mounted with hidepid it hides the living processes of other users.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _process(pid: int) -> _Process | None:
    """The state and start time of a process: fields 3 and 22 of its stat line."""
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # Field 2 is the program's name in brackets, and a name may itself hold brackets and blanks.
    fields = line[line.rfind(b")") + 1 :].split()
    return _Process(fields[0].decode("latin-1"), fields[19].decode("latin-1")) if len(fields) > 19 else None
