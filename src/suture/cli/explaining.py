"""`suture explain`: what a provider's error means, and the one command that mends it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suture.cli.console import FINE, FOUND, Page, as_json, print_json, reason_of
from suture.cli.files import STDIN
from suture.cli.rules import CERTAINTIES, SEVERITIES
from suture.errors import HistoryError

if TYPE_CHECKING:
    from suture import Cause

MOST_BYTES = 256 * 1024  # more than of an error is ever read


@click.command()
@click.argument("text", nargs=-1, metavar="TEXT")
@as_json
def explain(text: Sequence[str], as_json: bool) -> int:
    """Say what a provider's error means.

    TEXT is the error as it came, in whatever it is wrapped in; the name of a FILE that holds it; or "-" for stdin, which is
    also read when there is no TEXT. Each cause says what the provider demands, what healing does about it, and the command
    that does it; the most likely one comes first. The status is 1 when nothing is known of the error.
    """
    import suture

    causes = suture.explain(_said(text))
    if as_json:
        print_json({"causes": [_document(cause) for cause in causes]})
    elif causes:
        _tell(causes)
    else:
        Page(stderr=True).line(
            "No rule that suture knows is refused in these words. "
            "`suture check FILE` says what is wrong with the history itself."
        )
    return FINE if causes else FOUND


def _said(text: Sequence[str]) -> str | bytes:
    """The error: words, or what a file or stdin holds."""
    if list(text) == [STDIN] or not (text or sys.stdin.isatty()):
        return sys.stdin.buffer.read(MOST_BYTES)
    if not text:
        raise click.UsageError("Missing argument 'TEXT'. Paste the error between quotes, or name a file that holds it.")
    words = " ".join(text)
    try:
        path = Path(words)
        if not path.is_file():
            return words
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return words
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError as error:
        raise HistoryError(f"{words}: cannot be read: {reason_of(error)}.") from error


def _tell(causes: Sequence[Cause]) -> None:
    page = Page()
    for before, cause in zip([None, *causes], causes, strict=False):
        if before is not None:
            page.line()
            page.line(("It may also mean:", "dim"))
        page.line((cause.rule, "bold red" if cause.severity == "REJ" else "bold yellow"), f" ({cause.format})")
        page.line(("demands: ", "dim"), cause.statement, indent=2)
        page.line(("healing: ", "dim"), cause.mend, indent=2)
        page.line(("known:   ", "dim"), f"{SEVERITIES[cause.severity]}; {CERTAINTIES[cause.certainty]}.", indent=2)
        if cause.paths and before is None:
            page.line(("place:   ", "dim"), ", ".join(cause.paths), indent=2)
        if cause.call_ids and before is None:
            page.line(("calls:   ", "dim"), ", ".join(cause.call_ids), indent=2)
        page.line(("run:     ", "dim"), (cause.command, "bold"), indent=2, whole=True)


def _document(cause: Cause) -> dict[str, object]:
    import msgspec

    document: dict[str, object] = msgspec.to_builtins(cause)
    return document
