"""`suture explain`: what a provider's error means, and the one command that mends it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
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

_LOOKS_LIKE_A_FILE = re.compile(r"[\w.~-]*/[\w./~-]+|[\w.~-]+\.(?:txt|json|jsonl|ndjson|log|html|err|out)")

_UNKNOWN = (
    "No rule that suture knows is refused in these words. "
    "`suture check FILE` says what is wrong with the history itself."
)  # fmt: skip

# Errors that are about no history, each with what to do; looked for where no rule has the words.
_NO_FAULTS = (
    (r"rate.?limit|too many requests|quota|\b429\b", "too much was asked in a short time. Wait, then send the same again."),
    (r"overloaded|\b529\b|\b503\b|service unavailable", "the provider has too much to do. Wait, then send the same again."),
    (
        r"api.?key|authentication|unauthorized|permission.?denied|\b401\b|\b403\b",
        "the key or its rights are wrong. Correct the key.",
    ),
    (
        r"context.?(?:length|window)|prompt is too long|too many tokens|maximum.{0,20}tokens",
        "the conversation is too long. Send less of it.",
    ),
)


@click.command()
@click.argument("text", nargs=-1, metavar="TEXT")
@as_json
def explain(text: Sequence[str], as_json: bool) -> int:
    """Say what a provider's error means.

    TEXT is the error as it came, in whatever it is wrapped in; the name of a FILE that holds it; or "-" for stdin, which is
    also read when there is no TEXT. The most likely cause comes first: what the provider demands, what healing does about
    it, and the command that does it. The status is 1 when nothing is known of the error.
    """
    import suture

    said = _said(text)
    causes = suture.explain(said)
    if as_json:
        print_json({"causes": [_document(cause) for cause in causes]})
    elif causes:
        _tell(causes)
    else:
        Page(stderr=True).line(_unknown(said))
    return FINE if causes else FOUND


def _said(text: Sequence[str]) -> str | bytes:
    """The error: words, or what a file or stdin holds."""
    if not text and sys.stdin.isatty():
        raise click.UsageError("Missing argument 'TEXT'. Paste the error between quotes, or name a file that holds it.")
    said = sys.stdin.buffer.read(MOST_BYTES) if list(text) in ([], [STDIN]) else _words_or_file(" ".join(text))
    if not said.strip():
        raise click.UsageError("There is nothing to explain. Paste the error between quotes, or name a file that holds it.")
    return said


def _words_or_file(words: str) -> str | bytes:
    try:
        path = Path(words)
        if not path.is_file():
            if _LOOKS_LIKE_A_FILE.fullmatch(words):
                Page(stderr=True).line(f"{words}: no such file; read as text.")
            return words
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return words
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError as error:
        raise HistoryError(f"{words}: cannot be read: {reason_of(error)}.") from error


def _unknown(said: str | bytes) -> str:
    """What there is to say of an error that no rule knows."""
    words = said if isinstance(said, str) else said.decode(errors="replace")
    for pattern, advice in _NO_FAULTS:
        if re.search(pattern, words, re.IGNORECASE):
            return f"This is no fault of the history: {advice}"
    return _UNKNOWN


def _tell(causes: Sequence[Cause]) -> None:
    page, first = Page(), causes[0]
    commands = list(dict.fromkeys(cause.command for cause in causes if cause.command))
    page.line((first.rule, _colour(first)), f" ({first.format})")
    for name, words in _facts(first):
        page.line((f"{name + ':':<9}", "dim"), words, indent=2)
    if first.command and len(commands) > 1:
        _tell_command(page, first)
    if len(causes) > 1:
        page.line()
        page.line(("It may also mean (`suture rules RULE` says more):", "dim"))
    for cause in causes[1:]:
        page.line((cause.rule, _colour(cause)), f" ({cause.format}): {cause.statement}", indent=2)
        if cause.command and cause.command != first.command and len(commands) > 1:
            _tell_command(page, cause, indent=4)
    if len(commands) == 1:
        page.line()
        _tell_command(page, next(cause for cause in causes if cause.command), indent=0)


def _facts(cause: Cause) -> Iterator[tuple[str, str]]:
    """What there is to say of a cause, and under which name."""
    yield "demands", cause.statement
    yield "healing", cause.mend
    yield "known", f"{SEVERITIES[cause.severity]}; {CERTAINTIES[cause.certainty]}."
    if cause.paths:
        yield "place", ", ".join(cause.paths)
    if cause.call_ids:
        yield "ids", ", ".join(cause.call_ids)
    if cause.relay:
        yield "relay", f"the error came through {cause.relay}, so the history is in the form that {cause.relay} takes."


def _tell_command(page: Page, cause: Cause, indent: int = 2) -> None:
    page.line(("run: ", "dim"), (cause.command, "bold"), indent=indent, whole=True)


def _colour(cause: Cause) -> str:
    return "bold red" if cause.severity == "REJ" else "bold yellow"


def _document(cause: Cause) -> dict[str, object]:
    import msgspec

    document: dict[str, object] = msgspec.to_builtins(cause)
    return document
