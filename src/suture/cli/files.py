"""Files of histories: one history, or a data set, a JSON Lines file that holds a whole conversation in each line.

A history is a request (an object with `messages`, `input` or `contents`), a list of messages, or one message per line. It
is read whole or not at all. A data set is read a line at a time and never held; a line that is broken is one fault, and
the next one is read. A history that did not change is written as the bytes that it was.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

from suture.cli.console import json_bytes, reason_of
from suture.cli.layout import layout_of
from suture.cli.numbers import as_they_came
from suture.cli.parsing import BOM, broken, decoded, format_of, history_of, kind_of, line_of
from suture.errors import HistoryError, UnhealableHistory

MAX_BYTES = 256 * 1024 * 1024
MAX_LINE = 64 * 1024 * 1024
STDIN = "-"

T = TypeVar("T")
Shape: TypeAlias = Literal["json", "lines", "line"]

_MOST_AHEAD = 16  # lines of which the first that can be read says what the file holds
_MOST_TOLD = 1000  # lines of a data set of which the first that tells a format says what is usual
_MOST_TOLD_BYTES = 4 * 1024 * 1024
_PIECE = 1024 * 1024


@dataclass(frozen=True)
class HistoryFile:
    """What a file, or a line of a data set, holds.

    `name` is what it is called in messages, with the number of its line. `content` are its bytes, without the byte order
    mark that the file may have begun with. `usual` is the format of the lines of its data set, where one tells it.
    """

    name: str
    content: bytes
    history: object
    shape: Shape
    had_bom: bool = False
    line: int | None = None
    usual: str | None = None

    def through(self, work: Callable[[object, str | None], T]) -> T:
        """What `work` makes of the history, told what is usual; its errors name the file."""
        try:
            return work(self.history, self.usual)
        except UnhealableHistory:
            raise
        except HistoryError as error:
            raise type(error)(f"{self.name}: {error}") from error
        except RecursionError as error:
            raise broken(self.name, None, error, whole=True) from error

    def written(self, history: object) -> bytes:
        """That history in this file's shape and layout."""
        if history is self.history:
            return self.content
        written = as_they_came(self._anew(history), self.content)
        return written if self.content.endswith(b"\n") else written.rstrip(b"\r\n")

    def _anew(self, history: object) -> bytes:
        if self.shape == "json":
            return layout_of(self.content).written(history)
        line = layout_of(b"".join(self.content.lstrip().partition(b"\n")[:2]))
        if self.shape == "lines" and isinstance(history, list):
            return b"".join(line.written(message) for message in history)
        return line.written(history)

    def in_a_line(self, history: object) -> bytes:
        """That history as a line of a data set."""
        if self.shape == "line":
            return self.written(history)
        return as_they_came(json_bytes(history, indent=None), self.content)


class Broken(NamedTuple):
    """What holds no history: a file, or a line of a data set, and what is wrong with it. `content` can be read once."""

    error: HistoryError
    line: int | None = None
    content: Iterable[bytes] = ()


class Lines(Protocol):
    """Where lines come from."""

    def readline(self, limit: int, /) -> bytes:
        """The next line, or as much of it as the limit allows."""

    def read(self, size: int, /) -> bytes:
        """The next bytes."""


class Source:
    """A file, or stdin for "-". What it holds is seen from its first lines, before anything is asked of it.

    Where the format `is_named`, nothing is read ahead to see which one is usual in a data set.
    """

    def __init__(self, path: str, *, is_named: bool = False) -> None:
        self.path = path
        self._is_named = is_named
        self.name = "<stdin>" if path == STDIN else path
        self.size: int | None = None
        self.position = 0  # bytes of a data set that were read
        self._open: BinaryIO | None = None
        self._ahead = b""

    @cached_property
    def is_data_set(self) -> bool:
        """Whether each line is a whole conversation."""
        try:
            file = self._opened()
            start = file.tell() if file.seekable() else None
            self._ahead, found = _first_lines(file, self.name)
            if start is not None:
                self._ahead = b""
                file.seek(start)
        except OSError:
            return False  # reading it says what is wrong
        if start is not None and self.path != STDIN:
            self._open = file.close()  # it may be one of many
        return found

    def histories(self) -> Iterator[HistoryFile | Broken]:
        """What the file holds: one history, or those of the lines of a data set, a broken one among them.

        Raises:
            HistoryError: the file cannot be read; the message names the place, and what to do.
        """
        is_data_set = self.is_data_set
        try:
            with nullcontext(self._opened()) if self.path == STDIN else self._opened() as file:
                lines = Rewound(self._ahead, file)
                self._ahead, self._open = b"", None
                if is_data_set:
                    yield from self._conversations(lines)
                else:
                    yield self._whole(lines)
        except OSError as error:
            raise HistoryError(f"{self.name}: cannot be read: {reason_of(error)}.") from error

    def _opened(self) -> BinaryIO:
        if self._open is None:
            self._open = sys.stdin.buffer if self.path == STDIN else Path(self.path).open("rb")  # noqa: SIM115
            status = os.fstat(self._open.fileno())
            self.size = status.st_size if self._open.seekable() else None
        return self._open

    def _whole(self, lines: Lines) -> HistoryFile:
        if (self.size or 0) > MAX_BYTES:
            _too_large(self.name)
        content = lines.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            _too_large(self.name)
        had_bom = content.startswith(BOM)
        content = content.removeprefix(BOM)
        if not content.strip():
            raise HistoryError(f"{self.name}: the file is empty. A history is at least a list: [].")
        shape, history = history_of(decoded(content, self.name), self.name)
        return HistoryFile(self.name, content, history, shape, had_bom)

    def _conversations(self, lines: Lines) -> Iterator[HistoryFile | Broken]:
        usual, lines = (None, lines) if self._is_named else _usual(lines)
        number = 0
        while start := lines.readline(MAX_LINE):
            number += 1
            rest = _rest(lines) if len(start) == MAX_LINE and not start.endswith(b"\n") else None
            self.position += len(start)
            name = f"{self.name}:{number}"
            if rest is not None:
                error = HistoryError(f"{name}: longer than {MAX_LINE // 1024**2} MiB, which no provider takes.")
                yield Broken(error, number, _both(start, rest))
                self.position += sum(map(len, rest))
            elif start.strip():
                yield _conversation(name, number, start, usual)


def _too_large(name: str) -> NoReturn:
    raise HistoryError(f"{name}: larger than {MAX_BYTES // 1024**2} MiB, which no provider takes. Cut the history first.")


def _rest(lines: Lines) -> Iterator[bytes]:
    """The rest of a line that is too long, in pieces."""
    while piece := lines.readline(_PIECE):
        yield piece
        if piece.endswith(b"\n"):
            return


def _both(start: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield start
    yield from rest


def _usual(lines: Lines) -> tuple[str | None, Lines]:
    """The format of the first line that tells one, and the lines from their beginning."""
    taken: list[bytes] = []
    found, room = None, _MOST_TOLD_BYTES
    while found is None and room > 0 and len(taken) < _MOST_TOLD and (line := lines.readline(room)):
        room -= len(line)
        taken.append(line)
        found = format_of(line)
    return found, Rewound(b"".join(taken), lines)


def _conversation(name: str, number: int, line: bytes, usual: str | None) -> HistoryFile | Broken:
    had_bom = number == 1 and line.startswith(BOM)
    content = line.removeprefix(BOM) if had_bom else line
    try:
        history = line_of(decoded(content, name, is_line=True), name)
    except HistoryError as error:
        return Broken(error, number, [line])
    content = content if content.endswith(b"\n") else content + b"\n"
    return HistoryFile(name, content, history, "line", had_bom, number, usual)


class Rewound:
    """A file from its beginning, of which the first bytes were read already."""

    def __init__(self, ahead: bytes, file: Lines) -> None:
        self._ahead = io.BytesIO(ahead)
        self._file = file

    def readline(self, limit: int, /) -> bytes:
        """The next line, or as much of it as the limit allows."""
        begun = self._ahead.readline(limit)
        if begun.endswith(b"\n") or len(begun) == limit:
            return begun
        return begun + self._file.readline(limit - len(begun))

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        begun = self._ahead.read(size)
        return begun + self._file.read(size - len(begun))


# What it holds --------------------------------------------------------------------------------


def _first_lines(file: BinaryIO, name: str) -> tuple[bytes, bool]:
    """What had to be read to know it, and whether it is a data set."""
    by_name = name.endswith((".jsonl", ".ndjson"))
    taken: list[bytes] = []
    seen: list[bytes] = []
    room = MAX_LINE
    while len(seen) < _MOST_AHEAD and room > 0 and (line := file.readline(room)):
        room -= len(line)
        taken.append(line)
        if not line.strip():
            continue
        seen.append(line if seen else line.removeprefix(BOM))
        if (found := _verdict(seen)) is not None:
            # One line by itself is a request or a list, as any other file of JSON, unless its name says more.
            while found and len(seen) == 1 and not by_name and room > 0 and (line := file.readline(room)):
                room -= len(line)
                taken.append(line)
                seen += [line] if line.strip() else []
            return b"".join(taken), found and (by_name or len(seen) > 1)
    return b"".join(taken), by_name and room <= 0


def _verdict(seen: list[bytes]) -> bool | None:
    """Whether the last of these lines is a whole conversation; None when it says nothing."""
    line = seen[-1]
    kind = kind_of(line)
    if kind != "conversation" or len(seen) == 1:
        return None if kind is None else kind == "conversation"
    # Behind a line that is not JSON: a broken one, or the beginning of a document in several lines.
    is_inside = line[:1] not in (b"[", b"{") or seen[0].strip() in (b"[", b"{")
    return None if is_inside else True
