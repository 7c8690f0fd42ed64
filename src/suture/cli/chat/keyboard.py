"""What a person types, line by line as the terminal hands it out, and Ctrl-C and Ctrl-D among it."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import TypeAlias


class Key(Enum):
    """A key that is no text."""

    INTERRUPT = auto()
    END = auto()


Typed: TypeAlias = str | Key


class Keyboard:
    """The lines of a terminal in the order in which they were typed; nothing is typed after the END."""

    def __init__(self, terminal: int = 0) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""
        self._is_over = False
        self._typed: asyncio.Queue[Typed] = asyncio.Queue()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take in what is typed, and Ctrl-C, which then no longer ends the process."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._terminal, self._read)
        loop.add_signal_handler(signal.SIGINT, self._typed.put_nowait, Key.INTERRUPT)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_reader(self._terminal)

    async def next(self) -> Typed:
        """The next line, or key."""
        return await self._typed.get()

    def ahead(self) -> list[Typed]:
        """What was typed before now and not yet asked for. A line that was begun is over: the terminal forgets it, so that
        what is typed next is not glued to it.
        """
        while not self._is_over and select.select([self._terminal], [], [], 0)[0]:
            self._read()
        with suppress(termios.error, OSError):
            termios.tcflush(self._terminal, termios.TCIFLUSH)
        if self._begun:
            self._typed.put_nowait(self._begun)
            self._begun = ""
        return [self._typed.get_nowait() for _ in range(self._typed.qsize())]

    def _read(self) -> None:
        try:
            read = os.read(self._terminal, 65536)
        except OSError:  # the terminal is gone
            read = b""
        if not read:
            asyncio.get_running_loop().remove_reader(self._terminal)
            self._is_over = True
            self._typed.put_nowait(Key.END)
            return
        *lines, self._begun = (self._begun + self._decoder.decode(read)).split("\n")
        for line in lines:
            self._typed.put_nowait(line)
