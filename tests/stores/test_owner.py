"""Who is dead: told by real processes, never by a pid alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suture.stores.owner import is_dead, pid_here, this_owner


def test_this_process_lives() -> None:
    """An owner is this process, every call anew."""
    first, second = this_owner(), this_owner()
    assert first != second
    assert first.split(":")[:4] == second.split(":")[:4]
    assert pid_here(first) == os.getpid()
    assert not is_dead(first)


def test_a_process_lives_until_it_is_reaped_or_a_zombie(child: Callable[..., Any]) -> None:
    """Alive, whatever its name: not dead. A zombie runs nothing more: dead. Reaped: dead."""
    other = child("owner")
    owner = other.hear()
    assert pid_here(owner) == other.pid
    assert not is_dead(owner)
    os.kill(other.pid, 9)
    deadline = time.monotonic() + 30
    while not is_dead(owner) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(other.pid, 0)  # still there, since nobody has waited for it
    assert is_dead(owner)
    other.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(other.pid, 0)
    assert is_dead(owner)


def test_a_stopped_process_lives(child: Callable[..., Any]) -> None:
    """A frozen process may go on; only its lease ends it."""
    other = child("owner")
    owner = other.hear()
    os.kill(other.pid, 19)
    time.sleep(0.05)
    assert not is_dead(owner)


def test_a_pid_that_came_back_is_another_process() -> None:
    """The same pid with another start time is not the owner."""
    boot, namespace, pid, start, nonce = this_owner().split(":")
    assert is_dead(f"{boot}:{namespace}:{pid}:{int(start) - 1}:{nonce}")
    assert is_dead(f"{boot}:{namespace}:{pid}:{int(start) + 1}:{nonce}")


def test_a_forked_child_is_itself(child: Callable[..., Any]) -> None:
    """Nothing is remembered over a fork."""
    other = child("owners_over_a_fork")
    before, inside, after = other.hear(), other.hear(), other.hear()
    assert pid_here(before) == pid_here(after) == other.pid
    assert pid_here(inside) not in (None, other.pid)


def _others() -> list[str]:
    boot, namespace, pid, start, nonce = this_owner().split(":")
    dead = "999999999"
    return [
        "",
        "me",
        "::::",
        ":::::",
        f"::{pid}::{nonce}",
        f"{boot}:{namespace}:{dead}::{nonce}",
        f"{boot}:{namespace}::{start}:{nonce}",
        f"{boot}:{namespace}:-1:{start}:{nonce}",
        f"{boot}:{namespace}:0:{start}:{nonce}",
        f"{boot}:{namespace}:x:{start}:{nonce}",
        f"{boot}:{namespace}:٣:{start}:{nonce}",
        f"{boot}:{namespace}:{'9' * 30}:{start}:{nonce}",
        f"{boot}:{namespace}:{dead}:{start}",
        f"{boot}:{namespace}:{dead}:{start}:{nonce}:more",
        f"{boot}:{namespace}1:{dead}:{start}:{nonce}",
        f"another-boot:{namespace}:{dead}:{start}:{nonce}",
        f" {boot}:{namespace}:{dead}:{start}:{nonce}",
    ]


@pytest.mark.parametrize("owner", _others(), ids=range(len(_others())))
def test_what_cannot_be_proved_is_not_dead(owner: str) -> None:
    """Garbage, another boot and another namespace: no proof, so the lease decides."""
    assert not is_dead(owner)
    assert pid_here(owner) is None


def test_init_lives() -> None:
    """The process of another user is not dead, whatever may be read of it."""
    boot, namespace, *_ = this_owner().split(":")
    start = Path("/proc/1/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    assert not is_dead(f"{boot}:{namespace}:1:{start}:nonce")
