"""`suture erase`: a body taken out of a log for good, once somebody has said so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from suture.cli.console import FAILED, FINE, Page, as_json, print_json
from suture.cli.following import words_of
from suture.cli.stores import in_store, session_at

if TYPE_CHECKING:
    from suture.stores import Entry


@click.command()
@click.argument("session")
@click.argument("entry", metavar="ENTRY_ID")
@in_store
@click.option("--yes", is_flag=True, help="Do not ask. Needed where nobody can answer: in a pipe, and with --json.")
@as_json
def erase(session: str, entry: str, url: str, yes: bool, as_json: bool) -> int:
    """Take an entry's body out of SESSION for good.

    `suture tail SESSION --after 0 --json` shows each entry with its id. The place and its hash stay, so `suture verify`
    holds; requests are valid without it. What a fork shares goes for all that share it; what other entries say of it
    (approval requests, corrections, summaries) stays in those.
    """
    with session_at(url, session) as handle:
        held, found = handle.log.find(entry)
        if not yes and not found.erased and not _is_meant(found, held, session, as_json):
            Page(stderr=True).line("Nothing was erased.")
            return FAILED
        handle.erase(entry)
    if as_json:
        print_json({"session": session, "entry": entry, "seq": found.seq, "held_by": held, "repeat": bool(found.erased)})
    elif found.erased:
        Page().line(f"Entry {found.seq} of {session} was erased before.")
    else:
        Page().line((f"Entry {found.seq} of {session} is erased", "green"), "; its place and its hash stay.")
    return FINE


def _is_meant(entry: Entry, held: str, session: str, as_json: bool) -> bool:
    """Whether the person at the terminal wants that entry erased.

    Raises:
        UsageError: nobody can be asked.
    """
    if as_json or not sys.stdin.isatty():
        raise click.UsageError("What is erased does not come back, and nobody can be asked here. Say --yes if it is meant.")
    page = Page(stderr=True)
    page.line((f"entry {entry.seq}  {entry.at}  {entry.kind}  ", "bold"), words_of(entry))
    shared = "" if held == session else f" from {held}, which holds it, and from all that share it"
    return click.confirm(f"Erase its body for good{shared}?", err=True)
