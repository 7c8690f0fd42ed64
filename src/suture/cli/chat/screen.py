"""Where a chat writes: lines and streams, on a terminal that others type on, too."""

from __future__ import annotations

import os
import sys

from suture.cli.console import Piece, clean

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}


class Screen:
    """Writes to stdout as things happen. `hanging` names what the open line at the cursor is about, if anything."""

    def __init__(self) -> None:
        self._fancy = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._fresh = True  # the cursor stands at the start of a line
        self._flow: str | None = None
        self.hanging: str | None = None

    def line(self, *pieces: Piece, indent: int = 0) -> None:
        """A line of its own; those behind a line feed in it are indented like it."""
        self.break_line()
        self._write(*_under(pieces, indent))
        self.break_line()

    def hang(self, about: str, *pieces: Piece, indent: int = 0) -> None:
        """A line that stays open; `end_hanging` may still complete it."""
        self.break_line()
        self._write(*_under(pieces, indent))
        self.hanging = about

    def end_hanging(self, *pieces: Piece, indent: int = 0) -> None:
        """Complete the open line."""
        self._write(*_under(pieces, indent)[1:])
        self.break_line()

    def flow(self, text: str, style: str = "") -> None:
        """A piece of a stream; it begins on a line of its own, and so does whatever comes in another style."""
        if self._flow != style:
            self.break_line()
        self._write((text, style))
        self._flow = style

    def ask(self, prompt: str) -> None:
        """The words before what a person is to type."""
        self.break_line()
        self._write((prompt, "bold cyan"))

    def typed(self) -> None:
        """A person ended a line, so the cursor is at the start of the next."""
        self._fresh, self._flow, self.hanging = True, None, None

    def struck(self) -> None:
        """A person pressed a key that the terminal shows, such as ^C."""
        self._fresh, self._flow, self.hanging = False, None, None

    def break_line(self) -> None:
        """Go to the start of a line, if the cursor is not there."""
        if not self._fresh:
            self._write("\n")
        self.typed()

    def _write(self, *pieces: Piece) -> None:
        for piece in pieces:
            words, style = (piece, "") if isinstance(piece, str) else piece
            if words:
                self._fresh = words.endswith("\n")
                sys.stdout.write(self._styled(clean(words), style))
        sys.stdout.flush()

    def _styled(self, words: str, style: str) -> str:
        if not self._fancy or not style:
            return words
        codes = ";".join(_CODES[name] for name in style.split())
        return f"\x1b[{codes}m{words}\x1b[0m"


def _under(pieces: tuple[Piece, ...], indent: int) -> tuple[Piece, ...]:
    """The pieces behind an indent, which their later lines share."""
    lead = " " * indent
    return (lead, *(_led(piece, lead) for piece in pieces))


def _led(piece: Piece, lead: str) -> Piece:
    if isinstance(piece, str):
        return piece.replace("\n", "\n" + lead)
    return piece[0].replace("\n", "\n" + lead), piece[1]
