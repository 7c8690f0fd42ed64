"""What the commands say: one JSON document, or lines for a person, rich on a terminal and plain in a pipe.

Texts of a conversation never reach a terminal as commands to it: control characters are shown, not sent.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import click

from suture.errors import HistoryError, SutureError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Piece: TypeAlias = str | tuple[str, str]  # words, or words and a style of rich

FINE, FOUND, FAILED = 0, 1, 2

# Control characters and those that turn the direction of writing, line feed and tab apart; and surrogates.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# What an error tells a programmer to write, as it is written here.
_SPOKEN_HERE = {
    "`open_approvals()`": "`suture approvals`",
    "`unknown_outcomes()`": "`suture show`",
    "`session.entries()` lists": "`suture tail --after 0 --json` lists",
    "force=True": "--force",
    "open_store(url, key=...)": "--key-file FILE",
    " json.loads it, or use `suture heal FILE`.": "",
    "`convert` with target=": "`suture convert` with --target ",
    "format=...": "--format F",
    "format=": "--format ",
}

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


class Doors(click.Group):
    """The group of all commands: it decides how a command's end is told, and with which exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Run a command and exit."""
        _open_what_is_closed()
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        sys.exit(_told(lambda: super(Doors, self).main(given, prog_name or "suture", **extra), "--json" in _options(given)))


def _open_what_is_closed() -> None:
    """Let what goes to a closed stdout or stderr go nowhere, and no file of a store have its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 - for all of the process


def _options(given: Sequence[str]) -> Sequence[str]:
    return given[: given.index("--")] if "--" in given else given


def _told(command: Callable[[], object], json_wanted: bool) -> int:
    """The exit status of a command, once its failure is told."""
    try:
        status = command()
    except OutputLost as error:
        _tell(error, json_wanted=False)  # a document would be lost as well
        return FAILED
    except (click.ClickException, SutureError) as error:
        _tell(error, json_wanted)
        return FAILED
    except RecursionError:
        _tell(HistoryError("Something in it is nested deeper than suture reads. Flatten it."), json_wanted)
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    return status if isinstance(status, int) else FINE


class OutputLost(click.ClickException):
    """What a command says cannot be written."""


@contextmanager
def _into(name: str) -> Iterator[None]:
    """Write to stdout or stderr; a reader that went away is for click to meet."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is still buffered would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputLost(f"{name} cannot be written: {reason_of(error)}.") from error


def reason_of(error: Exception) -> str:
    """Why the system refused, in its words."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _tell(error: click.ClickException | SutureError, json_wanted: bool) -> None:
    if json_wanted:
        print_json(failure(error))
    elif isinstance(error, click.UsageError):
        error.show()
    else:
        Page(stderr=True).line(("Error: ", "bold red"), message_of(error))


def failure(error: Exception, **more: object) -> dict[str, object]:
    """An error as a JSON document."""
    return {"error": {"type": type(error).__name__, "message": message_of(error), **more}}


def message_of(error: Exception) -> str:
    """What an error says, in the words of the command line."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    message = str(error)
    for written, spoken in _SPOKEN_HERE.items():
        message = message.replace(written, spoken)
    return message


# JSON -----------------------------------------------------------------------------------------


def json_bytes(value: object, *, indent: int | None = 2) -> bytes:
    """A value as a line or lines of JSON in UTF-8; where lone surrogates forbid that, in ASCII."""
    try:
        return (json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(value, indent=indent, allow_nan=False) + "\n").encode()


def print_json(document: object) -> None:
    """Print the one document, in UTF-8 whatever the terminal speaks."""
    write(json_bytes(document))


def write(content: bytes) -> None:
    """Write bytes to stdout as they are."""
    with _into("stdout"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def is_read() -> bool:
    """Whether anybody can still read stdout: false once a pipe has no reader, or its terminal was closed."""
    try:
        looked = select.poll()
        looked.register(sys.stdout, 0)  # troubles are told unasked
        return not looked.poll(0)
    except (OSError, ValueError):  # it is no file of the system's
        return True


# For people -----------------------------------------------------------------------------------


def clean(text: str) -> str:
    """The text with control characters shown as escapes."""
    return _UNSHOWABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def in_line(text: str) -> str:
    """The text within a line: a line end in it would make what stands behind it look like a line of ours."""
    return clean(text).replace("\n", "\\n")


def command(*words: str) -> str:
    """A command of ours as a shell takes it."""
    return " ".join(("suture", *map(quoted, words)))


def quoted(word: str) -> str:
    """The word as a shell takes it within a line, also where a line end is in it."""
    if "\n" not in word:
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{escaped}'"


class Page:
    """Where a command writes for a person. `fancy` says whether that is a terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr
        self.fancy = (sys.stderr if stderr else sys.stdout).isatty()

    def line(self, *pieces: Piece, indent: int = 0, whole: bool = False) -> None:
        """One line, or as many as the words have or need; those behind the first are indented like it.

        A `whole` line is one to be copied: only the terminal breaks it.
        """
        if self.fancy and whole:
            self.console.print(text(" " * indent, *pieces), soft_wrap=True)
        elif self.fancy:
            from rich.padding import Padding

            self.show(Padding(text(*pieces), (0, 0, 0, indent)))
        else:
            lead = " " * indent
            words = "".join(clean(_words(piece)) for piece in pieces)
            with _into("stderr" if self._stderr else "stdout"):
                click.echo("\n".join((lead + line).rstrip() for line in words.split("\n")), err=self._stderr)

    def heading(self, title: str) -> None:
        """A line that opens a section."""
        self.line()
        self.line((title, "bold"))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Piece]], indent: int = 0) -> None:
        """Rows under headings."""
        if self.fancy:
            from rich.padding import Padding

            self.show(Padding(_table(columns, rows), (0, 0, 0, indent)))
            return
        words = [list(columns), *([in_line(_words(cell)) for cell in row] for row in rows)]
        widths = [max(len(row[at]) for row in words) for at in range(len(columns))]
        for row in words:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.line("  ".join(cells).rstrip(), indent=indent)

    def show(self, renderable: RenderableType) -> None:
        """Anything that rich can show; only where `fancy` holds."""
        self.console.print(renderable)

    @cached_property
    def console(self) -> Console:
        """What rich shows things on; only where `fancy` holds."""
        from rich.console import Console

        return Console(stderr=self._stderr, highlight=False)


def _words(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece[0]


def text(*pieces: Piece) -> Text:
    """Pieces as one text of rich."""
    from rich.text import Text

    whole = Text()
    for piece in pieces:
        whole.append(clean(_words(piece)), "" if isinstance(piece, str) else piece[1])
    return whole


def _table(columns: Sequence[str], rows: Sequence[Sequence[Piece]]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(text(cell) for cell in row))
    return table
