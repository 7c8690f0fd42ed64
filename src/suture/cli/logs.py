"""Whole logs: `export` a conversation, `fork` a session, `verify` that logs are as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suture.cli.console import FAILED, FINE, FOUND, Page, as_json, failure, in_line, json_bytes, message_of, print_json
from suture.cli.histories import FORMATS, into_output
from suture.cli.progress import bar
from suture.cli.stores import in_store, opened, session_at
from suture.cli.writing import Replacement, Stdout
from suture.errors import SutureError

if TYPE_CHECKING:
    from suture import Store, Verified

_PAGE = 500
_STEP = 500  # entries between two looks at the bar


# Exporting ------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.option("--format", "format", required=True, metavar="F", help=f"{FORMATS}.")
@in_store
@into_output
@as_json
def export(session: str, format: str, url: str, output: Path | None, as_json: bool) -> int:
    """Print the whole conversation of SESSION.

    It is valid in that format, and holds also what a compaction hides from requests. With --json and -o the document says
    where it was written.
    """
    with session_at(url, session) as handle:
        history = handle.export(format)
    with Stdout() if output is None else Replacement(output) as place:
        place.write(json_bytes(history))
        place.keep()
    if output is not None and as_json:
        print_json({"session": session, "format": format, "output": str(output)})
    return FINE


# Forking --------------------------------------------------------------------------------------


@click.command()
@click.argument("session")
@click.option("--at", type=int, metavar="N", help="Share its entries up to this one; all of them when left out.")
@click.option("--id", "id", metavar="ID", help="The id of the new session; a new UUID when left out.")
@in_store
@as_json
def fork(session: str, at: int | None, id: str | None, url: str, as_json: bool) -> int:
    """Make a new session that shares the past of SESSION.

    What waits in SESSION goes on there, and is closed in the new one. `suture show` numbers the entries.
    """
    with session_at(url, session) as handle:
        made = handle.fork(at, id)
        shared = made.info().head - 1
    if as_json:
        print_json({"session": made.id, "parent": session, "at": shared})
    else:
        Page().line((in_line(made.id), "bold"), f"  shares the first {shared} entries of {in_line(session)}.")
    return FINE


# Verifying ------------------------------------------------------------------------------------


@click.command()
@click.argument("session", required=False)
@in_store
@as_json
def verify(session: str | None, url: str, as_json: bool) -> int:
    """Check that logs are as they were written.

    That of SESSION, or of every session of the store. The first entry that was changed, removed, put in another order,
    forged or moved is named, and a log that was cut is told from one that ends. Without a key (--key-file) that shows
    accidents and naive edits; under one, whatever somebody did who does not have it. Exit status 1 when anything is wrong.
    """
    with opened(url) as store:
        if session is not None:
            return _verify_one(store, session, as_json)
        return _verify_all(store, as_json)


def _verify_one(store: Store, session: str, as_json: bool) -> int:
    found = _verified(store, session, None if as_json else Page(stderr=True))
    if as_json:
        print_json(_document(found))
    else:
        _tell(Page(), found)
    return FINE if found.ok else FOUND


def _verify_all(store: Store, as_json: bool) -> int:
    """Each session before the next; one that cannot be verified keeps no other from it."""
    documents, status, page = [], FINE, Page()
    for id in _ids(store):
        try:
            found = _verified(store, id, None if as_json else Page(stderr=True))
        except SutureError as error:
            documents.append({"session": id, "ok": False, **failure(error)})
            status = FAILED
            if not as_json:
                page.line((in_line(id), "bold"), ("  not verified: ", "red"), message_of(error))
            continue
        documents.append(_document(found))
        status = max(status, FINE if found.ok else FOUND)
        if not as_json:
            _tell(page, found)
    if as_json:
        print_json({"sessions": documents})
    return status


def _ids(store: Store) -> Iterator[str]:
    after: str | None = None
    while page := store.sessions(after=after, limit=_PAGE):
        yield from (info.id for info in page)
        after = page[-1].id


def _verified(store: Store, session: str, page: Page | None) -> Verified:
    import suture

    with bar(page, session, None, "entries") as advance:

        def watch(done: int, total: int) -> None:
            if done % _STEP == 0 or done == total:
                advance(done, done, total)

        return suture.verify(store, session, watch)


def _tell(page: Page, found: Verified) -> None:
    if found.problem is not None:
        where = "" if found.problem.session == found.session else f" (in {in_line(found.problem.session)})"
        page.line((in_line(found.session), "bold"), (f"  {found.problem.what}{where}: ", "red"), found.problem.sentence)
    else:
        erased = f", {found.erased} of them erased" if found.erased else ""
        kept = "under the key" if found.keyed else "without a key"
        whole = (f"{found.entries} entries hold{erased}", "green")
        page.line((in_line(found.session), "bold"), "  ", whole, (f"; chained {kept}, ends with {found.chain[:16]}", "dim"))
    for position, what in found.damage:
        page.line(("damage: ", "red"), f"{position}: {what}", indent=2)


def _document(found: Verified) -> dict[str, object]:
    problem = found.problem
    return {
        "session": found.session,
        "ok": found.ok,
        "entries": found.entries,
        "erased": found.erased,
        "head": found.head,
        "chain": found.chain,
        "keyed": found.keyed,
        "problem": None
        if problem is None
        else {
            "what": problem.what,
            "session": problem.session,
            "seq": problem.seq,
            "id": problem.id,
            "sentence": problem.sentence,
            "elsewhere": None
            if problem.elsewhere is None
            else {"session": problem.elsewhere[0], "seq": problem.elsewhere[1]},
        },
        "damage": [{"position": position, "what": what} for position, what in found.damage],
    }
