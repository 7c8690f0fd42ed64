"""Where histories are written: stdout, or a file that holds the old content or the new and never a part of either."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from suture.cli.console import reason_of, write
from suture.errors import HistoryError


class Output(Protocol):
    """Takes bytes. Leaving its context without `keep` leaves a file as it was."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def write(self, content: bytes, /) -> None:
        """Take bytes in."""

    def keep(self) -> Path | None:
        """Make what was written what the file holds; where the old content is kept."""


class Stdout:
    """Writes at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def write(self, content: bytes) -> None:
        """Write bytes as they are."""
        write(content)

    def keep(self) -> None:
        """Nothing is left to do."""


class Nowhere(Stdout):
    """Lets go of what it takes."""

    def write(self, content: bytes) -> None:
        """Write nothing."""


class Replacement:
    """A file that is written beside the one at `path` and takes its place when it is whole.

    A device or a pipe is written as it is. With `backup` the old content stays beside it, as `FILE.bak`; what has that name
    already is never replaced, so the next is `FILE.bak.2`. Errors are HistoryErrors that name the file.
    """

    def __init__(self, path: Path, *, backup: bool = False) -> None:
        self._path = path
        self._backup = backup
        self._target = path
        self._file: BinaryIO | None = None
        self._beside: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._file is not None:
                self._file.close()
        except OSError:
            pass  # it is full, and thrown away
        finally:
            if self._beside is not None:
                self._beside.unlink(missing_ok=True)

    def write(self, content: bytes) -> None:
        """Write bytes behind those before; the first ones make the file."""
        try:
            self._opened().write(content)
        except (OSError, RuntimeError) as error:  # RuntimeError: a circle of links
            raise self._refused(error) from error

    def keep(self) -> Path | None:
        """Put it in its place, and make sure that it stays there. Returns where the old content is."""
        try:
            file = self._opened()
            file.flush()
            if self._beside is None:
                return None
            os.fchmod(file.fileno(), _mode(self._target))
            os.fsync(file.fileno())
            kept = _kept_beside(self._target) if self._backup else None
            self._beside.replace(self._target)
            self._beside = None
        except (OSError, RuntimeError) as error:
            raise self._refused(error) from error
        return kept

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._target = self._path.resolve()
            if self._target.exists() and not self._target.is_file():
                self._file = self._target.open("wb")
            else:
                handle, name = tempfile.mkstemp(prefix=f".{self._target.name}.", dir=self._target.parent)
                self._file, self._beside = os.fdopen(handle, "wb"), Path(name)
        return self._file

    def _refused(self, error: Exception) -> HistoryError:
        return HistoryError(f"{self._path}: cannot be written: {reason_of(error)}.")


def _mode(target: Path) -> int:
    """The mode of the file that is replaced; of a new one what the umask leaves."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _kept_beside(target: Path) -> Path:
    """The file under a second name that nothing had; a copy, where the file system has no second names."""
    for ending in chain([".bak"], (f".bak.{number}" for number in count(2))):
        kept = target.with_name(target.name + ending)
        try:
            os.link(target, kept)
        except FileExistsError:
            continue
        except OSError:
            if kept.exists():
                continue
            _copied(target, kept)
        return kept
    raise AssertionError  # there is always another number


def _copied(target: Path, kept: Path) -> None:
    try:
        with target.open("rb") as source, kept.open("xb") as copy:
            shutil.copyfileobj(source, copy)
            os.fchmod(copy.fileno(), _mode(target))
            copy.flush()
            os.fsync(copy.fileno())
    except BaseException:
        kept.unlink(missing_ok=True)
        raise
