"""One session's files: the log, which is the truth, and beside it the state, which says what is in it.

The state is replaced whole under the lock of the log, behind every write to it. It vouches for the log when it names
the file, its length and the time of its last change: then the log holds whole lines in order and nothing else. When it
does not (a kill between the two, a copy, an editor's hand), the log is read whole, and the next write mends it and
makes the state anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

import suture.stores.rules as rules
from suture.entries import Entry
from suture.errors import StoreError
from suture.stores.base import key_id, seal
from suture.stores.group_commit import GroupCommit, Write
from suture.stores.jsonl.batch import Batch
from suture.stores.jsonl.lines import VERSION, EntryLine, HeaderLine, encoded, entry_of, erased_line
from suture.stores.jsonl.place import (
    DAMAGED,
    LOG,
    NEW,
    STATE,
    Place,
    is_at,
    like,
    newer,
    read_whole,
    sync_directory,
    try_lock,
    write_whole,
)
from suture.stores.jsonl.scan import Fault, Scan, mended, scan
from suture.stores.jsonl.seek import ids_in, lines_behind
from suture.stores.jsonl.state import Stamp, State, told

T = TypeVar("T")
Replace: TypeAlias = Callable[[int, State], None]

_states = msgspec.json.Decoder(State)


class Loaded(NamedTuple):
    """The state, and the scan that it was made from where the one on disk does not vouch for the log."""

    state: State
    scan: Scan | None = None
    data: bytes = b""


class Ids(NamedTuple):
    """The seqs of entry ids, as far as the file of that token was read."""

    token: str
    size: int
    seqs: dict[str, int]


class Log:
    """The files of one session in a place, under the key of its chain."""

    def __init__(self, place: Place, session_id: str, key: bytes | None) -> None:
        self.id = session_id
        self.path = place.file(session_id, LOG)
        self._side = place.file(session_id, STATE)
        self._place = place
        self._key = key
        self._writes: GroupCommit[Batch] = GroupCommit(self._commit)
        self._ids = Ids("", 0, {})
        self._seen: tuple[Stamp, State | None, Loaded] | None = None

    # Reading ----------------------------------------------------------------------------------

    def state(self) -> State | None:
        """What is known of the session; None when there is none."""
        with self._looked_at() as (_, loaded):
            return loaded.state if loaded is not None and loaded.state.created else None

    def read(self, after: int, limit: int | None) -> list[Entry]:
        """The entries behind `after`, in order."""
        with self._looked_at() as (fd, loaded):
            if loaded is None:
                return []
            if loaded.scan is None:
                return [entry_of(line) for line in lines_behind(fd, loaded.state.log.size, after, limit)]
            found = [entry_of(line) for line in loaded.scan.entries if line.seq > after]
            return found if limit is None else found[:limit]

    def stamp(self) -> Stamp:
        """Which file the log is now, how long, and when it was last changed; zeros for none."""
        try:
            return _stamp_of(os.stat(self.path))  # noqa: PTH116 - waiting pays it many times a second
        except FileNotFoundError:
            return Stamp()

    @contextmanager
    def _looked_at(self) -> Iterator[tuple[int, Loaded | None]]:
        """The open log and what is in it; None when there is none. Nothing is written, and a writer is waited for only
        while it makes the files anew.
        """
        deadline = self._place.deadline()
        while True:
            with self._place.gate.entered(), self._opened() as fd:
                if fd < 0:
                    yield fd, None
                    return
                loaded = self._look(fd)
                if loaded is not None:
                    yield fd, loaded
                    return
            self._place.wait_a_little(self.path, deadline)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The log, opened for reading; -1 when there is none."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            fd = -1
        try:
            yield fd
        finally:
            if fd >= 0:
                os.close(fd)

    def _look(self, fd: int) -> Loaded | None:
        """What is in the log; None while that cannot be said, since somebody is making it anew."""
        kept, stamp = self._kept(), _stamp_of(os.fstat(fd))
        if kept is not None and kept.log == stamp:
            return Loaded(kept)
        if try_lock(fd, fcntl.LOCK_SH):
            try:
                # Nobody writes now, so what does not fit will not fit later.
                return self._load(fd) if is_at(fd, self.path) else None
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
        # Somebody writes behind what the state vouches for.
        return Loaded(kept) if kept is not None and kept.log.file == stamp.file and kept.log.size <= stamp.size else None

    def _load(self, fd: int) -> Loaded:
        """What is in the log, which is locked."""
        kept, stamp = self._kept(), _stamp_of(os.fstat(fd))
        if kept is not None and kept.log == stamp:
            return Loaded(kept)
        if not stamp.size and (kept is None or not kept.head):
            # Made and not written to, or emptied; only an epoch that was given out is remembered.
            new = State(self.id, log=stamp, token=secrets.token_hex(8), epoch=kept.epoch if kept else 0)
            return Loaded(new, Scan(is_plain=False))
        seen = self._seen
        if seen is not None and seen[:2] == (stamp, kept):
            return seen[2]
        data = read_whole(fd, 0, stamp.size)
        found = scan(data, self.id, self._key, kept.known if kept else None)
        if found.header is not None and found.header.suture > VERSION:
            raise StoreError(newer(self.path, found.header.suture))
        loaded = Loaded(told(self.id, found, kept, stamp, self._key), found, data)
        self._seen = stamp, kept, loaded
        return loaded

    def _kept(self) -> State | None:
        """The state on disk; None when there is none that can be read."""
        try:
            with open(self._side, "rb", buffering=0) as file:  # noqa: PTH123 - every append pays it
                kept = _states.decode(file.read())
        except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if kept.version > VERSION:
            raise StoreError(newer(self._side, kept.version))
        return kept if kept.session == self.id else None

    # Writing ----------------------------------------------------------------------------------

    def write(self, work: Callable[[Batch], T]) -> T:
        """The work's answer, when all that it appended is on disk."""
        return self._writes.do(work)

    def _commit(self, writes: list[Write[Batch]]) -> None:
        self._place.mark()
        with self._place.locked(self.path, os.O_RDWR | os.O_CREAT) as fd:
            try:
                loaded = self._load(fd)
                made = Batch(loaded.state, self._known_ids(fd, loaded), self._key)
                made.do(writes)
                if made.lines or made.state != loaded.state:
                    self._write(fd, loaded, made)
            finally:
                if not os.fstat(fd).st_size and self._kept() is None:
                    self.path.unlink(missing_ok=True)

    def _known_ids(self, fd: int, loaded: Loaded) -> dict[str, int]:
        """The seqs of all entry ids: read once, and then as far as the log has grown."""
        state, known = loaded.state, self._ids
        if loaded.scan is not None:
            self._ids = Ids(state.token, state.log.size, {line.id: line.seq for line in reversed(loaded.scan.entries)})
        elif known.token != state.token:
            self._ids = Ids(state.token, state.log.size, ids_in(fd, 0, state.log.size))
        elif known.size < state.log.size:
            known.seqs.update(ids_in(fd, known.size, state.log.size))
            self._ids = known._replace(size=state.log.size)
        return self._ids.seqs

    def _write(self, fd: int, loaded: Loaded, made: Batch) -> None:
        """Bring the lines and the state to disk; where that fails, nothing of them is there."""
        lines = b"".join(made.lines)
        if not loaded.state.log.size:
            self._seal_the_beginning(fd)
        with self._new_state() as replace:
            if loaded.scan is None or loaded.scan.is_plain:
                if lines:
                    write_whole(fd, lines, loaded.state.log.size)
                self._finish(fd, made, lines, replace)
            elif loaded.state.log.size:
                data = self._mended(loaded, made.state) + lines
                with self._rewritten(fd, data) as new:
                    made.state = msgspec.structs.replace(made.state, damage=self._damage_left(loaded.scan, data))
                    self._finish(new, made, lines, replace)
            else:
                self._begin(fd, made, lines, replace)

    def _seal_the_beginning(self, fd: int) -> None:
        """Under a key a state comes before the first line: a log without one was tampered with."""
        if self._key is not None:
            with self._new_state() as replace:
                replace(fd, State(self.id, seal=seal(self.id, 0, b"", self._key).hex()))

    def _begin(self, fd: int, made: Batch, lines: bytes, replace: Replace) -> None:
        """Write the first lines of a log."""
        write_whole(fd, encoded(self._header(made.state)) + lines, 0)
        sync_directory(self._place.path)
        self._finish(fd, made, lines, replace)

    def _finish(self, fd: int, made: Batch, lines: bytes, replace: Replace) -> None:
        """Have the state say what is written, and tell of it."""
        self._seen = None
        state = msgspec.structs.replace(made.state, log=_stamp_of(os.fstat(fd)))
        self._ids.seqs.update(made.new_ids)
        self._ids = Ids(state.token, state.log.size, self._ids.seqs)
        try:
            replace(fd, state)
        except OSError:
            # The log has it, and the state can be made from the log; without new lines the state is all there is.
            if not lines:
                raise
        # Last: whoever is woken finds the entries.
        if made.new_ids:
            self._place.ring()

    @contextmanager
    def _new_state(self) -> Iterator[Replace]:
        """A file for the next state, made before anything is written: what cannot be made is found out first."""
        path = _new(self._side)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        is_there = True

        def replace(log: int, state: State) -> None:
            nonlocal is_there
            is_there = False
            try:
                like(fd, log)
                data = memoryview(msgspec.json.encode(state))
                while data:
                    data = data[os.write(fd, data) :]
                if self._key is not None:
                    # Without its state a log under a key cannot be gone on with; any other makes it anew.
                    os.fsync(fd)
                os.rename(path, self._side)  # noqa: PTH104 - every append pays it
            except BaseException:
                # Here, where the log is locked: the next writer makes one of that name.
                with contextlib.suppress(OSError):
                    path.unlink()
                raise

        try:
            yield replace
        finally:
            os.close(fd)
            if is_there:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _header(self, state: State) -> HeaderLine:
        return HeaderLine(VERSION, self.id, state.created, key_id(self._key).hex())

    # Mending and erasing ----------------------------------------------------------------------

    def _mended(self, loaded: Loaded, state: State, instead: EntryLine | None = None) -> bytes:
        """The log as it should be, once the bytes that cannot be read are in a file of their own."""
        assert loaded.scan is not None
        known = self._place.damaged(self.id)
        number = int(known[-1].name.rpartition("-")[2]) + 1 if known else 1
        aside = self._place.file(self.id, f"{DAMAGED}{number}")
        header = loaded.scan.header or self._header(state)
        clean, bad = mended(loaded.scan, loaded.data, header, aside.name, instead)
        if bad:
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                write_whole(fd, bad, 0)
            finally:
                os.close(fd)
        return clean

    def _damage_left(self, before: Scan, data: bytes) -> tuple[Fault, ...]:
        """What is still to be said of a log that was mended: a look at it tells, but for what was only known beside it."""
        left = scan(data, self.id, self._key).damage
        positions = {position for position, _ in left}
        return tuple(sorted([*left, *(fault for fault in before.unlike if fault[0] not in positions)]))

    @contextmanager
    def _rewritten(self, fd: int, data: bytes) -> Iterator[int]:
        """A log of that content in place of the open one, open and locked."""
        path = _new(self.path)
        new = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        is_there = True
        try:
            fcntl.flock(new, fcntl.LOCK_EX)
            like(new, fd)
            write_whole(new, data, 0)
            path.rename(self.path)
            is_there = False
            sync_directory(self._place.path)
            yield new
        finally:
            # While it is locked, and only its own: the next writer makes one of that name.
            if is_there:
                with contextlib.suppress(OSError):
                    path.unlink()
            fcntl.flock(new, fcntl.LOCK_UN)
            os.close(new)

    def erase(self, entry_id: str) -> None:
        """Replace the body of an entry by its hash: the log is written anew without it."""
        try:
            with self._place.locked(self.path, os.O_RDWR) as fd:
                self._erase(fd, self._load(fd), entry_id)
        except FileNotFoundError:
            if self.path.exists():
                raise
            raise rules.no_such_session(self.id) from None

    def _erase(self, fd: int, loaded: Loaded, entry_id: str) -> None:
        if not loaded.state.created:
            raise rules.no_such_session(self.id)
        if loaded.scan is None:
            data = read_whole(fd, 0, loaded.state.log.size)
            loaded = Loaded(loaded.state, scan(data, self.id, self._key), data)
        assert loaded.scan is not None
        line = next((line for line in loaded.scan.entries if line.id == entry_id), None)
        if line is None:
            raise rules.no_such_entry(self.id, entry_id)
        if line.erased:
            return
        made = Batch(loaded.state, self._known_ids(fd, loaded), self._key)
        with self._new_state() as replace:
            clean = self._mended(loaded, loaded.state, erased_line(line, entry_of(line).body_hash))
            with self._rewritten(fd, clean) as new:
                damage = self._damage_left(loaded.scan, clean)
                made.state = msgspec.structs.replace(loaded.state, token=secrets.token_hex(8), damage=damage)
                self._finish(new, made, clean, replace)

    def delete(self) -> None:
        """Remove the files of the session, and all damaged bytes of it."""
        if not self.path.exists() and not self._side.exists():
            return
        with self._place.locked(self.path, os.O_RDWR | os.O_CREAT) as fd:
            self._place.raise_floor(self._load(fd).state.epoch)
            # The log last: without it the state says nothing, and without a state the log says all.
            stale = _new(self._side), _new(self.path)  # of a writer that was killed
            for path in (*stale, self._side, *self._place.damaged(self.id), self.path):
                path.unlink(missing_ok=True)
            sync_directory(self._place.path)


def _new(path: Path) -> Path:
    """Where what takes the place of a file is written first."""
    return path.with_name(path.name + NEW)


def _stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
