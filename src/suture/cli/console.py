"""What the commands say: one JSON document, or lines for a person, rich on a terminal and plain in a pipe.

Texts of a conversation never reach a terminal as commands to it: control characters are shown, not sent.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import click

from suture.errors import SutureError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Piece: TypeAlias = str | tuple[str, str]  # words, or words and a style of rich
Command = TypeVar("Command", bound=Callable[..., object])

FINE, FOUND, FAILED = 0, 1, 2

# Control characters and those that turn the direction of writing, line feed and tab apart; and surrogates.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


class Doors(click.Group):
    """The group of all commands: it decides how a command's end is told, and with which exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Run a command and exit."""
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        sys.exit(_told(lambda: super(Doors, self).main(given, prog_name or "suture", **extra), "--json" in _options(given)))


def _options(given: Sequence[str]) -> Sequence[str]:
    return given[: given.index("--")] if "--" in given else given


def _told(command: Callable[[], object], json_wanted: bool) -> int:
    """The exit status of a command, once its failure is told."""
    try:
        status = command()
    except (click.ClickException, SutureError) as error:
        _tell(error, json_wanted)
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    return status if isinstance(status, int) else FINE


def _tell(error: click.ClickException | SutureError, json_wanted: bool) -> None:
    if json_wanted:
        print_json(failure(error))
    elif isinstance(error, click.UsageError):
        error.show()
    else:
        Page(stderr=True).line(("Error: ", "bold red"), _message(error))


def failure(error: Exception, **more: object) -> dict[str, object]:
    """An error as a JSON document."""
    return {"error": {"type": type(error).__name__, "message": _message(error), **more}}


def _message(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


# JSON -----------------------------------------------------------------------------------------


def json_text(value: object, *, indent: int | None = 2) -> str:
    """A value as JSON that any stream takes: lone surrogates stand as escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return json.dumps(value, indent=indent, allow_nan=False) if _has_surrogates(text) else text


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text) if not text.isascii() else False


def print_json(document: object) -> None:
    """Print the one document, as UTF-8 whatever the terminal speaks."""
    write((json_text(document) + "\n").encode())


def write(content: bytes) -> None:
    """Write bytes to stdout as they are."""
    stream = click.get_binary_stream("stdout")
    stream.write(content)
    stream.flush()


# For people -----------------------------------------------------------------------------------


def clean(text: str) -> str:
    """The text with control characters shown as escapes."""
    return _UNSHOWABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class Page:
    """Where a command writes for a person. `fancy` says whether that is a terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr
        self.fancy = (sys.stderr if stderr else sys.stdout).isatty()

    def line(self, *pieces: Piece, indent: int = 0) -> None:
        """One line, or as many as the words have or need; those behind the first are indented like it."""
        if self.fancy:
            from rich.padding import Padding

            self.show(Padding(text(*pieces), (0, 0, 0, indent)))
        else:
            lead = " " * indent
            words = "".join(clean(piece if isinstance(piece, str) else piece[0]) for piece in pieces)
            click.echo("\n".join((lead + line).rstrip() for line in words.split("\n")), err=self._stderr)

    def heading(self, title: str, aside: str = "") -> None:
        """A line that opens a section."""
        self.line()
        self.line((title, "bold"), (f"  {aside}" if aside else "", "dim"))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Piece]]) -> None:
        """Rows under headings."""
        if self.fancy:
            self.show(_table(columns, rows))
            return
        words = [list(columns), *([clean(cell if isinstance(cell, str) else cell[0]) for cell in row] for row in rows)]
        widths = [max(len(row[at]) for row in words) for at in range(len(columns))]
        for row in words:
            self.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def show(self, renderable: RenderableType) -> None:
        """Anything that rich can show; only where `fancy` holds."""
        self._console().print(renderable)

    def _console(self) -> Console:
        from rich.console import Console

        return Console(stderr=self._stderr, highlight=False)


def text(*pieces: Piece) -> Text:
    """Pieces as one text of rich."""
    from rich.text import Text

    whole = Text()
    for piece in pieces:
        words, style = (piece, "") if isinstance(piece, str) else piece
        whole.append(clean(words), style)
    return whole


def _table(columns: Sequence[str], rows: Sequence[Sequence[Piece]]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(text(cell) for cell in row))
    return table
