"""The directory of a JSONL store: whose it is, which sessions it has, and how the files in it are opened and replaced.

suture.json      whose directory this is, in which version, and the last epoch of sessions that were deleted
appended         its time moves with every append to any session
<name>.jsonl     the log of a session
<name>.state     what is known of it without reading it
<name>.damaged-N bytes that could not be read, which a mend took out of the log
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

import suture.stores.at_fork as at_fork
from suture.canonical import is_encodable
from suture.errors import StoreError
from suture.stores.at_fork import Gate
from suture.stores.jsonl.lines import OPENERS, VERSION
from suture.stores.jsonl.names import name_of
from suture.stores.shield import Bell, pause

T = TypeVar("T")

LOG, STATE, DAMAGED, NEW = ".jsonl", ".state", ".damaged-", ".new"

_MARKER, _APPENDED = "suture.json", "appended"
_LOCKED_PAUSE = 0.0002, 0.002
_BLOCK = 1 << 24
_NEAR = 1 << 16


class Marker(msgspec.Struct, frozen=True):
    """What `suture.json` says."""

    suture: str
    version: int
    epoch: int = 0


class Named(msgspec.Struct, frozen=True):
    """What tells of a file whose session it belongs to: the first line of a log, or a state."""

    session: str


_ours = re.compile(OPENERS)
_named = msgspec.json.Decoder(Named)


class Place:
    """The directory at `path`, made when it is not there.

    Raises:
        StoreError: it cannot be opened, is not ours, or of a newer version. It is unchanged.
    """

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self.gate = Gate(f"{path}: this store was closed. Open it again with open_store.")
        self.appended = Bell()
        self.appends = 0
        self._busy_timeout = busy_timeout
        with at_fork.registering(self.gate):
            self.in_words(self._open)

    def _open(self) -> None:
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path}: the directory {self.path.parent} does not exist. Create it first.")
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file, and a JSONL store is a directory. Name a directory.")
        if not self.path.exists():
            self.path.mkdir(exist_ok=True)
            sync_directory(self.path.parent)
        self._is_marked = self._marker() is not None
        if not self._is_marked:
            self._require_nobody_elses()

    def _marker(self) -> Marker | None:
        try:
            raw = (self.path / _MARKER).read_bytes()
        except FileNotFoundError:
            return None
        if not raw.strip():
            return None
        try:
            marker = msgspec.json.decode(raw, type=Marker)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            marker = Marker("", 0)
        if marker.suture != "jsonl":
            raise StoreError(
                f"{self.path / _MARKER} is none of suture's, and the directory was left as it is. Choose another."
            )
        if marker.version > VERSION:
            raise StoreError(newer(self.path, marker.version))
        return marker

    def _require_nobody_elses(self) -> None:
        """Refuse a directory without our mark in which there are logs, none of which has a line of ours: those of another
        program would be taken for damaged ones.
        """
        files = [file for file in self.path.glob(f"*{LOG}") if file.stat().st_size]
        if files and not any(_ours.search(_beginning(file)) for file in files):
            raise StoreError(
                f"{self.path} holds {files[0].name}, which is no log of suture's, and was left as it is. "
                "Choose another directory."
            )

    def mark(self) -> None:
        """Say whose directory this is, before the first write to it: who only reads leaves nothing."""
        if not self._is_marked:
            self._write_marker(lambda marker: marker)
            sync_directory(self.path)
            self._is_marked = True

    def _write_marker(self, change: Callable[[Marker], Marker]) -> None:
        # Held for a moment only, so it is waited for without leaving the gate.
        fd = os.open(self.path / _MARKER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = self._marker()
            data = msgspec.json.encode(change(before or Marker("jsonl", VERSION))).ljust(80) + b"\n"
            if before is None:
                write_whole(fd, data, 0)
            else:
                # One write of one block, over one that is as long: where it fails, the last epoch still stands there.
                os.pwrite(fd, data, 0)
                os.fdatasync(fd)
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    # Epochs of sessions that are gone ---------------------------------------------------------

    def floor(self) -> int:
        """The latest epoch of the sessions that were deleted."""
        marker = self._marker()
        return marker.epoch if marker else 0

    def raise_floor(self, epoch: int) -> None:
        """Have no epoch up to this one given out again."""
        if epoch > self.floor():
            self._write_marker(lambda marker: msgspec.structs.replace(marker, epoch=max(epoch, marker.epoch)))

    # Files ------------------------------------------------------------------------------------

    def file(self, session_id: str, kind: str) -> Path:
        """The path of the session's file of that kind."""
        return self.path / f"{name_of(session_id)}{kind}"

    def names(self) -> list[str]:
        """The names of the logs that are there."""
        with os.scandir(self.path) as found:
            return [entry.name.removesuffix(LOG) for entry in found if entry.name.endswith(LOG)]

    def id_in(self, name: str) -> str | None:
        """The id of the session whose log has that name, as its files say; None when none of them does."""
        for kind in (LOG, STATE):
            with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
                with (self.path / f"{name}{kind}").open("rb") as file:
                    id = _named.decode(file.readline()).session
                if is_encodable(id) and name_of(id) == name:
                    return id
        return None

    def damaged(self, session_id: str) -> list[Path]:
        """The files of the session that hold damaged bytes, the first one first."""
        beginning = f"{name_of(session_id)}{DAMAGED}"
        with os.scandir(self.path) as found:
            names = [entry.name for entry in found if entry.name.startswith(beginning)]
        return [self.path / name for name in sorted(names, key=lambda name: (len(name), name))]

    @contextmanager
    def locked(self, path: Path, flags: int, how: int = fcntl.LOCK_EX) -> Iterator[int]:
        """The file, opened and locked: whoever else has it is waited for. The gate is entered.

        Raises:
            OSError: it cannot be opened, as when it is not there.
            StoreError: somebody else kept it locked for the whole busy timeout.
        """
        deadline = time.monotonic() + self._busy_timeout
        while True:
            with self.gate.entered():
                fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
                try:
                    if try_lock(fd, how) and is_at(fd, path):
                        try:
                            yield fd
                        finally:
                            # Said, not left to closing: a child forked by other means may share the descriptor.
                            fcntl.flock(fd, fcntl.LOCK_UN)
                        return
                finally:
                    os.close(fd)
            self.wait_a_little(path, deadline)

    def deadline(self) -> float:
        """Until when a locked file is waited for, on the monotonic clock."""
        return time.monotonic() + self._busy_timeout

    def wait_a_little(self, path: Path, deadline: float) -> None:
        """Pause before the next look at a file that somebody else has.

        Raises:
            StoreError: the deadline has passed.
        """
        if time.monotonic() >= deadline:
            raise StoreError(
                f"{path}: another process kept the file locked for {self._busy_timeout:g} s, so nothing was changed. "
                "Find it with `fuser -v` on the file; end it or let it finish, then try again; or open the store with a "
                "longer busy_timeout."
            )
        pause(random.uniform(*_LOCKED_PAUSE))

    # News -------------------------------------------------------------------------------------

    def ring(self) -> None:
        """Tell all that wait, in every process, that something was appended."""
        path = self.path / _APPENDED
        now = time.time_ns()
        # What was appended is on disk by now: that it cannot be told is no reason to say that it is not.
        with contextlib.suppress(OSError):
            try:
                os.utime(path, ns=(now, now))
            except FileNotFoundError:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
                os.utime(path, ns=(now, now))
        self.appends += 1
        self.appended.ring()

    def last_ring(self) -> int:
        """A number that changes with every append to any session."""
        with self.gate.entered():
            try:
                return os.stat(self.path / _APPENDED).st_mtime_ns  # noqa: PTH116 - waiting pays it many times a second
            except FileNotFoundError:
                return 0

    # Errors -----------------------------------------------------------------------------------

    def in_words(self, work: Callable[[], T]) -> T:
        """The work's answer.

        Raises:
            StoreError: what the system refused, in words, with its error as the cause.
        """
        try:
            return work()
        except OSError as error:
            text = _CAUSES.get(error.errno or 0, _REFUSED)
            raise StoreError(f"{error.filename or self.path}: {text} ({error.strerror})") from error


_READ_ONLY = "only reading is possible here, so nothing was written. Make the directory and its files writable to append."
_REFUSED = "the system refused, so nothing was changed; the reason stands in brackets."
_FULL = "the disk is full, so nothing was written. Free some space, then try again."
_CAUSES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "the quota of this user is used up, so nothing was written. Free some space, then try again.",
    errno.EFBIG: "the file would be larger than it may be here, so nothing was written. Raise the limit, then try again.",
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.EIO: "the disk failed, so nothing was changed. Check it, then try again.",
    errno.EMFILE: "this process has too many files open. Close some, or raise the limit (`ulimit -n`), then try again.",
    errno.ENOENT: "the directory was removed while this store had it open. Put it back, or open the store anew.",
}


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_NEAR)


def newer(path: Path, version: int) -> str:
    """What is said of what a newer version wrote."""
    return (
        f"{path} was written by a newer suture (version {version} of the log; this one knows {VERSION}) and was left as it "
        "is. Update suture, or choose another path."
    )


# Descriptors ----------------------------------------------------------------------------------


def try_lock(fd: int, how: int) -> bool:
    """Lock the open file, unless somebody else has it; whether it is locked."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(fd: int, path: Path) -> bool:
    """Whether the path still names the open file: it may have been replaced while its lock was waited for."""
    try:
        there = os.stat(path)  # noqa: PTH116 - every append pays it
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def read_whole(fd: int, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`, or to where the file ends."""
    parts = []
    while start < end and (part := os.pread(fd, min(end - start, _BLOCK), start)):
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write_whole(fd: int, data: bytes, at: int) -> None:
    """Write all of the data there, and return when it is on disk. Where that fails, the file ends at `at` again.

    Raises:
        OSError: it cannot be written.
    """
    view, start = memoryview(data), at
    try:
        while view:
            written = os.pwrite(fd, view, at)
            view, at = view[written:], at + written
        os.fdatasync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, start)
        raise


def sync_directory(path: Path) -> None:
    """Return when what the directory names is on disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def like(fd: int, other: int) -> None:
    """Give the file the mode of another one, and its owner where that is allowed."""
    mine, theirs = os.fstat(fd), os.fstat(other)
    if mine.st_mode != theirs.st_mode:
        os.fchmod(fd, theirs.st_mode & 0o7777)
    if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, theirs.st_uid, theirs.st_gid)
